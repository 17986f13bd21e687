//! Which bytes to ask for: windows of a scan, prefetches of a shortlist. No I/O here.

use std::ops::Range;

use crate::{bitset::BitSet, ids::DocOrd};

use super::{
    reader::VectorsReader,
    row::{VectorOrd, byte_range},
};

/// Rows that are read and scored together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowWindow {
    /// Vectors.
    pub ords: Range<u32>,
    /// Their bytes in the `vectors` stream.
    pub bytes: Range<u64>,
    /// Their documents, where rows lie in cell order and the caller has looked them up: [`NO_DOC`] for rows of no
    /// interest.
    pub docs: Option<Vec<u32>>,
}

/// Stands for the document of a row that nobody asked for: no segment has as many documents.
pub const NO_DOC: u32 = u32::MAX;

/// How a scan is cut into reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowOptions {
    /// Bytes of a window at most, one row at least. Default 1 MiB.
    pub window_bytes: u64,
    /// Rows that a filter refuses are read nevertheless where a gap of them is at most this long. Default
    /// 16 KiB; storage merges near windows once more for its own reasons.
    pub gap_bytes: u64,
}

impl Default for WindowOptions {
    fn default() -> Self {
        Self { window_bytes: 1 << 20, gap_bytes: 16 << 10 }
    }
}

impl VectorsReader {
    /// Windows that cover, in order, the vectors of all documents, or of those in `accept`.
    ///
    /// # Panics
    /// With `accept` where rows lie in cell order: see [`Self::windows_of`].
    pub fn windows(&self, accept: Option<&BitSet>, options: &WindowOptions) -> Vec<RowWindow> {
        let stride = self.stride_bytes();
        let max_rows = (options.window_bytes / stride as u64).clamp(1, u64::from(u32::MAX)) as u32;
        let max_gap = (options.gap_bytes / stride as u64).min(u64::from(u32::MAX)) as u32;
        let mut windows = Vec::new();
        let mut push_run = |run: Range<u32>| {
            for start in run.clone().step_by(max_rows as usize) {
                let ords = start..run.end.min(start.saturating_add(max_rows));
                windows.push(RowWindow { bytes: byte_range(&ords, stride), ords, docs: None });
            }
        };
        let Some(accept) = accept else {
            push_run(0..self.count());
            return windows;
        };
        let mut run: Option<Range<u32>> = None;
        for doc in accept.iter_range(0, self.max_doc()) {
            let ords = self.ords_of(DocOrd(doc));
            if ords.is_empty() {
                continue;
            }
            match &mut run {
                Some(run) if ords.start - run.end <= max_gap => run.end = ords.end,
                _ => {
                    if let Some(run) = run.replace(ords) {
                        push_run(run);
                    }
                }
            }
        }
        if let Some(run) = run {
            push_run(run);
        }
        windows
    }

    /// Windows over `rows`, pairs of vector and document, ascending by vector; with their documents.
    pub fn windows_of(&self, rows: &[(u32, u32)], options: &WindowOptions) -> Vec<RowWindow> {
        let stride = self.stride_bytes();
        let max_rows = (options.window_bytes / stride as u64).clamp(1, u64::from(u32::MAX)) as u32;
        let max_gap = (options.gap_bytes / stride as u64).min(u64::from(u32::MAX)) as u32;
        let mut windows: Vec<RowWindow> = Vec::new();
        for &(ord, doc) in rows {
            if let Some(RowWindow { ords, docs: Some(docs), .. }) = windows.last_mut()
                && ord < ords.start.saturating_add(max_rows)
                && ord - ords.end <= max_gap
            {
                docs.resize((ord - ords.start) as usize, NO_DOC);
                docs.push(doc);
                ords.end = ord + 1;
                continue;
            }
            windows.push(RowWindow { bytes: 0..0, ords: ord..ord + 1, docs: Some(vec![doc]) });
        }
        windows.iter_mut().for_each(|window| window.bytes = byte_range(&window.ords, stride));
        windows
    }

    /// Bytes to prefetch for `count` vectors from `ord` on, and how many vectors that is: clamped to those there
    /// are, empty for an `ord` beyond them.
    pub fn prefetch(&self, ord: VectorOrd, count: u32) -> (u32, Range<u64>) {
        let start = ord.0.min(self.count());
        let end = start.saturating_add(count).min(self.count());
        (end - start, byte_range(&(start..end), self.stride_bytes()))
    }

    /// Ranges to prefetch for a shortlist: runs of ordinals that follow each other in the order given become one
    /// range; nothing is sorted and nothing left out, storage does both. Ordinals that do not exist are
    /// skipped. A lone vector gives nothing: it is about to be read, and a hint would cost more than it brings.
    pub fn prefetch_ords(&self, ords: &[VectorOrd]) -> Vec<Range<u64>> {
        if ords.len() <= 1 {
            return Vec::new();
        }
        let mut runs: Vec<Range<u32>> = Vec::new();
        for ord in ords.iter().map(|ord| ord.0).filter(|&ord| ord < self.count()) {
            match runs.last_mut() {
                Some(run) if run.end == ord => run.end += 1,
                _ => runs.push(ord..ord + 1),
            }
        }
        runs.iter().map(|run| byte_range(run, self.stride_bytes())).collect()
    }
}
