//! Rescoring a shortlist of 500 rows over a link of 20 ms: one read at a time, prefetched, prefetched and coalesced.

use std::{ops::Range, sync::Arc, time::Instant};

use bytes::Bytes;
use rangefind::storage::{
    Access, BlockCache, CachedFile, File, IoTrace, MemoryStorage, OpenOptions, ReadProfile, Storage,
    conformance::Random,
    memory::MemoryFile,
    testing::{LatencyStorage, Link, VirtualClock, latency::LatencyFile},
};

use super::vectors::{ROW_BYTES, Vectors, dot};
use crate::{
    Effort,
    report::{Row, percentile},
};

const SHORTLIST: usize = 500;
/// 20 ms away, six in flight, 1 Gbit/s.
const LINK: Link = Link { round_trip_micros: 20_000, bytes_per_second: 125e6, in_flight: 6 };

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// Each row is awaited before the next is asked for.
    OneByOne,
    /// All rows are asked for, each block by itself.
    Prefetch,
    /// All rows are asked for, near ones together.
    Coalesced,
}

impl Mode {
    fn profile(self) -> ReadProfile {
        let http = ReadProfile::HTTP;
        match self {
            Self::Coalesced => http,
            // No two blocks in one request.
            Self::OneByOne | Self::Prefetch => {
                ReadProfile { gap_bytes: 0, max_request_bytes: u64::from(http.block_bytes), ..http }
            }
        }
    }
}

/// What the queries of one mode and cache cost.
struct Cost {
    millis: Vec<f64>,
    requests: f64,
    kib: f64,
    best: Vec<usize>,
}

impl Cost {
    fn p(&self, at: f64) -> f64 {
        percentile(&self.millis, at)
    }
}

struct Query {
    vector: Vec<f32>,
    shortlist: Vec<usize>,
}

fn row_range(row: usize) -> Range<u64> {
    (row * ROW_BYTES) as u64..((row + 1) * ROW_BYTES) as u64
}

/// Exactly rescores a shortlist; returns the best row.
async fn rescore<F: File>(file: &CachedFile<F>, mode: Mode, query: &Query) -> usize {
    let ranges: Vec<Range<u64>> = query.shortlist.iter().map(|&row| row_range(row)).collect();
    let mut best = (f32::NEG_INFINITY, 0);
    let mut consider = |row: usize, bytes: &Bytes| {
        let score = dot(&query.vector, &Vectors::parse_row(bytes));
        if score > best.0 {
            best = (score, row);
        }
    };
    if mode == Mode::OneByOne {
        for (&row, range) in query.shortlist.iter().zip(&ranges) {
            let read = file.read_ranges(std::slice::from_ref(range)).await.expect("read");
            consider(row, &read[0]);
        }
    } else {
        file.prefetch(&ranges);
        let read = file.read_ranges(&ranges).await.expect("read");
        query.shortlist.iter().zip(&read).for_each(|(&row, bytes)| consider(row, bytes));
    }
    best.1
}

fn open(vectors: &Vectors, mode: Mode, cache_bytes: u64) -> (VirtualClock, CachedFile<LatencyFile<MemoryFile>>) {
    let memory = MemoryStorage::new();
    memory.insert("vectors", vectors.file.clone());
    let clock = VirtualClock::new(LINK);
    let storage = LatencyStorage::new(memory, clock.clone(), mode.profile());
    let file = clock.run(storage.open("vectors", OpenOptions { access: Access::SEARCH, len: None })).expect("open");
    let file = BlockCache::new(cache_bytes).wrap(file, "vectors", Access::SEARCH, &mode.profile());
    (clock, file)
}

fn measure(vectors: &Vectors, mode: Mode, cache_percent: u64, warm_up: &[Query], queries: &[Query]) -> Cost {
    let len = vectors.file.len() as u64;
    // Everything fits at 100, the cut of the last block included.
    let cache_bytes = if cache_percent == 100 { len + (1 << 20) } else { len * cache_percent / 100 };
    let (clock, file) = open(vectors, mode, cache_bytes);
    if cache_percent == 100 {
        let windows: Vec<_> = (0..len).step_by(1 << 20).map(|start| start..(start + (1 << 20)).min(len)).collect();
        windows.into_iter().for_each(|window| drop(clock.run(file.read_ranges(&[window])).expect("read")));
    }
    for query in warm_up {
        clock.run(rescore(&file, mode, query));
    }
    let (before, mut millis, mut best) = (clock.stats(), Vec::new(), Vec::new());
    for query in queries {
        let started = clock.now_micros();
        let step = file.traced(Arc::new(IoTrace::new()));
        best.push(clock.run(rescore(&step, mode, query)));
        millis.push((clock.now_micros() - started) / 1e3);
    }
    let (after, count) = (clock.stats(), queries.len() as f64);
    Cost {
        millis,
        requests: (after.requests - before.requests) as f64 / count,
        kib: (after.bytes - before.bytes) as f64 / 1_024.0 / count,
        best,
    }
}

/// Median microseconds of processor time of a rescoring whose data is resident.
fn hot_micros(vectors: &Vectors, queries: &[Query]) -> (f64, f64) {
    let handles = [Mode::OneByOne, Mode::Coalesced].map(|mode| {
        let (clock, file) = open(vectors, mode, vectors.file.len() as u64 + (1 << 20));
        for query in queries {
            clock.run(rescore(&file, mode, query));
        }
        (mode, clock, file, Vec::new())
    });
    let mut handles = handles;
    for query in queries {
        for (mode, clock, file, micros) in &mut handles {
            let started = Instant::now();
            clock.run(rescore(file, *mode, query));
            micros.push(started.elapsed().as_secs_f64() * 1e6);
        }
    }
    (percentile(&handles[0].3, 50.0), percentile(&handles[1].3, 50.0))
}

pub fn run(effort: Effort) -> Vec<Row> {
    let (count, num_queries) = if effort == Effort::Full { (100_000, 300) } else { (50_000, 100) };
    let vectors = Vectors::generate(count);
    let mut random = Random::new(20);
    let mut queries = |number: usize| -> Vec<Query> {
        let query = |_| {
            let vector = vectors.query(&mut random, 2_000);
            Query { shortlist: vectors.shortlist(&vector, SHORTLIST), vector }
        };
        (0..number).map(query).collect()
    };
    let (warm_up, measured) = (queries(num_queries / 2), queries(num_queries));

    let mut rows = Vec::new();
    let mut mixed: Option<Row> = None;
    for cache_percent in [0, 10, 50, 100] {
        let modes = [Mode::OneByOne, Mode::Prefetch, Mode::Coalesced];
        let [one, apart, ours] = modes.map(|mode| measure(&vectors, mode, cache_percent, &warm_up, &measured));
        assert!(one.best == ours.best && apart.best == ours.best, "all three find the same best rows");
        let counts = |cost: &Cost| format!("{:.0} requests, {:.0} KiB", cost.requests, cost.kib);
        let note = format!(
            "cache {cache_percent} % of {:.0} MiB, {SHORTLIST} of {count} rows, 20 ms, six in flight, 1 Gbit/s; per query: {}; one at a time {}; \
             prefetch without coalescing {}, p50 {:.0} ms, p99 {:.0} ms",
            vectors.file.len() as f64 / f64::from(1 << 20),
            counts(&ours),
            counts(&one),
            counts(&apart),
            apart.p(50.0),
            apart.p(99.0),
        );
        let name = match cache_percent {
            0 => "cold".to_owned(),
            100 => "resident".to_owned(),
            percent => format!("cache-{percent}"),
        };
        for at in [50.0, 99.0] {
            let row = Row::smaller_is_better(
                &format!("rescore-p{at}-{name}"),
                ours.p(at),
                "ms",
                "one read at a time",
                one.p(at),
            );
            rows.push(match (at, cache_percent) {
                (99.0, 0) => row.goal(15.0).note(&note),
                (99.0, 10 | 50) => row.goal(15.0).note(&note),
                _ => row,
            });
        }
        if matches!(cache_percent, 10 | 50) {
            let row =
                Row::smaller_is_better("rescore-p99-mixed", ours.p(99.0), "ms", "one read at a time", one.p(99.0));
            let row = row.goal(15.0).note(format!("the worse of 10 and 50 %, here {cache_percent} %"));
            if mixed.as_ref().is_none_or(|worst| row.ratio < worst.ratio) {
                mixed = Some(row);
            }
        }
    }
    rows.extend(mixed);
    let (one, ours) = hot_micros(&vectors, &measured[..num_queries / 4]);
    let note = "real processor time, everything resident, checksums and scores included";
    rows.push(Row::smaller_is_better("rescore-hot-cpu", ours, "µs", "one read at a time", one).note(note));
    rows
}
