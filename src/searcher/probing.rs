//! Probing cells: a shortlist for exact scores out of the cells that can hold the nearest.
//!
//! ```text
//! first    per segment and query the best cells, as many as the calibration of the segment says; few where the file is in
//!          memory as it stands, since there the next step costs no wave
//! widen    until no cell is left that ranks above the k-th best estimate less the segment's margin:
//!          what lies there can still be among the best k
//! short    all vectors whose estimate is above the k-th best less another margin
//! ```
//! The k-th best is that of all segments together, of the documents that pass and live. Margins are differences, measured
//! while the segment was built ([`Calibration`](crate::graph::cells::Calibration)), with vectors of the segment and with
//! noise: a query whose neighbours are as near as those of vectors gets the margins of vectors, one that is far from
//! everything those of noise. Where the request asks to *walk*, a segment that has a graph is walked instead of the first
//! two steps: fewer codes are scored for the same recall, each for itself and at the price of a look-up, which at all
//! sizes measured takes twice as long as to score whole cells or longer. Full-precision rows are touched by the last step
//! alone.

#![forbid(unsafe_code)]

use std::{collections::HashMap, ops::Range};

use super::{
    ask::VectorAsk,
    batch::Batch,
    candidates::{Candidates, Keep, estimate_of, falling, least_bar, row_threshold},
    flow::Search,
    look::Look,
    nearest::VectorLeg,
    rescore::Row,
};
use crate::{
    error::{Error, ErrorKind, Result},
    gpu::SegmentRows,
    graph::{
        GraphMeta, Walk, WalkOptions,
        cells::{CALIBRATION_K, Candidate, CellsMeta, Probe, ProbeOptions, QueryMargins},
    },
    schema::Metric,
    segment::SearchFile,
    storage::File,
    topk::order,
    vectors::VectorQuery,
};

/// Recall aimed at where the request names none.
const DEFAULT_RECALL: f32 = 0.95;
/// Probes and shortlist where nothing was measured.
const DEFAULT_PROBES: u32 = 128;
const DEFAULT_SHORTLIST: u32 = 100;
/// Vectors of one document that are scored exactly at most.
const ROWS_PER_DOC: usize = 4;
/// Cells that a probe widens to at most: a multiple of those it begins with, and not less than all of a small segment.
const MOST_PROBES: u32 = 8;
const SMALL_CELLS: u32 = 512;
/// Cells that are looked into before the margins say how many it takes, where looking again costs nothing.
const RESIDENT_PROBES: u32 = 12;
/// A group may rank so many times as far below as a cell, and have cells that are good enough.
const GROUP_MARGIN: f32 = 1.2;
/// Where a wave takes long there is one of codes, with so many times as many cells, up to so many bytes of them, and one
/// of so many rows: for the default recall. Each row may take a request of its own.
const FAR_FACTOR: u32 = 2;
const FAR_CODE_BYTES: u64 = 272 << 10;
const FAR_ROW_BYTES: u64 = 80 << 10;
const FAR_ROWS: u64 = 64;
/// Who asks for a recall there gets as many cells as were measured to find it, and so many times as long a shortlist at
/// most: what that takes, but no wave more. Of higher recalls than the default the few queries measured say less: so many
/// times as many cells. On 99,000 sentences, with questions of people among the queries, 0.9 finds 0.939 for 485 KiB and 45
/// requests, and 0.99 finds 0.994 for 2.2 MiB and 134; widening by margins took 1.4 MiB and 139, 5.8 MiB and 353.
const FAR_ASKED_ROWS: usize = 2;
const FAR_HIGH_RECALL: f32 = 1.5;
/// Calibrations were measured over all vectors. Where a filter lets less than this part pass, and under dot products, where
/// the lengths of vectors decide where neighbours lie, margins say in a further wave what is missing.
const FAR_MEASURED_PART: f32 = 0.9;
/// What a request of codes costs there beside its bytes, in bytes; less where vectors are listed once. By time it would be
/// more: with 30 ms and 50 Mbit/s, six at a time, one takes as long as 31 KiB. But then the bytes hold fewer of the best
/// cells: measured on 99,000 sentences, recalls of 250 KiB of codes are 0.956 with 4 KiB, 0.952 with 8, 0.947 with 16 for
/// 23, 17 and 11 requests; listed once 0.928, 0.916 and 0.906 for 30, 18 and 10.
const FAR_REQUEST_BYTES: u64 = 8 << 10;
const FAR_SINGLE_REQUEST_BYTES: u64 = 4 << 10;
/// Rows of a shortlist at most, as a multiple of what the calibration says, and in any case so many.
const LONGEST_SHORTLIST: usize = 8;
const LONG_SHORTLIST: usize = 512;

/// A segment to probe.
pub(super) struct Probed<'s, F> {
    pub rows: SegmentRows<'s, F>,
    pub cells: &'s CellsMeta,
    /// Where it is to be walked.
    pub graph: Option<&'s GraphMeta>,
    /// Documents that may be returned and have a vector.
    pub num_docs: u64,
    /// Whether a read of it takes long.
    pub is_far: bool,
    /// Whether it is in memory as it stands: another look takes no longer than a longer one.
    pub is_resident: bool,
}

/// How far one probe looks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reach {
    /// Cells, or the breadth of a walk.
    step: u32,
    /// Cells at most.
    most: u32,
    shortlist: usize,
    /// Rows scored exactly at most.
    longest: usize,
    /// Accepted documents that must be found, as far as there are so many.
    enough: usize,
    /// Of cells and of rows: `None` where the request names numbers, and where nothing was measured.
    cell_margins: Option<QueryMargins>,
    row_margins: Option<QueryMargins>,
    /// Of codes: what a request costs beside its bytes, and how many are read at most at first.
    request_bytes: u64,
    code_bytes: u64,
}

/// One query against one segment.
struct Work<'s> {
    /// Position in the list of probed segments.
    rows_ix: usize,
    query: usize,
    look: Look<'s>,
    step: u32,
    reach: Reach,
    candidates: Candidates,
}

impl<F: File> Search<'_, F> {
    /// Probes segments: per query the documents of its shortlist, in no order.
    pub(super) async fn probe(
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
        let least = least_estimate(vector);
        let several = probed.iter().any(|one| !one.rows.reader.is_single_valued());
        let reaches: Vec<Reach> = probed.iter().map(|one| reach(vector, one, k)).collect();
        let most =
            reaches.iter().map(|reach| if reach.row_margins.is_some() { reach.longest } else { reach.shortlist });
        let most = most.fold(k, usize::max);
        let mut works = Vec::new();
        for (rows_ix, (one, &reach)) in probed.iter().zip(&reaches).enumerate() {
            let look = |query: &[f32]| match one.graph {
                Some(graph) => {
                    let options = WalkOptions { breadth: reach.step, ..WalkOptions::default() };
                    Look::Walk(Box::new(Walk::new(graph, one.cells, query, one.rows.accept, options)))
                }
                None => {
                    let Reach { step, request_bytes, code_bytes, .. } = reach;
                    let options = ProbeOptions { probes: step, request_bytes, code_bytes, ..ProbeOptions::default() };
                    Look::Probe(Box::new(Probe::new(one.cells, query, options)))
                }
            };
            let keep = Keep {
                most: Some(most).filter(|_| !several),
                margins: reach.row_margins,
                k,
                least,
                enough: reach.enough,
            };
            works.extend(queries.iter().enumerate().map(|(query_ix, query)| {
                let look = look(query);
                let candidates = Candidates::new(keep, look.spread());
                Work { rows_ix, query: query_ix, look, step: reach.step, reach, candidates }
            }));
        }
        works.sort_by_key(|work| work.query);
        self.estimate(vector, probed, &mut works, k, least, &mut leg).await?;
        let mut rows = Vec::new();
        for of_query in works.chunk_by(|a, b| a.query == b.query) {
            rows.extend(shortlisted(of_query, k, least, several));
        }
        // From here on they are rows, which equal vectors may share.
        rows.iter_mut().for_each(|row| row.ord = probed[row.rows_ix].rows.reader.row_of(row.ord));
        order::by_key(&mut rows, |row: &Row| (row.rows_ix as u64) << 32 | u64::from(row.ord));
        let prepared = queries.iter().map(|query| VectorQuery::new(&vector.options, query.clone()));
        let prepared: Vec<VectorQuery> = prepared
            .collect::<Result<_, _>>()
            .map_err(|error| Error::with_source(ErrorKind::InvalidArgument, "query vector", error))?;
        leg.num_scored = rows.len() as u64;
        leg.rankings = self.trace.wave(self.rescore(probed, &prepared, &rows)).await?;
        Ok(leg)
    }

    /// Feeds all probes, wave after wave over all segments and queries together, until each has found enough.
    async fn estimate(
        &self,
        vector: &VectorAsk,
        probed: &[Probed<'_, SearchFile<F>>],
        works: &mut [Work<'_>],
        k: usize,
        least: f32,
        leg: &mut VectorLeg,
    ) -> Result<()> {
        loop {
            let mut has_fed = false;
            for work in works.iter_mut() {
                has_fed |= self.feed_resident(vector, &probed[work.rows_ix], work)?;
            }
            let (mut batch, mut slots) = (Batch::default(), Vec::new());
            let mut known = HashMap::new();
            for work in works.iter() {
                let (kind, wanted) = work.look.wanted();
                let segment = probed[work.rows_ix].rows.segment.0 as usize;
                // Several queries may want one cell: it is read once.
                let of_work = wanted.iter().map(|range| {
                    let key = (segment, kind as u8, range.start);
                    *known.entry(key).or_insert_with(|| batch.push(segment, kind, vector.field, range.clone()))
                });
                slots.push(of_work.collect::<Vec<_>>());
            }
            if !batch.is_empty() {
                let requests = self.trace.counts().requests;
                let fetched = self.read(&batch).await?;
                let fresh = self.trace.counts().requests != requests;
                for (work, slots) in works.iter_mut().zip(&slots).filter(|(_, slots)| !slots.is_empty()) {
                    let blocks = slots.iter().map(|&slot| fetched.get(slot)).collect::<Result<Vec<_>>>()?;
                    let accept = probed[work.rows_ix].rows.accept;
                    work.look.feed(&blocks, fresh, work.candidates.accepting(accept))?;
                }
            } else if !has_fed {
                break;
            }
            for of_query in works.chunk_by_mut(|a, b| a.query == b.query) {
                go_on(of_query, probed, k, least);
            }
        }
        leg.codes_scored = works.iter().map(|work| work.look.num_scored()).sum();
        leg.cells_probed = works.iter().map(|work| u64::from(work.look.num_probed())).sum();
        leg.vectors_expanded = works.iter().map(|work| u64::from(work.look.num_expanded())).sum();
        Ok(())
    }

    /// Feeds what is in memory as it stands, until nothing of that is wanted; whether anything was.
    fn feed_resident(&self, vector: &VectorAsk, one: &Probed<'_, SearchFile<F>>, work: &mut Work<'_>) -> Result<bool> {
        let reader = self.segments[one.rows.segment.0 as usize].segment.reader();
        let mut has_fed = false;
        loop {
            let (kind, wanted) = work.look.wanted();
            let Some(section) = reader.resident(kind, vector.field).filter(|_| !wanted.is_empty()) else { break };
            let block = |range: &Range<u64>| {
                let block = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
                let block = block.and_then(|(start, end)| section.get(start..end));
                block.ok_or_else(|| Error::corrupt(kind.to_string(), format!("bytes {range:?} of {}", section.len())))
            };
            let blocks = wanted.iter().map(block).collect::<Result<Vec<&[u8]>>>()?;
            work.look.feed(&blocks, false, work.candidates.accepting(one.rows.accept))?;
            has_fed = true;
            self.cancel.check()?;
        }
        Ok(has_fed)
    }
}

/// Lets the probes of one query want more, where they are done and something near may be missing.
fn go_on<F>(works: &mut [Work<'_>], probed: &[Probed<'_, F>], k: usize, least: f32) {
    if works.iter().any(|work| !work.look.is_done()) {
        return;
    }
    let mut is_short = false;
    for work in works.iter_mut() {
        if work.candidates.num_docs() < work.reach.enough && !work.look.is_exhausted() {
            // Twice as many as before: few waves, however rare the documents that pass.
            work.step = work.step.saturating_mul(2);
            work.look.resume(work.step);
            is_short = true;
        }
    }
    if is_short {
        return;
    }
    let single = works.iter().all(|work| probed[work.rows_ix].rows.reader.is_single_valued());
    let bar = bar(works, k, least, single);
    for work in works {
        if let Some(margins) = work.reach.cell_margins {
            let margin = margins.at(work.look.spread().nearness(bar)).cells;
            let left = work.reach.most.saturating_sub(work.look.num_probed());
            work.look.widen(bar, margin, GROUP_MARGIN * margin, left);
        }
    }
}

/// The estimate that a vector must come near to matter: the k-th best, or the least that is asked for.
fn bar(works: &[Work<'_>], k: usize, least: f32, single: bool) -> f32 {
    let candidates = works.iter().flat_map(|work| work.candidates.kept().iter().map(move |one| (work.rows_ix, one)));
    let mut estimates: Vec<u64> = if single {
        candidates.map(|(_, one)| falling(one.estimate)).collect()
    } else {
        let mut best: HashMap<(usize, u32), f32> = HashMap::new();
        for (rows_ix, one) in candidates {
            let known = best.entry((rows_ix, one.doc)).or_insert(one.estimate);
            *known = known.max(one.estimate);
        }
        best.into_values().map(falling).collect()
    };
    let least = least_bar(&mut estimates, least);
    if estimates.len() < k { least } else { estimate_of(order::select(&mut estimates, k - 1)).max(least) }
}

/// `min_score` in the unit of estimates.
fn least_estimate(vector: &VectorAsk) -> f32 {
    match (vector.min_score, vector.options.metric) {
        (None, _) => f32::NEG_INFINITY,
        (Some(score), Metric::Cosine | Metric::Dot) => 2.0 * score - 1.0,
        (Some(score), Metric::L2) if score > 0.0 => 1.0 - 1.0 / score,
        (Some(_), Metric::L2) => f32::NEG_INFINITY,
    }
}

/// How far to look in one segment for `k` documents.
fn reach<F>(vector: &VectorAsk, one: &Probed<'_, F>, k: usize) -> Reach {
    let cell_bytes = one.cells.mean_cell_bytes();
    let row_bytes = one.rows.reader.stride_bytes() as u64;
    let (recall, calibration) = (vector.recall.unwrap_or(DEFAULT_RECALL), one.cells.calibration());
    let measured = one.graph.map_or(calibration, GraphMeta::calibration).choose(recall, cell_bytes, row_bytes);
    let (probes, shortlist) =
        measured.map_or((DEFAULT_PROBES, DEFAULT_SHORTLIST), |reach| (reach.probes, reach.shortlist));
    let margins = calibration.margins(recall);
    let hits = (k as f32 / CALIBRATION_K as f32).max(1.0);
    let passing = (one.num_docs as f32 / one.rows.reader.num_docs().max(1) as f32).clamp(1e-6, 1.0);
    let wider = (probes as f32 * (hits / passing).powf(0.25)).ceil() as u32;
    let longer = ((shortlist as f32 * hits.sqrt()).ceil() as usize).max(2 * k);
    let shortlist = vector.oversample.map_or(longer, |times| (times * k as f32).ceil() as usize).max(k);
    let (mut first, mut most) = (wider, wider.saturating_mul(MOST_PROBES).max(SMALL_CELLS));
    let mut longest = shortlist.saturating_mul(LONGEST_SHORTLIST).max(LONG_SHORTLIST);
    let (mut request_bytes, mut code_bytes) = (0, u64::MAX);
    if one.is_far {
        request_bytes = match vector.probes {
            None if one.cells.spills() => FAR_REQUEST_BYTES,
            None => FAR_SINGLE_REQUEST_BYTES,
            Some(_) => 0,
        };
        if vector.recall.is_none() {
            first = first.saturating_mul(FAR_FACTOR).min(FAR_CODE_BYTES.div_ceil(cell_bytes.max(1)) as u32);
            code_bytes = FAR_CODE_BYTES;
            most = 0;
            longest = ((FAR_ROW_BYTES / row_bytes.max(1)).min(FAR_ROWS) as usize).max(2 * k);
        } else if vector.min_score.is_none() && passing >= FAR_MEASURED_PART && vector.options.metric != Metric::Dot {
            first = if recall > DEFAULT_RECALL { (first as f32 * FAR_HIGH_RECALL).ceil() as u32 } else { first };
            most = 0;
            longest = FAR_ASKED_ROWS.saturating_mul(shortlist);
        }
    }
    if one.is_resident && margins.is_some() {
        first = first.min(RESIDENT_PROBES);
    }
    let (step, enough) = if one.graph.is_some() {
        let breadth = || (probes as f32 * (hits.sqrt() / passing.powf(0.25))).ceil() as u32;
        let breadth = vector.ef_search.unwrap_or_else(breadth).max(u32::try_from(k).unwrap_or(u32::MAX)).max(1);
        (breadth, shortlist.max(breadth as usize))
    } else {
        (vector.probes.unwrap_or(first).max(1), if vector.probes.is_some() { k } else { shortlist })
    };
    Reach {
        step,
        most,
        shortlist,
        longest,
        enough: enough.min(usize::try_from(one.num_docs).unwrap_or(usize::MAX)),
        cell_margins: margins.filter(|_| vector.probes.is_none() && one.graph.is_none() && most > 0),
        row_margins: margins.filter(|_| vector.oversample.is_none()),
        request_bytes,
        code_bytes,
    }
}

/// The rows of one query's best documents by estimate. With `several` vectors in some documents, those of a document go
/// together, the best few.
fn shortlisted(works: &[Work<'_>], k: usize, least: f32, several: bool) -> Vec<Row> {
    let bar = bar(works, k, least, !several);
    let (mut found, mut len, mut longest) = (Vec::new(), k, k);
    let mut near = 0;
    for work in works {
        let (rows_ix, query) = (work.rows_ix, work.query);
        let row = |candidate: &Candidate| Row { rows_ix, ord: candidate.ord, doc: candidate.doc, query };
        found.extend(work.candidates.kept().iter().map(|candidate| (candidate.estimate, row(candidate))));
        longest = longest.max(work.reach.longest);
        match work.reach.row_margins {
            Some(margins) => {
                let threshold = row_threshold(work.look.spread(), margins, bar);
                near += work.candidates.kept().iter().filter(|candidate| candidate.estimate >= threshold).count();
            }
            None => len = len.max(work.reach.shortlist),
        }
    }
    let len = len.max(near.min(longest));
    let by_estimate = |a: &(f32, Row), b: &(f32, Row)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if !several {
        if found.len() > len {
            let mut keys: Vec<u64> = found.iter().map(|(estimate, _)| falling(*estimate)).collect();
            let last = order::select(&mut keys, len - 1);
            found.retain(|(estimate, _)| falling(*estimate) <= last);
        }
        if found.len() > len {
            // Of equals, those that come first.
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
