//! From a query to the bytes it needs, over all segments of a snapshot. What is done with them is in
//! [`super::exec`].
//!
//! [`machine`] is the step machine itself; [`terms`] its first wave, the dictionary; [`lists`] its second one, postings
//! and norms; [`data`] what is known of segments, fields and terms. Patterns of terms are in [`super::expand`].
//!
//! Lists that are too long to be read whole are read in parts where [`purpose`] allows it: skip data first, then what can
//! still win. [`bounds`] says what that is for a tree, [`blocks`] for a segment, [`select`] chooses.

mod blocks;
mod bounds;
mod data;
mod lists;
mod machine;
mod purpose;
mod select;
mod terms;

pub use data::{FieldText, ScoredDoc, SegmentFilter, SegmentText, Want};
pub(super) use data::{Partial, PatternTerm, PatternWeight, SegmentTerm, TermStats};
pub(super) use lists::PATTERN_GAP;
pub use machine::Plan;
pub(super) use machine::Slot;
pub use purpose::{PlanOptions, Purpose, Total};
