//! Why bytes could not be decoded.

#![forbid(unsafe_code)]

use thiserror::Error as ThisError;

use crate::error::Error;

/// Why bytes could not be decoded. Offsets are bytes from the start of what the reader was given.
#[derive(Debug, Clone, Copy, ThisError, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end too early.
    #[error("need {needed} bytes at offset {offset}, have {have}")]
    Truncated {
        /// Where.
        offset: usize,
        /// Bytes wanted there.
        needed: usize,
        /// Bytes left there.
        have: usize,
    },
    /// A variable-length integer does not fit its type.
    #[error("integer too long at offset {offset}")]
    LongVarint {
        /// Where it starts.
        offset: usize,
    },
    /// A bit width above 32.
    #[error("bit width {found} at offset {offset}, at most 32 allowed")]
    BadBitWidth {
        /// Where.
        offset: usize,
        /// The width found.
        found: u8,
    },
    /// A value that its place does not allow.
    #[error("{what} at offset {offset}")]
    Invalid {
        /// Where.
        offset: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A checksum that differs.
    #[error("checksum {found:08x}, expected {expected:08x}")]
    Checksum {
        /// As written beside the bytes.
        expected: u32,
        /// Of the bytes.
        found: u32,
    },
    /// Bytes that whoever planned the reading did not ask for: a fault of ours, not of the bytes.
    #[error("bytes at offset {offset} were not read: a fault of the query planner, not of the index")]
    NotRead {
        /// Where, counted from where the whole starts.
        offset: u64,
    },
    /// A format of a newer or unknown version.
    #[error("{what} version {found}, at most {supported} can be read")]
    Version {
        /// Which format.
        what: &'static str,
        /// The version found.
        found: u16,
        /// The newest one known here.
        supported: u16,
    },
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        let kind = match error {
            DecodeError::Version { .. } => crate::error::ErrorKind::UnsupportedFormat,
            DecodeError::NotRead { .. } => crate::error::ErrorKind::InvalidArgument,
            _ => crate::error::ErrorKind::Corrupt,
        };
        Self::with_source(kind, "decoding", error)
    }
}
