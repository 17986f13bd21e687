//! A condition on one column, checked document by document: what a query tree asks about the few documents that
//! its other clauses leave.

#![forbid(unsafe_code)]

use std::sync::Arc;

use bytes::Bytes;

use super::{ColumnError, ColumnMeta, PackedBlock, ValueRanges};
use crate::bitset::BitSet;

/// What the metadata says of a block under a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockVerdict {
    /// None of its documents match.
    None,
    /// All of them do.
    All,
    /// Only its values tell.
    Mixed,
}

impl ColumnMeta {
    /// What is known of a block without reading it.
    pub fn verdict(&self, block: u32, ranges: &ValueRanges) -> BlockVerdict {
        let Some(meta) = self.blocks().get(block as usize) else { return BlockVerdict::None };
        let docs = self.block_docs(block);
        if meta.num_docs_with == 0 || !ranges.overlaps(meta.min, meta.max) {
            BlockVerdict::None
        } else if ranges.covers(meta.min, meta.max) && meta.num_docs_with == docs.end - docs.start {
            BlockVerdict::All
        } else {
            BlockVerdict::Mixed
        }
    }
}

#[derive(Debug, Clone)]
enum BlockState {
    Decided(bool),
    Unread,
    Read(PackedBlock),
}

/// A condition on the column of one segment.
///
/// ```text
/// let mut matcher = ColumnMatcher::new(column, ranges);
/// for block in matcher.wanted() { matcher.feed(block, read(column.block_range(block)))? }   // or only those in question
/// matcher.matches(doc)
/// ```
#[derive(Debug, Clone)]
pub struct ColumnMatcher {
    column: Arc<ColumnMeta>,
    ranges: ValueRanges,
    blocks: Vec<BlockState>,
}

impl ColumnMatcher {
    /// Decides what the metadata decides.
    pub fn new(column: Arc<ColumnMeta>, ranges: ValueRanges) -> Self {
        let state = |block| match column.verdict(block, &ranges) {
            BlockVerdict::None => BlockState::Decided(false),
            BlockVerdict::All => BlockState::Decided(true),
            BlockVerdict::Mixed => BlockState::Unread,
        };
        let blocks = (0..column.blocks().len() as u32).map(state).collect();
        Self { column, ranges, blocks }
    }

    /// The column.
    pub fn column(&self) -> &Arc<ColumnMeta> {
        &self.column
    }

    /// The condition.
    pub fn ranges(&self) -> &ValueRanges {
        &self.ranges
    }

    /// Blocks that only their values can decide and that were not fed yet, ascending.
    pub fn wanted(&self) -> Vec<u32> {
        (0..self.blocks.len() as u32).filter(|&block| self.is_wanted(block)).collect()
    }

    /// Whether a block has to be fed before its documents can be told.
    pub fn is_wanted(&self, block: u32) -> bool {
        matches!(self.blocks.get(block as usize), Some(BlockState::Unread))
    }

    /// Takes the bytes of a block, those of [`ColumnMeta::block_range`] in the `column` stream.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn feed(&mut self, block: u32, bytes: Bytes) -> Result<(), ColumnError> {
        if self.is_wanted(block) {
            self.blocks[block as usize] = BlockState::Read(self.column.open_block(block, bytes)?);
        }
        Ok(())
    }

    /// Whether a document matches; `None` if its block has to be fed first. Documents out of the segment do not.
    #[inline]
    pub fn matches(&self, doc: u32) -> Option<bool> {
        match self.blocks.get(self.column.block_of(doc) as usize) {
            Some(BlockState::Decided(all)) => Some(*all && doc < self.column.num_docs()),
            Some(BlockState::Read(block)) => Some(block.matches(doc, &self.ranges)),
            Some(BlockState::Unread) => None,
            None => Some(false),
        }
    }

    /// What is known of the documents of a block: [`BlockVerdict::Mixed`] also once it was fed.
    pub fn verdict(&self, block: u32) -> BlockVerdict {
        match self.blocks.get(block as usize) {
            Some(BlockState::Decided(true)) => BlockVerdict::All,
            Some(BlockState::Decided(false)) | None => BlockVerdict::None,
            Some(_) => BlockVerdict::Mixed,
        }
    }

    /// Matching documents at most: exact where all is decided or fed.
    pub fn max_count(&self) -> u64 {
        let of = |(block, state): (u32, &BlockState)| match state {
            BlockState::Decided(false) => 0,
            BlockState::Decided(true) => self.column.block_docs(block).len() as u64,
            BlockState::Unread => {
                self.column.blocks().get(block as usize).map_or(0, |meta| u64::from(meta.num_docs_with))
            }
            BlockState::Read(packed) => u64::from(packed.count(&self.ranges)),
        };
        (0..).zip(&self.blocks).map(of).sum()
    }

    /// The matching documents of what is decided or fed.
    pub fn to_set(&self) -> BitSet {
        let mut set = BitSet::new(self.column.num_docs());
        for (block, state) in (0..).zip(&self.blocks) {
            match state {
                BlockState::Decided(true) => {
                    let docs = self.column.block_docs(block);
                    set.insert_range(docs.start, docs.end);
                }
                BlockState::Read(packed) => packed.matching(&self.ranges, |word, bits| set.insert_word(word, bits)),
                BlockState::Decided(false) | BlockState::Unread => {}
            }
        }
        set
    }
}
