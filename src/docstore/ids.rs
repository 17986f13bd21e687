//! Ids of documents by ordinal, readable without the documents: what a page of hits needs that selects no fields.
//!
//! ```text
//! doc_ids:        blocks of 128 documents, the last one of what is left
//! offset  size  field
//!      0     4  crc32c      of everything after it
//!      4     1  width       bits of a packed number, 0-64; 255: terms
//!      5     .  numbers:    least id i64, then per document id - least, packed, lowest bit first
//!      5     .  terms:      prefix_len varint, prefix; per document the length of what follows it in the term, varint;
//!                           then what follows it, document after document. Terms as in the dictionary of ids
//!
//! doc_ids_index:  version u8 (1), num_docs varint, bytes of each block varint
//! ```

#![forbid(unsafe_code)]

use std::ops::Range;

use bytes::Bytes;

use super::{DocStoreError, read_varint};
use crate::{
    codec::{
        Write,
        pack::{pack, packed_at, packed_len, width_of},
    },
    ids::{DocId, DocOrd},
};

/// Documents of a block: a block of integers is a cache line or a few, one of texts a few KiB.
const BLOCK_DOCS: u32 = 128;
/// In place of a width: terms follow.
const TERMS: u8 = 255;
/// First byte of the index.
const VERSION: u8 = 1;
/// Bytes in front of the ids of a block.
const HEADER_BYTES: usize = 5;

/// Takes id terms in ordinal order.
#[derive(Debug, Default)]
pub(super) struct DocIdsWriter {
    /// Terms of the block under way, one behind the other, and where each ends.
    terms: Vec<u8>,
    ends: Vec<usize>,
    /// Finished blocks that nobody took yet.
    pub data: Vec<u8>,
    /// Length of each finished block, as the index has it.
    lens: Vec<u8>,
    num_docs: u32,
}

impl DocIdsWriter {
    pub fn push(&mut self, term: &[u8]) {
        self.terms.extend_from_slice(term);
        self.ends.push(self.terms.len());
        self.num_docs += 1;
        if self.ends.len() == BLOCK_DOCS as usize {
            self.flush();
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.terms.capacity() + self.ends.capacity() * size_of::<usize>() + self.data.capacity() + self.lens.capacity()
    }

    /// Closes the last block and returns the bytes nobody took yet, and the index.
    pub fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        self.flush();
        let mut index = vec![VERSION];
        index.put_vlong(u64::from(self.num_docs));
        index.extend_from_slice(&self.lens);
        (self.data, index)
    }

    fn flush(&mut self) {
        if self.ends.is_empty() {
            return;
        }
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let terms: Vec<&[u8]> = starts.zip(&self.ends).map(|(start, &end)| &self.terms[start..end]).collect();
        let start = self.data.len();
        self.data.extend_from_slice(&[0; 4]);
        match terms.iter().map(|term| integer(term)).collect::<Option<Vec<i64>>>() {
            Some(ids) => write_integers(&ids, &mut self.data),
            None => write_terms(&terms, &mut self.data),
        }
        let crc = crc32c::crc32c(&self.data[start + 4..]);
        self.data[start..start + 4].copy_from_slice(&crc.to_le_bytes());
        self.lens.put_vlong((self.data.len() - start) as u64);
        self.terms.clear();
        self.ends.clear();
    }
}

fn integer(term: &[u8]) -> Option<i64> {
    match DocId::from_term(term)? {
        DocId::Int(id) => Some(id),
        DocId::Str(_) => None,
    }
}

fn write_integers(ids: &[i64], out: &mut Vec<u8>) {
    let (least, most) = ids.iter().fold((i64::MAX, i64::MIN), |(least, most), &id| (least.min(id), most.max(id)));
    let width = width_of(most.wrapping_sub(least) as u64);
    out.push(width);
    out.extend_from_slice(&least.to_le_bytes());
    pack(ids.iter().map(|id| id.wrapping_sub(least) as u64), width, out);
}

fn write_terms(terms: &[&[u8]], out: &mut Vec<u8>) {
    let first = terms.first().copied().unwrap_or_default();
    let shared = |term: &&[u8]| term.iter().zip(first).take_while(|(one, other)| one == other).count();
    let prefix = terms.iter().map(shared).min().unwrap_or(0);
    out.push(TERMS);
    out.put_vlong(prefix as u64);
    out.extend_from_slice(&first[..prefix]);
    terms.iter().for_each(|term| out.put_vlong((term.len() - prefix) as u64));
    terms.iter().for_each(|term| out.extend_from_slice(&term[prefix..]));
}

/// A parsed `doc_ids_index`.
#[derive(Debug, Clone)]
pub struct DocIdsIndex {
    num_docs: u32,
    /// Start of each block in the stream, then the stream's length.
    offsets: Vec<u64>,
}

/// Documents whose ids to read, and the blocks that hold them.
#[derive(Debug, Clone)]
pub struct DocIdsPlan {
    docs: Vec<DocOrd>,
    /// Distinct blocks, ascending.
    blocks: Vec<u32>,
}

impl DocIdsIndex {
    /// Reads a whole `doc_ids_index`.
    ///
    /// # Errors
    /// If it is cut short, has numbers that cannot be, or a newer version.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocStoreError> {
        let bad = |what, rest: &[u8]| DocStoreError::BadIdsIndex { what, offset: bytes.len() - rest.len() };
        let mut rest = match bytes.split_first() {
            Some((&VERSION, rest)) => rest,
            Some((&found, _)) => return Err(DocStoreError::Version { found }),
            None => return Err(bad("no bytes", bytes)),
        };
        let num_docs = read_varint(&mut rest).and_then(|count| u32::try_from(count).ok());
        let num_docs = num_docs.ok_or_else(|| bad("no document count", rest))?;
        let num_blocks = num_docs.div_ceil(BLOCK_DOCS) as usize;
        // Each length takes at least a byte, which bounds the allocation.
        if num_blocks > rest.len() {
            return Err(bad("cut short", rest));
        }
        let mut offsets = Vec::with_capacity(num_blocks + 1);
        let mut end = 0u64;
        offsets.push(end);
        for _ in 0..num_blocks {
            let len = read_varint(&mut rest).ok_or_else(|| bad("cut short", rest))?;
            end = end.checked_add(len).ok_or_else(|| bad("blocks too long", rest))?;
            offsets.push(end);
        }
        if rest.is_empty() { Ok(Self { num_docs, offsets }) } else { Err(bad("bytes left over", rest)) }
    }

    /// Documents, deleted ones included.
    pub fn num_docs(&self) -> u32 {
        self.num_docs
    }

    /// Blocks.
    pub fn num_blocks(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// Bytes of the `doc_ids` stream.
    pub fn data_len(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Where a block is in the stream. Empty for a block that does not exist.
    pub fn block_range(&self, block: u32) -> Range<u64> {
        let ix = block as usize;
        match (self.offsets.get(ix), self.offsets.get(ix + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// Plans to read the ids of `docs`, in any order, repeats allowed.
    ///
    /// # Errors
    /// If one of them does not exist.
    pub fn plan(&self, docs: &[DocOrd]) -> Result<DocIdsPlan, DocStoreError> {
        if let Some(doc) = docs.iter().find(|doc| doc.0 >= self.num_docs) {
            return Err(DocStoreError::NoSuchDocument { doc: doc.0, num_docs: self.num_docs });
        }
        let mut blocks: Vec<u32> = docs.iter().map(|doc| doc.0 / BLOCK_DOCS).collect();
        blocks.sort_unstable();
        blocks.dedup();
        Ok(DocIdsPlan { docs: docs.to_vec(), blocks })
    }

    /// Verifies the bytes of one block.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn block<'a>(&self, block: u32, bytes: &'a [u8]) -> Result<DocIdsBlock<'a>, DocStoreError> {
        let bad = |what| DocStoreError::BadIds { block, what };
        let Some((&expected, payload)) = bytes.split_first_chunk::<4>() else {
            return Err(bad("shorter than its checksum"));
        };
        let (found, expected) = (crc32c::crc32c(payload), u32::from_le_bytes(expected));
        if found != expected {
            return Err(DocStoreError::IdsChecksum { block, expected, found });
        }
        if payload.len() < HEADER_BYTES - 4 {
            return Err(bad("shorter than its header"));
        }
        let num_docs = self.num_docs.saturating_sub(block.saturating_mul(BLOCK_DOCS)).min(BLOCK_DOCS);
        Ok(DocIdsBlock { block, num_docs: num_docs as usize, payload })
    }
}

impl DocIdsPlan {
    /// The ranges of the `doc_ids` stream to read, ascending.
    pub fn ranges(&self, index: &DocIdsIndex) -> Vec<Range<u64>> {
        self.blocks.iter().map(|&block| index.block_range(block)).collect()
    }

    /// Decodes what was read for [`Self::ranges`], one buffer a range; ids come in the order in which their documents
    /// were planned.
    ///
    /// # Errors
    /// If a block is damaged, or the number of buffers is wrong.
    pub fn decode(&self, index: &DocIdsIndex, buffers: &[Bytes]) -> Result<Vec<DocId>, DocStoreError> {
        if buffers.len() != self.blocks.len() {
            return Err(DocStoreError::WrongFeed { expected: self.blocks.len(), found: buffers.len() });
        }
        let blocks = self.blocks.iter().zip(buffers).map(|(&block, bytes)| index.block(block, bytes));
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        let id_of = |doc: &DocOrd| {
            let block = doc.0 / BLOCK_DOCS;
            let slot = self.blocks.binary_search(&block).ok();
            slot.map_or(Err(DocStoreError::BadIds { block, what: "was not planned" }), |slot| {
                blocks[slot].id((doc.0 % BLOCK_DOCS) as usize)
            })
        };
        self.docs.iter().map(id_of).collect()
    }
}

/// A verified block of ids.
#[derive(Debug, Clone, Copy)]
pub struct DocIdsBlock<'a> {
    block: u32,
    num_docs: usize,
    payload: &'a [u8],
}

impl DocIdsBlock<'_> {
    /// How many ids it has.
    pub fn num_ids(&self) -> usize {
        self.num_docs
    }

    /// The id at `ix` inside the block.
    ///
    /// # Errors
    /// If there is none, or the bytes are no block of ids.
    pub fn id(&self, ix: usize) -> Result<DocId, DocStoreError> {
        let bad = |what| DocStoreError::BadIds { block: self.block, what };
        if ix >= self.num_docs {
            return Err(bad("has too few ids"));
        }
        let (&width, mut rest) = self.payload.split_first().ok_or_else(|| bad("shorter than its header"))?;
        if width == TERMS {
            return self
                .term(ix, &mut rest)
                .and_then(|term| DocId::from_term(&term))
                .ok_or_else(|| bad("has no such term"));
        }
        let (least, packed) = rest.split_first_chunk::<8>().ok_or_else(|| bad("shorter than its header"))?;
        if width > 64 || packed.len() != packed_len(self.num_docs, width) {
            return Err(bad("numbers cannot be"));
        }
        Ok(DocId::Int(i64::from_le_bytes(*least).wrapping_add(packed_at(packed, width, ix) as i64)))
    }

    fn term(&self, ix: usize, rest: &mut &[u8]) -> Option<Vec<u8>> {
        let prefix_len = usize::try_from(read_varint(rest)?).ok()?;
        let (prefix, mut rest) = rest.split_at_checked(prefix_len)?;
        let (mut start, mut len) = (0usize, 0usize);
        for at in 0..self.num_docs {
            let one = usize::try_from(read_varint(&mut rest)?).ok()?;
            match at {
                _ if at < ix => start = start.checked_add(one)?,
                _ if at == ix => len = one,
                _ => {}
            }
        }
        let tail = rest.get(start..start.checked_add(len)?)?;
        Some([prefix, tail].concat())
    }
}
