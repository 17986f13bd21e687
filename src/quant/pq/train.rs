//! Finding centroids: k-means++ or a warm start, then Lloyd, subspace after subspace, in steps of a few milliseconds.
//!
//! The sample is asked for one subspace at a time, so that its components are never in memory together. Distances are
//! single precision in a fixed order, sums double precision in the order of the sample: the same centroids everywhere.

use std::ops::Range;

use super::model::PqModel;
use crate::distance::codebook::{CENTROIDS, centroid_distances, smallest};

/// How centroids are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PqOptions {
    /// Rounds after the seeding at most. Default 6.
    pub rounds: u32,
    /// Seed of the first centroids. Default 42.
    pub seed: u64,
}

impl Default for PqOptions {
    fn default() -> Self {
        Self { rounds: 6, seed: 42 }
    }
}

/// Rounds stop where no more than one vector in so many changes its centroid.
const SETTLED_PART: usize = 100;

/// Finds the centroids of a model.
#[derive(Debug)]
pub struct PqTrainer {
    model: PqModel,
    options: PqOptions,
    is_warm: bool,
    random: u64,
    subspace: usize,
    /// Rounds done in this subspace; `None` before its seeding.
    round: Option<u32>,
    /// The sample in this subspace, `[count x components]`.
    sample: Vec<f32>,
    nearest: Vec<u8>,
}

impl PqTrainer {
    /// A trainer from nothing.
    pub fn new(model: PqModel, options: PqOptions) -> Self {
        let random = options.seed;
        let (sample, nearest) = (Vec::new(), Vec::new());
        Self { model, options, is_warm: false, random, subspace: 0, round: None, sample, nearest }
    }

    /// A trainer that starts with the centroids of `model`, as merges do.
    pub fn warm(model: PqModel, options: PqOptions) -> Self {
        Self { is_warm: true, ..Self::new(model, options) }
    }

    /// Bytes of memory beside the model and the sample, for a sample of `count` vectors.
    pub fn memory_bytes(model: &PqModel, count: usize) -> usize {
        count * (model.components(0).len() * 4 + 5)
    }

    /// Does the next few milliseconds of work; `false` when there is none left. `sample` appends components of all
    /// sampled vectors, `[count x components]`.
    pub fn step(&mut self, sample: &mut dyn FnMut(Range<usize>, &mut Vec<f32>)) -> bool {
        if self.subspace == self.model.subspaces() {
            return false;
        }
        let Some(round) = self.round else {
            self.sample.clear();
            sample(self.model.components(self.subspace), &mut self.sample);
            if !self.is_warm {
                self.seed();
            }
            self.nearest.clear();
            self.round = Some(0);
            return true;
        };
        let changed = self.lloyd();
        if round + 1 >= self.options.rounds || changed * SETTLED_PART <= self.nearest.len() {
            self.subspace += 1;
            self.round = None;
        } else {
            self.round = Some(round + 1);
        }
        self.subspace < self.model.subspaces()
    }

    /// The model.
    ///
    /// # Panics
    /// If [`Self::step`] has not yet returned `false`.
    pub fn finish(self) -> PqModel {
        assert_eq!(self.subspace, self.model.subspaces(), "training has come to its end");
        self.model
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014), as a number in 0..1 of 53 bits.
    fn next_random(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// k-means++: each further centroid is a vector drawn with a probability in proportion to its squared distance to
    /// the nearest one so far. Where all distances are zero the last centroid is repeated.
    fn seed(&mut self) {
        let width = self.model.components(self.subspace).len();
        let count = self.sample.len() / width;
        if count == 0 {
            return;
        }
        let mut nearest = vec![f32::INFINITY; count];
        let mut pick = ((self.next_random() * count as f64) as usize).min(count - 1);
        for centroid in 0..CENTROIDS {
            let chosen = self.sample[pick * width..(pick + 1) * width].to_vec();
            let centroids = self.model.centroids_mut(self.subspace);
            centroids.chunks_exact_mut(CENTROIDS).zip(&chosen).for_each(|(row, &value)| row[centroid] = value);
            let mut total = 0.0f64;
            for (row, nearest) in self.sample.chunks_exact(width).zip(&mut nearest) {
                let distance = row.iter().zip(&chosen).fold(0.0f32, |sum, (a, b)| sum + (a - b) * (a - b));
                *nearest = if distance < *nearest { distance } else { *nearest };
                total += f64::from(*nearest);
            }
            // Not drawn where no distance is left, or where one passes the range of f32.
            if !(total > 0.0 && total.is_finite()) {
                continue;
            }
            let mut rest = self.next_random() * total;
            let passes = |distance: &f32| {
                rest -= f64::from(*distance);
                rest < 0.0
            };
            pick = nearest.iter().position(passes).unwrap_or(pick);
        }
    }

    /// Assigns the sample and moves centroids to the means of their vectors; returns how many vectors changed theirs. A
    /// centroid without vectors takes the vector that is farthest from its own.
    fn lloyd(&mut self) -> usize {
        let width = self.model.components(self.subspace).len();
        let is_first = self.nearest.is_empty();
        self.nearest.resize(self.sample.len() / width, 0);
        let (mut sums, mut counts) = (vec![0.0f64; width * CENTROIDS], [0u32; CENTROIDS]);
        let (mut changed, mut farthest, mut distances) = (0, (-1.0f32, 0), [0.0; CENTROIDS]);
        for (ix, (row, nearest)) in self.sample.chunks_exact(width).zip(&mut self.nearest).enumerate() {
            centroid_distances(row, self.model.centroids(self.subspace), &mut distances);
            let found = smallest(&distances);
            changed += usize::from(is_first || found != *nearest);
            *nearest = found;
            counts[usize::from(found)] += 1;
            if distances[usize::from(found)] > farthest.0 {
                farthest = (distances[usize::from(found)], ix);
            }
            for (sums, &value) in sums.chunks_exact_mut(CENTROIDS).zip(row) {
                sums[usize::from(found)] += f64::from(value);
            }
        }
        let mut lost = farthest.0 > 0.0;
        let centroids = self.model.centroids_mut(self.subspace).chunks_exact_mut(CENTROIDS);
        for (component, (centroids, sums)) in centroids.zip(sums.chunks_exact(CENTROIDS)).enumerate() {
            let far = self.sample.get(farthest.1 * width + component).copied().unwrap_or_default();
            for ((centroid, &sum), &count) in centroids.iter_mut().zip(sums).zip(&counts) {
                if count > 0 {
                    *centroid = (sum / f64::from(count)) as f32;
                } else if lost {
                    *centroid = far;
                    lost = false;
                }
            }
            lost = farthest.0 > 0.0;
        }
        changed
    }
}
