//! Counts documents per value of a column.

#![forbid(unsafe_code)]

use std::collections::HashMap;

use super::{ColumnKind, ColumnMeta, PackedBlock};
use crate::bitset::BitSet;

/// Distinct values up to which counts are an array: 4 MiB of it.
const DENSE_VALUES: u64 = 1 << 20;

/// Counters of one value, where there are few values: the same one again and again does not wait for itself.
const WAYS: usize = 4;
/// Distinct values up to which each has several counters.
const FEW_VALUES: u64 = 1 << 10;

/// Counts of one column of one segment.
#[derive(Debug, Clone)]
pub struct FacetCounter {
    counts: Counts,
}

#[derive(Debug, Clone)]
enum Counts {
    /// By ordinal, so many for each.
    Dense {
        counts: Vec<u32>,
        ways: usize,
    },
    Sparse(HashMap<u64, u32>),
}

impl FacetCounter {
    /// Nothing counted yet.
    pub fn new(column: &ColumnMeta) -> Self {
        let num_values = match (column.kind(), column.dictionary()) {
            (ColumnKind::Bool, _) => Some(2),
            (ColumnKind::Keyword, Some(dictionary)) => Some(u64::from(dictionary.num_terms())),
            _ => None,
        };
        let counts = match num_values {
            Some(count) if count <= DENSE_VALUES => {
                let ways = if count <= FEW_VALUES { WAYS } else { 1 };
                Counts::Dense { counts: vec![0; count as usize * ways], ways }
            }
            _ => Counts::Sparse(HashMap::new()),
        };
        Self { counts }
    }

    /// Nothing counted yet, for numbers that are not all values of a column.
    pub fn sparse() -> Self {
        Self { counts: Counts::Sparse(HashMap::new()) }
    }

    /// Counts the documents of `block` that are in `docs`, each once per value it has.
    pub fn count(&mut self, block: &PackedBlock, docs: &BitSet) {
        if let Counts::Dense { counts, ways } = &mut self.counts {
            let is_counted = if *ways == 1 {
                block.each_single(docs.words(), |value, _| add_one(counts, value as usize))
            } else {
                let place = |value: u64, turn: usize| (value as usize).wrapping_mul(WAYS) + turn % WAYS;
                block.each_single(docs.words(), |value, turn| add_one(counts, place(value, turn)))
            };
            if is_counted {
                return;
            }
        }
        for doc in docs.iter_range(block.first_doc(), block.first_doc() + block.num_docs()) {
            block.values(doc).for_each(|value| self.add(value));
        }
    }

    /// The same of listed documents.
    pub fn count_listed(&mut self, block: &PackedBlock, docs: &[u32]) {
        if let Counts::Dense { counts, ways } = &mut self.counts {
            let place = |value: u64, turn: usize| (value as usize).wrapping_mul(*ways) + turn % *ways;
            if block.each_listed(docs, |value, turn| add_one(counts, place(value, turn))) {
                return;
            }
        }
        for &doc in docs {
            block.values(doc).for_each(|value| self.add(value));
        }
    }

    /// The same by what `group` makes of the values, ascending as they do; a document counts once per outcome.
    pub fn count_by(&mut self, block: &PackedBlock, docs: &BitSet, group: impl Fn(u64) -> u64) {
        for doc in docs.iter_range(block.first_doc(), block.first_doc() + block.num_docs()) {
            let mut last = None;
            for value in block.values(doc).map(&group) {
                if last != Some(value) {
                    self.add(value);
                }
                last = Some(value);
            }
        }
    }

    #[inline]
    fn add(&mut self, value: u64) {
        match &mut self.counts {
            Counts::Dense { counts, ways } => add_one(counts, (value as usize).wrapping_mul(*ways)),
            Counts::Sparse(counts) => *counts.entry(value).or_default() += 1,
        }
    }

    /// Values with their counts, ascending by value, none of them 0.
    pub fn into_counts(self) -> Vec<(u64, u32)> {
        match self.counts {
            Counts::Dense { counts, ways } => {
                let numbered = counts.chunks(ways).zip(0..).map(|(counts, value)| (value, counts.iter().sum()));
                numbered.filter(|&(_, count)| count > 0).collect()
            }
            Counts::Sparse(counts) => {
                let mut counts: Vec<(u64, u32)> = counts.into_iter().collect();
                counts.sort_unstable();
                counts
            }
        }
    }
}

/// A place that is not there is one of a damaged block.
#[inline(always)]
fn add_one(counts: &mut [u32], place: usize) {
    if let Some(count) = counts.get_mut(place) {
        *count += 1;
    }
}
