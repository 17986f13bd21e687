//! Finding the cells of a set of vectors, in steps of a few milliseconds.

use std::ops::Range;

use super::{
    codebook::Codebook,
    lloyd::{BLOCK, Centers, Means},
    order::chain,
};
use crate::{distance::fixed::FixedRows, topk::order as sorting};

/// What cells look like. The defaults serve 10^3–10^7 vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellOptions {
    /// Vectors of an average cell. Default 32: finer cells read fewer codes for the same recall.
    pub cell_len: u32,
    /// Vectors of an average group of cells. Default 1024.
    pub group_len: u32,
    /// Rounds that refine the centers over the groups' borders. Default 2.
    pub refine_rounds: u32,
    /// Groups whose centers a vector is compared with. Default 6.
    pub near_groups: u32,
    /// Seed of the first centers. Default 42.
    pub seed: u64,
}

impl Default for CellOptions {
    fn default() -> Self {
        Self { cell_len: 32, group_len: 1024, refine_rounds: 2, near_groups: 6, seed: 42 }
    }
}

/// Rounds of the groups' centers, on a sample.
const GROUP_ROUNDS: usize = 5;
/// Sampled vectors per group.
const GROUP_SAMPLE: usize = 128;
/// Rounds of the cells' centers inside each group, before the refining ones.
const LOCAL_ROUNDS: usize = 3;
/// Cells of one group at most: a skewed set must not make the cost quadratic.
const MAX_GROUP_CELLS: usize = 256;
/// Cells longer than this many times the average are cut, so that equal vectors cannot make one cell of all.
const MAX_CELL_FACTOR: usize = 8;
/// Vectors whose groups are found in one step.
const STEP_VECTORS: usize = 16 * BLOCK;

/// The arrangement found. Ordinal = new position of a vector; `order[ordinal]` is its row in the input.
#[derive(Debug, Clone)]
pub struct Cells {
    /// Center of each cell, in file order; cells cut from one share theirs.
    pub centers: FixedRows,
    /// First cell of each group, and the number of cells at the end.
    pub group_starts: Vec<u32>,
    /// Center of each group, the mean of its vectors.
    pub group_centers: FixedRows,
    /// First ordinal of each cell, and the number of vectors at the end.
    pub cell_starts: Vec<u32>,
    /// Row in the input of each ordinal; ascending inside a cell.
    pub order: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Groups { round: usize },
    Assign { next: usize },
    Local { group: usize },
    Refine { round: u32, group: usize },
    Done,
}

/// Finds cells step by step, so that the caller can give way, report and stop in between.
#[derive(Debug)]
pub struct CellTrainer<'a> {
    rows: &'a FixedRows,
    options: CellOptions,
    phase: Phase,
    random: SplitMix,
    groups: Centers,
    /// The nearest groups of each vector, `[rows x near]`, best first; taken apart after the last one.
    near: Vec<u32>,
    num_near: usize,
    /// Vectors whose nearest group it is, and vectors that have it among their near ones.
    own_members: Lists,
    near_members: Lists,
    cells: Centers,
    group_starts: Vec<u32>,
    /// Cell of each vector and the key it was chosen by.
    cell_of: Vec<u32>,
    best_keys: Vec<i32>,
    keys: Vec<i32>,
    steps_done: u64,
    /// The vectors are a sample: where they themselves belong is of no interest.
    for_codebook: bool,
}

impl<'a> CellTrainer<'a> {
    /// A trainer for `rows`.
    pub fn new(rows: &'a FixedRows, options: CellOptions) -> Self {
        let len = rows.len();
        let mut random = SplitMix(options.seed);
        let num_groups = (len as f64 / f64::from(options.group_len.max(1))).round().max(1.0) as usize;
        let groups = Centers::new(pick(rows, &random.sample(len, num_groups)));
        Self {
            rows,
            options,
            phase: if len == 0 { Phase::Done } else { Phase::Groups { round: 0 } },
            random,
            num_near: (options.near_groups.max(1) as usize).min(groups.len().max(1)),
            groups,
            near: Vec::new(),
            own_members: Lists::default(),
            near_members: Lists::default(),
            cells: Centers::new(FixedRows::new(rows.dims())),
            group_starts: vec![0],
            cell_of: vec![0; len],
            best_keys: vec![i32::MAX; len],
            keys: Vec::new(),
            steps_done: 0,
            for_codebook: false,
        }
    }

    /// A trainer whose `rows` are a sample of the vectors: it ends in [`Self::into_codebook`].
    pub fn for_codebook(sample: &'a FixedRows, options: CellOptions) -> Self {
        Self { for_codebook: true, ..Self::new(sample, options) }
    }

    /// The centers found, which assign the vectors that the sample was drawn from.
    ///
    /// # Panics
    /// If [`Self::step`] has not yet returned `false`.
    pub fn into_codebook(self) -> Codebook {
        assert_eq!(self.phase, Phase::Done, "training has come to its end");
        Codebook::new(&self.groups, &self.group_starts, &self.cells, self.num_near)
    }

    /// Bytes of memory a training of `len` rows takes beside the rows themselves, about.
    pub fn memory_bytes(len: usize, dims: usize, options: &CellOptions) -> usize {
        let centers = len / options.cell_len.max(1) as usize + 1;
        len * (12 + 8 * options.near_groups as usize) + centers * dims * (2 + 8)
    }

    /// Does the next few milliseconds of work; `false` when there is none left.
    pub fn step(&mut self) -> bool {
        self.phase = match self.phase {
            Phase::Groups { round } => self.group_round(round),
            Phase::Assign { next } => self.assign(next),
            Phase::Local { group } => self.local(group),
            Phase::Refine { round, group } => self.refine(round, group),
            Phase::Done => return false,
        };
        self.steps_done += 1;
        self.phase != Phase::Done
    }

    /// Steps done and, about, steps in all.
    pub fn progress(&self) -> (u64, u64) {
        let groups = self.groups.len() as u64;
        let total = GROUP_ROUNDS as u64
            + self.rows.len().div_ceil(STEP_VECTORS) as u64
            + groups * u64::from(self.options.refine_rounds + 2);
        (self.steps_done, total)
    }

    fn group_round(&mut self, round: usize) -> Phase {
        let sample = self.random.sample(self.rows.len(), self.groups.len() * GROUP_SAMPLE);
        let mut means = Means::new(self.rows.dims(), self.groups.len());
        let (mut block, mut nearest) = (FixedRows::with_capacity(self.rows.dims(), BLOCK), Vec::new());
        for chunk in sample.chunks(BLOCK) {
            block.clear();
            chunk.iter().for_each(|&row| block.push_row(self.rows, row as usize));
            let vectors = block.slice(0..block.len());
            self.groups.nearest(vectors, 0..self.groups.len(), &mut self.keys, &mut nearest);
            for (&row, &group) in chunk.iter().zip(&nearest) {
                means.add(group as usize, self.rows.row(row as usize));
            }
        }
        means.apply(&mut self.groups, 0);
        if round + 1 < GROUP_ROUNDS { Phase::Groups { round: round + 1 } } else { Phase::Assign { next: 0 } }
    }

    fn assign(&mut self, next: usize) -> Phase {
        let end = (next + STEP_VECTORS).min(self.rows.len());
        let num_near = self.num_near;
        nearest_groups(&self.groups, self.rows.slice(next..end), num_near, &mut self.keys, &mut self.near);
        if end < self.rows.len() {
            return Phase::Assign { next: end };
        }
        let near = std::mem::take(&mut self.near);
        let own = near.iter().step_by(num_near).copied();
        self.own_members = Lists::new(self.groups.len(), own.zip(0..));
        let rows = (0..self.rows.len() as u32).flat_map(|row| std::iter::repeat_n(row, num_near));
        self.near_members = Lists::new(self.groups.len(), near.iter().copied().zip(rows));
        Phase::Local { group: 0 }
    }

    fn local(&mut self, group: usize) -> Phase {
        let members = self.own_members.list(group);
        let cells = members.len().div_ceil(self.options.cell_len.max(1) as usize).min(MAX_GROUP_CELLS);
        let seeds: Vec<u32> = self.random.sample(members.len(), cells).iter().map(|&ix| members[ix as usize]).collect();
        let mut centers = Centers::new(pick(self.rows, &seeds));
        let vectors = pick(self.rows, members);
        let mut means = Means::new(self.rows.dims(), cells);
        let mut nearest = Vec::new();
        for _ in 0..LOCAL_ROUNDS {
            centers.nearest(vectors.slice(0..vectors.len()), 0..cells, &mut self.keys, &mut nearest);
            nearest.iter().enumerate().for_each(|(ix, &cell)| means.add(cell as usize, vectors.row(ix)));
            means.apply(&mut centers, 0);
        }
        let mut all = std::mem::take(&mut self.cells.rows);
        (0..cells).for_each(|ix| all.push_row(&centers.rows, ix));
        self.group_starts.push(all.len() as u32);
        self.cells.rows = all;
        if group + 1 < self.groups.len() {
            return Phase::Local { group: group + 1 };
        }
        self.cells = Centers::new(std::mem::take(&mut self.cells.rows));
        Phase::Refine { round: 0, group: 0 }
    }

    /// Compares the vectors near one group with its cells; after the last group, moves the centers. The round
    /// after the last one only assigns.
    fn refine(&mut self, round: u32, group: usize) -> Phase {
        let range = self.group_starts[group] as usize..self.group_starts[group + 1] as usize;
        let members = self.near_members.list(group);
        let (cell_of, best_keys) = (&mut self.cell_of, &mut self.best_keys);
        let rows = Rows { rows: self.rows, first: 0 };
        compare_cells(&self.cells, range, rows, members, &mut self.keys, best_keys, cell_of);
        if group + 1 < self.groups.len() {
            return Phase::Refine { round, group: group + 1 };
        }
        if round == self.options.refine_rounds {
            return Phase::Done;
        }
        let mut means = Means::new(self.rows.dims(), self.cells.len());
        self.cell_of.iter().enumerate().for_each(|(row, &cell)| means.add(cell as usize, self.rows.row(row)));
        means.apply(&mut self.cells, 0);
        if self.for_codebook && round + 1 == self.options.refine_rounds {
            return Phase::Done;
        }
        self.best_keys.fill(i32::MAX);
        Phase::Refine { round: round + 1, group: 0 }
    }

    /// The arrangement.
    ///
    /// # Panics
    /// If [`Self::step`] has not yet returned `false`.
    pub fn finish(self) -> Cells {
        assert_eq!(self.phase, Phase::Done, "training has come to its end");
        let dims = self.rows.dims();
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.cells.len()];
        self.cell_of.iter().enumerate().take(self.rows.len()).for_each(|(row, &cell)| {
            members[cell as usize].push(row as u32);
        });
        let mut out = Cells {
            centers: FixedRows::new(dims),
            group_starts: vec![0],
            group_centers: FixedRows::new(dims),
            cell_starts: vec![0],
            order: Vec::with_capacity(self.rows.len()),
        };
        if self.rows.is_empty() {
            return out;
        }
        let max_len = self.options.cell_len.max(1) as usize * MAX_CELL_FACTOR;
        for group in chain(&self.groups, 0..self.groups.len()) {
            let range = self.group_starts[group as usize] as usize..self.group_starts[group as usize + 1] as usize;
            let first_ord = out.order.len();
            for cell in chain(&self.cells, range.clone()) {
                let cell = range.start + cell as usize;
                for part in members[cell].chunks(max_len) {
                    out.order.extend_from_slice(part);
                    out.centers.push_row(&self.cells.rows, cell);
                    out.cell_starts.push(out.order.len() as u32);
                }
            }
            if out.order.len() == first_ord {
                continue;
            }
            let mut mean = Means::new(dims, 1);
            out.order[first_ord..].iter().for_each(|&row| mean.add(0, self.rows.row(row as usize)));
            let mut center = Centers::new(pick(self.rows, &out.order[first_ord..=first_ord]));
            mean.apply(&mut center, 0);
            out.group_centers.push_row(&center.rows, 0);
            out.group_starts.push(out.centers.len() as u32);
        }
        out
    }
}

/// Appends the `num_near` nearest groups of each vector, best first.
pub(in crate::graph) fn nearest_groups(
    groups: &Centers,
    vectors: &[i16],
    num_near: usize,
    keys: &mut Vec<i32>,
    near: &mut Vec<u32>,
) {
    let mut ranked: Vec<u64> = Vec::new();
    groups.compare(vectors, 0..groups.len(), keys, |_, keys| {
        ranked.clear();
        // The sign flipped, so that numbers without one sort alike; then the ordinal.
        ranked.extend((0u64..).zip(keys.iter()).map(|(ix, &key)| u64::from(key as u32 ^ 1 << 31) << 32 | ix));
        if num_near < ranked.len() {
            sorting::select(&mut ranked, num_near - 1);
        }
        ranked[..num_near].sort_unstable();
        near.extend(ranked[..num_near].iter().map(|&key| key as u32));
    });
}

/// Vectors that are numbered from `first` on.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) rows: &'a FixedRows,
    pub(super) first: usize,
}

/// Compares the vectors `members` of `rows` with the cells of one group and notes those that are nearer than the best so
/// far.
pub(super) fn compare_cells(
    cells: &Centers,
    range: Range<usize>,
    Rows { rows, first }: Rows<'_>,
    members: &[u32],
    keys: &mut Vec<i32>,
    best_keys: &mut [i32],
    cell_of: &mut [u32],
) {
    let mut block = FixedRows::with_capacity(rows.dims(), BLOCK.min(members.len()));
    for chunk in members.chunks(BLOCK).filter(|_| !range.is_empty()) {
        block.clear();
        chunk.iter().for_each(|&row| block.push_row(rows, first + row as usize));
        cells.compare(block.slice(0..block.len()), range.clone(), keys, |ix, keys| {
            let (cell, key) = super::lloyd::argmin(keys);
            let row = chunk[ix] as usize;
            if key < best_keys[row] {
                best_keys[row] = key;
                cell_of[row] = range.start as u32 + cell;
            }
        });
    }
}

/// Lists of rows, one after another.
#[derive(Debug, Default)]
pub(in crate::graph) struct Lists {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Lists {
    /// Sorts pairs of list and row by list, keeping the order of the rows.
    pub(in crate::graph) fn new(num_lists: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut lens = vec![0; num_lists];
        pairs.clone().for_each(|(list, _)| lens[list as usize] += 1);
        let mut lists = Self::with_lens(&lens);
        pairs.for_each(|(list, row)| lists.push(list, row));
        lists
    }

    /// Lists to fill by [`Self::push`], which are what they should be when as many rows as that were pushed.
    pub(in crate::graph) fn with_lens(lens: &[u32]) -> Self {
        // Where a list's next row goes is kept in the place of its end, and is its end when it is full.
        let (mut starts, mut total) = (vec![0], 0);
        for len in lens {
            starts.push(total);
            total += len;
        }
        Self { starts, rows: vec![0; total as usize] }
    }

    /// Appends a row to a list.
    pub(in crate::graph) fn push(&mut self, list: u32, row: u32) {
        let next = &mut self.starts[list as usize + 1];
        self.rows[*next as usize] = row;
        *next += 1;
    }

    pub(in crate::graph) fn list(&self, list: usize) -> &[u32] {
        &self.rows[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

/// Copies of `rows[ix]` for each of `ixs`.
fn pick(rows: &FixedRows, ixs: &[u32]) -> FixedRows {
    let mut picked = FixedRows::with_capacity(rows.dims(), ixs.len());
    ixs.iter().for_each(|&ix| picked.push_row(rows, ix as usize));
    picked
}

/// SplitMix64 (Steele, Lea and Flood, 2014): part of the format's reproducibility, so it is ours and fixed.
#[derive(Debug, Clone)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// `count` different numbers below `len`, ascending; all of them if there are no more. Selection sampling
    /// (Knuth, algorithm S).
    fn sample(&mut self, len: usize, count: usize) -> Vec<u32> {
        let mut wanted = count.min(len) as u64;
        let mut picked = Vec::with_capacity(wanted as usize);
        for ix in 0..len as u64 {
            if wanted == 0 {
                break;
            }
            let left = len as u64 - ix;
            if (u128::from(self.next()) * u128::from(left)) >> 64 < u128::from(wanted) {
                picked.push(ix as u32);
                wanted -= 1;
            }
        }
        picked
    }
}
