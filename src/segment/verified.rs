//! Compares what comes from storage with the chunk checksums of a segment, below the cache: a block is verified
//! once, when it is loaded, and never again while it is resident.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;

use super::toc::{CHUNK_LEN, Toc};
use crate::{
    error::{Error, ErrorKind, Result},
    ids::SegmentId,
    storage::File,
};

/// Chunk checksums of one segment file.
#[derive(Debug)]
pub struct ChunkTable {
    id: SegmentId,
    sums: Bytes,
    /// Bytes of the file that the checksums cover, from 0.
    end: u64,
    /// One bit per chunk verified in a file that is whole in memory, and so cannot change. Empty otherwise.
    seen: Vec<AtomicU64>,
}

impl ChunkTable {
    /// The table whose checksum section is `sums`. `resident` says that the file is whole in memory.
    pub(super) fn new(toc: &Toc, sums: Bytes, resident: bool) -> Self {
        let words = if resident { toc.num_chunks().div_ceil(64) } else { 0 };
        Self { id: toc.id, sums, end: toc.chunked_end, seen: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// `range` grown to whole chunks, as far as it lies in the chunked part of the file.
    pub(super) fn grow(&self, range: &Range<u64>) -> Range<u64> {
        if range.is_empty() || range.start >= self.end {
            return range.clone();
        }
        let start = range.start / CHUNK_LEN * CHUNK_LEN;
        let end = if range.end >= self.end { range.end } else { range.end.next_multiple_of(CHUNK_LEN).min(self.end) };
        start..end
    }

    /// Verifies `bytes`, which [`Self::grow`] made whole and which start at `offset` of the file.
    pub(super) fn verify(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let covered = self.end.saturating_sub(offset).min(bytes.len() as u64) as usize;
        for (ix, chunk) in bytes[..covered].chunks(CHUNK_LEN as usize).enumerate() {
            let at = offset / CHUNK_LEN + ix as u64;
            let (found, expected) = (crc32c::crc32c(chunk), self.sum(at));
            if expected != Some(found) {
                let (id, start, expected) = (self.id, at * CHUNK_LEN, expected.unwrap_or(0));
                let what =
                    format!("segment {id}: chunk at offset {start} has checksum {found:08x}, expected {expected:08x}");
                return Err(Error::new(ErrorKind::Corrupt, what));
            }
        }
        Ok(())
    }

    /// Verifies the chunks around `range` of a whole file in memory, each at most once.
    pub(super) fn verify_resident(&self, whole: &[u8], range: &Range<u64>) -> Result<()> {
        let covered = range.start..range.end.min(self.end);
        if covered.is_empty() {
            return Ok(());
        }
        for chunk in covered.start / CHUNK_LEN..covered.end.div_ceil(CHUNK_LEN) {
            let bit = 1u64 << (chunk % 64);
            let word = self.seen.get((chunk / 64) as usize);
            if word.is_some_and(|word| word.load(Ordering::Relaxed) & bit != 0) {
                continue;
            }
            let (start, end) = (chunk * CHUNK_LEN, ((chunk + 1) * CHUNK_LEN).min(self.end));
            let bytes = whole.get(start as usize..end as usize).unwrap_or_default();
            self.verify(bytes, start)?;
            if bytes.is_empty() {
                let what = format!("segment {}: file ends at {}, before offset {end}", self.id, whole.len());
                return Err(Error::new(ErrorKind::Corrupt, what));
            }
            if let Some(word) = word {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Recorded checksum of one chunk.
    fn sum(&self, chunk: u64) -> Option<u32> {
        let at = usize::try_from(chunk.checked_mul(4)?).ok()?;
        let sum = self.sums.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(sum.try_into().ok()?))
    }
}

/// A segment file whose chunked part is verified as it is read. Goes below the block cache.
#[derive(Debug, Clone)]
pub struct VerifiedFile<F: File> {
    file: F,
    table: Arc<ChunkTable>,
}

impl<F: File> VerifiedFile<F> {
    /// `file` under the checksums of `table`.
    pub fn new(file: F, table: Arc<ChunkTable>) -> Self {
        Self { file, table }
    }
}

impl<F: File> File for VerifiedFile<F> {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn is_empty(&self) -> bool {
        self.file.is_empty()
    }

    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let grown: Vec<_> = ranges.iter().map(|range| self.table.grow(range)).collect();
        let found = self.file.read_ranges(&grown).await?;
        found
            .into_iter()
            .zip(ranges.iter().zip(&grown))
            .map(|(bytes, (range, grown))| {
                self.table.verify(&bytes, grown.start)?;
                let start = (range.start - grown.start) as usize;
                Ok(bytes.slice(start..start + (range.end - range.start) as usize))
            })
            .collect()
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> usize {
        let grown: Vec<_> = ranges.iter().map(|range| self.table.grow(range)).collect();
        self.file.prefetch(&grown)
    }

    /// The whole file, not verified: whoever reads it so asks the segment's reader, which remembers what it verified.
    fn as_slice(&self) -> Option<&Bytes> {
        self.file.as_slice()
    }
}
