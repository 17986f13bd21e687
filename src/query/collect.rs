//! Collectors: what walks scorers and keeps the best, or counts.
//!
//! Unions of terms use MAXSCORE in windows (Turtle and Flood, "Query evaluation: strategies and optimizations", 1995;
//! windows and block bounds as in Lucene's `MaxScoreBulkScorer`):
//!
//! ```text
//! for each window of documents:
//!     bound of each term = the highest its blocks in the window allow
//!     terms by rising bound; the first ones whose bounds together do not reach the threshold are non-essential
//!     all of them non-essential: skip the window, undecoded
//!     essential terms: add their scores up in an array, block by block
//!     each document with a score: if it could still get there, ask the non-essential terms, highest bound first
//! ```
//! A document without an essential term cannot get there. One term alone and conjunctions are in [`terms`]. All comparisons are on the rounded sum: rounding is monotone,
//! so a bound that does not reach the threshold speaks for every score below it.

use std::ops::Range;

use crate::{
    bitset::BitSet,
    codec::bitpack::BLOCK_LEN,
    error::Result,
    platform::Cancel,
    postings::END,
    query::{
        SegmentFilter,
        scorer::{Scorer, boolean, term::TermScorer},
    },
    topk::TopK,
};

mod required;
mod terms;

use required::Required;
pub(super) use terms::{conjunction, conjunction_and_count, single};

/// Documents in a window of a union.
const WINDOW: u32 = 4096;
/// Terms of a union above which they are not sorted by insertion.
const MANY_TERMS: usize = 32;
/// Documents between two looks at the cancel flag.
const CANCEL_EVERY: u32 = 4096;
/// Blocks of a term of a union whose impacts are read ahead for a first threshold: of more it costs more than it saves.
const MAX_SEED_BLOCKS: u32 = 64;

/// Which documents count.
pub(super) struct Accept<'a> {
    live: Option<&'a BitSet>,
    filter: Option<&'a BitSet>,
    /// What the query's own conditions leave.
    conditions: Option<&'a BitSet>,
}

impl<'a> Accept<'a> {
    pub fn new(filter: &'a SegmentFilter) -> Self {
        Self { live: filter.live.as_deref(), filter: filter.filter.as_deref(), conditions: None }
    }

    /// Those that are in `conditions` as well.
    pub fn with_conditions(self, conditions: Option<&'a BitSet>) -> Self {
        Self { conditions, ..self }
    }

    fn sets(&self) -> impl Iterator<Item = &'a BitSet> {
        [self.live, self.filter, self.conditions].into_iter().flatten()
    }

    /// Whether every document does.
    pub fn all(&self) -> bool {
        self.sets().next().is_none()
    }

    #[inline(always)]
    pub fn has(&self, doc: u32) -> bool {
        self.sets().all(|set| set.contains(doc))
    }

    /// The first document at or above `doc` that counts; [`END`] if there is none.
    pub fn next(&self, mut doc: u32) -> u32 {
        loop {
            let Some(first) = self.sets().try_fold(doc, |doc, set| set.next_set(doc)) else { return END };
            if self.has(first) {
                return first;
            }
            doc = first;
        }
    }

    /// How many of `set` count.
    pub fn count(&self, mut set: BitSet) -> u32 {
        for other in self.sets() {
            if other.len() == set.len() {
                set.and(other);
            }
        }
        set.count()
    }
}

/// The ranking that grows over all segments.
pub(super) struct Ranking<'a> {
    pub top: &'a mut TopK<(u32, u32)>,
    pub segment: u32,
    pub accept: Accept<'a>,
    /// Whether all documents of the segment are looked at.
    pub is_whole: bool,
    pub cancel: &'a Cancel,
}

impl Ranking<'_> {
    /// Offers a document that was not checked yet.
    #[inline(always)]
    fn offer(&mut self, doc: u32, score: f32, threshold: &mut f32) {
        if score > *threshold && self.accept.has(doc) {
            self.offer_accepted(doc, score, threshold);
        }
    }

    /// Offers a document that counts.
    #[inline(always)]
    fn offer_accepted(&mut self, doc: u32, score: f32, threshold: &mut f32) {
        if score > *threshold && self.top.push(score, (self.segment, doc)) {
            *threshold = threshold.max(self.top.threshold());
        }
    }

    /// The threshold to start with: one that as many documents as are wanted pass, as the impacts of some term tell.
    /// Terms of more than so many blocks are looked at group by group alone.
    fn first_threshold(&self, terms: &[TermScorer], max_blocks: u32) -> f32 {
        let threshold = self.top.threshold();
        if !self.is_whole || !self.accept.all() {
            return threshold;
        }
        let reached = terms.iter().filter_map(|term| term.reached(self.top.k(), max_blocks));
        // What equals it must still pass.
        reached.fold(threshold, |threshold, reached| threshold.max(reached.next_down()))
    }
}

/// Every document of a scorer in a window, up to [`END`] where all are; how many of them count. With `skip`, stretches
/// whose bound does not reach the threshold are jumped over, the scorer may leave out what cannot get there, and the
/// number says nothing.
pub(super) fn each(scorer: &mut dyn Scorer, window: &Range<u32>, ranking: &mut Ranking<'_>, skip: bool) -> Result<u64> {
    let mut threshold = ranking.top.threshold();
    let (mut found, mut seen, mut bounded_to) = (0, 0u32, 0);
    let mut doc = if window.start == 0 { scorer.next() } else { scorer.advance(window.start) };
    if skip && threshold > f32::NEG_INFINITY {
        scorer.set_min_score(threshold);
    }
    while doc < window.end {
        if skip && threshold > f32::NEG_INFINITY && doc >= bounded_to {
            bounded_to = scorer.window_end(doc);
            if scorer.bound(doc, bounded_to) <= threshold {
                doc = scorer.advance(bounded_to);
                continue;
            }
        }
        if ranking.accept.has(doc) {
            found += 1;
            let (score, before) = (scorer.score(), threshold);
            ranking.offer_accepted(doc, score, &mut threshold);
            if skip && threshold > before {
                scorer.set_min_score(threshold);
            }
        }
        seen += 1;
        if seen.is_multiple_of(CANCEL_EVERY) {
            ranking.cancel.check()?;
        }
        doc = scorer.next();
    }
    Ok(found)
}

/// How many documents a scorer has.
pub(super) fn count(scorer: &mut dyn Scorer, accept: &Accept<'_>, cancel: &Cancel) -> Result<u64> {
    let (mut found, mut seen) = (0, 0u32);
    let mut doc = scorer.next();
    while doc != END {
        found += u64::from(accept.has(doc));
        seen += 1;
        if seen.is_multiple_of(CANCEL_EVERY) {
            cancel.check()?;
        }
        doc = scorer.next();
    }
    Ok(found)
}

/// Documents of a window with any of the terms, which give none behind it. With `groups`, the scores of each group become one before they add up.
pub(super) fn union(
    terms: &mut [TermScorer],
    groups: Option<Groups>,
    window: &Range<u32>,
    ranking: &mut Ranking<'_>,
) -> Result<()> {
    match terms {
        [] => Ok(()),
        [term] => single(term, window.start, ranking),
        terms => {
            // Groups may count less than the sum of their terms, never less than the best of them.
            let threshold = ranking.first_threshold(terms, MAX_SEED_BLOCKS);
            Union::new(terms, groups, window.start).run(window, ranking, threshold)
        }
    }
}

/// Documents of a window with any of the terms and all of the required ones.
pub(super) fn union_with(
    terms: &mut [TermScorer],
    required: &mut [TermScorer],
    window: &Range<u32>,
    ranking: &mut Ranking<'_>,
) -> Result<()> {
    let cost = terms.iter().map(|term| term.cost()).sum();
    let threshold = ranking.top.threshold();
    let mut union = Union::new(terms, None, window.start);
    let max_score = union.max_scores.iter().map(|&max| f64::from(max)).sum();
    union.required = Some(Required::new(required, cost, max_score));
    union.run(window, ranking, threshold)
}

/// Which terms of a union belong together: the same word in several fields.
pub(super) struct Groups {
    /// The group of each term.
    pub group_of: Vec<usize>,
    /// What of each group counts besides its highest score, 0–1.
    pub tie_breakers: Vec<f32>,
    /// Highest score and sum of each group for each document of a window, `[groups x WINDOW]`.
    best: Vec<f32>,
    total: Vec<f64>,
}

/// What sums of bounds are widened by where groups round their scores to single precision before they add up.
const GROUP_SLACK: f64 = 1.0 + 1e-6;

impl Groups {
    pub fn new(group_of: Vec<usize>, tie_breakers: Vec<f32>) -> Self {
        let len = tie_breakers.len() * WINDOW as usize;
        Self { group_of, tie_breakers, best: vec![f32::NEG_INFINITY; len], total: vec![0.0; len] }
    }

    #[inline(always)]
    fn add(&mut self, term: usize, at: usize, score: f32) {
        let slot = self.group_of[term] * WINDOW as usize + at;
        self.best[slot] = self.best[slot].max(score);
        self.total[slot] += f64::from(score);
    }

    /// The score of a document; what was added for it is forgotten.
    fn take(&mut self, at: usize) -> f32 {
        let mut sum = 0.0;
        for (group, &share) in self.tie_breakers.iter().enumerate() {
            let slot = group * WINDOW as usize + at;
            let best = std::mem::replace(&mut self.best[slot], f32::NEG_INFINITY);
            let total = std::mem::take(&mut self.total[slot]);
            if best > f32::NEG_INFINITY {
                sum += f64::from(boolean::best_of(best, total, share));
            }
        }
        sum as f32
    }
}

struct Union<'t> {
    terms: &'t mut [TermScorer],
    /// Highest score of each term anywhere.
    max_scores: Vec<f32>,
    /// Bound of each term in the window.
    bounds: Vec<f32>,
    /// Terms by rising bound.
    order: Vec<usize>,
    /// Sum of the bounds of the terms before, in that order.
    below: Vec<f64>,
    sums: Vec<f64>,
    hits: Vec<u64>,
    docs: [u32; BLOCK_LEN],
    scores: [f32; BLOCK_LEN],
    groups: Option<Groups>,
    required: Option<Required<'t>>,
    /// What required terms can add in the window.
    base: f64,
    slack: f64,
}

impl<'t> Union<'t> {
    fn new(terms: &'t mut [TermScorer], groups: Option<Groups>, from: u32) -> Self {
        let max_scores = terms.iter_mut().map(TermScorer::max_score).collect();
        for term in terms.iter_mut() {
            term.advance(from);
        }
        let len = terms.len();
        Self {
            terms,
            max_scores,
            bounds: vec![0.0; len],
            order: (0..len).collect(),
            below: vec![0.0; len],
            sums: vec![0.0; WINDOW as usize],
            hits: vec![0; WINDOW as usize / 64],
            docs: [0; BLOCK_LEN],
            scores: [0.0; BLOCK_LEN],
            slack: if groups.is_some() { GROUP_SLACK } else { 1.0 },
            groups,
            required: None,
            base: 0.0,
        }
    }

    /// Sorts terms by `bounds` and says how many of them together do not pass the threshold.
    fn partition(&mut self, threshold: f32) -> usize {
        let bounds = &self.bounds;
        if self.order.len() > MANY_TERMS {
            let mut keyed: Vec<u64> =
                self.order.iter().map(|&ix| u64::from(bounds[ix].to_bits()) << 32 | ix as u64).collect();
            keyed.sort_unstable();
            self.order.iter_mut().zip(keyed).for_each(|(ix, key)| *ix = (key & u64::from(u32::MAX)) as usize);
        } else {
            // By insertion: they are few, and in order but for what the new bounds change.
            for end in 1..self.order.len() {
                let mut place = end;
                while place > 0 && bounds[self.order[place - 1]] > bounds[self.order[place]] {
                    self.order.swap(place - 1, place);
                    place -= 1;
                }
            }
        }
        let (mut sum, mut non_essential) = (self.base, 0);
        for (place, &ix) in self.order.iter().enumerate() {
            self.below[place] = sum;
            sum += f64::from(bounds[ix]);
            if (sum * self.slack) as f32 <= threshold {
                non_essential = place + 1;
            }
        }
        non_essential
    }

    /// The next document that a term has which matters anywhere, at or above `from`.
    fn next_start(&mut self, from: u32, threshold: f32) -> u32 {
        self.bounds.copy_from_slice(&self.max_scores);
        self.base = self.required.as_ref().map_or(0.0, Required::max_sum);
        let non_essential = self.partition(threshold);
        let essential = &self.order[non_essential..];
        essential
            .iter()
            .map(|&ix| self.terms[ix].doc())
            .filter(|&doc| doc != END)
            .min()
            .map_or(END, |doc| doc.max(from))
    }

    fn run(mut self, window: &Range<u32>, ranking: &mut Ranking<'_>, mut threshold: f32) -> Result<()> {
        let mut from = window.start;
        loop {
            let start = self.next_start(from, threshold);
            if start >= window.end {
                return Ok(());
            }
            let end = start.saturating_add(WINDOW).min(window.end);
            for (term, bound) in self.terms.iter_mut().zip(&mut self.bounds) {
                *bound = if term.doc() >= end { 0.0 } else { term.window_bound(start, end) };
            }
            self.base = self.required.as_mut().map_or(0.0, |required| required.enter(start, end));
            let non_essential = self.partition(threshold);
            match self.terms.len() - non_essential {
                0 => {}
                _ if self.groups.is_some() => self.grouped(non_essential, start, end, ranking, &mut threshold),
                1 => self.one_essential(start, end, ranking, &mut threshold),
                _ => self.some_essential(non_essential, start, end, ranking, &mut threshold),
            }
            ranking.cancel.check()?;
            from = end;
        }
    }

    /// Adds what the non-essential terms give to a document, as long as it can get there; its score.
    #[inline(always)]
    fn complete(
        terms: &mut [TermScorer],
        order: &[usize],
        below: &[f64],
        bounds: &[f32],
        doc: u32,
        mut sum: f64,
        threshold: f32,
    ) -> f32 {
        for (place, &ix) in order.iter().enumerate().rev() {
            if (sum + below[place] + f64::from(bounds[ix])) as f32 <= threshold {
                return f32::NEG_INFINITY;
            }
            let term = &mut terms[ix];
            if term.advance(doc) == doc {
                sum += f64::from(term.score());
            }
        }
        sum as f32
    }

    /// Offers a document that counts.
    #[inline(always)]
    fn offer(
        required: &mut Option<Required<'t>>,
        doc: u32,
        score: f32,
        ranking: &mut Ranking<'_>,
        threshold: &mut f32,
    ) {
        match required {
            None => ranking.offer_accepted(doc, score, threshold),
            Some(required) => required.offer(doc, score, ranking, threshold),
        }
    }

    fn one_essential(&mut self, start: u32, end: u32, ranking: &mut Ranking<'_>, threshold: &mut f32) {
        let last = self.order.len() - 1;
        let lead = self.order[last];
        self.terms[lead].advance(start);
        loop {
            let count = self.terms[lead].score_block(end, &mut self.docs, &mut self.scores);
            if count == 0 {
                return;
            }
            let rest = self.below[last];
            for (&doc, &score) in self.docs[..count].iter().zip(&self.scores[..count]) {
                let sum = f64::from(score);
                if (sum + rest) as f32 <= *threshold || !ranking.accept.has(doc) {
                    continue;
                }
                let order = &self.order[..last];
                let score = Self::complete(self.terms, order, &self.below, &self.bounds, doc, sum, *threshold);
                Self::offer(&mut self.required, doc, score, ranking, threshold);
            }
        }
    }

    fn some_essential(
        &mut self,
        non_essential: usize,
        start: u32,
        end: u32,
        ranking: &mut Ranking<'_>,
        threshold: &mut f32,
    ) {
        let order = std::mem::take(&mut self.order);
        for &ix in &order[non_essential..] {
            self.terms[ix].advance(start);
            loop {
                let count = self.terms[ix].score_block(end, &mut self.docs, &mut self.scores);
                if count == 0 {
                    break;
                }
                for (&doc, &score) in self.docs[..count].iter().zip(&self.scores[..count]) {
                    let at = (doc - start) as usize & (WINDOW as usize - 1);
                    self.sums[at] += f64::from(score);
                    self.hits[at / 64] |= 1 << (at % 64);
                }
            }
        }
        let rest = if non_essential == order.len() { 0.0 } else { self.below[non_essential] };
        for word_ix in 0..self.hits.len() {
            let mut word = std::mem::take(&mut self.hits[word_ix]);
            while word != 0 {
                let at = word_ix * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                let sum = std::mem::take(&mut self.sums[at]);
                let doc = start + at as u32;
                if (sum + rest) as f32 <= *threshold || !ranking.accept.has(doc) {
                    continue;
                }
                let others = &order[..non_essential];
                let score = Self::complete(self.terms, others, &self.below, &self.bounds, doc, sum, *threshold);
                Self::offer(&mut self.required, doc, score, ranking, threshold);
            }
        }
        self.order = order;
    }
}

impl Union<'_> {
    /// The same with groups: sums of scores are bounds, and what can still get there is put together group by group.
    fn grouped(&mut self, non_essential: usize, start: u32, end: u32, ranking: &mut Ranking<'_>, threshold: &mut f32) {
        let Some(mut groups) = self.groups.take() else { return };
        let order = std::mem::take(&mut self.order);
        for &ix in &order[non_essential..] {
            self.terms[ix].advance(start);
            loop {
                let count = self.terms[ix].score_block(end, &mut self.docs, &mut self.scores);
                if count == 0 {
                    break;
                }
                for (&doc, &score) in self.docs[..count].iter().zip(&self.scores[..count]) {
                    let at = (doc - start) as usize & (WINDOW as usize - 1);
                    self.sums[at] += f64::from(score);
                    self.hits[at / 64] |= 1 << (at % 64);
                    groups.add(ix, at, score);
                }
            }
        }
        let rest = if non_essential == order.len() { 0.0 } else { self.below[non_essential] };
        for word_ix in 0..self.hits.len() {
            let mut word = std::mem::take(&mut self.hits[word_ix]);
            while word != 0 {
                let at = word_ix * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                let mut sum = std::mem::take(&mut self.sums[at]);
                let doc = start + at as u32;
                let mut alive = ((sum + rest) * self.slack) as f32 > *threshold && ranking.accept.has(doc);
                for (place, &ix) in order[..non_essential].iter().enumerate().rev() {
                    let bound = (sum + self.below[place] + f64::from(self.bounds[ix])) * self.slack;
                    alive &= bound as f32 > *threshold;
                    if !alive {
                        break;
                    }
                    if self.terms[ix].advance(doc) == doc {
                        let score = self.terms[ix].score();
                        sum += f64::from(score);
                        groups.add(ix, at, score);
                    }
                }
                let score = groups.take(at);
                if alive {
                    ranking.offer(doc, score, threshold);
                }
            }
        }
        self.order = order;
        self.groups = Some(groups);
    }
}
