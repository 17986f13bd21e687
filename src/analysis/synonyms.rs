//! Synonyms: `car, automobile` stand for each other, `colour => color` for the one on the right.

use std::collections::HashMap;

use crate::analysis::{AnalyzerError, OwnedToken, QueryWord};

/// Rules of one analyzer.
pub(super) const MAX_RULES: usize = 10_000;
/// Bytes of all rules of one analyzer: they are part of the schema, which every commit holds.
pub(super) const MAX_RULE_BYTES: usize = 256 << 10;
/// Words of one side of a rule.
const MAX_SIDE_WORDS: usize = 8;
/// What one side may stand for.
const MAX_ALTERNATIVES: usize = 32;

/// Rules, ready to be looked up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Synonyms {
    /// By the first term of what is replaced.
    rules: HashMap<String, Vec<Rule>>,
    /// Whether the index holds them; else queries are widened.
    pub at_index: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    /// All terms of what is replaced.
    terms: Vec<String>,
    /// What it stands for besides itself.
    others: Vec<Vec<String>>,
    /// Whether it stands for itself too.
    keeps: bool,
}

impl Synonyms {
    /// Reads rules; `terms_of` gives the terms of a side, by the analyzer that the rules belong to.
    ///
    /// # Errors
    /// If there are too many of them, or one makes no sense.
    pub fn parse(
        rules: &[String],
        at_index: bool,
        terms_of: &dyn Fn(&str) -> Vec<String>,
    ) -> Result<Self, AnalyzerError> {
        let bad = |what: String| AnalyzerError::Definition { what: format!("synonyms: {what}") };
        if rules.len() > MAX_RULES || rules.iter().map(String::len).sum::<usize>() > MAX_RULE_BYTES {
            return Err(bad(format!("at most {MAX_RULES} rules of {MAX_RULE_BYTES} bytes together are possible")));
        }
        let mut synonyms = Self { at_index, ..Self::default() };
        for rule in rules {
            let side = |text: &str| -> Result<Vec<Vec<String>>, AnalyzerError> {
                let sides: Vec<_> = text.split(',').map(terms_of).collect();
                if sides.iter().any(|terms| terms.is_empty() || terms.len() > MAX_SIDE_WORDS) {
                    return Err(bad(format!("rule {rule:?}: each side has 1 to {MAX_SIDE_WORDS} words")));
                }
                if sides.len() > MAX_ALTERNATIVES {
                    return Err(bad(format!("rule {rule:?}: at most {MAX_ALTERNATIVES} in one rule")));
                }
                Ok(sides)
            };
            match rule.split_once("=>") {
                Some((from, to)) => {
                    let to = side(to)?;
                    for terms in side(from)? {
                        let keeps = to.contains(&terms);
                        synonyms.insert(terms, &to, keeps).map_err(|()| bad(format!("rule {rule:?}: too many")))?;
                    }
                }
                None => {
                    let sides = side(rule)?;
                    if sides.len() < 2 {
                        return Err(bad(format!("rule {rule:?}: at least two, as in \"a, b\" or \"a => b\"")));
                    }
                    for terms in sides.clone() {
                        synonyms.insert(terms, &sides, true).map_err(|()| bad(format!("rule {rule:?}: too many")))?;
                    }
                }
            }
        }
        Ok(synonyms)
    }

    /// Fails where a side would stand for too many.
    fn insert(&mut self, terms: Vec<String>, others: &[Vec<String>], keeps: bool) -> Result<(), ()> {
        let Some(first) = terms.first() else { return Ok(()) };
        let rules = self.rules.entry(first.clone()).or_default();
        let ix = rules.iter().position(|rule| rule.terms == terms).unwrap_or_else(|| {
            rules.push(Rule { terms, others: Vec::new(), keeps: false });
            rules.len() - 1
        });
        let rule = &mut rules[ix];
        rule.keeps |= keeps;
        for other in others {
            if *other != rule.terms && !rule.others.contains(other) {
                rule.others.push(other.clone());
            }
        }
        if rule.others.len() > MAX_ALTERNATIVES { Err(()) } else { Ok(()) }
    }

    /// The longest rule at the beginning of `tokens`.
    fn find(&self, tokens: &[OwnedToken]) -> Option<&Rule> {
        let first = tokens.first()?;
        let matches = |rule: &&Rule| {
            rule.terms.len() <= tokens.len()
                && rule
                    .terms
                    .iter()
                    .zip(tokens)
                    .enumerate()
                    .all(|(ix, (term, token))| *term == token.term && token.position == first.position + ix as u32)
        };
        self.rules.get(&first.term)?.iter().filter(matches).max_by_key(|rule| rule.terms.len())
    }

    /// The words of a query whose plain tokens are `tokens`, one at each position.
    pub fn widen(&self, tokens: Vec<OwnedToken>) -> Vec<QueryWord> {
        let mut words = Vec::with_capacity(tokens.len());
        let mut at = 0;
        while at < tokens.len() {
            // An index that holds the alternatives needs none in the query, but what it does not hold is replaced.
            let rule = self.find(&tokens[at..]).filter(|rule| !(self.at_index && rule.keeps));
            let matched = &tokens[at..at + rule.map_or(1, |rule| rule.terms.len())];
            at += matched.len();
            words.push(query_word(matched, rule));
        }
        words
    }

    /// The tokens of a text that is indexed, with what they stand for, by position.
    pub fn expand(&self, tokens: Vec<OwnedToken>) -> Vec<OwnedToken> {
        let mut expanded: Vec<OwnedToken> = Vec::with_capacity(tokens.len());
        let mut at = 0;
        while at < tokens.len() {
            let Some(rule) = self.find(&tokens[at..]) else {
                expanded.push(tokens[at].clone());
                at += 1;
                continue;
            };
            let matched = &tokens[at..at + rule.terms.len()];
            at += matched.len();
            if rule.keeps {
                expanded.extend(matched.iter().cloned());
            }
            expanded.extend(rule.others.iter().flat_map(|other| sequence(other, matched)));
        }
        expanded.sort_by_key(|token| token.position);
        let mut kept: Vec<OwnedToken> = Vec::with_capacity(expanded.len());
        for token in expanded {
            let mut here = kept.iter().rev().take_while(|one| one.position == token.position);
            if !here.any(|one| one.term == token.term) {
                kept.push(token);
            }
        }
        kept
    }
}

/// `terms` in place of `matched`, word after word.
fn sequence<'a>(terms: &'a [String], matched: &'a [OwnedToken]) -> impl Iterator<Item = OwnedToken> + 'a {
    let start = matched.first().map_or(0, |token| token.start);
    let end = matched.last().map_or(0, |token| token.end);
    let first = matched.first().map_or(0, |token| token.position);
    terms.iter().enumerate().map(move |(ix, term)| OwnedToken {
        term: term.clone(),
        position: first.saturating_add(ix as u32),
        start,
        end,
        is_stop_word: false,
        is_lone_ideograph: false,
    })
}

fn query_word(matched: &[OwnedToken], rule: Option<&Rule>) -> QueryWord {
    let mut alternatives: Vec<Vec<OwnedToken>> = Vec::new();
    if rule.is_none_or(|rule| rule.keeps) {
        alternatives.push(matched.to_vec());
    }
    let others = rule.iter().flat_map(|rule| &rule.others);
    alternatives.extend(others.map(|other| sequence(other, matched).collect()));
    QueryWord {
        start: matched.first().map_or(0, |token| token.start),
        end: matched.last().map_or(0, |token| token.end),
        position: matched.first().map_or(0, |token| token.position),
        num_words: matched.len() as u32,
        is_stop_word: rule.is_none() && matched.iter().all(|token| token.is_stop_word),
        is_extra: false,
        alternatives,
    }
}
