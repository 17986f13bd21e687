//! Where a query matches inside a text.

use std::ops::Range;

use crate::{analysis::Analyzer, ids::FieldOrd, query::Query};

/// Marks the matches of a query in texts of one field.
#[derive(Debug, Clone)]
pub struct Highlighter;

impl Highlighter {
    pub(super) fn new(_query: &Query, _field: FieldOrd) -> Self {
        todo!()
    }

    /// Whether no text can be marked.
    pub fn is_empty(&self) -> bool {
        todo!()
    }

    /// Byte ranges of `text` that match, ascending, not overlapping; neighbours with nothing between them are one.
    pub fn mark(&self, _analyzer: Analyzer, _text: &str) -> Vec<Range<usize>> {
        todo!()
    }
}
