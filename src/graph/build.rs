//! Building the graph: batches of whole cells, products in blocks, in fixed point.
//!
//! ```text
//! means    per cell: its center, and that of its group
//! near     per cell: the cells around it, by distance of centers
//! link     per cell: its vectors against those of the cells around it, block by block; per vector the nearest ones,
//!          pruned
//! reverse  per cell: neighbours, and vectors that have this one for a neighbour, pruned again
//! repair   a search from the entry; what it does not find is linked to what it did
//! write    per cell: its rows
//! ```
//! Each is done in steps of a few milliseconds, whatever the number of vectors: on the web a build shares its thread with
//! searches. A cell of many vectors is linked in parts.
//! No search is made and nothing is random, so that a build takes the same time per vector at any size, and the same
//! vectors in the same cells give the same bytes on every machine. It runs on one thread: what is built at the same time
//! is segments, each by a worker of its own.

use std::ops::Range;

use super::{
    adjacency::{GraphMeta, MAX_DEGREE, RowShape},
    cells::{Centers, Lists, Means, half_square, nearest_groups},
    prune::{Neighbour, Pruner, Space, smallest},
    repair::Repair,
};
use crate::{
    distance::fixed::{FixedRows, fixed_dots_block},
    topk::TopBy,
};

/// What a graph looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphOptions {
    /// Neighbours of a vector at most, 1 to 256. Default 32.
    pub degree: u32,
    /// Cells around its own whose vectors a vector is compared with. Default 48: on 99,000 sentence vectors, narrow walks
    /// find 0.87, 0.92 and 0.92 of the ten nearest with 24, 48 and 64 of them, and building takes that much longer.
    pub near_cells: u32,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self { degree: 32, near_cells: 48 }
    }
}

/// Candidates of a vector, as a multiple of the degree.
const CANDIDATE_FACTOR: usize = 2;
/// Groups of cells in which the cells around one are looked for.
const NEAR_GROUPS: usize = 12;

/// How much of each kind one step does, about; all take a few milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steps {
    /// Cells whose surroundings are found.
    pub(super) cells: usize,
    /// Components of rows that are read once.
    pub(super) components: usize,
    /// Neighbours that are put or written somewhere.
    pub(super) neighbours: usize,
    /// Vectors that are linked.
    pub(super) linked: usize,
    /// Vectors whose neighbours a search looks at.
    pub(super) searched: usize,
}

impl Default for Steps {
    fn default() -> Self {
        Self { cells: 64, components: 1 << 20, neighbours: 1 << 16, linked: 64, searched: 4096 }
    }
}

/// What the next step does; numbers are of the cell or of the vector that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Means(usize),
    Near(usize),
    Link(Place),
    Fill(usize),
    Reverse(Place),
    Repair,
    Write(usize),
    Done,
}

/// A vector, and the cell it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    cell: usize,
    ord: usize,
}

/// Builds a graph step by step, so that the caller can give way, report and stop in between.
#[derive(Debug)]
pub struct GraphBuilder {
    space: Space,
    /// First ordinal of each cell, and the number of vectors at the end.
    cell_starts: Vec<u32>,
    /// First cell of each group, and the number of cells at the end.
    group_starts: Vec<u32>,
    options: GraphOptions,
    groups: Centers,
    centers: Centers,
    /// Of the group whose cells are being read.
    group_mean: Means,
    /// The cells around each, `[cells x near]`, shorter where there are fewer.
    near: Vec<Vec<u32>>,
    links: Links,
    /// How many vectors have each for a neighbour.
    num_incoming: Vec<u32>,
    /// Vectors that have a vector for a neighbour.
    incoming: Lists,
    pruner: Pruner,
    phase: Phase,
    pub(super) steps: Steps,
    repair: Repair,
    adjacency: Vec<u8>,
    dots: Vec<i32>,
}

/// Lists of neighbours of one greatest length.
#[derive(Debug)]
pub(super) struct Links {
    pub(super) degree: usize,
    /// `[count x degree]`.
    ords: Vec<u32>,
    lens: Vec<u16>,
}

impl Links {
    pub(super) fn new(count: usize, degree: usize) -> Self {
        Self { degree, ords: vec![0; count * degree], lens: vec![0; count] }
    }

    pub(super) fn len(&self) -> usize {
        self.lens.len()
    }

    pub(super) fn list(&self, ord: u32) -> &[u32] {
        let start = ord as usize * self.degree;
        &self.ords[start..start + usize::from(self.lens[ord as usize])]
    }

    pub(super) fn list_mut(&mut self, ord: u32) -> &mut [u32] {
        let start = ord as usize * self.degree;
        &mut self.ords[start..start + usize::from(self.lens[ord as usize])]
    }

    /// Appends a neighbour; `false` where there is no room.
    pub(super) fn push(&mut self, ord: u32, neighbour: u32) -> bool {
        let len = &mut self.lens[ord as usize];
        if usize::from(*len) == self.degree {
            return false;
        }
        self.ords[ord as usize * self.degree + usize::from(*len)] = neighbour;
        *len += 1;
        true
    }

    fn set(&mut self, ord: u32, neighbours: &[Neighbour]) {
        self.lens[ord as usize] = 0;
        neighbours.iter().for_each(|neighbour| {
            self.push(ord, neighbour.ord);
        });
    }
}

impl GraphBuilder {
    /// A builder for `rows` in the order of cells. `cell_starts` are the first ordinals of the cells and the number of
    /// vectors at the end, `group_starts` the first cells of the groups and the number of cells at the end.
    ///
    /// # Panics
    /// If the starts are not of these rows, a cell or a group is empty, or the degree is out of bounds.
    pub fn new(rows: FixedRows, cell_starts: Vec<u32>, group_starts: Vec<u32>, options: GraphOptions) -> Self {
        assert!((1..=MAX_DEGREE).contains(&options.degree), "a degree of {}", options.degree);
        let is_ascending = |starts: &[u32]| starts.first() == Some(&0) && starts.is_sorted_by(|a, b| a < b);
        assert!(is_ascending(&cell_starts) && is_ascending(&group_starts), "cells and groups are not empty");
        assert_eq!(cell_starts.last().map(|&end| end as usize), Some(rows.len()), "cells of these rows");
        assert_eq!(group_starts.last().map(|&end| end as usize), Some(cell_starts.len() - 1), "groups of these cells");
        let (count, dims, degree) = (rows.len(), rows.dims(), options.degree as usize);
        let (num_cells, num_groups) = (cell_starts.len() - 1, group_starts.len() - 1);
        let centers = |len: usize| Centers::new(FixedRows::with_capacity(dims, len));
        Self {
            space: Space { rows, halves: Vec::with_capacity(count) },
            near: vec![Vec::new(); num_cells],
            groups: centers(num_groups),
            centers: centers(num_cells),
            group_mean: Means::new(dims, 1),
            cell_starts,
            group_starts,
            options,
            links: Links::new(count, degree),
            num_incoming: vec![0; count],
            incoming: Lists::default(),
            pruner: Pruner::new(dims, degree),
            phase: if count > 0 { Phase::Means(0) } else { Phase::Done },
            steps: Steps::default(),
            repair: Repair::default(),
            adjacency: Vec::new(),
            dots: Vec::new(),
        }
    }

    /// Bytes of memory that building takes, the rows included, about: rows in fixed point, neighbours in both directions,
    /// what is written of them.
    pub fn memory_bytes(count: u64, dims: u32, degree: u32) -> u64 {
        count * (2 * u64::from(dims.next_multiple_of(16)) + 12 * u64::from(degree) + 32 + u64::from(dims) / 8)
    }

    /// Does the next few milliseconds of work; `false` when there is none left.
    pub fn step(&mut self) -> bool {
        let (num_cells, count) = (self.near.len(), self.links.len());
        self.phase = match self.phase {
            Phase::Means(first) => match self.find_means(first) {
                end if end < num_cells => Phase::Means(end),
                _ => Phase::Near(0),
            },
            Phase::Near(first) => {
                let end = (first + self.steps.cells).min(num_cells);
                self.find_near(first..end);
                if end < num_cells { Phase::Near(end) } else { Phase::Link(Place { cell: 0, ord: 0 }) }
            }
            Phase::Link(place) => {
                let part = self.part(place);
                self.link(place.cell, part.clone());
                match self.place_behind(place.cell, part) {
                    Some(place) => Phase::Link(place),
                    None => {
                        self.incoming = Lists::with_lens(&std::mem::take(&mut self.num_incoming));
                        Phase::Fill(0)
                    }
                }
            }
            Phase::Fill(first) => {
                let end = (first + self.list_step()).min(count);
                for ord in first as u32..end as u32 {
                    self.links.list(ord).iter().for_each(|&neighbour| self.incoming.push(neighbour, ord));
                }
                if end < count { Phase::Fill(end) } else { Phase::Reverse(Place { cell: 0, ord: 0 }) }
            }
            Phase::Reverse(place) => {
                let part = self.part(place);
                self.reverse(part.clone());
                match self.place_behind(place.cell, part) {
                    Some(place) => Phase::Reverse(place),
                    None => {
                        self.incoming = Lists::default();
                        self.repair = Repair::new(self.space.rows.dims(), count);
                        Phase::Repair
                    }
                }
            }
            Phase::Repair if self.repair.step(&self.space, &mut self.links, &self.steps) => Phase::Repair,
            Phase::Repair => {
                self.adjacency.reserve_exact(self.shape().total(num_cells as u32) as usize);
                Phase::Write(0)
            }
            Phase::Write(first) => match self.write(first) {
                end if end < num_cells => Phase::Write(end),
                _ => Phase::Done,
            },
            Phase::Done => Phase::Done,
        };
        self.phase != Phase::Done
    }

    /// The graph, and the neighbours as they are stored.
    ///
    /// # Panics
    /// If [`Self::step`] has not yet returned `false`.
    pub fn finish(self) -> (GraphMeta, Vec<u8>) {
        assert_eq!(self.phase, Phase::Done, "building has come to its end");
        let meta = GraphMeta::new(self.shape(), self.cell_starts.len() as u32 - 1, self.repair.entry());
        (meta, self.adjacency)
    }

    /// Lists of neighbours that a step takes.
    fn list_step(&self) -> usize {
        (self.steps.neighbours / self.links.degree).max(1)
    }

    fn shape(&self) -> RowShape {
        RowShape::new(self.options.degree, self.links.len() as u32)
    }

    /// Writes cells from `first` on, as many as a step takes; the first one that is left.
    fn write(&mut self, first: usize) -> usize {
        let (shape, ends) = (self.shape(), &self.cell_starts[first + 1..]);
        let last = self.cell_starts[first] as usize + self.list_step();
        let end = first + ends.partition_point(|&end| end as usize <= last).max(1);
        for cell in first..end {
            let start = self.adjacency.len();
            for ord in self.cell(cell) {
                let list = self.links.list_mut(ord as u32);
                list.sort_unstable();
                shape.write_row(ord as u32, list, &mut self.adjacency);
            }
            crate::codec::checksum::seal(&mut self.adjacency, start);
        }
        end
    }

    /// The vectors of the cell at `place`, from there on, as many as a step takes.
    fn part(&self, Place { cell, ord }: Place) -> Range<usize> {
        ord..self.cell(cell).end.min(ord + self.steps.linked)
    }

    /// What comes after a part of a cell.
    fn place_behind(&self, cell: usize, part: Range<usize>) -> Option<Place> {
        let ord = part.end;
        let cell = if ord < self.cell(cell).end { cell } else { cell + 1 };
        (ord < self.links.len()).then_some(Place { cell, ord })
    }

    /// Finds the centers of cells from `first` on, of as many as a step takes, and of the groups that end with them; the
    /// first cell that is left.
    fn find_means(&mut self, first: usize) -> usize {
        let rows = &self.space.rows;
        let last = self.cell_starts[first] as usize + self.steps.components / rows.stride();
        let end = first + self.cell_starts[first + 1..].partition_point(|&end| end as usize <= last).max(1);
        let mut mean = Means::new(rows.dims(), 1);
        for cell in first..end {
            let range = self.cell_starts[cell] as usize..self.cell_starts[cell + 1] as usize;
            for row in range.clone().map(|ord| rows.row(ord)) {
                self.space.halves.push(half_square(row));
                mean.add(0, row);
                self.group_mean.add(0, row);
            }
            self.centers.push_mean(&mut mean, rows, range.start);
            if self.group_starts[self.groups.len() + 1] as usize == cell + 1 {
                self.groups.push_mean(&mut self.group_mean, rows, range.start);
            }
        }
        end
    }

    fn cell(&self, cell: usize) -> Range<usize> {
        self.cell_starts[cell] as usize..self.cell_starts[cell + 1] as usize
    }

    /// Finds the cells around each of `cells` in the groups around it.
    fn find_near(&mut self, cells: Range<usize>) {
        let num_near = NEAR_GROUPS.min(self.groups.len());
        let (mut keys, mut groups) = (Vec::new(), Vec::new());
        nearest_groups(&self.groups, self.centers.rows.slice(cells.clone()), num_near, &mut keys, &mut groups);
        let numbers = (0..cells.len() as u32).flat_map(|ix| std::iter::repeat_n(ix, num_near));
        let members = Lists::new(self.groups.len(), groups.iter().copied().zip(numbers));
        let num_cells = self.near.len() as u32;
        let mut tops: Vec<TopBy<(i32, u32)>> =
            cells.clone().map(|_| TopBy::new(self.options.near_cells as usize)).collect();
        let mut block = FixedRows::with_capacity(self.space.rows.dims(), cells.len());
        for group in 0..self.groups.len() {
            let members = members.list(group);
            if members.is_empty() {
                continue;
            }
            block.clear();
            members.iter().for_each(|&ix| block.push_row(&self.centers.rows, cells.start + ix as usize));
            let range = self.group_starts[group] as usize..self.group_starts[group + 1] as usize;
            self.centers.compare(block.slice(0..block.len()), range.clone(), &mut keys, |ix, keys| {
                let ix = members[ix] as usize;
                let own = (cells.start + ix) as u32;
                for (&key, cell) in keys.iter().zip(range.start as u32..) {
                    // Among equal centers those that follow its own, so that they do not all choose the same ones.
                    let behind = (cell + num_cells - own) % num_cells;
                    if behind > 0 {
                        tops[ix].push((key, behind));
                    }
                }
            });
        }
        for (cell, top) in cells.zip(tops) {
            let numbers = top.into_sorted_vec().into_iter();
            self.near[cell] = numbers.map(|(_, behind)| (cell as u32 + behind) % num_cells).collect();
        }
    }

    /// Finds the neighbours of `own` vectors, of one cell.
    fn link(&mut self, cell: usize, own: Range<usize>) {
        let limit = CANDIDATE_FACTOR * self.options.degree as usize;
        let mut found: Vec<(Vec<Neighbour>, u32)> = own.clone().map(|_| (Vec::new(), u32::MAX)).collect();
        let near = std::mem::take(&mut self.near[cell]);
        for other in std::iter::once(cell).chain(near.iter().map(|&cell| cell as usize)) {
            let others = self.cell(other);
            self.dots.resize(own.len() * others.len(), 0);
            let Space { rows, halves } = &self.space;
            fixed_dots_block(rows.stride(), rows.slice(own.clone()), rows.slice(others.clone()), &mut self.dots);
            let by_vector = self.dots.chunks_exact(others.len()).zip(&mut found).zip(own.clone());
            for ((dots, (candidates, bound)), ord) in by_vector {
                for ((&dot, &half), other) in dots.iter().zip(&halves[others.clone()]).zip(others.start as u32..) {
                    let half_distance = Space::half_distance(halves[ord], half, dot);
                    if half_distance <= *bound && other != ord as u32 {
                        candidates.push(Neighbour::new(ord as u32, other, half_distance));
                    }
                }
                if candidates.len() > limit {
                    candidates.select_nth_unstable(limit);
                    candidates.truncate(limit);
                    *bound = candidates.iter().map(|one| one.half_distance).max().unwrap_or(u32::MAX);
                }
            }
        }
        for ((mut candidates, _), ord) in found.into_iter().zip(own.start as u32..) {
            smallest(&mut candidates, limit);
            self.pruner.prune(&self.space, &mut candidates);
            self.links.set(ord, &candidates);
            self.links.list(ord).iter().for_each(|&neighbour| self.num_incoming[neighbour as usize] += 1);
        }
        if own.end < self.cell(cell).end {
            self.near[cell] = near;
        }
    }

    /// Takes vectors that chose `own` ones among their neighbours.
    fn reverse(&mut self, own: Range<usize>) {
        let degree = self.options.degree as usize;
        for ord in own {
            let Space { rows, halves } = &self.space;
            let (own, mut dot) = (rows.row(ord), [0]);
            let others = self.links.list(ord as u32).iter().chain(self.incoming.list(ord));
            let mut candidates: Vec<Neighbour> = others
                .map(|&other| {
                    fixed_dots_block(rows.stride(), own, rows.row(other as usize), &mut dot);
                    let half_distance = Space::half_distance(halves[ord], halves[other as usize], dot[0]);
                    Neighbour::new(ord as u32, other, half_distance)
                })
                .collect();
            candidates.sort_unstable();
            candidates.dedup();
            candidates.truncate(CANDIDATE_FACTOR * degree);
            if candidates.len() > degree {
                self.pruner.prune(&self.space, &mut candidates);
            }
            self.links.set(ord as u32, &candidates);
        }
    }
}
