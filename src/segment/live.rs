//! Live-documents overlay: which documents of a segment are not deleted. One small file per segment and
//! generation, written once.
//!
//! ```text
//!   offset  size  field
//!        0     8  magic
//!        8     4  format_version
//!       12    16  segment id
//!       28     8  overlay generation
//!       36     4  num_docs          bits that are set
//!       40     .  bit set           max_doc u32, then its words u64, bit 1 = live
//!       ..     4  crc32c of everything before
//! ```

use super::wire::{WireError, WireReader, in_file, seal};
use crate::{
    bitset::BitSet,
    error::{Error, ErrorKind, Result},
    ids::SegmentId,
};

const MAGIC: [u8; 8] = *b"RFLIV\r\n\x01";
const FORMAT_VERSION: u32 = 1;
const BITS_AT: usize = 40;

/// Name of the overlay file.
pub fn live_file_name(id: SegmentId, generation: u64) -> String {
    format!("{id}-{generation}.live")
}

/// Length of the overlay file of a segment with `max_doc` documents.
pub fn live_file_len(max_doc: u32) -> u64 {
    BITS_AT as u64 + 4 + 8 * u64::from(max_doc.div_ceil(64)) + 4
}

/// The bytes of an overlay file.
pub fn write_live(id: SegmentId, generation: u64, live: &BitSet) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    out.extend_from_slice(&id.0);
    out.extend_from_slice(&generation.to_le_bytes());
    out.extend_from_slice(&live.count().to_le_bytes());
    live.write(&mut out);
    seal(&mut out, 0);
    out
}

/// Parses an overlay file that must belong to `id` and `generation` and have `max_doc` documents.
///
/// # Errors
/// `corrupt`, also for another segment's overlay; `unsupported_format`.
pub fn parse_live(bytes: &[u8], id: SegmentId, generation: u64, max_doc: u32) -> Result<BitSet> {
    let name = live_file_name(id, generation);
    let mut reader = in_file(WireReader::sealed(bytes), &name)?;
    if in_file(reader.take(8), &name)? != MAGIC {
        return Err(Error::corrupt(name, WireError::Magic));
    }
    let version = in_file(reader.u32(), &name)?;
    if version != FORMAT_VERSION {
        let what = format!("{name} has format version {version}: open it with a newer version of rangefind");
        return Err(Error::new(ErrorKind::UnsupportedFormat, what));
    }
    let (found, found_generation, num_docs) = in_file((|| Ok((reader.id()?, reader.u64()?, reader.u32()?)))(), &name)?;
    if SegmentId(found) != id || found_generation != generation {
        let what = format!("{name} says it is {}", live_file_name(SegmentId(found), found_generation));
        return Err(Error::new(ErrorKind::Corrupt, what));
    }
    let live = BitSet::parse(in_file(reader.take(reader.left()), &name)?).map_err(|e| Error::corrupt(&*name, e))?;
    if live.len() != max_doc || live.count() != num_docs {
        let (len, count) = (live.len(), live.count());
        let what = format!("{name} has {count} of {len} bits, expected {num_docs} of {max_doc}");
        return Err(Error::new(ErrorKind::Corrupt, what));
    }
    Ok(live)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_round_trips_and_every_flipped_bit_is_corrupt() {
        let id = SegmentId([9; 16]);
        let mut live = BitSet::full(130);
        live.remove(7);
        let good = write_live(id, 4, &live);
        assert_eq!(good.len() as u64, live_file_len(130));
        assert_eq!(parse_live(&good, id, 4, 130).unwrap(), live);
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse_live(&bad, id, 4, 130).unwrap_err().kind(), ErrorKind::Corrupt, "bit {bit}");
        }
    }

    #[test]
    fn a_mixed_up_overlay_is_corrupt() {
        let bytes = write_live(SegmentId([9; 16]), 4, &BitSet::full(10));
        assert!(parse_live(&bytes, SegmentId([8; 16]), 4, 10).is_err());
        assert!(parse_live(&bytes, SegmentId([9; 16]), 5, 10).is_err());
        assert!(parse_live(&bytes, SegmentId([9; 16]), 4, 11).is_err());
    }
}
