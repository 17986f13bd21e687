//! Checked little-endian reading.

#![forbid(unsafe_code)]

use super::DecodeError;

/// A cursor over bytes from outside. Every method either returns a value and moves on, or fails and leaves
/// the cursor where the value would have started or inside it; it never reads past the end and never panics.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Starts at `offset`; at the end if that lies beyond it.
    pub fn at(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, at: offset.min(bytes.len()) }
    }

    /// Bytes read so far.
    #[inline]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Bytes left.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Whether nothing is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// What is left, without moving.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Everything it reads from, from the front.
    #[inline]
    pub fn all(&self) -> &'a [u8] {
        self.bytes
    }

    /// An error about this place.
    #[cold]
    pub fn invalid(&self, what: &'static str) -> DecodeError {
        DecodeError::Invalid { offset: self.at, what }
    }

    #[cold]
    fn truncated(&self, needed: usize) -> DecodeError {
        DecodeError::Truncated { offset: self.at, needed, have: self.remaining() }
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(len).filter(|&end| end <= self.bytes.len());
        let Some(end) = end else { return Err(self.truncated(len)) };
        let bytes = &self.bytes[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    /// Passes over `len` bytes.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn skip(&mut self, len: usize) -> Result<(), DecodeError> {
        self.bytes(len).map(|_| ())
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        match self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<N>) {
            Some(&chunk) => {
                self.at += N;
                Ok(chunk)
            }
            None => Err(self.truncated(N)),
        }
    }

    /// One byte.
    ///
    /// # Errors
    /// At the end.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        match self.bytes.get(self.at) {
            Some(&byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => Err(self.truncated(1)),
        }
    }

    /// Two bytes.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    /// Four bytes as a float; any bit pattern.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn f32(&mut self) -> Result<f32, DecodeError> {
        self.array().map(f32::from_le_bytes)
    }

    /// Eight bytes as a float; any bit pattern.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn f64(&mut self) -> Result<f64, DecodeError> {
        self.array().map(f64::from_le_bytes)
    }

    /// Variable-length integer: 7 bits a byte, low ones first, top bit set while more follow.
    ///
    /// # Errors
    /// If the bytes end, or the value passes 32 bits.
    #[inline]
    pub fn vint(&mut self) -> Result<u32, DecodeError> {
        let start = self.at;
        let first = self.u8()?;
        if first < 0x80 {
            return Ok(u32::from(first));
        }
        let mut value = u32::from(first & 0x7f);
        for shift in [7, 14, 21, 28] {
            let byte = self.u8()?;
            if shift == 28 && byte > 0x0f {
                break;
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::LongVarint { offset: start })
    }

    /// The same up to 64 bits.
    ///
    /// # Errors
    /// If the bytes end, or the value passes 64 bits.
    #[inline]
    pub fn vlong(&mut self) -> Result<u64, DecodeError> {
        let start = self.at;
        let first = self.u8()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut value = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::LongVarint { offset: start })
    }

    /// Signed integer, zig-zag coded.
    ///
    /// # Errors
    /// As [`Self::vlong`].
    #[inline]
    pub fn zigzag(&mut self) -> Result<i64, DecodeError> {
        self.vlong().map(|value| (value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Integer whose common case takes exactly two bytes: 16 bits, and if the top one is set, the low 15 with
    /// the rest in a VLong behind.
    ///
    /// # Errors
    /// If the bytes end, or the value passes 64 bits.
    #[inline]
    pub fn vlong15(&mut self) -> Result<u64, DecodeError> {
        let low = u64::from(self.u16()?);
        if low < 0x8000 {
            return Ok(low);
        }
        let start = self.at;
        let high = self.vlong()?;
        if high >> 49 != 0 {
            return Err(DecodeError::LongVarint { offset: start });
        }
        Ok(low & 0x7fff | high << 15)
    }

    /// [`Self::vlong15`] that fits 32 bits.
    ///
    /// # Errors
    /// If the bytes end, or the value passes 32 bits.
    #[inline]
    pub fn vint15(&mut self) -> Result<u32, DecodeError> {
        let start = self.at;
        u32::try_from(self.vlong15()?).map_err(|_| DecodeError::LongVarint { offset: start })
    }

    /// Bytes behind their length (VInt).
    ///
    /// # Errors
    /// If the length says more than there is.
    #[inline]
    pub fn prefixed(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.vint()? as usize;
        self.bytes(len)
    }

    /// UTF-8 text behind its length (VInt).
    ///
    /// # Errors
    /// If the length says more than there is, or the bytes are no UTF-8.
    pub fn text(&mut self) -> Result<&'a str, DecodeError> {
        let offset = self.at;
        std::str::from_utf8(self.prefixed()?).map_err(|_| DecodeError::Invalid { offset, what: "text is not UTF-8" })
    }
}
