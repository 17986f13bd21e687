//! What is kept of a column while its segment is open: where blocks are and what they can contain.
//!
//! ```text
//! version u8 (1; 2 with points), kind u8, num_docs varint, per block of 4096 documents:
//!     stored bytes varint, documents with values varint, values varint, least u64, greatest u64
//! keyword columns: the dictionary's index (see dictionary)
//! version 2: the index of points (see points)
//! ```
//!
//! In the `column` stream the dictionary's blocks come first, unless they are in the index, then the value blocks, then
//! those of points.

#![forbid(unsafe_code)]

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;

use super::{
    BLOCK_DOCS, ColumnError, ColumnKind, DecodedBlock, DictionaryIndex, PackedBlock, PointsIndex, wire::Reader,
};
use crate::codec::Write;

/// First byte of the metadata of a column without points.
const VERSION: u8 = 1;
/// First byte of the metadata of a column with points.
const POINTS_VERSION: u8 = 2;
/// Counts of values are kept up to so many values: 64 KiB.
const MAX_KEPT_COUNTS: usize = 4096;
/// A block entry is at least this long, which bounds allocations.
const MIN_ENTRY_BYTES: usize = 19;

/// One block as the metadata knows it. Without values, `min` is above `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockMeta {
    /// Stored bytes.
    pub len: u64,
    /// Documents that have values.
    pub num_docs_with: u32,
    /// Values.
    pub num_values: u64,
    /// Least value.
    pub min: u64,
    /// Greatest value.
    pub max: u64,
}

/// Parsed and checked metadata of a column.
#[derive(Debug, Clone)]
pub struct ColumnMeta {
    kind: ColumnKind,
    num_docs: u32,
    blocks: Vec<BlockMeta>,
    /// Start of each block in the stream, then the end of the last.
    offsets: Vec<u64>,
    dictionary: Option<DictionaryIndex>,
    points: Option<PointsIndex>,
    /// Documents per value, once they were counted over all.
    all_counts: OnceLock<Arc<[(u64, u32)]>>,
}

/// Writes metadata. `dictionary` is the written index of a keyword column, `points` that of points.
pub(super) fn write_meta(
    kind: ColumnKind,
    num_docs: u32,
    blocks: &[BlockMeta],
    dictionary: &[u8],
    points: Option<&[u8]>,
) -> Vec<u8> {
    let mut out = vec![if points.is_some() { POINTS_VERSION } else { VERSION }, kind.number()];
    out.put_vlong(u64::from(num_docs));
    for block in blocks {
        out.put_vlong(block.len);
        out.put_vlong(u64::from(block.num_docs_with));
        out.put_vlong(block.num_values);
        out.extend_from_slice(&block.min.to_le_bytes());
        out.extend_from_slice(&block.max.to_le_bytes());
    }
    out.extend_from_slice(dictionary);
    out.extend_from_slice(points.unwrap_or_default());
    out
}

impl ColumnMeta {
    /// Reads whole metadata.
    ///
    /// # Errors
    /// If it is cut short, has numbers that cannot be, or a newer version.
    pub fn parse(bytes: &[u8]) -> Result<Self, ColumnError> {
        let mut reader = Reader::new(bytes);
        let with_points = match reader.u8() {
            Some(VERSION) => false,
            Some(POINTS_VERSION) => true,
            Some(found) => return Err(ColumnError::Version { found }),
            None => return Err(reader.bad("no bytes")),
        };
        let kind = reader.u8().and_then(ColumnKind::from_number).ok_or_else(|| reader.bad("unknown kind"))?;
        let num_docs = reader.varint_u32().ok_or_else(|| reader.bad("no document count"))?;
        let num_blocks = num_docs.div_ceil(BLOCK_DOCS) as usize;
        if num_blocks > reader.left() / MIN_ENTRY_BYTES {
            return Err(reader.bad("too few bytes for its blocks"));
        }
        let mut blocks = Vec::with_capacity(num_blocks);
        for ix in 0..num_blocks {
            let block = read_block(&mut reader).ok_or_else(|| reader.bad("a block is cut short"))?;
            let docs = (num_docs - ix as u32 * BLOCK_DOCS).min(BLOCK_DOCS);
            let is_empty = block.num_docs_with == 0;
            let fits = block.num_docs_with <= docs
                && block.num_values >= u64::from(block.num_docs_with)
                && block.num_values <= u64::from(u32::MAX)
                && (is_empty == (block.num_values == 0))
                && (is_empty == (block.len == 0))
                && (is_empty || block.min <= block.max);
            if !fits {
                return Err(reader.bad("a block's counts or bounds cannot be"));
            }
            blocks.push(block);
        }
        let dictionary = match kind {
            ColumnKind::Keyword => Some(DictionaryIndex::parse(&mut reader)?),
            _ => None,
        };
        let mut offset = dictionary.as_ref().map_or(0, DictionaryIndex::data_len);
        let mut offsets = Vec::with_capacity(num_blocks + 1);
        for block in &blocks {
            offsets.push(offset);
            offset = offset.checked_add(block.len).ok_or_else(|| reader.bad("blocks too long"))?;
        }
        offsets.push(offset);
        let points = if with_points {
            let num_values = blocks.iter().map(|block| block.num_values).sum();
            Some(PointsIndex::parse(&mut reader, num_values, num_docs, offset)?)
        } else {
            None
        };
        if reader.left() > 0 {
            return Err(reader.bad("bytes left over"));
        }
        let greatest = blocks.iter().filter(|block| block.num_values > 0).map(|block| block.max).max();
        let too_great = match (&dictionary, kind) {
            (Some(dictionary), _) => greatest.is_some_and(|max| max >= u64::from(dictionary.num_terms())),
            (None, ColumnKind::Bool) => greatest.is_some_and(|max| max > 1),
            _ => false,
        };
        if too_great {
            return Err(reader.bad("a value that the column cannot have"));
        }
        Ok(Self { kind, num_docs, blocks, offsets, dictionary, points, all_counts: OnceLock::new() })
    }

    /// What the column holds.
    pub fn kind(&self) -> ColumnKind {
        self.kind
    }

    /// Documents of the segment, with and without values.
    pub fn num_docs(&self) -> u32 {
        self.num_docs
    }

    /// Documents that have values.
    pub fn num_docs_with_values(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.num_docs_with)).sum()
    }

    /// Blocks, in document order.
    pub fn blocks(&self) -> &[BlockMeta] {
        &self.blocks
    }

    /// Bytes of the `column` stream.
    pub fn data_len(&self) -> u64 {
        let blocks = self.offsets.last().copied().unwrap_or(0);
        self.points.as_ref().map_or(blocks, PointsIndex::end)
    }

    /// Values.
    pub fn num_values(&self) -> u64 {
        self.blocks.iter().map(|block| block.num_values).sum()
    }

    /// The values in their own order, where they are kept so.
    pub fn points(&self) -> Option<&PointsIndex> {
        self.points.as_ref()
    }

    /// The dictionary of a keyword column.
    pub fn dictionary(&self) -> Option<&DictionaryIndex> {
        self.dictionary.as_ref()
    }

    /// The block that holds `doc`.
    pub fn block_of(&self, doc: u32) -> u32 {
        doc / BLOCK_DOCS
    }

    /// Where a block is in the `column` stream. Empty for one without values or that does not exist.
    pub fn block_range(&self, block: u32) -> Range<u64> {
        let ix = block as usize;
        match (self.offsets.get(ix), self.offsets.get(ix + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// Where all blocks are in the `column` stream: one behind the other.
    pub fn blocks_range(&self) -> Range<u64> {
        self.offsets.first().copied().unwrap_or(0)..self.offsets.last().copied().unwrap_or(0)
    }

    /// Documents of a block. Empty for one that does not exist.
    pub fn block_docs(&self, block: u32) -> Range<u32> {
        let start = block.saturating_mul(BLOCK_DOCS).min(self.num_docs);
        start..start.saturating_add(BLOCK_DOCS).min(self.num_docs)
    }

    /// Decodes the bytes of one block.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn decode(&self, block: u32, bytes: &[u8]) -> Result<DecodedBlock, ColumnError> {
        let meta = self.blocks.get(block as usize).ok_or(ColumnError::BadBlock { block, what: "does not exist" })?;
        let docs = self.block_docs(block);
        DecodedBlock::parse(block, docs.start, docs.end - docs.start, meta, bytes)
    }

    /// Opens the bytes of one block for single documents and conditions.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn open_block(&self, block: u32, bytes: Bytes) -> Result<PackedBlock, ColumnError> {
        let meta = self.blocks.get(block as usize).ok_or(ColumnError::BadBlock { block, what: "does not exist" })?;
        let docs = self.block_docs(block);
        PackedBlock::parse(block, docs.start, docs.end - docs.start, meta, bytes)
    }

    /// How many documents have each value, ascending by value, where that was kept: [`Self::keep_counts`].
    pub fn all_counts(&self) -> Option<&[(u64, u32)]> {
        self.all_counts.get().map(AsRef::as_ref)
    }

    /// Keeps how many documents have each value, deleted ones included, unless there are many values: a segment does not
    /// change, and facets over all of it are asked for again.
    pub fn keep_counts(&self, counts: &[(u64, u32)]) {
        if counts.len() <= MAX_KEPT_COUNTS {
            self.all_counts.get_or_init(|| counts.into());
        }
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.all_counts().map_or(0, size_of_val)
            + self.blocks.capacity() * size_of::<BlockMeta>()
            + self.offsets.capacity() * 8
            + self.dictionary.as_ref().map_or(0, DictionaryIndex::memory_bytes)
            + self.points.as_ref().map_or(0, PointsIndex::memory_bytes)
    }
}

fn read_block(reader: &mut Reader<'_>) -> Option<BlockMeta> {
    Some(BlockMeta {
        len: reader.varint()?,
        num_docs_with: reader.varint_u32()?,
        num_values: reader.varint()?,
        min: reader.u64()?,
        max: reader.u64()?,
    })
}
