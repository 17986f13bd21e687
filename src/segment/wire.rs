//! Reads and writes the fixed little-endian records of segment and commit files. Reading never panics:
//! every field that is not there is a [`WireError`].

use thiserror::Error;

use crate::error::{Error, Result};

/// Why a record could not be read. Offsets are bytes from the start of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// The record ends too early.
    #[error("need {needed} bytes at offset {offset}, have {have}")]
    Truncated {
        /// Where.
        offset: usize,
        /// Bytes wanted.
        needed: usize,
        /// Bytes there are.
        have: usize,
    },
    /// The checksum is another one.
    #[error("checksum {found:08x} where {expected:08x} was computed")]
    Checksum {
        /// Over the bytes.
        expected: u32,
        /// Recorded.
        found: u32,
    },
    /// The first bytes are not the file type's.
    #[error("not the magic number of this file type")]
    Magic,
    /// A field has a value that cannot be.
    #[error("{what} at offset {offset} is {found}")]
    Value {
        /// Name of the field.
        what: &'static str,
        /// Where.
        offset: usize,
        /// What it says.
        found: u64,
    },
}

/// Takes fields off the front of a record.
#[derive(Debug, Clone)]
pub struct WireReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> WireReader<'a> {
    /// Starts at the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Checks that the last four bytes are the CRC32C of the rest, and starts at the front of the rest.
    pub fn sealed(bytes: &'a [u8]) -> Result<Self, WireError> {
        let too_short = WireError::Truncated { offset: 0, needed: 4, have: bytes.len() };
        let (body, seal) = bytes.split_last_chunk::<4>().ok_or(too_short)?;
        let (expected, found) = (crc32c::crc32c(body), u32::from_le_bytes(*seal));
        if expected == found { Ok(Self::new(body)) } else { Err(WireError::Checksum { expected, found }) }
    }

    /// Offset of the next field.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Bytes not yet taken.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let truncated = WireError::Truncated { offset: self.at, needed: len, have: self.left() };
        let end = end.ok_or(truncated)?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        Ok(self.take(N)?.try_into().expect("take gives as many bytes as asked"))
    }

    /// A `u8`.
    pub fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.array::<1>()?[0])
    }

    /// A `u16`.
    pub fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_le_bytes)
    }

    /// A `u32`.
    pub fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_le_bytes)
    }

    /// A `u64`.
    pub fn u64(&mut self) -> Result<u64, WireError> {
        self.array().map(u64::from_le_bytes)
    }

    /// Sixteen bytes.
    pub fn id(&mut self) -> Result<[u8; 16], WireError> {
        self.array()
    }

    /// Bytes with their length (u32) in front.
    pub fn blob(&mut self) -> Result<&'a [u8], WireError> {
        let len = self.u32()?;
        self.take(len as usize)
    }

    /// UTF-8 with its length (u32) in front.
    pub fn text(&mut self) -> Result<&'a str, WireError> {
        let offset = self.at;
        let bytes = self.blob()?;
        std::str::from_utf8(bytes).map_err(|error| WireError::Value {
            what: "first byte that is no UTF-8",
            offset,
            found: error.valid_up_to() as u64,
        })
    }

    /// A count of records of at least `record_len` bytes each: refused if they cannot be there, so that a
    /// damaged count never makes a large allocation.
    pub fn count(&mut self, record_len: usize) -> Result<usize, WireError> {
        let offset = self.at;
        let count = self.u32()? as usize;
        if count.checked_mul(record_len).is_some_and(|len| len <= self.left()) {
            Ok(count)
        } else {
            Err(WireError::Value { what: "count", offset, found: count as u64 })
        }
    }
}

/// Appends `bytes` with their length in front; [`WireReader::blob`] reads them.
pub fn put_blob(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).expect("blobs of commits and tables are far below 4 GiB");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Appends the CRC32C of everything from `start` on; [`WireReader::sealed`] checks it.
pub fn seal(out: &mut Vec<u8>, start: usize) {
    let crc = crc32c::crc32c(&out[start..]);
    out.extend_from_slice(&crc.to_le_bytes());
}

/// Gives a [`WireError`] the name of the file it was found in.
pub fn in_file<T>(result: Result<T, WireError>, what: &str) -> Result<T> {
    result.map_err(|error| Error::corrupt(what, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_finds_every_flipped_bit() {
        let mut bytes = b"some record".to_vec();
        seal(&mut bytes, 0);
        assert!(WireReader::sealed(&bytes).is_ok());
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(WireReader::sealed(&bytes).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(WireReader::sealed(b"abc").is_err());
    }

    #[test]
    fn a_count_beyond_the_record_is_refused() {
        let bytes = [255, 255, 255, 255, 0, 0];
        assert!(matches!(WireReader::new(&bytes).count(32), Err(WireError::Value { what: "count", .. })));
    }

    #[test]
    fn a_short_record_is_truncated() {
        let mut reader = WireReader::new(&[1, 0, 0]);
        assert_eq!(reader.u16(), Ok(1));
        assert_eq!(reader.u32(), Err(WireError::Truncated { offset: 2, needed: 4, have: 1 }));
        assert_eq!(reader.u8(), Ok(0));
    }
}
