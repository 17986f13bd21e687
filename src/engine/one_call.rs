//! A whole job in one call: documents to a finished index, several indexes into one.

use futures_util::{Stream, StreamExt};
use serde::Serialize;

use crate::{
    engine::{BuildOptions, Index, MergeOptions, OpenMode, OpenOptions, Refusal},
    error::{Error, Result},
    index::{MergeReport, OnProgress, Phase, Progress},
    platform::{Cancel, now_millis, yield_now},
    schema::DocumentBatch,
    storage::Storage,
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
        memory_bytes: options.memory_bytes,
        auto_merge: false,
        grace_millis: 0,
        ..OpenOptions::default()
    };
    let index = Index::open(storage, open).await?;
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
    let commit = index.commit().await?;
    let num_segments = match max_segments {
        Some(_) => index.merge(MergeOptions { max_segments, memory_bytes }, progress, cancel).await?.num_segments,
        None => commit.num_segments,
    };
    Ok((refused, commit.num_docs, num_segments, index.info()?.bytes))
}

/// Merges several indexes into a new one in `target`. Their schemas must be equal. Of documents with one id,
/// the one of the later source stays.
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
    let _ = (sources, target, options, progress, cancel);
    Err(Error::invalid("the engine is being wired"))
}
