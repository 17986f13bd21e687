//! Rangefind: a search engine that runs where the data is read.
//!
//! Full text, vectors and both fused, over one index whose bytes are the same in a browser's private
//! file system, behind an HTTP server that answers range requests, in an object store or on a disk.
//!
//! Start at [`engine`], the public API. `ARCHITECTURE.md` explains the floors: a module imports only
//! from strictly lower ones. `FORMAT.md` is the authority on bytes.

pub mod error;
pub mod ids;
pub mod platform;

pub mod analysis;
pub mod bitset;
pub mod codec;
pub mod distance;
pub mod schema;
pub mod storage;
pub mod topk;

pub mod columns;
pub mod docstore;
pub mod postings;
pub mod quant;
pub mod terms;

pub mod graph;
pub mod vectors;

pub mod gpu;
pub mod segment;

pub mod index;
pub mod query;

pub mod searcher;

pub mod engine;

#[cfg(target_arch = "wasm32")]
pub mod wasm;

pub use error::{Error, ErrorKind, Result};

/// The example of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
