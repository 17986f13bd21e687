//! Copies the live records of several stores into a new one, a window at a time.
//!
//! Full blocks without deleted documents are verified and copied as they are; of the others the live records are put
//! into new blocks. Ids come from the records, so that also stores without ids of their own give a store with them.

#![forbid(unsafe_code)]

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use super::{BLOCK_BYTES, DocStoreError, DocStoreIndex, DocStoreParts, DocStoreWriter};
use crate::{bitset::DocMap, ids::DocOrd};

/// Bytes asked for at a time, unless a single block is longer.
const WINDOW_BYTES: u64 = 1 << 20;

/// A step machine: read what [`Self::wanted`] names, [`Self::feed`] it, until nothing is wanted.
#[derive(Debug)]
pub struct DocStoreMerger {
    sources: Vec<Arc<DocStoreIndex>>,
    doc_map: Arc<DocMap>,
    writer: DocStoreWriter,
    source: usize,
    /// Blocks of the current source that are wanted now.
    window: Range<u32>,
}

impl DocStoreMerger {
    /// A merge of `sources`, in the order of `doc_map`.
    pub fn new(sources: Vec<Arc<DocStoreIndex>>, doc_map: Arc<DocMap>) -> Self {
        let mut merger = Self { sources, doc_map, writer: DocStoreWriter::new(), source: 0, window: 0..0 };
        merger.advance();
        merger
    }

    /// Moves the window to the next blocks that hold live documents.
    fn advance(&mut self) {
        let mut start = self.window.end;
        while let Some(index) = self.sources.get(self.source) {
            let is_wanted =
                |block: u32| index.block_docs(block).any(|doc| self.doc_map.is_live(self.source, DocOrd(doc)));
            while start < index.num_blocks() && !is_wanted(start) {
                start += 1;
            }
            if start < index.num_blocks() {
                let from = index.block_range(start).start;
                let mut end = start + 1;
                while end < index.num_blocks() && index.block_range(end).end - from <= WINDOW_BYTES && is_wanted(end) {
                    end += 1;
                }
                self.window = start..end;
                return;
            }
            self.source += 1;
            start = 0;
        }
        self.window = 0..0;
    }

    /// What to read next: the source and the range of its `docs` stream. Empty when all is done.
    pub fn wanted(&self) -> Vec<(usize, Range<u64>)> {
        match self.sources.get(self.source) {
            Some(index) if !self.window.is_empty() => {
                let range = index.block_range(self.window.start).start..index.block_range(self.window.end - 1).end;
                vec![(self.source, range)]
            }
            _ => Vec::new(),
        }
    }

    /// Whether all was read: then [`Self::finish`].
    pub fn is_done(&self) -> bool {
        self.wanted().is_empty()
    }

    /// Takes what [`Self::wanted`] named and appends finished blocks to `out`.
    ///
    /// # Errors
    /// If a block is damaged or the buffers are not those asked for.
    pub fn feed(&mut self, buffers: &[Bytes], out: &mut Vec<u8>) -> Result<(), DocStoreError> {
        let wanted = self.wanted();
        let ([(_, range)], [bytes]) = (&wanted[..], buffers) else {
            return Err(DocStoreError::WrongFeed { expected: wanted.len(), found: buffers.len() });
        };
        if bytes.len() as u64 != range.end - range.start {
            return Err(DocStoreError::BadBlock { block: self.window.start, what: "was fed with another length" });
        }
        let index = self.sources[self.source].clone();
        for block in self.window.clone() {
            let place = index.block_range(block);
            let bytes = &bytes[(place.start - range.start) as usize..(place.end - range.start) as usize];
            let docs = index.block_docs(block);
            let all_live = docs.clone().all(|doc| self.doc_map.is_live(self.source, DocOrd(doc)));
            // Also where its bytes are copied: the ids in it go into their own section.
            let decoded = index.decode_block(block, bytes)?;
            let pending = self.writer.pending_bytes();
            if all_live && decoded.raw_len() >= BLOCK_BYTES / 2 && (pending == 0 || pending >= BLOCK_BYTES / 2) {
                self.writer.copy_block(bytes, &decoded, out);
                continue;
            }
            for doc in docs.clone().filter(|&doc| self.doc_map.is_live(self.source, DocOrd(doc))) {
                let record = decoded.record((doc - docs.start) as usize)?;
                self.writer.push(record.id_term, record.json, out);
            }
        }
        self.advance();
        Ok(())
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.writer.memory_bytes()
    }

    /// Appends the finished blocks of ids to `out`.
    pub fn take_ids(&mut self, out: &mut Vec<u8>) {
        self.writer.take_ids(out);
    }

    /// Ends the last block and returns the other sections.
    ///
    /// # Errors
    /// If reads are still wanted, or the documents do not add up to those of the map.
    pub fn finish(self, out: &mut Vec<u8>) -> Result<DocStoreParts, DocStoreError> {
        let wanted = self.wanted().len();
        if wanted > 0 {
            return Err(DocStoreError::WrongFeed { expected: wanted, found: 0 });
        }
        let (found, expected) = (self.writer.num_docs(), self.doc_map.num_docs());
        if found != expected {
            return Err(DocStoreError::NoSuchDocument { doc: expected, num_docs: found });
        }
        Ok(self.writer.finish(out))
    }
}
