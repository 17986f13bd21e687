//! Which candidates become neighbours: near ones that lie in different directions.
//!
//! RobustPrune of Subramanya et al., "DiskANN" (2019), algorithm 2, in passes of growing alpha as JVector makes them: a
//! candidate is taken unless one that was taken before is nearer to it, by alpha, than the vector is. All in squared
//! distances of fixed point, so that the result is the same on every machine.

use crate::distance::fixed::{FixedRows, fixed_dots_block};

/// alpha² of each pass, in hundredths: 1.0 and 1.2.
const PASSES: [u64; 2] = [100, 144];
/// Taken vectors that a candidate is compared with at a time.
const BLOCK: usize = 8;

/// Vectors and half of their squared norms.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) rows: FixedRows,
    pub(super) halves: Vec<i32>,
}

impl Space {
    /// Half of the squared distance, out of the product; rounding can bring it below 0.
    pub(super) fn half_distance(half_a: i32, half_b: i32, dot: i32) -> u32 {
        (i64::from(half_a) + i64::from(half_b) - i64::from(dot)).clamp(0, i64::from(u32::MAX)) as u32
    }
}

/// A candidate; they order by distance. Equal ones go by a number that differs from vector to vector, so that many equal
/// vectors do not all take the same few for neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Neighbour {
    pub(super) half_distance: u32,
    tie: u32,
    pub(super) ord: u32,
}

impl Neighbour {
    pub(super) fn new(of: u32, ord: u32, half_distance: u32) -> Self {
        let mixed = (u64::from(of) << 32 | u64::from(ord)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self { half_distance, tie: ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32) as u32, ord }
    }
}

/// Buffers of prunings.
#[derive(Debug)]
pub(super) struct Pruner {
    degree: usize,
    taken: FixedRows,
    taken_halves: Vec<i32>,
    /// Per candidate: its smallest half distance to a taken one, with how many it was compared, whether it is taken.
    states: Vec<(u32, usize, bool)>,
}

impl Pruner {
    pub(super) fn new(dims: usize, degree: usize) -> Self {
        Self { degree, taken: FixedRows::with_capacity(dims, degree), taken_halves: Vec::new(), states: Vec::new() }
    }

    /// Keeps of `candidates`, different ones that ascend, those that become neighbours; their order stays.
    pub(super) fn prune(&mut self, space: &Space, candidates: &mut Vec<Neighbour>) {
        if candidates.len() <= 1 {
            return;
        }
        self.taken.clear();
        self.taken_halves.clear();
        self.states.clear();
        self.states.resize(candidates.len(), (u32::MAX, 0, false));
        for alpha in PASSES {
            for (ix, candidate) in candidates.iter().enumerate() {
                if self.taken.len() == self.degree {
                    break;
                }
                if !self.states[ix].2 && !self.is_occluded(space, candidate, ix, alpha) {
                    self.taken.push_row(&space.rows, candidate.ord as usize);
                    self.taken_halves.push(space.halves[candidate.ord as usize]);
                    self.states[ix].2 = true;
                }
            }
        }
        let mut states = self.states.iter();
        candidates.retain(|_| states.next().is_some_and(|state| state.2));
    }

    fn is_occluded(&mut self, space: &Space, candidate: &Neighbour, ix: usize, alpha: u64) -> bool {
        let (smallest, compared, _) = &mut self.states[ix];
        let is_near = |smallest: u32| u64::from(smallest) * alpha < u64::from(candidate.half_distance) * 100;
        let (row, half) = (space.rows.row(candidate.ord as usize), space.halves[candidate.ord as usize]);
        let mut dots = [0; BLOCK];
        loop {
            if is_near(*smallest) {
                return true;
            }
            let len = (self.taken.len() - *compared).min(BLOCK);
            if len == 0 {
                return false;
            }
            let range = *compared..*compared + len;
            fixed_dots_block(self.taken.stride(), row, self.taken.slice(range.clone()), &mut dots[..len]);
            for (&dot, &other) in dots[..len].iter().zip(&self.taken_halves[range]) {
                *smallest = (*smallest).min(Space::half_distance(half, other, dot));
            }
            *compared += len;
        }
    }
}

/// The `len` smallest of `candidates`, ascending and different.
pub(super) fn smallest(candidates: &mut Vec<Neighbour>, len: usize) {
    if candidates.len() > len {
        candidates.select_nth_unstable(len);
        candidates.truncate(len);
    }
    candidates.sort_unstable();
    candidates.dedup();
}
