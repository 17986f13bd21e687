//! What shaders and Rust share: sizes, codes, parameter blocks. The shaders get their constants from here.

use bytemuck::{Pod, Zeroable};

use crate::schema::Metric;

/// Invocations of a workgroup; WebGPU promises 256.
pub(super) const WG_SIZE: u32 = 256;

/// Queries and rows of one invocation of `score_flat`.
pub(super) const MICRO: u32 = 4;

/// Entries that `select_top` sorts in workgroup memory.
pub(super) const MAX_SELECT: u32 = 1024;

/// Documents per query up to which a GPU selects; twice as many rows survive to be scored exactly. Larger k is
/// served by the CPU.
pub(super) const MAX_K: usize = 512;

/// Queries of one batch on the device; more are served in rounds.
pub(super) const MAX_QUERIES: usize = 256;

/// Largest component that the device handles: no sum of 4,096 squares leaves the range of `f32`.
pub(super) const MAX_COMPONENT: f32 = 1e13;
/// Under cosine the largest component of a row must reach this, so that its norm does not underflow.
pub(super) const MIN_COMPONENT: f32 = 1e-13;

/// Key of rows outside that range: they survive and the CPU decides.
pub(super) const UNSURE_KEY: u32 = u32::MAX;

/// How a tile of `score_flat` is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) query_threads: u32,
    pub(super) row_threads: u32,
    pub(super) slice_dims: u32,
}

impl Tile {
    /// 64 queries x 64 rows, for batches.
    pub(super) const WIDE: Self = Self { query_threads: 16, row_threads: 16, slice_dims: 16 };
    /// 16 queries x 256 rows, for a few queries.
    pub(super) const TALL: Self = Self { query_threads: 4, row_threads: 64, slice_dims: 8 };

    /// The tile that wastes fewer invocations on queries that are not there.
    pub(super) fn for_queries(num_queries: u32) -> Self {
        if num_queries <= Self::TALL.queries() { Self::TALL } else { Self::WIDE }
    }

    pub(super) const fn queries(self) -> u32 {
        MICRO * self.query_threads
    }

    pub(super) const fn rows(self) -> u32 {
        MICRO * self.row_threads
    }
}

/// `Params` of `score_flat`.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct ScoreParams {
    pub(super) num_queries: u32,
    pub(super) num_rows: u32,
    pub(super) dims: u32,
    pub(super) row_words: u32,
    pub(super) key_stride: u32,
    pub(super) metric: u32,
    pub(super) error_scale: f32,
    pub(super) pad: u32,
}

/// `Params` of `select_top`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct SelectParams {
    pub(super) num_queries: u32,
    pub(super) num_rows: u32,
    pub(super) key_stride: u32,
    pub(super) k: u32,
}

pub(super) const METRIC_COSINE: u32 = 0;
pub(super) const METRIC_DOT: u32 = 1;
pub(super) const METRIC_L2: u32 = 2;

pub(super) fn metric_code(metric: Metric) -> u32 {
    match metric {
        Metric::Cosine => METRIC_COSINE,
        Metric::Dot => METRIC_DOT,
        Metric::L2 => METRIC_L2,
    }
}

/// How far a score of the device may lie from the CPU's, as a part of the magnitudes involved.
///
/// A sum of n products errs by at most (n + 1) roundings on the device, where one accumulator runs through, and
/// by less on the CPU, where lanes shorten the chain; norms err by as much and count half; 64 more roundings
/// are granted to divisions and roots, which shaders may do less exactly. Twice that is safe on both sides.
pub(super) fn error_scale(dims: u32) -> f32 {
    const ROUNDING: f32 = f32::EPSILON / 2.0;
    2.0 * (2 * dims + 64) as f32 * ROUNDING
}

/// Rows per query that survive the device, to be scored exactly: enough that the k-th document is clearly
/// better than what was dropped, unless scores tie.
pub(super) fn num_survivors(k: usize) -> u32 {
    (2 * k).max(k + 32).min(MAX_SELECT as usize) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_fit_the_shader() {
        for tile in [Tile::WIDE, Tile::TALL] {
            assert_eq!(tile.query_threads * tile.row_threads, WG_SIZE);
            assert!(tile.queries() * tile.slice_dims <= 1024, "SH_QUERIES");
            assert!(tile.rows() * tile.slice_dims <= 2048, "SH_ROWS");
        }
        assert_eq!(Tile::for_queries(1), Tile::TALL);
        assert_eq!(Tile::for_queries(17), Tile::WIDE);
    }

    #[test]
    fn survivors_outnumber_the_answer_and_fit_the_sort() {
        for k in 1..=MAX_K {
            let survivors = num_survivors(k) as usize;
            assert!(survivors > k && survivors <= MAX_SELECT as usize, "k {k}");
        }
    }
}
