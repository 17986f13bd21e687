//! The index over the blocks of a dictionary: which range of `terms` a lookup needs.
//!
//! ```text
//! u16    version
//! u8     options            bit 0 frequencies, bit 1 positions
//! vlong  doc_count, sum_total_term_freq, sum_doc_freq, num_terms
//! vlong  bytes of the terms stream, bytes of the postings stream
//! bytes  last term          length in front
//! vint   num_blocks
//!        per block: vint bytes shared with the previous key, rest of the key (length in front), vlong block length
//! u32    CRC32C of all of it
//! ```
//! A block's key is the shortest one above the last term of the block before (the first block's is its first term).

use std::ops::Range;

use crate::{
    codec::{DecodeError, PostingsCodec, Reader, checksum},
    error::Result,
    terms::{FieldOptions, FieldTotals, TermMatcher},
};

pub(super) const TERM_INDEX_VERSION: u16 = 1;

/// The parsed `term_index` stream.
#[derive(Debug, Clone)]
pub struct TermIndex {
    options: FieldOptions,
    totals: FieldTotals,
    postings_len: u64,
    last_term: Vec<u8>,
    /// Keys of all blocks, one after another, and where each ends.
    keys: Vec<u8>,
    key_ends: Vec<u32>,
    /// The first bytes of each key: most steps of a lookup need no more.
    heads: Vec<u64>,
    /// Where each block starts in `terms`, and the end of the last one.
    offsets: Vec<u64>,
}

impl TermIndex {
    /// Reads and checks the stream.
    ///
    /// # Errors
    /// `corrupt` if the bytes are damaged, `unsupported_format` if they are of a newer version.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(checksum::open(bytes)?);
        let version = reader.u16()?;
        if version != TERM_INDEX_VERSION {
            let error = DecodeError::Version { what: "term index", found: version, supported: TERM_INDEX_VERSION };
            return Err(error.into());
        }
        Ok(Self::parse_body(&mut reader)?)
    }

    fn parse_body(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let options = reader.u8()?;
        let options = FieldOptions::from_byte(options).ok_or_else(|| reader.invalid("unknown field options"))?;
        let totals = FieldTotals {
            doc_count: reader.vlong()?,
            sum_total_term_freq: reader.vlong()?,
            sum_doc_freq: reader.vlong()?,
            num_terms: reader.vlong()?,
        };
        let (terms_len, postings_len) = (reader.vlong()?, reader.vlong()?);
        let last_term = reader.prefixed()?.to_vec();
        let num_blocks = reader.vint()? as usize;
        // An entry takes at least three bytes: a wrong count cannot make a large allocation.
        if num_blocks > reader.remaining() / 3 {
            return Err(reader.invalid("more blocks than bytes for them"));
        }
        let mut keys: Vec<u8> = Vec::new();
        let mut key_ends = Vec::with_capacity(num_blocks);
        let mut heads = Vec::with_capacity(num_blocks);
        let mut offsets = Vec::with_capacity(num_blocks + 1);
        let (mut previous, mut offset) = (0..0, 0u64);
        for _ in 0..num_blocks {
            let shared = reader.vint()? as usize;
            if shared > previous.len() {
                return Err(reader.invalid("key shares more than the previous one has"));
            }
            let suffix = reader.prefixed()?;
            let start = keys.len();
            if start + shared + suffix.len() > u32::MAX as usize {
                return Err(reader.invalid("block keys pass 4 GiB"));
            }
            keys.extend_from_within(previous.start..previous.start + shared);
            keys.extend_from_slice(suffix);
            if !key_ends.is_empty() && keys[start..] <= keys[previous.clone()] {
                return Err(reader.invalid("block keys out of order"));
            }
            previous = start..keys.len();
            heads.push(head(&keys[start..]));
            key_ends.push(keys.len() as u32);
            offsets.push(offset);
            offset = offset.checked_add(reader.vlong()?).ok_or_else(|| reader.invalid("terms pass 2^64 bytes"))?;
        }
        offsets.push(offset);
        if offset != terms_len || !reader.is_empty() {
            return Err(reader.invalid("block lengths do not add up"));
        }
        Ok(Self { options, totals, postings_len, last_term, keys, key_ends, heads, offsets })
    }

    /// What the postings keep.
    pub fn options(&self) -> FieldOptions {
        self.options
    }

    /// The same with the codec of its postings, which the segment's table of contents knows.
    #[must_use]
    pub fn with_codec(mut self, codec: PostingsCodec) -> Self {
        self.options.codec = codec;
        self
    }

    /// Totals of the field in this segment.
    pub fn totals(&self) -> &FieldTotals {
        &self.totals
    }

    /// Bytes of the `terms` stream.
    pub fn terms_len(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Bytes of the `postings` stream.
    pub fn postings_len(&self) -> u64 {
        self.postings_len
    }

    /// Blocks in the dictionary.
    pub fn num_blocks(&self) -> usize {
        self.key_ends.len()
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        let places = self.key_ends.capacity() * 4 + (self.heads.capacity() + self.offsets.capacity()) * 8;
        self.keys.capacity() + places + self.last_term.capacity()
    }

    fn key(&self, block: usize) -> &[u8] {
        let start = block.checked_sub(1).map_or(0, |before| self.key_ends[before] as usize);
        &self.keys[start..self.key_ends[block] as usize]
    }

    /// Blocks whose key is at or below `term`.
    fn blocks_up_to(&self, term: &[u8]) -> usize {
        let head = head(term);
        let mut low = self.heads.partition_point(|&known| known < head);
        if self.heads.get(low) != Some(&head) {
            return low;
        }
        let mut high = low + self.heads[low..].partition_point(|&known| known == head);
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) <= term { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Range of a block in `terms`.
    pub fn block_range(&self, block: usize) -> Option<Range<u64>> {
        Some(*self.offsets.get(block)?..*self.offsets.get(block + 1)?)
    }

    /// Range of the block that holds `term` if the dictionary has it; `None` is a certain miss.
    pub fn locate(&self, term: &[u8]) -> Option<Range<u64>> {
        if term > self.last_term.as_slice() {
            return None;
        }
        self.block_range(self.blocks_up_to(term).checked_sub(1)?)
    }

    /// Ranges of the blocks that can hold terms `matcher` accepts, ascending; those at most `gap` bytes apart are one.
    /// Once they add up to `max_bytes`, the rest is left out. Costs no reading: block keys are in memory.
    pub fn locate_pattern(&self, matcher: &mut TermMatcher, gap: u64, max_bytes: u64) -> LocatedBlocks {
        let mut located = LocatedBlocks::default();
        let (mut block, mut total) = (0, 0);
        // What comes next is at or above the key of `block`.
        while block < self.num_blocks() {
            let Some(term) = matcher.seek(self.key(block)) else { break };
            if term > self.last_term {
                break;
            }
            block = self.blocks_up_to(&term).saturating_sub(1).max(block);
            let Some(range) = self.block_range(block) else { break };
            if total >= max_bytes {
                located.is_cut = true;
                break;
            }
            match located.ranges.last_mut() {
                Some(last) if range.start - last.end <= gap => {
                    total += range.end - last.end;
                    last.end = range.end;
                }
                _ => {
                    total += range.end - range.start;
                    located.ranges.push(range);
                }
            }
            block += 1;
        }
        located
    }
}

/// Blocks of a dictionary that a pattern needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocatedBlocks {
    /// Ranges of `terms`, each of whole blocks, ascending.
    pub ranges: Vec<Range<u64>>,
    /// Whether there are more than was asked for.
    pub is_cut: bool,
}

/// The first eight bytes as a number, in the order of the bytes: zeros follow what is shorter.
#[inline]
fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

/// Bytes that both start with.
#[inline]
pub(super) fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}
