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

use super::{
    BLOCK_DOCS, BlockMeta, ColumnError,
    pack::{pack, packed_len, unpack, width_of},
};

const HAS_MISSING: u8 = 1;
const HAS_SEVERAL: u8 = 2;
const HEADER_BYTES: usize = 4;

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
        if bytes.len() as u64 != meta.len {
            return Err(bad("another length than the metadata says"));
        }
        if meta.num_docs_with == 0 {
            return Ok(Self { first_doc, num_docs, values: Vec::new(), starts: Some(vec![0; num_docs as usize + 1]) });
        }
        let Some((&[flags, width, shift, count_width], mut rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(bad("shorter than its header"));
        };
        if flags & !(HAS_MISSING | HAS_SEVERAL) != 0 || width > 64 || shift > 63 || count_width > 32 {
            return Err(bad("header cannot be"));
        }
        let num_values = usize::try_from(meta.num_values).map_err(|_| bad("too many values"))?;
        let mut presence = None;
        if flags & HAS_MISSING != 0 {
            let (bits, after) =
                rest.split_at_checked((num_docs as usize).div_ceil(8)).ok_or_else(|| bad("presence is cut short"))?;
            presence = Some(bits);
            rest = after;
        }
        let is_present = |doc: usize| presence.is_none_or(|bits| bits[doc / 8] >> (doc % 8) & 1 == 1);
        let num_present = (0..num_docs as usize).filter(|&doc| is_present(doc)).count();
        if num_present != meta.num_docs_with as usize {
            return Err(bad("presence differs from the metadata"));
        }
        let mut counts = None;
        if flags & HAS_SEVERAL != 0 {
            counts = Some(unpack(rest, count_width, num_present).ok_or_else(|| bad("counts are cut short"))?);
            rest = &rest[packed_len(num_present, count_width)..];
            // Distinct values: no more than the width can tell apart. Bounds what is allocated for them.
            let most = if width < 32 { (1u64 << width) - 1 } else { u64::from(u32::MAX) };
            if counts.iter().flatten().any(|&count| count > most) {
                return Err(bad("more values than its width can tell apart"));
            }
        }
        if rest.len() as u64 != (meta.num_values as u128 * u128::from(width)).div_ceil(8) as u64 {
            return Err(bad("values of another length"));
        }
        // A width of 0 needs no bytes, so the count must not be trusted before it is known to add up.
        let starts = if presence.is_none() && counts.is_none() {
            (num_present == num_values).then_some(None)
        } else {
            let mut starts = Vec::with_capacity(num_docs as usize + 1);
            let (mut at, mut nth) = (0u64, 0);
            for doc in 0..num_docs as usize {
                starts.push(at as u32);
                if is_present(doc) {
                    at += 1 + counts.as_ref().map_or(0, |counts| counts[nth]);
                    nth += 1;
                }
            }
            starts.push(at as u32);
            (at == meta.num_values && at <= u64::from(u32::MAX)).then_some(Some(starts))
        };
        let starts = starts.ok_or_else(|| bad("counts do not add up"))?;
        let mut values = unpack(rest, width, num_values).ok_or_else(|| bad("values are cut short"))?;
        for value in &mut values {
            let shifted = (*value << shift) >> shift == *value;
            *value = (*value << shift).wrapping_add(meta.min);
            if !shifted || *value < meta.min || *value > meta.max {
                return Err(bad("a value is out of the block's bounds"));
            }
        }
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
