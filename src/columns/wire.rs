//! Numbers of metadata: variable-length integers and fixed ones, read with bounds.

#![forbid(unsafe_code)]

use super::ColumnError;
use crate::codec;

/// Takes numbers off the front of bytes and knows where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, len: bytes.len() }
    }

    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The error of these bytes as metadata.
    pub fn bad(&self, what: &'static str) -> ColumnError {
        ColumnError::BadMeta { what, offset: self.len - self.rest.len() }
    }

    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(part)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    pub fn varint(&mut self) -> Option<u64> {
        let mut reader = codec::Reader::new(self.rest);
        let value = reader.vlong().ok()?;
        self.rest = reader.rest();
        Some(value)
    }

    pub fn varint_u32(&mut self) -> Option<u32> {
        self.varint()?.try_into().ok()
    }

    pub fn blob(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.varint()?).ok()?;
        self.take(len)
    }
}
