//! What was asked of a storage: requests, bytes, waves, per file or section and access.

#![forbid(unsafe_code)]

use std::{
    collections::BTreeMap,
    future::poll_fn,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use bytes::Bytes;

use crate::{
    error::Result,
    storage::{
        Access, CommitSlot, File, FileEntry, OpenOptions, Pattern, Purpose, ReadProfile, Storage, Writer,
        plan::{PlanLimits, ReadPlan, check_ranges},
    },
};

/// Counts of one kind of reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls of `read_ranges` and `read_slot` that asked for any byte.
    pub reads: u64,
    /// Requests, after joining near ranges as the storage's profile says.
    pub requests: u64,
    /// Bytes of those requests, gaps included.
    pub bytes: u64,
    /// Calls of `prefetch` that reached the storage.
    pub prefetches: u64,
    /// Loads that those started.
    pub loads: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.prefetches += other.prefetches;
        self.loads += other.loads;
    }
}

/// Where reads are counted: a section or file, and what for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    label: String,
    purpose: &'static str,
    pattern: &'static str,
}

#[derive(Default)]
struct Counters {
    tallies: BTreeMap<Place, Tally>,
    /// Per file, sections with names.
    sections: BTreeMap<String, Vec<(Range<u64>, String)>>,
    in_flight: u64,
    waves: u64,
    opened: u64,
    appended_bytes: u64,
}

/// Counts what goes to the storage inside.
#[derive(Clone)]
pub struct CountingStorage<S: Storage> {
    inner: S,
    counters: Arc<Mutex<Counters>>,
}

impl<S: Storage> CountingStorage<S> {
    /// Counts what goes to `inner`.
    pub fn new(inner: S) -> Self {
        Self { inner, counters: Arc::default() }
    }

    /// Counts requests that start in `range` of `file` under `label` from now on, not under the file's name.
    pub fn label_section(&self, file: &str, range: Range<u64>, label: impl Into<String>) {
        self.counters().sections.entry(file.to_owned()).or_default().push((range, label.into()));
    }

    /// All counts together.
    pub fn total(&self) -> Tally {
        self.sum(|_| true)
    }

    /// Counts under a section's label, or under the name of a file without labels.
    pub fn of(&self, label: &str) -> Tally {
        self.sum(|place| place.label == label)
    }

    /// Counts of the reads for `purpose`.
    pub fn of_purpose(&self, purpose: Purpose) -> Tally {
        self.sum(|place| place.purpose == purpose_name(purpose))
    }

    /// Rounds of reads, one after another: a round begins when a read starts while none is under way. Reads that are
    /// polled together, as in one join, are one round.
    pub fn waves(&self) -> u64 {
        self.counters().waves
    }

    /// Files opened.
    pub fn opened(&self) -> u64 {
        self.counters().opened
    }

    /// Bytes appended to files and written to slots.
    pub fn appended_bytes(&self) -> u64 {
        self.counters().appended_bytes
    }

    /// Sets everything to zero; labels stay.
    pub fn reset(&self) {
        let mut counters = self.counters();
        let sections = std::mem::take(&mut counters.sections);
        let in_flight = counters.in_flight;
        *counters = Counters { sections, in_flight, ..Counters::default() };
    }

    /// One line per section and access: `postings search random: 3 reads, 5 requests, 40960 bytes`.
    pub fn report(&self) -> String {
        let line = |(place, tally): (&Place, &Tally)| {
            let Place { label, purpose, pattern } = place;
            let Tally { reads, requests, bytes, .. } = tally;
            format!("{label} {purpose} {pattern}: {reads} reads, {requests} requests, {bytes} bytes\n")
        };
        self.counters().tallies.iter().map(line).collect()
    }

    fn sum(&self, wanted: impl Fn(&Place) -> bool) -> Tally {
        let mut sum = Tally::default();
        self.counters().tallies.iter().filter(|(place, _)| wanted(place)).for_each(|(_, tally)| sum.add(tally));
        sum
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_slot(&self, slot: CommitSlot, bytes: u64) {
        let place = Place::new(slot.file_name().to_owned(), Access::PINNED);
        let tally = Tally { reads: 1, requests: 1, bytes, ..Tally::default() };
        self.counters().tallies.entry(place).or_default().add(&tally);
    }
}

impl Place {
    fn new(label: String, access: Access) -> Self {
        let pattern = match access.pattern {
            Pattern::Random => "random",
            Pattern::Sequential => "sequential",
            Pattern::Once => "once",
        };
        Self { label, purpose: purpose_name(access.purpose), pattern }
    }
}

fn purpose_name(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Search => "search",
        Purpose::Merge => "merge",
        Purpose::Check => "check",
    }
}

/// A read under way, from its first poll to its end or drop.
struct UnderWay(Arc<Mutex<Counters>>);

impl UnderWay {
    /// Begins a read and gives the others of the same join their first poll too.
    async fn begin(counters: &Arc<Mutex<Counters>>) -> Self {
        {
            let mut counters = counters.lock().unwrap_or_else(PoisonError::into_inner);
            counters.waves += u64::from(counters.in_flight == 0);
            counters.in_flight += 1;
        }
        let under_way = Self(counters.clone());
        let mut polled = false;
        poll_fn(|context| {
            if std::mem::replace(&mut polled, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        under_way
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).in_flight -= 1;
    }
}

impl<S: Storage> Storage for CountingStorage<S> {
    type File = CountingFile<S::File>;
    type Writer = CountingWriter<S::Writer>;
    type Lock = S::Lock;

    async fn list(&self) -> Result<Vec<FileEntry>> {
        self.inner.list().await
    }

    async fn open(&self, name: &str, options: OpenOptions) -> Result<Self::File> {
        let inner = self.inner.open(name, options).await?;
        self.counters().opened += 1;
        Ok(CountingFile {
            inner,
            name: name.to_owned(),
            access: options.access,
            limits: PlanLimits::from(&self.inner.profile()),
            counters: self.counters.clone(),
        })
    }

    async fn create(&self, name: &str) -> Result<Self::Writer> {
        Ok(CountingWriter { inner: self.inner.create(name).await?, counters: self.counters.clone() })
    }

    async fn delete(&self, name: &str) -> Result<()> {
        self.inner.delete(name).await
    }

    async fn read_slot(&self, slot: CommitSlot) -> Result<Option<Bytes>> {
        let under_way = UnderWay::begin(&self.counters).await;
        let bytes = self.inner.read_slot(slot).await?;
        drop(under_way);
        self.count_slot(slot, bytes.as_ref().map_or(0, |bytes| bytes.len() as u64));
        Ok(bytes)
    }

    async fn write_slot(&self, slot: CommitSlot, bytes: Bytes) -> Result<()> {
        self.counters().appended_bytes += bytes.len() as u64;
        self.inner.write_slot(slot, bytes).await
    }

    async fn lock_writer(&self, wait_millis: u32) -> Result<S::Lock> {
        self.inner.lock_writer(wait_millis).await
    }

    fn profile(&self) -> ReadProfile {
        self.inner.profile()
    }

    fn label(&self) -> String {
        self.inner.label()
    }
}

/// A file of a [`CountingStorage`].
#[derive(Clone)]
pub struct CountingFile<F: File> {
    inner: F,
    name: String,
    access: Access,
    limits: PlanLimits,
    counters: Arc<Mutex<Counters>>,
}

impl<F: File> CountingFile<F> {
    fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, counters: &mut Counters, at: u64, tally: &Tally) {
        let sections = counters.sections.get(&self.name);
        let section = sections.and_then(|sections| sections.iter().find(|(range, _)| range.contains(&at)));
        let label = section.map_or_else(|| self.name.clone(), |(_, label)| label.clone());
        counters.tallies.entry(Place::new(label, self.access)).or_default().add(tally);
    }

    fn count_plan(&self, plan: &ReadPlan) {
        let mut counters = self.counters();
        for (at, request) in plan.requests().iter().enumerate() {
            let bytes = request.end - request.start;
            let tally = Tally { reads: u64::from(at == 0), requests: 1, bytes, ..Tally::default() };
            self.count(&mut counters, request.start, &tally);
        }
    }
}

impl<F: File> File for CountingFile<F> {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        check_ranges(ranges, self.inner.len())?;
        let plan = ReadPlan::new(ranges, self.limits);
        if plan.requests().is_empty() {
            return self.inner.read_ranges(ranges).await;
        }
        let under_way = UnderWay::begin(&self.counters).await;
        self.count_plan(&plan);
        let read = self.inner.read_ranges(ranges).await;
        drop(under_way);
        read
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> usize {
        let loads = self.inner.prefetch(ranges);
        let at = ranges.first().map_or(0, |range| range.start);
        let tally = Tally { prefetches: 1, loads: loads as u64, ..Tally::default() };
        self.count(&mut self.counters(), at, &tally);
        loads
    }

    /// Never: what is read past the counters is not counted.
    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}

/// A writer of a [`CountingStorage`].
pub struct CountingWriter<W: Writer> {
    inner: W,
    counters: Arc<Mutex<Counters>>,
}

impl<W: Writer> Writer for CountingWriter<W> {
    async fn append(&mut self, bytes: Bytes) -> Result<()> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).appended_bytes += bytes.len() as u64;
        self.inner.append(bytes).await
    }

    async fn finish(self) -> Result<u64> {
        self.inner.finish().await
    }
}

#[cfg(test)]
#[path = "counting_tests.rs"]
mod tests;
