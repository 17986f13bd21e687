//! The `vectors_meta` stream: what the rows are and whose.
//!
//! ```text
//! offset  size  field
//!      0     4  dims        1..=4096
//!      4     1  metric      0 cosine, 1 dot, 2 L2
//!      5     1  map         0 vector i belongs to document i; 1 ascending documents follow; 2 rows in cell order
//!      6     1  storage     of a row: 0 f32, 1 f16, 2 nvq of 8 bits, 3 nvq of 4 bits
//!      7     1  shared      0 a row per vector; 1 equal vectors share one, map 2 only
//!      8     4  count       vectors
//!     12     4  max_doc     documents of the segment
//!     16     4  num_docs    documents that have a vector
//!     20     .  map 1 only: per vector, its document minus that of the vector before (first: minus 0), as a
//!               varint of 7 bits a byte, lowest first, top bit set on all but the last
//!     20     .  map 2 only, unless num_docs is max_doc: bit set of the documents that have a vector
//!      .     .  shared 1 only: bit set of the vectors that have a row of their own, rows being in their order
//!      .    4n  shared 1 only: row of each of the other vectors, u32
//! ```
//! With map 2 owners stand in streams of their own, see [`super::owners`].
//! The caller keeps a checksum of the whole.

use std::sync::Arc;

use crate::{
    bitset::BitSet,
    codec::{Reader, Write},
    ids::DocOrd,
    schema::{Metric, VectorOptions, VectorStorage},
};

use super::{
    MAX_DIMS,
    error::VectorFormatError,
    rows::{RowMap, RowMapWriter, set_bytes},
};

const HEADER_BYTES: usize = 20;
const MAP_DENSE: u8 = 0;
const MAP_ASCENDING: u8 = 1;
const MAP_CELLS: u8 = 2;

/// Whose the vectors are: documents in ascending order, except in cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owners {
    /// Vector i belongs to document i.
    Dense(u32),
    /// Document of each vector.
    Ascending(Vec<u32>),
    /// So many vectors in the order of cells, and the documents that have one where not all do.
    Cells(u32, Option<Arc<BitSet>>),
}

/// Vectors have a row each, or share rows.
const ROWS_OWN: u8 = 0;
const ROWS_SHARED: u8 = 1;

impl Owners {
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Dense(count) => *count,
            Self::Ascending(docs) => docs.len() as u32,
            Self::Cells(count, _) => *count,
        }
    }

    /// Adds the next vector; `doc` is not below the one before.
    pub(super) fn push(&mut self, doc: DocOrd) {
        match self {
            Self::Dense(count) if *count == doc.0 => *count += 1,
            Self::Dense(count) => {
                let mut docs: Vec<u32> = (0..*count).collect();
                docs.push(doc.0);
                *self = Self::Ascending(docs);
            }
            Self::Ascending(docs) => docs.push(doc.0),
            Self::Cells(..) => unreachable!("cells are written whole"),
        }
    }

    pub(super) fn last(&self) -> Option<u32> {
        match self {
            Self::Dense(count) => count.checked_sub(1),
            Self::Ascending(docs) => docs.last().copied(),
            Self::Cells(..) => None,
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Dense(_) => 0,
            Self::Ascending(docs) => docs.capacity() * 4,
            Self::Cells(_, with_vector) => with_vector.as_ref().map_or(0, |set| set.memory_bytes()),
        }
    }
}

/// The parsed stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Meta {
    pub(super) options: VectorOptions,
    pub(super) max_doc: u32,
    pub(super) num_docs: u32,
    pub(super) owners: Owners,
    pub(super) rows: Option<RowMap>,
}

fn write_header(options: &VectorOptions, map: [u8; 2], counts: [u32; 3], out: &mut Vec<u8>) {
    out.extend_from_slice(&options.dims.to_le_bytes());
    out.extend_from_slice(&[options.metric.code(), map[0], options.storage.code(), map[1]]);
    counts.iter().for_each(|count| out.extend_from_slice(&count.to_le_bytes()));
}

/// Appends the stream for `count` vectors in cell order, of the documents in `with_vector`, which is as long as the
/// segment has documents. `rows` says which of them share rows, if some may.
pub fn write_cells_meta(
    options: &VectorOptions,
    count: u32,
    with_vector: &BitSet,
    rows: Option<RowMapWriter>,
    out: &mut Vec<u8>,
) {
    let (max_doc, num_docs) = (with_vector.len(), with_vector.count());
    let shared = if rows.is_some() { ROWS_SHARED } else { ROWS_OWN };
    write_header(options, [MAP_CELLS, shared], [count, max_doc, num_docs], out);
    if num_docs < max_doc {
        with_vector.write(out);
    }
    if let Some(rows) = rows {
        rows.write(out);
    }
}

/// Appends the stream for vectors of `docs`, ascending and below `max_doc`.
pub fn write_ordered_meta(
    options: &VectorOptions,
    docs: impl IntoIterator<Item = u32>,
    max_doc: u32,
    out: &mut Vec<u8>,
) {
    let mut owners = Owners::Dense(0);
    docs.into_iter().for_each(|doc| owners.push(DocOrd(doc)));
    write(options, &owners, max_doc, out);
}

/// Appends the stream for vectors of `owners`, all below `max_doc`.
pub(super) fn write(options: &VectorOptions, owners: &Owners, max_doc: u32, out: &mut Vec<u8>) {
    let dense = matches!(owners, Owners::Dense(count) if *count == max_doc);
    let docs = |ord: u32| match owners {
        Owners::Dense(_) | Owners::Cells(..) => ord,
        Owners::Ascending(docs) => docs[ord as usize],
    };
    let num_docs = (0..owners.count()).filter(|&ord| ord == 0 || docs(ord) != docs(ord - 1)).count() as u32;
    let map = if dense { MAP_DENSE } else { MAP_ASCENDING };
    write_header(options, [map, ROWS_OWN], [owners.count(), max_doc, num_docs], out);
    if !dense {
        let mut before = 0;
        for ord in 0..owners.count() {
            let doc = docs(ord);
            out.put_vint(doc - before);
            before = doc;
        }
    }
}

fn read_u32(bytes: &[u8; HEADER_BYTES], offset: usize) -> u32 {
    u32::from_le_bytes([bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]])
}

impl Meta {
    /// Parses and verifies: after this every owner is below `max_doc` and ascending.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, VectorFormatError> {
        let short = VectorFormatError::MetaLength { found: bytes.len(), expected: HEADER_BYTES as u64 };
        let (header, map) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(short)?;
        let bad = |what, value: u32| VectorFormatError::Meta { what, value: value.into() };
        let dims = read_u32(header, 0);
        if !(1..=MAX_DIMS).contains(&dims) {
            return Err(bad("dims", dims));
        }
        let metric = Metric::from_code(header[4]).ok_or(bad("metric", header[4].into()))?;
        let storage = VectorStorage::from_code(header[6]).ok_or(bad("storage", header[6].into()))?;
        if header[7] > ROWS_SHARED || (header[7] == ROWS_SHARED && header[5] != MAP_CELLS) {
            return Err(bad("shared rows", header[7].into()));
        }
        let (count, max_doc, num_docs) = (read_u32(header, 8), read_u32(header, 12), read_u32(header, 16));
        let mut rows = None;
        let owners = match header[5] {
            MAP_DENSE if count == max_doc && map.is_empty() => Owners::Dense(count),
            MAP_DENSE if map.is_empty() => return Err(bad("count of a dense map", count)),
            MAP_DENSE => {
                let (found, expected) = (bytes.len(), HEADER_BYTES as u64);
                return Err(VectorFormatError::MetaLength { found, expected });
            }
            MAP_ASCENDING => read_ascending(map, count, max_doc)?,
            MAP_CELLS if num_docs > count || num_docs > max_doc => {
                return Err(bad("documents with a vector", num_docs));
            }
            MAP_CELLS => {
                // The set of documents in front, the map of rows behind it.
                let set = if num_docs == max_doc { 0 } else { set_bytes(max_doc) };
                let at = if header[7] == ROWS_SHARED { set.min(map.len()) } else { map.len() };
                if header[7] == ROWS_SHARED {
                    rows = Some(RowMap::parse(&map[at..], count)?);
                }
                Owners::Cells(count, read_with_vector(&map[..at], max_doc, num_docs)?)
            }
            other => return Err(bad("map", other.into())),
        };
        let meta = Self {
            options: VectorOptions { storage, ..VectorOptions::new(dims, metric) },
            max_doc,
            num_docs,
            owners,
            rows,
        };
        let distinct = match &meta.owners {
            Owners::Dense(count) => *count,
            Owners::Ascending(docs) => docs.chunk_by(|a, b| a == b).count() as u32,
            Owners::Cells(_, with_vector) => with_vector.as_ref().map_or(max_doc, |set| set.count()),
        };
        if distinct == num_docs { Ok(meta) } else { Err(bad("documents with a vector", num_docs)) }
    }
}

fn read_with_vector(map: &[u8], max_doc: u32, num_docs: u32) -> Result<Option<Arc<BitSet>>, VectorFormatError> {
    let length = |expected: u64| VectorFormatError::MetaLength { found: HEADER_BYTES + map.len(), expected };
    if num_docs == max_doc {
        return if map.is_empty() { Ok(None) } else { Err(length(HEADER_BYTES as u64)) };
    }
    let expected = HEADER_BYTES as u64 + 4 + u64::from(max_doc).div_ceil(64) * 8;
    let set = BitSet::parse(map).map_err(|_| length(expected))?;
    if set.len() == max_doc { Ok(Some(Arc::new(set))) } else { Err(length(expected)) }
}

fn read_ascending(map: &[u8], count: u32, max_doc: u32) -> Result<Owners, VectorFormatError> {
    let length = |expected: u64| VectorFormatError::MetaLength { found: HEADER_BYTES + map.len(), expected };
    // Each owner takes a byte at least: a damaged count cannot make this allocate more than the input is long.
    if map.len() < count as usize {
        return Err(length(HEADER_BYTES as u64 + u64::from(count)));
    }
    let mut docs = Vec::with_capacity(count as usize);
    let (mut reader, mut doc) = (Reader::new(map), 0u32);
    for ord in 0..count {
        let delta = reader.vint().map_err(|_| VectorFormatError::DocOrder { ord })?;
        doc = doc.checked_add(delta).filter(|&doc| doc < max_doc).ok_or(VectorFormatError::DocOrder { ord })?;
        docs.push(doc);
    }
    if reader.is_empty() { Ok(Owners::Ascending(docs)) } else { Err(length((HEADER_BYTES + reader.offset()) as u64)) }
}
