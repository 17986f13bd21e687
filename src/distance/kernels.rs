//! The safe border of the SIMD files: checks lengths, chooses the instruction set, repairs what overflowed.
//!
//! Batches take rows as slices of bytes, so that a filter or a shortlist costs a list of slices and no copy.

use super::{scalar, score::cosine_of_parts};

#[cfg(target_arch = "x86_64")]
use super::avx2;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::simd128;

/// Which code computes distances on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionSet {
    /// Plain Rust.
    Scalar,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// WebAssembly with fixed-width SIMD.
    Simd128,
}

/// The instruction set in use. Detected once; fixed for the life of the process.
#[inline]
pub fn instruction_set() -> InstructionSet {
    #[cfg(target_arch = "x86_64")]
    {
        // The standard library detects once and answers from a static.
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return InstructionSet::Avx2;
        }
    }
    if cfg!(all(target_arch = "wasm32", target_feature = "simd128")) {
        InstructionSet::Simd128
    } else {
        InstructionSet::Scalar
    }
}

/// Calls one function of the file of the instruction set in use.
macro_rules! dispatch {
    ($function:ident($($argument:expr),*)) => {
        match instruction_set() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `instruction_set` says Avx2 only where avx2 and fma were detected.
            InstructionSet::Avx2 => unsafe { avx2::$function($($argument),*) },
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            InstructionSet::Simd128 => simd128::$function($($argument),*),
            _ => scalar::$function($($argument),*),
        }
    };
}

/// # Panics
/// If a row has not exactly `dims` components.
#[inline]
fn check_rows(dims: usize, rows: &[&[u8]]) {
    for row in rows {
        assert_eq!(row.len(), dims * 4, "bytes of a row of {dims} components");
    }
}

fn bytes_of(vector: &[f32]) -> &[u8] {
    bytemuck::cast_slice(vector)
}

/// Dot products of `query` with each row, in order. A product that leaves the range of `f32` is clamped to it.
///
/// # Panics
/// If a row or `out` has another length; so do the other functions of this file.
///
/// # Examples
/// ```
/// let rows: [[f32; 2]; 2] = [[1.0, 0.0], [3.0, 4.0]];
/// let rows = rows.each_ref().map(|row| bytemuck::cast_slice(row));
/// let mut out = [0.0; 2];
/// rangefind::distance::dots(&[1.0, 2.0], &rows, &mut out);
/// assert_eq!(out, [1.0, 11.0]);
/// ```
pub fn dots(query: &[f32], rows: &[&[u8]], out: &mut [f32]) {
    check_rows(query.len(), rows);
    assert_eq!(rows.len(), out.len(), "one result per row");
    dispatch!(dots(query, rows, out));
    repair_dots(query, rows, out);
}

/// Squared Euclidean distances of `query` to each row, in order; infinite where they leave the range of `f32`.
pub fn squared_l2s(query: &[f32], rows: &[&[u8]], out: &mut [f32]) {
    check_rows(query.len(), rows);
    assert_eq!(rows.len(), out.len(), "one result per row");
    dispatch!(squared_l2s(query, rows, out));
}

/// Squared norms of rows of `dims` components.
pub fn norms(dims: usize, rows: &[&[u8]], out: &mut [f32]) {
    check_rows(dims, rows);
    assert_eq!(rows.len(), out.len(), "one result per row");
    dispatch!(norms(rows, out));
}

/// [`dots`] and [`norms`] in one pass over the rows: what a cosine scan with one query wants.
pub fn dots_and_norms(query: &[f32], rows: &[&[u8]], dots: &mut [f32], norms: &mut [f32]) {
    check_rows(query.len(), rows);
    assert!(rows.len() == dots.len() && rows.len() == norms.len(), "one result per row");
    dispatch!(dots_and_norms(query, rows, dots, norms));
    repair_dots(query, rows, dots);
}

/// Dot products of several queries with each row, `[queries x rows]` row-major. Blocks of both stay in
/// registers and the nearest cache, so a row is read once however many queries there are.
pub fn dots_block(queries: &[&[f32]], rows: &[&[u8]], out: &mut [f32]) {
    if !check_block(queries, rows, out) {
        return;
    }
    dispatch!(dots_block(queries, rows, out));
    queries.iter().zip(out.chunks_exact_mut(rows.len())).for_each(|(query, out)| repair_dots(query, rows, out));
}

/// Squared Euclidean distances of several queries to each row, `[queries x rows]` row-major.
pub fn squared_l2s_block(queries: &[&[f32]], rows: &[&[u8]], out: &mut [f32]) {
    if check_block(queries, rows, out) {
        dispatch!(squared_l2s_block(queries, rows, out));
    }
}

/// Whether there is anything to do.
fn check_block(queries: &[&[f32]], rows: &[&[u8]], out: &[f32]) -> bool {
    assert_eq!(queries.len() * rows.len(), out.len(), "one result per query and row");
    let Some(first) = queries.first() else { return false };
    assert!(queries.iter().all(|query| query.len() == first.len()), "queries of one length");
    check_rows(first.len(), rows);
    !rows.is_empty()
}

/// Components near the end of the range of `f32` overflow to infinity or, with mixed signs, NaN: those are
/// computed again in double precision.
fn repair_dots(query: &[f32], rows: &[&[u8]], out: &mut [f32]) {
    for (row, out) in rows.iter().zip(out) {
        if !out.is_finite() {
            *out = scalar::dot_wide(query, row);
        }
    }
}

/// Dot product of two vectors of equal length.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut out = [0.0];
    dots(a, &[bytes_of(b)], &mut out);
    out[0]
}

/// Squared Euclidean distance of two vectors of equal length.
pub fn squared_l2(a: &[f32], b: &[f32]) -> f32 {
    let mut out = [0.0];
    squared_l2s(a, &[bytes_of(b)], &mut out);
    out[0]
}

/// Cosine similarity of two vectors of equal length, 0 if either is zero.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let b = bytes_of(b);
    let (mut product, mut norm, mut own) = ([0.0], [0.0], [0.0]);
    dots_and_norms(a, &[b], &mut product, &mut norm);
    norms(a.len(), &[bytes_of(a)], &mut own);
    cosine_of_parts(a, b, product[0], own[0], norm[0])
}
