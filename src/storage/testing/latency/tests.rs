//! Tests of [`super`].

use futures_util::future::join;

use super::*;
use crate::{
    platform,
    storage::{
        Access, File, MemoryStorage, OpenOptions, ReadProfile, SequentialOptions, SequentialReader, Storage,
        conformance,
    },
};

const EXACT: ReadProfile = ReadProfile { gap_bytes: 0, ..ReadProfile::HTTP };

fn file_of(link: Link, len: usize, access: Access) -> (VirtualClock, LatencyFile<crate::storage::memory::MemoryFile>) {
    let memory = MemoryStorage::new();
    memory.insert("a", vec![7; len]);
    let clock = VirtualClock::new(link);
    let storage = LatencyStorage::new(memory, clock.clone(), EXACT);
    let file = clock.run(storage.open("a", OpenOptions { access, len: None })).expect("open");
    (clock, file)
}

#[test]
fn it_conforms() {
    let clock = VirtualClock::new(Link::REMOTE);
    let storage = LatencyStorage::new(MemoryStorage::new(), clock.clone(), ReadProfile::HTTP);
    clock.run(conformance::run_all(storage));
    assert!(clock.now_micros() > 1e6, "reading takes time");
}

#[test]
fn a_read_takes_a_round_trip_and_its_bytes() {
    let link = Link { round_trip_micros: 1_000, bytes_per_second: 1e6, in_flight: 2 };
    let (clock, file) = file_of(link, 10_000, Access::SEARCH);
    clock.run(file.read_ranges(&[0..500])).expect("read");
    assert!((clock.now_micros() - 1_500.0).abs() < 0.1, "{}", clock.now_micros());
    // Two share the bandwidth, the third waits for a slot: 500 µs each alone, 1,000 µs together.
    clock.run(file.read_ranges(&[0..500, 1_000..1_500, 2_000..2_500])).expect("read");
    assert!((clock.now_micros() - 1_500.0 - 2_000.0 - 1_500.0).abs() < 0.1, "{}", clock.now_micros());
    let stats = clock.stats();
    assert_eq!((stats.requests, stats.bytes, stats.waves, stats.max_in_flight), (4, 2_000, 2, 2));
}

#[test]
fn searches_go_before_merges() {
    let link = Link { round_trip_micros: 100, bytes_per_second: f64::INFINITY, in_flight: 1 };
    let (clock, merge) = file_of(link, 10_000, Access::MERGE);
    let mut search = merge.clone();
    search.is_search = true;
    let (merged, searched) = clock.run(join(
        async {
            merge.read_ranges(&[0..1, 10..11, 20..21]).await.expect("read");
            clock.now_micros()
        },
        async {
            search.read_ranges(&[0..1]).await.expect("read");
            clock.now_micros()
        },
    ));
    assert_eq!((merged, searched), (400.0, 200.0), "the search waits for the one under way only");
}

#[test]
fn everything_is_the_same_every_time() {
    let run = || {
        let link = Link { round_trip_micros: 777, bytes_per_second: 3e6, in_flight: 3 };
        let (clock, file) = file_of(link, 1 << 20, Access::MERGE);
        let options = SequentialOptions { window_bytes: 10_000, ahead: 4, checksum: true };
        let mut reader = SequentialReader::new(file, 0..1 << 20, options).expect("inside");
        clock.run(async {
            platform::spawn({
                let clock = clock.clone();
                async move { clock.sleep(50_000.0).await }
            });
            while !reader.next(3_000).await.expect("read").is_empty() {}
        });
        (clock.now_micros().to_bits(), clock.stats(), reader.checksum())
    };
    let first = run();
    assert_eq!(first.1.max_in_flight, 3);
    assert!(f64::from_bits(first.0) < (1 << 20) as f64 / 3e6 * 1e6 * 1.1, "reading ahead hides the round trips");
    assert_eq!(run(), first);
}

#[test]
fn a_dropped_read_leaves_the_link() {
    let link = Link { round_trip_micros: 100, bytes_per_second: f64::INFINITY, in_flight: 1 };
    let (clock, file) = file_of(link, 100, Access::SEARCH);
    let mut given_up = Box::pin(file.read_ranges(&[0..1, 10..11]));
    let noop = std::task::Waker::noop();
    assert!(given_up.as_mut().poll(&mut std::task::Context::from_waker(noop)).is_pending());
    drop(given_up);
    clock.run(file.read_ranges(&[0..1])).expect("read");
    assert_eq!(clock.now_micros(), 100.0);
}

#[test]
#[should_panic(expected = "nothing is under way")]
fn a_wait_for_nothing_is_noticed() {
    VirtualClock::new(Link::REMOTE).run(std::future::pending::<()>());
}
