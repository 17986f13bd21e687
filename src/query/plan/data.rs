//! What a plan knows of segments, fields and terms, and what it gives.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{
    bitset::BitSet,
    ids::{DocOrd, FieldOrd},
    postings::{Runs, TermBytes, TextStream},
    query::{
        ColumnInput,
        bm25::LengthTable,
        scorer::term::{Norms, TermWeight},
    },
    terms::{FieldTotals, TermIndex, TermInfo},
    topk::order,
};

/// What a plan knows of a segment; made once per snapshot and shared.
#[derive(Debug, Clone, Default)]
pub struct SegmentText {
    /// Documents, deleted ones included.
    pub max_doc: u32,
    /// Fields with terms: text, keyword, id.
    pub fields: BTreeMap<FieldOrd, FieldText>,
    /// Whether it costs next to nothing to read: it is read whole then, in any case.
    pub is_near: bool,
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
    /// What each of [`Plan::columns`](super::Plan::columns) is in the segment.
    pub columns: Vec<ColumnInput>,
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

/// A term in one segment.
#[derive(Debug, Clone, Default)]
pub(in crate::query) struct SegmentTerm {
    pub info: Option<TermInfo>,
    pub bytes: TermBytes,
    /// The norm of a term of one document, where the rest of the field's norms is not needed.
    pub norms: Option<Norms>,
}

/// A term that a pattern stands for, in one segment.
#[derive(Debug, Clone)]
pub(in crate::query) struct PatternTerm {
    pub term: Vec<u8>,
    pub info: TermInfo,
    /// Edits from a fuzzy term; 0 of other patterns.
    pub edits: u8,
    pub docs: Bytes,
}

#[derive(Debug, Clone, Default)]
pub(in crate::query) struct SegmentData {
    pub can_match: bool,
    pub terms: Vec<SegmentTerm>,
    pub patterns: Vec<Vec<PatternTerm>>,
    pub norms: BTreeMap<FieldOrd, Norms>,
    /// Set where documents that cannot win are not read.
    pub partial: Option<Partial>,
}

/// What is there of a segment that is read in part.
#[derive(Debug, Clone, Default)]
pub(in crate::query) struct Partial {
    /// Documents whose postings and norms are there: ascending, apart from each other.
    pub windows: Vec<Range<u32>>,
    /// Norms by field, as far as they were read.
    pub norms: BTreeMap<FieldOrd, Runs>,
    /// Whether all postings are there, if not all norms.
    pub has_lists: bool,
}

impl Partial {
    /// Adds windows that are disjoint from those there.
    pub fn add(&mut self, windows: impl Iterator<Item = Range<u32>>) {
        self.windows.extend(windows);
        order::by_key(&mut self.windows, |window| window.start.into());
        self.windows.dedup_by(|later, kept| {
            let touches = later.start <= kept.end;
            if touches {
                kept.end = kept.end.max(later.end);
            }
            touches
        });
    }

    /// Whether a document is in a window.
    pub fn has(&self, doc: u32) -> bool {
        let behind = self.windows.partition_point(|window| window.end <= doc);
        self.windows.get(behind).is_some_and(|window| window.contains(&doc))
    }
}

/// Index-wide facts of one field.
#[derive(Debug, Clone)]
pub(in crate::query) struct FieldStats {
    pub totals: FieldTotals,
    pub lengths: LengthTable,
}

/// Index-wide facts of one term.
#[derive(Debug, Clone)]
pub(in crate::query) struct TermStats {
    pub weight: TermWeight,
    pub doc_freq: u64,
}

/// How a pattern scores, the same in all segments.
#[derive(Debug, Clone)]
pub(in crate::query) struct PatternWeight {
    pub weight: TermWeight,
    pub doc_freq: u64,
    /// Too broad to look at frequencies: every match has this score.
    pub flat: Option<f32>,
}
