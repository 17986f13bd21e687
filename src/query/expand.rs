//! What a pattern of terms stands for: which blocks of a dictionary are read, and which of their terms are searched.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;

use crate::{
    codec::DecodeError,
    error::{Error, Result},
    postings::TextStream,
    query::{
        Plan,
        bind::PatternLeaf,
        bm25,
        plan::{PATTERN_GAP, PatternTerm, PatternWeight, Slot},
        scorer::term::TermWeight,
    },
    terms::{TermCursor, TermMatcher},
};

/// Terms that a pattern stands for in one segment at most. Of more, those in the most documents are searched, and
/// [`Plan::notes`] says so.
pub const MAX_PATTERN_TERMS: usize = 16_384;
/// Bytes of a segment's dictionary that are read for one pattern: about 700,000 terms.
const MAX_PATTERN_BYTES: u64 = 8 << 20;
/// Postings up to which a pattern is scored document by document.
const MAX_BLENDED_POSTINGS: u64 = 65_536;

/// Keeps the terms in the most documents, in order; whether any was dropped.
fn keep_most_frequent(found: &mut Vec<PatternTerm>) -> bool {
    if found.len() <= MAX_PATTERN_TERMS {
        return false;
    }
    found.select_nth_unstable_by(MAX_PATTERN_TERMS, |a, b| {
        b.info.doc_freq.cmp(&a.info.doc_freq).then_with(|| a.term.cmp(&b.term))
    });
    found.truncate(MAX_PATTERN_TERMS);
    found.sort_unstable_by(|a, b| a.term.cmp(&b.term));
    true
}

/// Makes the patterns of a query ready; all of them together work as much as one may.
pub(super) fn matchers(patterns: &[PatternLeaf]) -> Result<Vec<TermMatcher>> {
    let max_work = TermMatcher::DEFAULT_WORK / patterns.len().max(1) as u64;
    let matcher = |leaf: &PatternLeaf| {
        let bad = |error| Error::invalid(format!("pattern `{}`: {error}", leaf.pattern));
        TermMatcher::with_work(&leaf.pattern, max_work).map_err(bad)
    };
    patterns.iter().map(matcher).collect()
}

impl Plan {
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Asks for the dictionary blocks that patterns need in a segment.
    pub(super) fn request_pattern_blocks(&mut self, segment: usize) -> Result<()> {
        for leaf in 0..self.patterns.len() {
            let field = self.patterns[leaf].field;
            let Some(text) = self.segments[segment].fields.get(&field) else { continue };
            let gap = if text.terms.is_some() { 0 } else { PATTERN_GAP };
            let located = text.index.locate_pattern(&mut self.matchers[leaf], gap, MAX_PATTERN_BYTES);
            if located.is_cut {
                let pattern = &self.patterns[leaf].pattern;
                self.note(format!(
                    "`{pattern}`: only the first {} MiB of a dictionary were read",
                    MAX_PATTERN_BYTES >> 20
                ));
            }
            for range in located.ranges {
                self.request(segment, field, TextStream::Terms, range, Slot::PatternBlocks { leaf })?;
            }
        }
        Ok(())
    }

    /// Takes the terms of whole blocks that match.
    pub(super) fn collect_pattern_terms(
        &mut self,
        segment: usize,
        leaf: usize,
        blocks: Bytes,
    ) -> Result<(), DecodeError> {
        let Some(text) = self.segments[segment].fields.get(&self.patterns[leaf].field) else { return Ok(()) };
        let (found, matcher) = (&mut self.data[segment].patterns[leaf], &mut self.matchers[leaf]);
        let (mut cursor, mut is_cut) = (TermCursor::new(text.index.options(), blocks), false);
        while cursor.advance()? {
            if matcher.matches(cursor.term()).is_some() {
                if found.len() >= 2 * MAX_PATTERN_TERMS {
                    is_cut |= keep_most_frequent(found);
                }
                found.push(PatternTerm { term: cursor.term().to_vec(), info: *cursor.info(), docs: Bytes::new() });
            }
        }
        if is_cut {
            self.note_cut(leaf);
        }
        Ok(())
    }

    fn note_cut(&mut self, leaf: usize) {
        let pattern = &self.patterns[leaf].pattern;
        self.note(format!("`{pattern}`: only its {MAX_PATTERN_TERMS} most frequent terms were searched"));
    }

    /// Weighs all patterns, now that their terms are known.
    pub(super) fn weigh_patterns(&mut self) {
        for leaf in 0..self.patterns.len() {
            let mut is_cut = false;
            for data in &mut self.data {
                is_cut |= keep_most_frequent(&mut data.patterns[leaf]);
            }
            if is_cut {
                self.note_cut(leaf);
            }
            let mut doc_freqs = BTreeMap::<&[u8], u64>::new();
            let mut postings = 0;
            for term in self.data.iter().flat_map(|data| &data.patterns[leaf]) {
                *doc_freqs.entry(&term.term).or_default() += u64::from(term.info.doc_freq);
                postings += u64::from(term.info.doc_freq);
            }
            let doc_freq = doc_freqs.into_values().max().unwrap_or(0);
            let stats = &self.fields[&self.patterns[leaf].field];
            let weight =
                TermWeight { weight: bm25::idf(doc_freq, stats.totals.doc_count), lengths: stats.lengths.clone() };
            let flat =
                (postings > MAX_BLENDED_POSTINGS).then(|| bm25::score(weight.weight, 1.0 / self.params.k1.max(1e-6)));
            self.pattern_weights.push(PatternWeight { weight, doc_freq, flat });
        }
    }

    /// Asks for the documents of the terms of a pattern, neighbours together.
    pub(super) fn request_pattern(&mut self, segment: usize, leaf: usize) -> Result<()> {
        let mut runs: Vec<(Range<u64>, Range<usize>)> = Vec::new();
        for (ix, term) in self.data[segment].patterns[leaf].iter().enumerate() {
            let range = term.info.docs_range();
            match runs.last_mut() {
                _ if range.is_empty() => {}
                Some((bytes, terms)) if range.start >= bytes.end && range.start - bytes.end <= PATTERN_GAP => {
                    bytes.end = range.end;
                    terms.end = ix + 1;
                }
                _ => runs.push((range, ix..ix + 1)),
            }
        }
        let field = self.patterns[leaf].field;
        for (bytes, terms) in runs {
            let slot = Slot::PatternDocs { leaf, start: bytes.start, terms };
            self.request(segment, field, TextStream::Postings, bytes, slot)?;
        }
        Ok(())
    }
}
