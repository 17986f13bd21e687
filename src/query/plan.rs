//! From a query to the bytes it needs, over all segments of a snapshot. What is done with them is in
//! [`super::exec`].

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{
    bitset::BitSet,
    error::{Error, Result},
    ids::{DocOrd, FieldOrd},
    postings::TextStream,
    query::{
        Bm25Params, Query,
        bind::{Binder, Node, PatternLeaf, TermLeaf},
        bm25::{self, LengthTable},
        scorer::term::{Norms, TermWeight},
    },
    terms::{FieldTotals, TermIndex, TermInfo, TermMatcher, find},
};

/// Ranges of dictionary blocks and of postings of a pattern that are this near to each other are read as one.
pub(super) const PATTERN_GAP: u64 = 4096;

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

/// What requested bytes are for.
#[derive(Debug, Clone)]
pub(super) enum Slot {
    TermBlock { leaf: usize },
    PatternBlocks { leaf: usize },
    Docs { leaf: usize },
    Positions { leaf: usize },
    PatternDocs { leaf: usize, start: u64, terms: Range<usize> },
    Norms { first_doc: u32 },
    TermNorm { leaf: usize, first_doc: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Terms,
    Postings,
    Ready,
}

/// A term in one segment.
#[derive(Debug, Clone, Default)]
pub(super) struct SegmentTerm {
    pub info: Option<TermInfo>,
    pub docs: Bytes,
    pub positions: Option<Bytes>,
    /// The norm of a term of one document, where the rest of the field's norms is not needed.
    pub norms: Option<Norms>,
}

/// A term that a pattern stands for, in one segment.
#[derive(Debug, Clone)]
pub(super) struct PatternTerm {
    pub term: Vec<u8>,
    pub info: TermInfo,
    pub docs: Bytes,
}

#[derive(Debug, Clone, Default)]
pub(super) struct SegmentData {
    pub can_match: bool,
    pub terms: Vec<SegmentTerm>,
    pub patterns: Vec<Vec<PatternTerm>>,
    pub norms: BTreeMap<FieldOrd, Norms>,
}

/// Index-wide facts of one field.
#[derive(Debug, Clone)]
pub(super) struct FieldStats {
    pub totals: FieldTotals,
    pub lengths: LengthTable,
}

/// How a pattern scores, the same in all segments.
#[derive(Debug, Clone)]
pub(super) struct PatternWeight {
    pub weight: TermWeight,
    pub doc_freq: u64,
    /// Too broad to look at frequencies: every match has this score.
    pub flat: Option<f32>,
}

/// A query on its way to its answer.
#[derive(Debug)]
pub struct Plan {
    pub(super) segments: Vec<Arc<SegmentText>>,
    pub(super) data: Vec<SegmentData>,
    pub(super) root: Node,
    pub(super) terms: Vec<TermLeaf>,
    pub(super) patterns: Vec<PatternLeaf>,
    pub(super) fields: BTreeMap<FieldOrd, FieldStats>,
    pub(super) term_weights: Vec<TermWeight>,
    pub(super) term_doc_freqs: Vec<u64>,
    pub(super) pattern_weights: Vec<PatternWeight>,
    pub(super) params: Bm25Params,
    /// One per pattern.
    pub(super) matchers: Vec<TermMatcher>,
    state: State,
    wants: Vec<Want>,
    pending: Vec<(usize, usize, Slot)>,
    pub(super) notes: Vec<String>,
}

impl Plan {
    /// Plans `query` over `segments` with default parameters.
    ///
    /// # Errors
    /// `corrupt` if something resident is damaged.
    pub fn new(query: &Query, segments: Vec<Arc<SegmentText>>) -> Result<Self> {
        Self::with_params(query, segments, Bm25Params::default())
    }

    /// Plans `query` over `segments`.
    ///
    /// # Errors
    /// `corrupt` if something resident is damaged.
    pub fn with_params(query: &Query, segments: Vec<Arc<SegmentText>>, params: Bm25Params) -> Result<Self> {
        let mut binder = Binder::default();
        let root = binder.bind(query, 1.0, true);
        let Binder { terms, patterns } = binder;
        let matchers = patterns.iter().map(|leaf| TermMatcher::new(&leaf.pattern)).collect();
        let data = segments
            .iter()
            .map(|_| SegmentData {
                can_match: true,
                terms: vec![SegmentTerm::default(); terms.len()],
                patterns: vec![Vec::new(); patterns.len()],
                norms: BTreeMap::new(),
            })
            .collect();
        let mut plan = Self {
            segments,
            data,
            root,
            terms,
            patterns,
            fields: BTreeMap::new(),
            term_weights: Vec::new(),
            term_doc_freqs: Vec::new(),
            pattern_weights: Vec::new(),
            params,
            matchers,
            state: State::Terms,
            wants: Vec::new(),
            pending: Vec::new(),
            notes: Vec::new(),
        };
        if plan.root == Node::None {
            plan.state = State::Ready;
            plan.data.iter_mut().for_each(|data| data.can_match = false);
            return Ok(plan);
        }
        plan.request_terms()?;
        plan.go_on()?;
        Ok(plan)
    }

    /// Whether nothing more is wanted.
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
        let wants = std::mem::take(&mut self.wants);
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
                    self.state = State::Ready;
                    return Ok(());
                }
                State::Ready => return Ok(()),
            }
        }
        Ok(())
    }

    /// Takes `range` from what is resident, or asks for it.
    pub(super) fn request(
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
        let resident = self.segments[segment].fields.get(&field).and_then(|text| match stream {
            TextStream::Terms => text.terms.as_ref(),
            TextStream::Postings => text.postings.as_ref(),
            TextStream::Norms => text.norms.as_ref(),
        });
        if let Some(stream_bytes) = resident {
            let cut = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
            let Some((start, end)) = cut.filter(|&(_, end)| end <= stream_bytes.len()) else {
                let len = stream_bytes.len();
                return Err(Error::new(
                    crate::error::ErrorKind::Corrupt,
                    format!("{range:?} of the {stream:?} of field {}, which has {len} bytes", field.0),
                ));
            };
            let bytes = stream_bytes.slice(start..end);
            return self.deliver(segment, field, slot, bytes);
        }
        let want = Want { segment, field, stream, range };
        let ix = self.wants.iter().position(|known| *known == want).unwrap_or_else(|| {
            self.wants.push(want);
            self.wants.len() - 1
        });
        self.pending.push((segment, ix, slot));
        Ok(())
    }

    fn request_terms(&mut self) -> Result<()> {
        for segment in 0..self.segments.len() {
            for leaf in 0..self.terms.len() {
                let (field, term) = (self.terms[leaf].field, &self.terms[leaf].term);
                let Some(text) = self.segments[segment].fields.get(&field) else { continue };
                if let Some(range) = text.index.locate(term) {
                    self.request(segment, field, TextStream::Terms, range, Slot::TermBlock { leaf })?;
                }
            }
            self.request_pattern_blocks(segment)?;
        }
        Ok(())
    }

    fn deliver(&mut self, segment: usize, field: FieldOrd, slot: Slot, bytes: Bytes) -> Result<()> {
        let at = |error| Error::corrupt(format!("terms of field {} in segment {segment}", field.0), error);
        let options = self.segments[segment].fields.get(&field).map(|text| text.index.options()).unwrap_or_default();
        let data = &mut self.data[segment];
        match slot {
            Slot::TermBlock { leaf } => {
                data.terms[leaf].info = find(options, &bytes, &self.terms[leaf].term).map_err(at)?;
            }
            Slot::PatternBlocks { leaf } => self.collect_pattern_terms(segment, leaf, bytes).map_err(at)?,
            Slot::Docs { leaf } => data.terms[leaf].docs = bytes,
            Slot::Positions { leaf } => data.terms[leaf].positions = Some(bytes),
            Slot::PatternDocs { leaf, start, terms } => {
                for term in &mut data.patterns[leaf][terms] {
                    let range = term.info.docs_range();
                    let (from, to) = ((range.start - start) as usize, (range.end - start) as usize);
                    term.docs = bytes.slice(from.min(bytes.len())..to.min(bytes.len()));
                }
            }
            Slot::Norms { first_doc } => {
                data.norms.insert(field, Norms { first_doc, bytes });
            }
            Slot::TermNorm { leaf, first_doc } => data.terms[leaf].norms = Some(Norms { first_doc, bytes }),
        }
        Ok(())
    }

    /// Computes index-wide statistics and weights, now that all terms are known.
    fn weigh(&mut self) {
        let used: Vec<FieldOrd> =
            self.terms.iter().map(|leaf| leaf.field).chain(self.patterns.iter().map(|leaf| leaf.field)).collect();
        for field in used {
            if self.fields.contains_key(&field) {
                continue;
            }
            let (mut totals, mut has_norms) = (FieldTotals::default(), false);
            for text in self.segments.iter().filter_map(|segment| segment.fields.get(&field)) {
                totals.add(text.index.totals());
                has_norms |= text.has_norms;
            }
            let lengths = bm25::length_table(self.params, &totals, has_norms);
            self.fields.insert(field, FieldStats { totals, lengths });
        }
        for (ix, leaf) in self.terms.iter().enumerate() {
            let infos = self.data.iter().filter_map(|data| data.terms[ix].info.as_ref());
            let doc_freq = infos.map(|info| u64::from(info.doc_freq)).sum();
            let stats = &self.fields[&leaf.field];
            let weight = bm25::idf(doc_freq, stats.totals.doc_count);
            self.term_doc_freqs.push(doc_freq);
            self.term_weights.push(TermWeight { weight, lengths: stats.lengths.clone() });
        }
        self.weigh_patterns();
    }

    fn request_postings(&mut self) -> Result<()> {
        for segment in 0..self.segments.len() {
            let data = &mut self.data[segment];
            data.can_match =
                self.root.can_match(&|leaf| data.terms[leaf].info.is_some(), &|leaf| !data.patterns[leaf].is_empty());
            if !data.can_match {
                continue;
            }
            // Norms are read whole, unless all terms of the field are singletons here.
            let mut whole_norms = Vec::new();
            for leaf in 0..self.terms.len() {
                let Some(info) = self.data[segment].terms[leaf].info else { continue };
                let TermLeaf { field, scored, positions, .. } = self.terms[leaf];
                self.request(segment, field, TextStream::Postings, info.docs_range(), Slot::Docs { leaf })?;
                if positions {
                    let range = info.positions_range();
                    self.request(segment, field, TextStream::Postings, range, Slot::Positions { leaf })?;
                }
                if scored && info.singleton.is_none() && !whole_norms.contains(&field) {
                    whole_norms.push(field);
                }
            }
            for leaf in 0..self.patterns.len() {
                self.request_pattern(segment, leaf)?;
                let PatternLeaf { field, scored, .. } = self.patterns[leaf];
                let is_scored = scored && self.pattern_weights[leaf].flat.is_none();
                if is_scored && !self.data[segment].patterns[leaf].is_empty() && !whole_norms.contains(&field) {
                    whole_norms.push(field);
                }
            }
            for &field in &whole_norms {
                if self.segments[segment].fields.get(&field).is_some_and(|text| text.has_norms) {
                    let range = 0..u64::from(self.segments[segment].max_doc);
                    self.request(segment, field, TextStream::Norms, range, Slot::Norms { first_doc: 0 })?;
                }
            }
            for leaf in 0..self.terms.len() {
                let field = self.terms[leaf].field;
                let doc = self.data[segment].terms[leaf].info.and_then(|info| info.singleton);
                let text = self.segments[segment].fields.get(&field);
                if let Some(doc) = doc
                    && self.terms[leaf].scored
                    && !whole_norms.contains(&field)
                    && text.is_some_and(|text| text.has_norms)
                    && doc < self.segments[segment].max_doc
                {
                    let (range, slot) = (u64::from(doc)..u64::from(doc) + 1, Slot::TermNorm { leaf, first_doc: doc });
                    self.request(segment, field, TextStream::Norms, range, slot)?;
                }
            }
        }
        Ok(())
    }
}
