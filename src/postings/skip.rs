//! Reads skip data: which block could hold a document, and where its parts are. The layout is in
//! [`super::writer`].

use std::ops::Range;

use crate::{
    codec::{DecodeError, Reader, bitpack::BLOCK_LEN},
    postings::{
        position_stream::BLOCK_BYTES,
        writer::{BEFORE_FIRST, GROUP_BLOCKS, group_len},
    },
    terms::{FieldOptions, TermInfo},
};

/// What is known of a block without decoding it.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    /// Last document before it; [`BEFORE_FIRST`] if there is none.
    pub base: u32,
    /// Its last document; `u32::MAX` for a tail.
    pub last_doc: u32,
    /// Where its documents are, from the end of the skip data.
    pub docs: Range<usize>,
    /// Where its positions start: a byte, and how many of the block there come before.
    pub positions_at: u64,
    pub positions_ix: u8,
    /// Where its impacts are, in the skip data.
    pub impacts: Range<usize>,
    /// Where the next block's positions start.
    next_positions_at: u64,
    next_positions_ix: u8,
}

impl Entry {
    /// Behind the last byte that holds positions of the block; may pass the end of the term's positions.
    pub fn positions_end(&self) -> u64 {
        // A block that the next one shares is needed whole.
        let shared = if self.next_positions_ix > 0 { BLOCK_BYTES } else { 0 };
        self.next_positions_at.saturating_add(shared)
    }
}

/// A view that moves forward over the blocks of a term.
#[derive(Debug, Clone, Default)]
pub(super) struct Skips {
    options: FieldOptions,
    num_full: u32,
    num_blocks: u32,
    block: u32,
    entry: Entry,
    term_impacts: Range<usize>,
    positions_tail: Option<u64>,
    groups_at: usize,
    entries_at: usize,
    skip_len: usize,
    docs_len: usize,
    /// Where the next entry is read.
    reader_at: usize,
    group_last: u32,
    /// Where the impacts of the group are.
    group_impacts: Range<usize>,
}

impl Skips {
    /// Of a term of one document.
    pub fn singleton(doc: u32) -> Self {
        Self {
            num_blocks: 1,
            entry: Entry { base: BEFORE_FIRST, last_doc: doc, ..Entry::default() },
            ..Self::default()
        }
    }

    /// Of a term without documents.
    pub fn ended() -> Self {
        Self { num_blocks: 1, entry: Entry { last_doc: u32::MAX, ..Entry::default() }, ..Self::default() }
    }

    /// On the first block, given all skip data.
    pub fn open(options: FieldOptions, info: &TermInfo, bytes: &[u8]) -> Result<Self, DecodeError> {
        let num_full = info.doc_freq / BLOCK_LEN as u32;
        let has_tail = !info.doc_freq.is_multiple_of(BLOCK_LEN as u32);
        let needed = info.skip_len as usize;
        if bytes.len() < needed {
            return Err(DecodeError::Truncated { offset: 0, needed, have: bytes.len() });
        }
        let mut skips = Self {
            options,
            num_full,
            num_blocks: num_full + u32::from(has_tail),
            skip_len: needed,
            docs_len: info.docs_len as usize,
            ..Self::default()
        };
        let mut reader = Reader::new(&bytes[..needed]);
        if num_full > 0 {
            if options.freqs {
                let len = reader.prefixed()?.len();
                skips.term_impacts = reader.offset() - len..reader.offset();
            }
            if options.positions {
                skips.positions_tail = Some(reader.vlong()?);
            }
            skips.groups_at = reader.offset();
            let groups = (num_full as usize).div_ceil(GROUP_BLOCKS);
            reader.skip(groups * group_len(options.positions))?;
            skips.entries_at = reader.offset();
        }
        skips.entry.base = BEFORE_FIRST;
        skips.entry.last_doc = BEFORE_FIRST;
        skips.enter_group(0, bytes)?;
        Ok(skips)
    }

    /// Where the vints of the positions start, for a term that has skip data.
    pub fn positions_tail(&self) -> Option<u64> {
        self.positions_tail
    }

    #[inline]
    pub fn block(&self) -> u32 {
        self.block
    }

    #[inline]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    pub fn num_full(&self) -> u32 {
        self.num_full
    }

    pub fn last_block(&self) -> u32 {
        self.num_blocks.max(1) - 1
    }

    pub fn term_impacts(&self) -> Range<usize> {
        self.term_impacts.clone()
    }

    /// Number and last document of the group that the block is in; `None` for a tail.
    #[inline]
    pub fn group(&self) -> Option<(u32, u32)> {
        (self.block < self.num_full).then_some((self.block / GROUP_BLOCKS as u32, self.group_last))
    }

    /// Where the impacts of the group are, in the skip data.
    pub fn group_impacts(&self) -> Range<usize> {
        self.group_impacts.clone()
    }

    /// Whether the block is in the last group, no tail follows, and `target` is behind it.
    pub fn is_behind(&self, target: u32) -> bool {
        let is_last = self.block / GROUP_BLOCKS as u32 + 1 >= self.num_groups();
        self.num_blocks == self.num_full && is_last && target > self.group_last
    }

    fn num_groups(&self) -> u32 {
        self.num_full.div_ceil(GROUP_BLOCKS as u32)
    }

    fn group_reader<'a>(&self, group: u32, bytes: &'a [u8]) -> Reader<'a> {
        Reader::at(&bytes[..self.entries_at], self.groups_at + group as usize * group_len(self.options.positions))
    }

    /// Stands on the first block of `group`, or on the tail if that is behind the last group.
    fn enter_group(&mut self, group: u32, bytes: &[u8]) -> Result<(), DecodeError> {
        if let Some(before) = group.checked_sub(1) {
            let mut reader = self.group_reader(before, bytes);
            self.entry.last_doc = reader.u32()?;
            self.reader_at = self.entries_at.saturating_add(reader.u32()? as usize);
            self.entry.docs.end = reader.u32()? as usize;
            if self.options.positions {
                self.entry.next_positions_at = reader.u64()?;
                self.entry.next_positions_ix = reader.u8()?;
            }
        } else {
            self.reader_at = self.entries_at;
            self.entry.docs.end = 0;
        }
        self.block = group * GROUP_BLOCKS as u32;
        if group < self.num_groups() {
            self.group_last = self.group_reader(group, bytes).u32()?;
            if self.options.freqs {
                let mut reader = Reader::at(&bytes[..self.skip_len], self.reader_at);
                let len = reader.prefixed()?.len();
                self.group_impacts = reader.offset() - len..reader.offset();
                self.reader_at = reader.offset();
            }
        }
        // The last group may have fewer blocks: behind it comes the tail.
        self.block = self.block.min(self.num_full);
        self.read_entry(bytes)
    }

    /// Reads the entry of `self.block`, given that `self.entry` is that of the block before.
    fn read_entry(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let entry = &mut self.entry;
        entry.base = entry.last_doc;
        entry.positions_at = entry.next_positions_at;
        entry.positions_ix = entry.next_positions_ix;
        let start = entry.docs.end;
        if self.block >= self.num_full {
            entry.last_doc = u32::MAX;
            entry.docs = start.min(self.docs_len)..self.docs_len;
            entry.impacts = self.term_impacts.clone();
            return Ok(());
        }
        let mut reader = Reader::at(&bytes[..self.skip_len], self.reader_at);
        entry.last_doc = entry.base.wrapping_add(reader.vint15()?);
        let len = reader.vint15()? as usize;
        entry.docs = start..start.saturating_add(len);
        if entry.docs.end > self.docs_len || (entry.base != BEFORE_FIRST && entry.last_doc <= entry.base) {
            return Err(reader.invalid("skip entry out of range"));
        }
        if self.options.positions {
            let delta = reader.vlong15()?;
            entry.next_positions_at = entry.positions_at.saturating_add(delta);
            entry.next_positions_ix = reader.u8()?;
        }
        if self.options.freqs {
            let len = reader.prefixed()?.len();
            entry.impacts = reader.offset() - len..reader.offset();
        }
        self.reader_at = reader.offset();
        Ok(())
    }

    /// Goes to the next block; stays on the last one.
    pub fn next(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        if self.block >= self.last_block() {
            return Ok(());
        }
        let next = self.block + 1;
        if next.is_multiple_of(GROUP_BLOCKS as u32) || next == self.num_full {
            return self.enter_group(next.div_ceil(GROUP_BLOCKS as u32), bytes);
        }
        self.block = next;
        self.read_entry(bytes)
    }

    /// Goes to the first block whose last document is at or above `target`; to the last block if there is none.
    pub fn seek(&mut self, target: u32, bytes: &[u8]) -> Result<(), DecodeError> {
        if self.entry.last_doc >= target {
            return Ok(());
        }
        if self.block < self.num_full && self.group_last < target {
            let mut group = self.block / GROUP_BLOCKS as u32 + 1;
            while group < self.num_groups() && self.group_reader(group, bytes).u32()? < target {
                group += 1;
            }
            // Behind the last group comes the tail, if there is one; else the last block stays.
            if group < self.num_groups() || self.num_blocks > self.num_full {
                self.enter_group(group, bytes)?;
            } else {
                while self.block < self.last_block() {
                    self.next(bytes)?;
                }
            }
        }
        while self.entry.last_doc < target && self.block < self.last_block() {
            self.next(bytes)?;
        }
        Ok(())
    }
}
