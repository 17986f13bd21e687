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
    /// Rows: vectors, unless equal ones share theirs ([`VectorsReader::row_of`]).
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
            push_run(0..self.num_rows());
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

    /// Windows over the rows of `vectors`, pairs of vector and document, ascending by vector; with their documents. A row
    /// that several of them share is in as many windows, those of each document behind those of the one before.
    pub fn windows_of(&self, vectors: &[(u32, u32)], options: &WindowOptions) -> Vec<RowWindow> {
        if !self.has_shared_rows() {
            return self.row_windows(vectors, options);
        }
        let mut pairs: Vec<(u32, u32)> = vectors.iter().map(|&(ord, doc)| (self.row_of(ord), doc)).collect();
        pairs.sort_unstable();
        let same_row = pairs.chunk_by(|a, b| a.0 == b.0);
        let mut turns: Vec<(u32, (u32, u32))> = same_row.flat_map(|pairs| (0..).zip(pairs.iter().copied())).collect();
        turns.sort_unstable();
        let mut windows = Vec::new();
        for turn in turns.chunk_by(|a, b| a.0 == b.0) {
            pairs.clear();
            pairs.extend(turn.iter().map(|(_, pair)| pair));
            windows.extend(self.row_windows(&pairs, options));
        }
        windows
    }

    /// Windows over `rows`, pairs of row and document, ascending by row; with their documents.
    pub fn row_windows(&self, rows: &[(u32, u32)], options: &WindowOptions) -> Vec<RowWindow> {
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

    /// Bytes to prefetch for `count` rows from `ord` on, and how many rows that is: clamped to those there
    /// are, empty for an `ord` beyond them.
    pub fn prefetch(&self, ord: VectorOrd, count: u32) -> (u32, Range<u64>) {
        let start = ord.0.min(self.num_rows());
        let end = start.saturating_add(count).min(self.num_rows());
        (end - start, byte_range(&(start..end), self.stride_bytes()))
    }

    /// Ranges to prefetch for a shortlist: ordinals become rows, and runs of rows that follow each other in the order given
    /// become one range; nothing is sorted and nothing left out, storage does both. Ordinals that do not exist are
    /// skipped. A lone vector gives nothing: it is about to be read, and a hint would cost more than it brings.
    pub fn prefetch_ords(&self, ords: &[VectorOrd]) -> Vec<Range<u64>> {
        if ords.len() <= 1 {
            return Vec::new();
        }
        let mut runs: Vec<Range<u32>> = Vec::new();
        for ord in ords.iter().filter(|ord| ord.0 < self.count()).map(|ord| self.row_of(ord.0)) {
            match runs.last_mut() {
                Some(run) if run.end == ord => run.end += 1,
                _ => runs.push(ord..ord + 1),
            }
        }
        runs.iter().map(|run| byte_range(run, self.stride_bytes())).collect()
    }
}
