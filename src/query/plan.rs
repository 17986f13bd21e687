//! From a query to an answer, over all segments of a snapshot.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{
    bitset::BitSet,
    error::Result,
    ids::{DocOrd, FieldOrd},
    platform::Cancel,
    postings::TextStream,
    query::{Query, request::Explanation},
    terms::TermIndex,
};

/// What a plan knows of a segment; made once per snapshot and shared.
#[derive(Debug, Clone, Default)]
pub struct SegmentText {
    /// Documents, deleted ones included.
    pub max_doc: u32,
    /// Fields with terms: text, keyword, id.
    pub fields: BTreeMap<FieldOrd, FieldText>,
}

/// One field of a segment.
#[derive(Debug, Clone)]
pub struct FieldText {
    /// The parsed term index.
    pub index: Arc<TermIndex>,
    /// The whole `terms` stream, where it is resident.
    pub terms: Option<Bytes>,
    /// The whole `postings` stream, where it is resident.
    pub postings: Option<Bytes>,
    /// The whole `norms` stream, where it is resident.
    pub norms: Option<Bytes>,
    /// Whether the field has norms at all (text fields do).
    pub has_norms: bool,
}

/// Which documents of a segment may match.
#[derive(Debug, Clone, Default)]
pub struct SegmentFilter {
    /// Live documents; `None`: all.
    pub live: Option<Arc<BitSet>>,
    /// What every match must be in besides (the request's column filter); `None`: no condition.
    pub filter: Option<Arc<BitSet>>,
    /// The sets that [`Query::Filter`] leaves name.
    pub sets: Vec<Arc<BitSet>>,
}

/// Bytes that a plan needs next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Position of the segment in the plan.
    pub segment: usize,
    /// The field.
    pub field: FieldOrd,
    /// Which of its streams.
    pub stream: TextStream,
    /// Which bytes.
    pub range: Range<u64>,
}

/// One ranked document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredDoc {
    /// Larger is better.
    pub score: f32,
    /// Position of the segment in the plan.
    pub segment: u32,
    /// The document.
    pub doc: DocOrd,
}

/// A query on its way to its answer.
#[derive(Debug)]
pub struct Plan;

impl Plan {
    /// Plans `query` over `segments`.
    pub fn new(_query: &Query, _segments: Vec<Arc<SegmentText>>) -> Self {
        todo!()
    }

    /// Whether nothing more is wanted.
    pub fn is_ready(&self) -> bool {
        todo!()
    }

    /// Ranges to read next, of all segments.
    pub fn wanted(&self) -> Vec<Want> {
        todo!()
    }

    /// Takes the bytes of [`Self::wanted`], in order.
    ///
    /// # Errors
    /// `corrupt` if they are damaged.
    pub fn feed(&mut self, _bytes: Vec<Bytes>) -> Result<()> {
        todo!()
    }

    /// The `k` best documents: score descending, then segment and document ascending. Skips what cannot get there.
    ///
    /// # Errors
    /// `corrupt` if postings are damaged, `aborted` once cancelled.
    pub fn top_k(&self, _k: usize, _filters: &[SegmentFilter], _cancel: &Cancel) -> Result<Vec<ScoredDoc>> {
        todo!()
    }

    /// The same without skipping anything: the twin that tests compare with.
    ///
    /// # Errors
    /// As [`Self::top_k`].
    pub fn top_k_exhaustive(&self, _k: usize, _filters: &[SegmentFilter], _cancel: &Cancel) -> Result<Vec<ScoredDoc>> {
        todo!()
    }

    /// How many documents match, exactly; nothing is scored.
    ///
    /// # Errors
    /// As [`Self::top_k`].
    pub fn count(&self, _filters: &[SegmentFilter], _cancel: &Cancel) -> Result<u64> {
        todo!()
    }

    /// The matching documents of a segment.
    ///
    /// # Errors
    /// If postings are damaged.
    pub fn matches(&self, _segment: usize, _filter: &SegmentFilter) -> Result<BitSet> {
        todo!()
    }

    /// The scores of given documents of a segment (ascending); `None` where one does not match.
    ///
    /// # Errors
    /// If postings are damaged.
    pub fn scores(&self, _segment: usize, _docs: &[DocOrd], _filter: &SegmentFilter) -> Result<Vec<Option<f32>>> {
        todo!()
    }

    /// How the score of a document comes about; `None` if it does not match.
    ///
    /// # Errors
    /// If postings are damaged.
    pub fn explain(&self, _segment: usize, _doc: DocOrd, _filter: &SegmentFilter) -> Result<Option<Explanation>> {
        todo!()
    }

    /// What was cut to stay within bounds (a prefix with too many terms), in words.
    pub fn notes(&self) -> &[String] {
        todo!()
    }
}
