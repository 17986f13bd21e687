//! What a query may ask for in all.
//!
//! Terms are looked up in every segment, patterns walk through dictionaries and go through the lists of what they find.
//! Equal ones are looked up once; of different ones there are only so many, whoever wrote the query: trees name the
//! place where it becomes too much, parsers of text leave out what lies behind and say so.

#![forbid(unsafe_code)]

use crate::{ids::FieldOrd, query::Query, terms::TermPattern};

/// Terms that a query looks up at most, equal ones counted as often as they are written. A fuzzy term counts 4, what a
/// phrase ends with as many as it may stand for, a clause for documents like another one 1024.
pub const MAX_QUERY_TERMS: usize = 1 << 16;
/// Different patterns of a query at most, each in one field: prefixes, wildcards, regular expressions, ranges of terms.
/// In each segment the matches of every one may be a set of all documents: 32 MiB of a million documents.
pub const MAX_QUERY_PATTERNS: usize = 256;
/// Automata of fuzzy terms cost more to make than a term to look up.
const FUZZY_TERMS: usize = 4;
/// Candidates are more than the terms that are searched.
const MORE_LIKE_TERMS: usize = 1024;

/// A pattern in a field.
type FieldPattern<'q> = (FieldOrd, &'q TermPattern);

/// What the parts of a query come to so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    terms: usize,
    patterns: Vec<(FieldOrd, TermPattern)>,
}

impl Work {
    /// Adds a part, if the whole stays within bounds.
    ///
    /// # Errors
    /// Which bound it would not stay within, in words; nothing is added then.
    pub fn add(&mut self, query: &Query) -> Result<(), String> {
        let (mut terms, mut new) = (self.terms, Vec::new());
        self.measure(query, &mut terms, &mut new);
        if terms > MAX_QUERY_TERMS {
            return Err(format!("the query looks up {terms} terms so far, at most {MAX_QUERY_TERMS}"));
        }
        let patterns = self.patterns.len() + new.len();
        if patterns > MAX_QUERY_PATTERNS {
            let what = "different prefixes, wildcards and other patterns";
            return Err(format!("the query has {patterns} {what} so far, at most {MAX_QUERY_PATTERNS}"));
        }
        self.terms = terms;
        self.patterns.extend(new.into_iter().map(|(field, pattern)| (field, pattern.clone())));
        Ok(())
    }

    fn measure<'q>(&self, query: &'q Query, terms: &mut usize, new: &mut Vec<FieldPattern<'q>>) {
        match query {
            Query::Term { .. } => *terms += 1,
            Query::Phrase(phrase) => *terms += phrase.terms.len(),
            Query::PhrasePrefix(query) => {
                *terms += query.phrase.terms.len() + query.max_expansions as usize;
            }
            Query::Pattern { pattern: TermPattern::Fuzzy(_), .. } => *terms += FUZZY_TERMS,
            Query::Pattern { field, pattern, .. } => {
                let is_known = self.patterns.iter().any(|known| known.0 == *field && known.1 == *pattern);
                // One more than the most is enough to know.
                if !is_known && new.len() <= MAX_QUERY_PATTERNS && !new.contains(&(*field, pattern)) {
                    new.push((*field, pattern));
                }
            }
            Query::Boolean(boolean) => {
                let parts = [&boolean.must, &boolean.should, &boolean.must_not, &boolean.filter];
                parts.into_iter().flatten().for_each(|query| self.measure(query, terms, new));
            }
            Query::DisMax { queries, .. } => queries.iter().for_each(|query| self.measure(query, terms, new)),
            Query::Boost(query, _) | Query::Constant(query, _) => self.measure(query, terms, new),
            Query::Function(function) => self.measure(&function.query, terms, new),
            Query::MoreLike(_) => *terms += MORE_LIKE_TERMS,
            Query::All | Query::None | Query::Column(_) | Query::Filter(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELD: FieldOrd = FieldOrd(1);

    fn terms(count: usize) -> Query {
        let term = |ix: usize| Query::Term { field: FIELD, term: ix.to_string().into_bytes() };
        Query::DisMax { queries: (0..count).map(term).collect(), tie_breaker: 0.0 }
    }

    #[test]
    fn counts_terms_and_takes_nothing_that_is_too_much() {
        let mut work = Work::default();
        work.add(&terms(MAX_QUERY_TERMS - 1)).unwrap();
        let error = work.add(&terms(2)).unwrap_err();
        assert_eq!(error, "the query looks up 65537 terms so far, at most 65536");
        work.add(&terms(1)).unwrap();
        work.add(&Query::All).unwrap();
        work.add(&terms(1)).unwrap_err();
    }

    #[test]
    fn equal_patterns_are_one() {
        let mut work = Work::default();
        for round in 0..1000 {
            work.add(&Query::prefix(FIELD, format!("p{}", round % MAX_QUERY_PATTERNS))).unwrap();
        }
        work.add(&Query::prefix(FieldOrd(2), "p0")).unwrap_err();
        let error = work.add(&Query::prefix(FIELD, "other")).unwrap_err();
        assert!(error.contains("257 different"), "{error}");
    }
}
