//! Terms that all matches of a union must have besides.
//!
//! The union leads: its documents are rarer. What the required terms can add in a window is part of what its own terms
//! have to pass, so that MAXSCORE leaves out more of them; a document that could still get there is looked up then.

#![forbid(unsafe_code)]

use crate::query::scorer::{Scorer, term::TermScorer};

use super::Ranking;

/// Blocks of a required term beside one of the union, up to which their own bounds are asked for: of more, some block
/// will be a good one.
const MAX_BLOCKS_BESIDE: u64 = 8;
/// What a score of the union may grow by where it is rounded before the required terms are added.
const ROUNDING: f64 = 1.2e-7;

/// The required terms, by rising cost.
pub(super) struct Required<'t> {
    terms: &'t mut [TermScorer],
    max_scores: Vec<f64>,
    has_own_bounds: Vec<bool>,
    /// What the terms from each place on can give at most, in the window.
    rest: Vec<f64>,
    rounding: f64,
}

impl<'t> Required<'t> {
    /// Beside a union of terms with these costs, whose best scores add up to `max_score`.
    pub fn new(terms: &'t mut [TermScorer], cost: u64, max_score: f64) -> Self {
        terms.sort_by_key(|term| term.cost());
        let max_scores: Vec<f64> = terms.iter_mut().map(|term| f64::from(term.max_score())).collect();
        let has_own_bounds = terms.iter().map(|term| term.cost() <= cost.saturating_mul(MAX_BLOCKS_BESIDE)).collect();
        Self { rest: vec![0.0; terms.len() + 1], terms, max_scores, has_own_bounds, rounding: max_score * ROUNDING }
    }

    /// What they add to any document, at most.
    pub fn max_sum(&self) -> f64 {
        self.max_scores.iter().sum::<f64>() + self.rounding
    }

    /// What they add to a document of a window, at most. Windows ascend.
    pub fn enter(&mut self, start: u32, end: u32) -> f64 {
        for (place, term) in self.terms.iter_mut().enumerate().rev() {
            let own = self.has_own_bounds[place].then(|| f64::from(term.bound_within(start, end)));
            self.rest[place] = self.rest[place + 1] + own.unwrap_or(self.max_scores[place]);
        }
        self.rest[0] + self.rounding
    }

    /// Offers a document with its score in the union, if all terms have it. Documents ascend.
    #[inline]
    pub fn offer(&mut self, doc: u32, score: f32, ranking: &mut Ranking<'_>, threshold: &mut f32) {
        let mut sum = f64::from(score);
        for (term, rest) in self.terms.iter_mut().zip(&self.rest) {
            if (sum + rest) as f32 <= *threshold || !term.postings.has(doc) {
                return;
            }
            sum += f64::from(term.score());
        }
        ranking.offer_accepted(doc, sum as f32, threshold);
    }
}
