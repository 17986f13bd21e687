//! One stored row: its components as little-endian f32, then the CRC32C of those bytes.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{error::VectorFormatError, plan::RowWindow};

/// Number of a vector inside one field of one segment, `0..count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VectorOrd(pub u32);

/// Bytes of the checksum behind a row.
pub(super) const CHECKSUM_BYTES: usize = 4;

/// Bytes from one row to the next: components and checksum.
pub const fn row_bytes(dims: u32) -> usize {
    dims as usize * 4 + CHECKSUM_BYTES
}

/// Which rows of a read are checked against their checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// All that are used: the bytes were just fetched.
    All,
    /// Those this reader has not yet seen intact: the bytes come from memory. Checking costs ten times a scan
    /// where no instruction computes CRC32C (wasm), so bytes that stayed in memory are not checked again.
    Unseen,
}

/// Appends one row.
pub(super) fn append(out: &mut Vec<u8>, vector: &[f32]) {
    let start = out.len();
    out.extend_from_slice(bytemuck::cast_slice(vector));
    let checksum = crc32c::crc32c(&out[start..]);
    out.extend_from_slice(&checksum.to_le_bytes());
}

/// The components of a row of [`row_bytes`], if its checksum is right.
pub(super) fn verified(row: &[u8], ord: u32) -> Result<&[u8], VectorFormatError> {
    let (components, checksum) = row.split_last_chunk::<CHECKSUM_BYTES>().expect("a row is longer than its checksum");
    let (found, expected) = (crc32c::crc32c(components), u32::from_le_bytes(*checksum));
    if found == expected {
        Ok(components)
    } else {
        Err(VectorFormatError::RowChecksum { ord, offset: u64::from(ord) * row.len() as u64, found, expected })
    }
}

/// Which rows were seen intact. Shared by all scans of a reader.
#[derive(Debug)]
pub(super) struct SeenRows(Vec<AtomicU64>);

impl SeenRows {
    pub(super) fn new(count: u32) -> Self {
        Self((0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn contains(&self, ord: u32) -> bool {
        self.0[ord as usize / 64].load(Ordering::Relaxed) >> (ord % 64) & 1 == 1
    }

    pub(super) fn insert(&self, ord: u32) {
        self.0[ord as usize / 64].fetch_or(1 << (ord % 64), Ordering::Relaxed);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.len() * 8
    }
}

/// The rows inside the bytes of one window.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowRows<'a> {
    bytes: &'a [u8],
    first: u32,
    stride: usize,
}

impl<'a> WindowRows<'a> {
    /// # Panics
    /// If `bytes` are not those of `window`: storage never gives a short buffer.
    pub(super) fn new(window: &RowWindow, bytes: &'a [u8], stride: usize) -> Self {
        let expected = (window.ords.end - window.ords.start) as usize * stride;
        assert_eq!(bytes.len(), expected, "bytes of the window {:?}", window.ords);
        Self { bytes, first: window.ords.start, stride }
    }

    /// The row with its checksum.
    #[inline]
    pub(super) fn row(&self, ord: u32) -> &'a [u8] {
        let start = (ord - self.first) as usize * self.stride;
        &self.bytes[start..start + self.stride]
    }
}

/// Bytes of rows `ords` in the stream.
pub(super) fn byte_range(ords: &Range<u32>, stride: usize) -> Range<u64> {
    u64::from(ords.start) * stride as u64..u64::from(ords.end) * stride as u64
}
