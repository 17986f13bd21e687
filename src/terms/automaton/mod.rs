//! Patterns of terms, and how a sorted dictionary is searched for what they match.
//!
//! A [`TermPattern`] says which terms are meant. A [`TermMatcher`] is that pattern made ready: it tells whether a term
//! matches, and it leaps: [`TermMatcher::seek`] names the smallest term at or above a given one that could match, so that
//! [`crate::terms::TermIndex::locate_pattern`] asks for those blocks of a dictionary alone that can hold matches.
//!
//! ```
//! use rangefind::terms::{TermMatcher, TermPattern};
//!
//! let mut matcher = TermMatcher::new(&TermPattern::Regex("colou?r(s|ed)?".to_owned()))?;
//! assert!(matcher.matches(b"colors").is_some() && matcher.matches(b"colouring").is_none());
//! assert_eq!(matcher.seek(b"colorz").as_deref(), Some(&b"colour"[..]), "nothing in between can match");
//! # Ok::<(), rangefind::terms::PatternError>(())
//! ```
//!
//! **How.** Wildcards and regular expressions become a Thompson automaton over classes of characters ([`compile`]), run
//! as a deterministic one that is made as it is needed and forgotten when it grows too large ([`lazy`]). Edit distance is
//! a banded table, one row per character ([`fuzzy`]). A walk ([`walk`]) keeps the states of the last term's characters: the
//! next term goes on where both part. Every step is counted, and a matcher that has worked too much stops:
//! [`TermMatcher::is_exhausted`]. Terms are read as UTF-8; bytes that are not match no pattern but prefixes and ranges.

mod chars;
mod compile;
mod fuzzy;
mod lazy;
mod matcher;
mod pattern;
mod regex;
mod walk;

pub use fuzzy::auto_edits;
pub use matcher::TermMatcher;
pub use pattern::{FuzzyPattern, MAX_EDITS, MAX_PATTERN_CHARS, PatternError, TermPattern};

#[cfg(test)]
mod tests;
