//! Measuring what a search of these cells finds, with vectors of the segment and with noise.
//!
//! All arithmetic is exact or in a fixed order, so that the table is the same on every machine.

use super::{
    calibrate::{Calibration, Margins},
    format::CellsMeta,
    found::{Candidate, Found},
    lloyd::half_square,
    probe::Probe,
    shape::square,
};
use crate::{
    bitset::BitSet,
    distance::fixed::{FixedRows, fixed_dots_block},
    schema::Metric,
    topk::{
        TopBy,
        order::{self, float_key},
    },
};

/// Vectors that are searched for.
pub const CALIBRATION_QUERIES: usize = 96;
/// Neighbours that should be found for each.
pub const CALIBRATION_K: usize = 10;
/// Cells probed.
const PROBES: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];
/// Breadths of walks.
const BREADTHS: [u32; 6] = [16, 32, 64, 128, 256, 512];
/// Lengths of the shortlist.
const SHORTLISTS: [u32; 7] = [15, 25, 50, 100, 200, 400, 800];

/// Shares of neighbours that margins are kept for.
const SHARES: [f32; 12] = [0.5, 0.7, 0.8, 0.85, 0.9, 0.935, 0.95, 0.967, 0.975, 0.984, 0.9934, 1.0];
/// Queries of this share of all like vectors are less near than those that margins of their kind are taken for.
const LEAST_NEAR: f32 = 0.25;

/// The true neighbours of the queries of a calibration, found while vectors pass by.
#[derive(Debug)]
pub struct Truth {
    metric: Metric,
    queries: FixedRows,
    /// The vector each was made of.
    sources: FixedRows,
    vectors: Vec<Vec<f32>>,
    /// Per query the nearest ones: key, smaller being nearer, and number of the vector.
    tops: Vec<TopBy<(i32, u32)>>,
    dots: Vec<i32>,
}

impl Truth {
    /// Queries: vectors in full and in the fixed point of those that will be offered; and what they were made of.
    ///
    /// # Panics
    /// If there are not as many of each.
    pub fn new(metric: Metric, vectors: Vec<Vec<f32>>, queries: FixedRows, sources: FixedRows) -> Self {
        assert!(vectors.len() == queries.len() && vectors.len() == sources.len(), "a source per query");
        let tops = vectors.iter().map(|_| TopBy::new(CALIBRATION_K)).collect();
        Self { metric, queries, sources, vectors, tops, dots: Vec::new() }
    }

    /// Offers vectors with the numbers they are remembered by. What a query was made of is not its neighbour.
    pub fn offer(&mut self, rows: &FixedRows, numbers: &[u32]) {
        let num_queries = self.queries.len();
        if num_queries == 0 {
            return;
        }
        self.dots.resize(rows.len() * num_queries, 0);
        let (vectors, queries) = (rows.slice(0..rows.len()), self.queries.slice(0..num_queries));
        fixed_dots_block(rows.stride(), vectors, queries, &mut self.dots);
        for (ix, (dots, &number)) in self.dots.chunks_exact(num_queries).zip(numbers).enumerate() {
            let half = if self.metric == Metric::L2 { half_square(rows.row(ix)) } else { 0 };
            for (query, (&dot, top)) in dots.iter().zip(&mut self.tops).enumerate() {
                let key = half - dot;
                let is_better = top.worst().is_none_or(|worst| (key, number) < *worst);
                if is_better && rows.row(ix) != self.sources.row(query) {
                    top.push((key, number));
                }
            }
        }
    }

    /// The queries, and for each the numbers of its neighbours.
    pub fn finish(self) -> (Vec<Vec<f32>>, Vec<Vec<u32>>) {
        let numbers = |top: TopBy<(i32, u32)>| top.into_sorted_vec().into_iter().map(|(_, number)| number).collect();
        (self.vectors, self.tops.into_iter().map(numbers).collect())
    }
}

/// What one query finds of its neighbours.
#[derive(Debug)]
pub struct Trial<'n> {
    /// Ordinals.
    neighbours: &'n [u32],
    /// The best rank of the cells that list each of them.
    cell_ranks: Vec<f32>,
    seen: BitSet,
    candidates: Vec<Candidate>,
}

impl<'n> Trial<'n> {
    /// Nothing yet, of `count` vectors.
    pub fn new(neighbours: &'n [u32], count: u32) -> Self {
        let cell_ranks = vec![f32::NEG_INFINITY; neighbours.len()];
        Self { neighbours, cell_ranks, seen: BitSet::new(count), candidates: Vec::new() }
    }
}

/// Takes each vector as often as it is listed.
impl Found for &mut Trial<'_> {
    fn push(&mut self, candidate: Candidate) {
        if let Some(at) = self.neighbours.iter().position(|&ord| ord == candidate.ord) {
            self.cell_ranks[at] = self.cell_ranks[at].max(candidate.cell_rank);
        }
        if self.seen.insert(candidate.ord) {
            self.candidates.push(candidate);
        }
    }
}

/// Counts what probes find.
#[derive(Debug)]
pub struct Recorder {
    table: Calibration,
    found: Vec<u32>,
    wanted: u32,
    /// Per neighbour of queries that are vectors, and of those that are noise, what it would have taken to find it.
    cell_margins: [Vec<f32>; 2],
    row_margins: [Vec<f32>; 2],
    /// Per query of either kind how near the k-th best is.
    nearness: [Vec<f32>; 2],
}

impl Recorder {
    /// For cells of `meta`.
    pub fn new(meta: &CellsMeta) -> Self {
        let num_probes = PROBES.iter().take_while(|&&probes| probes < meta.num_cells()).count() + 1;
        let probes = PROBES[..num_probes.min(PROBES.len())].to_vec();
        let found = vec![0; probes.len() * SHORTLISTS.len()];
        Self {
            table: Calibration { probes, shortlists: SHORTLISTS.to_vec(), ..Calibration::default() },
            found,
            wanted: 0,
            cell_margins: Default::default(),
            row_margins: Default::default(),
            nearness: Default::default(),
        }
    }

    /// For walks over a graph of these cells: their breadths stand in place of numbers of cells.
    pub fn of_walks(meta: &CellsMeta) -> Self {
        let mut recorder = Self::new(meta);
        recorder.table.probes = BREADTHS.to_vec();
        recorder.found = vec![0; BREADTHS.len() * SHORTLISTS.len()];
        recorder
    }

    /// Numbers of cells to probe, one probe each.
    pub fn probes(&self) -> &[u32] {
        &self.table.probes
    }

    /// Notes what `trial` found for the query at `query` in the probe of [`Self::probes`]`[stage]`.
    pub fn record(&mut self, query: usize, stage: usize, trial: &mut Trial<'_>) {
        order::by_key(&mut trial.candidates, |one| u64::from(!float_key(one.estimate)) << 32 | u64::from(one.ord));
        if is_noise(query) {
            return;
        }
        if stage == 0 {
            self.wanted += trial.neighbours.len() as u32;
        }
        let longest = SHORTLISTS[SHORTLISTS.len() - 1] as usize;
        for (rank, candidate) in trial.candidates.iter().take(longest).enumerate() {
            if trial.neighbours.contains(&candidate.ord) {
                for (ix, _) in SHORTLISTS.iter().enumerate().filter(|(_, len)| rank < **len as usize) {
                    self.found[stage * SHORTLISTS.len() + ix] += 1;
                }
            }
        }
    }

    /// Notes how far the neighbours lie below the tenth best estimate, after the last stage of `probe` was recorded.
    pub fn record_margins(&mut self, query: usize, probe: &Probe<'_>, trial: &Trial<'_>) {
        let kth = trial.neighbours.len().max(1) - 1;
        let (Some(first), Some(kth)) = (trial.candidates.first(), trial.candidates.get(kth)) else { return };
        let kind = usize::from(is_noise(query));
        let (nearness, spread) = (probe.spread().nearness(kth.estimate), probe.spread().at(kth.estimate));
        if !nearness.is_finite() || !spread.is_finite() {
            // Of vectors whose products leave the range of f32 nothing can be said.
            return;
        }
        self.nearness[kind].push(nearness);
        let spread = spread.max(f32::MIN_POSITIVE);
        // Of what no probe came to it is known only that its cell ranks below all others.
        let least = trial.candidates.iter().map(|one| one.cell_rank).fold(first.cell_rank, f32::min);
        for (&ord, &cell_rank) in trial.neighbours.iter().zip(&trial.cell_ranks) {
            let found = trial.candidates.iter().find(|candidate| candidate.ord == ord);
            let margin = |value: f32| {
                let margin = (kth.estimate - value) / spread;
                if margin.is_nan() { f32::MAX } else { margin.clamp(f32::MIN, f32::MAX) }
            };
            self.cell_margins[kind].push(margin(cell_rank.max(least)));
            self.row_margins[kind].extend(found.map(|found| margin(found.estimate)));
        }
    }

    /// The table; empty if there was nothing to find.
    pub fn finish(mut self) -> Calibration {
        if self.wanted == 0 {
            return Calibration::default();
        }
        let part = |&found: &u32| (u64::from(found) * u64::from(u16::MAX) / u64::from(self.wanted)) as u16;
        self.table.recall = self.found.iter().map(part).collect();
        if self.row_margins.iter().all(Vec::is_empty) {
            return self.table;
        }
        let lists = self.cell_margins.iter_mut().chain(&mut self.row_margins).chain(&mut self.nearness);
        lists.for_each(|all| all.sort_unstable_by(f32::total_cmp));
        let at = |all: &[f32], share: f32| {
            let last = all.len().checked_sub(1)?;
            Some(all[((all.len() as f32 * share).ceil() as usize).clamp(1, last + 1) - 1])
        };
        // A kind that was not seen is as the other one; what is farther off takes no less.
        let both = |kinds: &[Vec<f32>; 2], share: f32| {
            let [near, far] = kinds.each_ref().map(|all| at(all, share));
            let near = near.or(far).unwrap_or(f32::MIN);
            [near, far.map_or(near, |far| far.max(near))]
        };
        let (cells, rows) = (&self.cell_margins, &self.row_margins);
        let of_share = |&share: &f32| {
            let (cells, rows) = (both(cells, share), both(rows, share));
            (share, [0, 1].map(|kind| Margins { cells: cells[kind], rows: rows[kind] }))
        };
        self.table.margins = SHARES.iter().map(of_share).collect();
        let near = at(&self.nearness[0], LEAST_NEAR);
        let far = at(&self.nearness[1], 0.5);
        self.table.nearness = [near.or(far).unwrap_or(0.0), far.or(near).unwrap_or(0.0)];
        self.table
    }
}

/// Whether the query at `ix` is noise.
fn is_noise(ix: usize) -> bool {
    ix % 3 == 2
}

/// Makes queries of `vectors` of a sample. Two of three stay what they are: as they themselves are not looked for
/// ([`Truth`]), they are like vectors that come later. Every third becomes noise of its length: questions are often unlike
/// everything in a segment, and codes say least about directions that no vector has (on sentences, margins of the
/// shortlist measured with noise hold for unrelated questions within a tenth, those of vectors are too small by a third).
pub fn queries_of(vectors: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let mut state = 42u64;
    let mut uniform = || {
        // Knuth's linear congruential generator; its upper bits are good enough.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let mut noise = |vector: &Vec<f32>| -> Vec<f32> {
        // Sums of four have about the shape of a bell.
        let noise: Vec<f32> = vector.iter().map(|_| uniform() + uniform() + uniform() + uniform()).collect();
        let scale = (square(vector) / square(&noise).max(f64::MIN_POSITIVE)).sqrt() as f32;
        noise.iter().map(|value| value * scale).collect()
    };
    let made = |(ix, vector): (usize, &Vec<f32>)| if is_noise(ix) { noise(vector) } else { vector.clone() };
    vectors.iter().enumerate().map(made).collect()
}

/// Every so-maniest number below `len`, at most [`CALIBRATION_QUERIES`] of them: which vectors of a sample are queries.
pub fn query_numbers(len: usize) -> impl Iterator<Item = usize> {
    let count = CALIBRATION_QUERIES.min(len);
    (0..count).map(move |ix| ix * len / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_vectors_and_every_third_is_noise_of_the_same_length() {
        let vectors: Vec<Vec<f32>> = (0..9).map(|ix| vec![1.0 + ix as f32; 100]).collect();
        let queries = queries_of(&vectors);
        for (ix, (query, vector)) in queries.iter().zip(&vectors).enumerate() {
            assert_eq!(query == vector, ix % 3 != 2);
            assert!((square(query) / square(vector) - 1.0).abs() < 1e-4);
            let cosine: f32 = query.iter().zip(vector).map(|(a, b)| a * b).sum::<f32>() / square(vector) as f32;
            assert!(ix % 3 != 2 || cosine.abs() < 0.4, "{cosine}");
        }
        assert_eq!(queries, queries_of(&vectors));
        assert!(queries_of(&vec![vec![0.0; 3]; 3]).iter().all(|query| *query == [0.0; 3]));
    }
}
