//! Documents whose column fulfils a condition, looked at no sooner than they are asked for.
//!
//! Two phases: a candidate is a document of a block that the metadata does not rule out; confirming it looks at its
//! values. So a conjunction with a rare term decodes only blocks that the term's documents are in.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use crate::{
    columns::{BLOCK_DOCS, BlockVerdict, ColumnError, PackedBlock, ValueRanges},
    postings::END,
    query::{ColumnBytes, scorer::Scorer},
};

/// Where column scorers of one segment leave the first damage they meet.
#[derive(Debug, Clone, Default)]
pub(in crate::query) struct ColumnDamage(Rc<RefCell<Option<ColumnError>>>);

impl ColumnDamage {
    #[cold]
    pub fn note(&self, error: ColumnError) {
        self.0.borrow_mut().get_or_insert(error);
    }

    /// # Errors
    /// The first damage noted.
    pub fn check(&self) -> Result<(), ColumnError> {
        self.0.borrow_mut().take().map_or(Ok(()), Err)
    }
}

/// Share of a block's values, in 1/16, that a condition is taken to match where nothing better is known.
const UNKNOWN_SHARE: u64 = 4;
const BLOCK_WORDS: usize = BLOCK_DOCS as usize / 64;

/// Documents of a segment with a value in some ranges.
#[derive(Debug)]
pub(in crate::query) struct ColumnScorer {
    ranges: ValueRanges,
    column: Arc<ColumnBytes>,
    score: f32,
    damage: ColumnDamage,
    /// The block the scorer stands in and what is known of it; no block at first.
    block: Option<u32>,
    verdict: BlockVerdict,
    /// Values of that block, once looked at.
    opened: Option<PackedBlock>,
    /// Its matching documents, where the scorer goes from match to match.
    words: Option<Box<[u64; BLOCK_WORDS]>>,
    cost: u64,
    next: u32,
    doc: u32,
}

impl ColumnScorer {
    pub fn new(ranges: ValueRanges, column: Arc<ColumnBytes>, score: f32, damage: ColumnDamage) -> Self {
        let cost = (0..column.meta.blocks().len() as u32)
            .map(|block| {
                let docs = u64::from(column.meta.blocks()[block as usize].num_docs_with);
                match column.meta.verdict(block, &ranges) {
                    BlockVerdict::None => 0,
                    BlockVerdict::All => docs,
                    BlockVerdict::Mixed => (docs * UNKNOWN_SHARE).div_ceil(16),
                }
            })
            .sum();
        Self {
            ranges,
            column,
            score,
            damage,
            block: None,
            verdict: BlockVerdict::None,
            opened: None,
            words: None,
            cost,
            next: 0,
            doc: END,
        }
    }

    fn enter(&mut self, block: u32) {
        if self.block != Some(block) {
            (self.block, self.opened, self.words) = (Some(block), None, None);
            self.verdict = self.column.meta.verdict(block, &self.ranges);
        }
    }

    /// The first document at or above `target` in a block that is not ruled out.
    fn candidate(&mut self, target: u32) -> u32 {
        let mut target = target.max(self.next);
        let max_doc = self.column.meta.num_docs();
        while target < max_doc {
            let block = target / BLOCK_DOCS;
            self.enter(block);
            if self.verdict != BlockVerdict::None {
                (self.next, self.doc) = (target + 1, target);
                return target;
            }
            target = (block + 1).saturating_mul(BLOCK_DOCS);
        }
        (self.next, self.doc) = (max_doc, END);
        END
    }

    /// Opens the block the scorer stands in; damaged, it has no documents.
    fn open(&mut self) -> Option<&PackedBlock> {
        if self.opened.is_none() {
            match self.column.open(self.block?) {
                Ok(opened) => self.opened = Some(opened),
                Err(error) => {
                    self.damage.note(error);
                    self.verdict = BlockVerdict::None;
                }
            }
        }
        self.opened.as_ref()
    }

    /// The first match at or above `target`.
    fn seek(&mut self, target: u32) -> u32 {
        let mut doc = self.candidate(target);
        while doc != END && self.verdict == BlockVerdict::Mixed {
            let block = doc / BLOCK_DOCS;
            if self.words.is_none() {
                let mut words = Box::new([0; BLOCK_WORDS]);
                let (first, ranges) = (block as usize * BLOCK_WORDS, self.ranges.clone());
                if let Some(opened) = self.open() {
                    opened.matching(&ranges, |word, bits| words[(word - first) % BLOCK_WORDS] = bits);
                }
                self.words = Some(words);
            }
            let words = self.words.as_deref().map_or(&[][..], |words| &words[..]);
            let (word, bit) = (doc as usize % BLOCK_DOCS as usize / 64, doc % 64);
            let here = words.get(word).map_or(0, |bits| bits >> bit << bit);
            let rest = words.iter().enumerate().skip(word + 1).map(|(ix, &bits)| (ix, bits));
            let found = std::iter::once((word, here)).chain(rest).find(|&(_, bits)| bits != 0);
            if let Some((word, bits)) = found {
                doc = block * BLOCK_DOCS + word as u32 * 64 + bits.trailing_zeros();
                (self.next, self.doc) = (doc + 1, doc);
                return doc;
            }
            doc = self.candidate((block + 1).saturating_mul(BLOCK_DOCS));
        }
        doc
    }
}

impl Scorer for ColumnScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn next(&mut self) -> u32 {
        self.seek(self.next)
    }

    fn advance(&mut self, target: u32) -> u32 {
        if self.doc != END && self.doc >= target {
            return self.doc;
        }
        self.seek(target)
    }

    fn advance_candidate(&mut self, target: u32) -> u32 {
        if self.doc != END && self.doc >= target {
            return self.doc;
        }
        self.candidate(target)
    }

    fn confirm(&mut self) -> bool {
        if self.verdict == BlockVerdict::All {
            return true;
        }
        let doc = self.doc;
        self.open();
        self.opened.as_ref().is_some_and(|opened| opened.matches(doc, &self.ranges))
    }

    fn confirm_cost(&self) -> u32 {
        1
    }

    fn score(&mut self) -> f32 {
        self.score
    }

    fn cost(&self) -> u64 {
        self.cost
    }

    fn bound(&mut self, _: u32, _: u32) -> f32 {
        self.score
    }

    fn max_score(&mut self) -> f32 {
        self.score
    }
}
