//! The vector leg: which segments are scanned and which probed, and how estimates become an exact ranking.
//!
//! A segment is *scanned* where it has no cells, where the request says `exact` or wants a GPU, or where the documents
//! that pass have so few vectors ([`SCAN_BYTES`]) that reading them costs less than looking for them, unless the request
//! names `probes`. All others are
//! *probed*: centers of cells rank cells, codes of the best ones rank vectors. Estimates of all segments together make
//! one shortlist, whose rows alone are read in full and scored: in the order of the file, each part while later ones
//! are still on their way.

#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};

use futures_util::future::try_join;

use super::{ask::VectorAsk, batch::Batch, flow::Search};
use crate::{
    error::{Error, ErrorKind, Result},
    gpu::{self, FlatAnswer, FlatRequest, GpuHost, SegmentRows},
    graph::cells::{Candidate, CellStream, CellsMeta, Probe, ProbeOptions},
    ids::{DocAddress, DocOrd},
    query::{SegmentFilter, request::GpuMode},
    segment::{SearchFile, SectionKind},
    storage::File,
    topk::{
        TopK,
        order::{self, float_key},
    },
    vectors::{RowWindow, VectorOrd, VectorQuery, Verify, WindowOptions},
};

/// Rows that pass a filter are scanned up to so many bytes of them, about 680 of 384 dimensions,
const SCAN_BYTES: u64 = 1 << 20;
/// and where they are less than one in so many.
const SCAN_PART: u64 = 4;
/// Recall aimed at where the request names none.
const DEFAULT_RECALL: f32 = 0.95;
/// Probes and shortlist where nothing was measured.
const DEFAULT_PROBES: u32 = 128;
const DEFAULT_SHORTLIST: u32 = 100;
/// Hits that calibrations are about.
const CALIBRATED_K: f32 = 10.0;
/// Vectors of an average cell.
const CELL_LEN: usize = 32;
/// Vectors of one document that are scored exactly at most.
const ROWS_PER_DOC: usize = 4;
/// Rows that are scored together, while later ones arrive.
const RING_ROWS: usize = 32;

/// The ranking of a vector leg.
#[derive(Debug, Default)]
pub(super) struct VectorLeg {
    pub ranking: Vec<(DocAddress, f32)>,
    pub num_matched: u64,
    pub num_scored: u64,
    pub cells_probed: u64,
    pub codes_scored: u64,
    pub compute: String,
}

/// How far one probe looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reach {
    probes: u32,
    shortlist: usize,
    /// Accepted documents that must be found, as far as there are so many.
    enough: usize,
}

/// One query against one segment.
struct Work<'s> {
    /// Position in the list of probed segments.
    rows_ix: usize,
    query: usize,
    probe: Probe<'s>,
    step: u32,
    enough: usize,
    candidates: Vec<Candidate>,
}

/// A row to score exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    rows_ix: usize,
    ord: u32,
    doc: u32,
    query: usize,
}

/// A segment to probe.
struct Probed<'s, F> {
    rows: SegmentRows<'s, F>,
    cells: &'s CellsMeta,
    /// Documents that may be returned and have a vector.
    num_docs: u64,
}

/// Rows that are read and scored together.
type Ring<'p, 's, F> = (&'p Probed<'s, SearchFile<F>>, Vec<RowWindow>, &'p [Row]);

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
        // What is fused, sorted, collapsed or gone on with needs more than the page.
        let is_plain = self.ask.sort.is_empty() && self.ask.collapse.is_none() && self.ask.after.is_none();
        let is_page = !self.ask.legs.text && is_plain;
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
            match self.segments[ix].segment.cells(vector.field) {
                Some(cells) if !vector.exact && mode != GpuMode::Required => {
                    let few = num_rows * rows.reader.stride_bytes() as u64 <= SCAN_BYTES;
                    if few && num_rows < all.1 / SCAN_PART && vector.probes.is_none() {
                        scanned.push(rows);
                    } else {
                        probed.push(Probed { rows, cells, num_docs });
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
        let mut best: HashMap<DocAddress, f32> = leg.ranking.iter().copied().collect();
        for hit in scan.hits.into_iter().flatten() {
            let score = best.entry(hit.ord).or_insert(hit.score);
            *score = score.max(hit.score);
        }
        let mut top = TopK::new(k);
        best.into_iter().for_each(|(address, score)| {
            top.push(score, address);
        });
        leg.ranking = top.into_sorted_vec().into_iter().map(|hit| (hit.ord, hit.score)).collect();
        leg.num_matched += scan.num_matched;
        leg.num_scored += scan.num_scored;
        leg.compute = scan.compute;
        Ok(leg)
    }

    /// Probes segments: the ranking is that of their documents, in no order.
    async fn probe(
        &self,
        vector: &VectorAsk,
        queries: &[Vec<f32>],
        probed: &[Probed<'_, SearchFile<F>>],
        k: usize,
    ) -> Result<VectorLeg> {
        let mut leg = VectorLeg { num_matched: probed.iter().map(|one| one.num_docs).sum(), ..VectorLeg::default() };
        if k == 0 || probed.is_empty() {
            return Ok(leg);
        }
        let (mut works, mut shortlist) = (Vec::new(), 0);
        for (rows_ix, one) in probed.iter().enumerate() {
            let reach = reach(vector, one, k);
            shortlist = shortlist.max(reach.shortlist);
            let options = ProbeOptions { probes: reach.probes, ..ProbeOptions::default() };
            works.extend(queries.iter().enumerate().map(|(query_ix, query)| Work {
                rows_ix,
                query: query_ix,
                probe: Probe::new(one.cells, query, options),
                step: reach.probes,
                enough: reach.enough,
                candidates: Vec::new(),
            }));
        }
        self.estimate(vector, probed, &mut works, &mut leg).await?;
        let mut rows = Vec::new();
        for query in 0..queries.len() {
            let of_query = works.iter().filter(|work| work.query == query);
            let several = probed.iter().any(|one| !one.rows.reader.is_single_valued());
            rows.extend(shortlisted(of_query, shortlist, several));
        }
        // From here on they are rows, which equal vectors may share.
        rows.iter_mut().for_each(|row| row.ord = probed[row.rows_ix].rows.reader.row_of(row.ord));
        order::by_key(&mut rows, |row: &Row| (row.rows_ix as u64) << 32 | u64::from(row.ord));
        let prepared = queries.iter().map(|query| VectorQuery::new(&vector.options, query.clone()));
        let prepared: Vec<VectorQuery> = prepared
            .collect::<Result<_, _>>()
            .map_err(|error| crate::Error::with_source(crate::ErrorKind::InvalidArgument, "query vector", error))?;
        leg.num_scored = rows.len() as u64;
        leg.ranking = self.trace.wave(self.rescore(probed, &prepared, &rows)).await?;
        Ok(leg)
    }

    /// Feeds all probes, wave after wave over all segments together, until each has found enough. Full-precision rows
    /// are not touched.
    async fn estimate(
        &self,
        vector: &VectorAsk,
        probed: &[Probed<'_, SearchFile<F>>],
        works: &mut [Work<'_>],
        leg: &mut VectorLeg,
    ) -> Result<()> {
        loop {
            let (mut batch, mut slots) = (Batch::default(), Vec::new());
            for work in works.iter() {
                let (stream, wanted) = work.probe.wanted();
                let kind = match stream {
                    CellStream::Centers => SectionKind::CellCenters,
                    CellStream::Codes => SectionKind::CellCodes,
                };
                let segment = probed[work.rows_ix].rows.segment.0 as usize;
                let of_work = wanted.iter().map(|range| batch.push(segment, kind, vector.field, range.clone()));
                slots.push(of_work.collect::<Vec<_>>());
            }
            if batch.is_empty() {
                break;
            }
            let requests = self.trace.counts().requests;
            let fetched = self.read(&batch).await?;
            let fresh = self.trace.counts().requests != requests;
            for (work, slots) in works.iter_mut().zip(&slots).filter(|(_, slots)| !slots.is_empty()) {
                let blocks = slots.iter().map(|&slot| fetched.get(slot)).collect::<Result<Vec<_>>>()?;
                let accept = probed[work.rows_ix].rows.accept;
                let candidates = &mut work.candidates;
                work.probe.feed(&blocks, fresh, |candidate| {
                    leg.codes_scored += 1;
                    if accept.is_none_or(|accept| accept.contains(candidate.doc)) {
                        candidates.push(candidate);
                    }
                })?;
                if work.probe.is_done() && work.num_docs(probed) < work.enough && !work.probe.is_exhausted() {
                    // Twice as many as before: few waves, however rare the documents that pass.
                    work.step = work.step.saturating_mul(2);
                    work.probe.resume(work.step);
                }
            }
        }
        leg.cells_probed = works.iter().map(|work| u64::from(work.probe.num_probed())).sum();
        Ok(())
    }

    /// Scores `rows`, which ascend; each document with its best score.
    async fn rescore(
        &self,
        probed: &[Probed<'_, SearchFile<F>>],
        queries: &[VectorQuery],
        rows: &[Row],
    ) -> Result<Vec<(DocAddress, f32)>> {
        let requests = self.trace.counts().requests;
        let mut parts: Vec<Ring<'_, '_, F>> = Vec::new();
        for part in rows.chunk_by(|a, b| a.rows_ix == b.rows_ix) {
            let one = &probed[part[0].rows_ix];
            let in_file = |window: &RowWindow| one.rows.offset + window.bytes.start..one.rows.offset + window.bytes.end;
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
        let mut best: HashMap<DocAddress, f32> = HashMap::new();
        for (one, windows, ring) in parts {
            let in_file = |window: &RowWindow| one.rows.offset + window.bytes.start..one.rows.offset + window.bytes.end;
            let file = one.rows.file;
            let bytes = file.read_ranges(&windows.iter().map(in_file).collect::<Vec<_>>()).await?;
            let stayed = file.as_slice().is_some() || self.trace.counts().requests == requests;
            let verify = if stayed { Verify::Unseen } else { Verify::All };
            for (query_ix, query) in queries.iter().enumerate() {
                let of_query = ring.iter().filter(|row| row.query == query_ix);
                let (mut components, mut addresses) = (Vec::new(), Vec::new());
                for row in of_query {
                    let at = windows.partition_point(|window| window.ords.end <= row.ord);
                    let (Some(window), Some(bytes)) = (windows.get(at), bytes.get(at)) else { continue };
                    let found = one.rows.reader.row(window, bytes, VectorOrd(row.ord), verify);
                    let what =
                        |error| crate::Error::corrupt(format!("vectors of segment {}", one.rows.segment.0), error);
                    components.push(found.map_err(what)?);
                    addresses.push(DocAddress { segment: one.rows.segment, doc: DocOrd(row.doc) });
                }
                let mut scores = vec![0.0; components.len()];
                query.score_rows(&components, &mut scores);
                for (address, score) in addresses.into_iter().zip(scores) {
                    let known = best.entry(address).or_insert(score);
                    *known = known.max(score);
                }
            }
            self.cancel.check()?;
        }
        Ok(best.into_iter().collect())
    }
}

impl Work<'_> {
    /// Accepted documents found.
    fn num_docs<F>(&self, probed: &[Probed<'_, F>]) -> usize {
        if probed[self.rows_ix].rows.reader.is_single_valued() {
            return self.candidates.len();
        }
        self.candidates.iter().map(|candidate| candidate.doc).collect::<HashSet<_>>().len()
    }
}

/// How far to look in one segment for `k` documents.
///
/// What was measured holds for ten hits of all documents. More hits, or fewer documents that pass, lie in more cells:
/// probes grow with the fourth root of both, the shortlist with the square root of the hits. They go on until as many
/// documents that pass were seen as so many cells have elsewhere: where none of those near the query pass, they are not
/// looked into.
fn reach<F>(vector: &VectorAsk, one: &Probed<'_, F>, k: usize) -> Reach {
    let cell_bytes = one.cells.shape().cell_bytes(CELL_LEN) as u64;
    let row_bytes = one.rows.reader.stride_bytes() as u64;
    let measured = one.cells.calibration().choose(vector.recall.unwrap_or(DEFAULT_RECALL), cell_bytes, row_bytes);
    let (probes, shortlist) =
        measured.map_or((DEFAULT_PROBES, DEFAULT_SHORTLIST), |reach| (reach.probes, reach.shortlist));
    let hits = (k as f32 / CALIBRATED_K).max(1.0);
    let passing = (one.num_docs as f32 / one.rows.reader.num_docs().max(1) as f32).clamp(1e-6, 1.0);
    let wider = (probes as f32 * (hits / passing).powf(0.25)).ceil() as u32;
    let longer = ((shortlist as f32 * hits.sqrt()).ceil() as usize).max(2 * k);
    let shortlist = vector.oversample.map_or(longer, |times| (times * k as f32).ceil() as usize).max(k);
    let seldom = one.cells.count() as f32 / one.cells.num_cells().max(1) as f32 * passing;
    let expected = one.rows.accept.map_or(0, |_| (wider as f32 * seldom) as usize);
    let enough = if vector.probes.is_some() { k } else { shortlist.max(expected) };
    let enough = enough.min(usize::try_from(one.num_docs).unwrap_or(usize::MAX));
    Reach { probes: vector.probes.unwrap_or(wider).max(1), shortlist, enough }
}

/// The rows of the best `len` documents by estimate. With `several` vectors in some documents, those of a document go
/// together, the best few.
fn shortlisted<'w, 'p: 'w>(works: impl Iterator<Item = &'w Work<'p>>, len: usize, several: bool) -> Vec<Row> {
    let mut found: Vec<(f32, Row)> = Vec::new();
    for work in works {
        let (rows_ix, query) = (work.rows_ix, work.query);
        let row = |candidate: &Candidate| Row { rows_ix, ord: candidate.ord, doc: candidate.doc, query };
        found.extend(work.candidates.iter().map(|candidate| (candidate.estimate, row(candidate))));
    }
    let by_estimate = |a: &(f32, Row), b: &(f32, Row)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if !several {
        if found.len() > len {
            // All above the estimate of the first that falls out, and of its equals those that come first.
            let mut keys: Vec<u64> = found.iter().map(|(estimate, _)| u64::from(!float_key(*estimate))).collect();
            let last = order::select(&mut keys, len);
            found.retain(|(estimate, _)| u64::from(!float_key(*estimate)) <= last);
            order::by(&mut found, by_estimate);
            found.truncate(len);
        }
        return found.into_iter().map(|(_, row)| row).collect();
    }
    order::by(&mut found, by_estimate);
    let mut rows_of: HashMap<(usize, u32), usize> = HashMap::new();
    found.retain(|(_, row)| {
        let is_full = rows_of.len() >= len;
        match rows_of.get_mut(&(row.rows_ix, row.doc)) {
            Some(count) => {
                *count += 1;
                *count <= ROWS_PER_DOC
            }
            None if is_full => false,
            None => {
                rows_of.insert((row.rows_ix, row.doc), 1);
                true
            }
        }
    });
    found.into_iter().map(|(_, row)| row).collect()
}
