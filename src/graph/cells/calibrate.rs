//! What a search of these cells finds: measured once, on vectors of the segment itself, while it is built.
//!
//! All arithmetic is exact or in a fixed order, so that the table is the same on every machine.

use super::{format::CellsMeta, lloyd::half_square, probe::Candidate};
use crate::{
    codec::Reader,
    distance::fixed::{FixedRows, fixed_dots_block},
    error::Result,
    schema::Metric,
    topk::{
        TopBy,
        order::{self, float_key},
    },
};

/// Vectors that are searched for.
pub const CALIBRATION_QUERIES: usize = 64;
/// Neighbours that should be found for each.
pub const CALIBRATION_K: usize = 10;
/// Cells probed.
const PROBES: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];
/// Lengths of the shortlist.
const SHORTLISTS: [u32; 7] = [15, 25, 50, 100, 200, 400, 800];

/// Recall@10 by cells probed and length of the shortlist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calibration {
    probes: Vec<u32>,
    shortlists: Vec<u32>,
    /// `[probes x shortlists]`, in 1/65535.
    recall: Vec<u16>,
}

/// How far a search looks for its ten best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// Cells probed.
    pub probes: u32,
    /// Vectors scored exactly.
    pub shortlist: u32,
    /// Recall@10 measured with it.
    pub recall: f32,
}

impl Calibration {
    /// The cheapest reach in bytes with at least `recall`; the best one there is if none has. `None` if nothing was
    /// measured.
    pub fn choose(&self, recall: f32, cell_bytes: u64, row_bytes: u64) -> Option<Reach> {
        let all = self.recall.iter().enumerate().map(|(ix, &found)| Reach {
            probes: self.probes[ix / self.shortlists.len()],
            shortlist: self.shortlists[ix % self.shortlists.len()],
            recall: f32::from(found) / f32::from(u16::MAX),
        });
        let cost = |reach: &Reach| u64::from(reach.probes) * cell_bytes + u64::from(reach.shortlist) * row_bytes;
        let enough = all.clone().filter(|reach| reach.recall >= recall).min_by_key(cost);
        enough.or_else(|| all.max_by(|a, b| a.recall.total_cmp(&b.recall).then(cost(b).cmp(&cost(a)))))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.probes.len() as u8, self.shortlists.len() as u8]);
        self.probes.iter().chain(&self.shortlists).for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        self.recall.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (num_probes, num_shortlists) = (usize::from(reader.u8()?), usize::from(reader.u8()?));
        let mut values = |count: usize| (0..count).map(|_| reader.u32()).collect::<std::result::Result<Vec<_>, _>>();
        let (probes, shortlists) = (values(num_probes)?, values(num_shortlists)?);
        let recall = (0..num_probes * num_shortlists).map(|_| reader.u16()).collect::<std::result::Result<_, _>>()?;
        Ok(Self { probes, shortlists, recall })
    }
}

/// The true neighbours of the queries of a calibration, found while vectors pass by.
#[derive(Debug)]
pub struct Truth {
    metric: Metric,
    queries: FixedRows,
    vectors: Vec<Vec<f32>>,
    /// Per query the nearest ones: key, smaller being nearer, and number of the vector.
    tops: Vec<TopBy<(i32, u32)>>,
    dots: Vec<i32>,
}

impl Truth {
    /// Queries: vectors in full and in the fixed point of those that will be offered.
    pub fn new(metric: Metric, vectors: Vec<Vec<f32>>, queries: FixedRows) -> Self {
        let tops = vectors.iter().map(|_| TopBy::new(CALIBRATION_K)).collect();
        Self { metric, queries, vectors, tops, dots: Vec::new() }
    }

    /// Offers vectors with the numbers they are remembered by. A vector equal to the query is not its neighbour.
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
                if is_better && rows.row(ix) != self.queries.row(query) {
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

/// Counts what probes find.
#[derive(Debug)]
pub struct Recorder {
    table: Calibration,
    found: Vec<u32>,
    wanted: u32,
}

impl Recorder {
    /// For cells of `meta`.
    pub fn new(meta: &CellsMeta) -> Self {
        let num_probes = PROBES.iter().take_while(|&&probes| probes < meta.num_cells()).count() + 1;
        let probes = PROBES[..num_probes.min(PROBES.len())].to_vec();
        let found = vec![0; probes.len() * SHORTLISTS.len()];
        Self { table: Calibration { probes, shortlists: SHORTLISTS.to_vec(), recall: Vec::new() }, found, wanted: 0 }
    }

    /// Numbers of cells to probe, one probe each.
    pub fn probes(&self) -> &[u32] {
        &self.table.probes
    }

    /// Notes what the probe of [`Self::probes`]`[stage]` found; `neighbours` are ordinals.
    pub fn record(&mut self, stage: usize, candidates: &mut [Candidate], neighbours: &[u32]) {
        order::by_key(candidates, |one| u64::from(!float_key(one.estimate)) << 32 | u64::from(one.ord));
        if stage == 0 {
            self.wanted += neighbours.len() as u32;
        }
        let longest = SHORTLISTS[SHORTLISTS.len() - 1] as usize;
        for (rank, candidate) in candidates.iter().take(longest).enumerate() {
            if neighbours.contains(&candidate.ord) {
                for (ix, _) in SHORTLISTS.iter().enumerate().filter(|(_, len)| rank < **len as usize) {
                    self.found[stage * SHORTLISTS.len() + ix] += 1;
                }
            }
        }
    }

    /// The table; empty if there was nothing to find.
    pub fn finish(mut self) -> Calibration {
        if self.wanted == 0 {
            return Calibration::default();
        }
        let part = |&found: &u32| (u64::from(found) * u64::from(u16::MAX) / u64::from(self.wanted)) as u16;
        self.table.recall = self.found.iter().map(part).collect();
        self.table
    }
}

/// Share of another vector in a query: real queries lie near vectors, not on them, and those that are in a cell
/// themselves find their neighbours too easily.
const QUERY_MIX: f32 = 0.15;

/// Makes queries of `vectors` of a sample: each moves towards another one.
pub fn mixed_queries(vectors: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let others = vectors.iter().skip(vectors.len() / 2).chain(vectors);
    let mix = |(own, other): (&Vec<f32>, &Vec<f32>)| {
        own.iter().zip(other).map(|(a, b)| a * (1.0 - QUERY_MIX) + b * QUERY_MIX).collect()
    };
    vectors.iter().zip(others).map(mix).collect()
}

/// Every so-maniest number below `len`, at most [`CALIBRATION_QUERIES`] of them: which vectors of a sample are queries.
pub fn query_numbers(len: usize) -> impl Iterator<Item = usize> {
    let count = CALIBRATION_QUERIES.min(len);
    (0..count).map(move |ix| ix * len / count)
}
