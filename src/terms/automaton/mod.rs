//! Patterns of terms, and how a sorted dictionary is searched for what they match.
//!
//! A [`TermPattern`] says which terms are meant. A [`TermMatcher`] is that pattern made ready: it tells whether a term
//! matches, and it leaps: [`TermMatcher::seek`] names the smallest term at or above a given one that could match, so that
//! [`crate::terms::TermIndex::locate_pattern`] asks for those blocks of a dictionary alone that can hold matches.

mod matcher;
mod pattern;

pub use matcher::TermMatcher;
pub use pattern::TermPattern;

#[cfg(test)]
mod tests;
