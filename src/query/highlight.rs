//! Where a query matches inside a text.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use crate::{
    analysis::Analyzer,
    ids::FieldOrd,
    query::Query,
    terms::{TermMatcher, TermPattern},
    topk::order,
};

/// Work of all patterns together in one text: far more than patterns people write need.
const MARK_WORK: u64 = 2_000_000;

/// Terms of a phrase, each with its distance from the first.
type Positions = Vec<(u32, Vec<u8>)>;

/// Marks the matches of a query in texts of one field. Made by [`Query::highlighter`].
#[derive(Debug, Clone, Default)]
pub struct Highlighter {
    terms: HashSet<Vec<u8>>,
    patterns: Vec<TermMatcher>,
    phrases: Vec<(Positions, u32)>,
}

impl Highlighter {
    pub(super) fn new(query: &Query, field: FieldOrd) -> Self {
        let mut highlighter = Self::default();
        highlighter.collect(query, field);
        let share = MARK_WORK / highlighter.patterns.len().max(1) as u64;
        highlighter.patterns.iter_mut().for_each(|pattern| pattern.limit_work(share));
        highlighter
    }

    fn collect(&mut self, query: &Query, wanted: FieldOrd) {
        match query {
            Query::Term { field, term } if *field == wanted => {
                self.terms.insert(term.clone());
            }
            Query::Pattern { field, pattern, .. } if *field == wanted => {
                self.patterns.extend(TermMatcher::new(pattern))
            }
            Query::Phrase(phrase) if phrase.field == wanted && !phrase.terms.is_empty() => {
                self.phrases.push((phrase.terms.clone(), phrase.slop));
            }
            Query::PhrasePrefix(query) if query.phrase.field == wanted => {
                // Its words are marked where they are together, what is typed wherever a word begins with it.
                self.phrases.push((query.phrase.terms.clone(), query.phrase.slop));
                self.patterns.extend(TermMatcher::new(&TermPattern::Prefix(query.last.1.clone())));
            }
            Query::Boolean(boolean) => {
                let positive = boolean.must.iter().chain(&boolean.should).chain(&boolean.filter);
                positive.for_each(|query| self.collect(query, wanted));
            }
            Query::DisMax { queries, .. } => queries.iter().for_each(|query| self.collect(query, wanted)),
            Query::Boost(query, _) | Query::Constant(query, _) => self.collect(query, wanted),
            Query::Function(function) => self.collect(&function.query, wanted),
            _ => {}
        }
    }

    /// Whether no text can be marked.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.patterns.is_empty() && self.phrases.is_empty()
    }

    /// Byte ranges of `text` that match, ascending, not overlapping; neighbours with nothing between them are one.
    /// Words of a phrase are marked where the phrase is.
    pub fn mark(&self, analyzer: &Analyzer, text: &str) -> Vec<Range<usize>> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<Range<usize>> = Vec::new();
        // Places of the terms that phrases need: position and bytes.
        let mut places: HashMap<&[u8], Vec<(u32, Range<usize>)>> =
            self.phrases.iter().flat_map(|(terms, _)| terms).map(|(_, term)| (term.as_slice(), Vec::new())).collect();
        let mut patterns = self.patterns.clone();
        analyzer.analyze(text, |token| {
            let (term, range) = (token.term.as_bytes(), token.start as usize..token.end as usize);
            if range.is_empty() {
                return;
            }
            if self.terms.contains(term) || patterns.iter_mut().any(|pattern| pattern.matches(term).is_some()) {
                found.push(range.clone());
            }
            if let Some(places) = places.get_mut(term) {
                places.push((token.position, range));
            }
        });
        places.values_mut().for_each(|places| order::by_key(places, |(position, _)| u64::from(*position)));
        for (terms, slop) in &self.phrases {
            mark_phrase(terms, *slop, &places, &mut found);
        }
        order::by_key(&mut found, |range| range.start as u64);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for range in found {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }
}

fn mark_phrase(
    terms: &[(u32, Vec<u8>)],
    slop: u32,
    places: &HashMap<&[u8], Vec<(u32, Range<usize>)>>,
    found: &mut Vec<Range<usize>>,
) {
    let Some((first_place, first)) = terms.first() else { return };
    let all = |term: &[u8]| places.get(term).map_or(&[][..], Vec::as_slice);
    for (position, range) in all(first) {
        let start = i64::from(*position) - i64::from(*first_place);
        let others = terms[1..].iter().map(|(place, term)| {
            let wanted = start + i64::from(*place);
            // The nearest is the last one in front, or the first one behind.
            let list = all(term);
            let behind = list.partition_point(|(position, _)| i64::from(*position) < wanted);
            let near = list[behind.saturating_sub(1)..].iter().take(2);
            let near = near.map(|(position, range)| ((i64::from(*position) - wanted).unsigned_abs(), range));
            near.min_by_key(|(distance, _)| *distance).filter(|(distance, _)| *distance <= u64::from(slop))
        });
        if let Some(others) = others.map(|near| near.map(|(_, range)| range.clone())).collect::<Option<Vec<_>>>() {
            found.push(range.clone());
            found.extend(others);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{BooleanQuery, PhraseQuery};

    const FIELD: FieldOrd = FieldOrd(1);

    fn term(term: &str) -> Query {
        Query::Term { field: FIELD, term: term.into() }
    }

    fn marked(query: &Query, text: &str) -> Vec<String> {
        let analyzer = Analyzer::find("english").unwrap();
        query.highlighter(FIELD).mark(&analyzer, text).into_iter().map(|range| text[range].to_owned()).collect()
    }

    #[test]
    fn marks_words_prefixes_and_whole_phrases() {
        let phrase =
            PhraseQuery { field: FIELD, terms: vec![(0, b"rang".to_vec()), (1, b"request".to_vec())], slop: 0 };
        let query = Query::Boolean(BooleanQuery {
            must: vec![Query::Phrase(phrase)],
            should: vec![term("cach"), Query::prefix(FIELD, "wa")],
            must_not: vec![term("java")],
            ..BooleanQuery::default()
        });
        let text = "Range requests; a range of caches. Java request in WASM: range-requests";
        assert_eq!(marked(&query, text), ["Range", "requests", "caches", "WASM", "range", "requests"]);
        assert!(query.highlighter(FieldOrd(2)).is_empty());
    }

    #[test]
    fn phrases_are_marked_in_long_texts_of_few_words() {
        let phrase = |slop| {
            let terms = vec![(0, b"a1".to_vec()), (1, b"b1".to_vec()), (2, b"a1".to_vec())];
            Query::Phrase(PhraseQuery { field: FIELD, terms, slop })
        };
        let text = format!("b1 {}c1 b1 a1 c1 a1", "a1 b1 ".repeat(20_000));
        let exact = marked(&phrase(0), &text);
        // All that alternates, up to the last `a1` of it.
        assert_eq!(exact.len(), 2 * 20_000 - 1);
        // With the last pair, and the three words behind it.
        assert_eq!(marked(&phrase(2), &text).len(), exact.len() + 4);
    }

    #[test]
    fn bigrams_that_touch_are_one_mark() {
        let query =
            Query::Boolean(BooleanQuery { should: vec![term("日本"), term("本語")], ..BooleanQuery::default() });
        assert_eq!(marked(&query, "日本語です"), ["日本語"]);
    }
}
