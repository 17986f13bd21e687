//! One column in another order of its documents.
//!
//! ```text
//! dictionary  keyword columns: its terms are copied, ordinals stay
//! values      all blocks are read and kept packed
//! write       block after block of the new order: single documents are looked up in the old blocks
//! points      sorted anew, where the new order has some
//! ```
//!
//! Memory: the packed column, 4 bytes per document that has several values, 16 bytes per value that may become a point,
//! and one block.

#![forbid(unsafe_code)]

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use super::{
    BLOCK_DOCS, ColumnError, ColumnKind, ColumnMeta, PackedBlock,
    builder::BlockWriter,
    dictionary::DictionaryWriter,
    meta::write_meta,
    points::{Point, PointsWriter, has_points},
};
use crate::bitset::DocOrder;

/// Bytes asked for at a time, unless a single block is longer.
const WINDOW_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Dictionary,
    Values,
    Write,
    Done,
}

/// A step machine: read what [`Self::wanted`] names, which may be nothing, and [`Self::feed`] it, until
/// [`Self::is_done`].
#[derive(Debug)]
pub struct ColumnReorderer {
    column: Arc<ColumnMeta>,
    order: Arc<DocOrder>,
    phase: Phase,
    window: Range<u32>,
    dictionary: DictionaryWriter,
    dictionary_index: Vec<u8>,
    blocks: Vec<PackedBlock>,
    next_place: u32,
    values: BlockWriter,
    points: Vec<Point>,
    points_index: Option<Vec<u8>>,
}

impl ColumnReorderer {
    /// A rewrite of `column` in `order`.
    ///
    /// # Errors
    /// If they are of another number of documents.
    pub fn new(column: Arc<ColumnMeta>, order: Arc<DocOrder>) -> Result<Self, ColumnError> {
        if column.num_docs() != order.num_docs() {
            return Err(ColumnError::WrongSource { source_ix: 0, what: "another number of documents" });
        }
        let mut reorderer = Self {
            column,
            order,
            phase: Phase::Dictionary,
            window: 0..0,
            dictionary: DictionaryWriter::new(),
            dictionary_index: Vec::new(),
            blocks: Vec::new(),
            next_place: 0,
            values: BlockWriter::default(),
            points: Vec::new(),
            points_index: None,
        };
        reorderer.advance();
        Ok(reorderer)
    }

    /// Bytes of memory that it takes at most, what it reads included.
    pub fn memory_needed(column: &ColumnMeta) -> u64 {
        let several = |block: &super::BlockMeta| block.num_values > u64::from(block.num_docs_with);
        let counted = column.blocks().iter().filter(|block| several(block)).map(|block| u64::from(block.num_docs_with));
        let largest = column.blocks().iter().map(|block| block.num_values * 16).max().unwrap_or(0);
        let may_have_points = matches!(column.kind(), ColumnKind::Number | ColumnKind::Integer | ColumnKind::Date);
        let points = if may_have_points { column.num_values() * size_of::<Point>() as u64 } else { 0 };
        points + column.data_len() + counted.sum::<u64>() * 4 + largest + WINDOW_BYTES.min(column.data_len())
    }

    fn num_blocks(&self) -> u32 {
        match (self.phase, self.column.dictionary()) {
            (Phase::Dictionary, Some(dictionary)) => dictionary.num_blocks(),
            (Phase::Values, _) => self.column.blocks().len() as u32,
            _ => 0,
        }
    }

    fn range(&self, block: u32) -> Range<u64> {
        match (self.phase, self.column.dictionary()) {
            (Phase::Dictionary, Some(dictionary)) => dictionary.block_range(block),
            _ => self.column.block_range(block),
        }
    }

    /// Moves the window on, or the phase.
    fn advance(&mut self) {
        let start = self.window.end;
        let num_blocks = self.num_blocks();
        if start < num_blocks {
            let from = self.range(start).start;
            let mut end = start + 1;
            while end < num_blocks && self.range(end).end.saturating_sub(from) <= WINDOW_BYTES {
                end += 1;
            }
            self.window = start..end;
            return;
        }
        self.window = 0..0;
        self.phase = match self.phase {
            Phase::Dictionary => Phase::Values,
            Phase::Values => Phase::Write,
            Phase::Write | Phase::Done => return,
        };
        if self.num_blocks() > 0 {
            self.advance();
        } else if self.phase == Phase::Values {
            self.phase = Phase::Write;
        }
    }

    /// What to read next of the `column` stream. Empty where nothing is missing.
    pub fn wanted(&self) -> Range<u64> {
        if self.window.is_empty() || (self.phase == Phase::Dictionary && self.is_inline()) {
            return 0..0;
        }
        let ranges = self.window.clone().map(|block| self.range(block)).filter(|range| !range.is_empty());
        ranges.reduce(|all, range| all.start..range.end).unwrap_or(0..0)
    }

    fn is_inline(&self) -> bool {
        self.column.dictionary().is_some_and(|dictionary| dictionary.is_inline())
    }

    /// Whether all was written: then [`Self::finish`].
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Takes the bytes of [`Self::wanted`] and appends finished bytes to `out`.
    ///
    /// # Errors
    /// If they are damaged or not those asked for.
    pub fn feed(&mut self, bytes: &Bytes, out: &mut Vec<u8>) -> Result<(), ColumnError> {
        let wanted = self.wanted();
        if bytes.len() as u64 != wanted.end - wanted.start {
            return Err(ColumnError::WrongFeed { expected: 1, found: 0 });
        }
        match self.phase {
            Phase::Dictionary => {
                let column = Arc::clone(&self.column);
                for block in self.window.clone() {
                    let Some(dictionary) = column.dictionary() else { continue };
                    let range = dictionary.block_range(block);
                    let of_block = dictionary
                        .inline_block(block)
                        .or_else(|| {
                            bytes.get((range.start - wanted.start) as usize..(range.end - wanted.start) as usize)
                        })
                        .unwrap_or_default();
                    for term in dictionary.decode(block, of_block)?.terms() {
                        self.dictionary.push(term.as_bytes(), out)?;
                    }
                }
                self.advance();
            }
            Phase::Values => {
                for block in self.window.clone() {
                    let range = self.column.block_range(block);
                    let of_block = match range.is_empty() {
                        true => Bytes::new(),
                        false => {
                            bytes.slice((range.start - wanted.start) as usize..(range.end - wanted.start) as usize)
                        }
                    };
                    self.blocks.push(self.column.open_block(block, of_block)?);
                }
                self.advance();
            }
            Phase::Write => {
                if self.next_place == 0 && self.column.dictionary().is_some() {
                    self.dictionary_index = std::mem::take(&mut self.dictionary).finish(out);
                }
                self.write_block(out)?;
            }
            Phase::Done => {}
        }
        Ok(())
    }

    fn write_block(&mut self, out: &mut Vec<u8>) -> Result<(), ColumnError> {
        let end = self.next_place.saturating_add(BLOCK_DOCS).min(self.order.num_docs());
        let mut values = Vec::new();
        for place in self.next_place..end {
            let doc = self.order.old_docs()[place as usize];
            let block = self.column.block_of(doc);
            values.clear();
            values.extend(self.blocks[block as usize].values(doc));
            // What a damaged block says is not passed on.
            let (meta, bad) = (&self.column.blocks()[block as usize], "a value is out of the block's bounds");
            let is_sound = values.iter().all(|value| (meta.min..=meta.max).contains(value)) && values.is_sorted();
            if !is_sound {
                return Err(ColumnError::BadBlock { block, what: bad });
            }
            if !values.is_empty() {
                self.values.push(place, &values, out);
                if self.column.dictionary().is_none() {
                    self.points.extend(values.iter().map(|&value| (value, place)));
                }
            }
        }
        self.next_place = end;
        if end == self.order.num_docs() {
            self.phase = Phase::Done;
            self.values.close(end, out);
            if has_points(self.column.kind(), self.values.blocks()) {
                self.points.sort_unstable();
                let mut writer = PointsWriter::new(end);
                self.points.drain(..).for_each(|point| writer.push(point, out));
                self.points_index = Some(writer.finish(out));
            }
        }
        Ok(())
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.blocks.iter().map(PackedBlock::memory_bytes).sum::<usize>()
            + self.points.capacity() * size_of::<Point>()
            + self.values.memory_bytes()
            + self.dictionary.memory_bytes()
    }

    /// Ends the column and returns the new `column_meta`.
    ///
    /// # Errors
    /// If it is not done.
    pub fn finish(self) -> Result<Vec<u8>, ColumnError> {
        if !self.is_done() {
            return Err(ColumnError::WrongFeed { expected: 1, found: 0 });
        }
        let (num_docs, points) = (self.order.num_docs(), self.points_index.as_deref());
        Ok(write_meta(self.column.kind(), num_docs, self.values.blocks(), &self.dictionary_index, points))
    }
}
