//! A storage whose reads take virtual time.

#![forbid(unsafe_code)]

use std::ops::Range;

use bytes::Bytes;
use futures_util::future::join_all;

use super::VirtualClock;
use crate::{
    error::Result,
    storage::{
        CommitSlot, File, FileEntry, OpenOptions, Purpose, ReadProfile, Storage, Writer,
        plan::{PlanLimits, ReadPlan, check_ranges},
    },
};

/// The storage inside, at the far end of a link. Reads must run under [`VirtualClock::run`]; writing, listing and
/// deleting take no time.
#[derive(Clone)]
pub struct LatencyStorage<S: Storage> {
    inner: S,
    clock: VirtualClock,
    profile: ReadProfile,
}

impl<S: Storage> LatencyStorage<S> {
    /// Puts `inner` at the far end of the link of `clock`. `profile` is what it tells its users, and how it joins
    /// ranges.
    pub fn new(inner: S, clock: VirtualClock, profile: ReadProfile) -> Self {
        Self { inner, clock, profile }
    }

    /// The clock.
    pub fn clock(&self) -> &VirtualClock {
        &self.clock
    }
}

impl<S: Storage> Storage for LatencyStorage<S> {
    type File = LatencyFile<S::File>;
    type Writer = LatencyWriter<S::Writer>;
    type Lock = S::Lock;

    async fn list(&self) -> Result<Vec<FileEntry>> {
        self.inner.list().await
    }

    async fn open(&self, name: &str, options: OpenOptions) -> Result<Self::File> {
        Ok(LatencyFile {
            inner: self.inner.open(name, options).await?,
            clock: self.clock.clone(),
            limits: PlanLimits::from(&self.profile),
            is_search: options.access.purpose == Purpose::Search,
        })
    }

    async fn create(&self, name: &str) -> Result<Self::Writer> {
        self.inner.create(name).await.map(LatencyWriter)
    }

    async fn delete(&self, name: &str) -> Result<()> {
        self.inner.delete(name).await
    }

    async fn read_slot(&self, slot: CommitSlot) -> Result<Option<Bytes>> {
        let bytes = self.inner.read_slot(slot).await?;
        self.clock.request(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64), true).await;
        Ok(bytes)
    }

    async fn write_slot(&self, slot: CommitSlot, bytes: Bytes) -> Result<()> {
        self.inner.write_slot(slot, bytes).await
    }

    async fn lock_writer(&self, wait_millis: u32) -> Result<S::Lock> {
        self.inner.lock_writer(wait_millis).await
    }

    fn profile(&self) -> ReadProfile {
        self.profile
    }

    fn label(&self) -> String {
        self.inner.label()
    }
}

/// A file at the far end of a link.
#[derive(Clone)]
pub struct LatencyFile<F: File> {
    inner: F,
    clock: VirtualClock,
    limits: PlanLimits,
    pub(super) is_search: bool,
}

impl<F: File> File for LatencyFile<F> {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        check_ranges(ranges, self.inner.len())?;
        let plan = ReadPlan::new(ranges, self.limits);
        let requests = plan.requests().iter();
        let under_way: Vec<_> =
            requests.map(|request| self.clock.request(request.end - request.start, self.is_search)).collect();
        join_all(under_way).await;
        self.inner.read_ranges(ranges).await
    }

    /// Keeps nothing, as a network does.
    fn prefetch(&self, _ranges: &[Range<u64>]) -> usize {
        0
    }

    /// Never: it is far away.
    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}

/// A writer of a [`LatencyStorage`].
pub struct LatencyWriter<W: Writer>(W);

impl<W: Writer> Writer for LatencyWriter<W> {
    async fn append(&mut self, bytes: Bytes) -> Result<()> {
        self.0.append(bytes).await
    }

    async fn finish(self) -> Result<u64> {
        self.0.finish().await
    }
}
