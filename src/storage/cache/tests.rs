//! Tests of [`super`]: against a plain array, under failures, cancellation and a virtual clock.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, atomic::AtomicU64, atomic::Ordering},
};

use bytes::Bytes;
use futures_util::future::join;

use super::{
    flight::Landing,
    state::{Found, Key, State},
    *,
};
use crate::{
    error::{Error, ErrorKind, Result},
    platform::block_on,
    storage::{
        Access, File, IoTrace, MemoryStorage, OpenOptions, ReadProfile, Storage,
        memory::MemoryFile,
        testing::{CountingStorage, LatencyStorage, Link, VirtualClock, latency::LatencyFile},
    },
};

const PROFILE: ReadProfile =
    ReadProfile { block_bytes: 1_024, gap_bytes: 0, max_request_bytes: 1 << 20, in_flight: 4, latency_micros: 1_000 };
const LINK: Link = Link { round_trip_micros: 1_000, bytes_per_second: f64::INFINITY, in_flight: 4 };

fn content(len: usize) -> Bytes {
    (0..len).map(|at| (at * 31 + (at >> 8) * 17) as u8).collect()
}

/// A file a millisecond away.
fn remote(len: usize) -> (VirtualClock, LatencyFile<MemoryFile>, Bytes) {
    let memory = MemoryStorage::new();
    let bytes = content(len);
    memory.insert("a", bytes.clone());
    let clock = VirtualClock::new(LINK);
    let storage = LatencyStorage::new(memory, clock.clone(), PROFILE);
    let file = clock.run(storage.open("a", OpenOptions { access: Access::SEARCH, len: None })).expect("open");
    (clock, file, bytes)
}

/// A file whose first reads fail.
#[derive(Clone)]
struct Failing {
    bytes: Bytes,
    failures: Arc<AtomicU64>,
    kind: ErrorKind,
}

impl File for Failing {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let left = self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        match left {
            Ok(_) => Err(Error::new(self.kind, "as asked")),
            Err(_) => crate::storage::plan::slice_ranges(&self.bytes, ranges),
        }
    }
    fn prefetch(&self, _ranges: &[Range<u64>]) -> usize {
        0
    }
    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}

#[test]
fn reads_agree_with_the_file_under_any_budget() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for budget in [0, 1, 3_000, 20_000, 1 << 20, 2 << 20, 4 << 20] {
        let (clock, file, bytes) = remote(100_123);
        let cache = BlockCache::new(budget);
        let access = Access { pin: random.bool(), ..Access::SEARCH };
        let profile =
            ReadProfile { latency_micros: random.u32(1_000..3_000), gap_bytes: random.u64(0..9_000), ..PROFILE };
        let file = cache.wrap_fine(file, "a", access, &profile, random.u64(0..120_000));
        for _ in 0..200 {
            let handle = file.traced(Arc::new(IoTrace::new()));
            let ranges: Vec<Range<u64>> = (0..random.usize(0..8))
                .map(|_| {
                    let start = random.u64(0..=100_123);
                    let longest = if random.u8(0..6) == 0 { 90_000 } else { 4_000 };
                    start..(start + random.u64(0..longest)).min(100_123)
                })
                .collect();
            let prefetch = random.bool();
            let read = clock.run(async {
                if prefetch {
                    handle.prefetch(&ranges);
                }
                handle.read_ranges(&ranges).await.expect("read")
            });
            for (range, read) in ranges.iter().zip(read) {
                assert_eq!(read, bytes.slice(range.start as usize..range.end as usize), "{range:?}");
            }
            cache.state().check_invariants();
        }
    }
}

#[test]
fn long_ranges_are_put_together_once() {
    let (clock, file, bytes) = remote(200_000);
    let cache = BlockCache::new(8 << 20);
    let file = cache.wrap(file, "a", Access::SEARCH, &PROFILE);
    let read = |range: Range<u64>| {
        let trace = Arc::new(IoTrace::new());
        let found =
            clock.run(file.traced(trace.clone()).read_ranges(std::slice::from_ref(&range))).expect("read").remove(0);
        assert_eq!(found, bytes.slice(range.start as usize..range.end as usize), "{range:?}");
        cache.state().check_invariants();
        (found.as_ptr(), trace.counts().cache_hits)
    };
    read(3_000..100_000);
    let (second, hits) = read(3_000..100_000);
    assert_eq!(read(3_000..100_000), (second, hits), "the copy of the second read stays");
    assert_eq!(read(3_000..90_000).0, second, "and serves its beginning");
    read(3_000..150_000);
    let (longer, _) = read(3_000..150_000);
    assert_ne!(longer, second);
    assert_eq!(read(3_000..100_000).0, longer, "a longer one takes its place");
    // Blocks and one copy.
    assert_eq!(cache.stats().resident_bytes, (147 - 2) * 1_024 + 147_000);
}

#[test]
fn where_fine_blocks_begin_far_reads_bring_little_more_than_what_they_want() {
    let far = ReadProfile { latency_micros: ReadProfile::FAR_MICROS, gap_bytes: 32 << 10, ..PROFILE };
    for (fine_from, profile, fine) in [(10_300, far, true), (10_300, PROFILE, false), (u64::MAX, far, false)] {
        let (clock, file, bytes) = remote(100_000);
        let file = BlockCache::new(1 << 20).wrap_fine(file, "a", Access::SEARCH, &profile, fine_from);
        let trace = Arc::new(IoTrace::new());
        // Two of them 6,000 bytes apart, one across the border.
        let ranges = [10_000..10_500, 40_000..41_540, 47_540..49_080, 99_990..100_000];
        let read = clock.run(file.traced(trace.clone()).read_ranges(&ranges)).expect("read");
        for (range, read) in ranges.iter().zip(read) {
            assert_eq!(read, bytes.slice(range.start as usize..range.end as usize), "{range:?}");
        }
        let counts = trace.counts();
        assert_eq!(counts.waves, 1);
        if fine {
            // Of the wide part its last blocks, cut off at the border.
            assert_eq!((counts.requests, counts.bytes), (5, 10_300 - 9_216 + 512 + 2 * 2_048 + 100), "{counts:?}");
            assert_eq!(clock.now_micros(), 2_000.0, "five requests, four at a time");
        } else {
            assert!(counts.bytes >= 6 * 1_024, "{counts:?}");
        }
    }
}

#[test]
fn what_is_resident_costs_nothing() {
    let (clock, file, _) = remote(50_000);
    let cache = BlockCache::new(1 << 20);
    let file = cache.wrap(file, "a", Access::SEARCH, &PROFILE);
    clock.run(file.read_ranges(&[0..5_000])).expect("read");
    let trace = Arc::new(IoTrace::new());
    clock.run(file.traced(trace.clone()).read_ranges(&[1..2, 100..4_000])).expect("read");
    let counts = trace.counts();
    assert_eq!((counts.requests, counts.waves, counts.cache_hits, counts.cache_misses), (0, 0, 5, 0));
    assert_eq!(clock.now_micros(), 1_000.0);
}

#[test]
fn prefetch_starts_exactly_what_is_missing() {
    let (clock, file, _) = remote(50_000);
    let cache = BlockCache::new(1 << 20);
    let file = cache.wrap(file, "a", Access::SEARCH, &PROFILE);
    clock.run(async {
        file.read_ranges(&[0..1_024]).await.expect("read");
        assert_eq!(file.prefetch(&[0..1_024]), 0, "resident");
        assert_eq!(file.prefetch(&[0..3_000, 30_000..30_001]), 2, "block 0 is resident, 1 and 2 are one request");
        assert_eq!(file.prefetch(&[2_000..2_001, 30_000..30_002]), 0, "in flight");
        assert_eq!(file.prefetch(&[49_999..60_000, 70_000..80_000]), 1, "clamped to the file");
        file.read_ranges(&[0..3_000, 30_000..30_002, 49_999..50_000]).await.expect("read");
    });
    assert_eq!(clock.now_micros(), 2_000.0, "one read, then everything else at once");
    assert_eq!(clock.stats().requests, 4);
}

#[test]
fn prefetches_of_what_is_not_cached_reach_the_file_through_every_wrapper() {
    let memory = MemoryStorage::new();
    memory.insert("a", content(50_000));
    let inner = CountingStorage::new(memory);
    let outer = CountingStorage::new(inner.clone());
    // Merges read past the cache, and so does everything where there is none.
    for (round, (budget, access)) in [(1 << 20, Access::MERGE), (0, Access::SEARCH)].into_iter().enumerate() {
        let file = block_on(outer.open("a", OpenOptions { access, len: None })).expect("open");
        let file = BlockCache::new(budget).wrap(file, "a", access, &PROFILE);
        file.prefetch(&[0..3_000, 30_000..30_001]);
        let expected = round as u64 + 1;
        assert_eq!((outer.total().prefetches, inner.total().prefetches), (expected, expected), "{access:?}");
    }
    // What is cached is loaded by the cache, as reads.
    let file = block_on(outer.open("a", OpenOptions { access: Access::SEARCH, len: None })).expect("open");
    let file = BlockCache::new(1 << 20).wrap(file, "a", Access::SEARCH, &PROFILE);
    assert_eq!(file.prefetch(&[0..3_000, 30_000..30_001]), 2);
    assert_eq!(inner.total().prefetches, 2);
}

#[test]
fn no_back_off_when_half_is_resident() {
    let (clock, file, _) = remote(1 << 20);
    let cache = BlockCache::new(16 << 20);
    let file = cache.wrap(file, "a", Access::SEARCH, &PROFILE);
    // Many prefetches that find everything resident must not make the next ones lazy.
    for _ in 0..100 {
        clock.run(file.read_ranges(&[0..1_024])).expect("read");
        file.prefetch(&[0..1_024]);
    }
    for at in 1..100 {
        let range = at * 5_000..at * 5_000 + 1;
        assert_eq!(clock.run(async { file.prefetch(&[0..1, range]) }), 1, "block at {at}");
    }
}

#[test]
fn readers_share_a_load() {
    let (clock, file, bytes) = remote(10_000);
    let cache = BlockCache::new(1 << 20);
    let (one, two) =
        (cache.wrap(file.clone(), "a", Access::SEARCH, &PROFILE), cache.wrap(file, "a", Access::SEARCH, &PROFILE));
    let (first, second) = clock.run(join(one.read_ranges(&[0..10]), two.read_ranges(&[5..20])));
    assert_eq!(first.expect("read"), [bytes.slice(0..10)]);
    assert_eq!(second.expect("read"), [bytes.slice(5..20)]);
    assert_eq!(clock.stats().requests, 1);
}

#[test]
fn a_reader_that_leaves_does_not_take_the_others_along() {
    let (clock, file, bytes) = remote(10_000);
    let cache = BlockCache::new(1 << 20);
    let file = cache.wrap(file, "a", Access::SEARCH, &PROFILE);
    let mut leaving = Box::pin(file.read_ranges(&[0..10]));
    let noop = std::task::Waker::noop();
    assert!(leaving.as_mut().poll(&mut std::task::Context::from_waker(noop)).is_pending());
    assert_eq!(cache.stats().loading_blocks, 1);
    let staying = async {
        let read = file.read_ranges(&[0..10]);
        futures_util::pin_mut!(read);
        let pending = futures_util::poll!(read.as_mut()).is_pending();
        assert!(pending, "it waits for the other's load");
        drop(leaving);
        read.await
    };
    assert_eq!(clock.run(staying).expect("read"), [bytes.slice(0..10)]);
    cache.state().check_invariants();
}

#[test]
fn failures_are_told_and_never_kept() {
    for kind in [ErrorKind::Network, ErrorKind::Aborted] {
        let bytes = content(10_000);
        let failing = Failing { bytes: bytes.clone(), failures: Arc::new(AtomicU64::new(2)), kind };
        let cache = BlockCache::new(1 << 20);
        let file = cache.wrap(failing, "a", Access::SEARCH, &PROFILE);
        assert_eq!(block_on(file.read_ranges(&[0..10])).expect_err("first").kind(), kind);
        assert_eq!(cache.stats().loading_blocks, 0);
        file.prefetch(&[0..10]);
        // The prefetch fails, in the background; whoever waits for it is told, whoever comes later loads again.
        let mut reads = (0..2).map(|_| block_on(file.read_ranges(&[0..10])));
        let read = reads.find_map(Result::ok).expect("the failures are used up");
        assert_eq!(read, [bytes.slice(0..10)]);
        cache.state().check_invariants();
    }
}

#[test]
fn prefetched_blocks_stay_until_they_are_read() {
    let (clock, file, _) = remote(200_000);
    let cache = BlockCache::new(16_384);
    let file = cache.wrap(file, "a", Access::SEARCH, &PROFILE);
    let step = file.traced(Arc::new(IoTrace::new()));
    clock.run(async {
        assert_eq!(step.prefetch(&[0..4_096]), 1);
        // Others push through far more than the budget.
        for at in 50..190 {
            file.read_ranges(&[at * 1_024..at * 1_024 + 1]).await.expect("read");
        }
    });
    let before = clock.stats().requests;
    clock.run(step.read_ranges(&[0..4_096])).expect("read");
    assert_eq!(clock.stats().requests, before, "all four blocks were still there");
    assert_eq!(cache.stats().pinned_bytes, 0, "read, so no longer pinned");
}

#[test]
fn a_prefetch_beyond_the_budget_is_left_to_the_read() {
    let (clock, file, bytes) = remote(200_000);
    let cache = BlockCache::new(10 * 1_024);
    let file = cache.wrap(file, "a", Access::SEARCH, &PROFILE);
    let wanted: Vec<Range<u64>> = (0..30).map(|at| at * 3_000..at * 3_000 + 1).collect();
    let step = file.traced(Arc::new(IoTrace::new()));
    let read = clock.run(async {
        assert_eq!(step.prefetch(&wanted), 10);
        step.read_ranges(&wanted).await
    });
    let expected: Vec<Bytes> =
        wanted.iter().map(|range| bytes.slice(range.start as usize..range.end as usize)).collect();
    assert_eq!(read.expect("read"), expected);
    assert_eq!(clock.stats().requests, 30, "each once");
    drop(step);
    assert!(cache.stats().resident_bytes <= 10 * 1_024);
}

#[test]
fn pinned_handles_keep_their_blocks() {
    let (clock, file, _) = remote(200_000);
    let cache = BlockCache::new(8 * 1_024);
    let pinned = cache.wrap(file.clone(), "a", Access::PINNED, &PROFILE);
    let other = cache.wrap(file, "a", Access::SEARCH, &PROFILE);
    clock.run(async {
        pinned.read_ranges(&[0..3_000]).await.expect("read");
        for at in 20..120 {
            other.read_ranges(&[at * 1_024..at * 1_024 + 1]).await.expect("read");
        }
    });
    assert_eq!(cache.stats().pinned_bytes, 3 * 1_024);
    let before = clock.stats().requests;
    clock.run(other.read_ranges(&[0..3_000])).expect("read");
    assert_eq!(clock.stats().requests, before, "resident for all handles of the file");
    drop(pinned);
    assert_eq!(cache.stats().pinned_bytes, 0);
    drop(other);
    assert_eq!(cache.stats().resident_blocks, 0, "the last handle takes the blocks along");
}

#[test]
fn other_patterns_and_resident_files_pass_the_cache_by() {
    let memory = MemoryStorage::new();
    memory.insert("a", content(50_000));
    let cache = BlockCache::new(1 << 20);
    block_on(async {
        let counting = CountingStorage::new(memory.clone());
        let inner = counting.open("a", OpenOptions { access: Access::MERGE, len: None }).await.expect("open");
        let merge = cache.wrap(inner, "a", Access::MERGE, &PROFILE);
        merge.read_ranges(&[0..10]).await.expect("read");
        merge.read_ranges(&[0..10]).await.expect("read");
        assert_eq!(counting.total().bytes, 20, "exact ranges, nothing kept");
        assert_eq!(merge.prefetch(&[0..10]), 0);

        let inner = memory.open("a", OpenOptions { access: Access::SEARCH, len: None }).await.expect("open");
        let resident = cache.wrap(inner, "a", Access::SEARCH, &PROFILE);
        resident.read_ranges(&[0..10]).await.expect("read");
        assert_eq!(resident.prefetch(&[0..10]), 0);
        assert!(resident.as_slice().is_some());
    });
    assert_eq!(cache.stats().resident_blocks, 0);
}

#[test]
fn a_range_that_would_push_everything_out_passes_by() {
    let (clock, file, bytes) = remote(100_000);
    let cache = BlockCache::new(16 * 1_024);
    let file = cache.wrap(file, "a", Access::SEARCH, &PROFILE);
    let ranges = [10..11, 20_000..60_000, 12..13, 70_000..70_010];
    let read = clock.run(file.read_ranges(&ranges)).expect("read");
    for (range, read) in ranges.iter().zip(read) {
        assert_eq!(read, bytes.slice(range.start as usize..range.end as usize));
    }
    assert_eq!(cache.stats().resident_blocks, 2);
}

#[test]
fn a_scan_leaves_what_is_read_again() {
    let (clock, file, _) = remote(1 << 20);
    let cache = BlockCache::new(64 * 1_024);
    let file = cache.wrap(file, "a", Access::SEARCH, &PROFILE);
    let hot: Vec<Range<u64>> = (0..20).map(|at| at * 1_024..at * 1_024 + 10).collect();
    clock.run(async {
        for _ in 0..3 {
            file.read_ranges(&hot).await.expect("read");
        }
        for at in 100..1_000 {
            file.read_ranges(&[at * 1_024..at * 1_024 + 10]).await.expect("read");
        }
    });
    let before = clock.stats().requests;
    clock.run(file.read_ranges(&hot)).expect("read");
    assert_eq!(clock.stats().requests, before, "the hot blocks survived a scan of 14 times the budget");
}

/// The state under random calls, against a map of what was loaded.
#[test]
fn the_state_keeps_its_invariants() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut state = State::new(5_000);
    let mut loading = HashMap::new();
    let mut pins: Vec<(Key, u64)> = Vec::new();
    let files = [state.open_file("a", 1), state.open_file("b", 1)];
    let len_of = |key: Key| 50 + key.block % 7 * 100;
    for _ in 0..20_000 {
        let key = Key { file: files[random.usize(..2)], block: random.u64(..60) };
        match random.u32(..6) {
            0 | 1 => match state.find(key, true) {
                Found::Resident(bytes) => assert_eq!(bytes.len() as u64, len_of(key)),
                Found::Loading(_) => assert!(loading.contains_key(&key)),
                Found::Started(flight) => assert!(loading.insert(key, flight).is_none()),
            },
            2 | 3 => {
                let Some(&key) = loading.keys().next() else { continue };
                let flight = loading.remove(&key).expect("listed");
                let bytes = (random.u32(..5) > 0).then(|| Bytes::from(vec![1; len_of(key) as usize]));
                state.land(key, &flight, bytes);
                flight.land(Landing::Abandoned);
            }
            4 if state.can_pin(len_of(key)) => {
                state.pin(key, len_of(key));
                pins.push((key, len_of(key)));
            }
            _ if !pins.is_empty() => {
                let (key, len) = pins.swap_remove(random.usize(..pins.len()));
                state.unpin(key, len);
            }
            _ => {}
        }
        state.check_invariants();
    }
    assert!(state.stats().evicted_blocks > 100, "{:?}", state.stats());
    loading.into_iter().for_each(|(key, flight)| state.land(key, &flight, None));
    ["a", "b"].into_iter().for_each(|name| state.close_file(name, 1));
    assert_eq!((state.stats().resident_bytes, state.stats().resident_blocks), (0, 0));
}
