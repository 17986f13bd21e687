//! Merging into an order in which documents with the same terms are near each other: postings get shorter, and blocks
//! that cannot win come in longer runs.
//!
//! ```text
//! merge the sources as ever, into a segment of its own       (not if there is one, and nothing is deleted in it)
//! walk its dictionaries: how many terms of each frequency there are, what the largest term takes
//! walk the postings of the terms in bounds, twice: count the terms of each document, then note them
//! bisect (see bisect)
//! write the segment again, in the new order; remove the first one
//! ```
//!
//! Terms in more than half of the documents tell nothing, and those in very few do not pay; where the budget does not
//! hold the rest, the rarest are left out. Storage holds sources, intermediate segment and result for a while.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::Bytes;

use super::{
    bisect::{Bisection, ForwardIndex},
    driver::{MergeLimits, MergeSource, Merged, ORDER_BYTES_PER_DOC, merge_in_order, merge_segments},
    pace::Pace,
};
use crate::{
    bitset::DocOrder,
    columns::{ColumnMeta, ColumnReorderer},
    error::{Error, ErrorKind, Result},
    ids::{FieldOrd, SegmentId},
    index::report::{OnProgress, Phase},
    platform::Cancel,
    postings::{Damage, END, Postings, TermBytes, reordered_term_bytes},
    schema::{FieldKind, Schema},
    segment::{OpenSegment, SectionKind, VerifiedFile},
    storage::{Access, File, OpenOptions, Storage},
    terms::{TermCursor, TermIndex, TermInfo},
};

/// Terms in fewer documents are left out: there are many of them, and each ties few documents together.
const MIN_DOC_FREQ: u32 = 8;
/// Bytes read at a time while postings are walked.
const WINDOW_BYTES: u64 = 1 << 20;

/// Bytes of memory that finding and writing another order of `num_docs` documents takes beside those of a merge.
pub fn reorder_needed_bytes(num_docs: u64) -> u64 {
    num_docs * ORDER_BYTES_PER_DOC + Bisection::memory_needed(u32::try_from(num_docs).unwrap_or(u32::MAX), 0, 0)
}

/// Merges `sources` as [`merge_segments`] does, and puts the documents into another order. On an error or a
/// cancellation nothing is left.
///
/// # Errors
/// `over_budget` with the bytes that are needed: at the start as far as they are known then, before anything is written
/// in the new order otherwise. Else as [`merge_segments`].
pub async fn merge_reordered<S: Storage, F: File>(
    target: &S,
    id: SegmentId,
    schema: &Schema,
    mut sources: Vec<MergeSource<F>>,
    limits: MergeLimits,
    progress: &dyn OnProgress,
    cancel: &Cancel,
) -> Result<Merged> {
    let sizes: Vec<_> = sources.iter().map(|s| (s.segment.max_doc(), s.segment.reader().pinned_bytes())).collect();
    let num_docs: u64 = sizes.iter().map(|(docs, _)| u64::from(*docs)).sum();
    let columns = |source: &MergeSource<F>| largest_column(schema, |field| source.segment.column(field).cloned());
    let column: u64 = sources.iter().map(columns).sum();
    let needed = MergeLimits::needed_bytes(schema, &sizes) + reorder_needed_bytes(num_docs).max(column);
    check(needed, &limits)?;
    if let ([source], 1) = (&sources[..], sources.len())
        && source.live.is_none()
        && has_all_fields(schema, &source.segment)
    {
        let segment = sources.remove(0).segment;
        return rewrite(target, id, schema, segment, limits, progress, cancel).await;
    }
    let first_id = SegmentId::random()?;
    let first = merge_segments(target, first_id, schema, sources, limits, progress, cancel).await?;
    let result = async {
        let options = OpenOptions { access: Access::MERGE, len: Some(first.toc.file_len) };
        let file = target.open(&first_id.file_name(), options).await?;
        let segment = OpenSegment::open_raw(file, first.toc.clone()).await?;
        rewrite(target, id, schema, segment, limits, progress, cancel).await
    }
    .await;
    let deleted = target.delete(&first_id.file_name()).await;
    let second = result?;
    if let Err(error) = deleted {
        let _ = target.delete(&id.file_name()).await;
        return Err(error);
    }
    let docs = match second.docs.order() {
        Some(order) => Arc::new(first.docs.as_ref().clone().with_order(Arc::clone(order))),
        None => first.docs,
    };
    Ok(Merged {
        toc: second.toc,
        docs,
        bytes_read: first.bytes_read + second.bytes_read,
        peak_memory_bytes: first.peak_memory_bytes.max(second.peak_memory_bytes),
    })
}

fn check(needed: u64, limits: &MergeLimits) -> Result<()> {
    if needed <= limits.memory_bytes {
        return Ok(());
    }
    let what = format!("reordering needs {needed} bytes of memory, the budget is {}", limits.memory_bytes);
    Err(Error::new(ErrorKind::OverBudget, what))
}

/// Memory of the column that takes most.
fn largest_column(schema: &Schema, column: impl Fn(FieldOrd) -> Option<Arc<ColumnMeta>>) -> u64 {
    let columns = schema.fields().filter_map(|(field, _)| column(field));
    columns.map(|column| ColumnReorderer::memory_needed(&column)).max().unwrap_or(0)
}

/// Whether a segment is as the schema has it: one that is older lacks fields, which a merge gives it.
fn has_all_fields<F: File>(schema: &Schema, segment: &OpenSegment<F>) -> bool {
    schema.fields().all(|(field, spec)| match spec.kind {
        FieldKind::Id | FieldKind::Text(_) => segment.terms(field).is_some(),
        FieldKind::Keyword => segment.terms(field).is_some() && segment.column(field).is_some(),
        FieldKind::Vector(_) => segment.vectors(field).is_some(),
        FieldKind::Json => true,
        _ => segment.column(field).is_some(),
    })
}

/// Writes one segment, all of whose documents live, in another order.
async fn rewrite<S: Storage, F: File>(
    target: &S,
    id: SegmentId,
    schema: &Schema,
    segment: OpenSegment<VerifiedFile<F>>,
    limits: MergeLimits,
    progress: &dyn OnProgress,
    cancel: &Cancel,
) -> Result<Merged> {
    let base = MergeLimits::needed_bytes(schema, &[(segment.max_doc(), segment.reader().pinned_bytes())]);
    let total = segment.reader().toc().file_len;
    let mut pace = Pace::new(progress, cancel, Phase::Reorder, total);
    let mut search = OrderSearch { schema, segment: &segment, pace: &mut pace, bytes_read: 0 };
    let stats = search.statistics().await?;
    let num_docs = u64::from(segment.max_doc());
    let column = largest_column(schema, |field| segment.column(field).cloned());
    let held = base + num_docs * ORDER_BYTES_PER_DOC;
    check(held + stats.largest_term.max(column), &limits)?;
    let order = search.order(&stats, limits.memory_bytes.saturating_sub(base)).await?;
    let (order, peak) = order;
    let found = search.bytes_read;
    let order = DocOrder::new(order).ok_or_else(|| Error::new(ErrorKind::Corrupt, "an order that is none"))?;
    let sources = vec![MergeSource { segment, live: None }];
    let merged = merge_in_order(target, id, schema, sources, Some(Arc::new(order)), limits, progress, cancel).await?;
    let bytes_read = merged.bytes_read + found;
    Ok(Merged { bytes_read, peak_memory_bytes: merged.peak_memory_bytes.max(base + peak), ..merged })
}

/// What the dictionaries say.
#[derive(Debug, Default)]
struct Statistics {
    /// Terms of each document frequency, of the fields that are looked at.
    terms: BTreeMap<u32, u64>,
    /// Memory of the term that takes most to be rewritten, of any field.
    largest_term: u64,
}

struct OrderSearch<'a, 'p, F: File> {
    schema: &'a Schema,
    segment: &'a OpenSegment<VerifiedFile<F>>,
    pace: &'a mut Pace<'p>,
    bytes_read: u64,
}

impl<F: File> OrderSearch<'_, '_, F> {
    /// Fields with terms, and whether documents are compared by them.
    fn fields(&self) -> Vec<(FieldOrd, Arc<TermIndex>, bool)> {
        let of = |(field, spec): (FieldOrd, &crate::schema::Field)| {
            let counts = matches!(spec.kind, FieldKind::Text(_) | FieldKind::Keyword);
            Some((field, self.segment.terms(field)?.clone(), counts))
        };
        self.schema.fields().filter_map(of).collect()
    }

    async fn statistics(&mut self) -> Result<Statistics> {
        let mut stats = Statistics::default();
        for (field, index, counts) in self.fields() {
            let positions = index.options().positions;
            let mut block = 0;
            while let Some(range) = window(&index, &mut block) {
                let bytes = self.read(SectionKind::Terms, field, range).await?;
                let mut cursor = TermCursor::new(index.options(), bytes);
                while advance(&mut cursor)? {
                    let info = cursor.info();
                    let needed = reordered_term_bytes(info.doc_freq, info.total_term_freq, positions);
                    stats.largest_term = stats.largest_term.max(needed);
                    if counts {
                        *stats.terms.entry(info.doc_freq).or_default() += 1;
                    }
                }
            }
        }
        Ok(stats)
    }

    /// The order, and the memory that finding it took.
    async fn order(&mut self, stats: &Statistics, budget: u64) -> Result<(Vec<u32>, u64)> {
        let num_docs = self.segment.max_doc();
        let (bounds, num_terms, num_entries) = bounds(stats, num_docs, budget);
        let mut index = ForwardIndex { num_terms: num_terms as u32, ..ForwardIndex::default() };
        let mut counts = vec![0u32; num_docs as usize + 1];
        self.each_term(&bounds, |_, doc| {
            if let Some(count) = counts.get_mut(doc as usize) {
                *count += 1;
            }
        })
        .await?;
        let mut start = 0u32;
        for count in &mut counts {
            // Bounded by the budget: see bounds.
            let of_doc = std::mem::replace(count, start);
            start = start.saturating_add(of_doc);
        }
        index.starts = counts;
        index.terms = vec![0; start as usize];
        let mut next: Vec<u32> = index.starts.clone();
        let terms = &mut index.terms;
        self.each_term(&bounds, |term, doc| {
            if let Some(at) = next.get_mut(doc as usize) {
                if let Some(slot) = terms.get_mut(*at as usize) {
                    *slot = term;
                }
                *at += 1;
            }
        })
        .await?;
        drop(next);
        let mut bisection = Bisection::new(index);
        let total = self.pace.total;
        while bisection.step() {
            self.pace.done = total / 1000 * bisection.progress();
            self.pace.turn().await?;
        }
        Ok((bisection.into_order(), Bisection::memory_needed(num_docs, num_terms, num_entries)))
    }

    /// Every document of every term in bounds; terms are numbered as they come, the same each time.
    async fn each_term(&mut self, bounds: &Range<u32>, mut visit: impl FnMut(u32, u32)) -> Result<()> {
        let mut term = 0;
        for (field, index, counts) in self.fields() {
            if !counts {
                continue;
            }
            let mut block = 0;
            let mut postings = Window::default();
            while let Some(range) = window(&index, &mut block) {
                let bytes = self.read(SectionKind::Terms, field, range).await?;
                let mut cursor = TermCursor::new(index.options(), bytes);
                while advance(&mut cursor)? {
                    let info = *cursor.info();
                    if !bounds.contains(&info.doc_freq) {
                        continue;
                    }
                    self.each_doc(field, &index, &info, &mut postings, |doc| visit(term, doc)).await?;
                    term += 1;
                }
            }
        }
        Ok(())
    }

    async fn each_doc(
        &mut self,
        field: FieldOrd,
        index: &TermIndex,
        info: &TermInfo,
        window: &mut Window,
        mut visit: impl FnMut(u32),
    ) -> Result<()> {
        let range = info.docs_range();
        if range.start < window.start || range.end > window.start + window.bytes.len() as u64 {
            let end = range.end.max(range.start.saturating_add(WINDOW_BYTES).min(index.postings_len()));
            window.bytes = self.read(SectionKind::Postings, field, range.start..end).await?;
            window.start = range.start;
        }
        let at = (range.start - window.start) as usize;
        let docs = window.bytes.slice(at..at + (range.end - range.start) as usize);
        let damage = Damage::default();
        let bytes = TermBytes::whole(info, docs, None);
        let mut postings = Postings::open(index.options(), self.segment.max_doc(), info, bytes, &damage);
        while postings.next() != END {
            visit(postings.doc());
        }
        damage.check().map_err(|error| Error::corrupt(format!("postings of field {}", field.0), error))
    }

    async fn read(&mut self, kind: SectionKind, field: FieldOrd, range: Range<u64>) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let bytes = self.segment.reader().read_one(kind, field, range).await?;
        self.bytes_read += bytes.len() as u64;
        // Progress is that of the bisection, which takes longer.
        self.pace.turn().await?;
        Ok(bytes)
    }
}

/// A part of the postings.
#[derive(Debug, Default)]
struct Window {
    start: u64,
    bytes: Bytes,
}

/// The next run of dictionary blocks.
fn window(index: &TermIndex, block: &mut usize) -> Option<Range<u64>> {
    let mut range = index.block_range(*block)?;
    *block += 1;
    while let Some(next) = index.block_range(*block).filter(|next| next.end - range.start <= WINDOW_BYTES) {
        range.end = next.end;
        *block += 1;
    }
    Some(range)
}

fn advance(cursor: &mut TermCursor<Bytes>) -> Result<bool> {
    cursor.advance().map_err(|error| Error::corrupt("dictionary block", error))
}

/// Document frequencies of the terms to compare by, how many terms those are, and in how many documents all together.
fn bounds(stats: &Statistics, num_docs: u32, budget: u64) -> (Range<u32>, u64, u64) {
    let end = (num_docs / 2).saturating_add(1);
    let (mut start, mut terms, mut entries) = (end, 0u64, 0u64);
    for (&doc_freq, &count) in stats.terms.range(..end).rev().take_while(|(doc_freq, _)| **doc_freq >= MIN_DOC_FREQ) {
        let (terms_now, entries_now) = (terms + count, entries + count * u64::from(doc_freq));
        // One more number per document while they are noted.
        let needed = Bisection::memory_needed(num_docs, terms_now, entries_now) + u64::from(num_docs) * 4;
        if needed > budget || entries_now > u64::from(u32::MAX) {
            break;
        }
        (start, terms, entries) = (doc_freq, terms_now, entries_now);
    }
    (start..end, terms, entries)
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        bitset::BitSet, codec::PostingsCodec, docstore::StoredDocument, ids::DocOrd, index::no_progress,
        platform::block_on, schema::DocumentBatch, segment::SegmentBuilder, storage::MemoryStorage,
    };

    const MEMORY: u64 = 8 << 20;

    fn schema() -> Schema {
        let schema = json!({ "body": "text", "tag": "keyword", "year": "integer", "price": "number", "done": "bool",
            "note": { "type": "text", "positions": false }, "embedding": { "type": "vector", "dims": 3 } });
        Schema::from_json(&schema).expect("valid")
    }

    fn random_doc(rng: &mut fastrand::Rng, id: usize) -> Value {
        let topic = rng.u32(0..5);
        let word = |rng: &mut fastrand::Rng| format!("w{}", topic * 20 + rng.u32(0..25));
        let words = |rng: &mut fastrand::Rng| (0..rng.usize(0..30)).map(|_| word(rng)).collect::<Vec<_>>().join(" ");
        let mut doc = json!({ "id": id, "body": words(rng), "note": words(rng) });
        if rng.bool() {
            doc["tag"] = (0..rng.usize(1..4)).map(|_| word(rng)).collect();
            doc["year"] = (0..rng.usize(1..3)).map(|_| rng.i64(-9..99)).collect();
        }
        if rng.u8(0..4) > 0 {
            doc["price"] = json!(f64::from(rng.i32(-50..50)) / 4.0);
            doc["done"] = json!(rng.bool());
            let vector = |rng: &mut fastrand::Rng| (0..3).map(|_| rng.i32(-3..4)).collect::<Vec<_>>();
            doc["embedding"] = (0..rng.usize(1..3)).map(|_| vector(rng)).collect();
        }
        doc
    }

    async fn build(storage: &MemoryStorage, schema: &Schema, docs: &[Value]) -> OpenSegment<VerifiedFile<FileOf>> {
        let mut builder = SegmentBuilder::new(schema, PostingsCodec::default()).expect("known analyzers");
        let batch = DocumentBatch::from_values(docs.to_vec());
        for document in batch.into_documents(schema).expect("adds up") {
            builder.add(&document.expect("fits")).expect("room");
        }
        let id = SegmentId::random().expect("randomness");
        let built = builder.write(storage, id).await.expect("room");
        open(storage, built.toc).await
    }

    type FileOf = <MemoryStorage as Storage>::File;

    async fn open(storage: &MemoryStorage, toc: crate::segment::Toc) -> OpenSegment<VerifiedFile<FileOf>> {
        let options = OpenOptions { access: Access::MERGE, len: Some(toc.file_len) };
        let file = storage.open(&toc.id.file_name(), options).await.expect("just written");
        OpenSegment::open_raw(file, toc).await.expect("just written")
    }

    /// Kind, field and bytes of every section but the checksums, which cover the segment's name.
    async fn sections(segment: &OpenSegment<VerifiedFile<FileOf>>) -> Vec<(SectionKind, FieldOrd, Bytes)> {
        let mut found = Vec::new();
        for section in segment.reader().toc().sections.iter().filter(|one| one.kind != SectionKind::Checksums) {
            let (kind, field) = (section.kind, section.field);
            let range = 0..section.len;
            let bytes = match section.len {
                0 => Bytes::new(),
                _ => segment.reader().read_one(kind, field, range).await.expect("sound"),
            };
            found.push((kind, field, bytes));
        }
        found
    }

    async fn stored(segment: &OpenSegment<VerifiedFile<FileOf>>) -> Vec<StoredDocument> {
        let index = segment.docs().expect("documents");
        let docs: Vec<DocOrd> = (0..segment.max_doc()).map(DocOrd).collect();
        let plan = index.plan(&docs).expect("they are there");
        let mut buffers = Vec::new();
        for range in plan.ranges(index) {
            buffers.push(segment.reader().read_one(SectionKind::Docs, FieldOrd(0), range).await.expect("sound"));
        }
        plan.decode(index, &buffers).expect("sound")
    }

    async fn reorder(
        storage: &MemoryStorage,
        schema: &Schema,
        sources: Vec<MergeSource<FileOf>>,
        memory_bytes: u64,
    ) -> Result<Merged> {
        let limits = MergeLimits { memory_bytes, codec: PostingsCodec::default() };
        let id = SegmentId::random().expect("randomness");
        merge_reordered(storage, id, schema, sources, limits, &no_progress, &Cancel::new()).await
    }

    /// Rows of vectors in document order, those of one document sorted: their order among themselves means nothing, and
    /// is lost where a source has cells.
    fn rows_by_doc<'b>(
        segment: &OpenSegment<VerifiedFile<FileOf>>,
        field: FieldOrd,
        bytes: &'b Bytes,
    ) -> Vec<Vec<&'b [u8]>> {
        let reader = segment.vectors(field).expect("a vector field");
        let rows: Vec<&[u8]> = bytes.chunks_exact(reader.stride_bytes()).collect();
        let of_doc = |doc| {
            let ords = reader.ords_of(DocOrd(doc));
            let mut rows = rows[ords.start as usize..ords.end as usize].to_vec();
            rows.sort_unstable();
            rows
        };
        (0..segment.max_doc()).map(of_doc).collect()
    }

    #[test]
    fn the_result_is_what_building_in_that_order_gives() {
        // The first: a source with cells, and so many deletions that the result has none.
        for seed in [13881693439691280636, fastrand::u64(..)] {
            println!("seed {seed}");
            gives_what_building_gives(seed);
        }
    }

    fn gives_what_building_gives(seed: u64) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let schema = schema();
        block_on(async {
            for sizes in [&[0usize][..], &[1], &[300], &[200, 150], &[4500, 90]] {
                let storage = MemoryStorage::new();
                let (mut sources, mut docs, mut number) = (Vec::new(), Vec::new(), 0);
                for &size in sizes {
                    let values: Vec<Value> = (number..number + size).map(|id| random_doc(&mut rng, id)).collect();
                    number += size;
                    let mut live = BitSet::full(size as u32);
                    let drops = rng.bool();
                    (0..size as u32).filter(|_| drops && rng.u8(0..5) == 0).for_each(|doc| {
                        live.remove(doc);
                    });
                    let segment = build(&storage, &schema, &values).await;
                    sources.push(MergeSource { segment, live: drops.then(|| Arc::new(live.clone())) });
                    docs.push((values, live));
                }
                // Little memory: several passes over stored documents and vectors.
                let memory = if rng.bool() { MEMORY } else { 1_800_000 };
                let merged = reorder(&storage, &schema, sources, memory).await.expect("fits");
                assert!(merged.peak_memory_bytes <= memory, "{} of {memory}", merged.peak_memory_bytes);
                let segment = open(&storage, merged.toc).await;
                let mut ordered: Vec<Option<Value>> = vec![None; merged.docs.num_docs() as usize];
                for (source, (values, live)) in docs.iter().enumerate() {
                    for (doc, value) in values.iter().enumerate() {
                        let place = merged.docs.get(source, DocOrd(doc as u32));
                        assert_eq!(place.is_some(), live.contains(doc as u32), "seed {seed}");
                        if let Some(place) = place {
                            ordered[place.0 as usize] = Some(value.clone());
                        }
                    }
                }
                let ordered: Vec<Value> = ordered.into_iter().map(|doc| doc.expect("a permutation")).collect();
                let rebuilt = build(&storage, &schema, &ordered).await;
                for (found, expected) in stored(&segment).await.iter().zip(&stored(&rebuilt).await) {
                    assert_eq!((&found.id, &found.json), (&expected.id, &expected.json), "seed {seed}");
                }
                let (found, expected) = (sections(&segment).await, sections(&rebuilt).await);
                for (kind, field, bytes) in &found {
                    // Cells depend on how much memory their training had.
                    if segment.cells(*field).is_some() {
                        continue;
                    }
                    let twin = expected.iter().find(|(twin, of, _)| (twin, of) == (kind, field));
                    let (.., twin) = twin.unwrap_or_else(|| panic!("seed {seed}, {sizes:?}: no {kind} of {field:?}"));
                    let is_equal = match kind {
                        SectionKind::Vectors => {
                            rows_by_doc(&segment, *field, bytes) == rows_by_doc(&rebuilt, *field, twin)
                        }
                        _ => twin == bytes,
                    };
                    assert!(is_equal, "seed {seed}, {sizes:?}: {kind} of {field:?}");
                }
                assert_eq!(found.len(), expected.len(), "seed {seed}");
                let names = storage.list().await.expect("memory");
                assert_eq!(names.len(), sizes.len() + 2, "nothing else is left: {names:?}");
            }
        });
    }

    #[test]
    fn too_little_memory_is_refused_with_the_figure() {
        let mut rng = fastrand::Rng::with_seed(3);
        let schema = schema();
        block_on(async {
            let storage = MemoryStorage::new();
            let docs: Vec<Value> = (0..3000).map(|id| random_doc(&mut rng, id)).collect();
            let segment = build(&storage, &schema, &docs).await;
            let source = || vec![MergeSource { segment: segment.clone(), live: None }];
            let error = reorder(&storage, &schema, source(), 1 << 20).await.expect_err("1 MiB");
            assert_eq!(error.kind(), ErrorKind::OverBudget, "{error}");
            let needed: u64 = error
                .to_string()
                .split(|c: char| !c.is_ascii_digit())
                .find_map(|number| number.parse().ok())
                .expect("the figure");
            assert!(needed > 1 << 20, "{error}");
            assert!(reorder(&storage, &schema, source(), needed + (1 << 20)).await.is_ok());
            assert_eq!(storage.list().await.expect("memory").len(), 2, "source and result");
        });
    }

    #[test]
    fn rarest_terms_are_left_out_first() {
        let stats = Statistics { terms: [(1, 1000), (8, 100), (9, 100), (40, 10), (60, 1)].into(), largest_term: 0 };
        let all = bounds(&stats, 100, u64::MAX);
        assert_eq!(all, (8..51, 210, 8 * 100 + 9 * 100 + 400));
        let least = Bisection::memory_needed(100, 0, 0) + 400;
        assert_eq!(bounds(&stats, 100, least), (51..51, 0, 0));
        assert_eq!(bounds(&stats, 100, least + 110 * 8 + 1300 * 4), (9..51, 110, 1300));
    }
}
