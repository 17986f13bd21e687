//! What each kernel computes, in plain Rust: the reference of the SIMD files, and the code of machines that
//! have none of their instruction sets.
//!
//! A row is the little-endian bytes of its components. Sums run in [`LANES`] independent lanes, which compilers
//! turn into whatever vector registers there are; a plain `sum += a * b` has to keep its order and runs eight
//! times slower on every target measured.

#![forbid(unsafe_code)]

/// How far two instruction sets may differ, as a part of the sum of the magnitudes added.
///
/// Each of n additions rounds by at most 2^-24 of a partial sum. Lanes shorten the chains: at 4,096 components
/// the longest one here has 4096 / 8 + 11 links, and 523 * 2^-24 is 3.1e-5. Two sides make 6.2e-5 at worst;
/// what random data shows is below 1e-6.
pub const TOLERANCE: f32 = 6.5e-5;

/// Independent sums.
const LANES: usize = 16;

#[inline]
fn float(bytes: [u8; 4]) -> f32 {
    f32::from_le_bytes(bytes)
}

/// Adds `term(a, b)` over all components; lanes first, then the rest in order.
#[inline]
fn sum_of(query: &[f32], row: &[u8], term: impl Fn(f32, f32) -> f32) -> f32 {
    let (components, _) = row.as_chunks::<4>();
    let (query_lanes, query_tail) = query.as_chunks::<LANES>();
    let (row_lanes, row_tail) = components.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for (query, row) in query_lanes.iter().zip(row_lanes) {
        for lane in 0..LANES {
            sums[lane] += term(query[lane], float(row[lane]));
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    query_tail.iter().zip(row_tail).fold(sums[0], |sum, (&query, &row)| sum + term(query, float(row)))
}

/// Dot product of `query` and a row of as many components.
pub fn dot(query: &[f32], row: &[u8]) -> f32 {
    sum_of(query, row, |a, b| a * b)
}

/// Squared Euclidean distance of `query` and a row of as many components.
pub fn squared_l2(query: &[f32], row: &[u8]) -> f32 {
    sum_of(query, row, |a, b| (a - b) * (a - b))
}

/// Dot product of a row with itself: its squared norm.
pub fn norm(row: &[u8]) -> f32 {
    let (components, _) = row.as_chunks::<4>();
    let (lanes, tail) = components.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for row in lanes {
        for lane in 0..LANES {
            sums[lane] += float(row[lane]) * float(row[lane]);
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    tail.iter().fold(sums[0], |sum, &row| sum + float(row) * float(row))
}

pub(super) fn dots(query: &[f32], rows: &[&[u8]], out: &mut [f32]) {
    rows.iter().zip(out).for_each(|(row, out)| *out = dot(query, row));
}

pub(super) fn squared_l2s(query: &[f32], rows: &[&[u8]], out: &mut [f32]) {
    rows.iter().zip(out).for_each(|(row, out)| *out = squared_l2(query, row));
}

pub(super) fn norms(rows: &[&[u8]], out: &mut [f32]) {
    rows.iter().zip(out).for_each(|(row, out)| *out = norm(row));
}

pub(super) fn dots_and_norms(query: &[f32], rows: &[&[u8]], dots_out: &mut [f32], norms_out: &mut [f32]) {
    dots(query, rows, dots_out);
    norms(rows, norms_out);
}

pub(super) fn dots_block(queries: &[&[f32]], rows: &[&[u8]], out: &mut [f32]) {
    queries.iter().zip(out.chunks_exact_mut(rows.len())).for_each(|(query, out)| dots(query, rows, out));
}

pub(super) fn squared_l2s_block(queries: &[&[f32]], rows: &[&[u8]], out: &mut [f32]) {
    queries.iter().zip(out.chunks_exact_mut(rows.len())).for_each(|(query, out)| squared_l2s(query, rows, out));
}

/// Dot product in double precision, for vectors whose products leave the range of `f32`. Never NaN and never
/// infinite on finite input: clamped to the range of `f32`.
pub fn dot_wide(query: &[f32], row: &[u8]) -> f32 {
    let (components, _) = row.as_chunks::<4>();
    let sum: f64 = query.iter().zip(components).map(|(&a, &b)| f64::from(a) * f64::from(float(b))).sum();
    sum.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}

/// Cosine similarity in double precision, 0 if either vector is zero.
pub fn cosine_wide(query: &[f32], row: &[u8]) -> f32 {
    let (components, _) = row.as_chunks::<4>();
    let (mut dot, mut query_norm, mut row_norm) = (0.0f64, 0.0f64, 0.0f64);
    for (&a, &b) in query.iter().zip(components) {
        let (a, b) = (f64::from(a), f64::from(float(b)));
        dot += a * b;
        query_norm += a * a;
        row_norm += b * b;
    }
    if query_norm == 0.0 || row_norm == 0.0 {
        return 0.0;
    }
    (dot / (query_norm.sqrt() * row_norm.sqrt())).clamp(-1.0, 1.0) as f32
}
