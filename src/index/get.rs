//! Stored documents by id.

use futures_util::future::try_join_all;

use super::{lookup, snapshot::SnapshotSegment};
use crate::{
    docstore::StoredDocument,
    error::{Error, Result},
    ids::{DocId, DocOrd, FieldOrd},
    segment::{SectionKind, SectionRange},
    storage::File,
    topk::order,
};

/// Stored documents of a snapshot's segments by id, in the order of `ids`; `None` for one that is not there.
/// Two waves: dictionary blocks, then document blocks, of all segments together.
///
/// # Errors
/// `corrupt`, storage's own.
pub async fn get_documents<F: File>(
    segments: &[SnapshotSegment<F>],
    ids: &[DocId],
) -> Result<Vec<Option<StoredDocument>>> {
    let mut sorted: Vec<(Vec<u8>, usize)> = ids.iter().enumerate().map(|(ix, id)| (id.to_term(), ix)).collect();
    order::by(&mut sorted, Ord::cmp);
    let terms: Vec<&[u8]> = sorted.iter().map(|(term, _)| term.as_slice()).collect();
    let found = try_join_all(segments.iter().map(|one| lookup::find_docs(&one.segment, &terms))).await?;
    let read = try_join_all(segments.iter().zip(&found).map(|(one, found)| async move {
        let is_live = |doc: DocOrd| one.live.as_ref().is_none_or(|live| live.contains(doc.0));
        let live: Vec<_> = found.iter().filter(|(_, doc)| is_live(*doc)).collect();
        let docs: Vec<DocOrd> = live.iter().map(|(_, doc)| *doc).collect();
        let stored = read_documents(one, &docs).await?;
        Ok::<_, Error>(live.into_iter().map(|(ix, _)| *ix).zip(stored).collect::<Vec<_>>())
    }))
    .await?;
    let mut answer: Vec<Option<StoredDocument>> = Vec::new();
    answer.resize_with(ids.len(), || None);
    for (ix, document) in read.into_iter().flatten() {
        answer[sorted[ix].1] = Some(document);
    }
    Ok(answer)
}

/// Stored documents of one segment by ordinal, in the order asked. One wave.
///
/// # Errors
/// `corrupt`, storage's own.
pub async fn read_documents<F: File>(one: &SnapshotSegment<F>, docs: &[DocOrd]) -> Result<Vec<StoredDocument>> {
    let Some(index) = one.segment.docs().filter(|_| !docs.is_empty()) else { return Ok(Vec::new()) };
    let name = |error| Error::from(error).at(format!("segment {}", one.segment.id()));
    let plan = index.plan(docs).map_err(name)?;
    let wants: Vec<_> = plan
        .ranges(index)
        .into_iter()
        .map(|range| SectionRange { kind: SectionKind::Docs, field: FieldOrd(0), range })
        .collect();
    let buffers = one.segment.reader().read(&wants).await?;
    plan.decode(index, &buffers).map_err(name)
}
