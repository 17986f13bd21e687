//! How the vectors of a segment are arranged for search: cells, and on request a graph of neighbours that walks over them.
//!
//! Cells are the upper levels of the graph, one in about 32 of the level below each: groups of cells, cells, vectors.
//! A walk therefore starts at the vectors of the best cells, and the graph itself is flat.
#![forbid(unsafe_code)]

mod adjacency;
mod build;
pub mod cells;
mod prune;
mod repair;
mod walk;

#[cfg(test)]
mod tests;

pub use adjacency::{AdjacencyCheck, GraphMeta};
pub use build::{GraphBuilder, GraphOptions};
pub use walk::{GraphStream, Walk, WalkOptions};
