//! What a plan is for, and how much it reads at once.

use crate::query::Bm25Params;

/// What a plan will be asked. The less that is, the less has to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// Anything, of any document: lists and norms are read whole.
    #[default]
    Anything,
    /// [`Plan::top_k`](super::Plan::top_k) of at most so many documents, and [`Plan::explain`](super::Plan::explain) of
    /// those. Counts are exact only where they cost nothing: see [`Plan::total`](super::Plan::total).
    Top(usize),
    /// The same, and exact counts and sets: lists are read whole, norms of documents that can win.
    TopAndCount(usize),
}

impl Purpose {
    /// Documents to rank, where it is known how many.
    pub(in crate::query) fn depth(self) -> Option<usize> {
        match self {
            Self::Anything => None,
            Self::Top(k) | Self::TopAndCount(k) => Some(k),
        }
    }

    /// Whether all matches are looked at.
    pub(super) fn counts(self) -> bool {
        !matches!(self, Self::Top(_))
    }
}

/// How a query is planned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanOptions {
    /// Parameters of the score.
    pub params: Bm25Params,
    /// What will be asked. Default: anything.
    pub purpose: Purpose,
    /// Whether every document will be accepted: statistics then tell some counts. Default false.
    pub accepts_all: bool,
    /// Lists and norms of up to so many bytes, over all segments, are read whole in the wave behind the dictionary: parts
    /// of them would take further waves. Default 256 KiB.
    pub whole_bytes: u64,
    /// Parts of lists of about so many bytes are read in a first round, and all if it is at most twice as many; a second
    /// round takes eight times as many, a third one the rest. Default 64 KiB.
    pub round_bytes: u64,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            params: Bm25Params::default(),
            purpose: Purpose::default(),
            accepts_all: false,
            whole_bytes: 256 << 10,
            round_bytes: 64 << 10,
        }
    }
}

/// A number of matching documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Total {
    /// Documents.
    pub count: u64,
    /// Whether there are no more.
    pub is_exact: bool,
}
