//! One query looking for candidates in one segment: by probing cells, or by walking the graph over them.

#![forbid(unsafe_code)]

use std::ops::Range;

use crate::{
    error::Result,
    graph::{
        GraphStream, Walk,
        cells::{CellStream, Found, Probe, Spread},
    },
    segment::SectionKind,
};

/// Both are step machines with the same steps.
#[derive(Debug)]
pub(super) enum Look<'s> {
    Probe(Box<Probe<'s>>),
    Walk(Box<Walk<'s>>),
}

fn of_cells(stream: CellStream) -> SectionKind {
    match stream {
        CellStream::Centers => SectionKind::CellCenters,
        CellStream::Codes => SectionKind::CellCodes,
    }
}

impl Look<'_> {
    /// Ranges needed next, of one section.
    pub fn wanted(&self) -> (SectionKind, &[Range<u64>]) {
        match self {
            Self::Probe(probe) => {
                let (stream, wanted) = probe.wanted();
                (of_cells(stream), wanted)
            }
            Self::Walk(walk) => match walk.wanted() {
                (GraphStream::Cells(stream), wanted) => (of_cells(stream), wanted),
                (GraphStream::Adjacency, wanted) => (SectionKind::Adjacency, wanted),
            },
        }
    }

    /// Takes them; blocks that are not `fresh` stayed in memory.
    pub fn feed(&mut self, blocks: &[impl AsRef<[u8]>], fresh: bool, found: impl Found) -> Result<()> {
        match self {
            Self::Probe(probe) => probe.feed(blocks, fresh, found),
            Self::Walk(walk) => walk.feed(blocks, fresh, found),
        }
    }

    /// Whether it has looked as far as it was asked to.
    pub fn is_done(&self) -> bool {
        match self {
            Self::Probe(probe) => probe.is_done(),
            Self::Walk(walk) => walk.is_done(),
        }
    }

    /// Whether there is nothing more to look at.
    pub fn is_exhausted(&self) -> bool {
        match self {
            Self::Probe(probe) => probe.is_exhausted(),
            Self::Walk(walk) => walk.is_exhausted(),
        }
    }

    /// Goes on: for so many cells, or to such a breadth.
    pub fn resume(&mut self, step: u32) {
        match self {
            Self::Probe(probe) => probe.resume(step),
            Self::Walk(walk) => walk.resume(step),
        }
    }

    /// Asks for the cells that may hold something better than `bar` less `margin`, of groups that may by theirs, `limit` at
    /// most. A walk knows of none.
    pub fn widen(&mut self, bar: f32, margin: f32, group_margin: f32, limit: u32) {
        if let Self::Probe(probe) = self {
            let spread = probe.spread();
            probe.widen(spread.threshold(bar, margin), spread.threshold(bar, group_margin), limit);
        }
    }

    /// What differences of its estimates grow with.
    pub fn spread(&self) -> Spread {
        match self {
            Self::Probe(probe) => probe.spread(),
            Self::Walk(walk) => walk.spread(),
        }
    }

    /// Codes scored.
    pub fn num_scored(&self) -> u64 {
        match self {
            Self::Probe(probe) => probe.num_scored(),
            Self::Walk(walk) => walk.num_scored(),
        }
    }

    /// Cells whose vectors were all looked at.
    pub fn num_probed(&self) -> u32 {
        match self {
            Self::Probe(probe) => probe.num_probed(),
            Self::Walk(walk) => walk.num_probed(),
        }
    }

    /// Vectors whose neighbours were looked at.
    pub fn num_expanded(&self) -> u32 {
        match self {
            Self::Probe(_) => 0,
            Self::Walk(walk) => walk.num_expanded(),
        }
    }
}
