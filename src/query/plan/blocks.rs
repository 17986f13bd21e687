//! The blocks of a term in one segment, as skip data tells of them, and stretches of documents between their borders.

use std::ops::Range;

use crate::{
    codec::bitpack::BLOCK_LEN,
    error::{Error, Result},
    postings::{Damage, END, Lookahead, Postings, TermBytes},
    query::{Plan, collect::Accept, scorer::term::TermWeight},
};

use super::{
    bounds::{Compiled, ListPlan},
    data::SegmentTerm,
};

/// A list of up to so many bytes may be read whole where the others are only needed around its documents.
pub(super) const LEAD_BYTES: u32 = 32 << 10;

/// A stretch of a list: a block, or one document of a list that was read.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// First and last document it could hold.
    pub first: u32,
    pub last: u32,
    /// Where it is among the documents of the term; empty if they are there.
    pub docs: Range<u64>,
    /// Where its positions are among those of the term; empty if they are there or not asked for.
    pub positions: Range<u64>,
    /// Whether it was asked for.
    pub is_read: bool,
}

impl Block {
    /// Share of the documents between its borders that it has, about.
    pub fn density(&self) -> f32 {
        (BLOCK_LEN as f32 / (self.last - self.first + 1) as f32).min(1.0)
    }
}

/// A term in one segment.
#[derive(Debug, Clone, Default)]
pub(super) struct List {
    pub leaf: usize,
    /// Ascending.
    pub blocks: Vec<Block>,
    /// Highest score of each block with each weight, `[blocks x weights]`.
    bounds: Vec<f32>,
    num_weights: usize,
}

impl List {
    /// The highest score in a block; 0 without a weight.
    pub fn bound(&self, block: usize, weight: Option<usize>) -> f64 {
        weight.map_or(0.0, |weight| f64::from(self.bounds[block * self.num_weights + weight]))
    }

    /// A block that was not asked for yet; now it is, with those that are read with it.
    pub fn take(&mut self, block: usize) -> Option<Block> {
        if self.blocks[block].is_read {
            return None;
        }
        let taken = self.blocks[block].clone();
        // Documents of a list that was read share the positions of their block.
        let (before, behind) = self.blocks.split_at_mut(block);
        let shares = |other: &&mut Block| !taken.positions.is_empty() && other.positions == taken.positions;
        before.iter_mut().rev().take_while(shares).for_each(|block| block.is_read = true);
        behind.iter_mut().take_while(shares).for_each(|block| block.is_read = true);
        self.blocks[block].is_read = true;
        Some(taken)
    }

    /// The block that a document would be in.
    pub fn block_of(&self, doc: u32) -> Option<usize> {
        let ix = self.blocks.partition_point(|block| block.last < doc);
        self.blocks.get(ix).filter(|block| block.first <= doc).map(|_| ix)
    }
}

/// Documents between two borders of blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub segment: u32,
    pub from: u32,
    pub to: u32,
    /// No document of it scores more.
    pub bound: f32,
    /// Matching documents, about.
    pub docs: f32,
}

/// The highest score of one block with each weight of its term.
struct BlockBounds<'a> {
    weights: &'a [TermWeight],
    scores: Vec<f32>,
}

impl BlockBounds<'_> {
    /// Those of the block that `lookahead` stands on. `each` is told every score that its impacts speak for.
    fn load(&mut self, lookahead: &Lookahead, mut each: impl FnMut(usize, f32)) {
        self.scores.fill(f32::NEG_INFINITY);
        lookahead.impacts(|impact| {
            for (ix, (highest, weight)) in self.scores.iter_mut().zip(self.weights).enumerate() {
                let score = weight.score(impact.freq as f32, impact.norm);
                *highest = highest.max(score);
                each(ix, score);
            }
        });
        for (highest, weight) in self.scores.iter_mut().zip(self.weights) {
            // Nothing known: the limit of the formula.
            *highest = if *highest == f32::NEG_INFINITY { weight.weight } else { *highest }.max(0.0);
        }
    }
}

impl Plan {
    /// The blocks of a term. `reached` is told each score that some document reaches with each weight, and the last
    /// document of its block.
    pub(super) fn open_list(
        &self,
        segment: usize,
        plan: &ListPlan,
        mut reached: impl FnMut(usize, f32, u32),
    ) -> Result<List> {
        let mut list = List { leaf: plan.leaf, num_weights: plan.weights.len(), ..List::default() };
        let SegmentTerm { info: Some(info), bytes, .. } = &self.data[segment].terms[plan.leaf] else {
            return Ok(list);
        };
        let field = self.terms[plan.leaf].field;
        let Some(text) = self.segments[segment].fields.get(&field) else { return Ok(list) };
        let (options, max_doc) = (text.index.options(), self.segments[segment].max_doc);
        let damage = Damage::default();
        let needs_positions = bytes.positions.as_ref().is_some_and(|positions| !positions.is_whole());
        let lists_docs = info.singleton.is_some() || (bytes.docs.is_whole() && info.docs_len <= LEAD_BYTES);
        let docs = TermBytes { positions: None, ..bytes.clone() };
        let mut postings = Postings::open(options, max_doc, info, docs, &damage);
        let mut lookahead = postings.lookahead();
        let mut here = BlockBounds { weights: &plan.weights, scores: vec![0.0; plan.weights.len()] };
        if lists_docs {
            let mut block = None;
            while postings.next() != END {
                let (doc, freq) = (postings.doc(), postings.freq());
                let mut positions = if needs_positions { 0..info.positions_len } else { 0..0 };
                if let Some(lookahead) = &mut lookahead {
                    lookahead.seek(doc);
                    if block != Some(lookahead.block()) {
                        block = Some(lookahead.block());
                        here.load(lookahead, |_, _| ());
                    }
                    if needs_positions {
                        positions = lookahead.positions_range(info.positions_len);
                    }
                }
                list.blocks.push(Block { first: doc, last: doc, docs: 0..0, positions, is_read: false });
                list.bounds.extend(plan.weights.iter().zip(&here.scores).map(|(weight, &here)| {
                    // The norm is not known: no document is shorter than one word.
                    let alone = weight.score(freq as f32, 1).max(0.0);
                    if block.is_some() { alone.min(here) } else { alone }
                }));
            }
        } else if let Some(lookahead) = &mut lookahead {
            loop {
                let last = lookahead.seek(0).min(max_doc.saturating_sub(1));
                let is_full = !lookahead.is_tail();
                here.load(lookahead, |weight, score| {
                    // The impacts of a tail are those of the whole term.
                    if is_full {
                        reached(weight, score, last);
                    }
                });
                let docs = lookahead.docs_range();
                let docs = if bytes.docs.is_whole() { 0..0 } else { docs.start as u64..docs.end as u64 };
                let positions = if needs_positions { lookahead.positions_range(info.positions_len) } else { 0..0 };
                if lookahead.first_doc() <= last {
                    let first = lookahead.first_doc();
                    list.blocks.push(Block { first, last, docs, positions, is_read: false });
                    list.bounds.extend_from_slice(&here.scores);
                }
                if lookahead.is_last() {
                    break;
                }
                lookahead.next_block();
            }
        }
        damage.check().map_err(|error| Error::from(error).at(format!("postings of segment {segment}")))?;
        Ok(list)
    }

    /// The stretches of a segment in which documents that are accepted could match.
    pub(super) fn open_windows(
        &self,
        segment: usize,
        compiled: &Compiled,
        lists: &[List],
        accept: &Accept<'_>,
        out: &mut Vec<Window>,
    ) {
        let max_doc = self.segments[segment].max_doc;
        let (mut places, mut active) = (vec![0usize; lists.len()], vec![None; lists.len()]);
        let mut from = 0;
        while from < max_doc {
            let mut to = max_doc;
            for ((place, active), list) in places.iter_mut().zip(&mut active).zip(lists) {
                while list.blocks.get(*place).is_some_and(|block| block.last < from) {
                    *place += 1;
                }
                let block = list.blocks.get(*place);
                let is_inside = block.is_some_and(|block| block.first <= from);
                to = block.map_or(to, |block| to.min(if is_inside { block.last + 1 } else { block.first }));
                *active = is_inside.then_some(*place);
            }
            if let Some(found) = compiled.bound.estimate(lists, &active) {
                let first = accept.next(from);
                if first < to {
                    let bound = (found.score * compiled.slack) as f32;
                    let docs = found.density * (to - first) as f32;
                    out.push(Window { segment: segment as u32, from: first, to, bound, docs });
                }
            }
            from = to;
        }
    }
}
