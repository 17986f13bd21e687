//! Merging segments: which ones ([`policy`]), and how they become one ([`driver`]), in another order if need be ([`reorder`]).
//!
//! A merge reads immutable segments and writes a new one, outside of the writer: adds, deletes and searches go
//! on. [`super::IndexWriter::finish_merge`] then carries over the deletions that arrived and publishes.

pub mod bisect;
pub mod driver;
mod in_order;
mod pace;
pub mod policy;
pub mod reorder;
mod vectors;

pub use driver::{MergeLimits, MergeSource, Merged, merge_segments};
pub use policy::{Candidate, TieredPolicy};
pub use reorder::{merge_reordered, reorder_needed_bytes};
