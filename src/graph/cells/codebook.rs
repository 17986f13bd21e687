//! Centers found on a sample: they assign all vectors, which are never in memory together.

use std::ops::Range;

use super::{
    lloyd::{BLOCK, Centers},
    order::chain,
    shape::square,
    spill::NearCells,
    train::{Lists, Rows, compare_cells, nearest_groups},
};
use crate::{
    distance::fixed::{FIXED_NORM, FixedRows},
    schema::Metric,
};

/// How vectors become fixed-point numbers for the arithmetic of training and assigning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedScale {
    metric: Metric,
    /// Norm that is mapped to the largest one of fixed point; not used for cosine.
    longest: f64,
}

impl FixedScale {
    /// A scale for vectors like `sample`. For dot products and L2, vectors longer than all of them are shortened: they
    /// are assigned by their direction.
    pub fn new<'a>(metric: Metric, sample: impl IntoIterator<Item = &'a [f32]>) -> Self {
        let longest = match metric {
            Metric::Cosine => 1.0,
            _ => sample.into_iter().map(|vector| square(vector).sqrt()).fold(0.0, f64::max),
        };
        Self { metric, longest }
    }

    /// Makes the scale serve `vector` too.
    pub fn widen(&mut self, vector: &[f32]) {
        if self.metric != Metric::Cosine {
            self.longest = self.longest.max(square(vector).sqrt());
        }
    }

    /// What a unit of fixed point stands for, of vectors that are not brought to a length of their own.
    pub fn unit(&self) -> f64 {
        self.longest / FIXED_NORM
    }

    /// Appends `vector` to `rows`.
    pub fn push(&self, vector: &[f32], rows: &mut FixedRows) {
        let norm = square(vector).sqrt();
        let unit = if self.metric == Metric::Cosine { norm } else { norm.max(self.longest) };
        rows.push(vector, if unit > 0.0 { FIXED_NORM / unit } else { 0.0 });
    }
}

/// Centers in file order: group after group, cell after cell.
#[derive(Debug)]
pub struct Codebook {
    groups: Centers,
    /// First cell of each group, and the number of cells at the end.
    starts: Vec<u32>,
    cells: Centers,
    num_near: usize,
    keys: Vec<i32>,
}

impl Codebook {
    /// Brings the centers of a training into file order.
    pub(super) fn new(groups: &Centers, group_starts: &[u32], cells: &Centers, num_near: usize) -> Self {
        let dims = groups.rows.dims();
        let mut ordered_groups = FixedRows::with_capacity(dims, groups.len());
        let mut ordered_cells = FixedRows::with_capacity(dims, cells.len());
        let mut starts = vec![0];
        for group in chain(groups, 0..groups.len()) {
            let group = group as usize;
            ordered_groups.push_row(&groups.rows, group);
            let range = group_starts[group] as usize..group_starts[group + 1] as usize;
            for cell in chain(cells, range.clone()) {
                ordered_cells.push_row(&cells.rows, range.start + cell as usize);
            }
            starts.push(ordered_cells.len() as u32);
        }
        let (groups, cells) = (Centers::new(ordered_groups), Centers::new(ordered_cells));
        Self { groups, starts, cells, num_near, keys: Vec::new() }
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        self.groups.rows.memory_bytes() + self.cells.rows.memory_bytes() + self.cells.len() * 4
    }

    /// Bytes a training for `num_cells` cells out of `sample_len` vectors takes, the sample included, about.
    pub fn training_bytes(num_cells: usize, sample_len: usize, dims: usize) -> usize {
        num_cells * dims * 14 + sample_len * (dims * 2 + 80)
    }

    /// Center of a cell, in fixed point.
    pub fn center(&self, cell: u32) -> &[i16] {
        self.cells.rows.row(cell as usize)
    }

    /// Group of a cell.
    pub fn group_of(&self, cell: u32) -> u32 {
        self.starts.partition_point(|&start| start <= cell) as u32 - 1
    }

    /// Appends the cell of each of `rows[range]`, and to `seconds` the cell that lists it too, if there is one, else
    /// [`NO_CELL`](super::NO_CELL); a few milliseconds for a thousand of them.
    pub fn assign_two(&mut self, rows: &FixedRows, range: Range<usize>, out: &mut Vec<u32>, seconds: &mut Vec<u32>) {
        let mut cells = vec![NearCells::NONE; range.len()];
        let lists = self.near_lists(rows, range.clone());
        let mut block = FixedRows::with_capacity(rows.dims(), BLOCK);
        for group in 0..self.groups.len() {
            let of_group = self.starts[group] as usize..self.starts[group + 1] as usize;
            for chunk in lists.list(group).chunks(BLOCK).filter(|_| !of_group.is_empty()) {
                block.clear();
                chunk.iter().for_each(|&row| block.push_row(rows, range.start + row as usize));
                let vectors = block.slice(0..block.len());
                self.cells.compare(vectors, of_group.clone(), &mut self.keys, |ix, keys| {
                    cells[chunk[ix] as usize].offer(of_group.start as u32, keys);
                });
            }
        }
        out.extend(cells.iter().map(NearCells::first));
        seconds.extend(cells.iter().zip(range).map(|(near, row)| near.second(rows.row(row), &self.cells)));
    }

    /// Per group which of `rows[range]` have it among their near ones.
    fn near_lists(&mut self, rows: &FixedRows, range: Range<usize>) -> Lists {
        let mut near = Vec::with_capacity(range.len() * self.num_near);
        nearest_groups(&self.groups, rows.slice(range.clone()), self.num_near, &mut self.keys, &mut near);
        let numbers = (0..range.len() as u32).flat_map(|row| std::iter::repeat_n(row, self.num_near));
        Lists::new(self.groups.len(), near.iter().copied().zip(numbers))
    }

    /// Appends the cell of each of `rows[range]`; a few milliseconds for a thousand of them.
    pub fn assign(&mut self, rows: &FixedRows, range: Range<usize>, out: &mut Vec<u32>) {
        let lists = self.near_lists(rows, range.clone());
        let first = out.len();
        out.resize(first + range.len(), 0);
        let mut best_keys = vec![i32::MAX; range.len()];
        let rows = Rows { rows, first: range.start };
        for group in 0..self.groups.len() {
            let range = self.starts[group] as usize..self.starts[group + 1] as usize;
            let members = lists.list(group);
            compare_cells(&self.cells, range, rows, members, &mut self.keys, &mut best_keys, &mut out[first..]);
        }
    }
}
