//! Ids that an index hides in its base: looked up in segments that the base gets later.
//!
//! ```text
//!   offset  size  field
//!        0     8  magic
//!        8     4  format_version
//!       12     4  count            each: id term (blob: length u32, bytes)
//!       ..     4  crc32c of everything before
//! ```

use crate::{
    error::{Error, ErrorKind, Result},
    segment::wire::{WireError, WireReader, in_file, put_blob, seal},
};

const MAGIC: [u8; 8] = *b"RFIDS\r\n\x01";
const FORMAT_VERSION: u32 = 1;

/// The bytes of the file that lists `terms`, sorted id terms.
pub fn write<'a>(terms: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    out.extend_from_slice(&(terms.len() as u32).to_le_bytes());
    terms.for_each(|term| put_blob(&mut out, term));
    seal(&mut out, 0);
    out
}

/// Parses what [`write`] wrote: sorted id terms.
///
/// # Errors
/// `corrupt`, `unsupported_format`.
pub fn parse(bytes: &[u8], name: &str) -> Result<Vec<Vec<u8>>> {
    let mut reader = in_file(WireReader::sealed(bytes), name)?;
    if in_file(reader.take(8), name)? != MAGIC {
        return Err(Error::corrupt(name, WireError::Magic));
    }
    let version = in_file(reader.u32(), name)?;
    if version != FORMAT_VERSION {
        let what = format!("{name} has format version {version}: open it with a newer version of rangefind");
        return Err(Error::new(ErrorKind::UnsupportedFormat, what));
    }
    let count = in_file(reader.count(4), name)?;
    let terms = (0..count).map(|_| in_file(reader.blob(), name).map(<[u8]>::to_vec)).collect::<Result<Vec<_>>>()?;
    if terms.windows(2).all(|pair| pair[0] < pair[1]) {
        Ok(terms)
    } else {
        Err(Error::new(ErrorKind::Corrupt, format!("{name}: ids are not ascending")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_and_disorder_is_corrupt() {
        let terms: [&[u8]; 3] = [b"i1", b"sa", b"sb"];
        let bytes = write(terms.into_iter());
        assert_eq!(parse(&bytes, "x").unwrap(), terms.map(<[u8]>::to_vec));
        assert!(parse(&bytes[..bytes.len() - 1], "x").is_err());
        assert!(parse(&write([terms[1], terms[0]].into_iter()), "x").is_err());
    }
}
