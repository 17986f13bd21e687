//! Bit packing of unsigned numbers at any width 0–64, lowest bit first, no padding between them.

#![forbid(unsafe_code)]

/// Bits that hold `value`.
pub(crate) fn width_of(value: u64) -> u8 {
    (64 - value.leading_zeros()) as u8
}

/// Bytes of `count` numbers of `width` bits.
pub(crate) fn packed_len(count: usize, width: u8) -> usize {
    (count as u64 * u64::from(width)).div_ceil(8) as usize
}

/// Appends `values`, each below 2^`width`.
pub(crate) fn pack(values: impl IntoIterator<Item = u64>, width: u8, out: &mut Vec<u8>) {
    let (mut pending, mut bits) = (0u128, 0u32);
    for value in values {
        debug_assert!(width == 64 || value >> width == 0, "{value} in {width} bits");
        pending |= u128::from(value) << bits;
        bits += u32::from(width);
        while bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(pending as u8);
    }
}

/// Reads `count` numbers; `None` if there are too few bytes or the width is above 64.
pub(crate) fn unpack(bytes: &[u8], width: u8, count: usize) -> Option<Vec<u64>> {
    if width > 64 || bytes.len() < packed_len(count, width) {
        return None;
    }
    if width == 0 {
        return Some(vec![0; count]);
    }
    let mask = u64::MAX >> (64 - width);
    let width = usize::from(width);
    let mut values = Vec::with_capacity(count);
    for ix in 0..count {
        let bit = ix * width;
        let (byte, shift) = (bit / 8, bit % 8);
        // One unaligned load where the number lies within 8 bytes of the buffer.
        let value = match bytes.get(byte..byte + 8).and_then(|word| word.first_chunk()) {
            Some(word) if shift + width <= 64 => u64::from_le_bytes(*word) >> shift,
            _ => slow(bytes, byte, shift),
        };
        values.push(value & mask);
    }
    Some(values)
}

/// Number `ix` of those packed in `bytes`; bits beyond the end are zero. `width` is at most 64.
#[inline]
pub(crate) fn packed_at(bytes: &[u8], width: u8, ix: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let bit = ix * usize::from(width);
    let (byte, shift) = (bit / 8, bit % 8);
    let value = match bytes.get(byte..byte + 8).and_then(|word| word.first_chunk()) {
        Some(word) if shift + usize::from(width) <= 64 => u64::from_le_bytes(*word) >> shift,
        _ => slow(bytes, byte, shift),
    };
    value & (u64::MAX >> (64 - width))
}

/// Up to 64 bits from bit `shift` of byte `byte` on, zero beyond the end.
fn slow(bytes: &[u8], byte: usize, shift: usize) -> u64 {
    let mut wide = 0u128;
    for (ix, &part) in bytes.get(byte..).unwrap_or_default().iter().take(9).enumerate() {
        wide |= u128::from(part) << (8 * ix);
    }
    (wide >> shift) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_round_trips() {
        let mut rng = fastrand::Rng::with_seed(1);
        for width in 0..=64u8 {
            for count in [0, 1, 2, 7, 64, 100] {
                let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
                let values: Vec<u64> = (0..count).map(|_| rng.u64(..) & mask).collect();
                let mut bytes = Vec::new();
                pack(values.iter().copied(), width, &mut bytes);
                assert_eq!(bytes.len(), packed_len(count, width));
                assert!(values.iter().enumerate().all(|(ix, &value)| packed_at(&bytes, width, ix) == value));
                assert_eq!(unpack(&bytes, width, count), Some(values), "width {width}, count {count}");
                if !bytes.is_empty() {
                    assert_eq!(unpack(&bytes[1..], width, count), None);
                }
            }
        }
        assert_eq!(unpack(&[0; 100], 65, 1), None);
    }
}
