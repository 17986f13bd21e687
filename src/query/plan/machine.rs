//! The step machine: what is wanted next, and what comes of it.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{
    error::{Error, Result},
    ids::FieldOrd,
    postings::TextStream,
    query::{
        Bm25Params, ColumnLeaf, Query,
        bind::{Binder, Node, PatternLeaf, TermLeaf},
        expand,
        work::Work,
    },
    terms::TermMatcher,
};

use super::{
    data::{FieldStats, PatternWeight, SegmentData, SegmentTerm, SegmentText, TermStats, Want},
    purpose::{PlanOptions, Purpose},
    select::Selection,
};

/// What requested bytes are for.
#[derive(Debug, Clone)]
pub(in crate::query) enum Slot {
    TermBlock { leaf: usize },
    PatternBlocks { leaf: usize },
    Docs { leaf: usize },
    Positions { leaf: usize },
    Skips { leaf: usize },
    DocsPart { leaf: usize, start: u64 },
    PositionsPart { leaf: usize, start: u64 },
    NormsPart { start: u64 },
    PatternDocs { leaf: usize, start: u64, terms: Range<usize> },
    Norms { first_doc: u32 },
    TermNorm { leaf: usize, first_doc: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Terms,
    Postings,
    /// Parts of lists: what next is for [`Plan::choose`] to say.
    Parts,
    Ready,
}

/// Ranges among which one is looked for by a map.
const MANY_WANTS: usize = 16;

/// A query on its way to its answer.
#[derive(Debug)]
pub struct Plan {
    pub(in crate::query) segments: Vec<Arc<SegmentText>>,
    pub(in crate::query) data: Vec<SegmentData>,
    pub(in crate::query) root: Node,
    pub(in crate::query) terms: Vec<TermLeaf>,
    pub(in crate::query) patterns: Vec<PatternLeaf>,
    pub(in crate::query) columns: Vec<ColumnLeaf>,
    /// The fields of the query: they are few.
    pub(super) fields: Vec<(FieldOrd, FieldStats)>,
    /// One per term.
    pub(in crate::query) term_stats: Vec<TermStats>,
    pub(in crate::query) pattern_weights: Vec<PatternWeight>,
    pub(in crate::query) params: Bm25Params,
    pub(in crate::query) purpose: Purpose,
    pub(super) whole_bytes: u64,
    pub(super) round_bytes: u64,
    pub(super) selection: Selection,
    /// One per pattern.
    pub(in crate::query) matchers: Vec<TermMatcher>,
    /// Bytes of dictionaries that patterns may still read.
    pub(in crate::query) pattern_bytes_left: u64,
    pub(super) state: State,
    pub(super) wants: Vec<Want>,
    pub(in crate::query) pending: Vec<(usize, usize, Slot)>,
    /// Where in `wants` a range of a dictionary is, once there are many.
    want_places: BTreeMap<(usize, FieldOrd, u64, u64), usize>,
    pub(in crate::query) notes: Vec<String>,
}

impl Plan {
    /// Plans `query` over `segments` with default parameters.
    ///
    /// # Errors
    /// `corrupt` if something resident is damaged.
    pub fn new(query: &Query, segments: Vec<Arc<SegmentText>>) -> Result<Self> {
        Self::with_options(query, segments, PlanOptions::default())
    }

    /// Plans `query` over `segments`.
    ///
    /// # Errors
    /// `corrupt` if something resident is damaged.
    pub fn with_params(query: &Query, segments: Vec<Arc<SegmentText>>, params: Bm25Params) -> Result<Self> {
        Self::with_options(query, segments, PlanOptions { params, ..PlanOptions::default() })
    }

    /// Plans `query` over `segments`, for what will be asked.
    ///
    /// # Errors
    /// `invalid_argument` if it asks for more than [`crate::query::MAX_QUERY_TERMS`] or
    /// [`crate::query::MAX_QUERY_PATTERNS`], `corrupt` if something resident is damaged.
    pub fn with_options(query: &Query, segments: Vec<Arc<SegmentText>>, options: PlanOptions) -> Result<Self> {
        Work::default().add(query).map_err(|what| Error::invalid(format!("query: {what}")))?;
        let mut binder = Binder::default();
        let root = binder.bind(query, 1.0, true);
        let Binder { terms, patterns, columns, .. } = binder;
        let matchers = expand::matchers(&patterns)?;
        let data = segments
            .iter()
            .map(|_| SegmentData {
                can_match: true,
                terms: vec![SegmentTerm::default(); terms.len()],
                patterns: vec![Vec::new(); patterns.len()],
                norms: BTreeMap::new(),
                partial: None,
            })
            .collect();
        let mut plan = Self {
            segments,
            data,
            root,
            terms,
            patterns,
            columns,
            fields: Vec::new(),
            term_stats: Vec::new(),
            pattern_weights: Vec::new(),
            params: options.params,
            purpose: options.purpose,
            whole_bytes: options.whole_bytes,
            round_bytes: options.round_bytes,
            selection: Selection::default(),
            matchers,
            pattern_bytes_left: expand::MAX_QUERY_PATTERN_BYTES,
            state: State::Terms,
            wants: Vec::new(),
            pending: Vec::new(),
            want_places: BTreeMap::new(),
            notes: Vec::new(),
        };
        if plan.root == Node::None {
            plan.state = State::Ready;
            plan.data.iter_mut().for_each(|data| data.can_match = false);
            return Ok(plan);
        }
        if let (true, Purpose::TopAndCount(k), Node::Term { .. }) = (options.accepts_all, plan.purpose, &plan.root) {
            // How many documents have a term is known.
            plan.purpose = Purpose::Top(k);
        }
        plan.request_terms()?;
        plan.go_on()?;
        Ok(plan)
    }

    /// Column leaves of the query, in the order of [`super::SegmentFilter::columns`].
    pub fn columns(&self) -> &[ColumnLeaf] {
        &self.columns
    }

    /// Whether nothing more is wanted. Of a plan for [`Purpose::Top`] that wants nothing and is not ready,
    /// [`Self::choose`] says what next.
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// Ranges to read next, of all segments; none of them empty, none twice.
    pub fn wanted(&self) -> &[Want] {
        &self.wants
    }

    /// Takes the bytes of [`Self::wanted`], in order.
    ///
    /// # Errors
    /// `corrupt` if they are damaged.
    pub fn feed(&mut self, bytes: Vec<Bytes>) -> Result<()> {
        if bytes.len() != self.wants.len() {
            return Err(Error::invalid(format!("{} ranges for {} wanted", bytes.len(), self.wants.len())));
        }
        for (want, bytes) in self.wants.iter().zip(&bytes) {
            if bytes.len() as u64 != want.range.end - want.range.start {
                return Err(Error::invalid(format!("{} bytes for {:?}", bytes.len(), want.range)));
            }
        }
        if self.state == State::Parts && self.wants.is_empty() {
            return Err(Error::invalid("nothing is wanted: `choose` comes first"));
        }
        let wants = std::mem::take(&mut self.wants);
        self.want_places.clear();
        for (segment, want, slot) in std::mem::take(&mut self.pending) {
            self.deliver(segment, wants[want].field, slot, bytes[want].clone())?;
        }
        self.go_on()
    }

    /// What was cut to stay within bounds (a pattern with too many terms), in words.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Enters the next states as long as nothing is missing.
    fn go_on(&mut self) -> Result<()> {
        while self.wants.is_empty() {
            match self.state {
                State::Terms => {
                    self.state = State::Postings;
                    self.weigh();
                    self.request_postings()?;
                }
                State::Postings => {
                    let is_partial = self.data.iter().any(|data| data.partial.is_some());
                    self.state = if is_partial { State::Parts } else { State::Ready };
                    return Ok(());
                }
                State::Parts | State::Ready => return Ok(()),
            }
        }
        Ok(())
    }

    /// The stream, where it is resident, and the places in it.
    ///
    /// # Errors
    /// `corrupt` if it ends before `range` does.
    pub(super) fn resident(
        &self,
        segment: usize,
        field: FieldOrd,
        stream: TextStream,
        range: &Range<u64>,
    ) -> Result<Option<(&Bytes, Range<usize>)>> {
        let resident = self.segments[segment].fields.get(&field).and_then(|text| match stream {
            TextStream::Terms => text.terms.as_ref(),
            TextStream::Postings => text.postings.as_ref(),
            TextStream::Norms => text.norms.as_ref(),
        });
        let Some(bytes) = resident else { return Ok(None) };
        if range.is_empty() {
            return Ok(Some((bytes, 0..0)));
        }
        let cut = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        match cut.filter(|&(_, end)| end <= bytes.len()) {
            Some((start, end)) => Ok(Some((bytes, start..end))),
            None => Err(Error::new(
                crate::error::ErrorKind::Corrupt,
                format!("{range:?} of the {stream:?} of field {}, which has {} bytes", field.0, bytes.len()),
            )),
        }
    }

    /// Asks for `range` where it is not resident: what is, whoever runs the plan takes from there.
    pub(super) fn request_absent(
        &mut self,
        segment: usize,
        field: FieldOrd,
        stream: TextStream,
        range: Range<u64>,
        slot: Slot,
    ) -> Result<()> {
        match self.resident(segment, field, stream, &range)? {
            Some(_) => Ok(()),
            None => self.request(segment, field, stream, range, slot),
        }
    }

    /// Takes `range` from what is resident, or asks for it.
    pub(in crate::query) fn request(
        &mut self,
        segment: usize,
        field: FieldOrd,
        stream: TextStream,
        range: Range<u64>,
        slot: Slot,
    ) -> Result<()> {
        if range.is_empty() {
            return self.deliver(segment, field, slot, Bytes::new());
        }
        if let Some((stream_bytes, range)) = self.resident(segment, field, stream, &range)? {
            let bytes = stream_bytes.slice(range);
            return self.deliver(segment, field, slot, bytes);
        }
        let want = Want { segment, field, stream, range };
        // Several terms may be in one block of the dictionary; everything else is asked for once.
        let known = if self.state == State::Terms { self.known_want(&want) } else { None };
        let ix = known.unwrap_or_else(|| {
            self.wants.push(want);
            self.wants.len() - 1
        });
        self.pending.push((segment, ix, slot));
        Ok(())
    }

    /// The position of a range of a dictionary that was asked for before.
    fn known_want(&mut self, want: &Want) -> Option<usize> {
        if self.wants.len() < MANY_WANTS {
            return self.wants.iter().position(|known| known == want);
        }
        let place = |want: &Want| (want.segment, want.field, want.range.start, want.range.end);
        // All of them differ, so that the map has as many.
        for ix in self.want_places.len()..self.wants.len() {
            self.want_places.insert(place(&self.wants[ix]), ix);
        }
        self.want_places.get(&place(want)).copied()
    }
}
