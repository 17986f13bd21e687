//! Facets over all segments: counts per segment are added up by value.

#![forbid(unsafe_code)]

use std::{cmp::Reverse, collections::HashMap, sync::Arc};

use serde_json::Value;

use super::{
    ask::FacetAsk,
    batch::{Batch, Fetched},
    columns::SegmentColumns,
    pace::Pace,
    words::Words,
};
use crate::{
    bitset::BitSet,
    columns::{ColumnKind, ColumnMeta, FacetCounter},
    error::Result,
    query::request::{FacetCount, FacetResult},
};

/// One facet under way.
#[derive(Debug)]
pub(super) struct FacetWork {
    ask: FacetAsk,
    /// Counts by value; not of keywords.
    values: HashMap<u64, u64>,
    keywords: Vec<KeywordCounts>,
}

/// Counts of one segment.
#[derive(Debug)]
struct KeywordCounts {
    segment: usize,
    column: Arc<ColumnMeta>,
    /// Ordinals with their counts.
    counts: Vec<(u64, u32)>,
}

impl FacetWork {
    pub fn new(ask: FacetAsk) -> Self {
        Self { ask, values: HashMap::new(), keywords: Vec::new() }
    }

    /// Counts the matching documents of one segment.
    pub async fn count(
        &mut self,
        segment: usize,
        column: &Arc<ColumnMeta>,
        columns: &SegmentColumns,
        matching: &BitSet,
        pace: &mut Pace<'_>,
    ) -> Result<()> {
        let mut counter = FacetCounter::new(column);
        for (block, meta) in column.blocks().iter().enumerate() {
            let docs = column.block_docs(block as u32);
            if meta.num_values > 0 && matching.count_range(docs.start, docs.end) > 0 {
                counter.count(&columns.decode(self.ask.field, column, block as u32)?, matching);
                pace.step().await?;
            }
        }
        let counts = counter.into_counts();
        if self.ask.kind == ColumnKind::Keyword {
            self.keywords.push(KeywordCounts { segment, column: column.clone(), counts });
        } else {
            counts.into_iter().for_each(|(value, count)| *self.values.entry(value).or_default() += u64::from(count));
        }
        Ok(())
    }

    /// Asks for the keywords that the answer needs: of one segment the most frequent ones, of several all that were
    /// counted, since only the sum says which are frequent.
    pub fn want_words(&mut self, words: &mut Words, batch: &mut Batch) {
        if let [KeywordCounts { counts, .. }] = &mut self.keywords[..] {
            // Ordinals order as keywords do, so ties are right too.
            counts.sort_by_key(|&(ord, count)| (Reverse(count), ord));
            counts.truncate(self.ask.limit);
        }
        if self.ask.limit == 0 {
            self.keywords.clear();
        }
        for KeywordCounts { segment, column, counts } in &self.keywords {
            for &(ord, _) in counts {
                words.want(batch, *segment, self.ask.field, column, ord as u32);
            }
        }
    }

    /// The most frequent values.
    pub fn finish(self, words: &mut Words, fetched: &Fetched) -> Result<FacetResult> {
        let (name, limit) = (self.ask.name, self.ask.limit);
        let values = if self.ask.kind == ColumnKind::Keyword {
            let mut sums: HashMap<Arc<str>, u64> = HashMap::new();
            for KeywordCounts { segment, column, counts } in &self.keywords {
                for &(ord, count) in counts {
                    let word = words.get(fetched, *segment, self.ask.field, column, ord as u32)?;
                    *sums.entry(word).or_default() += u64::from(count);
                }
            }
            best(sums, limit, |word| Value::from(word.as_ref()))
        } else {
            best(self.values, limit, |value| self.ask.kind.to_json(value))
        };
        Ok(FacetResult { field: name, values })
    }
}

fn best<T: Ord>(counts: HashMap<T, u64>, limit: usize, to_json: impl Fn(T) -> Value) -> Vec<FacetCount> {
    let mut counts: Vec<(T, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(limit);
    counts.into_iter().map(|(value, count)| FacetCount { value: to_json(value), count }).collect()
}
