//! Text to query trees.

mod fuzzy;
mod lucene;
mod plain;
pub(in crate::query) mod words;

use crate::{
    analysis::Analyzer,
    columns::ColumnKind,
    ids::{DocId, FieldOrd},
    query::{
        ColumnField, ColumnTest, Query,
        request::{Fuzziness, MatchMode},
    },
    topk::order,
};

pub(in crate::query) use fuzzy::near_terms;
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

/// A field whose values the syntax may ask for: a range, a comparison, whether there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct ParseColumn {
    /// The field.
    pub field: FieldOrd,
    /// Its name in the syntax.
    pub name: String,
    /// What its column holds; `None` if it has none.
    pub kind: Option<ColumnKind>,
    /// Whether it is the field of ids.
    pub is_id: bool,
}

impl ParseColumn {
    /// Whether values of it can be asked for.
    fn is_searchable(&self) -> bool {
        self.is_id || self.kind.is_some()
    }

    /// Tests as [`ColumnField::text_tests`] reads them; `None` if a value does not suit the field.
    fn test(&self, tests: &[(&str, &str)]) -> Option<ColumnTest> {
        if self.is_id {
            let [("eq", id)] = tests else { return None };
            let text = (!id.is_empty()).then(|| DocId::Str((*id).to_owned()));
            let mut ids: Vec<_> = text.into_iter().chain(id.parse().ok().map(DocId::Int)).collect();
            order::by(&mut ids, DocId::cmp);
            return (!ids.is_empty()).then_some(ColumnTest::Ids(ids));
        }
        let field = ColumnField { place: "query", name: &self.name, ord: self.field, kind: self.kind? };
        field.text_tests(tests)
    }
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
    /// Typing errors that words of plain text may have.
    pub fuzzy: Fuzziness,
    /// Characters at the beginning of a word that have none.
    pub fuzzy_prefix_len: u32,
    /// All fields, for conditions on their columns.
    pub columns: Vec<ParseColumn>,
}

/// Bytes of text that are read. Longer text is a pasted document, not a question.
pub(crate) const MAX_QUERY_BYTES: usize = 32 << 10;
/// Farthest that words of a phrase may be from their places.
const MAX_SLOP: u32 = 10_000;
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
