//! Making every vector reachable from one of them, without more neighbours than the degree.
//!
//! A search from the entry, the vector nearest to the mean of all, finds a tree of neighbours. A vector outside of it is made a neighbour of one inside, in free
//! room or in place of a neighbour that the tree does not need: n vectors of degree d have n * d places, of which a tree
//! needs n - 1, so there always is one. Nothing that was reachable is lost by it.

use super::{
    build::{Links, Steps},
    prune::Space,
};
use crate::{
    bitset::BitSet,
    distance::fixed::{FixedRows, fixed_dots_block},
};

const NONE: u32 = u32::MAX;

#[derive(Debug, Default)]
enum Phase {
    /// The mean of all vectors.
    Mean {
        sums: Vec<i64>,
    },
    /// The one nearest to it.
    Nearest {
        mean: FixedRows,
        best: (i64, u32),
    },
    Search,
    #[default]
    Done,
}

/// The search, and how far it has come.
#[derive(Debug, Default)]
pub(super) struct Repair {
    phase: Phase,
    entry: u32,
    reached: BitSet,
    /// Through which vector each was reached.
    parents: Vec<u32>,
    left: Vec<u32>,
    /// Vectors before it are looked at, of the search: reached.
    next: u32,
}

impl Repair {
    pub(super) fn new(dims: usize, count: usize) -> Self {
        let reached = BitSet::new(count as u32);
        let phase = Phase::Mean { sums: vec![0; dims] };
        Self { phase, reached, parents: vec![NONE; count], ..Self::default() }
    }

    pub(super) fn entry(&self) -> u32 {
        self.entry
    }

    /// Does a part; `false` when all vectors are reached.
    pub(super) fn step(&mut self, space: &Space, links: &mut Links, steps: &Steps) -> bool {
        let rows = &space.rows;
        let part = self.next as usize..rows.len().min(self.next as usize + steps.components.div_ceil(rows.stride()));
        let is_last = part.end == rows.len();
        let next = if is_last { 0 } else { part.end as u32 };
        match &mut self.phase {
            Phase::Mean { sums } => {
                for ord in part {
                    sums.iter_mut().zip(rows.row(ord)).for_each(|(sum, &value)| *sum += i64::from(value));
                }
                if is_last {
                    let mut mean = FixedRows::new(rows.dims());
                    mean.push_row(rows, 0);
                    mean.set_mean(0, sums, rows.len() as u32);
                    self.phase = Phase::Nearest { mean, best: (i64::MAX, 0) };
                }
                self.next = next;
                true
            }
            Phase::Nearest { mean, best } => {
                let mut dots = vec![0; part.len()];
                fixed_dots_block(rows.stride(), mean.row(0), rows.slice(part.clone()), &mut dots);
                for (ord, dot) in part.zip(dots) {
                    *best = (*best).min((i64::from(space.halves[ord]) - i64::from(dot), ord as u32));
                }
                if is_last {
                    self.entry = best.1;
                    self.reached.insert(self.entry);
                    self.left.push(self.entry);
                    self.phase = Phase::Search;
                }
                self.next = next;
                true
            }
            Phase::Search => {
                let more = self.search(links, steps.searched);
                if !more {
                    self.phase = Phase::Done;
                }
                more
            }
            Phase::Done => false,
        }
    }

    fn search(&mut self, links: &mut Links, limit: usize) -> bool {
        for _ in 0..limit {
            if let Some(ord) = self.left.pop() {
                for &neighbour in links.list(ord) {
                    if self.reached.insert(neighbour) {
                        self.parents[neighbour as usize] = ord;
                        self.left.push(neighbour);
                    }
                }
                continue;
            }
            while self.next < self.reached.len() && self.reached.contains(self.next) {
                self.next += 1;
            }
            if self.next == self.reached.len() {
                return false;
            }
            let parent = adopt(links, &self.parents, &self.reached, self.next);
            self.parents[self.next as usize] = parent;
            self.reached.insert(self.next);
            self.left.push(self.next);
        }
        true
    }
}

/// Makes `ord` a neighbour of a reached vector: the first of its own that has a place, else the first one by ordinal
/// before it, else behind it.
fn adopt(links: &mut Links, parents: &[u32], reached: &BitSet, ord: u32) -> u32 {
    let near: Vec<u32> = links.list(ord).iter().copied().filter(|&other| reached.contains(other)).collect();
    let others = (0..ord).rev().chain(ord + 1..reached.len()).filter(|&other| reached.contains(other));
    for parent in near.into_iter().chain(others) {
        if links.push(parent, ord) {
            return parent;
        }
        // The farthest comes last.
        let spare = links.list_mut(parent).iter_mut().rev().find(|other| parents[**other as usize] != parent);
        if let Some(spare) = spare {
            *spare = ord;
            return parent;
        }
    }
    unreachable!("a tree needs fewer places than there are")
}
