//! What a pattern of terms stands for: which blocks of a dictionary are read, and which of their terms are searched.
//!
//! Prefixes, wildcards, regular expressions and ranges stay one leaf whose terms score together. A fuzzy term becomes a
//! union of the terms near it, each with a score of its own, as if they had been asked for.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;

use crate::{
    codec::DecodeError,
    error::{Error, Result},
    postings::TextStream,
    query::{
        Plan,
        bind::{PatternLeaf, TermLeaf},
        bm25,
        plan::{PATTERN_GAP, PatternTerm, PatternWeight, SegmentTerm, Slot, TermStats},
    },
    terms::{FuzzyPattern, TermCursor, TermInfo, TermMatcher, TermPattern},
    topk::order,
};

/// Terms that a pattern stands for in one segment at most. Of more, those in the most documents are searched, and
/// [`Plan::notes`] says so.
pub const MAX_PATTERN_TERMS: usize = 16_384;
/// Bytes of a segment's dictionary that are read for one pattern: about 700,000 terms.
const MAX_PATTERN_BYTES: u64 = 8 << 20;
/// Bytes of dictionaries that are read for all patterns of a query.
pub(super) const MAX_QUERY_PATTERN_BYTES: u64 = 64 << 20;
/// Terms that all fuzzy terms of a query become.
const MAX_EXPANSIONS: usize = 1024;
/// Postings up to which a pattern is scored document by document.
const MAX_BLENDED_POSTINGS: u64 = 65_536;

/// Keeps the nearest terms, of equally near ones those in the most documents, in order; whether any was dropped.
fn keep_best(found: &mut Vec<PatternTerm>) -> bool {
    if found.len() <= MAX_PATTERN_TERMS {
        return false;
    }
    order::by(found, |a, b| a.term.cmp(&b.term));
    order::by_key(found, |one| u64::from(one.edits) << 32 | u64::from(!one.info.doc_freq));
    found.truncate(MAX_PATTERN_TERMS);
    order::by(found, |a, b| a.term.cmp(&b.term));
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

/// Postings of the terms of a pattern, and the documents of the most frequent one, given those of each segment.
fn pattern_statistics<'t>(segments: impl Iterator<Item = &'t [PatternTerm]> + Clone) -> (u64, u64) {
    let terms = segments.clone().flatten().map(|term| (&term.term, u64::from(term.info.doc_freq)));
    let postings = terms.clone().map(|(_, doc_freq)| doc_freq).sum();
    if segments.filter(|terms| !terms.is_empty()).count() < 2 {
        return (postings, terms.map(|(_, doc_freq)| doc_freq).max().unwrap_or(0));
    }
    let mut doc_freqs = BTreeMap::<&Vec<u8>, u64>::new();
    terms.for_each(|(term, doc_freq)| *doc_freqs.entry(term).or_default() += doc_freq);
    (postings, doc_freqs.into_values().max().unwrap_or(0))
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
            let max_bytes = MAX_PATTERN_BYTES.min(self.pattern_bytes_left);
            let located = text.index.locate_pattern(&mut self.matchers[leaf], gap, max_bytes);
            let read: u64 = located.ranges.iter().map(|range| range.end - range.start).sum();
            self.pattern_bytes_left = self.pattern_bytes_left.saturating_sub(read);
            if located.is_cut {
                let pattern = &self.patterns[leaf].pattern;
                self.note(format!("`{pattern}`: only the first {read} bytes of a dictionary were searched for it"));
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
        while cursor.advance_key()? {
            if let Some(edits) = matcher.matches(cursor.term()) {
                if found.len() >= 2 * MAX_PATTERN_TERMS {
                    is_cut |= keep_best(found);
                }
                let info = *cursor.read_info()?;
                found.push(PatternTerm { term: cursor.term().to_vec(), info, edits, docs: Bytes::new() });
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

    /// Weighs all patterns, now that their terms are known; fuzzy ones become terms.
    pub(super) fn weigh_patterns(&mut self) {
        let is_fuzzy = |leaf: &PatternLeaf| matches!(leaf.pattern, TermPattern::Fuzzy(_));
        let num_fuzzy = self.patterns.iter().filter(|leaf| is_fuzzy(leaf)).count();
        let mut expansions: Vec<Option<Vec<(usize, f32)>>> = Vec::with_capacity(self.patterns.len());
        for leaf in 0..self.patterns.len() {
            let mut is_cut = false;
            for data in &mut self.data {
                is_cut |= keep_best(&mut data.patterns[leaf]);
            }
            if is_cut {
                self.note_cut(leaf);
            }
            if self.matchers[leaf].is_exhausted() {
                let pattern = &self.patterns[leaf].pattern;
                self.note(format!("`{pattern}`: too much work, only some of its terms were searched"));
            }
            let fuzzy = match &self.patterns[leaf].pattern {
                TermPattern::Fuzzy(fuzzy) => Some(fuzzy.clone()),
                _ => None,
            };
            expansions.push(match fuzzy {
                Some(fuzzy) => Some(self.expand(leaf, &fuzzy, MAX_EXPANSIONS / num_fuzzy)),
                None if self.patterns[leaf].max_terms > 0 => Some(self.expand_last(leaf)),
                None => None,
            });
            let (postings, doc_freq) = pattern_statistics(self.data.iter().map(|data| data.patterns[leaf].as_slice()));
            let weight = self.weight_of(self.patterns[leaf].field, doc_freq);
            let flat =
                (postings > MAX_BLENDED_POSTINGS).then(|| bm25::score(weight.weight, 1.0 / self.params.k1.max(1e-6)));
            self.pattern_weights.push(PatternWeight { weight, doc_freq, flat });
        }
        if expansions.iter().any(Option::is_some) {
            self.root.expand(&expansions);
        }
    }

    /// Makes terms of the most frequent ones of a pattern at the end of a phrase, the most frequent first.
    fn expand_last(&mut self, leaf: usize) -> Vec<(usize, f32)> {
        let mut found = BTreeMap::<Vec<u8>, (u64, Vec<(usize, TermInfo)>)>::new();
        for (segment, data) in self.data.iter_mut().enumerate() {
            for term in std::mem::take(&mut data.patterns[leaf]) {
                let entry = found.entry(term.term).or_default();
                entry.0 += u64::from(term.info.doc_freq);
                entry.1.push((segment, term.info));
            }
        }
        let mut ranked: Vec<_> = found.into_iter().collect();
        order::by_largest(&mut ranked, |(_, (doc_freq, _))| *doc_freq);
        let PatternLeaf { field, scored, max_terms, .. } = self.patterns[leaf];
        let max = (max_terms as usize).min(MAX_EXPANSIONS);
        if ranked.len() > max {
            let (pattern, all) = (&self.patterns[leaf].pattern, ranked.len());
            self.note(format!("`{pattern}`: only the {max} most frequent of {all} terms end the phrase"));
            ranked.truncate(max);
        }
        let mut terms = Vec::with_capacity(ranked.len());
        for (term, (doc_freq, infos)) in ranked {
            terms.push((self.add_term(TermLeaf { field, term, scored, positions: true }, doc_freq, infos), 1.0));
        }
        terms
    }

    /// Adds a term that was found while the query was expanded.
    fn add_term(&mut self, leaf: TermLeaf, doc_freq: u64, infos: Vec<(usize, TermInfo)>) -> usize {
        let weight = self.weight_of(leaf.field, doc_freq);
        self.terms.push(leaf);
        self.term_stats.push(TermStats { weight, doc_freq });
        self.data.iter_mut().for_each(|data| data.terms.push(SegmentTerm::default()));
        for (segment, info) in infos {
            if let Some(found) = self.data[segment].terms.last_mut() {
                found.info = Some(info);
            }
        }
        self.terms.len() - 1
    }

    /// Makes terms of the best of a fuzzy pattern, with what each counts. As in Lucene (top terms with blended
    /// frequencies) one that is an edit away counts for less, the less the shorter it is, and none for more because
    /// it is rare: they are weighed by the document frequency of the most frequent of them. Unlike there the term itself
    /// keeps its own weight, so that what was written as asked is not held to be as common as what looks like it.
    fn expand(&mut self, leaf: usize, fuzzy: &FuzzyPattern, room: usize) -> Vec<(usize, f32)> {
        let mut found = BTreeMap::<Vec<u8>, (u8, u64, Vec<(usize, TermInfo)>)>::new();
        for (segment, data) in self.data.iter_mut().enumerate() {
            for term in std::mem::take(&mut data.patterns[leaf]) {
                let entry = found.entry(term.term).or_insert((term.edits, 0, Vec::new()));
                entry.1 += u64::from(term.info.doc_freq);
                entry.2.push((segment, term.info));
            }
        }
        let num_chars = fuzzy.term.chars().count();
        let boost = |term: &[u8], edits: u8| {
            let shorter = num_chars.min(String::from_utf8_lossy(term).chars().count()).max(1);
            1.0 - f32::from(edits) / shorter as f32
        };
        let mut ranked: Vec<_> = found
            .into_iter()
            .map(|(term, (edits, doc_freq, infos))| (boost(&term, edits), doc_freq, term, infos))
            .collect();
        order::by(&mut ranked, |a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        let max = (fuzzy.max_expansions as usize).min(room).max(1);
        if ranked.len() > max {
            let (pattern, all) = (&self.patterns[leaf].pattern, ranked.len());
            self.note(format!("`{pattern}`: only the nearest {max} of {all} terms were searched"));
            ranked.truncate(max);
        }
        let doc_freq = ranked.iter().map(|term| term.1).max().unwrap_or(0);
        let PatternLeaf { field, scored, .. } = self.patterns[leaf];
        let weight = self.weight_of(field, doc_freq);
        let mut terms = Vec::with_capacity(ranked.len());
        for (boost, own_doc_freq, term, infos) in ranked {
            let is_exact = boost == 1.0;
            let (doc_freq, weight) =
                if is_exact { (own_doc_freq, self.weight_of(field, own_doc_freq)) } else { (doc_freq, weight.clone()) };
            terms.push((self.terms.len(), boost));
            self.terms.push(TermLeaf { field, term, scored, positions: false });
            self.term_stats.push(TermStats { weight, doc_freq });
            self.data.iter_mut().for_each(|data| data.terms.push(SegmentTerm::default()));
            for (segment, info) in infos {
                if let Some(found) = self.data[segment].terms.last_mut() {
                    found.info = Some(info);
                }
            }
        }
        terms
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
