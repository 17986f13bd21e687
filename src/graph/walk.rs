//! Walking the graph: the best cells' vectors first, then neighbours of the best ones found, a few at a time.
//!
//! Best-first search with a list of bounded breadth (Malkov and Yashunin, "HNSW" (2016), algorithm 2) on estimated
//! scores. Differences: it starts at the vectors of a few cells, not at one of an upper level; several vectors are
//! expanded together, so that a round of reads brings all of their neighbours; and with a filter only vectors that pass count as
//! found, while those that do not are passed through once, never two in a row (two hops, as in ACORN, Patel et al.,
//! 2024).
//!
//! [`Walk`] is a step machine as [`Probe`] is: [`Walk::wanted`] says which ranges of which stream it needs next,
//! [`Walk::feed`] takes them.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

use super::{
    adjacency::GraphMeta,
    cells::{
        Candidate, CellPlace, CellStream, CellsMeta, Found, GroupQuery, PlacedCell, Probe, ProbeOptions, SeenCenter,
        Spread,
    },
};
use crate::{
    bitset::BitSet,
    error::{Error, Result},
};

/// How far a walk looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkOptions {
    /// Vectors found that are kept while walking: it ends when none left to expand is better than the worst of them.
    /// `efSearch` elsewhere. Default 128.
    pub breadth: u32,
    /// Cells whose vectors it starts from. Default 16: their codes are the cheapest to score.
    pub starts: u32,
    /// Vectors expanded in one round. Default 8.
    pub expansions: u32,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self { breadth: 128, starts: 16, expansions: 8 }
    }
}

/// Cells whose centers are ranked for the starts, as a multiple of them.
const CENTER_FACTOR: u32 = 24;

/// Which stream a wanted range is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphStream {
    /// Centers or codes of cells.
    Cells(CellStream),
    /// Neighbours, a block per cell.
    Adjacency,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The probe of the starts.
    Start,
    Adjacency,
    Centers,
    Codes,
    Done,
}

/// A vector to expand; the best is the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Open {
    key: u32,
    ord: Reverse<u32>,
    passes: bool,
}

/// Centers of one group as a query sees them.
#[derive(Debug)]
struct OpenGroup {
    /// Its block, unless that is pinned.
    block: Option<Vec<u8>>,
    places: Vec<CellPlace>,
    /// What the query has in common with each center, once it was needed.
    centers: Vec<Option<SeenCenter>>,
    /// The query as codes of the group are compared with.
    query: GroupQuery,
}

/// A neighbour to score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Reached {
    ord: u32,
    /// Reached through a vector that passes the filter.
    through_passing: bool,
}

/// One query against the graph of one segment.
#[derive(Debug)]
pub struct Walk<'a> {
    graph: &'a GraphMeta,
    cells: &'a CellsMeta,
    accept: Option<&'a BitSet>,
    options: WalkOptions,
    probe: Probe<'a>,
    stage: Stage,
    visited: BitSet,
    frontier: BinaryHeap<Open>,
    /// The best `breadth` that pass.
    best: BinaryHeap<Reverse<u32>>,
    /// All that pass.
    keys: Vec<u32>,
    groups: Vec<Option<Box<OpenGroup>>>,
    /// Vectors being expanded, by cell.
    expanding: Vec<(PlacedCell, Open)>,
    reached: Vec<Reached>,
    /// Cells to score and which of `reached` are theirs.
    scoring: Vec<(PlacedCell, Range<usize>)>,
    wanted: Vec<Range<u64>>,
    wanted_groups: Vec<usize>,
    num_expanded: u32,
    num_scored: u64,
}

/// Orders as the scores do.
fn key_of(estimate: f32) -> u32 {
    let bits = estimate.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

impl<'a> Walk<'a> {
    /// Starts a query, `[dims]`, for documents of `accept`. Ranks groups of cells; no I/O.
    ///
    /// # Panics
    /// If the graph is not that of the cells, or the query has other dimensions.
    pub fn new(
        graph: &'a GraphMeta,
        cells: &'a CellsMeta,
        query: &[f32],
        accept: Option<&'a BitSet>,
        options: WalkOptions,
    ) -> Self {
        let probes =
            ProbeOptions { probes: options.starts.max(1), center_factor: CENTER_FACTOR, ..ProbeOptions::default() };
        Self::start(graph, cells, accept, options, Probe::new(cells, query, probes))
    }

    /// The same with sums in a fixed order: slower, and equal on every machine to the last bit.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn reproducible(graph: &'a GraphMeta, cells: &'a CellsMeta, query: &[f32], options: WalkOptions) -> Self {
        let probes =
            ProbeOptions { probes: options.starts.max(1), center_factor: CENTER_FACTOR, ..ProbeOptions::default() };
        Self::start(graph, cells, None, options, Probe::reproducible(cells, query, probes))
    }

    fn start(
        graph: &'a GraphMeta,
        cells: &'a CellsMeta,
        accept: Option<&'a BitSet>,
        options: WalkOptions,
        probe: Probe<'a>,
    ) -> Self {
        assert!(graph.fits(cells), "a graph of these cells");
        let mut walk = Self {
            graph,
            cells,
            accept,
            options,
            probe,
            stage: Stage::Start,
            visited: BitSet::new(cells.count()),
            frontier: BinaryHeap::new(),
            best: BinaryHeap::new(),
            keys: Vec::new(),
            groups: (0..cells.num_groups()).map(|_| None).collect(),
            expanding: Vec::new(),
            reached: Vec::new(),
            scoring: Vec::new(),
            wanted: Vec::new(),
            wanted_groups: Vec::new(),
            num_expanded: 0,
            num_scored: 0,
        };
        walk.want_start();
        walk
    }

    /// Ranges needed next, of one stream, in the order [`Self::feed`] takes them; empty when the walk is done.
    pub fn wanted(&self) -> (GraphStream, &[Range<u64>]) {
        let stream = match self.stage {
            Stage::Start => {
                let (stream, wanted) = self.probe.wanted();
                return (GraphStream::Cells(stream), wanted);
            }
            Stage::Codes => GraphStream::Cells(CellStream::Codes),
            Stage::Centers => GraphStream::Cells(CellStream::Centers),
            Stage::Adjacency | Stage::Done => GraphStream::Adjacency,
        };
        (stream, &self.wanted)
    }

    /// Whether nothing better is left to be found within the breadth.
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Whether every vector was seen.
    pub fn is_exhausted(&self) -> bool {
        self.frontier.is_empty() && self.probe.is_exhausted()
    }

    /// Cells whose vectors it started from.
    pub fn num_probed(&self) -> u32 {
        self.probe.num_probed()
    }

    /// Vectors whose neighbours were looked at.
    pub fn num_expanded(&self) -> u32 {
        self.num_expanded
    }

    /// What [`Probe::spread`] says.
    pub fn spread(&self) -> Spread {
        self.probe.spread()
    }

    /// Codes scored so far.
    pub fn num_scored(&self) -> u64 {
        self.num_scored + self.probe.num_scored()
    }

    /// Goes on after [`Self::is_done`] until it has found as many as a walk of this breadth; from further cells where
    /// the vectors found so far lead nowhere.
    pub fn resume(&mut self, breadth: u32) {
        self.options.breadth = breadth.max(1);
        self.best.clear();
        for ix in 0..self.keys.len() {
            self.keep(self.keys[ix]);
        }
        if self.frontier.is_empty() {
            self.options.starts = self.options.starts.max(1).saturating_mul(2);
            self.probe.resume(self.options.starts);
            self.stage = Stage::Start;
            self.want_start();
        } else {
            self.want_adjacency();
        }
    }

    /// Takes what [`Self::wanted`] asked for, and hands each estimated vector to `found`, once. Blocks that are not
    /// `fresh` stayed in memory: they are not checked a second time.
    ///
    /// # Errors
    /// `corrupt`.
    pub fn feed(&mut self, blocks: &[impl AsRef<[u8]>], fresh: bool, mut found: impl Found) -> Result<()> {
        if blocks.len() != self.wanted().1.len() {
            return Err(Error::invalid(format!("{} blocks for {} ranges", blocks.len(), self.wanted().1.len())));
        }
        match self.stage {
            Stage::Start => self.feed_start(blocks, fresh, found)?,
            Stage::Adjacency => {
                self.feed_adjacency(blocks, fresh)?;
                self.want_centers();
            }
            Stage::Centers => {
                for (ix, block) in blocks.iter().enumerate() {
                    self.open_group(self.wanted_groups[ix], Some(block.as_ref()))?;
                }
                self.want_codes();
            }
            Stage::Codes => {
                self.feed_codes(blocks, fresh, &mut found)?;
                self.want_adjacency();
            }
            Stage::Done => {}
        }
        Ok(())
    }

    fn want_start(&mut self) {
        if self.probe.is_done() {
            self.want_adjacency();
        }
    }

    fn feed_start(&mut self, blocks: &[impl AsRef<[u8]>], fresh: bool, mut found: impl Found) -> Result<()> {
        let (stream, wanted) = self.probe.wanted();
        let groups = wanted.iter().map(|range| self.cells.group_at(range.start));
        let groups: Vec<usize> = if stream == CellStream::Centers { groups.collect() } else { Vec::new() };
        let mut scored = Vec::new();
        self.probe.feed(blocks, fresh, |candidate| scored.push(candidate))?;
        for (group, block) in groups.into_iter().zip(blocks) {
            self.open_group(group, Some(block.as_ref()))?;
        }
        for candidate in scored {
            if self.visited.insert(candidate.ord) {
                self.take(&candidate, true);
                found.push(candidate);
            }
        }
        self.want_start();
        Ok(())
    }

    /// Notes a scored vector.
    fn take(&mut self, candidate: &Candidate, through_passing: bool) {
        let key = key_of(candidate.estimate);
        let passes = self.accept.is_none_or(|accept| accept.contains(candidate.doc));
        if passes {
            self.keys.push(key);
            self.keep(key);
        }
        if passes || through_passing {
            self.frontier.push(Open { key, ord: Reverse(candidate.ord), passes });
        }
    }

    fn keep(&mut self, key: u32) {
        if self.best.len() < self.options.breadth.max(1) as usize {
            self.best.push(Reverse(key));
        } else if let Some(mut worst) = self.best.peek_mut()
            && key > worst.0
        {
            *worst = Reverse(key);
        }
    }

    /// Chooses what to expand next.
    fn want_adjacency(&mut self) {
        self.wanted.clear();
        self.expanding.clear();
        let full = self.best.len() >= self.options.breadth.max(1) as usize;
        let worst = self.best.peek().filter(|_| full).map(|worst| worst.0);
        while self.expanding.len() < self.options.expansions.max(1) as usize {
            let Some(open) = self.frontier.peek().filter(|open| worst.is_none_or(|worst| open.key > worst)).copied()
            else {
                break;
            };
            self.frontier.pop();
            match self.place(open.ord.0) {
                Some(cell) => self.expanding.push((cell, open)),
                None => debug_assert!(false, "what was scored lies in an open group"),
            }
        }
        if self.expanding.is_empty() {
            return self.want_entry(full);
        }
        self.num_expanded += self.expanding.len() as u32;
        self.expanding.sort_unstable_by_key(|(_, open)| open.ord.0);
        let shape = self.graph.shape;
        let blocks = self.expanding.chunk_by(|a, b| a.0.cell == b.0.cell).map(|same| same[0].0);
        self.wanted.extend(blocks.map(|cell| shape.block(cell.cell, cell.first_ord, cell.len)));
        self.stage = Stage::Adjacency;
    }

    /// Goes on from the entry, from where every vector can be reached, if too little was found; else ends.
    fn want_entry(&mut self, full: bool) {
        let entry = self.graph.entry;
        if full || !self.visited.insert(entry) {
            self.stage = Stage::Done;
            return;
        }
        self.reached.clear();
        self.reached.push(Reached { ord: entry, through_passing: true });
        self.want_centers();
    }

    fn feed_adjacency(&mut self, blocks: &[impl AsRef<[u8]>], fresh: bool) -> Result<()> {
        self.reached.clear();
        let mut row = Vec::with_capacity(self.graph.shape.degree as usize);
        for (same, block) in self.expanding.chunk_by(|a, b| a.0.cell == b.0.cell).zip(blocks) {
            let cell = same[0].0;
            let body = self.graph.open_block(cell.cell, block.as_ref(), fresh)?;
            for (_, open) in same {
                row.clear();
                self.graph.shape.read_row(body, open.ord.0 - cell.first_ord, open.ord.0, &mut row);
                for &ord in &row {
                    if self.visited.insert(ord) {
                        self.reached.push(Reached { ord, through_passing: open.passes });
                    }
                }
            }
        }
        self.reached.sort_unstable();
        Ok(())
    }

    /// Asks for the centers of groups that were not met before.
    fn want_centers(&mut self) {
        self.wanted.clear();
        self.wanted_groups.clear();
        let mut end = 0;
        for ix in 0..self.reached.len() {
            let ord = self.reached[ix].ord;
            if ord < end {
                continue;
            }
            let group = self.cells.group_of(ord);
            end = self.cells.group_ords(group).end;
            if self.groups[group].is_some() {
                continue;
            }
            match self.cells.center_range(group) {
                Some(range) => {
                    self.wanted.push(range);
                    self.wanted_groups.push(group);
                }
                None => self.open_group(group, None).expect("lengths were checked when the block was parsed"),
            }
        }
        if self.wanted.is_empty() {
            self.want_codes();
        } else {
            self.stage = Stage::Centers;
        }
    }

    fn want_codes(&mut self) {
        self.wanted.clear();
        self.scoring.clear();
        let mut at = 0;
        while at < self.reached.len() {
            let Some(cell) = self.place(self.reached[at].ord) else {
                debug_assert!(false, "groups of neighbours were opened");
                break;
            };
            let len = self.reached[at..].partition_point(|reached| reached.ord < cell.first_ord + cell.len);
            self.scoring.push((cell, at..at + len));
            self.wanted.push(self.cells.cell_codes(&cell));
            at += len;
        }
        if self.wanted.is_empty() {
            return self.want_adjacency();
        }
        self.stage = Stage::Codes;
    }

    fn feed_codes(&mut self, blocks: &[impl AsRef<[u8]>], fresh: bool, found: &mut impl Found) -> Result<()> {
        let scoring = std::mem::take(&mut self.scoring);
        for ((cell, range), block) in scoring.iter().zip(blocks) {
            let Some(center) = self.center(cell) else { continue };
            let body = self.cells.open_codes(cell, block.as_ref(), fresh)?;
            for ix in range.clone() {
                let reached = self.reached[ix];
                let Some(group) = &self.groups[cell.group] else { break };
                let candidate = self.probe.estimate(cell, &center, &group.query, body, reached.ord);
                self.num_scored += 1;
                self.take(&candidate, reached.through_passing);
                found.push(candidate);
            }
        }
        self.scoring = scoring;
        Ok(())
    }

    fn open_group(&mut self, group: usize, block: Option<&[u8]>) -> Result<()> {
        let bytes = match block {
            Some(block) => block,
            None => self.cells.pinned_centers(group).unwrap_or_default(),
        };
        let places = match block {
            Some(block) => self.cells.check_centers(group, block)?,
            None => self.cells.cell_places(group, bytes)?,
        };
        let (centers, query) = (vec![None; places.len()], self.probe.group_query(group));
        let block = block.map(<[u8]>::to_vec);
        self.groups[group] = Some(Box::new(OpenGroup { block, places, centers, query }));
        Ok(())
    }

    /// The cell of a vector whose group is open or can be opened without a read.
    fn place(&mut self, ord: u32) -> Option<PlacedCell> {
        let group = self.cells.group_of(ord);
        if self.groups[group].is_none() {
            self.cells.pinned_centers(group)?;
            self.open_group(group, None).ok()?;
        }
        let open = self.groups[group].as_ref()?;
        let ix = open.places.partition_point(|place| place.first_ord <= ord).checked_sub(1)?;
        let CellPlace { first_ord, len, spilled, spilled_before } = open.places[ix];
        let cell = self.cells.group_cells(group).start + ix as u32;
        Some(PlacedCell { group, ix, cell, first_ord, len, spilled, spilled_before })
    }

    fn center(&mut self, cell: &PlacedCell) -> Option<SeenCenter> {
        let open = self.groups[cell.group].as_mut()?;
        if let Some(center) = open.centers[cell.ix] {
            return Some(center);
        }
        let block = open.block.as_deref().or_else(|| self.cells.pinned_centers(cell.group)).unwrap_or_default();
        let center = self.probe.center(cell, open.centers.len(), block);
        open.centers[cell.ix] = Some(center);
        Some(center)
    }
}
