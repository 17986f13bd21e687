//! Stored documents in another order: as many passes over the old blocks as the budget takes.
//!
//! ```text
//! pass    read the blocks that hold documents of places not yet written, front to back; keep their records by place;
//!         over budget: let go of the last places, they are for a later pass
//! end     write what is kept, in order; the next pass begins behind it
//! ```
//!
//! Memory: the budget, one window of blocks and one record.

#![forbid(unsafe_code)]

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::{DocStoreError, DocStoreIndex, DocStoreParts, DocStoreWriter};
use crate::bitset::DocOrder;

/// Bytes asked for at a time, unless a single block is longer.
const WINDOW_BYTES: u64 = 1 << 20;
/// Memory of a record beside its bytes.
const RECORD_BYTES: usize = 96;

/// A step machine: read what [`Self::wanted`] names, [`Self::feed`] it, until nothing is wanted.
#[derive(Debug)]
pub struct DocStoreReorderer {
    index: Arc<DocStoreIndex>,
    order: Arc<DocOrder>,
    writer: DocStoreWriter,
    budget: usize,
    window: Range<u32>,
    /// Places that this pass is for: from the first one not written, up to the first one let go of.
    places: Range<u32>,
    kept: BTreeMap<u32, (Box<[u8]>, Box<str>)>,
    kept_bytes: usize,
}

impl DocStoreReorderer {
    /// A rewrite of the documents of `index` in `order`, keeping about `budget` bytes of records at a time.
    ///
    /// # Errors
    /// If they are of another number of documents.
    pub fn new(index: Arc<DocStoreIndex>, order: Arc<DocOrder>, budget: usize) -> Result<Self, DocStoreError> {
        if index.num_docs() != order.num_docs() {
            return Err(DocStoreError::NoSuchDocument { doc: order.num_docs(), num_docs: index.num_docs() });
        }
        let places = 0..order.num_docs();
        let mut reorderer = Self {
            index,
            order,
            writer: DocStoreWriter::new(),
            budget,
            window: 0..0,
            places,
            kept: BTreeMap::new(),
            kept_bytes: 0,
        };
        reorderer.advance(0);
        Ok(reorderer)
    }

    /// Moves the window to the next blocks from `start` on that this pass needs.
    fn advance(&mut self, mut start: u32) {
        let num_blocks = self.index.num_blocks();
        let is_wanted =
            |block: u32| self.index.block_docs(block).any(|doc| self.places.contains(&self.order.place_of(doc)));
        while start < num_blocks && !is_wanted(start) {
            start += 1;
        }
        let mut end = start;
        if start < num_blocks {
            let from = self.index.block_range(start).start;
            end += 1;
            while end < num_blocks && self.index.block_range(end).end - from <= WINDOW_BYTES && is_wanted(end) {
                end += 1;
            }
        }
        self.window = start..end;
    }

    /// The range of the `docs` stream to read next; `None` when all is done.
    pub fn wanted(&self) -> Option<Range<u64>> {
        let window = self.window.clone();
        (!window.is_empty())
            .then(|| self.index.block_range(window.start).start..self.index.block_range(window.end - 1).end)
    }

    /// Takes what [`Self::wanted`] named and appends finished blocks to `out`.
    ///
    /// # Errors
    /// If a block is damaged or the bytes are not those asked for.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DocStoreError> {
        let wanted = self.wanted().ok_or(DocStoreError::WrongFeed { expected: 0, found: 1 })?;
        if bytes.len() as u64 != wanted.end - wanted.start {
            return Err(DocStoreError::BadBlock { block: self.window.start, what: "was fed with another length" });
        }
        for block in self.window.clone() {
            let place = self.index.block_range(block);
            let bytes = &bytes[(place.start - wanted.start) as usize..(place.end - wanted.start) as usize];
            let decoded = self.index.decode_block(block, bytes)?;
            for (ix, doc) in self.index.block_docs(block).enumerate() {
                let place = self.order.place_of(doc);
                if !self.places.contains(&place) {
                    continue;
                }
                let record = decoded.record(ix)?;
                self.kept_bytes += RECORD_BYTES + record.id_term.len() + record.json.len();
                self.kept.insert(place, (record.id_term.into(), record.json.into()));
                // The first place always stays, so that every pass gets on.
                while self.kept_bytes > self.budget && self.kept.len() > 1 {
                    let Some((place, (id, json))) = self.kept.pop_last() else { break };
                    self.kept_bytes -= RECORD_BYTES + id.len() + json.len();
                    self.places.end = place;
                }
            }
        }
        self.advance(self.window.end);
        if self.window.is_empty() {
            self.end_pass(out);
        }
        Ok(())
    }

    fn end_pass(&mut self, out: &mut Vec<u8>) {
        for (id, json) in std::mem::take(&mut self.kept).values() {
            self.writer.push(id, json, out);
        }
        self.kept_bytes = 0;
        self.places = self.places.end..self.order.num_docs();
        if !self.places.is_empty() {
            self.advance(0);
        }
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.kept_bytes + self.writer.memory_bytes()
    }

    /// Appends the finished blocks of ids to `out`.
    pub fn take_ids(&mut self, out: &mut Vec<u8>) {
        self.writer.take_ids(out);
    }

    /// Ends the last block and returns the other sections.
    ///
    /// # Errors
    /// If reads are still wanted, or documents are missing.
    pub fn finish(self, out: &mut Vec<u8>) -> Result<DocStoreParts, DocStoreError> {
        let (found, expected) = (self.writer.num_docs(), self.order.num_docs());
        if found != expected {
            return Err(DocStoreError::NoSuchDocument { doc: expected, num_docs: found });
        }
        Ok(self.writer.finish(out))
    }
}
