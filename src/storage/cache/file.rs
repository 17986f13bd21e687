//! One file read through the cache.

#![forbid(unsafe_code)]

use std::{
    collections::{HashMap, hash_map::Entry},
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::{Bytes, BytesMut};
use futures_util::future::{join_all, try_join, try_join_all};

use super::{
    BlockCache,
    flight::{Failure, Flight, Landing, Waiting},
    state::{Found, Key},
};
use crate::{
    error::{Error, ErrorKind, Result},
    platform,
    storage::{
        Access, File, Pattern, ReadProfile,
        plan::{PlanLimits, ReadPlan, check_ranges, clamp_ranges, slice_ranges},
        trace::IoTrace,
    },
};

/// A range longer than this part of the budget passes the cache by: it would push out more than it could bring.
const LARGE_RANGE_DIVISOR: u64 = 8;
/// Fine blocks: a row of 384 floats lies in four of them, where it may lie in two of 8 KiB.
const FINE_BLOCK_BYTES: u64 = 512;
/// Fine ranges at most this far apart become one request: they are many and scattered, and who asks for them has
/// weighed requests against bytes ([`ReadProfile::gap_bytes`] is for those who have not).
pub(crate) const FINE_GAP_BYTES: u64 = 4 << 10;

/// A range of several blocks is put together, which copies it, at each read. From this length on, which takes some
/// microseconds, the copy of the second read is kept like a block of its own: the norms of a field, lists of frequent
/// words.
const MIN_JOINED_BYTES: u64 = 32 << 10;
/// Longest such copy, as part of the budget.
const JOINED_DIVISOR: u64 = 32;

/// A handle of one file that reads through a [`BlockCache`]. Clones share pins and trace; [`Self::traced`] makes a
/// handle with its own.
#[derive(Clone)]
pub struct CachedFile<F: File> {
    shared: Arc<Shared<F>>,
    handle: Arc<Handle<F>>,
    trace: Option<Arc<IoTrace>>,
}

/// What all handles of one [`BlockCache::wrap`] have in common.
struct Shared<F: File> {
    file: F,
    cache: BlockCache,
    name: String,
    len: u64,
    id: u32,
    access: Access,
    grid: Grid,
    limits: PlanLimits,
    in_flight: usize,
    large_bytes: u64,
    /// Longest range that is kept beside its blocks.
    joined_bytes: u64,
    /// Reads go straight to the file.
    bypass: bool,
}

/// Blocks that stay because of this handle: prefetched and not read yet, or read with [`Access::pin`]. The value
/// tells whether the prefetch had to load it.
struct Handle<F: File> {
    shared: Arc<Shared<F>>,
    pinned: Mutex<HashMap<u64, bool>>,
}

/// Where blocks begin and end: wide ones first, fine ones from a place on.
struct Grid {
    wide_bytes: u64,
    fine_from: u64,
    fine_bytes: u64,
}

impl Grid {
    /// Wide blocks, the last one cut off where fine ones begin.
    fn num_wide(&self) -> u64 {
        self.fine_from.div_ceil(self.wide_bytes)
    }

    /// The block that holds the byte at `offset`.
    fn block_at(&self, offset: u64) -> u64 {
        match offset.checked_sub(self.fine_from) {
            Some(behind) => self.num_wide() + behind / self.fine_bytes,
            None => offset / self.wide_bytes,
        }
    }

    fn range(&self, block: u64) -> Range<u64> {
        match block.checked_sub(self.num_wide()) {
            Some(behind) => {
                let start = self.fine_from + behind * self.fine_bytes;
                start..start.saturating_add(self.fine_bytes)
            }
            None => {
                let start = block * self.wide_bytes;
                start..start.saturating_add(self.wide_bytes).min(self.fine_from)
            }
        }
    }
}

/// A load that someone does: the block and who waits for it.
type Load = (Key, Arc<Flight>);

/// Blocks of one read that are not resident.
struct Pending<F: File> {
    /// In flight already: block and load.
    waiting: Vec<(u64, Arc<Flight>)>,
    /// This reader loads them.
    own: LoadGuard<F>,
    /// Resident ones that a prefetch of this handle brought: neither hits nor read before.
    prefetched: usize,
}

impl<F: File> CachedFile<F> {
    pub(super) fn new(
        cache: BlockCache,
        file: F,
        name: &str,
        access: Access,
        profile: &ReadProfile,
        fine_from: u64,
    ) -> Self {
        let len = file.len();
        let fine_from = if profile.is_far() { fine_from } else { u64::MAX };
        let (budget, id) = {
            let mut state = cache.state();
            (state.budget_bytes(), state.open_file(name, len))
        };
        let block_bytes = u64::from(profile.block_bytes.max(1));
        // A request is whole blocks, so that a cut never halves one.
        let max = (profile.max_request_bytes / block_bytes).max(1).saturating_mul(block_bytes);
        let shared = Arc::new(Shared {
            id,
            file,
            cache,
            name: name.to_owned(),
            len,
            access,
            grid: Grid { wide_bytes: block_bytes, fine_from, fine_bytes: FINE_BLOCK_BYTES.min(block_bytes) },
            limits: PlanLimits { gap_bytes: profile.gap_bytes, max_request_bytes: max },
            in_flight: profile.in_flight.max(1),
            large_bytes: (budget / LARGE_RANGE_DIVISOR).max(block_bytes),
            joined_bytes: budget / JOINED_DIVISOR,
            bypass: access.pattern != Pattern::Random || (budget == 0 && !access.pin),
        });
        Self { handle: Handle::new(&shared), shared, trace: None }
    }

    /// The same file with counters of one query and pins of its own, which end with this handle and its clones.
    #[must_use]
    pub fn traced(&self, trace: Arc<IoTrace>) -> Self {
        Self { shared: self.shared.clone(), handle: Handle::new(&self.shared), trace: Some(trace) }
    }

    /// The file below, past the cache.
    pub fn inner(&self) -> &F {
        &self.shared.file
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Reads past the cache.
    async fn read_direct(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if let Some(trace) = &self.trace {
            let plan = ReadPlan::new(ranges, self.shared.limits);
            if !plan.requests().is_empty() {
                trace.add_requests(plan.requests().len(), plan.request_bytes());
                trace.add_wait();
            }
        }
        self.shared.file.read_ranges(ranges).await
    }

    /// All of `ranges` if every block is resident: one lock, no copy where a range lies in one block.
    fn read_resident(&self, ranges: &[Range<u64>]) -> Option<Vec<Bytes>> {
        let shared = &self.shared;
        let mut state = shared.cache.state();
        let mut buffers = Vec::with_capacity(ranges.len());
        let mut hits = 0;
        for range in ranges {
            let blocks = shared.blocks_of(range);
            hits += blocks.end - blocks.start;
            let len = range.end.saturating_sub(range.start);
            let joined =
                (MIN_JOINED_BYTES..=shared.joined_bytes).contains(&len).then(|| Key::joined(shared.id, range.start));
            if let Some(bytes) = joined.and_then(|key| state.hit_joined(key, len)) {
                buffers.push(bytes);
                continue;
            }
            let num_blocks = blocks.end - blocks.start;
            let mut parts = blocks.map(|block| state.hit(shared.key(block), true).map(|bytes| (block, bytes)));
            let bytes = shared.join(range, &mut parts)?;
            if let Some(key) = joined.filter(|_| num_blocks > 1) {
                state.insert_joined(key, bytes.clone());
            }
            buffers.push(bytes);
        }
        drop(state);
        if let Some(trace) = &self.trace {
            trace.add_blocks(hits as usize, 0);
        }
        Some(buffers)
    }

    /// Reads through the cache: what is resident, what others load already, and the rest in one batch.
    async fn read_blocks(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let blocks = self.shared.distinct_blocks(ranges);
        let mut have: HashMap<u64, Bytes> = HashMap::with_capacity(blocks.len());
        let mut missing = blocks.clone();
        let mut counted = false;
        while !missing.is_empty() {
            let Pending { waiting, own, prefetched } = self.look_up(&missing, &mut have);
            if let (false, Some(trace)) = (counted, &self.trace) {
                counted = true;
                let hits = missing.len() - own.0.len() - waiting.len() - prefetched;
                trace.add_blocks(hits, own.0.len());
                if !(own.0.is_empty() && waiting.is_empty()) {
                    trace.add_wait();
                }
            }
            if !own.0.is_empty() {
                let requests = self.shared.requests(own.0.iter().map(|(key, _)| key.block));
                self.count_requests(&requests);
                let answers = self.shared.fetch(&requests).await;
                have.extend(own.land(&self.shared, &requests, answers)?);
            }
            let landings = join_all(waiting.iter().map(|(_, flight)| Waiting(flight.clone()))).await;
            for ((block, _), landing) in waiting.iter().zip(landings) {
                match landing {
                    Landing::Done(bytes) => drop(have.insert(*block, bytes)),
                    Landing::Failed(failure) => return Err(failure.to_error()),
                    // Looked up again in the next round.
                    Landing::Abandoned => {}
                }
            }
            missing.retain(|block| !have.contains_key(block));
        }
        self.settle_pins(&blocks);
        let buffers = ranges.iter().map(|range| {
            let mut parts =
                self.shared.blocks_of(range).map(|block| have.get(&block).map(|bytes| (block, bytes.clone())));
            self.shared.join(range, &mut parts).expect("every block of every range was read")
        });
        Ok(buffers.collect())
    }

    /// Sorts `missing` into what is resident (put into `have`), what is in flight, and what this reader loads.
    fn look_up(&self, missing: &[u64], have: &mut HashMap<u64, Bytes>) -> Pending<F> {
        let (mut waiting, mut own, mut prefetched) = (Vec::new(), Vec::new(), 0);
        let pinned = self.handle.pinned();
        let mut state = self.shared.cache.state();
        for &block in missing {
            let key = self.shared.key(block);
            let first_read = pinned.get(&block) == Some(&true);
            match state.find(key, !first_read) {
                Found::Resident(bytes) => {
                    prefetched += usize::from(first_read);
                    have.insert(block, bytes);
                }
                Found::Loading(flight) => waiting.push((block, flight)),
                Found::Started(flight) => own.push((key, flight)),
            }
        }
        drop((state, pinned));
        Pending { waiting, own: LoadGuard(own, self.shared.clone()), prefetched }
    }

    /// Pins what was read, or gives back what a prefetch had pinned for this read.
    fn settle_pins(&self, blocks: &[u64]) {
        let mut pinned = self.handle.pinned();
        if self.shared.access.pin {
            let mut state = self.shared.cache.state();
            for &block in blocks {
                pinned.entry(block).or_insert_with(|| {
                    state.pin(self.shared.key(block), self.shared.block_len(block));
                    false
                });
            }
        } else if !pinned.is_empty() {
            let mut state = self.shared.cache.state();
            for block in blocks {
                if pinned.remove(block).is_some() {
                    state.unpin(self.shared.key(*block), self.shared.block_len(*block));
                }
            }
        }
    }

    fn count_requests(&self, requests: &[Range<u64>]) {
        if let Some(trace) = &self.trace {
            trace.add_requests(requests.len(), requests.iter().map(|request| request.end - request.start).sum());
        }
    }

    /// Pins the blocks of `ranges` and takes those nobody loads yet, as far as pins fit the budget.
    fn claim(&self, ranges: &[Range<u64>]) -> LoadGuard<F> {
        let shared = &self.shared;
        let blocks = shared.distinct_blocks(ranges);
        let mut own = Vec::new();
        let mut pinned = self.handle.pinned();
        let mut state = shared.cache.state();
        for block in blocks {
            let (key, len) = (shared.key(block), shared.block_len(block));
            let absent = state.is_absent(key);
            if let Entry::Vacant(place) = pinned.entry(block) {
                if !state.can_pin(len) {
                    break;
                }
                state.pin(key, len);
                place.insert(absent);
            }
            if absent && let Found::Started(flight) = state.find(key, false) {
                own.push((key, flight));
            }
        }
        drop((state, pinned));
        if let Some(trace) = &self.trace {
            // Resident ones are counted when they are read.
            trace.add_blocks(0, own.len());
        }
        LoadGuard(own, shared.clone())
    }
}

impl<F: File> File for CachedFile<F> {
    fn len(&self) -> u64 {
        self.shared.len
    }

    fn is_empty(&self) -> bool {
        self.shared.len == 0
    }

    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if let Some(all) = self.shared.file.as_slice() {
            return slice_ranges(all, ranges);
        }
        check_ranges(ranges, self.shared.len)?;
        if self.shared.bypass {
            return self.read_direct(ranges).await;
        }
        if !self.shared.access.pin
            && self.handle.pinned().is_empty()
            && let Some(buffers) = self.read_resident(ranges)
        {
            return Ok(buffers);
        }
        let passes_by: Vec<bool> = ranges.iter().map(|range| self.shared.passes_by(range)).collect();
        if passes_by.contains(&true) {
            let pick = |wanted: bool| {
                let picked = ranges.iter().zip(&passes_by).filter(|(_, by)| **by == wanted);
                picked.map(|(range, _)| range.clone()).collect::<Vec<_>>()
            };
            let (large, small) = (pick(true), pick(false));
            let both = try_join(self.read_direct(&large), self.read_blocks(&small));
            let (large, small) = match &self.trace {
                Some(trace) => trace.wave(both).await?,
                None => both.await?,
            };
            let (mut large, mut small) = (large.into_iter(), small.into_iter());
            let in_order = passes_by.iter().map(|by| if *by { large.next() } else { small.next() });
            return Ok(in_order.map(|bytes| bytes.expect("one buffer per range")).collect());
        }
        self.read_blocks(ranges).await
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> usize {
        if self.shared.file.as_slice().is_some() {
            return 0;
        }
        if self.shared.bypass {
            return self.shared.file.prefetch(ranges);
        }
        let mut guard = self.claim(&clamp_ranges(ranges, self.shared.len));
        let requests = self.shared.requests(guard.0.iter().map(|(key, _)| key.block));
        self.count_requests(&requests);
        let lanes = self.shared.in_flight.min(requests.len());
        // Dealt in turn, so that the first requests are the first to go out.
        let mut dealt: Vec<Vec<(Range<u64>, LoadGuard<F>)>> = (0..lanes).map(|_| Vec::new()).collect();
        for (at, request) in requests.iter().enumerate() {
            let end = self.shared.blocks_of(request).end;
            let rest = guard.0.partition_point(|(key, _)| key.block < end);
            let tail = guard.0.split_off(rest);
            let loads = std::mem::replace(&mut guard.0, tail);
            dealt[at % lanes].push((request.clone(), LoadGuard(loads, self.shared.clone())));
        }
        for lane in dealt {
            platform::spawn(run_lane(lane));
        }
        requests.len()
    }

    fn as_slice(&self) -> Option<&Bytes> {
        self.shared.file.as_slice()
    }
}

/// Does the requests of one lane, one after another.
async fn run_lane<F: File>(lane: Vec<(Range<u64>, LoadGuard<F>)>) {
    for (request, guard) in lane {
        let requests = [request];
        let shared = guard.1.clone();
        let answers = shared.file.read_ranges(&requests).await;
        // Who waits is told; nobody else has asked.
        let _ = guard.land(&shared, &requests, answers);
    }
}

impl<F: File> Shared<F> {
    fn key(&self, block: u64) -> Key {
        Key { file: self.id, block }
    }

    fn block_len(&self, block: u64) -> u64 {
        let range = self.block_range(block);
        range.end - range.start
    }

    fn block_range(&self, block: u64) -> Range<u64> {
        let range = self.grid.range(block);
        range.start..range.end.min(self.len)
    }

    /// Blocks that hold `range`; none for an empty one.
    fn blocks_of(&self, range: &Range<u64>) -> Range<u64> {
        if range.start >= range.end {
            return 0..0;
        }
        self.grid.block_at(range.start)..self.grid.block_at(range.end - 1) + 1
    }

    /// Whether `range` is so long that it would push out more than it brings, and nobody has begun to load it.
    fn passes_by(&self, range: &Range<u64>) -> bool {
        range.end - range.start > self.large_bytes
            && !self.access.pin
            && self.cache.state().is_absent(self.key(self.grid.block_at(range.start)))
    }

    /// Ascending, each once.
    fn distinct_blocks(&self, ranges: &[Range<u64>]) -> Vec<u64> {
        let mut blocks: Vec<u64> = ranges.iter().flat_map(|range| self.blocks_of(range)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// Requests that bring ascending blocks.
    fn requests(&self, blocks: impl Iterator<Item = u64>) -> Vec<Range<u64>> {
        let mut wide: Vec<Range<u64>> = blocks.map(|block| self.block_range(block)).collect();
        let fine = wide.split_off(wide.partition_point(|range| range.start < self.grid.fine_from));
        let gap_bytes = self.limits.gap_bytes.min(FINE_GAP_BYTES);
        let mut requests = ReadPlan::new(&wide, self.limits).requests().to_vec();
        requests.extend_from_slice(ReadPlan::new(&fine, PlanLimits { gap_bytes, ..self.limits }).requests());
        requests
    }

    /// Does requests that [`Self::requests`] planned. Fine ones go out one by one: the file would join those that it
    /// thinks near.
    async fn fetch(&self, requests: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let fine = requests.partition_point(|request| request.start < self.grid.fine_from);
        let (wide, fine) = requests.split_at(fine);
        let one = |request| async move {
            let mut bytes = self.file.read_ranges(std::slice::from_ref(request)).await?;
            bytes.pop().ok_or_else(|| Error::new(ErrorKind::Io, "storage answered no range"))
        };
        let fine = try_join_all(fine.iter().map(one));
        if wide.is_empty() {
            return fine.await;
        }
        let (mut all, fine) = try_join(self.file.read_ranges(wide), fine).await?;
        all.extend(fine);
        Ok(all)
    }

    /// The bytes of `range` out of its blocks, which come in order; `None` as soon as one is missing.
    fn join(&self, range: &Range<u64>, parts: &mut impl Iterator<Item = Option<(u64, Bytes)>>) -> Option<Bytes> {
        let Some(first) = parts.next() else { return Some(Bytes::new()) };
        let cut = |(block, bytes): (u64, Bytes)| {
            let block_start = self.grid.range(block).start;
            let start = range.start.max(block_start) - block_start;
            let end = (range.end - block_start).min(bytes.len() as u64);
            // Inside a block, whose length is a usize.
            bytes.slice(start as usize..end as usize)
        };
        let first = cut(first?);
        if first.len() as u64 == range.end - range.start {
            return Some(first);
        }
        let mut joined = BytesMut::with_capacity((range.end - range.start) as usize);
        joined.extend_from_slice(&first);
        for part in parts {
            joined.extend_from_slice(&cut(part?));
        }
        Some(joined.freeze())
    }
}

impl<F: File> Drop for Shared<F> {
    fn drop(&mut self) {
        self.cache.state().close_file(&self.name, self.len);
    }
}

impl<F: File> Handle<F> {
    fn new(shared: &Arc<Shared<F>>) -> Arc<Self> {
        Arc::new(Self { shared: shared.clone(), pinned: Mutex::default() })
    }

    fn pinned(&self) -> MutexGuard<'_, HashMap<u64, bool>> {
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: File> Drop for Handle<F> {
    fn drop(&mut self) {
        let pinned = std::mem::take(&mut *self.pinned());
        if pinned.is_empty() {
            return;
        }
        let mut state = self.shared.cache.state();
        for block in pinned.into_keys() {
            state.unpin(self.shared.key(block), self.shared.block_len(block));
        }
    }
}

/// Loads that someone has promised, ascending. Dropped before it lands, it lets the waiters load for themselves.
struct LoadGuard<F: File>(Vec<Load>, Arc<Shared<F>>);

impl<F: File> LoadGuard<F> {
    /// Cuts the answers into blocks, makes them resident and wakes who waits; or tells them that it failed.
    /// Returns the blocks.
    fn land(
        mut self,
        shared: &Shared<F>,
        requests: &[Range<u64>],
        answers: Result<Vec<Bytes>>,
    ) -> Result<Vec<(u64, Bytes)>> {
        let answers = match answers {
            Ok(answers) => answers,
            // Another caller's cancellation is no reason for those who share the load to fail.
            Err(error) if error.kind() == ErrorKind::Aborted => return Err(error),
            Err(error) => {
                self.end(&Landing::Failed(Failure::of(&error)));
                return Err(error);
            }
        };
        let blocks: Vec<Bytes> = self
            .0
            .iter()
            .map(|(key, _)| {
                let range = shared.block_range(key.block);
                let at = requests.partition_point(|request| request.end <= range.start);
                let (request, answer) = (&requests[at], &answers[at]);
                let start = (range.start - request.start) as usize;
                let end = (range.end - request.start) as usize;
                if end - start == answer.len() {
                    answer.clone()
                } else {
                    // A copy, so that a block does not keep the whole answer in memory.
                    Bytes::copy_from_slice(&answer[start..end])
                }
            })
            .collect();
        let loads = std::mem::take(&mut self.0);
        let mut state = shared.cache.state();
        for ((key, flight), bytes) in loads.iter().zip(&blocks) {
            state.land(*key, flight, Some(bytes.clone()));
        }
        drop(state);
        let landed = loads.into_iter().zip(blocks).map(|((key, flight), bytes)| {
            flight.land(Landing::Done(bytes.clone()));
            (key.block, bytes)
        });
        Ok(landed.collect())
    }

    fn end(&mut self, landing: &Landing) {
        let loads = std::mem::take(&mut self.0);
        if loads.is_empty() {
            return;
        }
        let mut state = self.1.cache.state();
        for (key, flight) in &loads {
            state.land(*key, flight, None);
        }
        drop(state);
        loads.iter().for_each(|(_, flight)| flight.land(landing.clone()));
    }
}

impl<F: File> Drop for LoadGuard<F> {
    fn drop(&mut self) {
        self.end(&Landing::Abandoned);
    }
}
