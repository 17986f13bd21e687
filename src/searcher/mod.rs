//! Answers searches: the only place where a query waits.
//!
//! A search goes through a snapshot in waves: all ranges of all segments that are known to be needed go out
//! together, everything between two waves is computation on bytes at hand.

mod ask;
mod batch;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod bound_tests;
mod candidates;
mod collapse;
mod column_ask;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod column_tests;
mod columns;
mod cursor;
mod facets;
mod filter;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod fixture;
mod flow;
mod fusion;
mod gather;
mod histogram;
mod hits;
mod look;
mod more_like;
mod nearest;
mod ordered;
mod pace;
mod page;
mod probing;
mod rescore;
mod snippet;
mod sort;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod syntax_tests;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod text_tests;
mod tree_columns;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tree_tests;
mod words;

pub use ask::MAX_LIMIT;
pub use cursor::{Cursor, CursorKey};
pub use filter::{Filter, Leaf};
pub use flow::search;
pub use fusion::{Fused, Fusion, Legs, Place, RRF_K};
pub use snippet::{SNIPPET_CHARS, highlight, to_utf16};
