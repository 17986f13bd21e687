//! The same field of several segments becomes one.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{
    bitset::DocMap,
    error::Result,
    postings::TextStream,
    terms::{FieldOptions, TermIndex},
};

/// Appends the norms of a source's live documents; `bytes` are its norms from `first_doc` on. A source without the
/// field gives zeros: pass those.
pub fn merge_norms(_map: &DocMap, _source: usize, _first_doc: u32, _bytes: &[u8], _out: &mut Vec<u8>) {
    todo!()
}

/// Bytes that a merge needs next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Which source, as in the [`DocMap`].
    pub source: usize,
    /// Which of its streams: terms or postings.
    pub stream: TextStream,
    /// Which bytes.
    pub range: Range<u64>,
}

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStep {
    /// Something was appended; call again.
    Progress,
    /// Bytes are missing: see [`FieldMerger::wanted`].
    Wants,
    /// All terms are written; call [`FieldMerger::finish`].
    Done,
}

/// Merges the terms and postings of one field.
#[derive(Debug)]
pub struct FieldMerger;

impl FieldMerger {
    /// A merge of `sources`, as in `map`; `None` is a source without the field. `norms` are those of the merged
    /// segment, for a text field. Reads `window_bytes` ahead per source.
    ///
    /// # Errors
    /// If a source keeps less than `options` ask for.
    pub fn new(
        _options: FieldOptions,
        _sources: Vec<Option<Arc<TermIndex>>>,
        _map: Arc<DocMap>,
        _norms: Option<Vec<u8>>,
        _window_bytes: u64,
    ) -> Result<Self> {
        todo!()
    }

    /// Ranges to read after [`MergeStep::Wants`].
    pub fn wanted(&self) -> &[Want] {
        todo!()
    }

    /// Takes the bytes of [`Self::wanted`], in order.
    ///
    /// # Errors
    /// If their number or lengths differ.
    pub fn feed(&mut self, _bytes: Vec<Bytes>) -> Result<()> {
        todo!()
    }

    /// Works until about 64 KiB are appended, bytes are missing or all is done.
    ///
    /// # Errors
    /// If a source is damaged.
    pub fn step(&mut self, _terms: &mut Vec<u8>, _postings: &mut Vec<u8>) -> Result<MergeStep> {
        todo!()
    }

    /// Appends what is left of `terms` and gives the `term_index` stream.
    pub fn finish(self, _terms: &mut Vec<u8>) -> Vec<u8> {
        todo!()
    }
}
