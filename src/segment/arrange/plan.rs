//! How much of what fits the memory there is.

use crate::{
    graph::{GraphBuilder, cells::CellOptions},
    quant::osq::{Bits, row_len},
    schema::{VectorCodes, VectorOptions},
    vectors::row_bytes,
};

/// Vectors from which on a segment has cells. Below, scanning all rows is about as quick as probing and scoring a
/// shortlist: at 384 dimensions 4,000 rows of 50 ns are 0.2 ms.
pub const MIN_CELL_VECTORS: u64 = 4096;
/// Vectors of an average cell where memory allows.
const CELL_LEN: u64 = 32;
/// Centers up to this length are pinned with the metadata, which saves a query a wave. With groups and the rest, opening a
/// million vectors of 384 dimensions then reads less than 4 MiB.
pub(super) const PINNED_CENTERS_BYTES: usize = 3 << 20;
/// Of them cells are planned for: there come some more than planned.
const PLANNED_CENTERS_BYTES: u64 = PINNED_CENTERS_BYTES as u64 / 16 * 15;
/// Cells are so long at most for their centers to be pinned: up to 1.3 million vectors of 384 dimensions. On 99,000
/// sentences far away, cells of 80 find 0.925 with 470 KiB in three waves, those of 48 with centers that are read 0.934
/// with 590 KiB in four; in memory, as many codes find as much.
const PINNED_CELL_LEN: u64 = 96;
/// Of a pinned center beside its row: lengths, terms and squared norm.
const CENTER_TERMS_BYTES: u64 = 24;
/// Cells of an average group.
const GROUP_CELLS: u64 = 32;
/// Vectors that centers are trained on, per cell.
const SAMPLE_PER_CELL: u64 = 16;
/// Vectors of a group at most: what is in memory at a time.
const MAX_GROUP_ROWS: u64 = 4096;
/// From these dimensions on, codes have one bit per component; see [`bits`].
const ONE_BIT_DIMS: u32 = 256;
/// From these dimensions on, they have two.
const TWO_BIT_DIMS: u32 = 96;

/// Bits of a code: few components need more of each, since errors average out over all of them.
pub(super) fn bits(dims: u32) -> Bits {
    match dims {
        ONE_BIT_DIMS.. => Bits::One,
        TWO_BIT_DIMS.. => Bits::Two,
        _ => Bits::Four,
    }
}

/// Whether vectors are listed in a second cell: for codes of one or two bits, whose estimates gain most by it.
pub(super) fn is_spilling(options: &VectorOptions) -> bool {
    options.codes == VectorCodes::Osq && matches!(bits(options.dims), Bits::One | Bits::Two)
}

/// Bytes of a center.
fn center_bytes(dims: u32) -> u64 {
    row_len(dims as usize, Bits::Four) as u64 + CENTER_TERMS_BYTES
}

/// Vectors of an average cell of `count` vectors.
fn cell_len(count: u64, dims: u32) -> u64 {
    let pinned = (count * center_bytes(dims)).div_ceil(PLANNED_CENTERS_BYTES);
    if pinned > PINNED_CELL_LEN { CELL_LEN } else { pinned.max(CELL_LEN) }
}

/// Memory that arranging `count` buffered vectors takes beside them, about.
pub fn flush_bytes(options: &VectorOptions, count: u64) -> u64 {
    if count < MIN_CELL_VECTORS {
        return 0;
    }
    count * (u64::from(options.dims) * 2 + 52) + (1 << 20) + graph_bytes(options, count)
}

/// What of it is for the graph.
pub(super) fn graph_bytes(options: &VectorOptions, count: u64) -> u64 {
    match options.graph {
        Some(degree) if count >= MIN_CELL_VECTORS => GraphBuilder::memory_bytes(count, options.dims, degree.into()),
        _ => 0,
    }
}

/// Memory that arranging `count` vectors of a merge takes at least.
pub fn merge_bytes(options: &VectorOptions, count: u64) -> u64 {
    if count < MIN_CELL_VECTORS {
        return 0;
    }
    count * PER_VECTOR_BYTES + row_bytes(options) as u64 * 256 + graph_bytes(options, count)
}

/// Bytes kept per vector: cell, document, place, second cell, its place in the list of those; then its place by document,
/// or what its source knows of it.
const PER_VECTOR_BYTES: u64 = 36;

/// Shares of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// Cells aimed at; 0: rows stay in document order.
    pub num_cells: u64,
    /// One vector in so many is trained on.
    pub part: u32,
    /// Training.
    pub cells: CellOptions,
    /// Rows of a group at most.
    pub group_rows: usize,
    /// Rows that are assigned and put in order together.
    pub batch_rows: usize,
    /// Rows set aside that may stay in memory.
    pub row_memory: usize,
    /// Codes set aside that may stay in memory.
    pub code_memory: usize,
}

impl Plan {
    /// Shares of `memory` bytes for `count` vectors.
    pub(super) fn new(options: &VectorOptions, count: u64, memory: u64) -> Self {
        let (stride, wide) = (row_bytes(options) as u64, u64::from(options.dims));
        let memory = memory.saturating_sub(count * PER_VECTOR_BYTES).max(stride * 256);
        let rows = |bytes: u64| bytes / stride;
        let mut plan = Self {
            num_cells: 0,
            part: 1,
            cells: CellOptions::default(),
            // Of a group, components are held as numbers too, and those of up to twice as many vectors of other cells.
            group_rows: (memory / if is_spilling(options) { 16 } else { 6 } / stride.max(wide * 4))
                .clamp(64, MAX_GROUP_ROWS) as usize,
            batch_rows: rows(memory / 6).clamp(64, u64::from(u32::MAX)) as usize,
            row_memory: (memory / 6) as usize,
            code_memory: (memory / 6) as usize,
        };
        if count < MIN_CELL_VECTORS {
            return plan;
        }
        // What `Codebook::training_bytes` says, both halves at most two fifths of the memory.
        let share = memory / 5 * 2;
        let cell_len = cell_len(count, options.dims);
        plan.num_cells = (count / cell_len).min(share / (wide * 14)).max(1);
        let sample = count.min(share / (wide * 2 + 80)).min(plan.num_cells * SAMPLE_PER_CELL).max(1);
        plan.part = count.div_ceil(sample).min(u64::from(u32::MAX)) as u32;
        let of_sample = match cell_len {
            CELL_LEN => sample / plan.num_cells,
            // No more cells than can be pinned.
            _ => count.div_ceil(plan.part.into()).div_ceil(plan.num_cells),
        };
        plan.cells.cell_len = of_sample.max(1) as u32;
        plan.cells.group_len = plan.cells.cell_len * GROUP_CELLS as u32;
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::cells::{CellsWriter, Codebook, Spilled},
        schema::Metric,
    };

    #[test]
    fn centers_are_as_long_as_planned() {
        for dims in [96, 100, 384] {
            let mut writer = CellsWriter::new(dims, Metric::Cosine, Bits::One).with_spilled();
            let (values, mut codes, mut centers) = (vec![0.5; 5 * dims as usize], Vec::new(), Vec::new());
            writer.add_group(&[0, 1, 2, 3, 4], &values, &[0, 1, 3, 5], &Spilled::default(), &mut codes, &mut centers);
            assert_eq!(centers.len() as u64, 3 * center_bytes(dims) + 4, "{dims}");
        }
    }

    #[test]
    fn cells_grow_while_their_centers_can_be_pinned() {
        for (dims, count, least, most) in [
            (384, 200_000, 32, 32),
            (384, 400_000, 32, 32),
            (384, 600_000, 33, 60),
            (384, 1_000_000, 65, 80),
            (384, 1_000_007, 65, 80),
            (384, 1_400_000, 32, 32),
            (128, 1_000_000, 32, 32),
            (128, 3_000_000, 65, 96),
        ] {
            let plan = Plan::new(&VectorOptions::new(dims, Metric::Cosine), count, 8 << 30);
            let (sample, cell) = (count / u64::from(plan.part), u64::from(plan.cells.cell_len));
            let (num_cells, len) = (sample / cell, cell * u64::from(plan.part));
            let what = format!("{dims} {count} {plan:?}");
            assert!((least..=most).contains(&len), "{what}: {len}");
            let is_pinned = num_cells * center_bytes(dims) <= PLANNED_CENTERS_BYTES;
            assert_eq!(
                is_pinned,
                count * center_bytes(dims) / CELL_LEN <= PLANNED_CENTERS_BYTES || len > CELL_LEN,
                "{what}"
            );
        }
    }

    #[test]
    fn shares_fit_the_memory() {
        for dims in [2, 64, 384, 4096] {
            let options = VectorOptions::new(dims, Metric::Cosine);
            for count in [100, 5000, 100_000, 3_000_000] {
                for memory in [1u64 << 20, 8 << 20, 64 << 20, 1 << 30] {
                    let plan = Plan::new(&options, count, memory + count * PER_VECTOR_BYTES);
                    let stride = row_bytes(&options) as u64;
                    let room = memory.max(stride * 256);
                    let sample = count / u64::from(plan.part);
                    let training = Codebook::training_bytes(plan.num_cells as usize, sample as usize, dims as usize);
                    let what = format!("{dims} {count} {memory} {plan:?}");
                    assert!(training as u64 <= room, "{what}: {training}");
                    assert!((plan.group_rows as u64) * stride <= (room / 6).max(64 * stride), "{what}");
                    assert_eq!(plan.num_cells > 0, count >= MIN_CELL_VECTORS, "{what}");
                }
            }
        }
    }
}
