//! Group varint: four integers behind one tag byte, so that decoding has one branch per four values.
//!
//! The tag's two highest bits say how many bytes the first value takes, minus one; and so on down. A count
//! that is no multiple of four ends in plain VInts.

#![forbid(unsafe_code)]

use super::{DecodeError, Reader, Write};

/// Appends `values`.
pub fn write(out: &mut Vec<u8>, values: &[u32]) {
    let (groups, tail) = values.as_chunks::<4>();
    for group in groups {
        let lens = group.map(|value| (4 - value.leading_zeros() / 8).max(1) as usize);
        out.push(lens.iter().fold(0, |tag, len| tag << 2 | (len - 1) as u8));
        for (value, len) in group.iter().zip(lens) {
            out.put(&value.to_le_bytes()[..len]);
        }
    }
    tail.iter().for_each(|&value| out.put_vint(value));
}

/// Reads `values.len()` integers.
///
/// # Errors
/// If the bytes end, or an integer of the tail is too long.
pub fn read(reader: &mut Reader<'_>, values: &mut [u32]) -> Result<(), DecodeError> {
    let (groups, tail) = values.as_chunks_mut::<4>();
    for group in groups {
        let tag = reader.u8()?;
        let lens = [tag >> 6, tag >> 4 & 3, tag >> 2 & 3, tag & 3].map(|len| usize::from(len) + 1);
        // One check covers the group where 16 bytes are left; masks cut what belongs to the next value.
        if let Some(bytes) = reader.rest().first_chunk::<16>() {
            let mut at = 0;
            for (value, len) in group.iter_mut().zip(lens) {
                let word = [bytes[at & 15], bytes[(at + 1) & 15], bytes[(at + 2) & 15], bytes[(at + 3) & 15]];
                *value = u32::from_le_bytes(word) & (u32::MAX >> (32 - 8 * len));
                at += len;
            }
            reader.skip(at)?;
        } else {
            for (value, len) in group.iter_mut().zip(lens) {
                let mut word = [0; 4];
                word[..len].copy_from_slice(reader.bytes(len)?);
                *value = u32::from_le_bytes(word);
            }
        }
    }
    for value in tail {
        *value = reader.vint()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_golden_bytes() {
        let mut out = Vec::new();
        write(&mut out, &[1, 256, 70_000, 1 << 24]);
        assert_eq!(out, [0x1b, 0x01, 0x00, 0x01, 0x70, 0x11, 0x01, 0x00, 0x00, 0x00, 0x01]);
    }

    #[test]
    fn round_trips_every_length_and_width() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for len in 0..=130 {
            let values: Vec<u32> = (0..len).map(|_| random.u32(..) >> random.u32(0..32)).collect();
            let mut out = Vec::new();
            write(&mut out, &values);
            let mut found = vec![0; len];
            let mut reader = Reader::new(&out);
            read(&mut reader, &mut found).unwrap();
            assert_eq!(found, values);
            assert!(reader.is_empty());
            for cut in 0..out.len() {
                assert!(read(&mut Reader::new(&out[..cut]), &mut found).is_err(), "cut {cut} of {}", out.len());
            }
        }
    }
}
