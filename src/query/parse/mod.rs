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

/// Bytes of text that are read. Longer text is a pasted document, not a question.
pub(crate) const MAX_QUERY_BYTES: usize = 32 << 10;
/// Words of plain text that are searched for.
pub(crate) const MAX_WORDS: usize = 1024;

/// The part of `text` that is read, and what to say of the rest.
fn readable(text: &str) -> (&str, Option<String>) {
    let head = &text[..text.floor_char_boundary(MAX_QUERY_BYTES)];
    (head, (head.len() < text.len()).then(|| format!("everything behind byte {MAX_QUERY_BYTES}")))
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
