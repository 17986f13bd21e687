//! Columns: one value, or several, per document, for filters, sort and facets.
//!
//! A column field of a segment has two streams: `column` (data) and `column_meta` (metadata, read whole when
//! the segment opens). Documents are cut into blocks of [`BLOCK_DOCS`]; the metadata has each block's place
//! and its least and greatest value, so that a filter asks only for blocks it cannot decide without.
//!
//! Every value is a `u64` whose order is the order of the values ([`value`]): a number, an instant, a bool, or
//! the ordinal of a keyword in the segment's sorted [`dictionary`]. Any condition on one field is then a set of
//! ranges of such numbers ([`ValueRanges`]). Where the bounds of blocks tell little, values also come in their own order
//! with their documents ([`PointsIndex`]).
//!
//! Writing: [`ColumnBuilder`]. Reading: [`ColumnMeta`] plans and opens blocks ([`PackedBlock`] for single documents
//! and conditions, [`DecodedBlock`] for all of them), [`ValueRanges`] and [`FilterPlan`] filter whole segments,
//! [`ColumnMatcher`] single documents, [`FacetCounter`] counts. Merging: [`ColumnMerger`].

mod block;
mod builder;
pub mod dictionary;
mod facet;
mod filter;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes_avx2;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod lanes_simd128;
mod matcher;
mod merge;
mod meta;
mod packed;
mod points;
mod reorder;
#[cfg(test)]
mod tests;
pub mod value;
mod wire;

pub use block::DecodedBlock;
pub use builder::ColumnBuilder;
pub use dictionary::{DictionaryBlock, DictionaryIndex};
pub use facet::FacetCounter;
pub use filter::{FilterPlan, RangeCount, ValueRanges};
pub use matcher::{BlockVerdict, ColumnMatcher};
pub use merge::ColumnMerger;
pub use meta::{BlockMeta, ColumnMeta};
pub use packed::PackedBlock;
pub use points::{PointsBlock, PointsIndex};
pub use reorder::ColumnReorderer;
pub use value::ColumnKind;

use thiserror::Error;

/// Documents per block: one block of a packed column is a few KiB, near what a remote read should be, and a
/// million documents need 250 entries of metadata. Lucene's doc-values skipper uses the same number.
pub const BLOCK_DOCS: u32 = 4096;

/// Why a column could not be read. Offsets count from the start of the metadata, block or dictionary block.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnError {
    /// The metadata is cut short or has a number that cannot be.
    #[error("column_meta: {what} at offset {offset}")]
    BadMeta {
        /// What is wrong.
        what: &'static str,
        /// Where.
        offset: usize,
    },
    /// A newer program wrote it.
    #[error("column_meta: version {found}, this program reads 1 and 2: use a newer one")]
    Version {
        /// What the bytes say.
        found: u8,
    },
    /// A block of values is cut short or has a number that cannot be.
    #[error("block {block}: {what}")]
    BadBlock {
        /// Which block.
        block: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// A block of points is cut short or out of order.
    #[error("block {block} of points: {what}")]
    BadPoints {
        /// Which block.
        block: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// A block of the keyword dictionary is cut short or out of order.
    #[error("dictionary block {block}: {what}")]
    BadDictionary {
        /// Which block.
        block: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// Other bytes were fed than were asked for.
    #[error("{found} buffers fed, {expected} asked for")]
    WrongFeed {
        /// Buffers asked for.
        expected: usize,
        /// Buffers fed.
        found: usize,
    },
    /// Columns of different kinds, or of other documents than the map's, cannot become one.
    #[error("source {source_ix} does not fit the merge: {what}")]
    WrongSource {
        /// Which source.
        source_ix: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A keyword column with more distinct values than 32-bit ordinals.
    #[error("more than 2^32 - 1 distinct keywords")]
    TooManyKeywords,
}

impl From<ColumnError> for crate::error::Error {
    fn from(error: ColumnError) -> Self {
        use crate::error::ErrorKind;
        let kind = match error {
            ColumnError::Version { .. } => ErrorKind::UnsupportedFormat,
            ColumnError::WrongFeed { .. } | ColumnError::WrongSource { .. } => ErrorKind::InvalidArgument,
            ColumnError::TooManyKeywords => ErrorKind::OverBudget,
            _ => ErrorKind::Corrupt,
        };
        Self::with_source(kind, "column", error)
    }
}
