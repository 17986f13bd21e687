//! Vectors of a segment whose documents change their order: rows follow them, in as many passes as the budget takes.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use crate::{
    bitset::{BitSet, DocOrder},
    ids::DocOrd,
};

use super::{
    error::VectorFormatError,
    meta::{self, Owners},
    plan::{RowWindow, WindowOptions},
    reader::VectorsReader,
    row::{VectorOrd, WindowRows, verified},
};

/// Writes rows in the new order of their documents, each pass a run of places.
///
/// Memory: the budget, one read, and eight bytes per vector.
#[derive(Debug)]
pub struct VectorsReorderer {
    reader: Arc<VectorsReader>,
    order: Arc<DocOrder>,
    reads: WindowOptions,
    /// Rows in their new order.
    ords: Vec<u32>,
    /// Rows of this pass, as positions in `ords`.
    pass: Range<usize>,
    /// Row and position in the pass, ascending by row.
    slots: Vec<(u32, u32)>,
    rows_per_pass: usize,
    windows: VecDeque<RowWindow>,
    rows: Vec<u8>,
    owners: Owners,
}

impl VectorsReorderer {
    /// A rewrite of the vectors of `reader`, whose rows lie in the order of documents. `budget` bounds the rows held,
    /// `read_bytes` a read.
    ///
    /// # Panics
    /// If the order is of another number of documents, or rows lie in cell order.
    pub fn new(reader: Arc<VectorsReader>, order: Arc<DocOrder>, budget: u64, read_bytes: u64) -> Self {
        assert_eq!(reader.max_doc(), order.num_docs(), "an order of all documents");
        let docs = order.old_docs().iter();
        let ords: Vec<u32> = docs.flat_map(|&doc| reader.ords_of(DocOrd(doc))).collect();
        let rows_per_pass = usize::try_from(budget / reader.stride_bytes() as u64).unwrap_or(usize::MAX).max(1);
        let reads = WindowOptions { window_bytes: read_bytes, ..WindowOptions::default() };
        let mut reorderer = Self {
            reader,
            order,
            reads,
            ords,
            pass: 0..0,
            slots: Vec::new(),
            rows_per_pass,
            windows: VecDeque::new(),
            rows: Vec::new(),
            owners: Owners::Dense(0),
        };
        reorderer.begin_pass();
        reorderer
    }

    fn begin_pass(&mut self) {
        let start = self.pass.end;
        self.pass = start..start.saturating_add(self.rows_per_pass).min(self.ords.len());
        self.slots = self.ords[self.pass.clone()].iter().copied().zip(0..).collect();
        self.slots.sort_unstable();
        let mut accept = BitSet::new(self.reader.max_doc());
        for &(ord, _) in &self.slots {
            accept.insert(self.reader.doc_of(VectorOrd(ord)).0);
        }
        if !self.slots.is_empty() {
            self.windows = self.reader.windows(Some(&accept), &self.reads).into();
        }
        self.rows = vec![0; self.slots.len() * self.reader.stride_bytes()];
    }

    /// Bytes of the `vectors` stream to read next; `None` when all is done.
    pub fn wanted(&self) -> Option<Range<u64>> {
        self.windows.front().map(|window| window.bytes.clone())
    }

    /// Takes the bytes of [`Self::wanted`] and appends finished rows to `out`.
    ///
    /// # Errors
    /// If a row does not match its checksum.
    ///
    /// # Panics
    /// If nothing was wanted, or other bytes.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), VectorFormatError> {
        let window = self.windows.pop_front().expect("something was wanted");
        let stride = self.reader.stride_bytes();
        let source_rows = WindowRows::new(&window, bytes, stride);
        let from = self.slots.partition_point(|&(ord, _)| ord < window.ords.start);
        for &(ord, slot) in self.slots[from..].iter().take_while(|&&(ord, _)| ord < window.ords.end) {
            let row = source_rows.row(ord);
            verified(row, ord)?;
            self.rows[slot as usize * stride..][..stride].copy_from_slice(row);
        }
        if self.windows.is_empty() {
            for &ord in &self.ords[self.pass.clone()] {
                self.owners.push(DocOrd(self.order.place_of(self.reader.doc_of(VectorOrd(ord)).0)));
            }
            out.append(&mut self.rows);
            self.begin_pass();
        }
        Ok(())
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.rows.capacity() + self.ords.capacity() * 4 + self.slots.capacity() * 8 + self.owners.memory_bytes()
    }

    /// Appends the metadata of the rows.
    ///
    /// # Panics
    /// If something is still wanted.
    pub fn finish(self, meta: &mut Vec<u8>) {
        assert!(self.windows.is_empty(), "the rewrite is not at its end");
        meta::write(self.reader.options(), &self.owners, self.order.num_docs(), meta);
    }
}
