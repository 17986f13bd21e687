//! Products of 16-bit fixed-point vectors: exact on every machine, and twice as many per instruction as floats.
//!
//! Building an index compares vectors with centers many million times, and its bytes may not depend on how a
//! machine rounds. Vectors scaled so that no norm exceeds 2^15 have products that fit 32 bits, partial sums
//! included (Cauchy-Schwarz), so integer sums are exact in any order.

#[cfg(target_arch = "x86_64")]
#[path = "fixed_avx2.rs"]
mod avx2;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[path = "fixed_simd128.rs"]
mod simd128;

use super::kernels::{InstructionSet, instruction_set};

/// Rows are padded with zeros to a multiple of this many components.
pub const FIXED_LANES: usize = 16;
/// No norm of a scaled vector exceeds this.
pub const FIXED_NORM: f64 = 32_767.0;

/// Vectors in fixed point, `[len x stride]`, row-major.
#[derive(Debug, Clone, Default)]
pub struct FixedRows {
    dims: usize,
    stride: usize,
    data: Vec<i16>,
}

impl FixedRows {
    /// No rows of `dims` components.
    pub fn new(dims: usize) -> Self {
        Self { dims, stride: dims.next_multiple_of(FIXED_LANES), data: Vec::new() }
    }

    /// The same with room for `len` rows.
    pub fn with_capacity(dims: usize, len: usize) -> Self {
        let mut rows = Self::new(dims);
        rows.data.reserve_exact(len * rows.stride);
        rows
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.data.len().checked_div(self.stride).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Components of a row without padding.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        self.data.capacity() * 2
    }

    /// Appends `vector` times `scale`, rounded to the nearest integer, halves away from zero. Components beyond
    /// the 16-bit range are clamped; `scale` is chosen so that there are none.
    ///
    /// # Panics
    /// If `vector` has other dimensions.
    pub fn push(&mut self, vector: &[f32], scale: f64) {
        assert_eq!(vector.len(), self.dims, "rows of one dimension");
        let start = self.data.len();
        self.data.extend(vector.iter().map(|&value| {
            let scaled = f64::from(value) * scale;
            (scaled + 0.5f64.copysign(scaled)) as i16
        }));
        self.data.resize(start + self.stride, 0);
    }

    /// Appends a copy of row `ix` of `other`.
    pub fn push_row(&mut self, other: &Self, ix: usize) {
        self.data.extend_from_slice(other.row(ix));
    }

    /// Row `ix` with its padding.
    pub fn row(&self, ix: usize) -> &[i16] {
        &self.data[ix * self.stride..(ix + 1) * self.stride]
    }

    /// Rows `range`, padding included.
    pub fn slice(&self, range: std::ops::Range<usize>) -> &[i16] {
        &self.data[range.start * self.stride..range.end * self.stride]
    }

    /// Components of a row with padding.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Overwrites row `ix` with the rounded mean of `sums` over `count` rows.
    pub fn set_mean(&mut self, ix: usize, sums: &[i64], count: u32) {
        let row = &mut self.data[ix * self.stride..][..self.dims];
        for (value, &sum) in row.iter_mut().zip(sums) {
            let half = i64::from(count / 2) * sum.signum();
            *value = ((sum + half) / i64::from(count.max(1))) as i16;
        }
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.data.clear();
    }
}

/// Products of each query with each row, `[queries x rows]` row-major; both are whole rows of `stride` components.
///
/// # Panics
/// If `stride` is no multiple of [`FIXED_LANES`] or a length does not fit.
pub fn fixed_dots_block(stride: usize, queries: &[i16], rows: &[i16], out: &mut [i32]) {
    assert!(stride > 0 && stride.is_multiple_of(FIXED_LANES), "rows of {stride} components");
    let (num_queries, num_rows) = (queries.len() / stride, rows.len() / stride);
    assert!(queries.len() == num_queries * stride && rows.len() == num_rows * stride, "whole rows");
    assert_eq!(out.len(), num_queries * num_rows, "one product per query and row");
    if num_rows == 0 {
        return;
    }
    match instruction_set() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `instruction_set` says Avx2 only where it was detected.
        InstructionSet::Avx2 => unsafe { avx2::dots_block(stride, queries, rows, out) },
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        InstructionSet::Simd128 => simd128::dots_block(stride, queries, rows, out),
        _ => scalar_dots_block(stride, queries, rows, out),
    }
}

/// What the other files of this module compute.
fn scalar_dots_block(stride: usize, queries: &[i16], rows: &[i16], out: &mut [i32]) {
    for (query, out) in queries.chunks_exact(stride).zip(out.chunks_exact_mut((rows.len() / stride).max(1))) {
        for (row, out) in rows.chunks_exact(stride).zip(out) {
            *out = query.iter().zip(row).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_equal_plain_sums() {
        let mut rng = fastrand::Rng::with_seed(3);
        for dims in (1..=130).chain([300, 384, 768]) {
            let mut make = |count: usize| {
                let mut rows = FixedRows::new(dims);
                for _ in 0..count {
                    let vector: Vec<f32> = (0..dims).map(|_| rng.f32() * 2.0 - 1.0).collect();
                    let norm = vector.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
                    rows.push(&vector, FIXED_NORM / norm);
                }
                rows
            };
            let (queries, rows) = (make(dims % 7), make(dims % 11));
            let mut own = vec![1; queries.len() * rows.len()];
            let mut twin = vec![2; own.len()];
            fixed_dots_block(rows.stride(), queries.slice(0..queries.len()), rows.slice(0..rows.len()), &mut own);
            scalar_dots_block(rows.stride(), queries.slice(0..queries.len()), rows.slice(0..rows.len()), &mut twin);
            assert_eq!(own, twin, "{dims} dimensions");
        }
    }

    #[test]
    fn rounding_is_to_nearest_and_clamped() {
        let mut rows = FixedRows::new(4);
        rows.push(&[1.5, -1.5, 0.4, 1e9], 1.0);
        assert_eq!(&rows.row(0)[..4], [2, -2, 0, i16::MAX]);
        rows.set_mean(0, &[7, -7, 6, 0], 4);
        assert_eq!(&rows.row(0)[..4], [2, -2, 2, 0]);
    }
}
