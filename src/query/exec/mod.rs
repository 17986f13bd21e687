//! Answers of a plan that has its bytes.
//!
//! [`answers`] is what callers ask: top k, counts, sets, scores. [`run`] opens the terms of one segment, [`build`] makes
//! scorers of a tree, [`shapes`] knows the trees that have a collector of their own, [`counts`] those that are counted by sets.

mod answers;
mod build;
mod counts;
mod run;
mod shapes;
mod sparse;

pub(super) use run::{SegmentRun, prefix_weights};

#[cfg(test)]
mod sparse_tests;
