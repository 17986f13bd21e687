//! Little-endian writing, the mirror of [`super::Reader`].

#![forbid(unsafe_code)]

/// Appends values to a growing buffer.
pub trait Write {
    /// Appends bytes as they are.
    fn put(&mut self, bytes: &[u8]);

    /// Appends one byte.
    #[inline]
    fn put_u8(&mut self, value: u8) {
        self.put(&[value]);
    }

    /// Appends two bytes.
    #[inline]
    fn put_u16(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }

    /// Appends four bytes.
    #[inline]
    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    /// Appends eight bytes.
    #[inline]
    fn put_u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a float as four bytes.
    #[inline]
    fn put_f32(&mut self, value: f32) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a float as eight bytes.
    #[inline]
    fn put_f64(&mut self, value: f64) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a variable-length integer, 1–5 bytes.
    #[inline]
    fn put_vint(&mut self, value: u32) {
        self.put_vlong(u64::from(value));
    }

    /// Appends a variable-length integer, 1–10 bytes.
    #[inline]
    fn put_vlong(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.put_u8(value as u8);
    }

    /// Appends a signed integer, zig-zag coded: small magnitudes are short.
    #[inline]
    fn put_zigzag(&mut self, value: i64) {
        self.put_vlong((value << 1 ^ value >> 63) as u64);
    }

    /// Appends an integer that takes two bytes below 32,768.
    #[inline]
    fn put_vlong15(&mut self, value: u64) {
        if value < 0x8000 {
            self.put_u16(value as u16);
        } else {
            self.put_u16(value as u16 | 0x8000);
            self.put_vlong(value >> 15);
        }
    }

    /// Appends bytes behind their length (VInt).
    ///
    /// # Panics
    /// If the length passes 32 bits.
    #[inline]
    fn put_prefixed(&mut self, bytes: &[u8]) {
        self.put_vint(u32::try_from(bytes.len()).expect("a prefixed value is shorter than 4 GiB"));
        self.put(bytes);
    }
}

impl Write for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn put_u8(&mut self, value: u8) {
        self.push(value);
    }
}

#[cfg(test)]
mod tests {
    use crate::codec::{DecodeError, Reader, Write};

    #[test]
    fn vint15_matches_golden_bytes() {
        for (value, bytes) in [(300, "2c01"), (32_767, "ff7f"), (100_000, "a08603")] {
            let mut out = Vec::new();
            out.put_vlong15(value);
            let hex: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, bytes);
            assert_eq!(Reader::new(&out).vlong15(), Ok(value));
        }
    }

    #[test]
    fn every_width_round_trips() {
        for bits in 0..=64u32 {
            let top = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
            for value in [top, top.saturating_sub(1), top / 2 + 1] {
                let mut out = Vec::new();
                out.put_vlong(value);
                out.put_vlong15(value);
                out.put_zigzag(value as i64);
                out.put_zigzag((value as i64).wrapping_neg());
                out.put_vint(value as u32);
                let mut reader = Reader::new(&out);
                assert_eq!(reader.vlong(), Ok(value));
                assert_eq!(reader.vlong15(), Ok(value));
                assert_eq!(reader.zigzag(), Ok(value as i64));
                assert_eq!(reader.zigzag(), Ok((value as i64).wrapping_neg()));
                assert_eq!(reader.vint(), Ok(value as u32));
                assert!(reader.is_empty());
            }
        }
    }

    #[test]
    fn rejects_what_does_not_fit() {
        let long = [0xff, 0xff, 0xff, 0xff, 0x1f];
        assert_eq!(Reader::new(&long).vint(), Err(DecodeError::LongVarint { offset: 0 }));
        assert_eq!(Reader::new(&[0xff; 11]).vlong(), Err(DecodeError::LongVarint { offset: 0 }));
        assert_eq!(Reader::new(&[0x80]).vint(), Err(DecodeError::Truncated { offset: 1, needed: 1, have: 0 }));
        assert!(Reader::new(&[9, 1]).prefixed().is_err());
        assert!(Reader::new(&[1, 0xff]).text().is_err());
    }

    #[test]
    fn random_bytes_never_panic() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..random.usize(0..24)).map(|_| random.u8(..)).collect();
            let mut reader = Reader::new(&bytes);
            while !reader.is_empty() {
                let failed = match random.u8(0..8) {
                    0 => reader.vint().is_err(),
                    1 => reader.vlong().is_err(),
                    2 => reader.vlong15().is_err(),
                    3 => reader.zigzag().is_err(),
                    4 => reader.prefixed().is_err(),
                    5 => reader.text().is_err(),
                    6 => reader.u64().is_err(),
                    _ => reader.vint15().is_err(),
                };
                if failed {
                    break;
                }
            }
        }
    }
}
