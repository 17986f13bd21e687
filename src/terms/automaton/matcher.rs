//! A pattern made ready to be run over sorted terms.

use std::ops::Bound;

use crate::terms::TermPattern;

/// Tells which terms match a pattern, and where the next one could be.
#[derive(Debug, Clone)]
pub struct TermMatcher {
    machine: Machine,
}

#[derive(Debug, Clone)]
enum Machine {
    Prefix(Vec<u8>),
    Range { from: Bound<Vec<u8>>, to: Bound<Vec<u8>> },
}

impl TermMatcher {
    /// Makes `pattern` ready.
    pub fn new(pattern: &TermPattern) -> Self {
        let machine = match pattern {
            TermPattern::Prefix(prefix) => Machine::Prefix(prefix.clone()),
            TermPattern::Range { from, to } => Machine::Range { from: from.clone(), to: to.clone() },
        };
        Self { machine }
    }

    /// Whether `term` matches. Cheapest where terms ascend.
    pub fn matches(&mut self, term: &[u8]) -> bool {
        match &self.machine {
            Machine::Prefix(prefix) => term.starts_with(prefix),
            Machine::Range { from, to } => is_above(from, term) && is_below(to, term),
        }
    }

    /// The smallest byte string at or above `from` that could be a match or the beginning of one, or a smaller one if
    /// that is not known exactly; `None` if nothing at or above `from` matches.
    pub fn seek(&mut self, from: &[u8]) -> Option<Vec<u8>> {
        match &self.machine {
            Machine::Prefix(prefix) if from <= prefix.as_slice() => Some(prefix.clone()),
            Machine::Prefix(prefix) => from.starts_with(prefix).then(|| from.to_vec()),
            Machine::Range { from: bound, to } => {
                let start = match bound {
                    Bound::Included(bound) | Bound::Excluded(bound) => from.max(bound),
                    Bound::Unbounded => from,
                };
                is_below(to, start).then(|| start.to_vec())
            }
        }
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
