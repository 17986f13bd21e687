//! Bounds of the scores of a term in any window ahead of it, from the impacts of its blocks.
//!
//! Scorers above ask for windows that overlap: each has its own. Bounds of the blocks seen are kept until the term is
//! behind them, so that each block's impacts are read once.

use std::collections::VecDeque;

use crate::{
    postings::{END, Lookahead, Postings},
    query::scorer::term::TermWeight,
};

#[derive(Debug, Clone, Copy)]
struct BlockBound {
    first_doc: u32,
    last_doc: u32,
    bound: f32,
}

/// Bounds of the blocks of a term from its current document on.
#[derive(Debug)]
pub(super) struct BlockBounds {
    ahead: Option<Lookahead>,
    known: VecDeque<BlockBound>,
    /// Bound of all documents.
    max: f32,
}

impl BlockBounds {
    /// `max` holds for all documents.
    pub fn new(postings: &Postings, max: f32) -> Self {
        Self { ahead: postings.lookahead(), known: VecDeque::new(), max }
    }

    /// Makes the blocks from `from` on known, up to the one that `last` is in.
    fn reach(&mut self, doc: u32, from: u32, last: u32, weight: &TermWeight) {
        while self.known.front().is_some_and(|block| block.last_doc < doc) {
            self.known.pop_front();
        }
        let (Some(ahead), max) = (&mut self.ahead, self.max) else { return };
        let block_of = |ahead: &Lookahead, last_doc: u32| {
            let bound = weight.best_of(|factors| ahead.best_factor(factors)).map_or(max, |bound| bound.min(max));
            BlockBound { first_doc: ahead.first_doc(), last_doc, bound }
        };
        if self.known.back().is_none_or(|block| block.last_doc < from) {
            // What lies between is unknown from now on, and documents there get the bound of all.
            self.known.clear();
            let last_doc = ahead.seek(from);
            self.known.push_back(block_of(ahead, last_doc));
        }
        while self.known.back().is_some_and(|block| block.last_doc < last) && !ahead.is_last() {
            let last_doc = ahead.next_block();
            self.known.push_back(block_of(ahead, last_doc));
        }
    }

    /// No document of `from..to` scores higher, given that the term stands on `doc`; negative infinity if it has none.
    pub fn of(&mut self, doc: u32, from: u32, to: u32, weight: &TermWeight) -> f32 {
        let from = from.max(doc);
        if from >= to {
            return f32::NEG_INFINITY;
        }
        if self.ahead.is_none() {
            return self.max;
        }
        self.reach(doc, from, to - 1, weight);
        if self.known.front().is_none_or(|block| block.first_doc > from) {
            return self.max;
        }
        let inside =
            self.known.iter().skip_while(|block| block.last_doc < from).take_while(|block| block.first_doc < to);
        inside.map(|block| block.bound).fold(f32::NEG_INFINITY, f32::max)
    }

    /// One behind the last document of the block that could hold `target`.
    pub fn end_of_block(&mut self, doc: u32, target: u32, weight: &TermWeight) -> u32 {
        let target = target.max(doc);
        if self.ahead.is_none() || target == END {
            return END;
        }
        self.reach(doc, target, target, weight);
        let block = self.known.iter().find(|block| block.last_doc >= target);
        block.map_or(END, |block| block.last_doc.saturating_add(1)).max(target.saturating_add(1))
    }
}
