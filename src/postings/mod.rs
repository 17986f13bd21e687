//! Postings: which documents have a term, how often and where. Built in memory, merged as streams, read by scorers.
//!
//! A text, keyword or id field of a segment is three streams: `term_index` (metadata), `terms` (data) and `postings`
//! (data); a text field has a fourth, `norms` (one byte per document, its length; data).
//!
//! **Building a segment.** One [`Inverter`] per field takes documents in ascending order; its `memory_bytes` counts
//! toward the writer's budget. [`Inverter::finish`] gives an [`InvertedField`], which writes itself in steps:
//!
//! ```
//! use rangefind::{analysis::Analyzer, ids::DocOrd, postings::Inverter, terms::FieldOptions};
//!
//! let analyzer = Analyzer::find("english").expect("built in");
//! let mut inverter = Inverter::new(FieldOptions::TEXT);
//! inverter.add_text(DocOrd(0), &analyzer, &["range requests"])?;
//! let (mut terms, mut postings) = (Vec::new(), Vec::new()); // the driver drains both after each step
//! let mut field = inverter.finish(1);
//! while field.step(&mut terms, &mut postings)? {}
//! let parts = field.finish(&mut terms);
//! assert_eq!(parts.norms.unwrap(), [2]);
//! # Ok::<(), rangefind::Error>(())
//! ```
//!
//! **Merging.** First the norms, source after source, through [`merge_norms`] into one buffer (one byte per document,
//! kept, since skip data needs them); then a [`FieldMerger`]: `step` until it says [`MergeStep::Done`]; when it says
//! [`MergeStep::Wants`], read [`FieldMerger::wanted`] and [`FieldMerger::feed`] the bytes in the same order. Ranges of
//! one source and stream ascend, so that a sequential reader serves them. Memory: two windows per source, and the
//! documents (not the positions) of the largest term.
//!
//! **Reading.** [`Postings`] opens the [`TermBytes`] of one term and iterates with `next` and `advance`; blocks are decoded
//! when they are entered, positions when they are asked for. Queries do this; see [`crate::query`].

#![forbid(unsafe_code)]

mod blocks;
mod impacts;
mod inverter;
mod merge;
pub mod norms;
mod position_stream;
mod positions;
mod reader;
mod skip;
mod term_bytes;
mod term_table;
mod word_cache;
mod writer;

pub use impacts::Impact;

pub use inverter::{FieldParts, InvertedField, Inverter};
pub use merge::{FieldMerger, MergeStep, Want, merge_norms, reordered_term_bytes};
pub use reader::{Damage, END, Lookahead, Postings};
pub use term_bytes::{Runs, TermBytes};
pub use writer::MAX_DOCS;
#[cfg(test)]
pub(crate) use writer::PostingsWriter;

/// The data streams of an indexed field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextStream {
    /// Blocks of the term dictionary.
    Terms,
    /// Postings of all terms.
    Postings,
    /// One byte per document.
    Norms,
}

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod sparse_tests;
#[cfg(test)]
mod tests;
