//! Making every vector reachable from one of them, without more neighbours than the degree.
//!
//! A search from the entry finds a tree of neighbours. A vector outside of it is made a neighbour of one inside, in free
//! room or in place of a neighbour that the tree does not need: n vectors of degree d have n * d places, of which a tree
//! needs n - 1, so there always is one. Nothing that was reachable is lost by it.

use super::{build::Links, prune::Space};
use crate::{
    bitset::BitSet,
    distance::fixed::{FixedRows, fixed_dots_block},
};

/// Vectors whose neighbours are looked at in one step.
const STEP_VECTORS: usize = 4096;
const NONE: u32 = u32::MAX;

/// The search, and how far it has come.
#[derive(Debug, Default)]
pub(super) struct Repair {
    entry: u32,
    reached: Option<BitSet>,
    /// Through which vector each was reached.
    parents: Vec<u32>,
    left: Vec<u32>,
    /// Vectors before it are reached.
    next: u32,
}

impl Repair {
    /// A search from the vector nearest to the mean of all.
    pub(super) fn new(space: &Space, count: usize) -> Self {
        let entry = medoid(space);
        let mut reached = BitSet::new(count as u32);
        reached.insert(entry);
        Self { entry, reached: Some(reached), parents: vec![NONE; count], left: vec![entry], next: 0 }
    }

    pub(super) fn entry(&self) -> u32 {
        self.entry
    }

    /// Does a part; `false` when all vectors are reached.
    pub(super) fn step(&mut self, links: &mut Links) -> bool {
        let Some(reached) = &mut self.reached else { return false };
        for _ in 0..STEP_VECTORS {
            if let Some(ord) = self.left.pop() {
                for &neighbour in links.list(ord) {
                    if reached.insert(neighbour) {
                        self.parents[neighbour as usize] = ord;
                        self.left.push(neighbour);
                    }
                }
                continue;
            }
            while self.next < reached.len() && reached.contains(self.next) {
                self.next += 1;
            }
            if self.next == reached.len() {
                return false;
            }
            let parent = adopt(links, &self.parents, reached, self.next);
            self.parents[self.next as usize] = parent;
            reached.insert(self.next);
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

fn medoid(space: &Space) -> u32 {
    let rows = &space.rows;
    let mut sums = vec![0i64; rows.dims()];
    for ord in 0..rows.len() {
        sums.iter_mut().zip(rows.row(ord)).for_each(|(sum, &value)| *sum += i64::from(value));
    }
    let mut mean = FixedRows::new(rows.dims());
    mean.push_row(rows, 0);
    mean.set_mean(0, &sums, rows.len() as u32);
    let mut best = (i64::MAX, 0);
    let mut dot = [0];
    for ord in 0..rows.len() {
        fixed_dots_block(rows.stride(), mean.row(0), rows.row(ord), &mut dot);
        best = best.min((i64::from(space.halves[ord]) - i64::from(dot[0]), ord as u32));
    }
    best.1
}
