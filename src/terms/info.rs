//! What the dictionary knows of a field and of a term.

use std::ops::Range;

use crate::codec::PostingsCodec;

/// What the postings of a field keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FieldOptions {
    /// How often a term occurs in a document.
    pub freqs: bool,
    /// Where it occurs; needs `freqs`.
    pub positions: bool,
    /// How they are encoded. Not part of the dictionary: the segment's table of contents says it.
    pub codec: PostingsCodec,
}

impl FieldOptions {
    /// A text field that phrases can search.
    pub const TEXT: Self = Self { freqs: true, positions: true, codec: PostingsCodec::Fast };
    /// A keyword or id field: documents only.
    pub const KEYWORD: Self = Self { freqs: false, positions: false, codec: PostingsCodec::Fast };
    /// Documents and frequencies: for ranking, not for phrases.
    pub const FREQS: Self = Self { freqs: true, positions: false, codec: PostingsCodec::Fast };

    /// The same, encoded with `codec`.
    #[must_use]
    pub const fn with_codec(self, codec: PostingsCodec) -> Self {
        Self { codec, ..self }
    }

    pub(super) fn to_byte(self) -> u8 {
        u8::from(self.freqs) | u8::from(self.positions) << 1
    }

    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        let options = Self { freqs: byte & 1 != 0, positions: byte & 2 != 0, ..Self::default() };
        (byte < 4 && (options.freqs || !options.positions)).then_some(options)
    }
}

/// Totals of one field in one segment, deleted documents included. Those of several segments add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FieldTotals {
    /// Documents that have the field.
    pub doc_count: u64,
    /// Occurrences of all terms: the field's length in tokens. Equals `sum_doc_freq` where frequencies are not kept.
    pub sum_total_term_freq: u64,
    /// Postings: the sum of all document frequencies.
    pub sum_doc_freq: u64,
    /// Distinct terms. Not exact when added up over segments.
    pub num_terms: u64,
}

impl FieldTotals {
    /// Adds the totals of another segment.
    pub fn add(&mut self, other: &Self) {
        self.doc_count += other.doc_count;
        self.sum_total_term_freq += other.sum_total_term_freq;
        self.sum_doc_freq += other.sum_doc_freq;
        self.num_terms += other.num_terms;
    }
}

/// Statistics of one term in one segment and where its postings are.
///
/// The parts of a term follow each other in the `postings` stream: positions, skip data, documents. A term of one
/// document has no skip data and no documents there, and no positions either if it occurs once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TermInfo {
    /// Documents with the term.
    pub doc_freq: u32,
    /// Its occurrences; equals `doc_freq` where frequencies are not kept.
    pub total_term_freq: u64,
    /// Where its positions start in the `postings` stream.
    pub start: u64,
    /// Bytes of positions.
    pub positions_len: u64,
    /// Bytes of skip data.
    pub skip_len: u32,
    /// Bytes of documents and frequencies.
    pub docs_len: u32,
    /// The document, if there is only one.
    pub singleton: Option<u32>,
    /// The position, if there is only one document with only one.
    pub inline_position: Option<u32>,
}

impl TermInfo {
    /// A term of one document, without frequencies.
    pub fn singleton(doc: u32) -> Self {
        Self { doc_freq: 1, total_term_freq: 1, singleton: Some(doc), ..Self::default() }
    }

    /// Bytes of all parts.
    pub fn len_bytes(&self) -> u64 {
        self.positions_len + u64::from(self.skip_len) + u64::from(self.docs_len)
    }

    /// Where skip data and documents are; empty for a singleton.
    pub fn docs_range(&self) -> Range<u64> {
        let start = self.start.saturating_add(self.positions_len);
        start..start.saturating_add(u64::from(self.skip_len) + u64::from(self.docs_len))
    }

    /// Where positions are; empty if there are none or the only one is here.
    pub fn positions_range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.positions_len)
    }

    /// Where all parts are.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.len_bytes())
    }
}
