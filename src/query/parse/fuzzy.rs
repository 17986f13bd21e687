//! Words with typing errors, and regular expressions in the case that terms have.

use crate::{
    query::{BooleanQuery, PatternScoring, Query, parse::ParseOptions, request::Fuzziness},
    terms::{FuzzyPattern, TermPattern},
};

/// The query of a word with the terms near its own besides them, as the options allow. Words with digits stay as they
/// are where the edits go by length: numbers and codes near each other mean different things. So do phrases.
pub(super) fn tolerant(query: Query, options: &ParseOptions) -> Query {
    if options.fuzzy == Fuzziness::default() {
        return query;
    }
    near_terms(query, &|term| {
        let is_code = options.fuzzy == Fuzziness::Auto && term.bytes().any(|byte| byte.is_ascii_digit());
        let max_edits = if is_code { 0 } else { options.fuzzy.edits(term.chars().count()) };
        FuzzyPattern { prefix_len: options.fuzzy_prefix_len, ..FuzzyPattern::new(term, max_edits) }
    })
}

/// The query with the terms near its own besides them; a term whose pattern allows no edits stays as it is.
pub(in crate::query) fn near_terms(query: Query, pattern_of: &dyn Fn(&str) -> FuzzyPattern) -> Query {
    let all = |queries: Vec<Query>| queries.into_iter().map(|query| near_terms(query, pattern_of)).collect();
    match query {
        Query::Term { field, term } => match std::str::from_utf8(&term).map(pattern_of) {
            Ok(pattern) if pattern.max_edits > 0 => {
                Query::Pattern { field, pattern: TermPattern::Fuzzy(pattern), scoring: PatternScoring::Blended }
            }
            _ => Query::Term { field, term },
        },
        Query::Boost(inner, factor) => Query::Boost(Box::new(near_terms(*inner, pattern_of)), factor),
        Query::DisMax { queries, tie_breaker } => Query::DisMax { queries: all(queries), tie_breaker },
        Query::Boolean(boolean) => Query::Boolean(BooleanQuery {
            must: all(boolean.must),
            should: all(boolean.should),
            must_not: boolean.must_not,
            filter: boolean.filter,
            min_should_match: boolean.min_should_match,
        }),
        other => other,
    }
}

/// A regular expression whose letters are folded as those of terms; what has a meaning stays. In classes a letter that
/// folds to several stays too.
pub(super) fn fold_regex(regex: &str, fold: &dyn Fn(&str) -> String) -> String {
    let (mut out, mut run, mut is_in_class) = (String::with_capacity(regex.len()), String::new(), false);
    let mut letters = regex.chars();
    let flush = |run: &mut String, out: &mut String| {
        if !run.is_empty() {
            out.push_str(&fold(run));
            run.clear();
        }
    };
    while let Some(letter) = letters.next() {
        if letter.is_alphanumeric() && !is_in_class {
            run.push(letter);
            continue;
        }
        flush(&mut run, &mut out);
        if is_in_class && letter.is_alphanumeric() {
            let folded = fold(letter.encode_utf8(&mut [0; 4]));
            let mut single = folded.chars();
            out.push(single.next().filter(|_| single.next().is_none()).unwrap_or(letter));
            continue;
        }
        is_in_class = match letter {
            '[' => true,
            ']' => false,
            _ => is_in_class,
        };
        out.push(letter);
        if letter == '\\' {
            out.extend(letters.next());
        }
    }
    flush(&mut run, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_letters_and_nothing_else() {
        let fold = |regex| fold_regex(regex, &|part| crate::analysis::fold(part).into_owned());
        assert_eq!(fold("Ö(L|Ä)+\\W\\D[A-ZÉß]{2}Straße"), "o(l|a)+\\W\\D[a-zeß]{2}strasse");
    }
}
