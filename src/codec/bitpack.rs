//! FOR: 128 integers of one bit width, packed in four interleaved lanes of 32 bits.
//!
//! Value `i` lives in lane `i % 4`. A row of four words is one 128-bit vector, so that decoding is load, shift,
//! mask and store, without any dependency between steps, and two rows make one AVX2 vector. A block of width `b`
//! takes `16 * b` bytes. Writing is here, and reading without SIMD; [`super::Unpacker`] reads with it.
//!
//! ```text
//! word 4 * r + lane   holds bits of values  lane, lane + 4, lane + 8, …  from bit 32 * r of that lane's stream on
//! ```

#![forbid(unsafe_code)]

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
fn load_row(bytes: &[u8; 4 * LANES]) -> [u32; LANES] {
    let words = bytes.as_chunks::<4>().0;
    std::array::from_fn(|lane| u32::from_le_bytes(words[lane]))
}

/// The bytes of a block of `bits` bits, which `packed` starts with.
///
/// # Errors
/// If the width is above 32 or the bytes are too few.
#[inline]
pub(super) fn block(packed: &[u8], bits: u8) -> Result<&[u8], DecodeError> {
    if bits > 32 {
        return Err(DecodeError::BadBitWidth { offset: 0, found: bits });
    }
    let needed = packed_len(bits);
    packed.get(..needed).ok_or(DecodeError::Truncated { offset: 0, needed, have: packed.len() })
}

/// Unpacks a block of exactly that length: the scalar twin of the kernels in [`super::unpack`].
pub(super) fn unpack_block(packed: &[u8], bits: u8, values: &mut [u32; BLOCK_LEN]) {
    let bits = u32::from(bits);
    let mask = u32::MAX.checked_shr(32 - bits).unwrap_or(0);
    let mut rows = packed.as_chunks::<16>().0.iter().map(load_row);
    let mut row = rows.next().unwrap_or_default();
    // Bits of the row already given.
    let mut shift = 0;
    for slot in values.as_chunks_mut::<LANES>().0 {
        let mut out = row.map(|word| word >> shift);
        shift += bits;
        if shift >= 32 {
            shift -= 32;
            if let Some(next) = rows.next() {
                row = next;
                if shift > 0 {
                    for lane in 0..LANES {
                        out[lane] |= row[lane] << (bits - shift);
                    }
                }
            }
        }
        *slot = out.map(|value| value & mask);
    }
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
    use crate::codec::Unpacker;

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
            Unpacker::scalar().unpack(&packed, bits, &mut found).unwrap();
            assert_eq!(found, values, "fast, width {bits}");
            if bits > 0 {
                packed.pop();
                assert!(Unpacker::scalar().unpack(&packed, bits, &mut found).is_err());
            }
        }
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
