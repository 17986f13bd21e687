//! Where a query matches inside a text.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use crate::{analysis::Analyzer, ids::FieldOrd, query::Query, terms::TermMatcher, topk::order};

/// Work of all patterns together in one text: far more than patterns people write need.
const MARK_WORK: u64 = 2_000_000;

/// A phrase: what stands at which place, by place.
#[derive(Debug, Clone)]
struct Phrase {
    slots: Vec<(u32, Wanted)>,
    slop: u32,
}

/// What a place of a phrase wants.
#[derive(Debug, Clone)]
enum Wanted {
    Term(Vec<u8>),
    /// What is being typed: any term that begins so.
    Prefix(Vec<u8>),
}

/// Where something wanted stands in a text: its position and its bytes, by position.
type Places = Vec<(u32, Range<usize>)>;

/// Marks the matches of a query in texts of one field. Made by [`Query::highlighter`].
#[derive(Debug, Clone, Default)]
pub struct Highlighter {
    terms: HashSet<Vec<u8>>,
    patterns: Vec<TermMatcher>,
    phrases: Vec<Phrase>,
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
                self.phrases.push(Phrase { slots: slots_of(&phrase.terms), slop: phrase.slop });
            }
            Query::PhrasePrefix(query) if query.phrase.field == wanted => {
                let (place, begun) = &query.last;
                let last = (*place, Wanted::Prefix(begun.clone()));
                let slots = slots_of(&query.phrase.terms).into_iter().chain([last]).collect();
                self.phrases.push(Phrase { slots, slop: query.phrase.slop });
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
        // Terms are looked up by their bytes; what is only begun is compared one by one, and there is little of it.
        let (mut terms, mut begun) = (HashMap::<&[u8], Places>::new(), HashMap::<&[u8], Places>::new());
        for (_, wanted) in self.phrases.iter().flat_map(|phrase| &phrase.slots) {
            match wanted {
                Wanted::Term(term) => terms.entry(term).or_default(),
                Wanted::Prefix(prefix) => begun.entry(prefix).or_default(),
            };
        }
        let mut patterns = self.patterns.clone();
        analyzer.analyze(text, |token| {
            let (term, range) = (token.term.as_bytes(), token.start as usize..token.end as usize);
            if range.is_empty() {
                return;
            }
            if self.terms.contains(term) || patterns.iter_mut().any(|pattern| pattern.matches(term).is_some()) {
                found.push(range.clone());
            }
            for (_, places) in begun.iter_mut().filter(|(prefix, _)| term.starts_with(prefix)) {
                places.push((token.position, range.clone()));
            }
            if let Some(places) = terms.get_mut(term) {
                places.push((token.position, range));
            }
        });
        let all = terms.values_mut().chain(begun.values_mut());
        all.for_each(|places| order::by_key(places, |(position, _)| u64::from(*position)));
        for phrase in &self.phrases {
            let slots = phrase.slots.iter().map(|(place, wanted)| {
                let places = match wanted {
                    Wanted::Term(term) => terms.get(term.as_slice()),
                    Wanted::Prefix(prefix) => begun.get(prefix.as_slice()),
                };
                (*place, places.map_or(&[][..], Vec::as_slice))
            });
            mark_phrase(&slots.collect::<Vec<_>>(), phrase.slop, &mut found);
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

fn slots_of(terms: &[(u32, Vec<u8>)]) -> Vec<(u32, Wanted)> {
    terms.iter().map(|(place, term)| (*place, Wanted::Term(term.clone()))).collect()
}

/// A place of a phrase, and where what it wants stands.
type Slot<'a> = (u32, &'a [(u32, Range<usize>)]);

/// Marks the words of a phrase where they are together.
fn mark_phrase(slots: &[Slot<'_>], slop: u32, found: &mut Vec<Range<usize>>) {
    let Some(((first_place, first), others)) = slots.split_first() else { return };
    for (position, range) in *first {
        let start = i64::from(*position) - i64::from(*first_place);
        let others = others.iter().map(|(place, list)| {
            let wanted = start + i64::from(*place);
            // The nearest is the last one in front, or the first one behind.
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
    use crate::query::{BooleanQuery, PhrasePrefixQuery, PhraseQuery};

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
    fn what_a_phrase_ends_with_is_marked_in_the_phrase_alone() {
        let query = |slop| {
            let phrase = PhraseQuery { field: FIELD, terms: vec![(0, b"rang".to_vec())], slop };
            Query::PhrasePrefix(PhrasePrefixQuery { phrase, last: (1, b"re".to_vec()), max_expansions: 50 })
        };
        let text = "A report on range requests, a request for a range, range readers; the range of a reader";
        assert_eq!(marked(&query(0), text), ["range", "requests", "range", "readers"]);
        // With slop the nearest one, wherever it is near enough: `of` and `a` are between.
        assert_eq!(marked(&query(2), text).last().map(String::as_str), Some("reader"));
        assert_eq!(marked(&query(0), "range, and a report; ranges").len(), 0);
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
