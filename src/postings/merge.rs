//! The same field of several segments becomes one: a merge of sorted dictionaries, term by term, whose postings are
//! decoded, renumbered and encoded again in the current layout.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{
    bitset::{BitSet, DocMap},
    error::{Error, ErrorKind, Result},
    ids::DocOrd,
    postings::{
        END, Postings, TermBytes, TextStream,
        position_stream::{PositionStream, Window},
        reader::Damage,
        writer::PostingsWriter,
    },
    terms::{FieldOptions, FieldTotals, TermCursor, TermIndex, TermInfo, TermsWriter},
    topk::order,
};

/// Bytes after which a step gives the driver a chance to drain.
const STEP_BYTES: usize = 64 << 10;

/// Appends the norms of a source's live documents; `bytes` are its norms from `first_doc` on. A source without the
/// field gives zeros: pass those.
pub fn merge_norms(map: &DocMap, source: usize, first_doc: u32, bytes: &[u8], out: &mut Vec<u8>) {
    if !map.has_deletions(source) {
        out.extend_from_slice(bytes);
        return;
    }
    out.extend((first_doc..).zip(bytes).filter(|&(doc, _)| map.is_live(source, DocOrd(doc))).map(|(_, &norm)| norm));
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

/// One segment on its way into the merge.
#[derive(Debug)]
struct Source {
    /// Its place in the document map.
    ord: usize,
    index: Arc<TermIndex>,
    cursor: Option<TermCursor<Bytes>>,
    next_block: usize,
    /// Whether the cursor stands on a term not yet merged.
    has_term: bool,
    /// Postings of the current terms: whole terms where they fit, else documents of one.
    main: Window,
    /// A part of the positions of a term that does not fit.
    positions: Window,
}

impl Source {
    /// Goes to the next term. `Some` says which block range of the terms is missing.
    fn fill(&mut self, window_bytes: u64) -> Result<Option<Range<u64>>> {
        if self.has_term {
            return Ok(None);
        }
        if let Some(cursor) = &mut self.cursor {
            if cursor.advance()? {
                self.has_term = true;
                return Ok(None);
            }
            self.cursor = None;
        }
        let Some(first) = self.index.block_range(self.next_block) else { return Ok(None) };
        let mut end = first.end;
        let mut block = self.next_block + 1;
        while let Some(next) = self.index.block_range(block).filter(|next| next.end - first.start <= window_bytes) {
            end = next.end;
            block += 1;
        }
        Ok(Some(first.start..end))
    }

    fn term(&self) -> Option<(&[u8], &TermInfo)> {
        let cursor = self.cursor.as_ref().filter(|_| self.has_term)?;
        Some((cursor.term(), cursor.info()))
    }

    /// What to read so that the documents of `info` are there: with all that follows, up to a window.
    fn missing(&self, info: &TermInfo, window_bytes: u64) -> Option<Range<u64>> {
        let docs = info.docs_range();
        let whole = info.len_bytes() <= window_bytes;
        let needed = if whole { info.range() } else { docs };
        if needed.is_empty() || self.main.has(&needed) {
            return None;
        }
        let end = needed.end.max(needed.start.saturating_add(window_bytes).min(self.index.postings_len()));
        Some(needed.start..end)
    }
}

/// The term being merged: its sources, and how far the current one is.
#[derive(Debug)]
struct Current {
    term: Vec<u8>,
    sources: Vec<usize>,
    at: usize,
    reader: Option<SourceReader>,
}

#[derive(Debug)]
struct SourceReader {
    docs: DocList,
    positions: Option<PositionStream>,
    damage: Option<crate::codec::DecodeError>,
}

/// Documents and frequencies of one block after another, without the reader's shared state, so that a merge can move
/// between threads.
#[derive(Debug, Default)]
struct DocList {
    entries: Vec<(u32, u32)>,
    at: usize,
}

/// Merges the terms and postings of one field.
#[derive(Debug)]
pub struct FieldMerger {
    options: FieldOptions,
    sources: Vec<Source>,
    map: Arc<DocMap>,
    norms: Vec<u8>,
    /// Documents that have a term, where norms do not tell.
    seen: BitSet,
    window_bytes: u64,
    writer: PostingsWriter,
    terms: TermsWriter,
    current: Option<Current>,
    wants: Vec<Want>,
    /// Postings of the current term, where the documents come in another order than they go out.
    unsorted: Option<Unsorted>,
}

/// Documents of one term in any order: number, frequency, where its positions start.
#[derive(Debug, Default)]
struct Unsorted {
    docs: Vec<(u32, u32, usize)>,
    positions: Vec<u32>,
}

/// Bytes of memory that a term of `doc_freq` documents and `total_term_freq` occurrences takes where documents change
/// their order.
pub fn reordered_term_bytes(doc_freq: u32, total_term_freq: u64, positions: bool) -> u64 {
    let entry = size_of::<(u32, u32, usize)>() + size_of::<(u32, u32)>();
    u64::from(doc_freq) * entry as u64 + if positions { total_term_freq.saturating_mul(4) } else { 0 }
}

impl FieldMerger {
    /// A merge of `sources`, as in `map`; `None` is a source without the field. `norms` are those of the merged
    /// segment, for a text field. Reads `window_bytes` ahead per source.
    ///
    /// # Errors
    /// If a source keeps less than `options` ask for, or norms are missing or of another number.
    pub fn new(
        options: FieldOptions,
        sources: Vec<Option<Arc<TermIndex>>>,
        map: Arc<DocMap>,
        norms: Option<Vec<u8>>,
        window_bytes: u64,
    ) -> Result<Self> {
        let norms = norms.unwrap_or_default();
        if options.freqs && norms.len() != map.num_docs() as usize {
            return Err(Error::invalid(format!("{} norms for {} documents", norms.len(), map.num_docs())));
        }
        let mut found = Vec::new();
        for (ord, index) in sources.into_iter().enumerate() {
            let Some(index) = index else { continue };
            let has = index.options();
            if options.freqs && !has.freqs || options.positions && !has.positions {
                return Err(Error::invalid(format!("source {ord} of a merge keeps {has:?}, wanted {options:?}")));
            }
            found.push(Source {
                ord,
                index,
                cursor: None,
                next_block: 0,
                has_term: false,
                main: Window::default(),
                positions: Window::default(),
            });
        }
        Ok(Self {
            options,
            sources: found,
            seen: BitSet::new(if options.freqs { 0 } else { map.num_docs() }),
            unsorted: map.order().map(|_| Unsorted::default()),
            map,
            norms,
            window_bytes: window_bytes.max(1 << 12),
            writer: PostingsWriter::new(options),
            terms: TermsWriter::new(options),
            current: None,
            wants: Vec::new(),
        })
    }

    /// Ranges to read after [`MergeStep::Wants`].
    pub fn wanted(&self) -> &[Want] {
        &self.wants
    }

    /// Takes the bytes of [`Self::wanted`], in order.
    ///
    /// # Errors
    /// If their number or lengths differ.
    pub fn feed(&mut self, bytes: Vec<Bytes>) -> Result<()> {
        if bytes.len() != self.wants.len() {
            return Err(Error::invalid(format!("{} ranges for {} wanted", bytes.len(), self.wants.len())));
        }
        for (want, bytes) in std::mem::take(&mut self.wants).into_iter().zip(bytes) {
            if bytes.len() as u64 != want.range.end - want.range.start {
                return Err(Error::new(ErrorKind::Corrupt, format!("{} bytes for {:?}", bytes.len(), want.range)));
            }
            let Some(source) = self.sources.iter_mut().find(|source| source.ord == want.source) else { continue };
            match want.stream {
                TextStream::Terms => {
                    while source.index.block_range(source.next_block).is_some_and(|block| block.end <= want.range.end) {
                        source.next_block += 1;
                    }
                    source.cursor = Some(TermCursor::new(source.index.options(), bytes));
                }
                _ if source.positions.wants(&want.range) => source.positions.fill(want.range.start, bytes),
                _ => source.main.fill(want.range.start, bytes),
            }
        }
        Ok(())
    }

    /// Works until about 64 KiB are appended, bytes are missing or all is done.
    ///
    /// # Errors
    /// If a source is damaged.
    pub fn step(&mut self, terms: &mut Vec<u8>, postings: &mut Vec<u8>) -> Result<MergeStep> {
        let before = terms.len() + postings.len();
        while terms.len() + postings.len() < before + STEP_BYTES {
            if self.current.is_none() && !self.next_term()? {
                return Ok(if self.wants.is_empty() { MergeStep::Done } else { MergeStep::Wants });
            }
            if !self.merge_term(terms, postings)? {
                return Ok(if self.wants.is_empty() { MergeStep::Progress } else { MergeStep::Wants });
            }
        }
        Ok(MergeStep::Progress)
    }

    /// Finds the smallest term; false if there is none, or terms are missing.
    fn next_term(&mut self) -> Result<bool> {
        for source in &mut self.sources {
            let at = source.ord;
            if let Some(range) =
                source.fill(self.window_bytes).map_err(|error| error.at(format!("terms of source {at}")))?
            {
                self.wants.push(Want { source: at, stream: TextStream::Terms, range });
            }
        }
        if !self.wants.is_empty() {
            return Ok(false);
        }
        let Some(smallest) = self.sources.iter().filter_map(|source| source.term()).map(|(term, _)| term).min() else {
            return Ok(false);
        };
        let term = smallest.to_vec();
        let with_term = |source: &Source| source.term().is_some_and(|(found, _)| found == term);
        let sources = (0..self.sources.len()).filter(|&ix| with_term(&self.sources[ix])).collect();
        self.current = Some(Current { term, sources, at: 0, reader: None });
        Ok(true)
    }

    /// Goes on with the current term; false if bytes are missing or much was appended.
    fn merge_term(&mut self, terms: &mut Vec<u8>, postings: &mut Vec<u8>) -> Result<bool> {
        let Some(mut current) = self.current.take() else { return Ok(true) };
        let before = postings.len();
        while let Some(&ix) = current.sources.get(current.at) {
            if current.reader.is_none() {
                if !self.request_docs(&current) {
                    self.current = Some(current);
                    return Ok(false);
                }
                current.reader = Some(self.open_reader(ix)?);
            }
            let reader = current.reader.as_mut().expect("opened just above");
            let done = self.merge_source(ix, reader, postings);
            if let Some(error) = reader.damage {
                let ord = self.sources[ix].ord;
                return Err(Error::corrupt(format!("postings of {:?} in source {ord}", Shown(&current.term)), error));
            }
            if !done || postings.len() - before > STEP_BYTES {
                if done {
                    current.reader = None;
                    current.at += 1;
                }
                self.current = Some(current);
                return Ok(false);
            }
            current.reader = None;
            current.at += 1;
        }
        self.write_sorted(postings);
        if let Some(info) = self.writer.finish_term(postings) {
            self.terms.push(&current.term, &info, terms)?;
        }
        current.sources.iter().for_each(|&ix| self.sources[ix].has_term = false);
        Ok(true)
    }

    /// Asks for the documents of the sources that are still to come; true if those of the current one are there.
    fn request_docs(&mut self, current: &Current) -> bool {
        let mut ready = true;
        for (step, &ix) in current.sources[current.at..].iter().enumerate() {
            let source = &mut self.sources[ix];
            let Some(range) = source.term().and_then(|(_, info)| source.missing(info, self.window_bytes)) else {
                continue;
            };
            ready &= step != 0;
            self.wants.push(Want { source: source.ord, stream: TextStream::Postings, range });
        }
        if ready {
            self.wants.clear();
        }
        ready
    }

    fn open_reader(&self, ix: usize) -> Result<SourceReader> {
        let source = &self.sources[ix];
        let (_, info) = source.term().ok_or_else(|| Error::new(ErrorKind::Corrupt, "a term vanished in a merge"))?;
        let damage = Damage::default();
        let docs = source.main.slice(&info.docs_range());
        let max_doc = self.map.max_doc(source.ord);
        let bytes = TermBytes::whole(info, docs, None);
        let mut reader = Postings::open(source.index.options(), max_doc, info, bytes, &damage);
        let mut docs = DocList { entries: Vec::with_capacity(info.doc_freq.min(max_doc) as usize), at: 0 };
        while reader.next() != END {
            docs.entries.push((reader.doc(), reader.freq()));
        }
        let positions = self.options.positions.then(|| PositionStream::new(info));
        Ok(SourceReader { docs, positions, damage: damage.check().err() })
    }

    /// Merges documents of one source; false if positions are missing.
    fn merge_source(&mut self, ix: usize, reader: &mut SourceReader, out: &mut Vec<u8>) -> bool {
        let ord = self.sources[ix].ord;
        while let Some(&(doc, freq)) = reader.docs.entries.get(reader.docs.at) {
            let target = self.map.get(ord, DocOrd(doc));
            if let Some(positions) = &mut reader.positions {
                if !positions.in_doc() {
                    positions.enter_doc(freq);
                    self.add_doc(target, freq);
                }
                let (source, writer, unsorted) = (&mut self.sources[ix], &mut self.writer, &mut self.unsorted);
                let mut emit = |position| match unsorted {
                    _ if target.is_none() => {}
                    Some(unsorted) => unsorted.positions.push(position),
                    None => writer.add_position(position, out),
                };
                match positions.run(&source.main, &source.positions, &mut emit) {
                    Ok(None) => {}
                    Ok(Some(needed)) => {
                        let end = needed.end.min(needed.start.saturating_add(self.window_bytes));
                        let range = needed.start..end;
                        source.positions.expect(&range);
                        self.wants.push(Want { source: ord, stream: TextStream::Postings, range });
                        return false;
                    }
                    Err(error) => {
                        reader.damage = Some(error);
                        return true;
                    }
                }
            } else {
                self.add_doc(target, freq);
            }
            reader.docs.at += 1;
        }
        true
    }

    fn add_doc(&mut self, target: Option<DocOrd>, freq: u32) {
        let Some(DocOrd(doc)) = target else { return };
        if let Some(unsorted) = &mut self.unsorted {
            unsorted.docs.push((doc, freq, unsorted.positions.len()));
        } else {
            self.write_doc(doc, freq);
        }
    }

    /// Writes the documents of a term that came in another order.
    fn write_sorted(&mut self, out: &mut Vec<u8>) {
        let Some(mut unsorted) = self.unsorted.take() else { return };
        order::by_key(&mut unsorted.docs, |found| found.0.into());
        for &(doc, freq, start) in &unsorted.docs {
            self.write_doc(doc, freq);
            let positions = unsorted.positions.get(start..start + freq as usize).unwrap_or_default();
            positions.iter().for_each(|&position| self.writer.add_position(position, out));
        }
        unsorted.docs.clear();
        unsorted.positions.clear();
        self.unsorted = Some(unsorted);
    }

    fn write_doc(&mut self, doc: u32, freq: u32) {
        if self.options.freqs {
            self.writer.add_doc(doc, freq, self.norms[doc as usize]);
        } else {
            self.seen.insert(doc);
            self.writer.add_doc(doc, 1, 0);
        }
    }

    /// Appends what is left of `terms` and gives the `term_index` stream. Call when all is done.
    pub fn finish(self, terms: &mut Vec<u8>) -> Vec<u8> {
        debug_assert!(self.current.is_none());
        let doc_count = if self.options.freqs {
            self.norms.iter().filter(|&&norm| norm > 0).count() as u64
        } else {
            u64::from(self.seen.count())
        };
        let totals = FieldTotals { doc_count, ..FieldTotals::default() };
        self.terms.finish(totals, self.writer.len(), terms)
    }

    /// The norms of the merged segment, as given.
    pub fn norms(&self) -> &[u8] {
        &self.norms
    }

    /// Bytes of memory held, about.
    pub fn memory_bytes(&self) -> usize {
        let windows: usize = self.sources.iter().map(|source| source.main.len() + source.positions.len()).sum();
        let docs = self.current.as_ref().and_then(|current| current.reader.as_ref());
        let docs = docs.map_or(0, |reader| reader.docs.entries.capacity() * 8);
        let unsorted = self.unsorted.as_ref().map_or(0, |unsorted| {
            unsorted.docs.capacity() * size_of::<(u32, u32, usize)>() + unsorted.positions.capacity() * 4
        });
        windows
            + docs
            + unsorted
            + self.norms.len()
            + self.seen.memory_bytes()
            + self.writer.memory_bytes()
            + self.terms.memory_bytes()
    }
}

/// A term as text where it is one.
struct Shown<'a>(&'a [u8]);

impl std::fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`", String::from_utf8_lossy(&self.0[..self.0.len().min(80)]))
    }
}
