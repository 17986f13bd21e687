//! Field lengths in one byte: exact up to 40 tokens, in steps of at most an eighth above (Lucene's `SmallFloat.byte4`).
//!
//! Byte order is length order, which impacts rely on. 0 means that the document does not have the field.

/// Lengths below this are their own byte.
const EXACT: u32 = 24;

/// The byte of a length in tokens.
pub fn encode(len: u32) -> u8 {
    if len < EXACT {
        return len as u8;
    }
    // Three bits behind the leading one, and how far they are shifted.
    let rest = len - EXACT;
    let bits = 32 - rest.leading_zeros();
    let code = if bits < 4 { rest } else { rest >> (bits - 4) & 7 | (bits - 3) << 3 };
    (EXACT + code).min(255) as u8
}

/// The largest length that does not pass what [`encode`] was given.
pub const fn decode(byte: u8) -> u32 {
    if (byte as u32) < EXACT {
        return byte as u32;
    }
    let code = byte as u32 - EXACT;
    let (mantissa, shift) = (code & 7, code >> 3);
    EXACT + if shift == 0 { mantissa } else { (mantissa | 8) << (shift - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_golden_values() {
        for (len, byte, decoded) in [
            (0, 0, 0),
            (23, 23, 23),
            (24, 24, 24),
            (39, 39, 39),
            (40, 40, 40),
            (41, 40, 40),
            (42, 41, 42),
            (100, 57, 96),
            (255, 70, 248),
            (1000, 87, 984),
            (10_000, 113, 9240),
            (100_000, 140, 98_328),
            (u32::MAX >> 1, 255, 2_013_265_944),
            (u32::MAX, 255, 2_013_265_944),
        ] {
            assert_eq!((encode(len), decode(byte)), (byte, decoded), "length {len}");
        }
    }

    #[test]
    fn order_is_kept() {
        let mut last = 0;
        for len in 0..200_000 {
            let byte = encode(len);
            assert!(byte >= last && decode(byte) <= len);
            last = byte;
        }
        assert!((0..255).all(|byte| decode(byte) < decode(byte + 1)));
    }
}
