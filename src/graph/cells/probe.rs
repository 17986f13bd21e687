//! Searching cells: groups ranked in memory, centers of the best groups fetched, codes of the best cells fetched,
//! scored flat. What survives is a shortlist for exact scores.
//!
//! [`Probe`] is a step machine: [`Probe::wanted`] says which ranges of which stream it needs, [`Probe::feed`] takes
//! them; two rounds and it is done. A query that wants more goes on with [`Probe::resume`], or with [`Probe::widen`]
//! where it knows how good a cell must be to matter still.

use std::ops::Range;

use super::{
    format::CellsMeta,
    found::{Candidate, Found, Spread},
    query::{CodeQuery, Query, Terms},
    runs,
    shape::{CRC_BYTES, ORD_BYTES, PlacedCell, TERMS_BYTES, verified},
};
use crate::{
    bitset::BitSet,
    distance::{self, packed},
    error::{Error, Result},
    schema::Metric,
    topk::order::{self, float_key},
};

/// How far a probe looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeOptions {
    /// Cells whose codes are scored. Default 128.
    pub probes: u32,
    /// Cells whose centers are looked at, as a multiple of `probes`; twice as many where cells list vectors of others. Default
    /// 4.
    pub center_factor: u32,
    /// What a request costs beside its bytes, in bytes: where it is not 0, runs of cells are read in place of the best
    /// `probes` cells, as many bytes as those take. Default 0.
    pub request_bytes: u64,
    /// Bytes of codes that the first such runs take at most. Default none.
    pub code_bytes: u64,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        Self { probes: 128, center_factor: 4, request_bytes: 0, code_bytes: u64::MAX }
    }
}

/// Which stream a wanted range is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellStream {
    /// Centers of cells, a block per group.
    Centers,
    /// Codes, a block per cell.
    Codes,
}

/// One query against the cells of one segment.
#[derive(Debug)]
pub struct Probe<'a> {
    meta: &'a CellsMeta,
    options: ProbeOptions,
    query: Query,
    /// All groups, best first; those before `opened` have had their centers fetched.
    groups: Vec<u32>,
    /// Product of the query with the center of each group.
    group_dots: Vec<f32>,
    group_ranks: Vec<f32>,
    opened: usize,
    num_probed: u32,
    num_scored: u64,
    /// Cells seen and not yet scored.
    cells: Vec<RankedCell>,
    wanted: Vec<Range<u64>>,
    stage: Stage,
    scored: Vec<RankedCell>,
    products: Vec<u32>,
    dots: Vec<f32>,
    /// The query less the center of a group, where codes are compared with that.
    centered: Option<(usize, CodeQuery)>,
    /// Vectors that were handed out, where cells list vectors of others.
    seen: Option<BitSet>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Centers,
    Codes,
    Done,
}

#[derive(Debug, Clone, Copy)]
struct RankedCell {
    rank: f32,
    /// Dot product of query and center.
    dot: f32,
    cell: u32,
    first_ord: u32,
    len: u32,
    spilled: u32,
    offset: u64,
    bytes: u64,
}

/// A cell that ranks n-th is worth 1 / (n + this)²: neighbours of questions in 99,000 sentences lie in the first cell
/// (3.4 of ten), in the 12th (0.12), in the 96th (0.006) about so.
const GAIN_OFFSET: f64 = 10.0;
/// Centers that are looked at whatever their groups rank: where there are few groups, ranks say little about cells.
const FEW_CENTERS: usize = 512;
/// Estimates that are compared with the floor together.
const GLANCE: usize = 16;
/// So many times as many centers are looked at where they are in memory and codes take long to come.
const PINNED_FACTOR: usize = 4;

impl<'a> Probe<'a> {
    /// Starts a query, `[dims]`. Ranks all groups; no I/O. Cost: groups x dims.
    ///
    /// # Panics
    /// If the query has other dimensions.
    pub fn new(meta: &'a CellsMeta, query: &[f32], options: ProbeOptions) -> Self {
        Self::start(meta, query, options, |vector, dots| {
            let rows: Vec<&[u8]> =
                (0..dots.len()).map(|group| bytemuck::cast_slice(meta.group_center(group))).collect();
            distance::dots(vector, &rows, dots);
        })
    }

    /// The same with sums in a fixed order: slower, and equal on every machine to the last bit.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn reproducible(meta: &'a CellsMeta, query: &[f32], options: ProbeOptions) -> Self {
        Self::start(meta, query, options, |vector, dots| {
            for (group, dot) in dots.iter_mut().enumerate() {
                let row = meta.group_center(group);
                *dot = vector.iter().zip(row).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>() as f32;
            }
        })
    }

    fn start(
        meta: &'a CellsMeta,
        query: &[f32],
        options: ProbeOptions,
        products: impl FnOnce(&[f32], &mut [f32]),
    ) -> Self {
        assert_eq!(query.len(), meta.shape.dims as usize, "query and vectors have one dimension");
        let query = Query::new(query, meta);
        let mut dots = vec![0.0; meta.num_groups()];
        products(&query.vector, &mut dots);
        let ranks: Vec<f32> =
            dots.iter().zip(&meta.group_squares).map(|(&dot, &square)| query.rank(dot, square)).collect();
        let mut groups: Vec<u32> = (0..dots.len() as u32).collect();
        order::by_largest(&mut groups, |&group| float_key(ranks[group as usize]).into());
        let mut probe = Self {
            meta,
            options,
            query,
            groups,
            group_dots: dots,
            group_ranks: ranks,
            opened: 0,
            num_probed: 0,
            num_scored: 0,
            cells: Vec::new(),
            wanted: Vec::new(),
            stage: Stage::Done,
            scored: Vec::new(),
            products: Vec::new(),
            dots: Vec::new(),
            centered: None,
            seen: meta.spills.then(|| BitSet::new(meta.count)),
        };
        probe.want_centers();
        probe
    }

    /// Hands out a vector once for each cell that lists it.
    #[must_use]
    pub fn repeating(mut self) -> Self {
        self.seen = None;
        self
    }

    /// Ranges needed next, of one stream, in the order [`Self::feed`] takes them; empty when the probe is done.
    pub fn wanted(&self) -> (CellStream, &[Range<u64>]) {
        match self.stage {
            Stage::Codes => (CellStream::Codes, &self.wanted),
            Stage::Centers | Stage::Done => (CellStream::Centers, &self.wanted),
        }
    }

    /// Whether everything asked for was scored.
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Whether [`Self::resume`] has more cells to offer.
    pub fn is_exhausted(&self) -> bool {
        self.cells.is_empty() && self.opened == self.groups.len()
    }

    /// Asks for the `probes` next best cells, after [`Self::is_done`].
    pub fn resume(&mut self, probes: u32) {
        (self.options.probes, self.options.code_bytes) = (probes, u64::MAX);
        self.want_centers();
    }

    /// Asks for the cells that rank at `least` or better, `limit` at most, after [`Self::is_done`]; `false` if there is
    /// none. Of pinned centers those of groups that rank at `groups` or better are looked at, and in any case a few hundred; of
    /// others those that are known, except where all of them are that good.
    pub fn widen(&mut self, least: f32, groups: f32, limit: u32) -> bool {
        let mut known = self.num_probed as usize + self.cells.len();
        while let Some(group) = self.groups.get(self.opened).map(|&group| group as usize) {
            let is_good = self.query.in_estimates(self.group_ranks[group]) >= groups || known < FEW_CENTERS;
            let Some(block) = self.meta.inline_block(group).filter(|_| is_good) else { break };
            self.opened += 1;
            known += self.meta.group_cells(group).len();
            self.take_centers(group, block);
        }
        let good = self.cells.iter().filter(|cell| self.query.in_estimates(cell.rank) >= least).count();
        let count = good.min(limit as usize);
        if count == 0 {
            return false;
        }
        self.options.probes = count as u32;
        // These are wanted for what they are, whatever lies between them.
        let request_bytes = std::mem::take(&mut self.options.request_bytes);
        if good == self.cells.len() {
            self.want_centers()
        } else {
            self.want_codes()
        }
        self.options.request_bytes = request_bytes;
        true
    }

    /// What differences of its estimates grow with.
    pub fn spread(&self) -> Spread {
        Spread::new(self.query.metric, self.query.square)
    }

    /// Cells asked for so far.
    pub fn num_probed(&self) -> u32 {
        self.num_probed
    }

    /// Codes scored so far; those of a vector that several cells list once for each.
    pub fn num_scored(&self) -> u64 {
        self.num_scored
    }

    /// Opens groups until enough centers are known, or goes on to the codes.
    fn want_centers(&mut self) {
        // Cells that list vectors twice are half as many for as many codes.
        let mut factor = self.options.center_factor.max(1) as usize * if self.meta.spills { 2 } else { 1 };
        if self.options.request_bytes > 0 && !self.meta.inline_centers.is_empty() {
            factor *= PINNED_FACTOR;
        }
        let enough = (self.options.probes as usize).saturating_mul(factor);
        let mut known = self.cells.len();
        self.wanted.clear();
        while self.opened < self.groups.len() && (known < enough || self.opened == 0) {
            let group = self.groups[self.opened] as usize;
            known += self.meta.group_cells(group).len();
            self.opened += 1;
            match self.meta.inline_block(group) {
                Some(block) => self.take_centers(group, block),
                None => self.wanted.push(self.meta.groups[group].centers.clone()),
            }
        }
        if !self.wanted.is_empty() {
            self.stage = Stage::Centers;
        } else {
            self.want_codes();
        }
    }

    fn want_codes(&mut self) {
        self.wanted.clear();
        self.scored.clear();
        let count = (self.options.probes.max(1) as usize).min(self.cells.len());
        let key = |cell: &RankedCell| u64::from(float_key(cell.rank)) << 32 | u64::from(!cell.first_ord);
        if self.options.request_bytes > 0 {
            order::by_key(&mut self.cells, key);
            self.take_runs(count);
        } else if count == self.cells.len() {
            self.scored.append(&mut self.cells);
        } else {
            let mut keys: Vec<u64> = self.cells.iter().map(key).collect();
            let first_left = order::select(&mut keys, self.cells.len() - count - 1);
            self.scored.extend(self.cells.extract_if(.., |cell| key(cell) > first_left));
        }
        self.num_probed += self.scored.len() as u32;
        order::by_key(&mut self.scored, |cell| cell.offset);
        let range = |cell: &RankedCell| cell.offset..cell.offset + cell.bytes;
        self.wanted.extend(self.scored.iter().map(range));
        self.stage = if self.wanted.is_empty() { Stage::Done } else { Stage::Codes };
    }

    /// Moves the cells of the runs that are worth most to `scored`, of as many bytes as the best `count` take; all of them
    /// are in order, best last.
    fn take_runs(&mut self, count: usize) {
        let best = &self.cells[self.cells.len() - count..];
        let budget = best.iter().map(|cell| cell.bytes).sum::<u64>().min(self.options.code_bytes);
        let mut in_file: Vec<(u64, u32)> = self.cells.iter().map(|cell| cell.offset).zip(0..).collect();
        order::by_key(&mut in_file, |&(offset, _)| offset);
        let mut end = None;
        let pieces = in_file.iter().map(|&(offset, ix)| {
            let (rank, bytes) = (self.cells.len() - 1 - ix as usize, self.cells[ix as usize].bytes);
            let follows = end == Some(offset);
            end = Some(offset + bytes);
            runs::Piece { gain: (rank as f64 + GAIN_OFFSET).powi(-2), bytes, follows }
        });
        let pieces: Vec<runs::Piece> = pieces.collect();
        let mut is_chosen = vec![false; self.cells.len()];
        let chosen = runs::choose(&pieces, self.options.request_bytes, budget);
        in_file.iter().zip(chosen).for_each(|(&(_, ix), chosen)| is_chosen[ix as usize] = chosen);
        if let Some(best) = is_chosen.last_mut() {
            // Whatever the budget, the best cell is looked into.
            *best = true;
        }
        let mut is_chosen = is_chosen.into_iter();
        let scored = &mut self.scored;
        self.cells.retain(|cell| {
            let is_chosen = is_chosen.next() == Some(true);
            scored.extend(is_chosen.then_some(*cell));
            !is_chosen
        });
    }

    /// Takes what [`Self::wanted`] asked for, and hands each vector estimated at `found`'s floor or above to it, once.
    /// Blocks that are not `fresh` stayed in memory: they are not checked a second time.
    ///
    /// # Errors
    /// `corrupt`.
    pub fn feed(&mut self, blocks: &[impl AsRef<[u8]>], fresh: bool, found: impl Found) -> Result<()> {
        if blocks.len() != self.wanted.len() {
            return Err(Error::invalid(format!("{} blocks for {} ranges", blocks.len(), self.wanted.len())));
        }
        match self.stage {
            Stage::Centers => {
                let first = self.opened - blocks.len();
                for (ix, block) in blocks.iter().enumerate() {
                    let block = block.as_ref();
                    verified(block, "centers of vector cells")?;
                    let group = self.groups[first + ix] as usize;
                    self.meta.check_lens(group, block)?;
                    self.take_centers(group, block);
                }
                self.want_codes();
            }
            Stage::Codes => {
                self.feed_codes(blocks, fresh, found)?;
                self.wanted.clear();
                self.stage = Stage::Done;
            }
            Stage::Done => {}
        }
        Ok(())
    }

    /// Ranks the cells of a group by its block, which was checked.
    fn take_centers(&mut self, group: usize, block: &[u8]) {
        let shape = self.meta.shape;
        let num_cells = self.meta.group_cells(group).len();
        let lens = self.meta.cell_lens(num_cells, block);
        let (_, rest) = block[..block.len() - CRC_BYTES].split_at(num_cells * self.meta.lens_bytes());
        let (terms, rest) = rest.split_at(num_cells * TERMS_BYTES);
        let (squares, rows) = rest.split_at(num_cells * 4);
        self.dots.resize(num_cells, 0.0);
        let group_dot = self.group_dots[group];
        self.query.center_dots(group_dot, terms, rows, &mut self.products, &mut self.dots);
        let (mut ord, mut offset) = (self.meta.groups[group].first_ord, self.meta.groups[group].codes_offset);
        let first_cell = self.meta.group_cells(group).start;
        let centers = self.dots.iter().zip(squares.as_chunks::<4>().0).zip(first_cell..);
        for (((&dot, &square), cell), (len, spilled)) in centers.zip(lens) {
            let rank = self.query.rank(dot, f32::from_le_bytes(square));
            let bytes = shape.cell_bytes(len as usize, spilled as usize) as u64;
            self.cells.push(RankedCell { rank, dot, cell, first_ord: ord, len, spilled, offset, bytes });
            ord += len;
            offset += bytes;
        }
    }

    fn feed_codes(&mut self, blocks: &[impl AsRef<[u8]>], fresh: bool, mut found: impl Found) -> Result<()> {
        let shape = self.meta.shape;
        for (cell, block) in self.scored.iter().zip(blocks) {
            let block = block.as_ref();
            let (own, others) = (cell.len as usize, cell.spilled as usize);
            let len = own + others;
            if block.len() as u64 != cell.bytes {
                return Err(Error::corrupt("codes of a vector cell", format!("{} bytes for {len}", block.len())));
            }
            if fresh || !self.meta.seen.contains(cell.cell) {
                verified(block, "codes of a vector cell")?;
                self.meta.seen.insert(cell.cell);
            }
            let body = &block[..block.len() - CRC_BYTES];
            let (docs, rest) = body.split_at(len * 4);
            let (ords, rest) = rest.split_at(others * ORD_BYTES);
            let ords = ords.as_chunks::<ORD_BYTES>().0;
            let (terms, rest) = rest.split_at(len * shape.terms_len());
            let l2 = shape.metric == Metric::L2;
            let (squares, rows) = rest.split_at(if l2 { len * 4 } else { 0 });
            let query = match &mut self.centered {
                _ if !self.meta.centered => &self.query.code,
                // Cells come in the order of the file, so those of a group together.
                Some((group, query)) if self.meta.group_cells(*group).contains(&cell.cell) => query,
                place => {
                    let group = self.meta.groups.partition_point(|group| group.first_cell <= cell.cell) - 1;
                    &place.insert((group, self.query.less_center(group, self.meta))).1
                }
            };
            query.dots(terms, rows, len, &mut self.products, &mut self.dots);
            self.num_scored += len as u64;
            if l2 {
                for (dot, square) in self.dots.iter_mut().zip(squares.as_chunks::<4>().0) {
                    *dot = 2.0 * (cell.dot + *dot) - f32::from_le_bytes(*square) - self.query.square;
                }
            } else {
                self.dots.iter_mut().for_each(|dot| *dot += cell.dot);
            }
            let docs = docs.as_chunks::<4>().0;
            let cell_rank = self.query.in_estimates(cell.rank);
            for (at, estimates) in (0usize..).step_by(GLANCE).zip(self.dots.chunks(GLANCE)) {
                let floor = found.floor();
                // A sum, as that is done for several at a time.
                if estimates.iter().map(|&estimate| u32::from(estimate < floor)).sum::<u32>() == estimates.len() as u32
                {
                    continue;
                }
                for (ix, &estimate) in (at..).zip(estimates) {
                    // What is no number passes.
                    if estimate < found.floor() {
                        continue;
                    }
                    let ord = match ix.checked_sub(own) {
                        Some(other) => u32::from_le_bytes(ords[other]),
                        None => cell.first_ord + ix as u32,
                    };
                    if let Some(seen) = &mut self.seen {
                        if ord >= self.meta.count {
                            let what = format!("vector {ord} of {}", self.meta.count);
                            return Err(Error::corrupt("codes of a vector cell", what));
                        }
                        if !seen.insert(ord) {
                            continue;
                        }
                    }
                    found.push(Candidate { ord, doc: u32::from_le_bytes(docs[ix]), estimate, cell_rank });
                }
            }
        }
        Ok(())
    }
}

/// A query as the codes of one group are compared with.
#[derive(Debug)]
pub(in crate::graph) struct GroupQuery(Option<CodeQuery>);

/// What a query has in common with a center.
#[derive(Debug, Clone, Copy)]
pub(in crate::graph) struct SeenCenter {
    dot: f32,
    rank: f32,
}

/// One vector at a time, for walks.
impl Probe<'_> {
    /// The query for the codes of a group.
    pub(in crate::graph) fn group_query(&self, group: usize) -> GroupQuery {
        GroupQuery(self.meta.centered.then(|| self.query.less_center(group, self.meta)))
    }

    /// The center of a cell, `block` being that of its group of `num_cells`.
    pub(in crate::graph) fn center(&self, cell: &PlacedCell, num_cells: usize, block: &[u8]) -> SeenCenter {
        let row_len = self.meta.shape.center_row_len();
        let (terms, rest) = block[num_cells * self.meta.lens_bytes()..].split_at(num_cells * TERMS_BYTES);
        let (squares, rows) = rest.split_at(num_cells * 4);
        let mut product = [0];
        packed::nibble_dots(&self.query.nibbles, &rows[cell.ix * row_len..][..row_len], &mut product);
        let terms = Terms::new(terms).get(cell.ix);
        let dot = self.group_dots[cell.group] + self.query.fine.product(terms, product[0]);
        let rank = self.query.rank(dot, f32::from_le_bytes(squares.as_chunks::<4>().0[cell.ix]));
        SeenCenter { dot, rank: self.query.in_estimates(rank) }
    }

    /// The estimate of vector `ord` out of the checked codes of its cell.
    pub(in crate::graph) fn estimate(
        &self,
        cell: &PlacedCell,
        center: &SeenCenter,
        query: &GroupQuery,
        body: &[u8],
        ord: u32,
    ) -> Candidate {
        let (shape, ix) = (self.meta.shape, (ord - cell.first_ord) as usize);
        let len = (cell.len + cell.spilled) as usize;
        let (docs, rest) = body.split_at(len * 4);
        let rest = &rest[cell.spilled as usize * ORD_BYTES..];
        let (terms, rest) = rest.split_at(len * shape.terms_len());
        let (squares, rows) = rest.split_at(if shape.metric == Metric::L2 { len * 4 } else { 0 });
        let query = query.0.as_ref().unwrap_or(&self.query.code);
        let dot = center.dot + query.one_dot(terms, rows, shape.row_len(), ix);
        let estimate = match squares.as_chunks::<4>().0.get(ix) {
            Some(&square) => 2.0 * dot - f32::from_le_bytes(square) - self.query.square,
            None => dot,
        };
        Candidate { ord, doc: u32::from_le_bytes(docs.as_chunks::<4>().0[ix]), estimate, cell_rank: center.rank }
    }
}
