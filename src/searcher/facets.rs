//! Facets over all segments: counts per segment are added up by value.

#![forbid(unsafe_code)]

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use super::{
    batch::Batch,
    column_ask::{Counted, FacetAsk, RangeAsk},
    columns::SegmentColumns,
    pace::Pace,
    words::Words,
};
use crate::{
    bitset::BitSet,
    columns::{BLOCK_DOCS, BlockVerdict, ColumnKind, ColumnMeta, FacetCounter, ValueRanges},
    error::Result,
    query::request::{FacetCount, FacetResult},
    topk::order,
};

/// One facet under way.
#[derive(Debug)]
pub(super) struct FacetWork {
    ask: FacetAsk,
    /// Counts by value, or start of an interval; not of keywords.
    values: HashMap<u64, u64>,
    keywords: Vec<KeywordCounts>,
    /// Counts of ranges.
    ranges: Vec<u64>,
}

/// Counts of one segment.
#[derive(Debug)]
struct KeywordCounts {
    segment: usize,
    column: Arc<ColumnMeta>,
    /// Ordinals with their counts.
    counts: Vec<(u64, u32)>,
}

/// One column of one segment to count.
#[derive(Clone, Copy)]
pub(super) struct Countable<'a> {
    pub segment: usize,
    pub column: &'a Arc<ColumnMeta>,
    /// The documents to count.
    pub matching: &'a BitSet,
    /// Ordinals that count, where not all do.
    pub accept: Option<&'a ValueRanges>,
}

impl Countable<'_> {
    /// Whether a block has something to count.
    fn has(&self, block: u32) -> bool {
        let docs = self.column.block_docs(block);
        let accepts = self.accept.is_none_or(|ranges| self.column.verdict(block, ranges) != BlockVerdict::None);
        let has_values = self.column.blocks().get(block as usize).is_some_and(|meta| meta.num_values > 0);
        accepts && has_values && self.matching.has_any(docs.start, docs.end)
    }
}

/// The same of few documents.
#[derive(Clone, Copy)]
pub(super) struct Listed<'a> {
    pub segment: usize,
    pub column: &'a Arc<ColumnMeta>,
    /// The documents to count, ascending.
    pub docs: &'a [u32],
    /// Ordinals that count, where not all do.
    pub accept: Option<&'a ValueRanges>,
}

impl<'a> Listed<'a> {
    /// Blocks that have values, with their documents.
    fn by_block(self) -> impl Iterator<Item = (u32, &'a [u32])> {
        let of_block = self.docs.chunk_by(|a, b| a / BLOCK_DOCS == b / BLOCK_DOCS);
        let numbered = of_block.map(|docs| (docs[0] / BLOCK_DOCS, docs));
        numbered
            .filter(move |(block, _)| self.column.blocks().get(*block as usize).is_some_and(|meta| meta.num_values > 0))
    }
}

impl FacetWork {
    pub fn new(ask: FacetAsk) -> Self {
        let num_ranges = if let Counted::Ranges(ranges) = &ask.counted { ranges.len() } else { 0 };
        Self { ask, values: HashMap::new(), keywords: Vec::new(), ranges: vec![0; num_ranges] }
    }

    /// What was asked.
    pub fn ask(&self) -> &FacetAsk {
        &self.ask
    }

    /// Whether the values of a block are needed: bounds alone may tell how many documents are in which range.
    fn needs(&self, of: Countable<'_>, block: u32) -> bool {
        of.has(block)
            && match &self.ask.counted {
                Counted::Ranges(ranges) => {
                    ranges.iter().any(|range| of.column.verdict(block, &range.ranges) == BlockVerdict::Mixed)
                }
                _ => true,
            }
    }

    /// Whether all documents of a segment are counted by value.
    fn counts_all(&self, of: Countable<'_>) -> bool {
        let is_by_value = matches!(self.ask.counted, Counted::Values { .. });
        is_by_value && of.matching.len() == of.column.num_docs() && of.matching.is_full()
    }

    /// The counts of a segment, where they are known.
    fn known<'c>(&self, of: Countable<'c>) -> Option<&'c [(u64, u32)]> {
        of.column.all_counts().filter(|_| self.counts_all(of))
    }

    /// Asks for the blocks that have to be read.
    pub fn want(&self, of: Countable<'_>, columns: &mut SegmentColumns, batch: &mut Batch) {
        if self.known(of).is_some() {
            return;
        }
        for block in (0..of.column.blocks().len() as u32).filter(|&block| self.needs(of, block)) {
            columns.want(batch, of.segment, self.ask.field, of.column, block);
        }
    }

    /// Counts the matching documents of one segment.
    pub async fn count(&mut self, of: Countable<'_>, columns: &SegmentColumns, pace: &mut Pace<'_>) -> Result<()> {
        let column = of.column;
        if let Counted::Ranges(ranges) = &self.ask.counted {
            for block in (0..column.blocks().len() as u32).filter(|&block| of.has(block)) {
                let docs = column.block_docs(block);
                let packed =
                    if self.needs(of, block) { Some(columns.open(self.ask.field, column, block)?) } else { None };
                for (RangeAsk { ranges, .. }, count) in ranges.iter().zip(&mut self.ranges) {
                    *count += match (column.verdict(block, ranges), &packed) {
                        (BlockVerdict::All, _) => u64::from(of.matching.count_range(docs.start, docs.end)),
                        (BlockVerdict::Mixed, Some(packed)) => {
                            let (words, mut found) = (of.matching.words(), 0);
                            packed.matching(ranges, |word, bits| {
                                found += words.get(word).map_or(0, |set| (set & bits).count_ones());
                            });
                            u64::from(found)
                        }
                        _ => 0,
                    };
                }
                pace.step().await?;
            }
            return Ok(());
        }
        let counts = match self.known(of) {
            Some(known) => known.to_vec(),
            None => self.count_values(of, columns, pace).await?,
        };
        self.add_counts(of.segment, column, of.accept, counts);
        Ok(())
    }

    fn add_counts(
        &mut self,
        segment: usize,
        column: &Arc<ColumnMeta>,
        accept: Option<&ValueRanges>,
        mut counts: Vec<(u64, u32)>,
    ) {
        if let Some(accept) = accept {
            counts.retain(|&(ord, _)| accept.contains(ord));
        }
        if self.ask.kind == ColumnKind::Keyword {
            self.keywords.push(KeywordCounts { segment, column: column.clone(), counts });
        } else {
            counts.into_iter().for_each(|(value, count)| *self.values.entry(value).or_default() += u64::from(count));
        }
    }

    /// Asks for the blocks of listed documents.
    pub fn want_listed(&self, of: Listed<'_>, columns: &mut SegmentColumns, batch: &mut Batch) {
        of.by_block().for_each(|(block, _)| columns.want(batch, of.segment, self.ask.field, of.column, block));
    }

    /// Counts listed documents of one segment by value.
    pub async fn count_listed(&mut self, of: Listed<'_>, columns: &SegmentColumns, pace: &mut Pace<'_>) -> Result<()> {
        let mut counter = FacetCounter::new(of.column);
        for (block, docs) in of.by_block() {
            counter.count_listed(&columns.open(self.ask.field, of.column, block)?, docs);
            pace.step().await?;
        }
        self.add_counts(of.segment, of.column, of.accept, counter.into_counts());
        Ok(())
    }

    /// Values, or starts of intervals, with their counts in one segment, ascending.
    async fn count_values(
        &self,
        of: Countable<'_>,
        columns: &SegmentColumns,
        pace: &mut Pace<'_>,
    ) -> Result<Vec<(u64, u32)>> {
        let column = of.column;
        let mut counter = match self.ask.counted {
            Counted::Histogram { .. } => FacetCounter::sparse(),
            _ => FacetCounter::new(column),
        };
        for block in (0..column.blocks().len() as u32).filter(|&block| of.has(block)) {
            let packed = columns.open(self.ask.field, column, block)?;
            match &self.ask.counted {
                Counted::Histogram { interval, .. } => {
                    counter.count_by(&packed, of.matching, |value| interval.start_of(value));
                }
                _ => counter.count(&packed, of.matching),
            }
            pace.step().await?;
        }
        let counts = counter.into_counts();
        // Blocks that `accept` rules out were left out.
        if of.accept.is_none() && self.counts_all(of) {
            column.keep_counts(&counts);
        }
        Ok(counts)
    }

    fn limit(&self) -> usize {
        match &self.ask.counted {
            Counted::Values { limit, .. } | Counted::Histogram { limit, .. } => *limit,
            Counted::Ranges(ranges) => ranges.len(),
        }
    }

    /// Asks for the keywords that the answer needs: of one segment the most frequent ones, of several all that were
    /// counted, since only the sum says which are frequent.
    pub fn want_words(&mut self, words: &mut Words, batch: &mut Batch) {
        let limit = self.limit();
        if let [KeywordCounts { counts, .. }] = &mut self.keywords[..] {
            // Ordinals order as keywords do, so ties are right too.
            order::by(counts, |a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            counts.truncate(limit);
        }
        if limit == 0 {
            self.keywords.clear();
        }
        for KeywordCounts { segment, column, counts } in &self.keywords {
            for &(ord, _) in counts {
                words.want(batch, *segment, self.ask.field, column, ord as u32);
            }
        }
    }

    /// The answer.
    pub fn finish(self, words: &mut Words) -> Result<FacetResult> {
        let (limit, kind) = (self.limit(), self.ask.kind);
        let plain = |value, count| FacetCount { value, count, from: None, to: None };
        let values = match self.ask.counted {
            Counted::Ranges(ranges) => ranges
                .into_iter()
                .zip(self.ranges)
                .map(|(range, count)| FacetCount { value: range.label, count, from: range.from, to: range.to })
                .collect(),
            Counted::Histogram { .. } => {
                let mut counts: Vec<(u64, u64)> = self.values.into_iter().collect();
                counts.sort_unstable();
                counts.truncate(limit);
                counts.into_iter().map(|(value, count)| plain(kind.to_json(value), count)).collect()
            }
            Counted::Values { .. } if kind == ColumnKind::Keyword => {
                let mut sums: HashMap<Arc<str>, u64> = HashMap::new();
                for KeywordCounts { segment, column, counts } in &self.keywords {
                    for &(ord, count) in counts {
                        let word = words.get(*segment, self.ask.field, column, ord as u32)?;
                        *sums.entry(word).or_default() += u64::from(count);
                    }
                }
                best(sums, limit).into_iter().map(|(word, count)| plain(Value::from(word.as_ref()), count)).collect()
            }
            Counted::Values { .. } => {
                best(self.values, limit).into_iter().map(|(value, count)| plain(kind.to_json(value), count)).collect()
            }
        };
        Ok(FacetResult { field: self.ask.name, values })
    }
}

fn best<T: Ord>(counts: HashMap<T, u64>, limit: usize) -> Vec<(T, u64)> {
    let mut counts: Vec<(T, u64)> = counts.into_iter().collect();
    order::by(&mut counts, |a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(limit);
    counts
}
