//! Documents of one field, inverted in memory.

use crate::{analysis::Analyzer, error::Result, ids::DocOrd, terms::FieldOptions};

/// Inverts the documents of one field.
#[derive(Debug)]
pub struct Inverter {
    options: FieldOptions,
}

impl Inverter {
    /// An empty field.
    pub fn new(options: FieldOptions) -> Self {
        Self { options }
    }

    /// Adds the texts of a document; documents come in ascending order, each at most once.
    ///
    /// # Errors
    /// If the field would pass a limit of the format.
    pub fn add_text<T: AsRef<str>>(&mut self, _doc: DocOrd, _analyzer: Analyzer, _values: &[T]) -> Result<()> {
        todo!("{:?}", self.options)
    }

    /// Adds one exact term of a document (a keyword, an id). Documents come in ascending order; a repeated term counts
    /// once.
    ///
    /// # Errors
    /// If the term is longer than [`crate::terms::MAX_TERM_BYTES`].
    pub fn add_term(&mut self, _doc: DocOrd, _term: &[u8]) -> Result<()> {
        todo!()
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        todo!()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        todo!()
    }

    /// Sorts the terms; `max_doc` is the number of documents in the segment.
    pub fn finish(self, _max_doc: u32) -> InvertedField {
        todo!()
    }
}

/// A field ready to be written.
#[derive(Debug)]
pub struct InvertedField;

impl InvertedField {
    /// Appends the next terms, about 64 KiB of bytes; true while more are left.
    ///
    /// # Errors
    /// If the field passes a limit of the format.
    pub fn step(&mut self, _terms: &mut Vec<u8>, _postings: &mut Vec<u8>) -> Result<bool> {
        todo!()
    }

    /// Appends what is left of `terms` and gives the rest.
    pub fn finish(self, _terms: &mut Vec<u8>) -> FieldParts {
        todo!()
    }
}

/// What is left of a field when its data streams are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldParts {
    /// The `term_index` stream.
    pub term_index: Vec<u8>,
    /// The `norms` stream, one byte per document; `None` for a field without frequencies.
    pub norms: Option<Vec<u8>>,
}
