//! Conditions on one column as sets of value ranges, and which documents they match.

#![forbid(unsafe_code)]

use super::{BLOCK_DOCS, BlockVerdict, ColumnMeta, PackedBlock, PointsBlock, points::POINTS_PER_BLOCK};
use crate::bitset::BitSet;

/// A set of values: disjoint inclusive ranges, ascending. A document matches if one of its values is inside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValueRanges {
    ranges: Vec<(u64, u64)>,
}

impl ValueRanges {
    /// No value.
    pub fn none() -> Self {
        Self::default()
    }

    /// Every value: matches documents that have any.
    pub fn all() -> Self {
        Self { ranges: vec![(0, u64::MAX)] }
    }

    /// The union of inclusive ranges in any order; one whose start is above its end is empty.
    pub fn new(ranges: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut sorted: Vec<(u64, u64)> = ranges.into_iter().filter(|(start, end)| start <= end).collect();
        sorted.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(sorted.len());
        for (start, end) in sorted {
            match merged.last_mut() {
                Some((_, last)) if start <= last.saturating_add(1) => *last = (*last).max(end),
                _ => merged.push((start, end)),
            }
        }
        Self { ranges: merged }
    }

    /// Values in both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let (mut a, mut b, mut both) = (0, 0, Vec::new());
        while let (Some(x), Some(y)) = (self.ranges.get(a), other.ranges.get(b)) {
            let (start, end) = (x.0.max(y.0), x.1.min(y.1));
            if start <= end {
                both.push((start, end));
            }
            if x.1 < y.1 { a += 1 } else { b += 1 }
        }
        Self { ranges: both }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether `value` is in the set.
    #[inline]
    pub fn contains(&self, value: u64) -> bool {
        match self.ranges[..] {
            [(start, end)] => start <= value && value <= end,
            _ => {
                let ix = self.ranges.partition_point(|&(_, end)| end < value);
                self.ranges.get(ix).is_some_and(|&(start, _)| start <= value)
            }
        }
    }

    /// The ranges, ascending and disjoint.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// The range, if the set is a single one.
    pub fn as_one(&self) -> Option<(u64, u64)> {
        if let [range] = self.ranges[..] { Some(range) } else { None }
    }

    pub(super) fn overlaps(&self, min: u64, max: u64) -> bool {
        let ix = self.ranges.partition_point(|&(_, end)| end < min);
        self.ranges.get(ix).is_some_and(|&(start, _)| start <= max)
    }

    pub(super) fn covers(&self, min: u64, max: u64) -> bool {
        let ix = self.ranges.partition_point(|&(_, end)| end < min);
        self.ranges.get(ix).is_some_and(|&(start, end)| start <= min && max <= end)
    }
}

/// A point is read and looked at for about as much as this many documents of a block: it takes up to twice the bytes,
/// and its document is set by itself where a block gives 64 at a time.
const POINT_COST: u64 = 3;

/// Which blocks a condition can decide from the metadata alone, and which must be read. Where few values are in its
/// ranges and the column has points, those are read instead.
#[derive(Debug, Clone)]
pub struct FilterPlan {
    ranges: ValueRanges,
    matching: BitSet,
    blocks: Vec<u32>,
    points: Vec<u32>,
}

impl FilterPlan {
    /// Plans a condition over one column.
    pub fn new(column: &ColumnMeta, ranges: ValueRanges) -> Self {
        let matching = BitSet::new(column.num_docs());
        let mut plan = Self { ranges, matching, blocks: Vec::new(), points: Vec::new() };
        for block in 0..column.blocks().len() as u32 {
            match column.verdict(block, &plan.ranges) {
                BlockVerdict::None => {}
                BlockVerdict::All => {
                    let docs = column.block_docs(block);
                    plan.matching.insert_range(docs.start, docs.end);
                }
                BlockVerdict::Mixed => plan.blocks.push(block),
            }
        }
        if let Some(points) = column.points() {
            let found = points.blocks_in(&plan.ranges);
            let num_points: u64 = found.iter().map(|&(block, _)| u64::from(points.block_len(block))).sum();
            if num_points * POINT_COST < plan.blocks.len() as u64 * u64::from(BLOCK_DOCS) {
                plan.points = found.into_iter().map(|(block, _)| block).collect();
                plan.matching = BitSet::new(column.num_docs());
                plan.blocks = Vec::new();
            }
        }
        plan
    }

    /// Blocks of points to read and hand to [`Self::apply_points`].
    pub fn points(&self) -> &[u32] {
        &self.points
    }

    /// Adds the matching documents of one block of points.
    pub fn apply_points(&mut self, block: &PointsBlock) {
        for (value, doc) in block.iter() {
            if self.ranges.contains(value) {
                self.matching.insert(doc);
            }
        }
    }

    /// Blocks to read and hand to [`Self::apply`], ascending.
    pub fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// Adds the matching documents of one block.
    pub fn apply(&mut self, block: &PackedBlock) {
        block.matching(&self.ranges, |word, bits| self.matching.insert_word(word, bits));
    }

    /// The documents that match, once all blocks were applied.
    pub fn finish(self) -> BitSet {
        self.matching
    }
}

/// How many documents have a value in a range, without looking at all of them: blocks that lie inside count whole, and
/// only those at the ends of the ranges are read.
#[derive(Debug, Clone)]
pub struct RangeCount {
    ranges: ValueRanges,
    count: u64,
    blocks: Vec<u32>,
    points: Vec<u32>,
}

impl RangeCount {
    /// Plans a count over one column, deleted documents included.
    pub fn new(column: &ColumnMeta, ranges: ValueRanges) -> Self {
        let mut plan = Self { ranges, count: 0, blocks: Vec::new(), points: Vec::new() };
        for block in 0..column.blocks().len() as u32 {
            match column.verdict(block, &plan.ranges) {
                BlockVerdict::None => {}
                BlockVerdict::All => plan.count += column.block_docs(block).len() as u64,
                BlockVerdict::Mixed => plan.blocks.push(block),
            }
        }
        // A document with several values may be in a range more than once.
        let is_single = column.num_values() == column.num_docs_with_values();
        if let Some(points) = column.points().filter(|_| is_single) {
            let found = points.blocks_in(&plan.ranges);
            let at_ends = found.iter().filter(|(_, is_inside)| !is_inside).count() as u64;
            if at_ends * u64::from(POINTS_PER_BLOCK) * POINT_COST < plan.blocks.len() as u64 * u64::from(BLOCK_DOCS) {
                let inside = found.iter().filter(|(_, is_inside)| *is_inside);
                plan.count = inside.map(|&(block, _)| u64::from(points.block_len(block))).sum();
                plan.points = found.iter().filter(|(_, is_inside)| !is_inside).map(|&(block, _)| block).collect();
                plan.blocks = Vec::new();
            }
        }
        plan
    }

    /// Value blocks to read and hand to [`Self::apply`].
    pub fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// Blocks of points to read and hand to [`Self::apply_points`].
    pub fn points(&self) -> &[u32] {
        &self.points
    }

    /// Counts in one value block.
    pub fn apply(&mut self, block: &PackedBlock) {
        self.count += u64::from(block.count(&self.ranges));
    }

    /// Counts in one block of points.
    pub fn apply_points(&mut self, block: &PointsBlock) {
        self.count += block.count(&self.ranges);
    }

    /// The count, once all blocks were applied.
    pub fn finish(self) -> u64 {
        self.count
    }
}
