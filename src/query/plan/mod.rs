//! From a query to the bytes it needs, over all segments of a snapshot. What is done with them is in
//! [`super::exec`].
//!
//! [`machine`] is the step machine itself; [`terms`] its first wave, the dictionary; [`lists`] its second one, postings
//! and norms; [`data`] what is known of segments, fields and terms. Patterns of terms are in [`super::expand`].

mod data;
mod lists;
mod machine;
mod terms;

pub use data::{FieldText, ScoredDoc, SegmentFilter, SegmentText, Want};
pub(super) use data::{PatternTerm, PatternWeight, SegmentTerm};
pub(super) use lists::PATTERN_GAP;
pub use machine::Plan;
pub(super) use machine::Slot;
