//! Exact scores of a shortlist: rows are prefetched in the order of the file, and each part is scored while later ones are
//! still on their way.

#![forbid(unsafe_code)]

use super::{flow::Search, probing::Probed};
use crate::{
    error::{Error, Result},
    ids::{DocAddress, DocOrd},
    segment::SearchFile,
    storage::File,
    vectors::{RowWindow, VectorOrd, VectorQuery, Verify, WindowOptions},
};

/// Rows that are scored together, while later ones arrive.
const RING_ROWS: usize = 32;

/// A row to score exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    /// Position in the list of probed segments.
    pub rows_ix: usize,
    pub ord: u32,
    pub doc: u32,
    pub query: usize,
}

/// Rows that are read and scored together.
type Ring<'p, 's, F> = (&'p Probed<'s, SearchFile<F>>, Vec<RowWindow>, &'p [Row]);

impl<F: File> Search<'_, F> {
    /// Scores `rows`, which ascend; per query their documents, one once for each of its rows.
    pub(super) async fn rescore(
        &self,
        probed: &[Probed<'_, SearchFile<F>>],
        queries: &[VectorQuery],
        rows: &[Row],
    ) -> Result<Vec<Vec<(DocAddress, f32)>>> {
        let requests = self.trace.counts().requests;
        let mut parts: Vec<Ring<'_, '_, F>> = Vec::new();
        for part in rows.chunk_by(|a, b| a.rows_ix == b.rows_ix) {
            let one = &probed[part[0].rows_ix];
            let in_file = |window: &RowWindow| one.rows.offset + window.bytes.start..one.rows.offset + window.bytes.end;
            if one.rows.file.as_slice().is_some() {
                // Nothing arrives: all of it is there.
                parts.push((one, vec![one.rows.reader.window(0..one.rows.reader.num_rows())], part));
                continue;
            }
            let mut ahead = Vec::new();
            for ring in part.chunks(RING_ROWS) {
                let mut pairs: Vec<(u32, u32)> = ring.iter().map(|row| (row.ord, row.doc)).collect();
                pairs.dedup_by_key(|pair| pair.0);
                let windows =
                    one.rows.reader.row_windows(&pairs, &WindowOptions { gap_bytes: 0, ..WindowOptions::default() });
                ahead.extend(windows.iter().map(in_file));
                parts.push((one, windows, ring));
            }
            one.rows.file.prefetch(&ahead);
        }
        let mut scored: Vec<Vec<(DocAddress, f32)>> = vec![Vec::new(); queries.len()];
        for (one, windows, ring) in parts {
            let in_file = |window: &RowWindow| one.rows.offset + window.bytes.start..one.rows.offset + window.bytes.end;
            let file = one.rows.file;
            let bytes = file.read_ranges(&windows.iter().map(in_file).collect::<Vec<_>>()).await?;
            let stayed = file.as_slice().is_some() || self.trace.counts().requests == requests;
            let verify = if stayed { Verify::Unseen } else { Verify::All };
            for (query_ix, (query, scored)) in queries.iter().zip(&mut scored).enumerate() {
                let of_query = ring.iter().filter(|row| row.query == query_ix);
                let (mut components, mut addresses) = (Vec::new(), Vec::new());
                for row in of_query {
                    let at = windows.partition_point(|window| window.ords.end <= row.ord);
                    let (Some(window), Some(bytes)) = (windows.get(at), bytes.get(at)) else { continue };
                    let found = one.rows.reader.row(window, bytes, VectorOrd(row.ord), verify);
                    let what = |error| Error::corrupt(format!("vectors of segment {}", one.rows.segment.0), error);
                    components.push(found.map_err(what)?);
                    addresses.push(DocAddress { segment: one.rows.segment, doc: DocOrd(row.doc) });
                }
                let mut scores = vec![0.0; components.len()];
                query.score_rows(&components, &mut scores);
                scored.extend(addresses.into_iter().zip(scores));
            }
            self.cancel.check()?;
        }
        Ok(scored)
    }
}
