//! The windows of a segment, read a few at a time, the next ones loading while the current ones are scored.

use bytes::Bytes;

use crate::{
    error::Result,
    storage::File,
    vectors::{RowWindow, Verify, WindowOptions},
};

use super::search::SegmentRows;

/// Bytes read per await: a few windows that go out together.
const ROUND_BYTES: u64 = 4 << 20;

/// A window of a scan: long enough for full batches, short enough that a small cache keeps it.
const WINDOW_BYTES: u64 = 128 << 10;

/// Windows on their way from a file.
pub(super) struct Rounds {
    windows: std::vec::IntoIter<RowWindow>,
    /// Requests counted when the next round was first asked for.
    requests: Option<u64>,
    /// Which rows of the round that was read to check.
    pub(super) verify: Verify,
}

impl Rounds {
    /// All rows that accepted documents of `segment` own. Reads their owners where rows lie in cell order.
    pub(super) async fn plan<F: File>(segment: &SegmentRows<'_, F>) -> Result<Self> {
        let options = WindowOptions { window_bytes: WINDOW_BYTES, ..WindowOptions::default() };
        let windows = if segment.reader.is_in_cells() {
            segment.reader.windows_of(&segment.accepted_rows().await?, &options)
        } else {
            segment.reader.windows(segment.accept, &options)
        };
        Ok(Self::of(segment, windows))
    }

    /// The given windows.
    pub(super) fn of<F: File>(segment: &SegmentRows<'_, F>, windows: Vec<RowWindow>) -> Self {
        Self { windows: windows.into_iter(), requests: num_requests(segment), verify: Verify::All }
    }

    /// How many of the windows left make the next round.
    fn next_len(windows: &[RowWindow]) -> usize {
        let mut bytes = 0;
        let fits = |window: &&RowWindow| {
            bytes += window.bytes.end - window.bytes.start;
            bytes <= ROUND_BYTES
        };
        windows.iter().take_while(fits).count().max(1).min(windows.len())
    }

    /// Reads the next round and starts loading the one after it; `None` at the end.
    pub(super) async fn read<F: File>(
        &mut self,
        segment: &SegmentRows<'_, F>,
    ) -> Result<Option<Vec<(RowWindow, Bytes)>>> {
        let len = Self::next_len(self.windows.as_slice());
        if len == 0 {
            return Ok(None);
        }
        let windows: Vec<RowWindow> = self.windows.by_ref().take(len).collect();
        let in_file = |window: &RowWindow| segment.offset + window.bytes.start..segment.offset + window.bytes.end;
        let bytes = segment.file.read_ranges(&windows.iter().map(in_file).collect::<Vec<_>>()).await?;
        let requests = num_requests(segment);
        let stayed = segment.file.as_slice().is_some() || (requests.is_some() && requests == self.requests);
        self.verify = if stayed { Verify::Unseen } else { Verify::All };
        self.requests = requests;
        let rest = self.windows.as_slice();
        let ahead: Vec<_> = rest[..Self::next_len(rest)].iter().map(in_file).collect();
        if !ahead.is_empty() {
            segment.file.prefetch(&ahead);
        }
        Ok(Some(windows.into_iter().zip(bytes).collect()))
    }
}

fn num_requests<F>(segment: &SegmentRows<'_, F>) -> Option<u64> {
    segment.trace.map(|trace| trace.counts().requests)
}
