//! Estimated vectors, who takes them, and what their estimates say of others.

use crate::schema::Metric;

/// One estimated vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Ordinal: position of the row.
    pub ord: u32,
    /// Whose it is.
    pub doc: u32,
    /// Estimated similarity, larger is better: dot product (of unit vectors for cosine), or negated squared distance.
    pub estimate: f32,
    /// The rank its cell was chosen by, in the same unit.
    pub cell_rank: f32,
}

/// What differences of a query's estimates grow with, so that a margin measured with some queries holds for others.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    metric: Metric,
    /// Length of the query.
    length: f32,
}

impl Spread {
    /// Of a query of this squared length.
    pub fn new(metric: Metric, square: f32) -> Self {
        Self { metric, length: square.sqrt() }
    }

    /// How far below the estimate `kth` a cell may rank whose vectors may still be better, or a vector be estimated:
    /// `margin` is one that [`Calibration`](super::Calibration) measured.
    pub fn threshold(self, kth: f32, margin: f32) -> f32 {
        kth - margin * self.at(kth)
    }

    /// How near the k-th best is, by the same scale: larger is nearer.
    pub fn nearness(self, kth: f32) -> f32 {
        kth / self.at(kth).max(f32::MIN_POSITIVE)
    }

    pub(super) fn at(self, kth: f32) -> f32 {
        match self.metric {
            Metric::Cosine => 1.0,
            Metric::Dot => self.length,
            // |q - x|² changes by 2 |q - x| for each unit of way, and estimates err with the length of the query too.
            Metric::L2 => (-kth).max(0.0).sqrt() + self.length,
        }
    }
}

/// Takes estimated vectors; a closure takes all of them.
pub trait Found {
    /// Takes one.
    fn push(&mut self, candidate: Candidate);

    /// Vectors estimated below this are of no use: they need not be handed out.
    fn floor(&self) -> f32 {
        f32::NEG_INFINITY
    }
}

impl<F: FnMut(Candidate)> Found for F {
    fn push(&mut self, candidate: Candidate) {
        self(candidate);
    }
}
