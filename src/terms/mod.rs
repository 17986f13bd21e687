//! Term dictionary of one field: sorted, prefix-compressed blocks, and an index of their first keys.
//!
//! Two streams: `terms` (data: the blocks) and `term_index` (metadata: block keys, field statistics, codec version).
//! The index is parsed once and kept; from then on a lookup is one range of `terms`, and a term outside the keys'
//! bounds is a miss without any. All methods are pure: they say which bytes they want and work on what they get.
//!
//! ```
//! use rangefind::terms::{FieldOptions, FieldTotals, TermIndex, TermInfo, TermsWriter, find};
//!
//! let options = FieldOptions::KEYWORD;
//! let (mut terms, mut writer) = (Vec::new(), TermsWriter::new(options));
//! writer.push(b"range", &TermInfo::singleton(7), &mut terms)?;
//! writer.push(b"request", &TermInfo::singleton(9), &mut terms)?;
//! let index = TermIndex::parse(&writer.finish(FieldTotals::default(), 0, &mut terms))?;
//! let range = index.locate(b"request").expect("inside the bounds");
//! let block = &terms[range.start as usize..range.end as usize];
//! assert_eq!(find(options, block, b"request")?.unwrap().singleton, Some(9));
//! assert_eq!(index.locate(b"zebra"), None, "a miss that costs nothing");
//! # Ok::<(), rangefind::Error>(())
//! ```
//!
//! Start with [`TermsWriter`] and [`TermIndex`]; [`TermCursor`] walks all terms in order, as merges do.

#![forbid(unsafe_code)]

mod automaton;
mod block;
mod index;
mod info;
mod writer;

pub use automaton::{FuzzyPattern, MAX_EDITS, MAX_PATTERN_CHARS, PatternError, TermMatcher, TermPattern, auto_edits};
pub use block::{TermCursor, find};
pub use index::{LocatedBlocks, TermIndex};
pub use info::{FieldOptions, FieldTotals, TermInfo};
pub use writer::{MAX_TERM_BYTES, TermsWriter};

#[cfg(test)]
mod tests;
