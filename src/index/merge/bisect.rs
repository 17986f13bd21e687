//! An order of documents in which those with the same terms are near each other: recursive graph bisection.
//!
//! Dhulipala et al., "Compressing Graphs and Indexes with Recursive Graph Bisection" (KDD 2016), with the simpler gain
//! and the cooling of Mackenzie, Petri and Moffat, "Faster Index Reordering with Bipartite Graph Partitioning" (SIGIR 2021), as in
//! Lucene's `BPIndexReorderer`.
//!
//! ```text
//! split documents into two halves, as they come
//! up to 20 times:
//!     bias of a document = sum over its terms of log2(documents of the right half) - log2(those of the left half)
//!     no document of the left half is biased to the right by more than one of the right half is to the left, plus the
//!     number of the round (cooling): stop
//!     the half of the documents with the lowest bias become the left half
//! do the same with each half, down to 32 documents, which stay in the order they came in
//! ```
//!
//! All arithmetic is in integers, and ties are broken by document: the same documents give the same order everywhere.

#![forbid(unsafe_code)]

/// Halves of fewer documents are not split: near enough to be in one block of postings.
const MIN_DOCS: usize = 32;
/// Rounds of moving documents between two halves.
const MAX_ROUNDS: i32 = 20;
/// Fractional bits of logarithms.
const LOG_BITS: u32 = 8;
/// Entries of documents that one step looks at, about: some milliseconds.
const STEP_ENTRIES: usize = 1 << 18;

/// Terms of each document, as numbers from 0.
#[derive(Debug, Default)]
pub struct ForwardIndex {
    /// Where the terms of each document start, then the end.
    pub starts: Vec<u32>,
    /// Terms of all documents.
    pub terms: Vec<u32>,
    /// Distinct terms.
    pub num_terms: u32,
}

impl ForwardIndex {
    fn terms_of(&self, doc: u32) -> &[u32] {
        &self.terms[self.starts[doc as usize] as usize..self.starts[doc as usize + 1] as usize]
    }

    /// Documents.
    pub fn num_docs(&self) -> u32 {
        (self.starts.len() as u32).saturating_sub(1)
    }
}

/// One document of the part that is being split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Biased {
    bias: i32,
    doc: u32,
    is_left: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Counting the documents of each term in both halves.
    Count,
    /// Finding the bias of each document.
    Weigh,
    /// Moving counts of documents that change their half.
    Move,
    /// Forgetting the counts.
    Clear,
}

/// A part of the order that is being split.
#[derive(Debug)]
struct Split {
    start: usize,
    end: usize,
    round: i32,
    phase: Phase,
    /// How far the phase is.
    at: usize,
}

/// A step machine: [`Self::step`] until it says that it is done.
#[derive(Debug)]
pub struct Bisection {
    index: ForwardIndex,
    order: Vec<u32>,
    left: Vec<u32>,
    right: Vec<u32>,
    biased: Vec<Biased>,
    log: Vec<i32>,
    waiting: Vec<(usize, usize)>,
    current: Option<Split>,
    /// Documents in parts that are final.
    num_done: u64,
}

impl Bisection {
    /// The documents of `index`, in the order they have.
    pub fn new(index: ForwardIndex) -> Self {
        let num_docs = index.num_docs() as usize;
        let num_terms = index.num_terms as usize;
        Self {
            order: (0..num_docs as u32).collect(),
            left: vec![0; num_terms],
            right: vec![0; num_terms],
            biased: Vec::with_capacity(num_docs),
            log: fractions(),
            waiting: vec![(0, num_docs)],
            current: None,
            num_done: 0,
            index,
        }
    }

    /// Bytes of memory of a bisection of `num_docs` documents with `num_entries` terms in all, `num_terms` of them
    /// distinct.
    pub fn memory_needed(num_docs: u32, num_terms: u64, num_entries: u64) -> u64 {
        let per_doc = 4 + 4 + size_of::<Biased>() as u64;
        u64::from(num_docs) * per_doc + num_terms * 8 + num_entries * 4
    }

    /// Works for some milliseconds; false when the order is found.
    pub fn step(&mut self) -> bool {
        let mut budget = STEP_ENTRIES;
        while budget > 0 {
            let Some(mut split) = self.current.take() else {
                let Some((start, end)) = self.waiting.pop() else { return false };
                if end - start < 2 * MIN_DOCS {
                    self.order[start..end].sort_unstable();
                    self.num_done += (end - start) as u64;
                } else {
                    self.current = Some(Split { start, end, round: 0, phase: Phase::Count, at: start });
                }
                budget = budget.saturating_sub(end - start);
                continue;
            };
            if self.go_on(&mut split, &mut budget) {
                let mid = split.start + (split.end - split.start) / 2;
                // The left part first.
                self.waiting.push((mid, split.end));
                self.waiting.push((split.start, mid));
            } else {
                self.current = Some(split);
            }
        }
        true
    }

    /// Share of the work done, about: the depth of the first part that is under way, of thousand.
    pub fn progress(&self) -> u64 {
        let num_docs = self.order.len() as u64;
        (self.num_done * 1000).checked_div(num_docs).unwrap_or(1000)
    }

    /// Goes on with a split; true when it is done.
    fn go_on(&mut self, split: &mut Split, budget: &mut usize) -> bool {
        let mid = split.start + (split.end - split.start) / 2;
        while split.at < split.end && *budget > 0 {
            let place = split.at;
            split.at += 1;
            let doc = if split.phase == Phase::Move { self.biased[place - split.start].doc } else { self.order[place] };
            let terms = self.index.terms_of(doc);
            *budget = budget.saturating_sub(terms.len() + 1);
            match split.phase {
                Phase::Count => {
                    let side = if place < mid { &mut self.left } else { &mut self.right };
                    terms.iter().for_each(|&term| side[term as usize] += 1);
                }
                Phase::Weigh => {
                    let bias = terms.iter().fold(0i32, |bias, &term| {
                        let (left, right) = (self.left[term as usize], self.right[term as usize]);
                        bias.saturating_add(log2(&self.log, right) - log2(&self.log, left))
                    });
                    self.biased.push(Biased { bias, doc, is_left: place < mid });
                }
                Phase::Move => {
                    let Biased { is_left, .. } = self.biased[place - split.start];
                    self.order[place] = doc;
                    if is_left != (place < mid) {
                        let (from, to) =
                            if is_left { (&mut self.left, &mut self.right) } else { (&mut self.right, &mut self.left) };
                        for &term in terms {
                            from[term as usize] -= 1;
                            to[term as usize] += 1;
                        }
                    }
                }
                Phase::Clear => terms.iter().for_each(|&term| {
                    self.left[term as usize] = 0;
                    self.right[term as usize] = 0;
                }),
            }
        }
        if split.at < split.end {
            return false;
        }
        split.at = split.start;
        split.phase = match split.phase {
            Phase::Count => Phase::Weigh,
            Phase::Weigh => {
                if self.is_settled(split.round) {
                    Phase::Clear
                } else {
                    self.biased.select_nth_unstable(mid - split.start);
                    Phase::Move
                }
            }
            Phase::Move => {
                split.round += 1;
                if split.round < MAX_ROUNDS { Phase::Weigh } else { Phase::Clear }
            }
            Phase::Clear => return true,
        };
        if split.phase != Phase::Move {
            self.biased.clear();
        }
        false
    }

    /// Whether moving documents is not worth it any more.
    fn is_settled(&self, round: i32) -> bool {
        let left = self.biased.iter().filter(|one| one.is_left).map(|one| one.bias).max();
        let right = self.biased.iter().filter(|one| !one.is_left).map(|one| one.bias).min();
        match (left, right) {
            (Some(left), Some(right)) => left.saturating_sub(right) <= round << LOG_BITS,
            _ => true,
        }
    }

    /// The document at each place.
    pub fn into_order(self) -> Vec<u32> {
        self.order
    }
}

/// Fractions of logarithms to base 2: of 1 + m / 256.
fn fractions() -> Vec<i32> {
    let fraction = |m: u64| {
        // By squaring: each time the number passes 2, a bit of its logarithm is set.
        let mut number = (256 + m) << 22;
        (0..LOG_BITS).fold(0, |bits, _| {
            number = (number * number) >> 30;
            let bit = number >> 31;
            number >>= bit;
            bits << 1 | bit as i32
        })
    };
    (0..256).map(fraction).collect()
}

/// Logarithm to base 2 with [`LOG_BITS`] fractional bits; 0 of 0.
#[inline]
fn log2(fractions: &[i32], number: u32) -> i32 {
    if number == 0 {
        return 0;
    }
    let exponent = 31 - number.leading_zeros();
    let mantissa = (number << (31 - exponent)) >> 23 & 0xff;
    ((exponent << LOG_BITS) as i32) | fractions[mantissa as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right_to_their_last_bit() {
        let table = fractions();
        for number in (1..5000).chain([1 << 20, (1 << 20) + 12345, u32::MAX]) {
            let exact = f64::from(number).log2() * 256.0;
            let found = f64::from(log2(&table, number));
            // Cut, not rounded, once for the mantissa (up to 1.45 / 256 of it) and once for the logarithm.
            assert!(found <= exact + 1e-6 && exact - found < 2.5, "{number}: {found} for {exact}");
        }
    }

    /// Sum over the terms of the logarithms of gaps between their documents: what an order costs.
    fn cost(index: &ForwardIndex, order: &[u32]) -> f64 {
        let mut last = vec![None; index.num_terms as usize];
        let mut sum = 0.0;
        for (place, &doc) in order.iter().enumerate() {
            for &term in index.terms_of(doc) {
                let gap = last[term as usize].map_or(place + 1, |last: usize| place - last);
                sum += (gap as f64 + 1.0).log2();
                last[term as usize] = Some(place);
            }
        }
        sum
    }

    fn shuffled_topics(rng: &mut fastrand::Rng, num_docs: u32, num_topics: u32) -> ForwardIndex {
        let mut index = ForwardIndex { starts: vec![0], num_terms: num_topics * 10 + 50, ..ForwardIndex::default() };
        for _ in 0..num_docs {
            let topic = rng.u32(0..num_topics);
            let mut terms: Vec<u32> = (0..8).map(|_| topic * 10 + rng.u32(0..10)).collect();
            terms.extend((0..4).map(|_| num_topics * 10 + rng.u32(0..50)));
            terms.sort_unstable();
            terms.dedup();
            index.terms.append(&mut terms);
            index.starts.push(index.terms.len() as u32);
        }
        index
    }

    fn order_of(index: ForwardIndex) -> Vec<u32> {
        let mut bisection = Bisection::new(index);
        while bisection.step() {}
        assert!(bisection.left.iter().chain(&bisection.right).all(|&count| count == 0));
        assert_eq!(bisection.progress(), 1000);
        bisection.into_order()
    }

    #[test]
    fn documents_of_a_topic_come_together() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        for (num_docs, num_topics) in [(0, 1), (1, 1), (63, 2), (64, 2), (1000, 8), (5000, 16)] {
            let index = shuffled_topics(&mut rng, num_docs, num_topics);
            let copy = ForwardIndex { starts: index.starts.clone(), terms: index.terms.clone(), ..index };
            let before = cost(&copy, &(0..num_docs).collect::<Vec<_>>());
            let order = order_of(index);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..num_docs), "seed {seed}: a permutation");
            if num_docs >= 1000 {
                assert!(cost(&copy, &order) < 0.75 * before, "seed {seed}: {} of {before}", cost(&copy, &order));
            }
            assert_eq!(order_of(copy), order, "seed {seed}: the same again");
        }
    }

    #[test]
    fn an_order_is_the_same_everywhere() {
        let order = order_of(shuffled_topics(&mut fastrand::Rng::with_seed(7), 300, 4));
        let hash = order.iter().fold(0u32, |hash, &doc| hash.wrapping_mul(31).wrapping_add(doc));
        assert_eq!(hash, 3_091_984_384, "golden");
    }
}
