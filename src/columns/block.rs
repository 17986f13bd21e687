//! One block of a column: the values of up to [`super::BLOCK_DOCS`] documents.
//!
//! ```text
//! offset  size  field
//!      0     1  flags        1: some documents have no value, 2: some have several
//!      1     1  width        bits per value
//!      2     1  shift        values are (value - least of the block) >> shift
//!      3     1  count_width  bits per count, with flag 2
//!      4     -  presence     with flag 1: one bit per document, lowest first
//!               counts       with flag 2: values - 1 of each document that has some, packed
//!               values       packed, documents in order, each document's ascending and distinct
//! ```
//!
//! A block whose documents have no values is empty. The least value is in the metadata.

#![forbid(unsafe_code)]

use super::{BLOCK_DOCS, BlockMeta, ColumnError, packed::BlockLayout};
use crate::codec::pack::{pack, unpack, width_of};

pub(super) const HAS_MISSING: u8 = 1;
pub(super) const HAS_SEVERAL: u8 = 2;
pub(super) const HEADER_BYTES: usize = 4;

/// Values of one block under way.
#[derive(Debug, Clone, Default)]
pub(super) struct PendingBlock {
    /// Position in the block and number of values, documents with values only.
    docs: Vec<(u16, u32)>,
    values: Vec<u64>,
}

impl PendingBlock {
    pub fn push(&mut self, position: u32, values: &[u64]) {
        debug_assert!(position < BLOCK_DOCS && values.is_sorted());
        self.docs.push((position as u16, values.len() as u32));
        self.values.extend_from_slice(values);
    }

    pub fn memory_bytes(&self) -> usize {
        self.docs.capacity() * size_of::<(u16, u32)>() + self.values.capacity() * 8
    }

    /// Appends the block of `num_docs` documents, empties `self`, and says what the metadata must know.
    pub fn write(&mut self, num_docs: u32, out: &mut Vec<u8>) -> BlockMeta {
        let start = out.len();
        let min = self.values.iter().copied().min().unwrap_or(u64::MAX);
        let max = self.values.iter().copied().max().unwrap_or(0);
        if !self.values.is_empty() {
            let shift = self.values.iter().map(|value| (value - min).trailing_zeros()).min().unwrap_or(0).min(63) as u8;
            let width = width_of((max - min) >> shift);
            let most = self.docs.iter().map(|&(_, count)| count).max().unwrap_or(1);
            let has_missing = self.docs.len() < num_docs as usize;
            let count_width = width_of(u64::from(most - 1));
            let flags = if has_missing { HAS_MISSING } else { 0 } | if most > 1 { HAS_SEVERAL } else { 0 };
            out.extend_from_slice(&[flags, width, shift, count_width]);
            if has_missing {
                let presence = out.len();
                out.resize(presence + (num_docs as usize).div_ceil(8), 0);
                self.docs.iter().for_each(|&(doc, _)| out[presence + usize::from(doc) / 8] |= 1 << (doc % 8));
            }
            if most > 1 {
                pack(self.docs.iter().map(|&(_, count)| u64::from(count - 1)), count_width, out);
            }
            pack(self.values.iter().map(|value| (value - min) >> shift), width, out);
        }
        let num_docs_with = self.docs.len() as u32;
        let num_values = self.values.len() as u64;
        self.docs.clear();
        self.values.clear();
        BlockMeta { len: (out.len() - start) as u64, num_docs_with, num_values, min, max }
    }
}

/// A decoded block.
#[derive(Debug, Clone)]
pub struct DecodedBlock {
    first_doc: u32,
    num_docs: u32,
    values: Vec<u64>,
    /// Start of each document's values, then their count; `None` if each document has exactly one.
    starts: Option<Vec<u32>>,
}

impl DecodedBlock {
    pub(super) fn parse(
        block: u32,
        first_doc: u32,
        num_docs: u32,
        meta: &BlockMeta,
        bytes: &[u8],
    ) -> Result<Self, ColumnError> {
        let bad = |what| ColumnError::BadBlock { block, what };
        let layout = BlockLayout::parse(block, num_docs, meta, bytes)?;
        let num_values = usize::try_from(meta.num_values).map_err(|_| bad("too many values"))?;
        let packed = bytes.get(layout.values_at..).unwrap_or_default();
        let mut values = unpack(packed, layout.width, num_values).ok_or_else(|| bad("values are cut short"))?;
        for value in &mut values {
            let shifted = (*value << layout.shift) >> layout.shift == *value;
            *value = (*value << layout.shift).wrapping_add(meta.min);
            if !shifted || *value < meta.min || *value > meta.max {
                return Err(bad("a value is out of the block's bounds"));
            }
        }
        let is_plain = layout.presence_at.is_none() && layout.starts.is_none();
        let starts = (!is_plain).then(|| {
            let mut starts: Vec<u32> =
                (0..num_docs).map(|doc| layout.places(bytes, doc).map_or(u32::MAX, |places| places.start)).collect();
            starts.push(num_values as u32);
            // A document without values starts where the next one does.
            let mut next = num_values as u32;
            for start in starts.iter_mut().rev() {
                if *start == u32::MAX { *start = next } else { next = *start }
            }
            starts
        });
        Ok(Self { first_doc, num_docs, values, starts })
    }

    /// First document.
    pub fn first_doc(&self) -> u32 {
        self.first_doc
    }

    /// Documents, with and without values.
    pub fn num_docs(&self) -> u32 {
        self.num_docs
    }

    /// Values of a document, ascending and distinct; empty if it has none or is not in the block.
    #[inline]
    pub fn values_of(&self, doc: u32) -> &[u64] {
        let position = doc.wrapping_sub(self.first_doc) as usize;
        if position >= self.num_docs as usize {
            return &[];
        }
        match &self.starts {
            None => &self.values[position..position + 1],
            Some(starts) => &self.values[starts[position] as usize..starts[position + 1] as usize],
        }
    }

    /// Every document that has values, with them, in order.
    pub fn for_each(&self, mut visit: impl FnMut(u32, &[u64])) {
        for doc in self.first_doc..self.first_doc + self.num_docs {
            let values = self.values_of(doc);
            if !values.is_empty() {
                visit(doc, values);
            }
        }
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.values.capacity() * 8 + self.starts.as_ref().map_or(0, |starts| starts.capacity() * 4)
    }
}
