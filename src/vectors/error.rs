//! Why a vector is refused, and why bytes are no vectors.

use thiserror::Error;

/// Why a vector cannot be added or searched with.
#[derive(Debug, Clone, Copy, Error, PartialEq)]
#[non_exhaustive]
pub enum VectorInputError {
    /// Not one vector, or not a whole number of vectors, of the field's dimension.
    #[error("{found} components where the field has {dims} per vector")]
    Dims {
        /// Components given.
        found: usize,
        /// Components of a vector of this field.
        dims: u32,
    },
    /// A component is NaN or infinite, or larger than the form it is stored in holds.
    #[error("component {component} of vector {vector} is {value}, not a finite number that can be stored")]
    NotFinite {
        /// Which of the document's vectors.
        vector: usize,
        /// Which of its components.
        component: usize,
        /// What stands there.
        value: f32,
    },
    /// More vectors than 32-bit ordinals can name.
    #[error("a segment holds at most {max} vectors per field")]
    TooMany {
        /// The limit.
        max: u32,
    },
}

/// Why bytes are not the vectors of a field.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum VectorFormatError {
    /// The metadata ends early or goes on too long.
    #[error("vector metadata of {found} bytes where {expected} are needed")]
    MetaLength {
        /// Bytes there are.
        found: usize,
        /// Bytes there should be.
        expected: u64,
    },
    /// A field of the metadata has a value that no writer writes.
    #[error("vector metadata says {what} {value}")]
    Meta {
        /// Which field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// The documents of the vectors are not ascending, or lie outside the segment.
    #[error("vector {ord} belongs to a document out of order or out of the segment")]
    DocOrder {
        /// The vector.
        ord: u32,
    },
    /// The row stream has another length than its metadata says.
    #[error("rows of {found} bytes where the metadata says {expected}")]
    RowsLength {
        /// Bytes there are.
        found: u64,
        /// Bytes there should be.
        expected: u64,
    },
    /// A row does not match the checksum beside it.
    #[error("vector {ord} at offset {offset}: checksum {found:#010x}, expected {expected:#010x}")]
    RowChecksum {
        /// The vector.
        ord: u32,
        /// Where its row starts in the stream.
        offset: u64,
        /// Checksum of the bytes.
        found: u32,
        /// Checksum beside them.
        expected: u32,
    },
    /// A block of owners does not match its checksum, or names what there is not.
    #[error("owners of vectors at offset {offset} are damaged")]
    Owners {
        /// Where it starts in its stream.
        offset: u64,
    },
    /// A vector shares the row of one that does not stand in front of it.
    #[error("vector {ord} shares a row that is not there")]
    SharedRow {
        /// The vector.
        ord: u32,
    },
    /// A row with a valid checksum holds NaN or infinity.
    #[error("vector {ord} is not finite")]
    RowNotFinite {
        /// The vector.
        ord: u32,
    },
}
