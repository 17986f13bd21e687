//! Collects the vectors of a field while a segment is built.

use std::{collections::VecDeque, mem};

use crate::{ids::DocOrd, schema::VectorOptions};

use super::{
    error::VectorInputError,
    meta::{self, Owners},
    query::check,
    row::{self, row_bytes},
};

/// Rows lie in pieces of about this many bytes, so that nothing large is ever moved and draining frees memory.
const CHUNK_BYTES: usize = 256 << 10;

/// Writer of one vector field of one segment.
#[derive(Debug)]
pub struct VectorsWriter {
    options: VectorOptions,
    owners: Owners,
    chunks: VecDeque<Vec<u8>>,
}

impl VectorsWriter {
    /// A writer without vectors.
    pub fn new(options: VectorOptions) -> Self {
        Self { options, owners: Owners::Dense(0), chunks: VecDeque::new() }
    }

    /// Whether `vectors` could be added: some vectors of the field's dimension one after another, all finite.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(options: &VectorOptions, vectors: &[f32]) -> Result<(), VectorInputError> {
        check(options, vectors).map(|_| ())
    }

    /// Adds the vectors of a document, one or several one after another. On an error nothing is added.
    ///
    /// # Errors
    /// See [`Self::check`]; also if there are too many vectors for one segment.
    ///
    /// # Panics
    /// If `doc` is not above the one before.
    pub fn add(&mut self, doc: DocOrd, vectors: &[f32]) -> Result<(), VectorInputError> {
        let added = check(&self.options, vectors)?;
        assert!(self.owners.last().is_none_or(|last| last < doc.0), "document {doc:?} after {:?}", self.owners.last());
        if u64::from(self.owners.count()) + added as u64 > u64::from(u32::MAX) {
            return Err(VectorInputError::TooMany { max: u32::MAX });
        }
        let row_bytes = row_bytes(&self.options);
        for vector in vectors.chunks_exact(self.options.dims as usize) {
            self.owners.push(doc);
            if self.chunks.back().is_none_or(|chunk| chunk.len() + row_bytes > chunk.capacity()) {
                self.chunks.push_back(Vec::with_capacity(CHUNK_BYTES.max(row_bytes)));
            }
            row::append(self.options.storage, vector, self.chunks.back_mut().expect("just made"));
        }
        Ok(())
    }

    /// Vectors so far.
    pub fn count(&self) -> u32 {
        self.owners.count()
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.chunks.iter().map(Vec::capacity).sum::<usize>() + self.owners.memory_bytes()
    }

    /// Rows and owners, where they are.
    pub fn into_resident(self) -> ResidentRows {
        let stride = row_bytes(&self.options);
        let mut firsts = Vec::with_capacity(self.chunks.len());
        let mut first = 0;
        for chunk in &self.chunks {
            firsts.push(first);
            first += (chunk.len() / stride) as u32;
        }
        ResidentRows { stride, owners: self.owners, firsts, chunks: self.chunks.into() }
    }

    /// Appends the metadata to `meta` and gives the rows, piece by piece. `max_doc` is the number of documents
    /// of the segment.
    ///
    /// # Panics
    /// If a document at or above `max_doc` was added.
    pub fn finish(self, max_doc: u32, meta: &mut Vec<u8>) -> RowChunks {
        assert!(self.owners.last().is_none_or(|last| last < max_doc), "{:?} of {max_doc}", self.owners.last());
        meta::write(&self.options, &self.owners, max_doc, meta);
        RowChunks { chunks: self.chunks }
    }
}

/// All rows of a field in memory, in document order.
#[derive(Debug)]
pub struct ResidentRows {
    stride: usize,
    owners: Owners,
    /// First row of each chunk.
    firsts: Vec<u32>,
    chunks: Vec<Vec<u8>>,
}

impl ResidentRows {
    /// Rows.
    pub fn count(&self) -> u32 {
        self.owners.count()
    }

    /// A row with its checksum.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, number: u32) -> &[u8] {
        let chunk = self.firsts.partition_point(|&first| first <= number) - 1;
        let start = (number - self.firsts[chunk]) as usize * self.stride;
        &self.chunks[chunk][start..start + self.stride]
    }

    /// Its document.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn doc(&self, number: u32) -> u32 {
        match &self.owners {
            Owners::Ascending(docs) => docs[number as usize],
            Owners::Dense(_) | Owners::Cells(..) => number,
        }
    }
}

/// The `vectors` stream, piece by piece; each piece is freed once it was handed out.
#[derive(Debug)]
pub struct RowChunks {
    chunks: VecDeque<Vec<u8>>,
}

impl RowChunks {
    /// Appends the next piece; false when there was none left.
    pub fn append_next(&mut self, out: &mut Vec<u8>) -> bool {
        match self.chunks.pop_front() {
            Some(chunk) if out.is_empty() && out.capacity() < chunk.len() => drop(mem::replace(out, chunk)),
            Some(chunk) => out.extend_from_slice(&chunk),
            None => return false,
        }
        true
    }

    /// Bytes of the whole stream that were not handed out yet.
    pub fn remaining_bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }
}
