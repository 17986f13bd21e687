//! One term, scored by BM25.

use bytes::Bytes;

use crate::{
    codec::bitpack::BLOCK_LEN,
    postings::{END, Impact, Lookahead, Postings},
    query::{
        bm25::{self, LengthTable},
        scorer::{Scorer, bounds::BlockBounds},
    },
    topk::order::{self, float_key, float_of},
};

/// Norm bytes of a field from a document on. Documents without one count as of norm 1.
#[derive(Debug, Clone, Default)]
pub(in crate::query) struct Norms {
    pub first_doc: u32,
    pub bytes: Bytes,
}

impl Norms {
    #[inline(always)]
    pub fn get(&self, doc: u32) -> u8 {
        self.bytes.get(doc.wrapping_sub(self.first_doc) as usize).copied().unwrap_or(1)
    }

    /// Frequency times length factor of each document; they ascend.
    #[inline]
    fn factors(&self, docs: &[u32], freqs: &[u32], lengths: &[f32; 256], out: &mut [f32; BLOCK_LEN]) {
        let (Some(&first), Some(&last)) = (docs.first(), docs.last()) else { return };
        let has_all = first >= self.first_doc && ((last - self.first_doc) as usize) < self.bytes.len();
        let norms: &[u8] = &self.bytes;
        for ((&doc, &freq), out) in docs.iter().zip(freqs).zip(out) {
            let norm = if has_all { norms[(doc - self.first_doc) as usize] } else { self.get(doc) };
            *out = freq as f32 * lengths[usize::from(norm)];
        }
    }
}

/// Weight and lengths of a term.
#[derive(Debug, Clone)]
pub(in crate::query) struct TermWeight {
    pub weight: f32,
    pub lengths: LengthTable,
}

impl TermWeight {
    #[inline(always)]
    pub fn score(&self, freq: f32, norm: u8) -> f32 {
        bm25::score(self.weight, freq * self.lengths[usize::from(norm)])
    }

    /// The highest score of some impacts; `None` if there are none. The score rises with frequency times length factor,
    /// so that one is computed for all.
    #[inline]
    pub fn best_of(&self, best_factor: impl FnOnce(&[f32; 256]) -> Option<f32>) -> Option<f32> {
        if self.weight <= 0.0 {
            return Some(0.0);
        }
        best_factor(&self.lengths).map(|best| bm25::score(self.weight, best))
    }
}

/// The documents of one term.
#[derive(Debug)]
pub(in crate::query) struct TermScorer {
    pub postings: Postings,
    weight: TermWeight,
    norms: Norms,
    lookahead: Option<Lookahead>,
    /// Block and bound computed last.
    bounded: Option<(u32, f32)>,
    /// The same of a group of blocks.
    bounded_group: Option<(u32, f32)>,
    max_score: Option<f32>,
    /// For windows of other scorers, which do not ascend.
    windows: Option<Box<BlockBounds>>,
}

impl TermScorer {
    pub fn new(postings: Postings, weight: TermWeight, norms: Norms) -> Self {
        let lookahead = postings.lookahead();
        Self { postings, weight, norms, lookahead, bounded: None, bounded_group: None, max_score: None, windows: None }
    }

    /// No document of the term scores higher. Of a short term the true maximum: call before moving.
    pub fn max_score(&mut self) -> f32 {
        if let Some(max) = self.max_score {
            return max;
        }
        let mut max = f32::NEG_INFINITY;
        if self.lookahead.is_some() {
            let best = self.weight.best_of(|factors| self.postings.best_term_factor(factors));
            max = best.unwrap_or(f32::NEG_INFINITY);
        } else if self.postings.is_short() {
            if self.postings.doc() == END {
                self.postings.next();
            }
            let (docs, freqs) = self.postings.block_until(END);
            for (&doc, &freq) in docs.iter().zip(freqs) {
                max = max.max(self.weight.score(freq as f32, self.norms.get(doc)));
            }
        }
        if max == f32::NEG_INFINITY {
            // Nothing known (frequencies are not kept, or no document is left): the limit of the formula.
            max = self.weight.weight.max(0.0);
        }
        self.max_score = Some(max);
        max
    }

    /// Bound for the block at the lookahead.
    fn block_bound(&mut self) -> f32 {
        let max_score = self.max_score.unwrap_or(f32::INFINITY);
        let Some(lookahead) = &self.lookahead else { return max_score };
        let block = lookahead.block();
        if let Some((known, bound)) = self.bounded
            && known == block
        {
            return bound;
        }
        let bound = self.weight.best_of(|factors| lookahead.best_factor(factors)).unwrap_or(max_score);
        self.bounded = Some((block, bound));
        bound
    }

    /// Bound for the block that could hold `target`, and the last document it holds for. Targets ascend.
    #[inline]
    pub fn bound_at(&mut self, target: u32) -> (f32, u32) {
        match &mut self.lookahead {
            Some(lookahead) => {
                let last = lookahead.seek(target);
                (self.block_bound(), last)
            }
            None => (self.max_score(), END - 1),
        }
    }

    /// The first document at or above `target` that a block could hold whose bound `passes`; [`END`] if there is none.
    /// Targets ascend.
    pub fn next_promising(&mut self, mut target: u32, passes: impl Fn(f32) -> bool) -> u32 {
        let max_score = self.max_score();
        if !passes(max_score) {
            return END;
        }
        loop {
            let Some(lookahead) = &mut self.lookahead else { return target };
            let last = lookahead.seek(target);
            if let Some((group, group_last)) = lookahead.group() {
                let bound = match self.bounded_group {
                    Some((known, bound)) if known == group => bound,
                    _ => self.weight.best_of(|factors| lookahead.best_group_factor(factors)).unwrap_or(max_score),
                };
                self.bounded_group = Some((group, bound));
                if !passes(bound) {
                    target = group_last.saturating_add(1);
                    if lookahead.is_behind(target) {
                        return END;
                    }
                    continue;
                }
            }
            if passes(self.block_bound()) {
                return target;
            }
            target = last.saturating_add(1);
            if self.lookahead.as_ref().is_none_or(Lookahead::is_last) {
                return END;
            }
        }
    }

    /// Goes to the first document at or above `target`, which came of [`Self::next_promising`].
    pub fn advance_to_promising(&mut self, target: u32) -> u32 {
        if let Some(lookahead) = self.lookahead.as_ref().filter(|ahead| ahead.first_doc() <= target) {
            self.postings.follow(lookahead);
        }
        self.postings.advance(target)
    }

    /// A score that at least `k` documents have, as impacts tell: each impact is that of a document. `None` if they
    /// tell of fewer, or there are more than `max_blocks` to look at. Comes before the first move.
    pub fn reached(&self, k: usize, max_blocks: u32) -> Option<f32> {
        let nth = k.checked_sub(1).filter(|_| self.weight.weight > 0.0)?;
        let lengths = &self.weight.lengths;
        // Without norms a document counts as one of norm 1, whatever is written.
        let add = |factors: &mut Vec<f32>, impact: Impact| {
            if impact.norm > 0 {
                factors.push(impact.freq as f32 * lengths[usize::from(impact.norm)]);
            }
        };
        let mut factors = Vec::new();
        let mut ahead = self.postings.lookahead()?;
        while let Some((_, last)) = ahead.group() {
            ahead.group_impacts(|impact| add(&mut factors, impact));
            let behind = last.saturating_add(1);
            if ahead.is_behind(behind) {
                break;
            }
            ahead.seek(behind);
        }
        if factors.len() <= nth && self.postings.doc_freq() / BLOCK_LEN as u32 <= max_blocks {
            factors.clear();
            let mut ahead = self.postings.lookahead()?;
            while !ahead.is_tail() {
                ahead.impacts(|impact| add(&mut factors, impact));
                if ahead.is_last() {
                    break;
                }
                ahead.next_block();
            }
        }
        if factors.len() <= nth {
            return None;
        }
        // Largest first.
        let mut keys: Vec<u64> = factors.iter().map(|&factor| (!float_key(factor)).into()).collect();
        let factor = float_of(!(order::select(&mut keys, nth) as u32));
        Some(bm25::score(self.weight.weight, factor))
    }

    /// Bound for all documents of `from..to`, which it was not moved behind. Windows ascend, and may be asked for beside
    /// [`Self::bound_at`].
    pub fn bound_within(&mut self, from: u32, to: u32) -> f32 {
        if self.postings.is_at_end() {
            return f32::NEG_INFINITY;
        }
        let (windows, weight) = self.windows();
        windows.of(from, from, to, weight)
    }

    /// Bound for all documents of `from..to`. Windows ascend.
    pub fn window_bound(&mut self, from: u32, to: u32) -> f32 {
        let Some(lookahead) = &mut self.lookahead else {
            let doc = self.postings.doc();
            return if doc >= to { 0.0 } else { self.max_score() };
        };
        let mut last = lookahead.seek(from);
        if lookahead.first_doc() >= to && lookahead.first_doc() != 0 {
            return 0.0;
        }
        let mut bound = self.block_bound();
        while last < to - 1 {
            let Some(lookahead) = &mut self.lookahead else { break };
            if lookahead.is_last() {
                break;
            }
            last = lookahead.next_block();
            if lookahead.first_doc() >= to {
                break;
            }
            bound = bound.max(self.block_bound());
        }
        bound
    }

    /// Scores the documents of the decoded block up to and without `end` and goes behind them; the number given.
    #[inline]
    pub fn score_block(
        &mut self,
        end: u32,
        docs_out: &mut [u32; BLOCK_LEN],
        scores_out: &mut [f32; BLOCK_LEN],
    ) -> usize {
        let count = self.score_until(end, docs_out, scores_out);
        self.postings.consume(count);
        count
    }

    /// Scores the documents from the current one to the end of its block and stays on the last of them, so that the
    /// next block is not decoded before it is known to matter. There is a current document; the number given.
    #[inline]
    pub fn score_rest_of_block(&mut self, docs_out: &mut [u32; BLOCK_LEN], scores_out: &mut [f32; BLOCK_LEN]) -> usize {
        let count = self.score_until(END, docs_out, scores_out);
        self.postings.consume(count - 1);
        count
    }

    #[inline]
    fn score_until(&mut self, end: u32, docs_out: &mut [u32; BLOCK_LEN], scores_out: &mut [f32; BLOCK_LEN]) -> usize {
        let (docs, freqs) = self.postings.block_until(end);
        let count = docs.len();
        docs_out[..count].copy_from_slice(docs);
        score_all(&self.norms, &self.weight, docs, freqs, scores_out);
        count
    }

    /// Keeps those of `docs`, which ascend, that the term has and that with its score and `rest` pass the threshold;
    /// their number. Scores are added to `sums`. `bound` is that of the term for all of them; else it is that of each
    /// block.
    #[inline]
    pub fn add_scores(
        &mut self,
        docs: &mut [u32],
        sums: &mut [f64; BLOCK_LEN],
        bound: Option<f64>,
        rest: f64,
        threshold: f32,
    ) -> usize {
        let (mut found, mut freqs, mut bounded_to) = (0, [0; BLOCK_LEN], if bound.is_some() { END } else { 0 });
        let mut bound = bound.unwrap_or(f64::INFINITY);
        let is_pruned = threshold > f32::NEG_INFINITY;
        for ix in 0..docs.len().min(BLOCK_LEN) {
            let (doc, sum) = (docs[ix], sums[ix]);
            if is_pruned {
                if doc > bounded_to || bounded_to == 0 {
                    let (of_block, last) = self.bound_at(doc);
                    (bound, bounded_to) = (f64::from(of_block), last);
                }
                if (sum + bound + rest) as f32 <= threshold {
                    continue;
                }
            }
            if self.postings.has(doc) {
                (docs[found], sums[found], freqs[found]) = (doc, sum, self.postings.freq());
                found += 1;
            }
        }
        // What was found is scored at once: no score waits for a search.
        let mut scores = [0.0; BLOCK_LEN];
        score_all(&self.norms, &self.weight, &docs[..found], &freqs[..found], &mut scores);
        let mut kept = 0;
        for ix in 0..found {
            let sum = sums[ix] + f64::from(scores[ix]);
            (docs[kept], sums[kept]) = (docs[ix], sum);
            kept += usize::from((sum + rest) as f32 > threshold);
        }
        kept
    }

    /// Whether it was moved behind its last document.
    pub fn is_at_end(&self) -> bool {
        self.postings.is_at_end()
    }

    fn windows(&mut self) -> (&mut BlockBounds, &TermWeight) {
        let max = self.max_score();
        (self.windows.get_or_insert_with(|| Box::new(BlockBounds::new(&self.postings, max))), &self.weight)
    }

    /// Frequency and norm of the current document, for explanations.
    pub fn freq_and_norm(&mut self) -> (u32, u8) {
        (self.postings.freq(), self.norms.get(self.postings.doc()))
    }
}

/// Scores documents, which ascend, by their frequencies.
#[inline]
fn score_all(norms: &Norms, weight: &TermWeight, docs: &[u32], freqs: &[u32], scores: &mut [f32; BLOCK_LEN]) {
    norms.factors(docs, freqs, &weight.lengths, scores);
    for score in scores.iter_mut().take(docs.len()) {
        *score = bm25::score(weight.weight, *score);
    }
}

impl Scorer for TermScorer {
    #[inline]
    fn doc(&self) -> u32 {
        self.postings.doc()
    }

    #[inline]
    fn next(&mut self) -> u32 {
        self.postings.next()
    }

    #[inline]
    fn advance(&mut self, target: u32) -> u32 {
        self.postings.advance(target)
    }

    #[inline]
    fn score(&mut self) -> f32 {
        let freq = self.postings.freq();
        self.weight.score(freq as f32, self.norms.get(self.postings.doc()))
    }

    fn cost(&self) -> u64 {
        u64::from(self.postings.doc_freq())
    }

    fn bound(&mut self, from: u32, to: u32) -> f32 {
        let doc = self.postings.doc();
        if doc == END {
            return f32::NEG_INFINITY;
        }
        let (windows, weight) = self.windows();
        windows.of(doc, from, to, weight)
    }

    fn max_score(&mut self) -> f32 {
        TermScorer::max_score(self)
    }

    fn window_end(&mut self, target: u32) -> u32 {
        let doc = self.postings.doc();
        if doc == END {
            return END;
        }
        let (windows, weight) = self.windows();
        windows.end_of_block(doc, target, weight)
    }
}
