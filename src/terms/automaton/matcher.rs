//! A pattern made ready to be run over sorted terms.

use std::ops::Bound;

use super::{
    compile::Program,
    fuzzy::Fuzzy,
    lazy::Lazy,
    pattern::{MAX_PATTERN_CHARS, PatternError, TermPattern},
    regex,
    walk::{Automaton, Walk},
};

/// Tells which terms match a pattern, and where the next one could be.
#[derive(Debug, Clone)]
pub struct TermMatcher(Machine);

#[derive(Debug, Clone)]
enum Machine {
    Prefix(Vec<u8>),
    Range { from: Bound<Vec<u8>>, to: Bound<Vec<u8>> },
    Walk(Walk),
}

impl TermMatcher {
    /// Work that is enough for any pattern people write, over any dictionary; some tenths of a second.
    pub const DEFAULT_WORK: u64 = 40_000_000;

    /// Makes `pattern` ready.
    ///
    /// # Errors
    /// If it is not a regular expression, too long, or so that its automaton would be too large.
    pub fn new(pattern: &TermPattern) -> Result<Self, PatternError> {
        Self::with_work(pattern, Self::DEFAULT_WORK)
    }

    /// The same with a bound on what making states of the automaton may cost, in places of it that are looked at. Going
    /// from one known state to the next costs nothing.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_work(pattern: &TermPattern, max_work: u64) -> Result<Self, PatternError> {
        let lazy = |tree| Ok(Automaton::Lazy(Box::new(Lazy::new(Program::compile(&tree)?, max_work))));
        let automaton = match pattern {
            TermPattern::Prefix(prefix) => return Ok(Self(Machine::Prefix(prefix.clone()))),
            TermPattern::Range { from, to } => {
                return Ok(Self(Machine::Range { from: from.clone(), to: to.clone() }));
            }
            TermPattern::Wildcard(pattern) => lazy(regex::parse_wildcard(pattern)?)?,
            TermPattern::Regex(pattern) => lazy(regex::parse_regex(pattern)?)?,
            TermPattern::Fuzzy(fuzzy) if fuzzy.term.chars().nth(MAX_PATTERN_CHARS).is_some() => {
                return Err(PatternError::TooLong);
            }
            TermPattern::Fuzzy(fuzzy) => Automaton::Fuzzy(Fuzzy::new(fuzzy)),
        };
        Ok(Self(Machine::Walk(Walk::new(automaton))))
    }

    /// Allows for this much work from the beginning on, as [`Self::with_work`] does.
    pub fn limit_work(&mut self, max_work: u64) {
        if let Machine::Walk(walk) = &mut self.0 {
            walk.limit_work(max_work);
        }
    }

    /// Whether `term` matches: the edits of a fuzzy pattern, 0 of all others. Cheapest where terms ascend.
    pub fn matches(&mut self, term: &[u8]) -> Option<u8> {
        match &mut self.0 {
            Machine::Prefix(prefix) => term.starts_with(prefix).then_some(0),
            Machine::Range { from, to } => (is_above(from, term) && is_below(to, term)).then_some(0),
            Machine::Walk(walk) => walk.matches(term),
        }
    }

    /// The smallest byte string at or above `from` that could be a match or the beginning of one, or a smaller one if
    /// that is not known exactly; `None` if nothing at or above `from` matches.
    pub fn seek(&mut self, from: &[u8]) -> Option<Vec<u8>> {
        match &mut self.0 {
            Machine::Prefix(prefix) if from <= prefix.as_slice() => Some(prefix.clone()),
            Machine::Prefix(prefix) => from.starts_with(prefix).then(|| from.to_vec()),
            Machine::Range { from: bound, to } => {
                let start = match bound {
                    Bound::Included(bound) | Bound::Excluded(bound) => from.max(bound),
                    Bound::Unbounded => from,
                };
                is_below(to, start).then(|| start.to_vec())
            }
            Machine::Walk(walk) => walk.seek(from),
        }
    }

    /// Whether the pattern cost more than one may: nothing matches any more.
    pub fn is_exhausted(&self) -> bool {
        matches!(&self.0, Machine::Walk(walk) if walk.is_exhausted())
    }
}

fn is_above(bound: &Bound<Vec<u8>>, term: &[u8]) -> bool {
    match bound {
        Bound::Included(bound) => term >= bound.as_slice(),
        Bound::Excluded(bound) => term > bound.as_slice(),
        Bound::Unbounded => true,
    }
}

fn is_below(bound: &Bound<Vec<u8>>, term: &[u8]) -> bool {
    match bound {
        Bound::Included(bound) => term <= bound.as_slice(),
        Bound::Excluded(bound) => term < bound.as_slice(),
        Bound::Unbounded => true,
    }
}
