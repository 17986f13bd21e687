//! Names of sections and their codecs, as numbers on disk. Numbers are never reused.

use std::fmt;

use crate::codec::PostingsCodec;

/// The only codec of every kind but postings.
pub(super) const CODEC: u16 = 1;

/// What a section holds. One per field and kind, those of documents and `checksums` once per segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum SectionKind {
    /// Term dictionary blocks.
    Terms = 1,
    /// Index over the dictionary and field statistics; pinned.
    TermIndex = 2,
    /// Skip data, documents, frequencies, positions, term after term.
    Postings = 3,
    /// One byte per document.
    Norms = 4,
    /// Values of a column, its dictionary in front.
    Column = 5,
    /// How to read the column; pinned.
    ColumnMeta = 6,
    /// Compressed blocks of stored documents.
    Docs = 7,
    /// Where each block is; pinned.
    DocsIndex = 8,
    /// Rows of a vector field.
    Vectors = 9,
    /// Dimension, metric, which document owns which rows; pinned.
    VectorsMeta = 10,
    /// CRC32C of each 4 KiB of the chunked part of the file; pinned.
    Checksums = 11,
    /// Document of each vector, where rows lie in the order of cells.
    VectorDocs = 12,
    /// Vectors of each document, where rows lie in the order of cells.
    VectorOrds = 13,
    /// Where cells of near vectors are; pinned.
    CellsMeta = 14,
    /// Centers of cells.
    CellCenters = 15,
    /// Quantized vectors, cell after cell.
    CellCodes = 16,
    /// How the graph of near vectors is read; pinned.
    GraphMeta = 17,
    /// Neighbours of vectors, cell after cell.
    Adjacency = 18,
    /// Ids of documents.
    DocIds = 19,
    /// Where each block of them is; pinned.
    DocIdsIndex = 20,
}

impl SectionKind {
    /// All kinds, ascending by number.
    pub const ALL: [Self; 20] = [
        Self::Terms,
        Self::TermIndex,
        Self::Postings,
        Self::Norms,
        Self::Column,
        Self::ColumnMeta,
        Self::Docs,
        Self::DocsIndex,
        Self::Vectors,
        Self::VectorsMeta,
        Self::Checksums,
        Self::VectorDocs,
        Self::VectorOrds,
        Self::CellsMeta,
        Self::CellCenters,
        Self::CellCodes,
        Self::GraphMeta,
        Self::Adjacency,
        Self::DocIds,
        Self::DocIdsIndex,
    ];

    /// The kind with this number.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u16 == number)
    }

    /// Whether it is read whole when the segment opens and kept in memory.
    pub const fn is_pinned(self) -> bool {
        matches!(
            self,
            Self::TermIndex
                | Self::ColumnMeta
                | Self::DocsIndex
                | Self::VectorsMeta
                | Self::CellsMeta
                | Self::GraphMeta
                | Self::DocIdsIndex
                | Self::Checksums
        )
    }

    /// Whether each unit carries a checksum of its own beside it.
    pub const fn is_self_checked(self) -> bool {
        matches!(
            self,
            Self::Docs
                | Self::Vectors
                | Self::VectorDocs
                | Self::VectorOrds
                | Self::CellCenters
                | Self::CellCodes
                | Self::Adjacency
                | Self::DocIds
        )
    }

    /// Whether there is one per field, not one per segment.
    pub const fn is_per_field(self) -> bool {
        !matches!(self, Self::Docs | Self::DocsIndex | Self::DocIds | Self::DocIdsIndex | Self::Checksums)
    }

    /// Version of the bytes that this build writes.
    pub const fn version(self) -> u16 {
        1
    }

    /// Whether this build reads `version` of `codec`. Postings have two codecs, everything else one.
    pub fn reads(self, codec: u16, version: u16) -> bool {
        let knows_codec = match self {
            Self::Postings => PostingsCodec::from_number(codec).is_some(),
            _ => codec == CODEC,
        };
        knows_codec && version == 1
    }

    /// Name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Terms => "terms",
            Self::TermIndex => "term index",
            Self::Postings => "postings",
            Self::Norms => "norms",
            Self::Column => "column",
            Self::ColumnMeta => "column metadata",
            Self::Docs => "documents",
            Self::DocsIndex => "document index",
            Self::Vectors => "vectors",
            Self::VectorsMeta => "vector metadata",
            Self::Checksums => "checksums",
            Self::VectorDocs => "documents of vectors",
            Self::VectorOrds => "vectors of documents",
            Self::CellsMeta => "cell metadata",
            Self::CellCenters => "centers of cells",
            Self::CellCodes => "codes of cells",
            Self::GraphMeta => "graph metadata",
            Self::Adjacency => "neighbours of vectors",
            Self::DocIds => "document ids",
            Self::DocIdsIndex => "document id index",
        }
    }
}

impl fmt::Display for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_distinct_and_found_again() {
        for kind in SectionKind::ALL {
            assert_eq!(SectionKind::from_number(kind as u16), Some(kind));
        }
        assert_eq!(SectionKind::from_number(0), None);
        assert_eq!(SectionKind::from_number(999), None);
    }
}
