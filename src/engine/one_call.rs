//! A whole job in one call: documents to a finished index, several indexes into one.

use std::sync::Arc;

use futures_util::{Stream, StreamExt};
use serde::Serialize;

use crate::{
    analysis::CustomAnalyzers,
    bitset::BitSet,
    engine::{BuildOptions, Index, MergeOptions, OpenMode, OpenOptions, Refusal, handle::load_newest},
    error::{Error, ErrorKind, Result},
    ids::SegmentId,
    index::{
        self, CheckReport, MergeReport, OnProgress, Opener, Phase, Progress, StorageSnapshot, lookup,
        merge::{MergeLimits, MergeSource, merge_segments},
    },
    platform::{Cancel, now_millis, yield_now},
    schema::{DocumentBatch, Schema},
    segment::{OpenSegment, SearchFile},
    storage::{self, Access, BlockCache, Storage},
};

/// What [`build`] did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildReport {
    /// Documents in the index.
    pub num_docs: u64,
    /// Documents that did not fit; `row` counts from the first batch on.
    pub refused: Vec<Refusal>,
    /// Segments.
    pub num_segments: u32,
    /// Bytes of the index.
    pub bytes: u64,
    /// Milliseconds.
    pub took: f64,
}

/// Builds a new index in `storage` from batches of documents, merges and commits it.
///
/// A build that fails or is cancelled before its commit leaves an empty index; in the merge at its end, it leaves
/// the whole index in several segments.
///
/// # Examples
/// ```
/// use futures_util::stream;
/// use rangefind::{
///     engine::{BuildOptions, Cancel, DocumentBatch, MergeOptions, build, merge, no_progress},
///     storage::MemoryStorage,
/// };
///
/// # rangefind::platform::block_on(async {
/// let (one, two, both) = (MemoryStorage::new(), MemoryStorage::new(), MemoryStorage::new());
/// for (storage, id) in [(one.clone(), "a"), (two.clone(), "b")] {
///     let batch = DocumentBatch::from_text(format!(r#"{{"id":"{id}","title":"a document of a few words"}}"#));
///     let (batches, options) = (stream::iter([batch]), BuildOptions::default());
///     build(storage, batches, options, &no_progress, &Cancel::new()).await?;
/// }
/// let report = merge(&[one, two], both, MergeOptions::default(), &no_progress, &Cancel::new()).await?;
/// assert_eq!((report.docs, report.num_segments), (2, 1));
/// # Ok::<(), rangefind::Error>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// `invalid_argument` if there is an index already; else as [`Index::add`] and [`Index::merge`], and whatever
/// `batches` yields.
pub async fn build<S: Storage>(
    storage: S,
    batches: impl Stream<Item = Result<DocumentBatch>> + Unpin,
    options: BuildOptions,
    progress: &dyn OnProgress,
    cancel: &Cancel,
) -> Result<BuildReport> {
    let started = now_millis();
    let open = OpenOptions {
        mode: OpenMode::Create,
        schema: options.schema,
        codec: Some(options.codec),
        memory_bytes: options.memory_bytes,
        auto_merge: false,
        grace_millis: 0,
        analyzers: options.analyzers,
        ..OpenOptions::default()
    };
    let index = Index::open(storage, open).await?;
    index.check_analyzers()?;
    let built = fill(&index, batches, options.max_segments, options.memory_bytes, progress, cancel).await;
    let closed = index.close().await;
    let (refused, num_docs, num_segments, bytes) = built?;
    closed?;
    Ok(BuildReport { num_docs, refused, num_segments, bytes, took: now_millis() - started })
}

/// Adds everything, commits and merges; returns refusals, documents, segments and bytes.
async fn fill<S: Storage>(
    index: &Index<S>,
    mut batches: impl Stream<Item = Result<DocumentBatch>> + Unpin,
    max_segments: Option<u32>,
    memory_bytes: u64,
    progress: &dyn OnProgress,
    cancel: &Cancel,
) -> Result<(Vec<Refusal>, u64, u32, u64)> {
    let (mut refused, mut rows) = (Vec::new(), 0u64);
    while let Some(batch) = batches.next().await {
        cancel.check()?;
        let batch = batch?;
        let first_row = rows;
        rows += batch.len() as u64;
        let report = index.add(batch).await?;
        refused.extend(report.refused.into_iter().map(|refusal| Refusal { row: refusal.row + first_row, ..refusal }));
        progress.report(Progress { phase: Phase::Add, done: rows, total: 0 });
        yield_now().await;
    }
    let buffered = index.info()?.pending_bytes;
    progress.report(Progress { phase: Phase::Flush, done: 0, total: buffered });
    let commit = index.commit().await?;
    progress.report(Progress { phase: Phase::Flush, done: buffered, total: buffered });
    let num_segments = match max_segments {
        Some(_) => {
            let merge = MergeOptions { max_segments, memory_bytes, ..MergeOptions::default() };
            index.merge(merge, progress, cancel).await?.num_segments
        }
        None => commit.num_segments,
    };
    Ok((refused, commit.num_docs, num_segments, index.info()?.bytes))
}

/// Merges several indexes into a new one in `target`. Their schemas must be equal. Of documents with one id,
/// the one of the later source stays.
///
/// A merge that fails or is cancelled before its commit leaves an empty index in `target`.
///
/// # Errors
/// `invalid_argument` if there is an index in `target` already or the schemas differ; else as [`Index::merge`].
pub async fn merge<S: Storage>(
    sources: &[S],
    target: S,
    options: MergeOptions,
    progress: &dyn OnProgress,
    cancel: &Cancel,
) -> Result<MergeReport> {
    let started = now_millis();
    let mut snapshots = Vec::with_capacity(sources.len());
    for source in sources {
        let opener = Opener {
            own: source.clone(),
            base: None,
            cache: BlockCache::new(SOURCE_CACHE_BYTES),
            analyzers: CustomAnalyzers::default(),
        };
        let snapshot = load_newest(&opener, OpenMode::Open, None).await;
        snapshots.push(snapshot.map_err(|error| error.at(source.label()))?);
    }
    let Some(first) = snapshots.first() else { return Err(Error::invalid("there is nothing to merge")) };
    let schema = Arc::clone(first.schema());
    if let Some(ix) = snapshots.iter().position(|snapshot| snapshot.schema() != &schema) {
        let (one, other) = (sources[0].label(), sources[ix].label());
        let what = schema.difference(snapshots[ix].schema());
        return Err(Error::invalid(format!("the schemas of {one} and {other} differ: {what}")));
    }
    let codec = options.codec.unwrap_or(first.commit().codec);
    let options = MergeOptions { codec: Some(codec), ..options };
    let open = OpenOptions {
        mode: OpenMode::Create,
        schema: Some(Schema::clone(&schema)),
        codec: Some(codec),
        memory_bytes: options.memory_bytes,
        auto_merge: false,
        grace_millis: 0,
        ..OpenOptions::default()
    };
    let index = Index::open(target, open).await?;
    let merged = merge_into(&index, sources, &snapshots, options, progress, cancel).await;
    let closed = index.close().await;
    let report = merged?;
    closed?;
    Ok(MergeReport { took: now_millis() - started, ..report })
}

/// Walks every byte and every structure of the last commit in `storage`, which need not be one that opens: a file
/// that is missing is a problem of the report too.
///
/// # Errors
/// `not_found` if there is no index, `invalid_argument` if it lies over a base, `aborted`, and storage's own while the
/// commit is read. Damage is reported, not returned as an error.
pub async fn check<S: Storage>(storage: S, progress: &dyn OnProgress, cancel: &Cancel) -> Result<CheckReport> {
    let opener = Opener {
        own: storage,
        base: None,
        cache: BlockCache::new(SOURCE_CACHE_BYTES),
        analyzers: CustomAnalyzers::default(),
    };
    match opener.read_slots().await {
        Ok(found) => match found.own.newest {
            None if found.own.damaged.is_none() => {
                return Err(Error::new(ErrorKind::NotFound, format!("no index in {}", opener.own.label())));
            }
            Some(commit) if commit.base.is_some() => {
                return Err(Error::invalid("this index was made over a base: open it over that one to check it"));
            }
            _ => {}
        },
        // These are what a check reports.
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::UnsupportedFormat) => {}
        Err(error) => return Err(error),
    }
    index::check(&opener, progress, cancel).await
}

/// Blocks of dictionaries while ids of several sources are compared.
const SOURCE_CACHE_BYTES: u64 = 4 << 20;

/// One segment of a source, with the documents that stay.
struct Input<S: Storage> {
    storage: S,
    segment: OpenSegment<SearchFile<S::File>>,
    live: Option<Arc<BitSet>>,
    num_docs: u32,
}

async fn merge_into<S: Storage>(
    index: &Index<S>,
    storages: &[S],
    snapshots: &[StorageSnapshot<S>],
    options: MergeOptions,
    progress: &dyn OnProgress,
    cancel: &Cancel,
) -> Result<MergeReport> {
    let inputs = distinct_inputs(storages, snapshots, cancel).await?;
    let schema = snapshots.first().map(|snapshot| Arc::clone(snapshot.schema())).unwrap_or_default();
    let mut report = MergeReport::default();
    let limits = MergeLimits { memory_bytes: options.memory_bytes, codec: options.codec.unwrap_or_default() };
    let mut rest = inputs.as_slice();
    while !rest.is_empty() {
        // As many as fit the budget together; at least one, which is refused if it does not fit alone.
        let needed = |count: usize| {
            let sizes = rest[..count].iter().map(|one| (one.segment.max_doc(), one.segment.reader().pinned_bytes()));
            MergeLimits::needed_bytes(&schema, &sizes.collect::<Vec<_>>())
        };
        let count = (1..=rest.len()).rev().find(|count| needed(*count) <= options.memory_bytes).unwrap_or(1);
        let (now, later) = rest.split_at(count);
        rest = later;
        let mut sources = Vec::with_capacity(now.len());
        for one in now {
            let toc = one.segment.reader().toc();
            let open = storage::OpenOptions { access: Access::MERGE, len: Some(toc.file_len) };
            let file = one.storage.open(&toc.id.file_name(), open).await?;
            sources.push(MergeSource { segment: one.segment.with_raw(file), live: one.live.clone() });
        }
        let (own, id) = (&index.0.opener.own, SegmentId::random()?);
        let mut writer = index.0.writer().await?;
        let merged = merge_segments(own, id, &schema, sources, limits, progress, cancel).await?;
        writer.get().adopt(&merged).await?;
        writer.show();
        report.merged_segments += now.len() as u32;
        report.new_segments += 1;
        report.docs += u64::from(merged.docs.num_docs());
        report.dropped_docs += now.iter().map(|one| u64::from(one.segment.max_doc() - one.num_docs)).sum::<u64>();
        report.bytes_read += merged.bytes_read;
        report.bytes_written += merged.toc.file_len;
        report.peak_memory_bytes = report.peak_memory_bytes.max(merged.peak_memory_bytes);
    }
    report.num_segments = index.commit_only().await?.num_segments;
    if options.max_segments.is_some() {
        let more = index.merge(options, progress, cancel).await?;
        report.merged_segments += more.merged_segments;
        report.new_segments += more.new_segments;
        report.bytes_read += more.bytes_read;
        report.bytes_written += more.bytes_written;
        report.peak_memory_bytes = report.peak_memory_bytes.max(more.peak_memory_bytes);
        report.num_segments = more.num_segments;
    }
    Ok(report)
}

/// The segments of all sources; a document whose id a later source has too is not live.
async fn distinct_inputs<S: Storage>(
    storages: &[S],
    snapshots: &[StorageSnapshot<S>],
    cancel: &Cancel,
) -> Result<Vec<Input<S>>> {
    let mut inputs: Vec<(usize, Input<S>)> = Vec::new();
    for (ix, (storage, snapshot)) in storages.iter().zip(snapshots).enumerate() {
        for one in snapshot.segments() {
            let (storage, segment) = (storage.clone(), one.segment.clone());
            inputs.push((ix, Input { storage, segment, live: one.live.clone(), num_docs: one.num_docs }));
        }
    }
    for later in 0..inputs.len() {
        let earlier = inputs.iter().position(|(ix, _)| *ix == inputs[later].0).unwrap_or(0);
        if earlier == 0 {
            continue;
        }
        let (segment, live) = (inputs[later].1.segment.clone(), inputs[later].1.live.clone());
        let mut walk = lookup::IdWalk::new(&segment, live.as_deref());
        while let Some(ids) = walk.next().await? {
            cancel.check()?;
            for (_, one) in &mut inputs[..earlier] {
                let found = lookup::find_docs(&one.segment, &ids).await?;
                let docs = found.into_iter().map(|(_, doc)| doc);
                lookup::remove(&mut one.live, &mut one.num_docs, one.segment.max_doc(), docs);
            }
            yield_now().await;
        }
    }
    Ok(inputs.into_iter().map(|(_, input)| input).collect())
}
