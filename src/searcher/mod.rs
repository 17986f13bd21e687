//! Answers searches: the only place where a query waits.
//!
//! A search goes through a snapshot in waves: all ranges of all segments that are known to be needed go out
//! together, everything between two waves is computation on bytes at hand.

mod filter;
mod fusion;
mod snippet;

pub use filter::{Filter, KeywordTest, Leaf};
pub use fusion::{Fused, Fusion, Legs, Place, RRF_K};
pub use snippet::{SNIPPET_CHARS, highlight, to_utf16};
