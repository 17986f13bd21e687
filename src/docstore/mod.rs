//! Stored documents: what a hit gives back.
//!
//! A segment has two streams: `docs` (data), compressed blocks of about [`BLOCK_BYTES`] of records, each
//! with its checksum beside it, read a few at a time; and `docs_index` (metadata), where each block is and
//! which documents it holds, read whole when the segment opens. Two more, `doc_ids` and `doc_ids_index`, give the
//! ids alone.
//!
//! [`DocStoreWriter`] writes all, [`DocStoreIndex`] and [`DocIdsIndex`] plan reads and decode what they bring,
//! [`DocStoreMerger`] copies live records of several segments into a new one.

mod block;
mod ids;
mod index;
mod merge;
mod reorder;
#[cfg(test)]
mod tests;
mod writer;

pub use block::{DocBlock, Record};
pub use ids::{DocIdsBlock, DocIdsIndex, DocIdsPlan};
pub use index::{DocPlan, DocStoreIndex, StoredDocument};
pub use merge::DocStoreMerger;
pub use reorder::DocStoreReorderer;
pub use writer::{DocStoreParts, DocStoreWriter};

use thiserror::Error;

use crate::codec::Reader;

/// Uncompressed bytes after which a block is closed: one block is one read, and at 16 KiB LZ4 is near its
/// best ratio for text while a remote hit still costs only a few KiB.
pub const BLOCK_BYTES: usize = 16 << 10;

/// Longest record, and so longest uncompressed block. A document is refused long before.
pub const MAX_RECORD_BYTES: usize = 64 << 20;

/// Why stored documents could not be read. Offsets count from the start of the stream or block.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocStoreError {
    /// The index is cut short or has a number that cannot be.
    #[error("docs_index: {what} at offset {offset}")]
    BadIndex {
        /// What is wrong.
        what: &'static str,
        /// Where.
        offset: usize,
    },
    /// The index of ids is cut short or has a number that cannot be.
    #[error("doc_ids_index: {what} at offset {offset}")]
    BadIdsIndex {
        /// What is wrong.
        what: &'static str,
        /// Where.
        offset: usize,
    },
    /// The bytes of a block of ids are not what was written.
    #[error("block {block} of ids: checksum {found:08x}, expected {expected:08x}")]
    IdsChecksum {
        /// Which block.
        block: u32,
        /// Checksum stored beside it.
        expected: u32,
        /// Checksum of the bytes.
        found: u32,
    },
    /// A block of ids has other ids than it says.
    #[error("block {block} of ids: {what}")]
    BadIds {
        /// Which block.
        block: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// A newer program wrote it.
    #[error("docs_index: version {found}, this program reads 1: use a newer one")]
    Version {
        /// What the bytes say.
        found: u8,
    },
    /// The block's bytes are not what was written.
    #[error("block {block}: checksum {found:08x}, expected {expected:08x}")]
    Checksum {
        /// Which block.
        block: u32,
        /// Checksum stored beside it.
        expected: u32,
        /// Checksum of the bytes.
        found: u32,
    },
    /// The block does not decompress, or its records do not fill it.
    #[error("block {block}: {what}")]
    BadBlock {
        /// Which block.
        block: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// A document that the segment does not have was asked for.
    #[error("document {doc} of {num_docs}")]
    NoSuchDocument {
        /// The ordinal asked for.
        doc: u32,
        /// Documents there are.
        num_docs: u32,
    },
    /// Other bytes were fed than were asked for.
    #[error("{found} buffers fed, {expected} asked for")]
    WrongFeed {
        /// Buffers asked for.
        expected: usize,
        /// Buffers fed.
        found: usize,
    },
}

impl From<DocStoreError> for crate::error::Error {
    fn from(error: DocStoreError) -> Self {
        use crate::error::ErrorKind;
        let kind = match error {
            DocStoreError::Version { .. } => ErrorKind::UnsupportedFormat,
            DocStoreError::NoSuchDocument { .. } | DocStoreError::WrongFeed { .. } => ErrorKind::InvalidArgument,
            _ => ErrorKind::Corrupt,
        };
        Self::with_source(kind, "stored documents", error)
    }
}

/// Takes a variable-length number off the front of `bytes`.
fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut reader = Reader::new(bytes);
    let value = reader.vlong().ok()?;
    *bytes = reader.rest();
    Some(value)
}
