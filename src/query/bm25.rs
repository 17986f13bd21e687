//! BM25 as Lucene computes it.
//!
//! `idf = ln(1 + (N - n + 0.5) / (n + 0.5))` with N the documents that have the field and n those with the term, both
//! over the whole snapshot; `inv[norm] = 1 / (k1 * ((1 - b) + b * length / average length))`, a table of 256;
//! `score = w - w / (1 + freq * inv[norm])` with `w = boost * idf`. In this form the score never falls with the
//! frequency and never rises with the length, in floating point too, so that impacts bound it.

use std::{cell::RefCell, sync::Arc};

use crate::{postings::norms, terms::FieldTotals};

/// Parameters of BM25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25Params {
    /// How slowly further occurrences stop to count. Default 1.2.
    pub k1: f32,
    /// How much long documents are discounted, 0–1. Default 0.75.
    pub b: f32,
}

impl Default for Bm25Params {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

/// Inverse document frequency, never negative. A `doc_freq` above `num_docs` (statistics of a damaged index) counts as
/// equal to it.
pub fn idf(doc_freq: u64, num_docs: u64) -> f32 {
    let (found, all) = (doc_freq.min(num_docs) as f64, num_docs as f64);
    (1.0 + (all - found + 0.5) / (found + 0.5)).ln() as f32
}

/// Factor of a frequency by norm, shared by the terms of a field.
pub type LengthTable = Arc<[f32; 256]>;

/// What a table depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TableKey {
    params: Bm25Params,
    /// 0 without norms.
    average: f64,
}

thread_local! {
    /// The table made last: it costs as much as a small query, and queries ask for the same one again.
    static LAST_TABLE: RefCell<Option<(TableKey, LengthTable)>> = const { RefCell::new(None) };
}

/// The table of a field; without norms every document has the average length.
pub fn length_table(params: Bm25Params, totals: &FieldTotals, has_norms: bool) -> LengthTable {
    let average = totals.sum_total_term_freq as f64 / totals.doc_count.max(1) as f64;
    let key = TableKey { params, average: if has_norms { average } else { 0.0 } };
    LAST_TABLE.with_borrow_mut(|last| match last {
        Some((known, table)) if *known == key => table.clone(),
        _ => last.insert((key, make_table(key))).1.clone(),
    })
}

fn make_table(TableKey { params, average }: TableKey) -> LengthTable {
    let (k1, b) = (f64::from(params.k1.max(1e-6)), f64::from(params.b));
    Arc::new(std::array::from_fn(|norm| {
        let share = if average > 0.0 { f64::from(norms::decode(norm as u8)) / average } else { 1.0 };
        (1.0 / (k1 * ((1.0 - b) + b * share).max(1e-9))) as f32
    }))
}

/// The score of a frequency times its length factor.
#[inline(always)]
pub fn score(weight: f32, freq_by_length: f32) -> f32 {
    weight - weight / (1.0 + freq_by_length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::excessive_precision, clippy::approx_constant, reason = "as the reference prints them")]
    fn matches_golden_values() {
        for (num_docs, doc_freq, average, freq, len, expected_idf, expected) in [
            (1000, 10, 50, 3.0, 100, 4.557_380, 2.719_200),
            (1000, 10, 50, 1.0, 41, 4.557_380, 2.256_128),
            (2, 1, 5, 1.0, 5, 0.693_147, 0.315_067),
        ] {
            let totals =
                FieldTotals { doc_count: num_docs, sum_total_term_freq: num_docs * average, ..FieldTotals::default() };
            let table = length_table(Bm25Params::default(), &totals, true);
            let weight = idf(doc_freq, num_docs);
            let found = score(weight, freq * table[usize::from(norms::encode(len))]);
            assert!((weight - expected_idf).abs() < 1e-5, "{weight}");
            assert!((found - expected).abs() < 1e-5, "{found}");
        }
    }

    #[test]
    fn scores_are_monotone() {
        let totals = FieldTotals { doc_count: 100, sum_total_term_freq: 3_700, ..FieldTotals::default() };
        let table = length_table(Bm25Params::default(), &totals, true);
        for weight in [0.001f32, 0.7, 3.3, 11.9] {
            for norm in 1..255 {
                let mut last = 0.0;
                for freq in 1..200 {
                    let here = score(weight, freq as f32 * table[norm]);
                    assert!(here >= last && here >= score(weight, freq as f32 * table[norm + 1]));
                    last = here;
                }
            }
        }
    }
}
