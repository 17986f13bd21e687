//! Documents that are listed somewhere: all of a segment, a bit set, a materialised list.

use std::sync::Arc;

use crate::{bitset::BitSet, postings::END, query::scorer::Scorer};

/// Every document with one score.
#[derive(Debug)]
pub(in crate::query) struct AllScorer {
    max_doc: u32,
    score: f32,
    next: u32,
    doc: u32,
}

impl AllScorer {
    pub fn new(max_doc: u32, score: f32) -> Self {
        Self { max_doc, score, next: 0, doc: END }
    }
}

impl Scorer for AllScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn next(&mut self) -> u32 {
        self.advance(self.next)
    }

    fn advance(&mut self, target: u32) -> u32 {
        if self.doc != END && self.doc >= target {
            return self.doc;
        }
        let target = target.max(self.next);
        if target >= self.max_doc {
            (self.next, self.doc) = (self.max_doc, END);
        } else {
            (self.next, self.doc) = (target + 1, target);
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        self.score
    }

    fn bound(&mut self, _: u32, _: u32) -> f32 {
        self.score
    }

    fn max_score(&mut self) -> f32 {
        self.score
    }

    fn cost(&self) -> u64 {
        u64::from(self.max_doc)
    }
}

/// The members of a set with one score.
#[derive(Debug)]
pub(in crate::query) struct SetScorer {
    set: Arc<BitSet>,
    score: f32,
    cost: u64,
    next: u32,
    doc: u32,
}

impl SetScorer {
    pub fn new(set: Arc<BitSet>, score: f32) -> Self {
        let cost = u64::from(set.count());
        Self { set, score, cost, next: 0, doc: END }
    }
}

impl Scorer for SetScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn next(&mut self) -> u32 {
        self.advance(self.next)
    }

    fn advance(&mut self, target: u32) -> u32 {
        if self.doc != END && self.doc >= target {
            return self.doc;
        }
        match self.set.next_set(target.max(self.next)) {
            Some(doc) => (self.next, self.doc) = (doc + 1, doc),
            None => (self.next, self.doc) = (self.set.len(), END),
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        self.score
    }

    fn bound(&mut self, _: u32, _: u32) -> f32 {
        self.score
    }

    fn max_score(&mut self) -> f32 {
        self.score
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}

/// A list of documents with their scores, ascending.
#[derive(Debug)]
pub(in crate::query) struct ListScorer {
    list: Vec<(u32, f32)>,
    /// Highest score.
    max: f32,
    /// Behind the current entry.
    next: usize,
    doc: u32,
}

impl ListScorer {
    pub fn new(list: Vec<(u32, f32)>) -> Self {
        let max = list.iter().map(|entry| entry.1).fold(f32::NEG_INFINITY, f32::max);
        Self { list, max, next: 0, doc: END }
    }
}

impl Scorer for ListScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn next(&mut self) -> u32 {
        self.doc = self.list.get(self.next).map_or(END, |entry| entry.0);
        self.next = (self.next + 1).min(self.list.len() + 1);
        self.doc
    }

    fn advance(&mut self, target: u32) -> u32 {
        if self.doc != END && self.doc >= target {
            return self.doc;
        }
        let rest = self.list.get(self.next..).unwrap_or_default();
        self.next += rest.partition_point(|entry| entry.0 < target);
        self.next()
    }

    fn score(&mut self) -> f32 {
        self.list.get(self.next.wrapping_sub(1)).map_or(0.0, |entry| entry.1)
    }

    fn cost(&self) -> u64 {
        self.list.len() as u64
    }

    fn bound(&mut self, _: u32, _: u32) -> f32 {
        self.max
    }

    fn max_score(&mut self) -> f32 {
        self.max
    }
}
