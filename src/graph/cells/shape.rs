//! Lengths of what cells consist of, and where it is.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{
    error::{Error, Result},
    quant::osq::{Bits, row_len},
    schema::Metric,
};

/// Bits of a stored center.
pub(super) const CENTER_BITS: Bits = Bits::Four;
/// Bytes of a vector's or center's terms.
pub(super) const TERMS_BYTES: usize = 12;
pub(super) const CRC_BYTES: usize = 4;
/// Bytes of a spilled entry's ordinal.
pub(super) const ORD_BYTES: usize = 4;

/// How vectors are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeKind {
    /// So many bits per component, on an interval of each vector's own.
    Scalar(Bits),
    /// A byte for each of so many subspaces.
    Product(u16),
}

/// Shape of a field's codes: what block lengths follow from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeShape {
    /// Components of a vector.
    pub dims: u32,
    /// How vectors are compared.
    pub metric: Metric,
    /// How they are coded.
    pub code: CodeKind,
}

impl CodeShape {
    /// Bytes of one packed row.
    pub fn row_len(&self) -> usize {
        match self.code {
            CodeKind::Scalar(bits) => row_len(self.dims as usize, bits),
            CodeKind::Product(subspaces) => subspaces.into(),
        }
    }

    /// Bytes of the terms of one entry.
    pub(super) fn terms_len(&self) -> usize {
        if matches!(self.code, CodeKind::Scalar(_)) { TERMS_BYTES } else { 0 }
    }

    /// Bytes of one entry over all columns.
    pub fn entry_len(&self) -> usize {
        4 + self.terms_len() + if self.metric == Metric::L2 { 4 } else { 0 } + self.row_len()
    }

    /// Bytes of the block of a cell of `len` vectors and `spilled` entries of others.
    pub fn cell_bytes(&self, len: usize, spilled: usize) -> usize {
        (len + spilled) * self.entry_len() + spilled * ORD_BYTES + CRC_BYTES
    }

    pub(super) fn center_row_len(&self) -> usize {
        row_len(self.dims as usize, CENTER_BITS)
    }

    pub(super) fn group_bytes(&self, num_cells: usize) -> usize {
        num_cells * (4 + TERMS_BYTES + 4 + self.center_row_len()) + CRC_BYTES
    }
}

/// One group of cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) first_cell: u32,
    pub(super) first_ord: u32,
    /// Of the group's block in `centers`.
    pub(super) centers: Range<u64>,
    /// Of its first cell in `codes`.
    pub(super) codes_offset: u64,
    /// Spilled entries of its cells.
    pub(super) num_spilled: u32,
}

/// A cell of a group, as the group's block in `centers` describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellPlace {
    /// Its first ordinal.
    pub first_ord: u32,
    /// Its vectors.
    pub len: u32,
    /// Entries of vectors of other cells.
    pub spilled: u32,
    /// Such entries in the cells before it, of its group.
    pub spilled_before: u32,
}

/// Where a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graph) struct PlacedCell {
    pub(in crate::graph) group: usize,
    /// Position in its group.
    pub(in crate::graph) ix: usize,
    pub(in crate::graph) cell: u32,
    pub(in crate::graph) first_ord: u32,
    pub(in crate::graph) len: u32,
    pub(in crate::graph) spilled: u32,
    pub(in crate::graph) spilled_before: u32,
}

/// Which cells' codes were seen intact: bytes that stayed in memory are not checked again, which costs more than
/// scoring them where no instruction computes CRC32C.
#[derive(Debug, Default)]
pub(in crate::graph) struct SeenCells(Vec<AtomicU64>);

impl SeenCells {
    pub(in crate::graph) fn new(num_cells: u32) -> Self {
        Self((0..num_cells.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.len() * 8
    }

    pub(in crate::graph) fn contains(&self, cell: u32) -> bool {
        self.0.get(cell as usize / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (cell % 64) & 1 == 1)
    }

    pub(in crate::graph) fn insert(&self, cell: u32) {
        if let Some(word) = self.0.get(cell as usize / 64) {
            word.fetch_or(1 << (cell % 64), Ordering::Relaxed);
        }
    }
}

/// Checks the checksum at the end of a block and returns what stands before it.
pub(super) fn verified<'a>(block: &'a [u8], what: &str) -> Result<&'a [u8]> {
    let Some((body, &crc)) = block.split_last_chunk::<CRC_BYTES>() else {
        return Err(Error::corrupt(what, format!("{} bytes", block.len())));
    };
    let (stored, found) = (u32::from_le_bytes(crc), crc32c::crc32c(body));
    if stored != found {
        return Err(Error::corrupt(what, format!("checksum {found:08x}, {stored:08x} on record")));
    }
    Ok(body)
}

/// Squared norm.
pub(super) fn square(vector: &[f32]) -> f64 {
    vector.iter().map(|&v| f64::from(v) * f64::from(v)).sum()
}
