//! Equal vectors stored once: they have one nearest center, so they meet in one cell.

use std::collections::HashMap;

use super::Entry;
use crate::vectors::RowMapWriter;

/// Different rows of a cell that later ones are compared with at most: cells of so many are no work of equal vectors.
const MAX_KNOWN_ROWS: usize = 4096;
/// Bytes that a known row takes beside its own: vector, number, place in the table.
const ENTRY_BYTES: usize = 48;

/// Leaves rows out that stand in their cell already.
#[derive(Debug)]
pub(super) struct SharedRows {
    stride: usize,
    cell: Option<u32>,
    /// Rows of the cell, and their numbers.
    known: HashMap<Vec<u8>, u32>,
    pub(super) map: RowMapWriter,
}

impl SharedRows {
    pub(super) fn new(stride: usize) -> Self {
        Self { stride, cell: None, known: HashMap::new(), map: RowMapWriter::default() }
    }

    /// Keeps of `rows`, those of `group` in its order, the ones that are to be written.
    pub(super) fn keep_distinct(&mut self, group: &[Entry], rows: &mut Vec<u8>) {
        let (stride, mut kept) = (self.stride, 0);
        for (ix, entry) in group.iter().enumerate() {
            if self.cell != Some(entry.cell) {
                self.cell = Some(entry.cell);
                self.known.clear();
            }
            let row = &rows[ix * stride..(ix + 1) * stride];
            if let Some(&number) = self.known.get(row) {
                self.map.push_shared(number);
                continue;
            }
            let number = self.map.push_own();
            if self.known.len() < MAX_KNOWN_ROWS {
                self.known.insert(row.to_vec(), number);
            }
            rows.copy_within(ix * stride..(ix + 1) * stride, kept);
            kept += stride;
        }
        rows.truncate(kept);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.map.memory_bytes() + self.known.len() * (self.stride + ENTRY_BYTES)
    }
}
