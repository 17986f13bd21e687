//! Front-to-back reading for merges and checks: large windows ahead, no cache, a checksum in passing.

#![forbid(unsafe_code)]

use std::{collections::VecDeque, ops::Range};

use bytes::{Bytes, BytesMut};
use futures_channel::oneshot;

use super::File;
use crate::{
    error::{Error, ErrorKind, Result},
    platform,
};

/// How a [`SequentialReader`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequentialOptions {
    /// Bytes of one read, 1 MiB by default; between 1 and 4 MiB a disk and a network are both near their bandwidth.
    pub window_bytes: u32,
    /// Windows on their way while one is consumed, 1 by default, which leaves the other requests in flight to
    /// searches. The memory held is `(ahead + 1) * window_bytes`.
    pub ahead: usize,
    /// Whether to compute the CRC32C of everything consumed.
    pub checksum: bool,
}

impl Default for SequentialOptions {
    fn default() -> Self {
        Self { window_bytes: 1 << 20, ahead: 1, checksum: false }
    }
}

/// Reads a range of a file once, front to back.
///
/// Loads run in the background ([`platform::spawn`]), so a task that is itself spawned must not use it natively.
pub struct SequentialReader<F: File> {
    file: F,
    options: SequentialOptions,
    /// What is not asked for yet.
    rest: Range<u64>,
    in_flight: VecDeque<oneshot::Receiver<Result<Bytes>>>,
    /// The front window, as far as it is not consumed.
    window: Bytes,
    position: u64,
    checksum: u32,
}

impl<F: File> SequentialReader<F> {
    /// A reader of `range` of `file`. Nothing is read yet.
    ///
    /// # Errors
    /// `invalid_argument` if the range does not lie in the file.
    pub fn new(file: F, range: Range<u64>, options: SequentialOptions) -> Result<Self> {
        super::plan::check_ranges(std::slice::from_ref(&range), file.len())?;
        let mut reader = Self {
            position: range.start,
            rest: range,
            options,
            in_flight: VecDeque::new(),
            window: Bytes::new(),
            checksum: 0,
            file,
        };
        if let Some(all) = reader.file.as_slice() {
            // All of it is one window: no copy, no task.
            reader.window = all.slice(reader.rest.start as usize..reader.rest.end as usize);
            reader.rest.start = reader.rest.end;
        }
        Ok(reader)
    }

    /// Offset in the file of the next byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes left.
    pub fn remaining(&self) -> u64 {
        let in_flight = self.in_flight_bytes();
        self.window.len() as u64 + in_flight + (self.rest.end - self.rest.start)
    }

    /// CRC32C of all bytes consumed so far; 0 unless asked for in the options.
    pub fn checksum(&self) -> u32 {
        self.checksum
    }

    /// The next bytes, at most `limit` and at most a window; empty at the end only. Zero-copy.
    ///
    /// # Errors
    /// As [`File::read_ranges`]; the reader is of no further use then.
    pub async fn next(&mut self, limit: usize) -> Result<Bytes> {
        if self.window.is_empty() {
            self.window = self.next_window().await?;
        }
        let limit = limit.min(self.options.window_bytes.max(1) as usize);
        let taken = self.window.split_to(limit.min(self.window.len()));
        Ok(self.consume(taken))
    }

    /// Exactly `len` bytes; a copy where they cross windows.
    ///
    /// # Errors
    /// `corrupt` if fewer are left, and as [`File::read_ranges`].
    pub async fn read_exact(&mut self, len: usize) -> Result<Bytes> {
        if self.window.len() >= len {
            let taken = self.window.split_to(len);
            return Ok(self.consume(taken));
        }
        if self.remaining() < len as u64 {
            let context = format!("need {len} bytes at offset {}, {} are left", self.position, self.remaining());
            return Err(Error::new(ErrorKind::Corrupt, context));
        }
        let mut joined = BytesMut::with_capacity(len);
        while joined.len() < len {
            let part = self.next(len - joined.len()).await?;
            joined.extend_from_slice(&part);
        }
        Ok(joined.freeze())
    }

    fn consume(&mut self, taken: Bytes) -> Bytes {
        self.position += taken.len() as u64;
        if self.options.checksum {
            self.checksum = crc32c::crc32c_append(self.checksum, &taken);
        }
        taken
    }

    fn in_flight_bytes(&self) -> u64 {
        self.rest.start - self.position - self.window.len() as u64
    }

    async fn next_window(&mut self) -> Result<Bytes> {
        self.start_loads();
        let Some(front) = self.in_flight.pop_front() else { return Ok(Bytes::new()) };
        let landed = front.await;
        // The next one goes out before this one is worked on.
        self.start_loads();
        landed.unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, "a background read ended without an answer")))
    }

    fn start_loads(&mut self) {
        let window = u64::from(self.options.window_bytes.max(1));
        while self.in_flight.len() < self.options.ahead.max(1) && self.rest.start < self.rest.end {
            let range = self.rest.start..(self.rest.start + window).min(self.rest.end);
            self.rest.start = range.end;
            let (sender, receiver) = oneshot::channel();
            let file = self.file.clone();
            platform::spawn(async move {
                if sender.is_canceled() {
                    return;
                }
                let read = file.read_ranges(&[range]).await;
                // A reader that is gone does not want it.
                let _ = sender.send(read.map(|mut buffers| buffers.pop().unwrap_or_default()));
            });
            self.in_flight.push_back(receiver);
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[path = "sequential_tests.rs"]
mod tests;
