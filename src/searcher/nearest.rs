//! The vector leg: which segments are scanned and which probed, and how their answers become rankings.
//!
//! A segment is *scanned* where it has no cells, where the request says `exact` or wants a GPU, or where the documents
//! that pass have so few vectors that reading them costs less than looking for them ([`is_scan_cheaper`]), unless the
//! request names `probes` or a mode. All others are *probed*: see [`super::probing`].

#![forbid(unsafe_code)]

use futures_util::future::try_join;

use super::{ask::VectorAsk, flow::Search, probing::Probed};
use crate::{
    error::{Error, ErrorKind, Result},
    gpu::{self, FlatAnswer, FlatRequest, GpuHost},
    ids::DocAddress,
    query::{
        SegmentFilter,
        request::{GpuMode, VectorMode},
    },
    storage::File,
    topk::{Scored, TopK, order},
};

/// Rows that pass a filter are scanned up to so many bytes of them, about 680 of 384 dimensions, and where they are less
/// than one in [`SCAN_PART`]: over a network each is a request of its own.
const FAR_SCAN_BYTES: u64 = 1 << 20;
const SCAN_PART: u64 = 4;
/// Where a read waits for nothing long, up to so many.
const NEAR_SCAN_BYTES: u64 = 4 << 20;
/// And all rows of a segment where they are in memory as they stand, whatever passes.
const RESIDENT_SCAN_BYTES: u64 = 8 << 20;

/// What a vector leg found.
#[derive(Debug, Default)]
pub(super) struct VectorLeg {
    /// The ranking; of several query vectors by the best of them.
    pub ranking: Vec<(DocAddress, f32)>,
    /// Per query vector its own ranking, where each has one.
    pub rankings: Vec<Vec<(DocAddress, f32)>>,
    pub num_matched: u64,
    /// Whether all that pass were scored.
    pub is_exact: bool,
    pub num_scored: u64,
    pub cells_probed: u64,
    pub codes_scored: u64,
    pub vectors_expanded: u64,
    pub compute: String,
}

/// Whether scoring all rows that pass is cheaper than probing for them.
fn is_scan_cheaper(num_rows: u64, all_rows: u64, stride_bytes: u64, is_near: bool, is_resident: bool) -> bool {
    let bytes = num_rows * stride_bytes;
    let is_part = num_rows < all_rows / SCAN_PART;
    let limit = if is_near { NEAR_SCAN_BYTES } else { FAR_SCAN_BYTES };
    (is_part && bytes <= limit) || (is_resident && bytes <= RESIDENT_SCAN_BYTES)
}

impl<F: File> Search<'_, F> {
    /// The best `k` documents, by the best pair where document or query have several vectors.
    pub(super) async fn nearest(
        &self,
        gpu: &GpuHost,
        vector: &VectorAsk,
        queries: &[Vec<f32>],
        filters: &[SegmentFilter],
        mode: GpuMode,
    ) -> Result<VectorLeg> {
        // What is fused, sorted, collapsed, counted or gone on with needs more than the page.
        let is_plain = self.ask.sort.is_empty() && self.ask.collapse.is_none() && self.ask.after.is_none();
        let is_page = !self.ask.legs.text && is_plain && vector.min_score.is_none();
        let k = if is_page { vector.k.min(self.ask.depth()) } else { vector.k };
        let (mut scanned, mut probed) = (Vec::new(), Vec::new());
        for (ix, filter) in filters.iter().enumerate() {
            let Some(rows) = self.segment_rows(ix, vector.field, filter.live.as_deref()) else { continue };
            if !rows.reader.options().has_rows_of(&vector.options) {
                let what = format!("vectors of segment {ix}: {:?}", rows.reader.options());
                return Err(Error::new(ErrorKind::Corrupt, what));
            }
            let all = (u64::from(rows.reader.num_docs()), u64::from(rows.reader.count()));
            let (num_docs, num_rows) = rows.accept.map_or(all, |accept| rows.reader.count_accepted(accept));
            let segment = &self.segments[ix].segment;
            match segment.cells(vector.field) {
                Some(cells) if !vector.exact && mode != GpuMode::Required => {
                    let (stride, profile) = (rows.reader.stride_bytes(), segment.profile());
                    let is_near = !profile.is_far();
                    let is_resident = rows.file.as_slice().is_some();
                    let scan = is_scan_cheaper(num_rows, all.1, stride as u64, is_near, is_resident);
                    if scan && vector.probes.is_none() && vector.mode.is_none() {
                        scanned.push(rows);
                    } else {
                        let graph = segment.graph(vector.field).filter(|_| vector.mode == Some(VectorMode::Walk));
                        let graph = graph.map(|graph| &**graph);
                        probed.push(Probed { rows, cells, graph, num_docs, is_far: !is_near, is_resident });
                    }
                }
                _ => scanned.push(rows),
            }
        }
        let mode = match mode {
            GpuMode::Auto => gpu::Mode::Auto,
            GpuMode::Off => gpu::Mode::Off,
            GpuMode::Required => gpu::Mode::Required,
        };
        let scan = async {
            if scanned.is_empty() && !probed.is_empty() {
                return Ok(FlatAnswer { compute: "cpu".to_owned(), ..FlatAnswer::default() });
            }
            let request = FlatRequest { queries: queries.to_vec(), k, mode };
            gpu::search_flat(gpu, &scanned, &request, self.cancel).await
        };
        let (scan, mut leg) = try_join(scan, self.probe(vector, queries, &probed, k)).await?;
        let mut found = std::mem::take(&mut leg.rankings);
        found.resize_with(queries.len(), Vec::new);
        for (own, hits) in found.iter_mut().zip(scan.hits) {
            own.extend(hits.iter().map(|hit| (hit.ord, hit.score)));
        }
        let least = vector.min_score.unwrap_or(f32::NEG_INFINITY);
        if vector.is_batch() {
            leg.rankings = found.into_iter().map(|own| best_of(own, k, least)).collect();
        } else {
            leg.ranking = best_of(found.into_iter().flatten(), k, least);
        }
        leg.is_exact = probed.is_empty();
        leg.num_matched += scan.num_matched;
        leg.num_scored += scan.num_scored;
        leg.compute = scan.compute;
        Ok(leg)
    }
}

/// The best `k` documents that score `least` or more, each with its best score.
fn best_of(found: impl IntoIterator<Item = (DocAddress, f32)>, k: usize, least: f32) -> Vec<(DocAddress, f32)> {
    let mut found: Vec<(DocAddress, f32)> = found.into_iter().filter(|&(_, score)| score >= least).collect();
    order::by_key(&mut found, |(address, _)| u64::from(address.segment.0) << 32 | u64::from(address.doc.0));
    let mut top = TopK::new(k);
    for of_doc in found.chunk_by(|a, b| a.0 == b.0) {
        top.push(of_doc.iter().fold(f32::NEG_INFINITY, |best, (_, score)| best.max(*score)), of_doc[0].0);
    }
    top.into_sorted_vec().into_iter().map(|Scored { ord, score }| (ord, score)).collect()
}
