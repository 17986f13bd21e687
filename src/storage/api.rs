//! The traits and the words of storage.
//!
//! [`Storage`] names files, [`File`] reads ranges of one, [`Writer`] makes a new one. There is no shared
//! cursor and no shared advice: [`Access`] belongs to a handle, so a merge reads sequentially past the cache
//! while searches keep theirs. Reads are batches: the caller names all ranges it needs, one await brings them.
//!
//! No method has a default body: a wrapper that forgets to forward one does not compile.

#![forbid(unsafe_code)]

use std::{future::Future, ops::Range};

use bytes::Bytes;

use crate::{
    error::Result,
    platform::{MaybeSend, MaybeSync},
};

/// How a handle will be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Small ranges anywhere: exact blocks, kept in the cache.
    Random,
    /// Front to back: reads of 1–4 MiB ahead, little or no cache.
    Sequential,
    /// Each byte at most once, in any order: no cache.
    Once,
}

/// What the reads are for; decides who may displace whom in the cache and how they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A query.
    Search,
    /// A merge.
    Merge,
    /// A full verification.
    Check,
}

/// Access policy of one handle. Fixed for the life of the handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// How it will be read.
    pub pattern: Pattern,
    /// What the reads are for.
    pub purpose: Purpose,
    /// Keep what was read in the cache until the handle is dropped (metadata).
    pub pin: bool,
}

impl Access {
    /// Random reads of a query.
    pub const SEARCH: Self = Self { pattern: Pattern::Random, purpose: Purpose::Search, pin: false };
    /// Metadata of an open segment.
    pub const PINNED: Self = Self { pattern: Pattern::Random, purpose: Purpose::Search, pin: true };
    /// Front-to-back reads of a merge.
    pub const MERGE: Self = Self { pattern: Pattern::Sequential, purpose: Purpose::Merge, pin: false };
    /// Front-to-back reads of a verification.
    pub const CHECK: Self = Self { pattern: Pattern::Sequential, purpose: Purpose::Check, pin: false };
}

/// What a backend likes to be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadProfile {
    /// Cache block, bytes, a power of two.
    pub block_bytes: u32,
    /// Two wanted ranges at most this far apart become one request.
    pub gap_bytes: u64,
    /// No request is longer than this.
    pub max_request_bytes: u64,
    /// Requests in flight at a time.
    pub in_flight: usize,
    /// A read of one small range waits about this long, microseconds. Decides between walking and probing.
    pub latency_micros: u32,
}

impl ReadProfile {
    /// From this latency on a read takes long: bytes and rounds are weighed.
    pub const FAR_MICROS: u32 = 2_000;

    /// Whether a read takes long.
    pub const fn is_far(&self) -> bool {
        self.latency_micros >= Self::FAR_MICROS
    }

    /// Bytes that are in memory anyway.
    pub const MEMORY: Self =
        Self { block_bytes: 4 << 10, gap_bytes: 0, max_request_bytes: u64::MAX, in_flight: 1, latency_micros: 0 };
    /// Local disks: a read costs about as much as 16 KiB of transfer.
    pub const LOCAL: Self = Self {
        block_bytes: 8 << 10,
        gap_bytes: 16 << 10,
        max_request_bytes: 4 << 20,
        in_flight: 8,
        latency_micros: 100,
    };
    /// Files of the browser's private file system behind a synchronous handle.
    pub const OPFS: Self =
        Self { block_bytes: 8 << 10, gap_bytes: 8 << 10, max_request_bytes: 4 << 20, in_flight: 4, latency_micros: 50 };
    /// Range requests: six connections to a host over HTTP/1.1, tens of milliseconds each.
    pub const HTTP: Self = Self {
        block_bytes: 8 << 10,
        gap_bytes: 32 << 10,
        max_request_bytes: 4 << 20,
        in_flight: 6,
        latency_micros: 40_000,
    };
}

/// A file and its length, as [`Storage::list`] tells them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Flat name, no separators: `[A-Za-z0-9._-]{1,128}`.
    pub name: String,
    /// Bytes.
    pub len: u64,
}

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Policy of the handle.
    pub access: Access,
    /// Length the index has on record. Backends that would need a request to learn it trust this one;
    /// the others compare and fail with `corrupt` on a difference.
    pub len: Option<u64>,
}

/// One of the two alternating commit slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommitSlot {
    /// `commit-a.rf`
    A,
    /// `commit-b.rf`
    B,
}

impl CommitSlot {
    /// Both slots.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// Name of the file that holds the slot.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::A => "commit-a.rf",
            Self::B => "commit-b.rf",
        }
    }
}

/// A flat namespace of write-once files and two replaceable commit slots. Clones are the same storage.
pub trait Storage: Clone + MaybeSend + MaybeSync + 'static {
    /// Handle for reading.
    type File: File;
    /// Handle for writing a new file.
    type Writer: Writer;
    /// Held while one writer owns the storage; dropping it gives it back.
    type Lock: MaybeSend + MaybeSync + 'static;

    /// Every file, slots included, in no order.
    ///
    /// # Errors
    /// `read_only` where the backend cannot list (HTTP).
    fn list(&self) -> impl Future<Output = Result<Vec<FileEntry>>> + MaybeSend;

    /// Opens a finished file for reading.
    ///
    /// # Errors
    /// `not_found`; `corrupt` if the length differs from [`OpenOptions::len`].
    fn open(&self, name: &str, options: OpenOptions) -> impl Future<Output = Result<Self::File>> + MaybeSend;

    /// Starts a new file. Names are never reused: an existing finished file is an error, a leftover of an
    /// interrupted write is replaced.
    ///
    /// # Errors
    /// `read_only`, `quota`, `invalid_argument` for a bad name.
    fn create(&self, name: &str) -> impl Future<Output = Result<Self::Writer>> + MaybeSend;

    /// Removes a file; one that is absent is no error.
    fn delete(&self, name: &str) -> impl Future<Output = Result<()>> + MaybeSend;

    /// Reads one commit slot whole; `None` if it was never written.
    fn read_slot(&self, slot: CommitSlot) -> impl Future<Output = Result<Option<Bytes>>> + MaybeSend;

    /// Replaces one commit slot. Durable when it returns. A crash in between may leave the slot damaged,
    /// never the other slot or any finished file.
    fn write_slot(&self, slot: CommitSlot, bytes: Bytes) -> impl Future<Output = Result<()>> + MaybeSend;

    /// Becomes the only writer, waiting at most `wait_millis` for another one to end. A holder that died
    /// loses the lock by itself within seconds.
    ///
    /// # Errors
    /// `locked`, saying who holds it where that is known; `read_only`.
    fn lock_writer(&self, wait_millis: u32) -> impl Future<Output = Result<Self::Lock>> + MaybeSend;

    /// What this backend likes to be asked for.
    fn profile(&self) -> ReadProfile;

    /// Where it is, for error messages and `info`: `opfs:notes`, `https://example.org/index/`.
    fn label(&self) -> String;
}

/// One immutable file. Clones share the handle.
pub trait File: Clone + MaybeSend + MaybeSync + 'static {
    /// Bytes.
    fn len(&self) -> u64;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> bool;

    /// Reads `ranges` in the order given; they may overlap and repeat. Near ones become one request, distant
    /// ones go out in parallel. An empty range yields an empty buffer.
    ///
    /// # Errors
    /// If a range ends past the file: `invalid_argument`. Never a short buffer.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> impl Future<Output = Result<Vec<Bytes>>> + MaybeSend;

    /// Starts loading what of `ranges` is neither resident nor in flight and returns how many loads it
    /// started: 0 from a backend that keeps nothing, so that the caller does not defer for nothing.
    /// Parts past the end of the file are ignored.
    fn prefetch(&self, ranges: &[Range<u64>]) -> usize;

    /// The whole file where it is in memory anyway: no await, no copy.
    fn as_slice(&self) -> Option<&Bytes>;
}

/// Writes one new file, front to back. Dropping it unfinished leaves nothing a reader would accept.
pub trait Writer: MaybeSend + 'static {
    /// Appends bytes.
    ///
    /// # Errors
    /// `quota`, `io`. After an error the writer is of no further use.
    fn append(&mut self, bytes: Bytes) -> impl Future<Output = Result<()>> + MaybeSend;

    /// Makes the file durable and visible; returns its length.
    fn finish(self) -> impl Future<Output = Result<u64>> + MaybeSend;
}
