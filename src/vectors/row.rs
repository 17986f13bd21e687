//! One stored row: its components in the form that the field stores, then the CRC32C of those bytes.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{error::VectorFormatError, plan::RowWindow};
use crate::{
    distance::half::{append_halves, read_halves},
    quant::nvq::{self, NvqBits},
    schema::{VectorOptions, VectorStorage},
};

/// Number of a vector inside one field of one segment, `0..count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VectorOrd(pub u32);

/// Bytes of the checksum behind a row.
pub(super) const CHECKSUM_BYTES: usize = 4;

/// Bytes from one row to the next: components and checksum.
pub const fn row_bytes(options: &VectorOptions) -> usize {
    let dims = options.dims as usize;
    let components = match options.storage {
        VectorStorage::F32 => dims * 4,
        VectorStorage::F16 => dims * 2,
        VectorStorage::Nvq8 => nvq::row_len(dims, NvqBits::Eight),
        VectorStorage::Nvq4 => nvq::row_len(dims, NvqBits::Four),
    };
    components + CHECKSUM_BYTES
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
pub(super) fn append(storage: VectorStorage, vector: &[f32], out: &mut Vec<u8>) {
    let start = out.len();
    match storage {
        VectorStorage::F32 => out.extend_from_slice(bytemuck::cast_slice(vector)),
        VectorStorage::F16 => append_halves(vector, out),
        VectorStorage::Nvq8 => nvq::append_row(vector, NvqBits::Eight, out),
        VectorStorage::Nvq4 => nvq::append_row(vector, NvqBits::Four, out),
    }
    let checksum = crc32c::crc32c(&out[start..]);
    out.extend_from_slice(&checksum.to_le_bytes());
}

/// Appends the components of a row, without its checksum, as numbers: finite ones of every row that [`append`] made. A
/// row that it cannot have made gives NaN, whatever its checksum says.
///
/// # Panics
/// If the row has another length.
pub fn read_components(options: &VectorOptions, row: &[u8], out: &mut Vec<f32>) {
    assert_eq!(row.len() + CHECKSUM_BYTES, row_bytes(options), "a row of the field");
    let start = out.len();
    if options.storage == VectorStorage::F32 {
        out.extend(row.as_chunks::<4>().0.iter().map(|&value| f32::from_le_bytes(value)));
        return;
    }
    out.resize(start + options.dims as usize, 0.0);
    let values = &mut out[start..];
    let is_valid = match options.storage {
        VectorStorage::Nvq8 => nvq::read_row(row, NvqBits::Eight, values).is_some(),
        VectorStorage::Nvq4 => nvq::read_row(row, NvqBits::Four, values).is_some(),
        VectorStorage::F32 | VectorStorage::F16 => {
            read_halves(row, values);
            values.iter().all(|value| value.abs() < options.storage.limit())
        }
    };
    if !is_valid {
        values.fill(f32::NAN);
    }
}

/// Rows as numbers where they are stored in another form.
#[derive(Debug, Default)]
pub(super) struct Decoded(Vec<f32>);

impl Decoded {
    /// The components of `rows` as the bytes of numbers, one slice per row: `rows` themselves where they are that already.
    pub(super) fn rows<'a>(&'a mut self, options: &VectorOptions, rows: &[&'a [u8]]) -> Vec<&'a [u8]> {
        if options.storage == VectorStorage::F32 {
            return rows.to_vec();
        }
        self.0.clear();
        rows.iter().for_each(|row| read_components(options, row, &mut self.0));
        self.0.chunks_exact(options.dims as usize).map(bytemuck::cast_slice).collect()
    }
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
