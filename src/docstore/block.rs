//! One compressed block of records.
//!
//! ```text
//! offset  size  field
//!      0     4  crc32c      of everything after it
//!      4     4  raw_len     uncompressed bytes; the top bit says that the payload is not compressed
//!      8     -  payload     LZ4 block of the records, or the records themselves
//! record:       id_len varint, id term, json_len varint, JSON text (UTF-8)
//! ```
//!
//! A block knows neither its documents nor its place, so a merge may copy it as it is.

#![forbid(unsafe_code)]

use super::{DocStoreError, MAX_RECORD_BYTES, read_varint};
use crate::codec::Write;

const HEADER_BYTES: usize = 8;
const RAW_FLAG: u32 = 1 << 31;
/// Longest uncompressed block: one record of the greatest length, or a last small one before it.
const MAX_BLOCK_BYTES: usize = MAX_RECORD_BYTES + (1 << 20);
/// LZ4 cannot expand more than this; guards the allocation against a damaged length.
const MAX_LZ4_RATIO: usize = 256;

/// One stored document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The document's id as [`crate::ids::DocId::to_term`] writes it.
    pub id_term: &'a [u8],
    /// The document as JSON text.
    pub json: &'a str,
}

/// Appends one record to an uncompressed block.
pub(super) fn write_record(id_term: &[u8], json: &str, out: &mut Vec<u8>) {
    out.put_vlong(id_term.len() as u64);
    out.extend_from_slice(id_term);
    out.put_vlong(json.len() as u64);
    out.extend_from_slice(json.as_bytes());
}

/// Compresses `records` and appends the block; returns its length.
pub(super) fn write_block(records: &[u8], out: &mut Vec<u8>) -> u64 {
    let start = out.len();
    let compressed = lz4_flex::block::compress(records);
    let is_smaller = compressed.len() < records.len();
    let raw_len = records.len() as u32 | if is_smaller { 0 } else { RAW_FLAG };
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&raw_len.to_le_bytes());
    out.extend_from_slice(if is_smaller { &compressed } else { records });
    let crc = crc32c::crc32c(&out[start + 4..]);
    out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
    (out.len() - start) as u64
}

/// Checks the sum of a block and returns its uncompressed length and its payload.
fn verify(block: u32, bytes: &[u8]) -> Result<(usize, bool, &[u8]), DocStoreError> {
    let (Some(expected), Some(raw_len)) = (read_u32(bytes, 0), read_u32(bytes, 4)) else {
        return Err(DocStoreError::BadBlock { block, what: "shorter than its header" });
    };
    let found = crc32c::crc32c(&bytes[4..]);
    if found != expected {
        return Err(DocStoreError::Checksum { block, expected, found });
    }
    Ok(((raw_len & !RAW_FLAG) as usize, raw_len & RAW_FLAG != 0, &bytes[HEADER_BYTES..]))
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A decoded block.
#[derive(Debug, Clone)]
pub struct DocBlock {
    block: u32,
    raw: Vec<u8>,
    /// Per record: start and length of its id, start and length of its text.
    records: Vec<(u32, u32, u32, u32)>,
}

impl DocBlock {
    /// Verifies and decodes block number `block` of `num_docs` records. Whether their texts are UTF-8 shows when they
    /// are asked for.
    pub(super) fn parse(block: u32, bytes: &[u8], num_docs: u32) -> Result<Self, DocStoreError> {
        let bad = |what| DocStoreError::BadBlock { block, what };
        let (raw_len, is_raw, payload) = verify(block, bytes)?;
        if raw_len > MAX_BLOCK_BYTES || raw_len / MAX_LZ4_RATIO > payload.len() {
            return Err(bad("uncompressed length cannot be"));
        }
        let raw = if is_raw {
            payload.to_vec()
        } else {
            lz4_flex::block::decompress(payload, raw_len).map_err(|_| bad("does not decompress"))?
        };
        if raw.len() != raw_len {
            return Err(bad("has another length than it says"));
        }
        let mut rest = raw.as_slice();
        let take = |rest: &mut &[u8]| {
            let len = usize::try_from(read_varint(rest)?).ok()?;
            let start = raw.len() - rest.len();
            *rest = rest.get(len..)?;
            Some((start as u32, len as u32))
        };
        // No capacity from outside: each record takes at least two bytes of the block.
        let mut records = Vec::with_capacity((num_docs as usize).min(raw_len / 2));
        for _ in 0..num_docs {
            let ((id_start, id_len), (start, len)) =
                take(&mut rest).zip(take(&mut rest)).ok_or_else(|| bad("a record is cut short"))?;
            records.push((id_start, id_len, start, len));
        }
        if !rest.is_empty() {
            return Err(bad("bytes after the last record"));
        }
        Ok(Self { block, raw, records })
    }

    /// How many records it has.
    pub fn num_records(&self) -> usize {
        self.records.len()
    }

    /// Uncompressed bytes.
    pub(super) fn raw_len(&self) -> usize {
        self.raw.len()
    }

    /// Id terms of its records, in order.
    pub(super) fn id_terms(&self) -> impl Iterator<Item = &[u8]> {
        self.records.iter().map(|&(start, len, ..)| &self.raw[start as usize..(start + len) as usize])
    }

    /// The record at `ix` inside the block; only this one's text is looked at.
    ///
    /// # Errors
    /// If there is none or it is not UTF-8.
    pub fn record(&self, ix: usize) -> Result<Record<'_>, DocStoreError> {
        let bad = |what| DocStoreError::BadBlock { block: self.block, what };
        let &(id_start, id_len, start, len) = self.records.get(ix).ok_or_else(|| bad("has too few records"))?;
        let part = |start: u32, len: u32| &self.raw[start as usize..(start + len) as usize];
        let json = std::str::from_utf8(part(start, len)).map_err(|_| bad("a record is not UTF-8"))?;
        Ok(Record { id_term: part(id_start, id_len), json })
    }
}
