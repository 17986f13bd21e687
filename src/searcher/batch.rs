//! One wave of reads: ranges of any sections of any segments, all in flight together.

#![forbid(unsafe_code)]

use std::ops::Range;

use bytes::Bytes;
use futures_util::future::try_join_all;

use crate::{
    error::{Error, ErrorKind, Result},
    ids::FieldOrd,
    index::SnapshotSegment,
    segment::{SectionKind, SectionRange},
    storage::File,
};

/// Ranges to read, gathered per segment.
#[derive(Debug, Default)]
pub(super) struct Batch {
    wants: Vec<Vec<SectionRange>>,
}

/// Where the bytes of one range will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    segment: usize,
    ix: usize,
}

/// Bytes of a finished [`Batch`].
#[derive(Debug, Default)]
pub(super) struct Fetched {
    bytes: Vec<Vec<Bytes>>,
}

impl Batch {
    /// Adds a range of a section of the segment at position `segment`.
    pub fn push(&mut self, segment: usize, kind: SectionKind, field: FieldOrd, range: Range<u64>) -> Slot {
        if self.wants.len() <= segment {
            self.wants.resize_with(segment + 1, Vec::new);
        }
        self.wants[segment].push(SectionRange { kind, field, range });
        Slot { segment, ix: self.wants[segment].len() - 1 }
    }

    /// Makes a range that was added longer.
    pub fn extend(&mut self, slot: Slot, end: u64) {
        if let Some(want) = self.wants.get_mut(slot.segment).and_then(|wants| wants.get_mut(slot.ix)) {
            want.range.end = want.range.end.max(end);
        }
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.wants.iter().all(Vec::is_empty)
    }

    /// Reads everything.
    pub async fn read<F: File>(&self, segments: &[SnapshotSegment<F>]) -> Result<Fetched> {
        let reads = self.wants.iter().zip(segments).map(|(wants, segment)| async move {
            if wants.is_empty() { Ok(Vec::new()) } else { segment.segment.reader().read(wants).await }
        });
        Ok(Fetched { bytes: try_join_all(reads).await? })
    }
}

impl Fetched {
    /// The bytes of one range.
    pub fn get(&self, slot: Slot) -> Result<&Bytes> {
        let bytes = self.bytes.get(slot.segment).and_then(|segment| segment.get(slot.ix));
        bytes.ok_or_else(|| Error::new(ErrorKind::Io, "storage answered fewer ranges than it was asked for"))
    }
}
