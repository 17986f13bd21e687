//! The sorted distinct strings of a keyword column, in prefix-compressed blocks of [`BLOCK_TERMS`].
//!
//! ```text
//! block:  per term: shared bytes with the one before varint (0 for the first), further bytes varint, bytes
//! index:  num_terms varint, is_inline u8, per block: separator blob, stored bytes varint; then, inline, all blocks
//! ```
//!
//! A separator is the shortest prefix of a block's first term that is greater than the term before it. Blocks
//! of a small dictionary are in the index, so that looking a keyword up reads nothing.

#![forbid(unsafe_code)]

use std::ops::Range;

use super::{ColumnError, wire::Reader};
use crate::codec::Write;

/// Terms per block.
pub const BLOCK_TERMS: u32 = 32;
/// Dictionaries up to this many bytes are kept in the metadata.
pub const INLINE_BYTES: usize = 16 << 10;

/// Writes terms in ascending order.
#[derive(Debug, Default)]
pub(super) struct DictionaryWriter {
    /// Blocks not yet in the caller's hands: all of them while the dictionary is small.
    pending: Vec<u8>,
    is_inline: bool,
    index: Vec<u8>,
    num_terms: u32,
    block_start: usize,
    last: Vec<u8>,
}

impl DictionaryWriter {
    pub fn new() -> Self {
        Self { is_inline: true, ..Self::default() }
    }

    /// Adds the next term and returns its ordinal; once the dictionary is too long to be inline, finished
    /// blocks go to `out`.
    pub fn push(&mut self, term: &[u8], out: &mut Vec<u8>) -> Result<u32, ColumnError> {
        debug_assert!(self.num_terms == 0 || self.last.as_slice() < term);
        let ord = self.num_terms;
        self.num_terms = ord.checked_add(1).filter(|&count| count < u32::MAX).ok_or(ColumnError::TooManyKeywords)?;
        let common = self.last.iter().zip(term).take_while(|(a, b)| a == b).count();
        let is_first = ord.is_multiple_of(BLOCK_TERMS);
        if is_first {
            self.close_block();
            if self.pending.len() > INLINE_BYTES || !self.is_inline {
                self.is_inline = false;
                out.append(&mut self.pending);
            }
            self.block_start = self.pending.len();
            let separator = if ord == 0 { 0 } else { (common + 1).min(term.len()) };
            self.index.put_vlong(separator as u64);
            self.index.extend_from_slice(&term[..separator]);
        }
        let shared = if is_first { 0 } else { common };
        self.pending.put_vlong(shared as u64);
        self.pending.put_vlong((term.len() - shared) as u64);
        self.pending.extend_from_slice(&term[shared..]);
        self.last.clear();
        self.last.extend_from_slice(term);
        Ok(ord)
    }

    fn close_block(&mut self) {
        let len = self.pending.len() - self.block_start;
        if len > 0 {
            self.index.put_vlong(len as u64);
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.pending.capacity() + self.index.capacity()
    }

    /// Ends the last block and returns the index.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Vec<u8> {
        self.close_block();
        let mut index = Vec::with_capacity(self.index.len() + 6);
        index.put_vlong(u64::from(self.num_terms));
        let is_inline = self.is_inline && self.pending.len() <= INLINE_BYTES;
        index.push(u8::from(is_inline));
        index.extend_from_slice(&self.index);
        let blocks = if is_inline { &mut index } else { out };
        blocks.append(&mut self.pending);
        index
    }
}

/// Where each string of a dictionary is.
#[derive(Debug, Clone)]
pub struct DictionaryIndex {
    num_terms: u32,
    separators: Vec<Box<[u8]>>,
    /// Start of each block, then the end of the last.
    offsets: Vec<u64>,
    inline: Option<Box<[u8]>>,
}

/// The terms of one decoded block, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DictionaryBlock {
    first_ord: u32,
    terms: Vec<Box<str>>,
}

impl DictionaryIndex {
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, ColumnError> {
        let num_terms = reader.varint_u32().ok_or_else(|| reader.bad("no term count"))?;
        let is_inline = match reader.u8() {
            Some(flag @ 0..=1) => flag == 1,
            _ => return Err(reader.bad("no inline flag")),
        };
        let num_blocks = num_terms.div_ceil(BLOCK_TERMS) as usize;
        if num_blocks > reader.left() / 2 {
            return Err(reader.bad("too few bytes for the dictionary"));
        }
        let mut separators: Vec<Box<[u8]>> = Vec::with_capacity(num_blocks);
        let (mut offsets, mut offset) = (vec![0], 0u64);
        for _ in 0..num_blocks {
            let separator = reader.blob().ok_or_else(|| reader.bad("a separator is cut short"))?;
            let len = reader.varint().ok_or_else(|| reader.bad("a dictionary block has no length"))?;
            if separators.last().is_some_and(|last| **last >= *separator) {
                return Err(reader.bad("separators out of order"));
            }
            separators.push(separator.into());
            offset = offset.checked_add(len).ok_or_else(|| reader.bad("dictionary too long"))?;
            offsets.push(offset);
        }
        let inline = if is_inline {
            let len = usize::try_from(offset).ok().and_then(|len| reader.take(len));
            Some(len.ok_or_else(|| reader.bad("the inline dictionary is cut short"))?.into())
        } else {
            None
        };
        Ok(Self { num_terms, separators, offsets, inline })
    }

    /// Distinct strings.
    pub fn num_terms(&self) -> u32 {
        self.num_terms
    }

    /// Blocks.
    pub fn num_blocks(&self) -> u32 {
        self.separators.len() as u32
    }

    /// Bytes at the front of the `column` stream that are the dictionary: none if it is inline.
    pub fn data_len(&self) -> u64 {
        if self.inline.is_some() { 0 } else { self.total_len() }
    }

    /// Bytes of all blocks, wherever they are.
    pub fn total_len(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// The block that holds `value` if any does; `None` if it is less than every term.
    pub fn block_of_value(&self, value: &[u8]) -> Option<u32> {
        (self.separators.partition_point(|separator| separator.as_ref() <= value) as u32).checked_sub(1)
    }

    /// The block of an ordinal.
    pub fn block_of_ord(&self, ord: u32) -> u32 {
        ord / BLOCK_TERMS
    }

    /// Where a block is in the `column` stream; not for inline ones.
    pub fn block_range(&self, block: u32) -> Range<u64> {
        let ix = block as usize;
        match (self.offsets.get(ix), self.offsets.get(ix + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// The bytes of a block if they are in the metadata.
    pub fn inline_block(&self, block: u32) -> Option<&[u8]> {
        let range = self.block_range(block);
        self.inline.as_ref()?.get(range.start as usize..range.end as usize)
    }

    /// Whether blocks need no reading.
    pub fn is_inline(&self) -> bool {
        self.inline.is_some()
    }

    /// Decodes one block.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn decode(&self, block: u32, bytes: &[u8]) -> Result<DictionaryBlock, ColumnError> {
        let bad = |what| ColumnError::BadDictionary { block, what };
        let first_ord = block.saturating_mul(BLOCK_TERMS);
        let count = self.num_terms.saturating_sub(first_ord).min(BLOCK_TERMS);
        let mut reader = Reader::new(bytes);
        let mut terms: Vec<Box<str>> = Vec::with_capacity(count as usize);
        let mut term: Vec<u8> = Vec::new();
        for nth in 0..count {
            let (Some(shared), Some(suffix)) = (reader.varint(), reader.blob()) else {
                return Err(bad("a term is cut short"));
            };
            let shared = usize::try_from(shared).ok().filter(|&shared| shared <= term.len());
            term.truncate(shared.ok_or_else(|| bad("a shared prefix is too long"))?);
            term.extend_from_slice(suffix);
            let text = std::str::from_utf8(&term).map_err(|_| bad("a term is not UTF-8"))?;
            if nth > 0 && terms.last().is_some_and(|last| last.as_ref() >= text) {
                return Err(bad("terms out of order"));
            }
            terms.push(text.into());
        }
        if reader.left() > 0 {
            return Err(bad("bytes left over"));
        }
        Ok(DictionaryBlock { first_ord, terms })
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        let separators: usize = self.separators.iter().map(|separator| separator.len() + 16).sum();
        separators + self.offsets.capacity() * 8 + self.inline.as_ref().map_or(0, |inline| inline.len())
    }
}

impl DictionaryBlock {
    /// Ordinal of the first term.
    pub fn first_ord(&self) -> u32 {
        self.first_ord
    }

    /// The terms.
    pub fn terms(&self) -> &[Box<str>] {
        &self.terms
    }

    /// The term of an ordinal.
    pub fn term(&self, ord: u32) -> Option<&str> {
        self.terms.get(ord.checked_sub(self.first_ord)? as usize).map(AsRef::as_ref)
    }

    /// The ordinal of `value`: `Ok` if it is there, else `Err` with the ordinal of the next greater term.
    pub fn find(&self, value: &str) -> Result<u32, u32> {
        match self.terms.binary_search_by(|term| term.as_ref().cmp(value)) {
            Ok(ix) => Ok(self.first_ord + ix as u32),
            Err(ix) => Err(self.first_ord + ix as u32),
        }
    }
}
