//! Scorers made of scorers: with an optional one, without an excluded one, with another score. All of several and some of
//! several are in [`super::and`] and [`super::or`].
//!
//! Sums are kept in double precision and rounded once: with fewer than 2^29 between the smallest and the largest
//! addend they are exact, so that the order of clauses does not matter.

use crate::{
    postings::END,
    query::scorer::{BoxScorer, Scorer},
};

/// How the scores of several matching clauses become one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::query) enum Combine {
    Sum,
    /// The highest, plus this share of the others.
    Best(f32),
}

/// The highest score, plus a share of what the sum has besides.
#[inline(always)]
pub(in crate::query) fn best_of(best: f32, sum: f64, share: f32) -> f32 {
    (f64::from(best) + f64::from(share) * (sum - f64::from(best))) as f32
}

/// Documents of `required`, scored higher where `optional` has them too.
///
/// With a minimum score, windows that both together cannot pass are jumped over, and where `required` alone cannot,
/// `optional` is required as well.
pub(in crate::query) struct OptionalScorer {
    required: BoxScorer,
    /// Whether `required` is a part of the same sum.
    is_part: bool,
    optional: BoxScorer,
    is_started: bool,
    min_score: f32,
    window_end: u32,
    needs_optional: bool,
    optional_bound: f64,
    known: Option<f64>,
}

impl OptionalScorer {
    pub fn new(required: BoxScorer, is_part: bool, optional: BoxScorer) -> Self {
        Self {
            required,
            is_part,
            optional,
            is_started: false,
            min_score: f32::NEG_INFINITY,
            window_end: 0,
            needs_optional: false,
            optional_bound: f64::INFINITY,
            known: None,
        }
    }

    /// Bounds are those of a scorer that was moved.
    fn start(&mut self, doc: u32) {
        if !self.is_started {
            self.is_started = true;
            self.optional.advance(doc);
        }
    }

    fn required_score(&mut self) -> f64 {
        if self.is_part { self.required.part_score() } else { f64::from(self.required.score()) }
    }

    fn settle(&mut self, mut doc: u32) -> u32 {
        self.known = None;
        if self.min_score == f32::NEG_INFINITY {
            return doc;
        }
        while doc != END {
            if doc >= self.window_end {
                self.start(doc);
                let end = self.window_end(doc);
                self.window_end = end;
                let required = f64::from(self.required.bound(doc, end));
                self.optional_bound = f64::from(self.optional.bound(doc, end)).max(0.0);
                if (required + self.optional_bound) as f32 <= self.min_score {
                    doc = self.required.advance(end);
                    continue;
                }
                self.needs_optional = required as f32 <= self.min_score;
            }
            if self.needs_optional {
                let found = self.optional.advance(doc);
                if found != doc {
                    doc = self.required.advance(found.min(self.window_end));
                    continue;
                }
            }
            let mut score = self.required_score();
            if (score + self.optional_bound) as f32 > self.min_score {
                if self.optional.advance(doc) == doc {
                    score += self.optional.part_score();
                }
                if score as f32 > self.min_score {
                    self.known = Some(score);
                    return doc;
                }
            }
            doc = self.required.next();
        }
        END
    }
}

impl Scorer for OptionalScorer {
    fn doc(&self) -> u32 {
        self.required.doc()
    }

    fn next(&mut self) -> u32 {
        let doc = self.required.next();
        self.settle(doc)
    }

    fn advance(&mut self, target: u32) -> u32 {
        let before = self.required.doc();
        if before != END && before >= target {
            return before;
        }
        let doc = self.required.advance(target);
        self.settle(doc)
    }

    fn score(&mut self) -> f32 {
        self.part_score() as f32
    }

    fn part_score(&mut self) -> f64 {
        if let Some(score) = self.known {
            return score;
        }
        let (doc, score) = (self.required.doc(), self.required_score());
        score + if self.optional.advance(doc) == doc { self.optional.part_score() } else { 0.0 }
    }

    fn cost(&self) -> u64 {
        self.required.cost()
    }

    fn bound(&mut self, from: u32, to: u32) -> f32 {
        self.start(from);
        let required = f64::from(self.required.bound(from, to));
        (required + f64::from(self.optional.bound(from, to)).max(0.0)) as f32
    }

    fn window_end(&mut self, target: u32) -> u32 {
        self.required.window_end(target)
    }

    fn max_score(&mut self) -> f32 {
        (f64::from(self.required.max_score()) + f64::from(self.optional.max_score()).max(0.0)) as f32
    }

    fn set_min_score(&mut self, min: f32) {
        if self.min_score == f32::NEG_INFINITY {
            self.window_end = 0;
        }
        self.min_score = min;
    }
}

/// Documents of `required` that `excluded` does not have.
pub(in crate::query) struct ExcludeScorer {
    pub required: BoxScorer,
    pub excluded: BoxScorer,
}

impl ExcludeScorer {
    fn settle(&mut self, mut doc: u32) -> u32 {
        while doc != END && self.excluded.advance(doc) == doc {
            doc = self.required.next();
        }
        doc
    }
}

impl Scorer for ExcludeScorer {
    fn doc(&self) -> u32 {
        self.required.doc()
    }

    fn next(&mut self) -> u32 {
        let doc = self.required.next();
        self.settle(doc)
    }

    fn advance(&mut self, target: u32) -> u32 {
        let doc = self.required.advance(target);
        self.settle(doc)
    }

    fn advance_candidate(&mut self, target: u32) -> u32 {
        self.required.advance_candidate(target)
    }

    fn confirm(&mut self) -> bool {
        let doc = self.required.doc();
        self.excluded.advance(doc) != doc && self.required.confirm()
    }

    fn confirm_cost(&self) -> u32 {
        2 + self.required.confirm_cost()
    }

    fn score(&mut self) -> f32 {
        self.required.score()
    }

    fn part_score(&mut self) -> f64 {
        self.required.part_score()
    }

    fn cost(&self) -> u64 {
        self.required.cost()
    }

    fn bound(&mut self, from: u32, to: u32) -> f32 {
        self.required.bound(from, to)
    }

    fn window_end(&mut self, target: u32) -> u32 {
        self.required.window_end(target)
    }

    fn max_score(&mut self) -> f32 {
        self.required.max_score()
    }

    fn set_min_score(&mut self, min: f32) {
        self.required.set_min_score(min);
    }
}

/// The documents of another scorer, all with one score.
pub(in crate::query) struct ConstantScorer {
    pub inner: BoxScorer,
    pub score: f32,
}

impl Scorer for ConstantScorer {
    fn doc(&self) -> u32 {
        self.inner.doc()
    }

    fn next(&mut self) -> u32 {
        self.inner.next()
    }

    fn advance(&mut self, target: u32) -> u32 {
        self.inner.advance(target)
    }

    fn advance_candidate(&mut self, target: u32) -> u32 {
        self.inner.advance_candidate(target)
    }

    fn confirm(&mut self) -> bool {
        self.inner.confirm()
    }

    fn confirm_cost(&self) -> u32 {
        self.inner.confirm_cost()
    }

    fn score(&mut self) -> f32 {
        self.score
    }

    fn cost(&self) -> u64 {
        self.inner.cost()
    }

    fn bound(&mut self, _: u32, _: u32) -> f32 {
        self.score
    }

    fn max_score(&mut self) -> f32 {
        self.score
    }
}
