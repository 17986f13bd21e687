//! From wanted ranges to few requests and back.
//!
//! Pure: no I/O, no await. [`ReadPlan`] sorts the wanted ranges, joins those at most a gap apart, cuts what is longer
//! than one request may be, and later cuts the answers back into what was asked. Every wanted byte is in exactly
//! one request.

#![forbid(unsafe_code)]

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::ReadProfile;
use crate::error::{Error, Result};

/// What joins ranges into one request and what bounds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanLimits {
    /// Two wanted ranges at most this far apart become one request.
    pub gap_bytes: u64,
    /// No request is longer than this; 0 counts as 1.
    pub max_request_bytes: u64,
}

impl From<&ReadProfile> for PlanLimits {
    fn from(profile: &ReadProfile) -> Self {
        Self { gap_bytes: profile.gap_bytes, max_request_bytes: profile.max_request_bytes }
    }
}

/// Requests that together bring all wanted ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPlan {
    /// As asked, in the caller's order.
    wanted: Vec<Range<u64>>,
    /// Ascending, disjoint, none empty.
    requests: Vec<Range<u64>>,
}

impl ReadPlan {
    /// Plans requests for `wanted`, in any order, overlapping and repeating as they like. Empty ranges need no
    /// request. Cost: a sort.
    ///
    /// A request ends where joining the next range would make it longer than the limit; only a range that is
    /// itself longer, or overlaps the request before it, is cut in two.
    ///
    /// # Panics
    /// If a range ends before it starts: [`check_ranges`] or [`clamp_ranges`] come first.
    pub fn new(wanted: &[Range<u64>], limits: PlanLimits) -> Self {
        let max = limits.max_request_bytes.max(1);
        let mut sorted: Vec<Range<u64>> = Vec::with_capacity(wanted.len());
        for range in wanted {
            assert!(range.start <= range.end, "range {range:?} ends before it starts");
            if range.start < range.end {
                sorted.push(range.clone());
            }
        }
        sorted.sort_unstable_by_key(|range| (range.start, range.end));
        let mut requests: Vec<Range<u64>> = Vec::new();
        for range in sorted {
            let mut start = range.start;
            if let Some(open) = requests.last_mut() {
                if range.end <= open.end {
                    continue;
                }
                let near = range.start <= open.end.saturating_add(limits.gap_bytes);
                if near && range.end - open.start <= max {
                    open.end = range.end;
                    continue;
                }
                // What the open request brings already is not asked for again.
                start = start.max(open.end);
            }
            while range.end - start > max {
                requests.push(start..start + max);
                start += max;
            }
            requests.push(start..range.end);
        }
        Self { wanted: wanted.to_vec(), requests }
    }

    /// What to ask the backend for: ascending, disjoint, none empty.
    pub fn requests(&self) -> &[Range<u64>] {
        &self.requests
    }

    /// Bytes of all requests together, gaps included.
    pub fn request_bytes(&self) -> u64 {
        self.requests.iter().map(|request| request.end - request.start).sum()
    }

    /// The wanted buffers, in the order asked, out of `answers`, one per request. Zero-copy where a range lies in
    /// one request.
    ///
    /// # Panics
    /// If an answer is not exactly as long as its request: a backend checks that before.
    pub fn assemble(&self, answers: &[Bytes]) -> Vec<Bytes> {
        assert_eq!(answers.len(), self.requests.len(), "one answer per request");
        for (request, answer) in self.requests.iter().zip(answers) {
            assert_eq!(answer.len() as u64, request.end - request.start, "answer to {request:?} has another length");
        }
        self.wanted.iter().map(|range| self.cut(range, answers)).collect()
    }

    fn cut(&self, range: &Range<u64>, answers: &[Bytes]) -> Bytes {
        if range.start == range.end {
            return Bytes::new();
        }
        let first = self.requests.partition_point(|request| request.end <= range.start);
        let part = |at: usize| {
            let request = &self.requests[at];
            let start = range.start.max(request.start) - request.start;
            let end = range.end.min(request.end) - request.start;
            // Inside an answer, whose length is a usize.
            start as usize..end as usize
        };
        if range.end <= self.requests[first].end {
            return answers[first].slice(part(first));
        }
        let mut joined = BytesMut::with_capacity((range.end - range.start) as usize);
        let mut at = first;
        while at < self.requests.len() && self.requests[at].start < range.end {
            joined.extend_from_slice(&answers[at][part(at)]);
            at += 1;
        }
        joined.freeze()
    }
}

/// Refuses ranges that end before they start or past `file_len`.
///
/// # Errors
/// `invalid_argument`, naming the first such range.
pub fn check_ranges(ranges: &[Range<u64>], file_len: u64) -> Result<()> {
    match ranges.iter().find(|range| range.start > range.end || range.end > file_len) {
        Some(range) => {
            Err(Error::invalid(format!("range {}..{} of a file of {file_len} bytes", range.start, range.end)))
        }
        None => Ok(()),
    }
}

/// What of `ranges` lies inside a file of `file_len` bytes, in the same order; nothing of it empty.
pub fn clamp_ranges(ranges: &[Range<u64>], file_len: u64) -> Vec<Range<u64>> {
    let clamped = ranges.iter().map(|range| range.start..range.end.min(file_len));
    clamped.filter(|range| range.start < range.end).collect()
}

/// Cuts `ranges` out of a file that is in memory: the read of every resident backend.
///
/// # Errors
/// As [`check_ranges`].
pub fn slice_ranges(bytes: &Bytes, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
    check_ranges(ranges, bytes.len() as u64)?;
    Ok(ranges.iter().map(|range| bytes.slice(range.start as usize..range.end as usize)).collect())
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
