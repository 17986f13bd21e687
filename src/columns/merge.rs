//! Several columns of one field become one, a window at a time.
//!
//! ```text
//! scan        keyword sources with deleted documents: which ordinals are still in use
//! dictionary  keyword sources: k-way merge of their terms, in use ones only; old to new ordinals are kept
//! values      source after source: decode, drop deleted documents, map ordinals, encode
//! points      where the column has some and they do not fit: the values again, once per part of their order
//! ```
//!
//! Memory: 4 bytes per distinct keyword of each source, a window of blocks, and a number of points.

#![forbid(unsafe_code)]

use std::{collections::VecDeque, ops::Range, sync::Arc};

use bytes::Bytes;

use super::{
    ColumnError, ColumnKind, ColumnMeta,
    builder::BlockWriter,
    dictionary::DictionaryWriter,
    meta::write_meta,
    points::{PointsGatherer, PointsWriter, has_points},
};
use crate::{
    bitset::{BitSet, DocMap},
    ids::DocOrd,
};

/// Bytes of value blocks asked for at a time, unless a single block is longer.
const WINDOW_BYTES: u64 = 1 << 20;
/// Bytes of dictionary blocks asked for at a time, per source.
const TERM_WINDOW_BYTES: u64 = 64 << 10;
/// New ordinal of a term that no live document has.
const UNUSED: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Scan,
    Dictionary,
    Values,
    Points,
    Done,
}

/// A step machine: read what [`Self::wanted`] names, [`Self::feed`] it, until nothing is wanted.
#[derive(Debug)]
pub struct ColumnMerger {
    kind: ColumnKind,
    sources: Vec<Source>,
    doc_map: Arc<DocMap>,
    phase: Phase,
    /// Source and value blocks under way, in the phases scan and values.
    source: usize,
    window: Range<u32>,
    dictionary: DictionaryWriter,
    /// Written index of the dictionary, once it is finished.
    dictionary_index: Vec<u8>,
    values: BlockWriter,
    gatherer: Option<PointsGatherer>,
    points: Option<PointsWriter>,
    points_index: Option<Vec<u8>>,
}

/// Points held at a time, 16 bytes each, unless the caller says otherwise.
const POINTS: usize = 1 << 17;

#[derive(Debug)]
struct Source {
    /// `None` if the segment is older than the field.
    meta: Option<Arc<ColumnMeta>>,
    /// Ordinals that live documents have; `None`: all.
    used: Option<BitSet>,
    remap: Vec<u32>,
    /// Decoded terms that were not merged yet; the first one's ordinal is `remap.len()`.
    terms: VecDeque<Box<str>>,
    /// Dictionary block to read next.
    next_block: u32,
}

impl ColumnMerger {
    /// A merge of the columns of one field, one entry per source of `doc_map`; `None` for a segment that
    /// has no such column, whose documents have no values.
    ///
    /// # Errors
    /// If a column is of another kind, or of another number of documents than the map says.
    pub fn new(
        kind: ColumnKind,
        sources: Vec<Option<Arc<ColumnMeta>>>,
        doc_map: Arc<DocMap>,
    ) -> Result<Self, ColumnError> {
        if sources.len() != doc_map.num_sources() {
            return Err(ColumnError::WrongSource { source_ix: sources.len(), what: "another number of sources" });
        }
        for (source_ix, meta) in sources.iter().enumerate() {
            let Some(meta) = meta else { continue };
            if meta.kind() != kind {
                return Err(ColumnError::WrongSource { source_ix, what: "another kind" });
            }
            if meta.num_docs() != doc_map.max_doc(source_ix) {
                return Err(ColumnError::WrongSource { source_ix, what: "another number of documents" });
            }
        }
        let is_keyword = kind == ColumnKind::Keyword;
        let sources = sources
            .into_iter()
            .enumerate()
            .map(|(ix, meta)| {
                let num_terms = meta.as_ref().and_then(|meta| meta.dictionary()).map_or(0, |terms| terms.num_terms());
                let used = (is_keyword && doc_map.has_deletions(ix)).then(|| BitSet::new(num_terms));
                Source { meta, used, remap: Vec::new(), terms: VecDeque::new(), next_block: 0 }
            })
            .collect();
        let mut merger = Self {
            kind,
            sources,
            doc_map,
            phase: if is_keyword { Phase::Scan } else { Phase::Values },
            source: 0,
            window: 0..0,
            dictionary: DictionaryWriter::new(),
            dictionary_index: Vec::new(),
            values: BlockWriter::default(),
            gatherer: None,
            points: None,
            points_index: None,
        };
        merger.advance_window();
        Ok(merger.with_points(POINTS))
    }

    /// Holds about `count` points at a time, at least some thousand.
    ///
    /// # Panics
    /// If something was fed already.
    #[must_use]
    pub fn with_points(mut self, count: usize) -> Self {
        assert!(self.values.blocks().is_empty(), "before the first value");
        let total = self.sources.iter().filter_map(|source| source.meta.as_ref()).map(|meta| meta.num_values()).sum();
        self.gatherer = matches!(self.kind, ColumnKind::Number | ColumnKind::Integer | ColumnKind::Date)
            .then(|| PointsGatherer::new(total, count));
        self
    }

    /// Moves the window to the next value blocks of the phase, or ends the phase.
    fn advance_window(&mut self) {
        let mut start = self.window.end;
        while let Some(source) = self.sources.get(self.source) {
            let is_scanned = self.phase != Phase::Scan || source.used.is_some();
            if let Some(meta) = source.meta.as_ref().filter(|_| is_scanned) {
                let num_blocks = meta.blocks().len() as u32;
                let is_wanted = |block: u32| {
                    !meta.block_range(block).is_empty()
                        && meta.block_docs(block).any(|doc| self.doc_map.is_live(self.source, DocOrd(doc)))
                };
                while start < num_blocks && !is_wanted(start) {
                    start += 1;
                }
                if start < num_blocks {
                    let from = meta.block_range(start).start;
                    let mut end = start + 1;
                    while end < num_blocks && is_wanted(end) && meta.block_range(end).end - from <= WINDOW_BYTES {
                        end += 1;
                    }
                    self.window = start..end;
                    return;
                }
            }
            self.source += 1;
            start = 0;
        }
        (self.source, self.window) = (0, 0..0);
        self.phase = if self.phase == Phase::Scan { Phase::Dictionary } else { Phase::Done };
    }

    /// After the last value, and after each pass over the values for points: the next pass, if there is one.
    fn go_on_with_points(&mut self, out: &mut Vec<u8>) {
        let num_docs = self.doc_map.num_docs();
        let Some(gatherer) = &mut self.gatherer else { return };
        if self.points.is_none() {
            self.values.close(num_docs, out);
            if !has_points(self.kind, self.values.blocks()) {
                self.gatherer = None;
                return;
            }
            gatherer.plan();
            self.points = Some(PointsWriter::new(num_docs));
            if !gatherer.is_small() {
                self.phase = Phase::Points;
                self.advance_window();
                return;
            }
        }
        let Some(writer) = &mut self.points else { return };
        if gatherer.end_pass(writer, out) {
            self.phase = Phase::Points;
            self.advance_window();
        } else {
            self.points_index = self.points.take().map(|writer| writer.finish(out));
            self.gatherer = None;
        }
    }

    /// Dictionary blocks that `source` should read now: none while it has terms, or all were read.
    fn wanted_terms(source: &Source) -> Option<Range<u32>> {
        let dictionary = source.meta.as_ref()?.dictionary()?;
        if !source.terms.is_empty() || source.next_block >= dictionary.num_blocks() {
            return None;
        }
        let from = dictionary.block_range(source.next_block).start;
        let mut end = source.next_block + 1;
        while end < dictionary.num_blocks() && dictionary.block_range(end).end - from <= TERM_WINDOW_BYTES {
            end += 1;
        }
        Some(source.next_block..end)
    }

    /// What to read next: sources and ranges of their `column` streams. Empty when the merger only needs
    /// [`Self::feed`] with no buffers, or is done: see [`Self::is_done`].
    pub fn wanted(&self) -> Vec<(usize, Range<u64>)> {
        match self.phase {
            Phase::Scan | Phase::Values | Phase::Points => {
                let meta = self.sources.get(self.source).and_then(|source| source.meta.as_ref());
                let range = |meta: &Arc<ColumnMeta>| {
                    meta.block_range(self.window.start).start..meta.block_range(self.window.end - 1).end
                };
                meta.filter(|_| !self.window.is_empty())
                    .map(|meta| vec![(self.source, range(meta))])
                    .unwrap_or_default()
            }
            Phase::Dictionary => self
                .sources
                .iter()
                .enumerate()
                .filter_map(|(ix, source)| {
                    let dictionary = source.meta.as_ref()?.dictionary().filter(|dictionary| !dictionary.is_inline())?;
                    let blocks = Self::wanted_terms(source)?;
                    Some((ix, dictionary.block_range(blocks.start).start..dictionary.block_range(blocks.end - 1).end))
                })
                .collect(),
            Phase::Done => Vec::new(),
        }
    }

    /// Whether all was read: then [`Self::finish`].
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Takes what [`Self::wanted`] named, which may be nothing, and appends finished bytes to `out`.
    ///
    /// # Errors
    /// If the bytes are damaged or not those asked for.
    pub fn feed(&mut self, buffers: &[Bytes], out: &mut Vec<u8>) -> Result<(), ColumnError> {
        let wanted = self.wanted();
        let fits = wanted.len() == buffers.len()
            && wanted.iter().zip(buffers).all(|((_, range), bytes)| bytes.len() as u64 == range.end - range.start);
        if !fits {
            return Err(ColumnError::WrongFeed { expected: wanted.len(), found: buffers.len() });
        }
        match self.phase {
            Phase::Scan | Phase::Values | Phase::Points => {
                if let [bytes] = buffers {
                    self.feed_values(bytes, out)?;
                }
                self.advance_window();
                if self.phase == Phase::Done {
                    self.go_on_with_points(out);
                }
            }
            Phase::Dictionary => self.feed_terms(&wanted, buffers, out)?,
            Phase::Done => {}
        }
        Ok(())
    }

    fn feed_values(&mut self, bytes: &Bytes, out: &mut Vec<u8>) -> Result<(), ColumnError> {
        let source = &mut self.sources[self.source];
        let Some(meta) = source.meta.clone() else { return Ok(()) };
        let start = meta.block_range(self.window.start).start;
        let mut mapped = Vec::new();
        for block in self.window.clone() {
            let range = meta.block_range(block);
            let decoded = meta.decode(block, &bytes[(range.start - start) as usize..(range.end - start) as usize])?;
            let mut is_broken = false;
            decoded.for_each(|doc, values| {
                let Some(new_doc) = self.doc_map.get(self.source, DocOrd(doc)) else { return };
                if let (Phase::Scan, Some(used)) = (self.phase, &mut source.used) {
                    // The metadata was checked: no ordinal is beyond the dictionary.
                    for &ord in values {
                        used.insert(ord as u32);
                    }
                } else if self.kind == ColumnKind::Keyword {
                    mapped.clear();
                    mapped.extend(
                        values.iter().filter_map(|&ord| source.remap.get(ord as usize)).map(|&ord| u64::from(ord)),
                    );
                    is_broken |= mapped.len() != values.len() || mapped.contains(&u64::from(UNUSED));
                    self.values.push(new_doc.0, &mapped, out);
                } else if let (Phase::Points, Some(gatherer)) = (self.phase, &mut self.gatherer) {
                    values.iter().for_each(|&value| gatherer.offer((value, new_doc.0)));
                } else {
                    self.values.push(new_doc.0, values, out);
                    if let Some(gatherer) = &mut self.gatherer {
                        values.iter().for_each(|&value| gatherer.note((value, new_doc.0)));
                    }
                }
            });
            if is_broken {
                return Err(ColumnError::BadBlock { block, what: "an ordinal without a term" });
            }
        }
        Ok(())
    }

    fn feed_terms(
        &mut self,
        wanted: &[(usize, Range<u64>)],
        buffers: &[Bytes],
        out: &mut Vec<u8>,
    ) -> Result<(), ColumnError> {
        for (ix, source) in self.sources.iter_mut().enumerate() {
            let Some(blocks) = Self::wanted_terms(source) else { continue };
            let Some(meta) = source.meta.clone() else { continue };
            let Some(dictionary) = meta.dictionary() else { continue };
            let fed = wanted.iter().zip(buffers).find(|((of, _), _)| *of == ix);
            for block in blocks.clone() {
                let range = dictionary.block_range(block);
                let bytes = match (dictionary.inline_block(block), fed) {
                    (Some(inline), _) => inline,
                    (None, Some(((_, from), bytes))) => {
                        &bytes[(range.start - from.start) as usize..(range.end - from.start) as usize]
                    }
                    (None, None) => return Err(ColumnError::WrongFeed { expected: 1, found: 0 }),
                };
                source.terms.extend(dictionary.decode(block, bytes)?.terms().iter().cloned());
            }
            source.next_block = blocks.end;
        }
        // Merge as long as every source with terms left shows its next one.
        while self.sources.iter().all(|source| Self::wanted_terms(source).is_none()) {
            let Some(least) = self.sources.iter().filter_map(|source| source.terms.front()).min().cloned() else {
                self.dictionary_index = std::mem::take(&mut self.dictionary).finish(out);
                self.phase = Phase::Values;
                self.advance_window();
                return Ok(());
            };
            let has = |source: &Source| source.terms.front() == Some(&least);
            let is_used =
                |source: &Source| source.used.as_ref().is_none_or(|used| used.contains(source.remap.len() as u32));
            let any_use = self.sources.iter().any(|source| has(source) && is_used(source));
            let new_ord = if any_use { self.dictionary.push(least.as_bytes(), out)? } else { UNUSED };
            for source in self.sources.iter_mut().filter(|source| has(source)) {
                source.remap.push(new_ord);
                source.terms.pop_front();
            }
        }
        Ok(())
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        let sources: usize = self.sources.iter().map(|source| source.remap.capacity() * 4).sum();
        let points = self.gatherer.as_ref().map_or(0, PointsGatherer::memory_bytes)
            + self.points.as_ref().map_or(0, PointsWriter::memory_bytes);
        sources + points + self.dictionary.memory_bytes() + self.values.memory_bytes()
    }

    /// Ends the column and returns the new `column_meta`.
    ///
    /// # Errors
    /// If reads are still wanted.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<Vec<u8>, ColumnError> {
        if !self.is_done() {
            return Err(ColumnError::WrongFeed { expected: self.wanted().len(), found: 0 });
        }
        let num_docs = self.doc_map.num_docs();
        // A column of keywords, or one without any value, was not closed.
        self.values.close(num_docs, out);
        let points = self.points_index.as_deref();
        Ok(write_meta(self.kind, num_docs, self.values.blocks(), &self.dictionary_index, points))
    }
}
