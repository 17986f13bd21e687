//! Which terms of a field are meant.

use std::{fmt, ops::Bound};

use thiserror::Error;

/// Longest wildcard pattern or regular expression, characters.
pub const MAX_PATTERN_CHARS: usize = 1000;
/// Most edits of a fuzzy term.
pub const MAX_EDITS: u8 = 2;

/// A set of terms, described.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TermPattern {
    /// Terms that start with these bytes.
    Prefix(Vec<u8>),
    /// `*`: any characters, `?`: any one, `\`: the next character as it is.
    Wildcard(String),
    /// A regular expression for the whole term: `.` any character, `? * + {n} {n,} {n,m}`, `|`, `( )`, `[a-z]`, `[^a-z]`,
    /// `\d \w \s` (ASCII) and `\D \W \S`, `\n \t \r`; `\` takes the meaning off any other character. `^` at the beginning
    /// and `$` at the end may stand for what holds anyway. No groups are captured, nothing is referred back to.
    Regex(String),
    /// Terms near another one.
    Fuzzy(FuzzyPattern),
    /// Terms between two others, in the order of their bytes.
    Range {
        /// Where they begin.
        from: Bound<Vec<u8>>,
        /// Where they end.
        to: Bound<Vec<u8>>,
    },
}

/// Terms near another one: so many characters inserted, left out, replaced or swapped with their neighbours (optimal
/// string alignment: no place is edited twice). As in Lucene the distance is below the length of the shorter term, so
/// that `ab` is not near `cd`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FuzzyPattern {
    /// The term as it is indexed.
    pub term: String,
    /// Most edits: 0, 1 or 2 ([`MAX_EDITS`]; more count as that).
    pub max_edits: u8,
    /// Characters at the beginning that must be equal.
    pub prefix_len: u32,
    /// How many terms are searched at most, over all segments, 1 to 1024: the nearest for their length, of equally near
    /// ones those in more documents.
    pub max_expansions: u32,
}

impl FuzzyPattern {
    /// Expansions as in Lucene.
    pub const DEFAULT_EXPANSIONS: u32 = 50;

    /// Terms at most `max_edits` from `term`, wherever the edits are.
    pub fn new(term: impl Into<String>, max_edits: u8) -> Self {
        Self { term: term.into(), max_edits, prefix_len: 0, max_expansions: Self::DEFAULT_EXPANSIONS }
    }
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PatternError {
    /// Not a regular expression.
    #[error("{what} at character {at}")]
    Syntax {
        /// What is wrong.
        what: &'static str,
        /// Which character, from 1.
        at: usize,
    },
    /// More characters than [`MAX_PATTERN_CHARS`].
    #[error("longer than {MAX_PATTERN_CHARS} characters")]
    TooLong,
    /// Its repetitions multiply to too many states.
    #[error("too many repetitions")]
    TooLarge,
}

impl fmt::Display for TermPattern {
    /// As the query syntax writes it, without a field.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let bound = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Included(term) | Bound::Excluded(term) => text(term),
            Bound::Unbounded => "*".to_owned(),
        };
        match self {
            Self::Prefix(prefix) => write!(f, "{}*", text(prefix)),
            Self::Wildcard(pattern) => f.write_str(pattern),
            Self::Regex(pattern) => write!(f, "/{pattern}/"),
            Self::Fuzzy(fuzzy) => write!(f, "{}~{}", fuzzy.term, fuzzy.max_edits.min(MAX_EDITS)),
            Self::Range { from, to } => {
                let open = if matches!(from, Bound::Excluded(_)) { '{' } else { '[' };
                let close = if matches!(to, Bound::Excluded(_)) { '}' } else { ']' };
                write!(f, "{open}{} TO {}{close}", bound(from), bound(to))
            }
        }
    }
}
