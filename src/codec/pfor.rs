//! PFOR: a FOR block whose few largest values are patched, so that they do not widen the rest.
//!
//! ```text
//! u8   exceptions << 5 | bits      bits 0–31 and at most 7 exceptions; width 32 is written as bits 0, exceptions 7
//!      packed low bits             16 * bits bytes
//!      exceptions × (u8 index, u8 high bits)
//! ```
//! With `bits` 0 the low parts are all one VInt, which stands in place of the packed bits. The width is the smallest
//! with at most seven values needing more, never more than eight bits below the largest.

#![forbid(unsafe_code)]

use super::{
    DecodeError, Reader, Unpacker, Write,
    bitpack::{self, BLOCK_LEN},
};

const MAX_EXCEPTIONS: usize = 7;
/// Marks a full-width block: no block of equal values has exceptions on all seven places and a width of 0 with it.
const FULL_WIDTH: u8 = 0xff;

/// Appends a block.
pub fn write(values: &[u32; BLOCK_LEN], out: &mut Vec<u8>) {
    let mut counts = [0usize; 33];
    values.iter().for_each(|&value| counts[usize::from(bitpack::bits_of(value))] += 1);
    let max_bits = counts.iter().rposition(|&count| count > 0).unwrap_or(0) as u8;
    let floor = max_bits.saturating_sub(8);
    let (mut bits, mut above) = (max_bits, 0);
    while bits > floor && above + counts[usize::from(bits)] <= MAX_EXCEPTIONS {
        above += counts[usize::from(bits)];
        bits -= 1;
    }
    // Width 32, and width 31 with seven exceptions (its header would be the mark), are written in full.
    if bits == 32 || (bits == 31 && above == MAX_EXCEPTIONS) {
        out.push(FULL_WIDTH);
        bitpack::pack(values, 32, out);
        return;
    }
    let mask = if bits == 0 { 0 } else { u32::MAX >> (32 - bits) };
    let low = values[0] & mask;
    let flat = max_bits <= 8 && values.iter().all(|value| value & mask == low);
    out.push((above as u8) << 5 | if flat { 0 } else { bits });
    if flat {
        // The low width is needed to place the high bits: it is put beside the value.
        out.put_vint(low);
        if above > 0 {
            out.push(bits);
        }
    } else {
        bitpack::pack(values, bits, out);
    }
    if above > 0 {
        for (ix, &value) in values.iter().enumerate().filter(|(_, value)| **value > mask) {
            out.push(ix as u8);
            out.push((value >> bits) as u8);
        }
    }
}

/// Reads a block.
///
/// # Errors
/// If the bytes end or are no such block.
#[inline]
pub fn read(unpacker: Unpacker, reader: &mut Reader<'_>, values: &mut [u32; BLOCK_LEN]) -> Result<(), DecodeError> {
    let header = reader.u8()?;
    if header == FULL_WIDTH {
        let packed = reader.bytes(bitpack::packed_len(32))?;
        return unpacker.unpack(packed, 32, values);
    }
    let (exceptions, mut bits) = (header >> 5, header & 31);
    if bits == 0 {
        values.fill(reader.vint()?);
        if exceptions > 0 {
            bits = reader.u8()?;
            if bits > 31 {
                return Err(reader.invalid("width of a flat block above 31"));
            }
        }
    } else {
        unpacker.unpack(reader.bytes(bitpack::packed_len(bits))?, bits, values)?;
    }
    for pair in reader.bytes(usize::from(exceptions) * 2)?.as_chunks::<2>().0 {
        let Some(value) = values.get_mut(usize::from(pair[0])) else {
            return Err(reader.invalid("exception beyond the block"));
        };
        *value |= u32::from(pair[1]) << bits;
    }
    Ok(())
}

/// Passes over a block without decoding it.
///
/// # Errors
/// If the bytes end.
#[inline]
pub fn skip(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    let header = reader.u8()?;
    if header == FULL_WIDTH {
        return reader.skip(bitpack::packed_len(32));
    }
    let (exceptions, bits) = (header >> 5, header & 31);
    if bits == 0 {
        reader.vint()?;
        reader.skip(usize::from(exceptions > 0))?;
    } else {
        reader.skip(bitpack::packed_len(bits))?;
    }
    reader.skip(usize::from(exceptions) * 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[u32; BLOCK_LEN]) -> usize {
        let mut out = Vec::new();
        write(values, &mut out);
        let (mut found, mut reader) = ([7; BLOCK_LEN], Reader::new(&out));
        read(Unpacker::detect(), &mut reader, &mut found).unwrap();
        assert_eq!(&found, values);
        assert!(reader.is_empty());
        let mut reader = Reader::new(&out);
        skip(&mut reader).unwrap();
        assert!(reader.is_empty());
        for cut in 0..out.len() {
            assert!(read(Unpacker::detect(), &mut Reader::new(&out[..cut]), &mut found).is_err(), "cut {cut}");
        }
        out.len()
    }

    #[test]
    fn equal_values_take_two_bytes() {
        assert_eq!(check(&[1; BLOCK_LEN]), 2);
        assert_eq!(check(&[0; BLOCK_LEN]), 2);
    }

    #[test]
    fn few_large_values_do_not_widen_the_rest() {
        let mut values: [u32; BLOCK_LEN] = std::array::from_fn(|ix| ix as u32 % 4);
        for ix in 0..7 {
            values[ix * 11] = 500;
        }
        assert_eq!(check(&values), 1 + 32 + 14);
        values[127] = 500;
        assert_eq!(check(&values), 1 + 9 * 16, "an eighth one does");
    }

    #[test]
    fn round_trips_skewed_blocks() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for round in 0..5_000 {
            let (common, rare) = (round % 33, random.u32(0..=32));
            let share = random.u32(0..20);
            let values: [u32; BLOCK_LEN] = std::array::from_fn(|_| {
                let bits = if random.u32(0..128) < share { rare } else { common };
                (u64::from(random.u32(..)) & ((1u64 << bits) - 1)) as u32
            });
            check(&values);
        }
        for bits in 1..=32 {
            for count in 0..=9 {
                let mut values = [5u32; BLOCK_LEN];
                values[..count].fill(u32::MAX >> (32 - bits));
                check(&values);
            }
        }
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..random.usize(0..80)).map(|_| random.u8(..)).collect();
            let _ = read(Unpacker::detect(), &mut Reader::new(&bytes), &mut [0; BLOCK_LEN]);
            let _ = skip(&mut Reader::new(&bytes));
        }
    }
}
