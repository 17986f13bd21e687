//! Lloyd's algorithm in fixed point: nearest centers by blocked products, means by exact sums.

use std::ops::Range;

use crate::distance::fixed::{FixedRows, fixed_dots_block};

/// Vectors of one block: their products with a group of centers stay in the nearest cache.
pub(super) const BLOCK: usize = 64;

/// Centers and what comparing with them needs.
///
/// |x - c|²/2 = |x|²/2 + (|c|²/2 - x·c): the bracket orders centers and fits 32 bits, norms being below 2^15.
#[derive(Debug, Clone)]
pub(in crate::graph) struct Centers {
    pub(in crate::graph) rows: FixedRows,
    half_squares: Vec<i32>,
}

impl Centers {
    pub(in crate::graph) fn new(rows: FixedRows) -> Self {
        let half_squares = (0..rows.len()).map(|ix| half_square(rows.row(ix))).collect();
        Self { rows, half_squares }
    }

    pub(in crate::graph) fn len(&self) -> usize {
        self.half_squares.len()
    }

    /// Half of the squared norm of a center.
    pub(super) fn half_square(&self, ix: usize) -> i32 {
        self.half_squares[ix]
    }

    /// Calls `found` with the position of each vector in `vectors`, each center in `range` and their key, smaller
    /// being nearer.
    pub(in crate::graph) fn compare(
        &self,
        vectors: &[i16],
        range: Range<usize>,
        keys: &mut Vec<i32>,
        mut found: impl FnMut(usize, &[i32]),
    ) {
        let stride = self.rows.stride();
        let len = range.len();
        for (block_ix, block) in vectors.chunks(BLOCK * stride).enumerate() {
            keys.resize(block.len() / stride * len, 0);
            fixed_dots_block(stride, block, self.rows.slice(range.clone()), keys);
            for (ix, keys) in keys.chunks_exact_mut(len.max(1)).enumerate() {
                for (key, half) in keys.iter_mut().zip(&self.half_squares[range.clone()]) {
                    *key = half - *key;
                }
                found(block_ix * BLOCK + ix, keys);
            }
        }
    }

    /// Nearest center of `range` for each vector, by its position in the range; ties go to the first.
    pub(super) fn nearest(&self, vectors: &[i16], range: Range<usize>, keys: &mut Vec<i32>, out: &mut Vec<u32>) {
        out.clear();
        self.compare(vectors, range, keys, |_, keys| out.push(argmin(keys).0));
    }

    /// Appends the mean of vectors, of which `row` of `rows` is one; clears the sums.
    pub(in crate::graph) fn push_mean(&mut self, mean: &mut Means, rows: &FixedRows, row: usize) {
        let ix = self.len();
        self.rows.push_row(rows, row);
        self.half_squares.push(0);
        mean.apply(self, ix);
    }

    pub(super) fn set(&mut self, ix: usize, sums: &[i64], count: u32) {
        self.rows.set_mean(ix, sums, count);
        self.half_squares[ix] = half_square(self.rows.row(ix));
    }
}

/// Half of the squared norm.
pub(in crate::graph) fn half_square(row: &[i16]) -> i32 {
    (row.iter().map(|&v| i64::from(v) * i64::from(v)).sum::<i64>() / 2) as i32
}

/// Position and value of the first smallest key.
pub(super) fn argmin(keys: &[i32]) -> (u32, i32) {
    let mut best = (0, i32::MAX);
    for (ix, &key) in keys.iter().enumerate() {
        if key < best.1 {
            best = (ix as u32, key);
        }
    }
    best
}

/// Exact sums of the vectors of each center.
#[derive(Debug)]
pub(in crate::graph) struct Means {
    dims: usize,
    sums: Vec<i64>,
    counts: Vec<u32>,
}

impl Means {
    pub(in crate::graph) fn new(dims: usize, num_centers: usize) -> Self {
        Self { dims, sums: vec![0; dims * num_centers], counts: vec![0; num_centers] }
    }

    pub(in crate::graph) fn add(&mut self, center: usize, row: &[i16]) {
        let sums = &mut self.sums[center * self.dims..(center + 1) * self.dims];
        sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += i64::from(value));
        self.counts[center] += 1;
    }

    /// Moves each center that has vectors to their mean, center `first` being the first one; clears the sums.
    pub(in crate::graph) fn apply(&mut self, centers: &mut Centers, first: usize) {
        for (ix, count) in self.counts.iter_mut().enumerate() {
            let sums = &mut self.sums[ix * self.dims..(ix + 1) * self.dims];
            if *count > 0 {
                centers.set(first + ix, sums, *count);
            }
            sums.fill(0);
            *count = 0;
        }
    }
}
