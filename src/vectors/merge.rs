//! Joins the vectors of several segments: rows are copied with their checksums, which are verified on the way.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use crate::{bitset::DocMap, ids::DocOrd, schema::VectorOptions};

use super::{
    error::VectorFormatError,
    meta::{self, Owners},
    plan::{RowWindow, WindowOptions},
    reader::VectorsReader,
    row::{VectorOrd, WindowRows, verified},
};

/// The next read of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRead {
    /// Which source.
    pub source: usize,
    /// Bytes of its `vectors` stream.
    pub bytes: Range<u64>,
}

/// Merges one vector field. The caller reads what [`Self::wanted`] names and feeds it, until nothing is wanted;
/// rows of live documents come out in the order of their new numbers.
///
/// Memory: one read, and four bytes per vector where documents have none or several.
#[derive(Debug)]
pub struct VectorsMerger {
    options: VectorOptions,
    sources: Vec<Option<Arc<VectorsReader>>>,
    docs: Arc<DocMap>,
    reads: WindowOptions,
    source: usize,
    windows: VecDeque<RowWindow>,
    planned: bool,
    owners: Owners,
}

impl VectorsMerger {
    /// A merger of `sources` in the order of `docs`; `None` for a segment without this field. Reads are at most
    /// `read_bytes` long (one row at least).
    ///
    /// # Panics
    /// If a source has another dimension or metric, one schema ruling all segments of an index, or its rows lie in
    /// cell order.
    pub fn new(
        options: VectorOptions,
        sources: Vec<Option<Arc<VectorsReader>>>,
        docs: Arc<DocMap>,
        read_bytes: u64,
    ) -> Self {
        assert_eq!(sources.len(), docs.num_sources(), "one entry per source");
        for source in sources.iter().flatten() {
            assert!(source.options().has_rows_of(&options), "one schema for all sources");
        }
        let reads = WindowOptions { window_bytes: read_bytes, ..WindowOptions::default() };
        let (windows, owners) = (VecDeque::new(), Owners::Dense(0));
        let mut merger = Self { options, sources, docs, reads, source: 0, windows, planned: false, owners };
        merger.plan();
        merger
    }

    /// Moves on to the next source that has something to read.
    fn plan(&mut self) {
        while self.windows.is_empty() && self.source < self.sources.len() {
            match &self.sources[self.source] {
                Some(reader) if !self.planned => {
                    self.windows = live_windows(reader, &self.docs, self.source, &self.reads);
                    self.planned = true;
                }
                _ => {
                    self.source += 1;
                    self.planned = false;
                }
            }
        }
    }

    /// What to read next; `None` when all is done.
    pub fn wanted(&self) -> Option<MergeRead> {
        self.windows.front().map(|window| MergeRead { source: self.source, bytes: window.bytes.clone() })
    }

    /// Takes the bytes of [`Self::wanted`] and appends the rows that live on to `rows`.
    ///
    /// # Errors
    /// If one of those rows does not match its checksum.
    ///
    /// # Panics
    /// If nothing was wanted, or other bytes.
    pub fn feed(&mut self, bytes: &[u8], rows: &mut Vec<u8>) -> Result<(), VectorFormatError> {
        let window = self.windows.pop_front().expect("something was wanted");
        let reader = self.sources[self.source].as_ref().expect("only sources with vectors are read");
        let source_rows = WindowRows::new(&window, bytes, reader.stride_bytes());
        for ord in window.ords {
            if let Some(doc) = self.docs.get(self.source, reader.doc_of(VectorOrd(ord))) {
                let row = source_rows.row(ord);
                verified(row, ord)?;
                rows.extend_from_slice(row);
                self.owners.push(doc);
            }
        }
        self.plan();
        Ok(())
    }

    /// Vectors merged so far.
    pub fn count(&self) -> u32 {
        self.owners.count()
    }

    /// Appends the metadata of the merged rows.
    ///
    /// # Panics
    /// If something is still wanted.
    pub fn finish(self, meta: &mut Vec<u8>) {
        assert!(self.windows.is_empty(), "the merge is not at its end");
        meta::write(&self.options, &self.owners, self.docs.num_docs(), meta);
    }
}

/// Windows over the vectors of live documents.
fn live_windows(reader: &VectorsReader, docs: &DocMap, source: usize, reads: &WindowOptions) -> VecDeque<RowWindow> {
    if !docs.has_deletions(source) {
        return reader.windows(None, reads).into();
    }
    let live = (0..reader.max_doc()).filter(|&doc| docs.is_live(source, DocOrd(doc)));
    let mut accept = crate::bitset::BitSet::new(reader.max_doc());
    live.for_each(|doc| {
        accept.insert(doc);
    });
    reader.windows(Some(&accept), reads).into()
}
