//! The exact end of a search on the device: survivors are read and scored on the CPU, so that the answer is the
//! CPU's bit for bit; and a proof for each query that nothing better was dropped.

use crate::{
    error::Result,
    ids::DocAddress,
    platform::Cancel,
    storage::File,
    topk::{Scored, TopK, order},
    vectors::{RowWindow, VectorOrd, VectorQuery},
};

use super::{host::Survivors, rounds::Rounds, search::SegmentRows};

/// A survivor of one query: where its row is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    segment_ix: u32,
    ord: u32,
    query_ix: u32,
}

/// The best `k` documents of each query; `None` where the survivors do not prove that there are no better ones.
///
/// They do if nothing was dropped, or if the k-th document scores above the bound of what was dropped. Scores that
/// tie around rank k leave it open.
pub(super) async fn rescore<F: File>(
    segments: &[SegmentRows<'_, F>],
    queries: &[VectorQuery],
    survivors: &[Survivors],
    k: usize,
    cancel: &Cancel,
) -> Result<Vec<Option<Vec<Scored<DocAddress>>>>> {
    let mut rows: Vec<Row> = Vec::new();
    for (query_ix, survivors) in survivors.iter().enumerate() {
        rows.extend(survivors.candidates.iter().map(|candidate| Row {
            segment_ix: candidate.segment_ix,
            ord: candidate.ord,
            query_ix: query_ix as u32,
        }));
    }
    order::by(&mut rows, Ord::cmp);
    let mut scores: Vec<Vec<(DocAddress, f32)>> = vec![Vec::new(); queries.len()];
    let mut rest = rows.as_slice();
    for (segment_ix, segment) in segments.iter().enumerate() {
        let (own, others) = rest.split_at(rest.partition_point(|row| row.segment_ix as usize == segment_ix));
        rest = others;
        let mut own = own.iter().peekable();
        let windows = segment.with_docs(runs(segment, own.clone().map(|row| row.ord))).await?;
        let mut rounds = Rounds::of(segment, windows);
        while let Some(windows) = rounds.read(segment).await? {
            for (window, bytes) in &windows {
                cancel.check()?;
                while let Some(row) = own.next_if(|row| window.ords.contains(&row.ord)) {
                    let ord = VectorOrd(row.ord);
                    let components = segment
                        .reader
                        .row(window, bytes, ord, rounds.verify)
                        .map_err(|error| segment.corrupt(error))?;
                    let mut score = [0.0];
                    queries[row.query_ix as usize].score_rows(&[components], &mut score);
                    let address = DocAddress { segment: segment.segment, doc: segment.reader.doc_in(window, ord) };
                    scores[row.query_ix as usize].push((address, score[0]));
                }
            }
        }
    }
    let proven = scores.into_iter().zip(survivors).map(|(mut scores, survivors)| {
        // The best vector of a document counts.
        order::by(&mut scores, |a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        scores.dedup_by_key(|(address, _)| *address);
        let mut top = TopK::new(k);
        for (address, score) in scores {
            top.push(score, address);
        }
        let hits = top.into_sorted_vec();
        let is_complete =
            survivors.bound.is_none_or(|bound| k == 0 || hits.get(k - 1).is_some_and(|last| last.score > bound));
        is_complete.then_some(hits)
    });
    Ok(proven.collect())
}

/// Windows over ascending vectors, one per run of consecutive ones; storage joins near ones.
fn runs<F>(segment: &SegmentRows<'_, F>, ords: impl Iterator<Item = u32>) -> Vec<RowWindow> {
    let mut runs: Vec<std::ops::Range<u32>> = Vec::new();
    for ord in ords {
        match runs.last_mut() {
            Some(run) if run.end == ord => run.end += 1,
            Some(run) if run.end > ord => {}
            _ => runs.push(ord..ord + 1),
        }
    }
    runs.into_iter().map(|run| segment.reader.window(run)).collect()
}
