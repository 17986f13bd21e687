//! A merge copies and checksums a file while searches go on in it: through one handle of either kind, or each its own.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use futures_util::future::join;
use rangefind::storage::{
    Access, BlockCache, CachedFile, File, IoTrace, MemoryStorage, OpenOptions, ReadProfile, SequentialOptions,
    SequentialReader, Storage,
    conformance::Random,
    testing::{LatencyStorage, Link, VirtualClock},
};

use crate::{
    Effort,
    report::{Row, percentile},
};

/// A network block device: half a millisecond, 500 MB/s, a queue of 32.
const LINK: Link = Link { round_trip_micros: 500, bytes_per_second: 500e6, in_flight: 32 };
/// The merge works on pieces of this length.
const PIECE_BYTES: u64 = 64 << 10;
/// What copying and checksumming cost the processor: 2 GB/s, as CRC32C and a copy run here.
const WORK_BYTES_PER_MICRO: f64 = 2_000.0;
/// Windows of the handle that is sequential for all.
const WINDOW_BYTES: u32 = 1 << 20;
const ROW_BYTES: u64 = 1_540;
const ROWS_PER_QUERY: u64 = 60;
/// Between the end of a query and the start of the next.
const THINK_MICROS: f64 = 1_000.0;
/// One search for so many bytes of the file: they last about as long as the slowest merge, and are the same for all.
const QUERY_PER_BYTES: u64 = 220_000;
/// Merges per mode, each on a fresh storage with other queries; times of searches are taken together.
const MERGES: u64 = 8;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    SharedRandom,
    SharedSequential,
    Separate,
    /// Searches alone: what they cost without a merge.
    Alone,
}

struct Outcome {
    merge_millis: f64,
    search_millis: Vec<f64>,
}

/// Rows of a query: groups of 32 rows, the n-th most popular one asked for 1/n as often as the first.
fn query(random: &mut Random, rows: u64) -> Vec<Range<u64>> {
    let groups = rows / 32;
    let row = |_| {
        let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let rank = (groups as f64).powf(uniform) as u64;
        // Popular groups lie anywhere.
        let row = Random::new(rank).below(groups) * 32 + random.below(32);
        row * ROW_BYTES..(row + 1) * ROW_BYTES
    };
    (0..ROWS_PER_QUERY).map(row).collect()
}

async fn search<F: File>(file: &CachedFile<F>, ranges: &[Range<u64>]) {
    let step = file.traced(Arc::new(IoTrace::new()));
    step.prefetch(ranges);
    step.read_ranges(ranges).await.expect("read");
}

/// Copies and checksums through a handle that searches use too.
async fn merge_shared<F: File>(clock: &VirtualClock, file: &CachedFile<F>, read_ahead: bool) -> u32 {
    let (len, mut checksum, mut at) = (file.len(), 0, 0);
    while at < len {
        let end = (at + PIECE_BYTES).min(len);
        if read_ahead {
            let window = u64::from(WINDOW_BYTES);
            file.prefetch(&[end..(end + window).min(len)]);
        }
        let piece = file.read_ranges(&[at..end]).await.expect("read").pop().expect("one buffer");
        checksum = work(clock, checksum, &piece).await;
        at = end;
    }
    checksum
}

/// Copies and checksums through a handle of its own, past the cache.
async fn merge_separate<F: File>(clock: &VirtualClock, file: F) -> u32 {
    let len = file.len();
    let options = SequentialOptions::default();
    let mut reader = SequentialReader::new(file, 0..len, options).expect("the whole file");
    let mut checksum = 0;
    loop {
        let piece = reader.next(PIECE_BYTES as usize).await.expect("read");
        if piece.is_empty() {
            return checksum;
        }
        checksum = work(clock, checksum, &piece).await;
    }
}

async fn work(clock: &VirtualClock, checksum: u32, piece: &Bytes) -> u32 {
    clock.sleep(piece.len() as f64 / WORK_BYTES_PER_MICRO).await;
    crc32c::crc32c_append(checksum, piece)
}

fn measure(bytes: &Bytes, mode: Mode, seed: u64) -> Outcome {
    let num_queries = bytes.len() as u64 / QUERY_PER_BYTES;
    let memory = MemoryStorage::new();
    memory.insert("vectors", bytes.clone());
    let clock = VirtualClock::new(LINK);
    let blocks = match mode {
        Mode::SharedSequential => ReadProfile { block_bytes: WINDOW_BYTES, ..ReadProfile::LOCAL },
        _ => ReadProfile::LOCAL,
    };
    let storage = LatencyStorage::new(memory, clock.clone(), blocks);
    let open = |access| clock.run(storage.open("vectors", OpenOptions { access, len: None })).expect("open");
    let cache = BlockCache::new(bytes.len() as u64 / 8);
    let shared = cache.wrap(open(Access::SEARCH), "vectors", Access::SEARCH, &blocks);
    let own = open(Access::MERGE);

    let rows = bytes.len() as u64 / ROW_BYTES;
    let mut random = Random::new(seed);
    // Until the cache holds what is hot.
    for _ in 0..400 {
        let ranges = query(&mut random, rows);
        clock.run(search(&shared, &ranges));
    }
    let started = clock.now_micros();
    let merge = async {
        let checksum = match mode {
            Mode::SharedRandom => merge_shared(&clock, &shared, false).await,
            Mode::SharedSequential => merge_shared(&clock, &shared, true).await,
            Mode::Separate => merge_separate(&clock, own).await,
            Mode::Alone => crc32c::crc32c(bytes),
        };
        assert_eq!(checksum, crc32c::crc32c(bytes), "the merge copies what is there");
        (clock.now_micros() - started) / 1e3
    };
    let searches = async {
        let mut millis = Vec::new();
        for _ in 0..num_queries {
            let ranges = query(&mut random, rows);
            let started = clock.now_micros();
            search(&shared, &ranges).await;
            millis.push((clock.now_micros() - started) / 1e3);
            clock.sleep(THINK_MICROS).await;
        }
        millis
    };
    let (merge_millis, search_millis) = clock.run(join(merge, searches));
    Outcome { merge_millis, search_millis }
}

/// Median merge time and all search times of several merges.
fn measure_all(bytes: &Bytes, mode: Mode) -> Outcome {
    let outcomes: Vec<Outcome> = (0..MERGES).map(|seed| measure(bytes, mode, seed)).collect();
    let merges: Vec<f64> = outcomes.iter().map(|outcome| outcome.merge_millis).collect();
    let search_millis = outcomes.into_iter().flat_map(|outcome| outcome.search_millis).collect();
    Outcome { merge_millis: percentile(&merges, 50.0), search_millis }
}

pub fn run(effort: Effort) -> Vec<Row> {
    let mib = if effort == Effort::Full { 256 } else { 64 };
    let bytes = Random::new(13).bytes(mib << 20);
    let modes = [Mode::SharedRandom, Mode::SharedSequential, Mode::Separate, Mode::Alone];
    let [random, sequential, separate, alone] = modes.map(|mode| measure_all(&bytes, mode));
    let p99 = |outcome: &Outcome| percentile(&outcome.search_millis, 99.0);
    let better = |random: f64, sequential: f64| {
        if random <= sequential {
            ("one shared random handle", random)
        } else {
            ("one shared sequential handle", sequential)
        }
    };
    let setting = format!("{mib} MiB, 0.5 ms, 500 MB/s, 32 in flight, cache {} MiB", mib / 8);

    let (peer, value) = better(random.merge_millis, sequential.merge_millis);
    let time = Row::smaller_is_better("merge-access-time", separate.merge_millis, "ms", peer, value).goal(1.0).note(format!(
        "{setting}; copied and checksummed in passing at 2 GB/s while searches run: shared random {:.0} ms, shared sequential {:.0} ms, \
         separate {:.0} ms",
        random.merge_millis, sequential.merge_millis, separate.merge_millis
    ));
    let (peer, value) = better(p99(&random), p99(&sequential));
    let search = Row::smaller_is_better("merge-access-search-p99", p99(&separate), "ms", peer, value).goal(1.0).note(format!(
        "{ROWS_PER_QUERY} rows a query, popularity 1/rank, {} searches, the same for all: shared random {:.2} ms, shared sequential {:.2} ms, separate {:.2} ms; \
         p50 {:.2}, {:.2}, {:.2} ms",
        separate.search_millis.len(),
        p99(&random),
        p99(&sequential),
        p99(&separate),
        percentile(&random.search_millis, 50.0),
        percentile(&sequential.search_millis, 50.0),
        percentile(&separate.search_millis, 50.0),
    ));
    let meanwhile = Row::smaller_is_better(
        "merge-access-search-meanwhile",
        p99(&separate),
        "ms",
        "searches without a merge",
        p99(&alone),
    )
    .goal(1.0 / 1.2)
    .note("p99 with separate handles; at most 1.2 times that without a merge");
    vec![time, search, meanwhile]
}
