//! What one query cost storage: requests, bytes, cache hits, waves.

#![forbid(unsafe_code)]

use std::{
    future::Future,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

/// Counters of one query, shared by all handles made with [`super::CachedFile::traced`].
#[derive(Debug, Default)]
pub struct IoTrace {
    requests: AtomicU64,
    bytes: AtomicU64,
    cache_hits: AtomicU64,
    cache_misses: AtomicU64,
    waves: AtomicU64,
    /// Reads that had to wait for a request.
    waits: AtomicU64,
    open_waves: AtomicU32,
}

/// Values of an [`IoTrace`] at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoCounts {
    /// Requests to the backend, after coalescing.
    pub requests: u64,
    /// Bytes they brought, gaps and block edges included.
    pub bytes: u64,
    /// Cache blocks that were resident when they were asked for.
    pub cache_hits: u64,
    /// Cache blocks that were not.
    pub cache_misses: u64,
    /// Rounds of requests that had to be waited for, one after another.
    pub waves: u64,
}

impl IoTrace {
    /// All zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Awaits `batch`, all the reads of one step together, and counts one wave if any of them waited for a request.
    /// Reads outside of any `wave` count one each; a wave inside another is part of it.
    pub async fn wave<T>(&self, batch: impl Future<Output = T>) -> T {
        let open = OpenWave::new(self);
        let output = batch.await;
        drop(open);
        output
    }

    /// The counters now.
    pub fn counts(&self) -> IoCounts {
        IoCounts {
            requests: self.requests.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            cache_hits: self.cache_hits.load(Relaxed),
            cache_misses: self.cache_misses.load(Relaxed),
            waves: self.waves.load(Relaxed),
        }
    }

    /// Counts requests that were started.
    pub fn add_requests(&self, requests: usize, bytes: u64) {
        self.requests.fetch_add(requests as u64, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts cache blocks.
    pub fn add_blocks(&self, hits: usize, misses: usize) {
        self.cache_hits.fetch_add(hits as u64, Relaxed);
        self.cache_misses.fetch_add(misses as u64, Relaxed);
    }

    /// Counts a read that waits for at least one request.
    pub fn add_wait(&self) {
        self.waits.fetch_add(1, Relaxed);
        if self.open_waves.load(Relaxed) == 0 {
            self.waves.fetch_add(1, Relaxed);
        }
    }
}

/// Closes the wave also when its future is dropped half way.
struct OpenWave<'a> {
    trace: &'a IoTrace,
    waits_before: u64,
    outermost: bool,
}

impl<'a> OpenWave<'a> {
    fn new(trace: &'a IoTrace) -> Self {
        let outermost = trace.open_waves.fetch_add(1, Relaxed) == 0;
        Self { trace, waits_before: trace.waits.load(Relaxed), outermost }
    }
}

impl Drop for OpenWave<'_> {
    fn drop(&mut self) {
        self.trace.open_waves.fetch_sub(1, Relaxed);
        if self.outermost && self.trace.waits.load(Relaxed) > self.waits_before {
            self.trace.waves.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::block_on;

    #[test]
    fn a_wave_counts_once_and_only_if_something_waited() {
        let trace = IoTrace::new();
        block_on(trace.wave(async {}));
        assert_eq!(trace.counts().waves, 0);
        block_on(trace.wave(async {
            trace.add_wait();
            trace.wave(async { trace.add_wait() }).await;
        }));
        assert_eq!(trace.counts().waves, 1);
        trace.add_wait();
        assert_eq!(trace.counts().waves, 2);
    }
}
