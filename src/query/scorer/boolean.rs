//! Scorers made of scorers: all of, some of, none of, the best of.
//!
//! Sums are kept in double precision and rounded once: with fewer than 2^29 between the smallest and the largest
//! addend they are exact, so that the order of clauses does not matter.

use crate::{
    postings::END,
    query::scorer::{BoxScorer, Scorer},
};

/// Documents that all clauses have; the scored ones add up.
pub(in crate::query) struct AndScorer {
    /// By ascending cost, each with whether it scores.
    clauses: Vec<(BoxScorer, bool)>,
    /// Clauses whose candidates have to be confirmed, the cheapest first.
    to_confirm: Vec<usize>,
    next: u32,
    doc: u32,
}

impl AndScorer {
    /// # Panics
    /// If there is no clause.
    pub fn new(mut clauses: Vec<(BoxScorer, bool)>) -> Self {
        assert!(!clauses.is_empty(), "a conjunction of nothing");
        clauses.sort_by_key(|(clause, _)| clause.cost());
        let mut to_confirm: Vec<usize> = (0..clauses.len()).filter(|&ix| clauses[ix].0.confirm_cost() > 0).collect();
        to_confirm.sort_by_key(|&ix| clauses[ix].0.confirm_cost());
        Self { clauses, to_confirm, next: 0, doc: END }
    }

    fn align(&mut self, mut doc: u32) -> u32 {
        'lead: while doc != END {
            for (clause, _) in &mut self.clauses[1..] {
                let found = clause.advance_candidate(doc);
                if found != doc {
                    doc = if found == END { END } else { self.clauses[0].0.advance_candidate(found) };
                    continue 'lead;
                }
            }
            if self.to_confirm.iter().all(|&ix| self.clauses[ix].0.confirm()) {
                break;
            }
            doc = self.clauses[0].0.advance_candidate(doc + 1);
        }
        (self.next, self.doc) = (if doc == END { END } else { doc + 1 }, doc);
        doc
    }
}

impl Scorer for AndScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn next(&mut self) -> u32 {
        if self.next == END {
            return END;
        }
        let doc = self.clauses[0].0.advance_candidate(self.next);
        self.align(doc)
    }

    fn advance(&mut self, target: u32) -> u32 {
        if self.doc != END && self.doc >= target || self.next == END {
            return self.doc;
        }
        let doc = self.clauses[0].0.advance_candidate(target.max(self.next));
        self.align(doc)
    }

    fn score(&mut self) -> f32 {
        let scored = self.clauses.iter_mut().filter(|(_, scored)| *scored);
        scored.map(|(clause, _)| f64::from(clause.score())).sum::<f64>() as f32
    }

    fn cost(&self) -> u64 {
        self.clauses[0].0.cost()
    }
}

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

/// Documents that at least `min_match` clauses have.
pub(in crate::query) struct OrScorer {
    clauses: Vec<BoxScorer>,
    min_match: usize,
    combine: Combine,
    doc: u32,
    started: bool,
}

impl OrScorer {
    pub fn new(clauses: Vec<BoxScorer>, min_match: usize, combine: Combine) -> Self {
        Self { clauses, min_match, combine, doc: END, started: false }
    }

    /// The smallest document at or above the clauses' places that enough of them have.
    fn settle(&mut self) -> u32 {
        loop {
            let doc = self.clauses.iter().map(|clause| clause.doc()).min().unwrap_or(END);
            self.doc = doc;
            if doc == END || self.min_match <= 1 {
                return doc;
            }
            let matching = self.clauses.iter().filter(|clause| clause.doc() == doc).count();
            if matching >= self.min_match {
                return doc;
            }
            for clause in self.clauses.iter_mut().filter(|clause| clause.doc() == doc) {
                clause.next();
            }
        }
    }
}

impl Scorer for OrScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn next(&mut self) -> u32 {
        if !self.started {
            self.started = true;
            self.clauses.iter_mut().for_each(|clause| {
                clause.next();
            });
        } else {
            let doc = self.doc;
            for clause in self.clauses.iter_mut().filter(|clause| clause.doc() == doc) {
                clause.next();
            }
        }
        self.settle()
    }

    fn advance(&mut self, target: u32) -> u32 {
        if self.started && (self.doc == END || self.doc >= target) {
            return self.doc;
        }
        let started = std::mem::replace(&mut self.started, true);
        for clause in &mut self.clauses {
            if !started || clause.doc() < target {
                clause.advance(target);
            }
        }
        self.settle()
    }

    fn score(&mut self) -> f32 {
        let doc = self.doc;
        let (mut sum, mut best) = (0.0f64, f32::NEG_INFINITY);
        for clause in self.clauses.iter_mut().filter(|clause| clause.doc() == doc) {
            let score = clause.score();
            sum += f64::from(score);
            best = best.max(score);
        }
        match self.combine {
            Combine::Sum => sum as f32,
            Combine::Best(share) => best_of(best, sum, share),
        }
    }

    fn cost(&self) -> u64 {
        self.clauses.iter().map(|clause| clause.cost()).sum()
    }
}

/// Documents of `required`, scored higher where `optional` has them too.
pub(in crate::query) struct OptionalScorer {
    pub required: BoxScorer,
    pub optional: BoxScorer,
}

impl Scorer for OptionalScorer {
    fn doc(&self) -> u32 {
        self.required.doc()
    }

    fn next(&mut self) -> u32 {
        self.required.next()
    }

    fn advance(&mut self, target: u32) -> u32 {
        self.required.advance(target)
    }

    fn score(&mut self) -> f32 {
        let (doc, score) = (self.required.doc(), f64::from(self.required.score()));
        let extra = if self.optional.advance(doc) == doc { f64::from(self.optional.score()) } else { 0.0 };
        (score + extra) as f32
    }

    fn cost(&self) -> u64 {
        self.required.cost()
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

    fn score(&mut self) -> f32 {
        self.required.score()
    }

    fn cost(&self) -> u64 {
        self.required.cost()
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

    fn score(&mut self) -> f32 {
        self.score
    }

    fn cost(&self) -> u64 {
        self.inner.cost()
    }
}
