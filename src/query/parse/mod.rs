//! Text to query trees.

mod lucene;
mod plain;
mod words;

use crate::{
    analysis::Analyzer,
    ids::FieldOrd,
    query::{Query, request::MatchMode},
};

pub use lucene::parse_lucene;
pub use plain::parse_plain;

/// A text field that a parser may search.
#[derive(Debug, Clone, PartialEq)]
pub struct ParseField {
    /// The field.
    pub field: FieldOrd,
    /// Its name in the syntax.
    pub name: String,
    /// Its analyzer.
    pub analyzer: Analyzer,
    /// Factor on its scores.
    pub boost: f32,
    /// Whether it has positions: phrases need them, else all their words must match.
    pub positions: bool,
}

/// What a parser needs to know.
#[derive(Debug, Clone, Default)]
pub struct ParseOptions {
    /// Fields searched where the text names none.
    pub default_fields: Vec<ParseField>,
    /// Fields that the syntax may name (`field:term`), text and keyword (analyzer `keyword`).
    pub named_fields: Vec<ParseField>,
    /// Whether one word is enough or all must match.
    pub matching: MatchMode,
    /// Whether the last word is a prefix.
    pub prefix: bool,
}

/// A query and what of its text was left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The query.
    pub query: Query,
    /// What was ignored, in words.
    pub ignored: Vec<String>,
}

#[cfg(test)]
mod tests;
