//! All of several scorers.
//!
//! ```text
//! lead := the scorer with the fewest documents
//! window := the block of the first scored one; if the bounds of all together do not pass the minimum, jump behind it
//! each candidate of the lead that all others have as a candidate:
//!     add scores up, those first that need no confirming; give up once the sum and the bounds of the rest cannot pass
//!     confirm, the cheapest first
//! ```

use crate::{
    postings::END,
    query::scorer::{BoxScorer, Scorer},
    topk::order,
};

/// What a clause adds to the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::query) enum Adds {
    Nothing,
    /// Its score.
    Score,
    /// Its score before rounding: it is a part of the same sum.
    Part,
}

struct Clause {
    scorer: BoxScorer,
    adds: Adds,
    confirm_cost: u32,
    /// Bound of the others after it in the order of scoring, in the current window.
    rest: f64,
}

/// Documents that all clauses have; the scored ones add up.
pub(in crate::query) struct AndScorer {
    /// By ascending cost.
    clauses: Vec<Clause>,
    /// The order in which a document is confirmed and scored.
    order: Vec<usize>,
    is_started: bool,
    min_score: f32,
    window_end: u32,
    /// The score of the current document, where it was needed already.
    known: Option<f64>,
    next: u32,
    doc: u32,
}

impl AndScorer {
    /// # Panics
    /// If there is no clause.
    pub fn new(clauses: Vec<(BoxScorer, Adds)>) -> Self {
        assert!(!clauses.is_empty(), "a conjunction of nothing");
        let clause = |(scorer, adds): (BoxScorer, Adds)| Clause {
            confirm_cost: scorer.confirm_cost(),
            scorer,
            adds,
            rest: f64::INFINITY,
        };
        let mut clauses: Vec<Clause> = clauses.into_iter().map(clause).collect();
        order::by_key(&mut clauses, |clause| clause.scorer.cost());
        let takes_part = |ix: &usize| clauses[*ix].adds != Adds::Nothing || clauses[*ix].confirm_cost > 0;
        let mut order: Vec<usize> = (0..clauses.len()).filter(takes_part).collect();
        order::by_key(&mut order, |&ix| clauses[ix].confirm_cost.into());
        let (min_score, known) = (f32::NEG_INFINITY, None);
        Self { clauses, order, is_started: false, min_score, window_end: 0, known, next: 0, doc: END }
    }

    fn is_scored(&self) -> bool {
        self.min_score > f32::NEG_INFINITY
    }

    /// Where the window that starts at `doc` ends, and whether a document in it can pass the minimum.
    fn enter_window(&mut self, doc: u32) -> bool {
        let end = self.window_end(doc);
        self.window_end = end;
        let mut rest = 0.0;
        for &ix in self.order.iter().rev() {
            let clause = &mut self.clauses[ix];
            clause.rest = rest;
            if clause.adds != Adds::Nothing {
                rest += f64::from(clause.scorer.bound(doc, end));
            }
        }
        rest as f32 > self.min_score
    }

    /// Goes on from a candidate of the lead to the first one that all clauses have.
    fn align(&mut self, mut doc: u32) -> u32 {
        if !self.is_started && doc != END {
            self.is_started = true;
            for clause in &mut self.clauses[1..] {
                clause.scorer.advance_candidate(doc);
            }
        }
        'lead: while doc != END {
            if doc >= self.window_end && self.is_scored() && !self.enter_window(doc) {
                doc = self.clauses[0].scorer.advance_candidate(self.window_end);
                continue;
            }
            for ix in 1..self.clauses.len() {
                let found = self.clauses[ix].scorer.advance_candidate(doc);
                if found != doc {
                    doc = if found == END { END } else { self.clauses[0].scorer.advance_candidate(found) };
                    continue 'lead;
                }
            }
            break;
        }
        (self.next, self.doc) = (if doc == END { END } else { doc + 1 }, doc);
        self.known = None;
        doc
    }

    /// Goes on from where all clauses have a candidate to the first document that matches.
    fn settle(&mut self) -> u32 {
        while self.doc != END && !self.confirm() {
            self.advance_candidate(self.next);
        }
        self.doc
    }

    fn candidate(&mut self, target: u32) -> u32 {
        if self.next == END {
            self.doc = END;
            return END;
        }
        let doc = self.clauses[0].scorer.advance_candidate(target.max(self.next));
        self.align(doc)
    }
}

fn score_of(clause: &mut Clause) -> f64 {
    match clause.adds {
        Adds::Nothing => 0.0,
        Adds::Score => f64::from(clause.scorer.score()),
        Adds::Part => clause.scorer.part_score(),
    }
}

impl Scorer for AndScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn next(&mut self) -> u32 {
        self.candidate(self.next);
        self.settle()
    }

    fn advance(&mut self, target: u32) -> u32 {
        if self.doc != END && self.doc >= target {
            return self.doc;
        }
        self.candidate(target);
        self.settle()
    }

    fn advance_candidate(&mut self, target: u32) -> u32 {
        if self.doc != END && self.doc >= target {
            return self.doc;
        }
        self.candidate(target)
    }

    fn confirm(&mut self) -> bool {
        let (is_scored, mut sum) = (self.is_scored(), 0.0);
        for &ix in &self.order {
            let clause = &mut self.clauses[ix];
            if clause.confirm_cost > 0 && !clause.scorer.confirm() {
                return false;
            }
            if is_scored {
                sum += score_of(clause);
                if (sum + clause.rest) as f32 <= self.min_score {
                    return false;
                }
            }
        }
        self.known = is_scored.then_some(sum);
        true
    }

    fn confirm_cost(&self) -> u32 {
        // With a minimum it confirms more than its clauses do; the minimum may come later.
        1 + self.clauses.iter().map(|clause| clause.confirm_cost).sum::<u32>()
    }

    fn score(&mut self) -> f32 {
        self.part_score() as f32
    }

    fn part_score(&mut self) -> f64 {
        match self.known {
            Some(score) => score,
            None => self.clauses.iter_mut().map(score_of).fold(0.0, |sum, score| sum + score),
        }
    }

    fn cost(&self) -> u64 {
        self.clauses[0].scorer.cost()
    }

    fn bound(&mut self, from: u32, to: u32) -> f32 {
        if self.doc == END {
            return f32::NEG_INFINITY;
        }
        let scored = self.clauses.iter_mut().filter(|clause| clause.adds != Adds::Nothing);
        scored.map(|clause| f64::from(clause.scorer.bound(from, to))).fold(0.0, |sum, bound| sum + bound) as f32
    }

    fn window_end(&mut self, target: u32) -> u32 {
        let scored = self.clauses.iter_mut().find(|clause| clause.adds != Adds::Nothing);
        scored.map_or(END, |clause| clause.scorer.window_end(target))
    }

    fn max_score(&mut self) -> f32 {
        let scored = self.clauses.iter_mut().filter(|clause| clause.adds != Adds::Nothing);
        scored.map(|clause| f64::from(clause.scorer.max_score())).fold(0.0, |sum, bound| sum + bound) as f32
    }

    fn set_min_score(&mut self, min: f32) {
        if self.order.iter().all(|&ix| self.clauses[ix].adds == Adds::Nothing) {
            return;
        }
        if !self.is_scored() {
            self.window_end = 0;
        }
        self.min_score = min;
        let mut scored = self.clauses.iter_mut().filter(|clause| clause.adds != Adds::Nothing);
        if let (Some(only), None) = (scored.next(), scored.next()) {
            // The sum is its score.
            only.scorer.set_min_score(min);
        }
    }
}
