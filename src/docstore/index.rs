//! Where each stored document is: which ranges bring given documents, and decoding them.

#![forbid(unsafe_code)]

use std::ops::Range;

use bytes::Bytes;

use super::{DocBlock, DocStoreError, read_varint, writer::VERSION};
use crate::ids::{DocId, DocOrd};

/// A parsed and checked `docs_index`.
#[derive(Debug, Clone)]
pub struct DocStoreIndex {
    /// First document of each block, then the document count.
    first_docs: Vec<u32>,
    /// Start of each block in the stream, then the stream's length.
    offsets: Vec<u64>,
}

/// One stored document, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// Its ordinal.
    pub doc: DocOrd,
    /// The caller's id.
    pub id: DocId,
    /// The document as JSON text.
    pub json: String,
}

/// Documents to read, and the blocks that hold them.
#[derive(Debug, Clone)]
pub struct DocPlan {
    docs: Vec<DocOrd>,
    /// Distinct blocks, ascending.
    blocks: Vec<u32>,
}

impl DocStoreIndex {
    /// Reads a whole `docs_index`.
    ///
    /// # Errors
    /// If it is cut short, has numbers that cannot be, or a newer version.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocStoreError> {
        let mut rest = bytes;
        let bad = |what, rest: &[u8]| DocStoreError::BadIndex { what, offset: bytes.len() - rest.len() };
        match rest.split_first() {
            Some((&VERSION, after)) => rest = after,
            Some((&found, _)) => return Err(DocStoreError::Version { found }),
            None => return Err(bad("no bytes", rest)),
        }
        let mut number = |what| read_varint(&mut rest).ok_or(bad(what, &[]));
        let num_docs = number("no document count")?;
        let num_blocks = number("no block count")?;
        // Each block takes at least two bytes, which bounds the allocation.
        if num_docs > u64::from(u32::MAX) || num_blocks > bytes.len() as u64 / 2 {
            return Err(bad("counts cannot be", rest));
        }
        let (mut docs, mut offset) = (0u64, 0u64);
        let mut index = Self { first_docs: vec![0], offsets: vec![0] };
        for _ in 0..num_blocks {
            let (Some(block_docs), Some(len)) = (read_varint(&mut rest), read_varint(&mut rest)) else {
                return Err(bad("cut short", rest));
            };
            docs = docs.saturating_add(block_docs);
            offset = offset.checked_add(len).ok_or_else(|| bad("blocks too long", rest))?;
            if block_docs == 0 || docs > num_docs {
                return Err(bad("documents of the blocks do not add up", rest));
            }
            index.first_docs.push(docs as u32);
            index.offsets.push(offset);
        }
        if docs != num_docs || !rest.is_empty() {
            return Err(bad("documents or bytes left over", rest));
        }
        Ok(index)
    }

    /// Documents, deleted ones included.
    pub fn num_docs(&self) -> u32 {
        self.first_docs.last().copied().unwrap_or(0)
    }

    /// Blocks.
    pub fn num_blocks(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// Bytes of the `docs` stream.
    pub fn data_len(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.first_docs.capacity() * 4 + self.offsets.capacity() * 8
    }

    /// The block that holds `doc`.
    pub fn block_of(&self, doc: DocOrd) -> Option<u32> {
        (doc.0 < self.num_docs()).then(|| self.first_docs.partition_point(|&first| first <= doc.0) as u32 - 1)
    }

    /// Where a block is in the stream. Empty for a block that does not exist.
    pub fn block_range(&self, block: u32) -> Range<u64> {
        let ix = block as usize;
        match (self.offsets.get(ix), self.offsets.get(ix + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// Ordinals of a block's documents. Empty for a block that does not exist.
    pub fn block_docs(&self, block: u32) -> Range<u32> {
        let ix = block as usize;
        match (self.first_docs.get(ix), self.first_docs.get(ix + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// Plans to read `docs`, in any order, repeats allowed.
    ///
    /// # Errors
    /// If one of them does not exist.
    pub fn plan(&self, docs: &[DocOrd]) -> Result<DocPlan, DocStoreError> {
        let mut blocks = Vec::with_capacity(docs.len());
        for &doc in docs {
            let missing = DocStoreError::NoSuchDocument { doc: doc.0, num_docs: self.num_docs() };
            blocks.push(self.block_of(doc).ok_or(missing)?);
        }
        blocks.sort_unstable();
        blocks.dedup();
        Ok(DocPlan { docs: docs.to_vec(), blocks })
    }

    /// Verifies and decodes the bytes of one block.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn decode_block(&self, block: u32, bytes: &[u8]) -> Result<DocBlock, DocStoreError> {
        DocBlock::parse(block, bytes, self.block_docs(block).len() as u32)
    }
}

impl DocPlan {
    /// The ranges of the `docs` stream to read, ascending.
    pub fn ranges(&self, index: &DocStoreIndex) -> Vec<Range<u64>> {
        self.blocks.iter().map(|&block| index.block_range(block)).collect()
    }

    /// Decodes what was read for [`Self::ranges`], one buffer a range; the documents come in the order in
    /// which they were planned.
    ///
    /// # Errors
    /// If a block is damaged, or the number of buffers is wrong.
    pub fn decode(&self, index: &DocStoreIndex, buffers: &[Bytes]) -> Result<Vec<StoredDocument>, DocStoreError> {
        if buffers.len() != self.blocks.len() {
            return Err(DocStoreError::WrongFeed { expected: self.blocks.len(), found: buffers.len() });
        }
        let blocks: Vec<DocBlock> = self
            .blocks
            .iter()
            .zip(buffers)
            .map(|(&block, bytes)| index.decode_block(block, bytes))
            .collect::<Result<_, _>>()?;
        self.docs
            .iter()
            .map(|&doc| {
                let missing = DocStoreError::NoSuchDocument { doc: doc.0, num_docs: index.num_docs() };
                let block = index.block_of(doc).ok_or(missing)?;
                let bad = |what| DocStoreError::BadBlock { block, what };
                let slot = self.blocks.binary_search(&block).map_err(|_| bad("was not planned"))?;
                let record = blocks[slot].record((doc.0 - index.block_docs(block).start) as usize)?;
                let id = DocId::from_term(record.id_term).ok_or_else(|| bad("a record has no id"))?;
                Ok(StoredDocument { doc, id, json: record.json.to_owned() })
            })
            .collect()
    }
}
