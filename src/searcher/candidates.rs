//! What one query found in one segment: of estimated vectors, those that an exact score may still be worth.
//!
//! Thousands are estimated for the few dozen that are scored. So the list is cut whenever it has doubled, and what is
//! estimated below the cut from then on is not even looked up.

#![forbid(unsafe_code)]

use crate::{
    bitset::BitSet,
    graph::cells::{CALIBRATION_K, Candidate, Found, QueryMargins, Spread},
    topk::order::{self, float_key},
};

/// The list is not cut before it is so long.
const FIRST_CUT: usize = 128;

/// Which of them are kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keep {
    /// The best so many; `None` where documents have several vectors, which compete with each other.
    pub most: Option<usize>,
    /// How far below the k-th best estimate one is worth an exact score.
    pub margins: Option<QueryMargins>,
    pub k: usize,
    /// The least estimate that is asked for.
    pub least: f32,
    /// None is cut off before so many were found.
    pub enough: usize,
}

/// Vectors that pass, in the order they were found.
#[derive(Debug)]
pub(super) struct Candidates {
    keep: Keep,
    spread: Spread,
    kept: Vec<Candidate>,
    found: usize,
    floor: f32,
    next_cut: usize,
}

impl Candidates {
    /// An empty list for a query that estimates spread so.
    pub fn new(keep: Keep, spread: Spread) -> Self {
        let next_cut = if keep.most.is_some() { FIRST_CUT.max(2 * keep.enough.max(keep.k)) } else { usize::MAX };
        Self { keep, spread, kept: Vec::new(), found: 0, floor: f32::NEG_INFINITY, next_cut }
    }

    /// Those that may still be among the best.
    pub fn kept(&self) -> &[Candidate] {
        &self.kept
    }

    /// Documents found: all of them, or at least `enough`.
    pub fn num_docs(&self) -> usize {
        if self.keep.most.is_some() {
            return self.found;
        }
        let mut docs: Vec<u32> = self.kept.iter().map(|candidate| candidate.doc).collect();
        docs.sort_unstable();
        docs.dedup();
        docs.len()
    }

    /// Takes what passes `accept`.
    pub fn accepting<'c>(&'c mut self, accept: Option<&'c BitSet>) -> impl Found + 'c {
        Accepting { candidates: self, accept }
    }

    #[cold]
    fn cut(&mut self) {
        let mut keys: Vec<u64> = self.kept.iter().map(|one| falling(one.estimate)).collect();
        if let Some(most) = self.keep.most.filter(|&most| most > 0 && most < keys.len()) {
            self.floor = self.floor.max(estimate_of(order::select(&mut keys, most - 1)));
        }
        if let Some(margins) = self.keep.margins.filter(|_| self.keep.k > 0 && self.keep.k <= keys.len()) {
            let kth = estimate_of(order::select(&mut keys, self.keep.k - 1)).max(least_bar(&mut keys, self.keep.least));
            self.floor = self.floor.max(row_threshold(self.spread, margins, kth));
        }
        let floor = self.floor;
        // What is no number stays.
        self.kept.retain(|one| one.estimate >= floor || one.estimate.is_nan());
        self.next_cut = self.next_cut.max(2 * self.kept.len());
    }
}

/// Candidates of the documents that pass.
struct Accepting<'c> {
    candidates: &'c mut Candidates,
    accept: Option<&'c BitSet>,
}

impl Found for Accepting<'_> {
    #[inline]
    fn push(&mut self, candidate: Candidate) {
        if self.accept.is_none_or(|accept| accept.contains(candidate.doc)) {
            self.candidates.found += 1;
            self.candidates.kept.push(candidate);
            if self.candidates.kept.len() >= self.candidates.next_cut {
                self.candidates.cut();
            }
        }
    }

    #[inline]
    fn floor(&self) -> f32 {
        self.candidates.floor
    }
}

/// The least estimate that is worth an exact score where the k-th best is `kth`: no less for a larger one.
pub(super) fn row_threshold(spread: Spread, margins: QueryMargins, kth: f32) -> f32 {
    // Of small shares the margins are negative, but the k best themselves are always wanted.
    spread.threshold(kth, margins.at(spread.nearness(kth)).rows.max(0.0))
}

/// The least score that is asked for as a bar for estimates, of which `keys` are [`falling`] keys. Margins were measured
/// from the tenth best estimate, and estimates of coarse codes lie below scores: where fewer than ten are estimated to be
/// good enough, the bar is the tenth best of them.
pub(super) fn least_bar(keys: &mut [u64], least: f32) -> f32 {
    let tenth = CALIBRATION_K.min(keys.len()).checked_sub(1).map(|at| estimate_of(order::select(keys, at)));
    tenth.map_or(least, |tenth| least.min(tenth))
}

/// A key that is smaller for larger estimates.
pub(super) fn falling(estimate: f32) -> u64 {
    u64::from(!float_key(estimate))
}

/// The estimate of a [`falling`] key.
pub(super) fn estimate_of(key: u64) -> f32 {
    order::float_of(!(key as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::cells::Margins, schema::Metric};

    fn sample(random: &mut fastrand::Rng, len: u32) -> Vec<Candidate> {
        let levels = random.u32(1..2_000);
        let one = |ord, random: &mut fastrand::Rng| {
            // Many are equal where there are few levels.
            let estimate = random.u32(0..levels) as f32 / levels as f32;
            Candidate { ord, doc: ord, estimate, cell_rank: 0.0 }
        };
        (0..len).map(|ord| one(ord, random)).collect()
    }

    #[test]
    fn what_is_cut_off_is_none_of_the_best() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let spread = Spread::new(Metric::Cosine, 1.0);
        let mut shortest = usize::MAX;
        for _ in 0..200 {
            let (len, k) = (random.u32(0..5_000), random.usize(1..50));
            let all = sample(&mut random, len);
            let margins = random.bool().then(|| {
                // Of small shares they are negative.
                let near = random.f32() * 0.3 - 0.1;
                let kinds = [near, near + random.f32() * 0.1].map(|rows| Margins { cells: 0.0, rows });
                QueryMargins::new(kinds, [0.9, 0.3])
            });
            let keep = Keep {
                most: Some(k + random.usize(0..300)),
                margins,
                k,
                least: if random.bool() { f32::NEG_INFINITY } else { random.f32() },
                enough: random.usize(0..300),
            };
            let accept = random.bool().then(|| {
                let mut accept = BitSet::new(5_000);
                (0..5_000).filter(|_| random.bool()).for_each(|doc| {
                    accept.insert(doc);
                });
                accept
            });
            let mut candidates = Candidates::new(keep, spread);
            let mut sink = candidates.accepting(accept.as_ref());
            for one in &all {
                // As a probe does.
                if one.estimate >= sink.floor() {
                    sink.push(*one);
                }
            }
            drop(sink);
            let mut passing: Vec<Candidate> =
                all.into_iter().filter(|one| accept.as_ref().is_none_or(|set| set.contains(one.doc))).collect();
            let total = passing.len();
            passing.sort_by(|a, b| b.estimate.total_cmp(&a.estimate).then(a.ord.cmp(&b.ord)));
            let near = |one: &&Candidate| {
                let least =
                    least_bar(&mut passing.iter().map(|one| falling(one.estimate)).collect::<Vec<_>>(), keep.least);
                let kth = passing.get(k - 1).map_or(least, |kth| kth.estimate.max(least));
                margins.is_none_or(|margins| one.estimate >= row_threshold(spread, margins, kth))
            };
            let expected: Vec<u32> = passing.iter().take(keep.most.unwrap()).filter(near).map(|one| one.ord).collect();
            let kept: Vec<u32> = candidates.kept().iter().map(|one| one.ord).collect();
            assert!(expected.iter().all(|ord| kept.contains(ord)), "{keep:?}");
            assert!(candidates.num_docs() >= keep.enough.min(total), "{keep:?}");
            if keep.least == f32::NEG_INFINITY {
                assert!(candidates.kept().len() >= k.min(total), "{keep:?}");
            }
            if total > 4_000 && keep.enough < 64 && margins.is_some() {
                shortest = shortest.min(kept.len());
            }
        }
        assert!(shortest < 1_000, "something is cut off: {shortest}");
    }

    #[test]
    fn lists_of_equals_stay_whole_and_are_not_cut_all_the_time() {
        let margins = Some(QueryMargins::new([Margins::default(); 2], [0.9, 0.3]));
        let keep = Keep { most: Some(10), margins, k: 10, least: f32::NEG_INFINITY, enough: 10 };
        let mut candidates = Candidates::new(keep, Spread::new(Metric::Cosine, 1.0));
        for ord in 0..100_000 {
            candidates.accepting(None).push(Candidate { ord, doc: ord, estimate: 0.5, cell_rank: 0.0 });
        }
        assert_eq!(candidates.kept().len(), 100_000);
        assert!(candidates.next_cut > 100_000);
    }
}
