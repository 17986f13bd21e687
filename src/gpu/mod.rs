//! Where vectors are scored: [`search_flat`] reads rows and scores them, on a GPU where one is asked for and
//! pays, on the CPU otherwise, with the same answer.
//!
//! Without the feature `webgpu` there is no device code; [`GpuHost`] then always answers "CPU" and says why.
//!
//! [`search_flat`] is what the searcher calls. [`Mode`] is the caller's wish, [`rules`] decides.

#![forbid(unsafe_code)]

mod absent;
pub mod rules;
mod search;
#[cfg(test)]
mod search_tests;

pub use absent::GpuHost;
pub use rules::{GpuOptions, Job, Mode};
pub use search::{FlatAnswer, FlatRequest, SegmentRows, search_flat};
