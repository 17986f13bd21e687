//! How the vectors of a segment are arranged for search: cells now, and what walks them.
#![forbid(unsafe_code)]

pub mod cells;
