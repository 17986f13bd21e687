//! CRC32C (Castagnoli), the checksum of every part of the format.

#![forbid(unsafe_code)]

use super::{DecodeError, Reader, Write};

/// CRC32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

/// CRC32C of what `crc` covered followed by `bytes`.
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    ::crc32c::crc32c_append(crc, bytes)
}

/// Appends the checksum of everything in `out` from `start` on.
///
/// # Panics
/// If `start` lies beyond the end.
pub fn seal(out: &mut Vec<u8>, start: usize) {
    let crc = crc32c(&out[start..]);
    out.put_u32(crc);
}

/// Inverse of [`seal`]: the bytes in front of their checksum.
///
/// # Errors
/// If there is no room for a checksum, or it differs.
pub fn open(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let len = bytes.len().checked_sub(4).ok_or(DecodeError::Truncated { offset: 0, needed: 4, have: bytes.len() })?;
    let (content, tail) = bytes.split_at(len);
    let (expected, found) = (Reader::new(tail).u32()?, crc32c(content));
    if expected == found { Ok(content) } else { Err(DecodeError::Checksum { expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_check_value_of_castagnoli() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c_append(crc32c(b"1234"), b"56789"), 0xe306_9283);
    }

    #[test]
    fn one_flipped_bit_is_seen() {
        let mut sealed = b"metadata".to_vec();
        seal(&mut sealed, 0);
        assert_eq!(open(&sealed), Ok(&b"metadata"[..]));
        for bit in 0..sealed.len() * 8 {
            let mut damaged = sealed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&damaged).is_err(), "bit {bit}");
        }
        assert!(open(&sealed[..3]).is_err());
    }
}
