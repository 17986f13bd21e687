//! The values of a column in order, each with its document: what a range that few documents are in needs to read.
//!
//! ```text
//! a block of 1024 points, the last one fewer, ascending by value and document:
//!   value_width u8, shift u8, doc_width u8
//!   values       packed, (value - first of the block) >> shift
//!   documents    packed
//! in the metadata: points varint, per block: stored bytes varint, first value - the one before varint;
//!                  last value - first one of the last block varint
//! ```
//!
//! They are written where the bounds of value blocks tell little: where a value lies between the bounds of more than
//! [`LOOSE_BLOCKS`] blocks on average. Values that rise with their documents, as dates often do, need none.
//! The one-dimensional case of Lucene's points (a block k-d tree).

#![forbid(unsafe_code)]

use std::ops::Range;

use super::{BlockMeta, ColumnError, ColumnKind, ValueRanges, wire::Reader};
use crate::codec::{
    Write,
    pack::{pack, packed_len, unpack, width_of},
};

/// Points in a block: 2 to 4 KiB, about what a remote read should be.
pub const POINTS_PER_BLOCK: u32 = 1024;
/// Blocks whose bounds may hold a value before points are worth their bytes.
const LOOSE_BLOCKS: f64 = 3.0;
const HEADER_BYTES: usize = 3;

/// A value and a document that has it.
pub(super) type Point = (u64, u32);

/// Whether a column of these blocks has points: the same wherever it is written.
pub(super) fn has_points(kind: ColumnKind, blocks: &[BlockMeta]) -> bool {
    if !matches!(kind, ColumnKind::Number | ColumnKind::Integer | ColumnKind::Date) {
        return false;
    }
    let with_values = || blocks.iter().filter(|block| block.num_values > 0);
    let (min, max) = (with_values().map(|block| block.min).min(), with_values().map(|block| block.max).max());
    let (Some(min), Some(max)) = (min, max) else { return false };
    let extents: f64 = with_values().map(|block| (block.max - block.min) as f64).sum();
    extents > LOOSE_BLOCKS * (max - min) as f64
}

/// Writes points in ascending order.
#[derive(Debug)]
pub(super) struct PointsWriter {
    doc_width: u8,
    pending: Vec<Point>,
    num_points: u64,
    /// Entries of finished blocks.
    entries: Vec<u8>,
    first: u64,
    last: u64,
}

impl PointsWriter {
    /// For a segment of `num_docs` documents.
    pub fn new(num_docs: u32) -> Self {
        let doc_width = width_of(u64::from(num_docs.saturating_sub(1)));
        let pending = Vec::with_capacity(POINTS_PER_BLOCK as usize);
        Self { doc_width, pending, num_points: 0, entries: Vec::new(), first: 0, last: 0 }
    }

    /// Adds the next point; appends a block to `out` whenever one is full.
    pub fn push(&mut self, (value, doc): Point, out: &mut Vec<u8>) {
        debug_assert!(self.pending.last().is_none_or(|last| *last < (value, doc)) && value >= self.last);
        self.pending.push((value, doc));
        self.last = value;
        self.num_points += 1;
        if self.pending.len() == POINTS_PER_BLOCK as usize {
            self.flush(out);
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        let Some(&(first, _)) = self.pending.first() else { return };
        let gaps = || self.pending.iter().map(|&(value, _)| value - first);
        let shift = gaps().map(u64::trailing_zeros).min().unwrap_or(0).min(63) as u8;
        let width = width_of((self.last - first) >> shift);
        let before = out.len();
        out.extend_from_slice(&[width, shift, self.doc_width]);
        pack(gaps().map(|gap| gap >> shift), width, out);
        pack(self.pending.iter().map(|&(_, doc)| u64::from(doc)), self.doc_width, out);
        self.entries.put_vlong((out.len() - before) as u64);
        self.entries.put_vlong(first - self.first);
        self.first = first;
        self.pending.clear();
    }

    pub fn memory_bytes(&self) -> usize {
        self.pending.capacity() * size_of::<Point>() + self.entries.capacity()
    }

    /// Ends the last block and returns the index.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Vec<u8> {
        self.flush(out);
        let mut index = Vec::with_capacity(self.entries.len() + 12);
        index.put_vlong(self.num_points);
        index.append(&mut self.entries);
        index.put_vlong(self.last - self.first);
        index
    }
}

/// Where the points of a column are.
#[derive(Debug, Clone, Default)]
pub struct PointsIndex {
    num_points: u64,
    /// First value of each block.
    firsts: Vec<u64>,
    last: u64,
    /// Start of each block in the stream, then the end of the last.
    offsets: Vec<u64>,
    num_docs: u32,
}

impl PointsIndex {
    /// Reads the index; the blocks begin at `offset` in the stream.
    pub(super) fn parse(
        reader: &mut Reader<'_>,
        num_values: u64,
        num_docs: u32,
        mut offset: u64,
    ) -> Result<Self, ColumnError> {
        let num_points = reader.varint().ok_or_else(|| reader.bad("no number of points"))?;
        if num_points != num_values {
            return Err(reader.bad("another number of points than of values"));
        }
        let num_blocks = num_points.div_ceil(u64::from(POINTS_PER_BLOCK));
        if num_blocks > reader.left() as u64 / 2 {
            return Err(reader.bad("too few bytes for its points"));
        }
        let mut index = Self { num_points, num_docs, offsets: vec![offset], ..Self::default() };
        let mut first = 0u64;
        for _ in 0..num_blocks {
            let entry = reader.varint().zip(reader.varint());
            let (len, gap) = entry.ok_or_else(|| reader.bad("a block of points is cut short"))?;
            first = first.checked_add(gap).ok_or_else(|| reader.bad("points out of order"))?;
            offset = offset.checked_add(len).ok_or_else(|| reader.bad("points too long"))?;
            index.firsts.push(first);
            index.offsets.push(offset);
        }
        let last = reader.varint().and_then(|gap| first.checked_add(gap));
        index.last = last.ok_or_else(|| reader.bad("no last point"))?;
        Ok(index)
    }

    /// Points.
    pub fn num_points(&self) -> u64 {
        self.num_points
    }

    /// Blocks.
    pub fn num_blocks(&self) -> u32 {
        self.firsts.len() as u32
    }

    /// Points in a block.
    pub fn block_len(&self, block: u32) -> u32 {
        let before = u64::from(block) * u64::from(POINTS_PER_BLOCK);
        self.num_points.saturating_sub(before).min(u64::from(POINTS_PER_BLOCK)) as u32
    }

    /// Where a block is in the `column` stream. Empty for one that does not exist.
    pub fn block_range(&self, block: u32) -> Range<u64> {
        match (self.offsets.get(block as usize), self.offsets.get(block as usize + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// End of the last block in the stream.
    pub(super) fn end(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// The least value of a block, and one that none of it is above.
    fn bounds(&self, block: u32) -> (u64, u64) {
        let ix = block as usize;
        (self.firsts[ix], self.firsts.get(ix + 1).copied().unwrap_or(self.last))
    }

    /// Blocks with points in `ranges`, each with whether all of its points are.
    pub fn blocks_in(&self, ranges: &ValueRanges) -> Vec<(u32, bool)> {
        let mut blocks: Vec<(u32, bool)> = Vec::new();
        for &(start, end) in ranges.as_slice() {
            // Blocks up to one whose bound, the first value of the next, is not below the range.
            let from = self.firsts.get(1..).unwrap_or_default().partition_point(|&first| first < start) as u32;
            let to = self.firsts.partition_point(|&first| first <= end) as u32;
            for block in from..to {
                let (least, greatest) = self.bounds(block);
                if greatest < start || blocks.last().is_some_and(|&(last, _)| last == block) {
                    continue;
                }
                blocks.push((block, ranges.covers(least, greatest)));
            }
        }
        blocks
    }

    /// Decodes the bytes of one block.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn decode(&self, block: u32, bytes: &[u8]) -> Result<PointsBlock, ColumnError> {
        let bad = |what| ColumnError::BadPoints { block, what };
        if block >= self.num_blocks() {
            return Err(bad("does not exist"));
        }
        let count = self.block_len(block) as usize;
        let (first, bound) = self.bounds(block);
        let Some((&[width, shift, doc_width], rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(bad("shorter than its header"));
        };
        if width > 64 || shift > 63 || doc_width > 32 {
            return Err(bad("header cannot be"));
        }
        let (values_len, docs_len) = (packed_len(count, width), packed_len(count, doc_width));
        if rest.len() != values_len + docs_len {
            return Err(bad("another length than its header says"));
        }
        let mut values = unpack(&rest[..values_len], width, count).ok_or_else(|| bad("values are cut short"))?;
        let docs = unpack(&rest[values_len..], doc_width, count).ok_or_else(|| bad("documents are cut short"))?;
        let mut last = None;
        for (value, &doc) in values.iter_mut().zip(&docs) {
            let is_whole = (*value << shift) >> shift == *value;
            let point = (*value << shift).checked_add(first).map(|value| (value, doc));
            *value = match point.filter(|&(value, _)| is_whole && value <= bound) {
                Some(point) if last.is_none_or(|last| last < point) && doc < u64::from(self.num_docs) => {
                    last = Some(point);
                    point.0
                }
                _ => return Err(bad("a point is out of order or out of bounds")),
            };
        }
        Ok(PointsBlock { values, docs })
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        (self.firsts.capacity() + self.offsets.capacity()) * 8
    }
}

/// The points of one block.
#[derive(Debug, Clone)]
pub struct PointsBlock {
    values: Vec<u64>,
    docs: Vec<u64>,
}

impl PointsBlock {
    /// Value and document of each, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.values.iter().copied().zip(self.docs.iter().map(|&doc| doc as u32))
    }

    /// How many are in `ranges`.
    pub fn count(&self, ranges: &ValueRanges) -> u64 {
        self.values.iter().filter(|&&value| ranges.contains(value)).count() as u64
    }
}

/// Points of a merged column, gathered in passes over its sources where they do not fit memory at once.
#[derive(Debug)]
pub(super) struct PointsGatherer {
    capacity: usize,
    /// Values that will come at most.
    total: u64,
    seen: u64,
    stride: u64,
    /// Every `stride`-th point, while values are merged.
    samples: Vec<Point>,
    /// Points of this pass; all of them, where they fit.
    points: Vec<Point>,
    /// Where passes end: the first point of the next.
    ends: Vec<Point>,
    pass: usize,
}

/// Points of a pass on average, as a share of what may be held: samples are only samples.
const FILL: (u64, u64) = (3, 4);

impl PointsGatherer {
    /// For `total` values, holding about `capacity` points at a time.
    pub fn new(total: u64, capacity: usize) -> Self {
        let capacity = capacity.max(POINTS_PER_BLOCK as usize);
        let passes = total * FILL.1 / FILL.0 / capacity as u64 + 1;
        let wanted_samples = passes * 64;
        let stride = total.div_ceil(wanted_samples).max(1);
        let (samples, points) = (Vec::new(), Vec::new());
        Self { capacity, total, seen: 0, stride, samples, points, ends: Vec::new(), pass: 0 }
    }

    /// Whether one pass, that of the values themselves, is enough.
    pub fn is_small(&self) -> bool {
        self.total <= self.capacity as u64
    }

    /// Takes a point while values are merged.
    pub fn note(&mut self, point: Point) {
        if self.is_small() {
            self.points.push(point);
        } else if self.seen.is_multiple_of(self.stride) {
            self.samples.push(point);
        }
        self.seen += 1;
    }

    /// Plans the passes: none if all points are there.
    pub fn plan(&mut self) {
        if self.is_small() {
            return;
        }
        self.samples.sort_unstable();
        let passes = (self.seen * FILL.1 / FILL.0).div_ceil(self.capacity as u64).max(1) as usize;
        let cut = |nth: usize| self.samples.get(nth * self.samples.len() / passes).copied();
        self.ends = (1..passes).filter_map(cut).collect();
        self.ends.dedup();
        self.samples = Vec::new();
    }

    /// Takes a point of a later pass, if it is of this one.
    pub fn offer(&mut self, point: Point) {
        let is_before = self.ends.get(self.pass).is_none_or(|end| point < *end);
        let is_behind = self.pass.checked_sub(1).and_then(|pass| self.ends.get(pass)).is_none_or(|end| point >= *end);
        if is_before && is_behind {
            self.points.push(point);
        }
    }

    /// Writes the points of the pass; true if there is another one.
    pub fn end_pass(&mut self, writer: &mut PointsWriter, out: &mut Vec<u8>) -> bool {
        self.points.sort_unstable();
        self.points.drain(..).for_each(|point| writer.push(point, out));
        self.pass += 1;
        self.pass <= self.ends.len()
    }

    pub fn memory_bytes(&self) -> usize {
        (self.samples.capacity() + self.points.capacity() + self.ends.capacity()) * size_of::<Point>()
    }
}
