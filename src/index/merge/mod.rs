//! Merging segments: which ones ([`policy`]), and how they become one ([`driver`]).
//!
//! A merge reads immutable segments and writes a new one, outside of the writer: adds, deletes and searches go
//! on. [`super::IndexWriter::finish_merge`] then carries over the deletions that arrived and publishes.

pub mod driver;
pub mod policy;

pub use driver::{MergeLimits, MergeSource, Merged, merge_segments};
pub use policy::{Candidate, TieredPolicy};
