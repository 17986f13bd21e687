//! Streams several segments into one, structure after structure, through their incremental mergers.
//!
//! ```text
//!   for each field: norms (kept, one byte per document), postings while terms are set aside, terms; its column
//!   stored documents while their ids are set aside, those; vectors; pinned sections, checksums, table of contents
//! ```
//!
//! Memory: the mergers' windows, which are cut to the budget, and what no merger can do without: one byte per
//! document and text field, metadata. Reads bypass the cache and are verified as they arrive.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use futures_util::future::try_join_all;

use super::vectors::MergeRows;
use crate::{
    bitset::{BitSet, DocMap, DocOrder},
    codec::PostingsCodec,
    columns::{ColumnKind, ColumnMerger},
    docstore::{DocStoreMerger, DocStoreParts},
    error::{Error, ErrorKind, Result},
    ids::{FieldOrd, SegmentId},
    index::{
        merge::pace::Pace,
        report::{OnProgress, Phase, Progress},
    },
    platform::Cancel,
    postings::{FieldMerger, MergeStep, TextStream, merge_norms},
    schema::{FieldKind, Schema},
    segment::{
        MIN_CELL_VECTORS, OpenSegment, RowSource, SectionKind, SectionRange, SegmentFileWriter, Spill, Spills, Toc,
        VectorField, VerifiedFile, merge_bytes, write_vectors,
    },
    storage::{File, Storage},
    terms::FieldOptions,
    vectors::VectorsMerger,
};

/// Windows are at most this long: the rate of disks and networks grows little beyond.
const MAX_WINDOW_BYTES: u64 = 1 << 20;
/// Windows are at least this long; less would be mostly seeks and requests.
const MIN_WINDOW_BYTES: u64 = 16 << 10;
/// Windows a text merge holds per source: two of terms, two of postings.
const WINDOWS_PER_SOURCE: u64 = 4;
/// The writer's buffers, one filling and one on its way, and the output of a step.
const FIXED_BYTES: u64 = 1 << 20;
/// Points of a column held at a time at least, 16 bytes each.
const MIN_POINTS: usize = 16 << 10;
/// A change of order, both ways.
pub(super) const ORDER_BYTES_PER_DOC: u64 = 8;

/// One segment that goes into a merge, read past the cache.
#[derive(Debug, Clone)]
pub struct MergeSource<F: File> {
    /// The segment.
    pub segment: OpenSegment<VerifiedFile<F>>,
    /// Live documents; `None` if all are.
    pub live: Option<Arc<BitSet>>,
}

/// Budget of a merge, and how it encodes.
#[derive(Debug, Clone, Copy)]
pub struct MergeLimits {
    /// Bytes of all buffers.
    pub memory_bytes: u64,
    /// How postings are encoded.
    pub codec: PostingsCodec,
}

impl MergeLimits {
    /// Bytes a merge of `sources` (documents and pinned bytes of each) needs at least under `schema`.
    pub fn needed_bytes(schema: &Schema, sources: &[(u32, u64)]) -> u64 {
        let docs: u64 = sources.iter().map(|(docs, _)| u64::from(*docs)).sum();
        let pinned: u64 = sources.iter().map(|(_, pinned)| *pinned).sum();
        let has_text = schema.fields().any(|(_, field)| matches!(field.kind, FieldKind::Text(_)));
        // One byte per document of norms, a bit of it for the map; pinned sections of the output come to those
        // of the sources.
        let norms = if has_text { docs } else { 0 };
        let windows = sources.len() as u64 * WINDOWS_PER_SOURCE * MIN_WINDOW_BYTES;
        FIXED_BYTES + norms + docs / 8 + pinned + windows + Self::vector_bytes(schema, docs)
    }

    /// What of it is for arranging vectors, one field at a time.
    fn vector_bytes(schema: &Schema, docs: u64) -> u64 {
        let fields = schema.fields().filter_map(|(_, field)| match &field.kind {
            FieldKind::Vector(options) => Some(merge_bytes(options, docs)),
            _ => None,
        });
        fields.max().unwrap_or(0)
    }

    fn window_bytes(&self, needed: u64, num_sources: usize) -> u64 {
        let windows = num_sources as u64 * WINDOWS_PER_SOURCE;
        let spare = self.memory_bytes.saturating_sub(needed) / windows.max(1);
        (MIN_WINDOW_BYTES + spare / 2).min(MAX_WINDOW_BYTES)
    }
}

/// A merged segment that nobody knows of yet.
#[derive(Debug)]
pub struct Merged {
    /// Its table of contents.
    pub toc: Toc,
    /// Where the documents of the sources went.
    pub docs: Arc<DocMap>,
    /// Bytes read from the sources.
    pub bytes_read: u64,
    /// Most bytes of buffers held at a time.
    pub peak_memory_bytes: u64,
}

/// Merges `sources`, in this order, into segment `id` of `target`. On an error or a cancellation nothing is left.
///
/// # Errors
/// `aborted`, `over_budget`, `corrupt`, storage's own.
pub async fn merge_segments<S: Storage, F: File>(
    target: &S,
    id: SegmentId,
    schema: &Schema,
    sources: Vec<MergeSource<F>>,
    limits: MergeLimits,
    progress: &dyn OnProgress,
    cancel: &Cancel,
) -> Result<Merged> {
    merge_in_order(target, id, schema, sources, None, limits, progress, cancel).await
}

/// The same with the documents in `order` behind, which is one of the live documents of all sources.
#[allow(clippy::too_many_arguments)]
pub(super) async fn merge_in_order<S: Storage, F: File>(
    target: &S,
    id: SegmentId,
    schema: &Schema,
    sources: Vec<MergeSource<F>>,
    order: Option<Arc<DocOrder>>,
    limits: MergeLimits,
    progress: &dyn OnProgress,
    cancel: &Cancel,
) -> Result<Merged> {
    let sizes: Vec<_> = sources.iter().map(|s| (s.segment.max_doc(), s.segment.reader().pinned_bytes())).collect();
    let held = order.as_ref().map_or(0, |order| u64::from(order.num_docs()) * ORDER_BYTES_PER_DOC);
    let needed = MergeLimits::needed_bytes(schema, &sizes) + held;
    let for_vectors = MergeLimits::vector_bytes(schema, sizes.iter().map(|(docs, _)| u64::from(*docs)).sum());
    if needed > limits.memory_bytes {
        let (have, count) = (limits.memory_bytes, sources.len());
        let what = format!("merging {count} segments needs {needed} bytes of memory, the budget is {have}");
        return Err(Error::new(ErrorKind::OverBudget, what));
    }
    let map = DocMap::new(sources.iter().map(|source| (source.segment.max_doc(), source.live.clone())));
    let too_many = || Error::new(ErrorKind::OverBudget, "the merged segment would have more than 2^32 - 1 documents");
    let mut map = map.ok_or_else(too_many)?;
    if let Some(order) = order {
        map = map.with_order(order);
    }
    let docs = Arc::new(map);
    let total = sources.iter().map(|source| source.segment.reader().toc().file_len).sum();
    let merge = Merge {
        target,
        id,
        window_bytes: limits.window_bytes(needed, sources.len()),
        codec: limits.codec,
        sources,
        docs,
        // What is held in another order than it is read: the rest of the budget.
        spare_bytes: (limits.memory_bytes - needed).max(MIN_WINDOW_BYTES),
        pace: Pace::new(progress, cancel, Phase::MergeText, total),
        fixed_bytes: needed - FIXED_BYTES - for_vectors,
        vector_bytes: limits.memory_bytes - needed + for_vectors,
        peak_memory_bytes: 0,
    };
    let mut spill_names = Vec::new();
    let result = merge.run(schema, &mut spill_names).await;
    if result.is_ok() {
        // However quick it was, a listener hears that all of it is done.
        progress.report(Progress { phase: Phase::Commit, done: total, total });
    }
    if result.is_err() {
        // What failed may be the storage itself: the next writer collects what cannot be removed now.
        for name in spill_names.into_iter().chain([id.file_name()]) {
            let _ = target.delete(&name).await;
        }
    }
    result
}

pub(super) struct Merge<'a, S: Storage, F: File> {
    target: &'a S,
    id: SegmentId,
    pub(super) sources: Vec<MergeSource<F>>,
    pub(super) docs: Arc<DocMap>,
    pub(super) window_bytes: u64,
    codec: PostingsCodec,
    pub(super) spare_bytes: u64,
    pub(super) pace: Pace<'a>,
    /// Accounted for from the start: norms, maps, metadata.
    fixed_bytes: u64,
    /// For arranging the vectors of a field.
    vector_bytes: u64,
    peak_memory_bytes: u64,
}

impl<S: Storage, F: File> Merge<'_, S, F> {
    async fn run(mut self, schema: &Schema, spill_names: &mut Vec<String>) -> Result<Merged> {
        self.pace.check()?;
        let mut out = SegmentFileWriter::create(self.target, self.id).await?;
        for (field, spec) in schema.fields() {
            self.pace.phase = Phase::MergeText;
            match &spec.kind {
                FieldKind::Id => self.text(&mut out, field, FieldOptions::KEYWORD, false, spill_names).await?,
                FieldKind::Text(options) => {
                    let keeps = FieldOptions { positions: options.positions, ..FieldOptions::FREQS };
                    self.text(&mut out, field, keeps, true, spill_names).await?;
                }
                FieldKind::Keyword => self.text(&mut out, field, FieldOptions::KEYWORD, false, spill_names).await?,
                _ => {}
            }
            if let Some(kind) = ColumnKind::of(&spec.kind) {
                self.pace.phase = Phase::MergeColumns;
                self.column(&mut out, field, kind).await?;
            }
        }
        self.pace.phase = Phase::MergeDocs;
        self.stored(&mut out, spill_names).await?;
        self.pace.phase = Phase::MergeVectors;
        for (field, spec) in schema.fields() {
            if let FieldKind::Vector(options) = &spec.kind {
                self.vectors(&mut out, field, options.clone(), spill_names).await?;
            }
        }
        let toc = out.finish(self.docs.num_docs()).await?;
        self.pace.check()?;
        let (bytes_read, peak_memory_bytes) = (self.pace.done, self.peak_memory_bytes);
        Ok(Merged { toc, docs: self.docs, bytes_read, peak_memory_bytes })
    }

    /// Notes how much memory is held: what was accounted for at the start and the buffers named here.
    pub(super) fn account(&mut self, buffers: usize) {
        self.peak_memory_bytes = self.peak_memory_bytes.max(self.fixed_bytes + buffers as u64);
    }

    /// Reads ranges of one kind of section, each of its source, all at a time; in order.
    pub(super) async fn read(
        &mut self,
        kind: SectionKind,
        field: FieldOrd,
        wants: &[(usize, Range<u64>)],
    ) -> Result<Vec<Bytes>> {
        let wants: Vec<_> = wants.iter().map(|(source, range)| (*source, kind, range.clone())).collect();
        self.read_mixed(field, &wants).await
    }

    /// Reads ranges of several kinds of sections; in order.
    async fn read_mixed(&mut self, field: FieldOrd, wants: &[(usize, SectionKind, Range<u64>)]) -> Result<Vec<Bytes>> {
        let reads = (0..self.sources.len()).map(|source| {
            let reader = self.sources[source].segment.reader();
            let of_source = wants.iter().filter(move |want| want.0 == source);
            let ranges: Vec<_> =
                of_source.map(|(_, kind, range)| SectionRange { kind: *kind, field, range: range.clone() }).collect();
            async move { if ranges.is_empty() { Ok(Vec::new()) } else { reader.read(&ranges).await } }
        });
        let mut found: Vec<_> = try_join_all(reads).await?.into_iter().map(Vec::into_iter).collect();
        let bytes: Vec<Bytes> = wants.iter().filter_map(|(source, ..)| found[*source].next()).collect();
        if bytes.len() != wants.len() {
            return Err(Error::new(ErrorKind::Io, "storage answered fewer ranges than it was asked for"));
        }
        self.pace.read(bytes.iter().map(|bytes| bytes.len() as u64).sum()).await?;
        Ok(bytes)
    }

    async fn norms(&mut self, field: FieldOrd) -> Result<Vec<u8>> {
        let docs = Arc::clone(&self.docs);
        let mut norms = Vec::with_capacity(docs.num_docs() as usize);
        for source in 0..self.sources.len() {
            let (has_field, max_doc) = {
                let reader = self.sources[source].segment.reader();
                (reader.section(SectionKind::Norms, field).is_some(), reader.max_doc())
            };
            let mut first = 0;
            while first < max_doc {
                let end = max_doc.min(first.saturating_add(self.window_bytes as u32));
                let window = u64::from(first)..u64::from(end);
                let bytes = if has_field {
                    self.read(SectionKind::Norms, field, &[(source, window)]).await?.remove(0)
                } else {
                    Bytes::from(vec![0; (end - first) as usize])
                };
                merge_norms(&docs, source, first, &bytes, &mut norms);
                first = end;
            }
        }
        if let Some(order) = self.docs.order() {
            norms = order.old_docs().iter().map(|&doc| norms[doc as usize]).collect();
        }
        Ok(norms)
    }

    async fn text(
        &mut self,
        out: &mut SegmentFileWriter<S::Writer>,
        field: FieldOrd,
        options: FieldOptions,
        has_norms: bool,
        spill_names: &mut Vec<String>,
    ) -> Result<()> {
        let mut norms = None;
        if has_norms {
            let merged = self.norms(field).await?;
            out.begin(SectionKind::Norms, field);
            out.append_slice(&merged).await?;
            out.end();
            norms = Some(merged);
        }
        let sources = self.sources.iter().map(|source| source.segment.terms(field).cloned()).collect();
        let mut merger = FieldMerger::new(
            options.with_codec(self.codec),
            sources,
            Arc::clone(&self.docs),
            norms,
            self.window_bytes,
        )?;
        let mut spill = Spill::new(self.target, self.id, spill_names.len() as u32, self.window_bytes as usize);
        spill_names.push(spill.name().to_owned());
        let (mut terms, mut postings) = (Vec::new(), Vec::new());
        out.begin_postings(field, self.codec);
        loop {
            let step = merger.step(&mut terms, &mut postings)?;
            self.account(merger.memory_bytes() + terms.capacity() + postings.capacity() + out.memory_bytes());
            out.append(&mut postings).await?;
            spill.append(&mut terms).await?;
            match step {
                MergeStep::Progress => self.pace.turn().await?,
                MergeStep::Wants => {
                    let wants: Vec<_> = merger
                        .wanted()
                        .iter()
                        .map(|want| (want.source, section_of(want.stream), want.range.clone()))
                        .collect();
                    let bytes = self.read_mixed(field, &wants).await?;
                    merger.feed(bytes)?;
                }
                MergeStep::Done => break,
            }
        }
        let index = merger.finish(&mut terms);
        spill.append(&mut terms).await?;
        out.end();
        out.begin(SectionKind::Terms, field);
        spill.drain_into(out).await?;
        out.end();
        out.pin(SectionKind::TermIndex, field, index);
        Ok(())
    }

    async fn column(
        &mut self,
        out: &mut SegmentFileWriter<S::Writer>,
        field: FieldOrd,
        kind: ColumnKind,
    ) -> Result<()> {
        if let Some(order) = self.docs.order().cloned() {
            return self.column_in_order(out, field, kind, order).await;
        }
        let sources = self.sources.iter().map(|source| source.segment.column(field).cloned()).collect();
        // Two of the four windows that a merge of text holds per source.
        let points = (self.window_bytes as usize / 8).max(MIN_POINTS);
        let mut merger = ColumnMerger::new(kind, sources, Arc::clone(&self.docs))?.with_points(points);
        let mut data = Vec::new();
        out.begin(SectionKind::Column, field);
        while !merger.is_done() {
            let wants = merger.wanted();
            let bytes = self.read(SectionKind::Column, field, &wants).await?;
            merger.feed(&bytes, &mut data)?;
            self.account(merger.memory_bytes() + total_len(&bytes) + data.capacity() + out.memory_bytes());
            out.append(&mut data).await?;
        }
        let meta = merger.finish(&mut data)?;
        out.append(&mut data).await?;
        out.end();
        out.pin(SectionKind::ColumnMeta, field, meta);
        Ok(())
    }

    async fn stored(&mut self, out: &mut SegmentFileWriter<S::Writer>, spill_names: &mut Vec<String>) -> Result<()> {
        let mut spills = Spills { storage: self.target, id: self.id, names: spill_names };
        let spilled_ids = spills.spill(self.window_bytes as usize);
        if let Some(order) = self.docs.order().cloned() {
            return self.stored_in_order(out, order, spilled_ids).await;
        }
        let missing = |id| Error::new(ErrorKind::Corrupt, format!("segment {id} has no document index"));
        let sources = self
            .sources
            .iter()
            .map(|source| source.segment.docs().cloned().ok_or_else(|| missing(source.segment.id())));
        let mut merger = DocStoreMerger::new(sources.collect::<Result<_>>()?, Arc::clone(&self.docs));
        let mut spilled_ids = spilled_ids;
        let (mut data, mut ids) = (Vec::new(), Vec::new());
        out.begin(SectionKind::Docs, FieldOrd(0));
        loop {
            let wants = merger.wanted();
            if wants.is_empty() {
                break;
            }
            let bytes = self.read(SectionKind::Docs, FieldOrd(0), &wants).await?;
            merger.feed(&bytes, &mut data)?;
            let set_aside = spilled_ids.memory_bytes() + ids.capacity();
            self.account(merger.memory_bytes() + total_len(&bytes) + data.capacity() + set_aside + out.memory_bytes());
            out.append(&mut data).await?;
            merger.take_ids(&mut ids);
            spilled_ids.append(&mut ids).await?;
        }
        let parts = merger.finish(&mut data)?;
        out.append(&mut data).await?;
        out.end();
        end_stored(out, parts, spilled_ids).await
    }

    async fn vectors(
        &mut self,
        out: &mut SegmentFileWriter<S::Writer>,
        field: FieldOrd,
        options: crate::schema::VectorOptions,
        spill_names: &mut Vec<String>,
    ) -> Result<()> {
        let name = |error| Error::corrupt(format!("vectors of field {}", field.0), error);
        let sources: Vec<_> = self.sources.iter().map(|source| source.segment.vectors(field).cloned()).collect();
        if let Some(other) = sources.iter().flatten().find(|source| !source.options().has_rows_of(&options)) {
            let what =
                format!("field {}: vectors of {} dimensions, the schema says {}", field.0, other.dims(), options.dims);
            return Err(Error::new(ErrorKind::Corrupt, what));
        }
        let is_ordered = sources.iter().flatten().all(|source| !source.is_in_cells());
        let (target, id, max_doc, memory_bytes) = (self.target, self.id, self.docs.num_docs(), self.vector_bytes);
        let mut rows = MergeRows::new(self, field, sources.clone());
        if rows.count() >= MIN_CELL_VECTORS || !is_ordered {
            let spec = VectorField { field, options: &options, max_doc, memory_bytes };
            let mut spills = Spills { storage: target, id, names: spill_names };
            return write_vectors(out, &mut spills, spec, &mut rows).await;
        }
        if let (Some(order), [Some(source)]) = (self.docs.order().cloned(), &sources[..]) {
            return self.vectors_in_order(out, field, Arc::clone(source), order).await;
        }
        let mut merger = VectorsMerger::new(options, sources, Arc::clone(&self.docs), self.window_bytes);
        let mut rows = Vec::new();
        out.begin(SectionKind::Vectors, field);
        while let Some(want) = merger.wanted() {
            let bytes = self.read(SectionKind::Vectors, field, &[(want.source, want.bytes)]).await?;
            let Some(window) = bytes.first() else { break };
            merger.feed(window, &mut rows).map_err(name)?;
            self.account(window.len() + rows.capacity() + out.memory_bytes());
            out.append(&mut rows).await?;
        }
        out.end();
        let mut meta = Vec::new();
        merger.finish(&mut meta);
        out.pin(SectionKind::VectorsMeta, field, meta);
        Ok(())
    }
}

/// Writes what follows the stored documents: their index, their ids and the index of those.
pub(super) async fn end_stored<S: Storage>(
    out: &mut SegmentFileWriter<S::Writer>,
    mut parts: DocStoreParts,
    mut ids: Spill<S>,
) -> Result<()> {
    out.pin(SectionKind::DocsIndex, FieldOrd(0), parts.index);
    ids.append(&mut parts.ids).await?;
    out.begin(SectionKind::DocIds, FieldOrd(0));
    ids.drain_into(out).await?;
    out.end();
    out.pin(SectionKind::DocIdsIndex, FieldOrd(0), parts.ids_index);
    Ok(())
}

fn total_len(bytes: &[Bytes]) -> usize {
    bytes.iter().map(Bytes::len).sum()
}

fn section_of(stream: TextStream) -> SectionKind {
    match stream {
        TextStream::Terms => SectionKind::Terms,
        TextStream::Postings => SectionKind::Postings,
        TextStream::Norms => SectionKind::Norms,
    }
}
