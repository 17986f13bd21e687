//! Writes the `docs` stream block by block and the `docs_index` at the end.
//!
//! ```text
//! docs_index:  version u8 (1), num_docs varint, num_blocks varint,
//!              per block: number of documents varint, stored bytes varint
//! ```

#![forbid(unsafe_code)]

use super::{
    BLOCK_BYTES, DocBlock,
    block::{write_block, write_record},
    ids::DocIdsWriter,
};
use crate::codec::Write;

/// First byte of the index.
pub(super) const VERSION: u8 = 1;

/// Takes documents in ordinal order.
#[derive(Debug, Default)]
pub struct DocStoreWriter {
    pending: Vec<u8>,
    pending_docs: u32,
    /// Documents and stored bytes of each finished block.
    blocks: Vec<(u32, u64)>,
    num_docs: u32,
    ids: DocIdsWriter,
}

/// What is left to write when the last document was pushed.
#[derive(Debug)]
pub struct DocStoreParts {
    /// The `docs_index`.
    pub index: Vec<u8>,
    /// The `doc_ids` stream, but for what [`DocStoreWriter::take_ids`] gave.
    pub ids: Vec<u8>,
    /// The `doc_ids_index`.
    pub ids_index: Vec<u8>,
}

impl DocStoreWriter {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Documents so far.
    pub fn num_docs(&self) -> u32 {
        self.num_docs
    }

    /// Bytes of memory held, finished blocks of documents not counted: they are in the caller's hands.
    pub fn memory_bytes(&self) -> usize {
        self.pending.capacity() + self.blocks.capacity() * size_of::<(u32, u64)>() + self.ids.memory_bytes()
    }

    /// Appends the finished blocks of ids to `out`.
    pub fn take_ids(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.ids.data);
    }

    /// Adds the next document; appends a block to `out` whenever one is full.
    pub fn push(&mut self, id_term: &[u8], json: &str, out: &mut Vec<u8>) {
        // A long record starts a block of its own, so that reading its small neighbours stays cheap.
        if self.pending_docs > 0 && self.pending.len() + json.len() > 2 * BLOCK_BYTES {
            self.flush(out);
        }
        self.ids.push(id_term);
        write_record(id_term, json, &mut self.pending);
        self.pending_docs += 1;
        self.num_docs += 1;
        if self.pending.len() >= BLOCK_BYTES {
            self.flush(out);
        }
    }

    /// Closes the block under way.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        if self.pending_docs > 0 {
            let len = write_block(&self.pending, out);
            self.blocks.push((self.pending_docs, len));
            self.pending.clear();
            self.pending.shrink_to(2 * BLOCK_BYTES);
            self.pending_docs = 0;
        }
    }

    /// Uncompressed bytes of the block under way.
    pub(super) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Appends a block of another store as it is; it was verified as `decoded`.
    pub(super) fn copy_block(&mut self, bytes: &[u8], decoded: &DocBlock, out: &mut Vec<u8>) {
        self.flush(out);
        decoded.id_terms().for_each(|term| self.ids.push(term));
        let num_docs = decoded.num_records() as u32;
        out.extend_from_slice(bytes);
        self.blocks.push((num_docs, bytes.len() as u64));
        self.num_docs += num_docs;
    }

    /// Closes the last block, appends it to `out` and returns what belongs into the other sections.
    pub fn finish(mut self, out: &mut Vec<u8>) -> DocStoreParts {
        self.flush(out);
        let mut index = vec![VERSION];
        index.put_vlong(u64::from(self.num_docs));
        index.put_vlong(self.blocks.len() as u64);
        for &(num_docs, len) in &self.blocks {
            index.put_vlong(u64::from(num_docs));
            index.put_vlong(len);
        }
        let (ids, ids_index) = self.ids.finish();
        DocStoreParts { index, ids, ids_index }
    }
}
