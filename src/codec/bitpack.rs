//! FOR: 128 integers of one bit width, packed in four interleaved lanes of 32 bits.
//!
//! Value `i` lives in lane `i % 4`. A row of four words is one 128-bit vector, so that decoding is load, shift,
//! mask and store, without any dependency between steps: compilers turn the loops below into simd128, SSE or
//! NEON code as they stand, and two rows make one AVX2 vector. A block of width `b` takes `16 * b` bytes.
//!
//! ```text
//! word 4 * r + lane   holds bits of values  lane, lane + 4, lane + 8, …  from bit 32 * r of that lane's stream on
//! ```

use super::DecodeError;

/// Values in a block.
pub const BLOCK_LEN: usize = 128;
/// Interleaved bit streams in a block.
pub const LANES: usize = 4;

/// Bytes of a packed block.
#[inline]
pub const fn packed_len(bits: u8) -> usize {
    bits as usize * BLOCK_LEN / 8
}

/// Bits that the largest of `values` needs.
#[inline]
pub fn width(values: &[u32; BLOCK_LEN]) -> u8 {
    bits_of(values.iter().fold(0, |all, value| all | value))
}

/// Bits that `value` needs.
#[inline]
pub fn bits_of(value: u32) -> u8 {
    (32 - value.leading_zeros()) as u8
}

/// Appends the low `bits` bits of each value.
///
/// # Panics
/// If `bits` is above 32.
pub fn pack(values: &[u32; BLOCK_LEN], bits: u8, out: &mut Vec<u8>) {
    assert!(bits <= 32, "bit width {bits}");
    let bits = u32::from(bits);
    let mask = if bits == 32 { u32::MAX } else { (1 << bits) - 1 };
    let mut row = [0u32; LANES];
    let mut filled = 0;
    for values in values.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            row[lane] |= (values[lane] & mask) << filled;
        }
        filled += bits;
        if filled >= 32 {
            row.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
            filled -= 32;
            for lane in 0..LANES {
                row[lane] = if filled == 0 { 0 } else { (values[lane] & mask) >> (bits - filled) };
            }
        }
    }
}

#[inline(always)]
fn load_row(packed: &[u8], row: usize) -> [u32; LANES] {
    let bytes: &[u8; 16] = packed[16 * row..16 * row + 16].first_chunk().expect("16 bytes");
    std::array::from_fn(|lane| {
        u32::from_le_bytes([bytes[4 * lane], bytes[4 * lane + 1], bytes[4 * lane + 2], bytes[4 * lane + 3]])
    })
}

/// Unpacks a block of constant width; the compiler unrolls it to straight-line vector code.
#[inline(always)]
fn unpack_const<const BITS: usize>(packed: &[u8], values: &mut [u32; BLOCK_LEN]) {
    let packed = &packed[..16 * BITS];
    let mask = if BITS == 32 { u32::MAX } else { (1u32 << BITS) - 1 };
    let values = values.as_chunks_mut::<LANES>().0;
    for (row, slot) in values.iter_mut().enumerate() {
        let bit = row * BITS;
        let (word, shift) = (bit / 32, bit % 32);
        let low = load_row(packed, word);
        let mut out = low.map(|word| word >> shift);
        if shift + BITS > 32 {
            let high = load_row(packed, word + 1);
            for lane in 0..LANES {
                out[lane] |= high[lane] << (32 - shift);
            }
        }
        *slot = out.map(|value| value & mask);
    }
}

macro_rules! unpack_widths {
    ($bits:expr, $packed:expr, $values:expr, $($width:literal)*) => {
        match $bits {
            0 => $values.fill(0),
            $($width => unpack_const::<$width>($packed, $values),)*
            _ => unreachable!("checked above"),
        }
    };
}

/// Unpacks a block; `packed` may be longer than the block.
///
/// # Errors
/// If the width is above 32 or the bytes are too few.
#[inline]
pub fn unpack(packed: &[u8], bits: u8, values: &mut [u32; BLOCK_LEN]) -> Result<(), DecodeError> {
    if bits > 32 {
        return Err(DecodeError::BadBitWidth { offset: 0, found: bits });
    }
    let needed = packed_len(bits);
    if packed.len() < needed {
        return Err(DecodeError::Truncated { offset: 0, needed, have: packed.len() });
    }
    unpack_widths!(bits, packed, values, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
    Ok(())
}

/// Turns gaps minus one into strictly ascending numbers: `out[i] = base + (i + 1) + gaps[0] + … + gaps[i]`, modulo 2^32.
#[inline]
pub fn prefix_sum(base: u32, values: &mut [u32; BLOCK_LEN]) {
    let mut carry = base;
    for row in values.as_chunks_mut::<LANES>().0 {
        let first = row[0].wrapping_add(1);
        let second = row[1].wrapping_add(1);
        let third = row[2].wrapping_add(1);
        let fourth = row[3].wrapping_add(1);
        let (low, high) = (first.wrapping_add(second), third.wrapping_add(fourth));
        *row = [
            carry.wrapping_add(first),
            carry.wrapping_add(low),
            carry.wrapping_add(low.wrapping_add(third)),
            carry.wrapping_add(low.wrapping_add(high)),
        ];
        carry = row[3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit, as the layout is written down.
    fn unpack_slowly(packed: &[u8], bits: u8) -> Vec<u32> {
        (0..BLOCK_LEN)
            .map(|ix| {
                (0..usize::from(bits)).fold(0, |value, bit| {
                    let position = ix / LANES * usize::from(bits) + bit;
                    let byte = 16 * (position / 32) + 4 * (ix % LANES) + position % 32 / 8;
                    value | u32::from(packed[byte] >> (position % 8) & 1) << bit
                })
            })
            .collect()
    }

    #[test]
    fn agrees_with_the_slow_reader_at_every_width() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for bits in 0..=32u8 {
            let mask = u32::MAX.checked_shr(32 - u32::from(bits)).unwrap_or(0);
            let values: [u32; BLOCK_LEN] = std::array::from_fn(|_| random.u32(..) & mask);
            let mut packed = Vec::new();
            pack(&values, bits, &mut packed);
            assert_eq!(packed.len(), packed_len(bits));
            assert_eq!(unpack_slowly(&packed, bits), values, "slow, width {bits}");
            let mut found = [1; BLOCK_LEN];
            unpack(&packed, bits, &mut found).unwrap();
            assert_eq!(found, values, "fast, width {bits}");
            if bits > 0 {
                packed.pop();
                assert!(unpack(&packed, bits, &mut found).is_err());
            }
        }
        assert!(unpack(&[0; 1000], 33, &mut [0; BLOCK_LEN]).is_err());
    }

    #[test]
    fn layout_is_stable() {
        let values: [u32; BLOCK_LEN] = std::array::from_fn(|ix| ix as u32);
        let mut packed = Vec::new();
        pack(&values, 7, &mut packed);
        // First row: lane 0 holds 0, 4, 8, 12 and the four low bits of 16, which are zero.
        let lane: u32 = 4 << 7 | 8 << 14 | 12 << 21;
        assert_eq!(packed[..4], lane.to_le_bytes());
        assert_eq!(super::super::checksum::crc32c(&packed), 0x9cd9_66d6);
    }

    #[test]
    fn prefix_sum_agrees_with_a_loop() {
        let mut random = fastrand::Rng::with_seed(7);
        for base in [0, 5, u32::MAX] {
            let mut values: [u32; BLOCK_LEN] = std::array::from_fn(|_| random.u32(0..1000));
            let mut last = base;
            let expected = values.map(|gap| {
                last = last.wrapping_add(gap).wrapping_add(1);
                last
            });
            prefix_sum(base, &mut values);
            assert_eq!(values, expected);
        }
    }
}
