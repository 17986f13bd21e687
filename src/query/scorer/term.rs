//! One term, scored by BM25.

use bytes::Bytes;

use crate::{
    codec::bitpack::BLOCK_LEN,
    postings::{END, Lookahead, Postings},
    query::{
        bm25::{self, LengthTable},
        scorer::Scorer,
    },
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
    max_score: Option<f32>,
}

impl TermScorer {
    pub fn new(postings: Postings, weight: TermWeight, norms: Norms) -> Self {
        let lookahead = postings.lookahead();
        Self { postings, weight, norms, lookahead, bounded: None, max_score: None }
    }

    /// No document of the term scores higher. Of a short term the true maximum: call before moving.
    pub fn max_score(&mut self) -> f32 {
        if let Some(max) = self.max_score {
            return max;
        }
        let mut max = f32::NEG_INFINITY;
        if self.lookahead.is_some() {
            let weight = &self.weight;
            self.postings.term_impacts(|impact| max = max.max(weight.score(impact.freq as f32, impact.norm)));
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
        let (mut bound, weight) = (f32::NEG_INFINITY, &self.weight);
        lookahead.impacts(|impact| bound = bound.max(weight.score(impact.freq as f32, impact.norm)));
        if bound == f32::NEG_INFINITY {
            bound = max_score;
        }
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
        let (docs, freqs) = self.postings.block_until(end);
        let count = docs.len();
        docs_out[..count].copy_from_slice(docs);
        let lengths = &*self.weight.lengths;
        for ((&doc, &freq), out) in docs.iter().zip(freqs).zip(scores_out.iter_mut()) {
            *out = freq as f32 * lengths[usize::from(self.norms.get(doc))];
        }
        let weight = self.weight.weight;
        for out in &mut scores_out[..count] {
            *out = bm25::score(weight, *out);
        }
        self.postings.consume(count);
        count
    }

    /// Frequency and norm of the current document, for explanations.
    pub fn freq_and_norm(&mut self) -> (u32, u8) {
        (self.postings.freq(), self.norms.get(self.postings.doc()))
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
}
