//! The native HTTP backend against a real server that misbehaves: each case gives the right bytes or its own error.
//!
//! Needs the feature `http` and Node on the path.
#![cfg(all(feature = "http", not(target_arch = "wasm32")))]

mod servers;

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use rangefind::{
    Error, ErrorKind,
    platform::block_on,
    storage::{
        Access, BlockCache, CommitSlot, File, IoTrace, OpenOptions, Storage, conformance,
        http::{HttpFile, HttpOptions, HttpStorage, RetryPolicy},
    },
};
use servers::Server;

const LEN: u64 = 100_000;
const QUICK: RetryPolicy = RetryPolicy { attempts: 3, base_millis: 5, max_millis: 20, max_retry_after_millis: 2_000 };

fn open(server: &Server, with: &str) -> HttpFile {
    open_len(server, with, Some(LEN)).expect("nothing is requested yet")
}

fn open_len(server: &Server, with: &str, len: Option<u64>) -> Result<HttpFile, Error> {
    let options = HttpOptions { retry: QUICK, ..HttpOptions::default() };
    let storage = HttpStorage::new(&format!("{}/?gen={LEN}&{with}", server.address()), options).expect("an address");
    block_on(storage.open("data.bin", OpenOptions { access: Access::SEARCH, len }))
}

fn generated(range: std::ops::Range<u64>) -> Bytes {
    range.map(|at| ((at * 31 + (at >> 8) * 17) & 255) as u8).collect()
}

/// Reads three distant ranges; they must be right if they come.
fn read(file: &HttpFile) -> Result<(), Error> {
    let ranges = [10..20, 40_000..40_010, 90_000..90_100];
    let read = block_on(file.read_ranges(&ranges))?;
    for (range, bytes) in ranges.into_iter().zip(read) {
        assert_eq!(bytes, generated(range.clone()), "{range:?}");
    }
    Ok(())
}

#[track_caller]
fn fails(with: &str, kind: ErrorKind, message: &str) {
    let server = Server::start(None);
    let error = read(&open(&server, with)).expect_err(with);
    assert_eq!(error.kind(), kind, "{with}: {error}");
    assert!(error.to_string().contains(message), "{with}: {error}");
}

#[test]
fn http_conforms() {
    let fixture = conformance::Fixture::new();
    let directory = tempfile::tempdir().expect("a directory");
    for (name, bytes) in fixture.files() {
        std::fs::write(directory.path().join(name), bytes).expect("write");
    }
    let server = Server::start(Some(directory.path()));
    let storage = HttpStorage::new(server.address(), HttpOptions::default()).expect("an address");
    assert!(block_on(conformance::run_read_only(storage, &fixture)) > 10);
    assert_eq!(server.stats("preflights"), 0);
}

#[test]
fn good_answers_are_read() {
    let server = Server::start(None);
    for with in ["", "etag=none", "etag=weak", "hide", "cors=none", "slow=30"] {
        read(&open(&server, with)).unwrap_or_else(|error| panic!("{with}: {error}"));
    }
    assert_eq!(open_len(&server, "", None).expect("learned").len(), LEN);
}

#[test]
fn a_server_without_ranges_is_named() {
    fails("do=ignore-range", ErrorKind::RangeUnsupported, "does not support range requests");
}

#[test]
fn a_server_without_ranges_still_serves_a_whole_file() {
    let server = Server::start(None);
    let file = open(&server, "do=ignore-range");
    let all = block_on(file.read_ranges(&[0..LEN])).expect("the whole file is what was asked for");
    assert_eq!(all, [generated(0..LEN)]);
}

#[test]
fn compressed_parts_are_named() {
    fails("do=gzip", ErrorKind::RangeUnsupported, "compressed");
}

#[test]
fn wrong_parts_are_named() {
    fails("do=wrong-range", ErrorKind::RangeUnsupported, "content-range");
    fails("do=wrong-total", ErrorKind::IndexChanged, "reopen");
}

#[test]
fn bodies_of_another_length_are_never_used() {
    fails("do=short", ErrorKind::Network, "bytes");
    fails("do=long", ErrorKind::Network, "bytes");
    fails("do=cut", ErrorKind::Network, "the request failed");
}

#[test]
fn statuses_become_kinds() {
    fails("do=416", ErrorKind::IndexChanged, "reopen");
    fails("do=status&status=404", ErrorKind::NotFound, "no such file");
    fails("do=status&status=403", ErrorKind::Network, "status 403");
    fails("do=status&status=503", ErrorKind::Network, "status 503");
    fails("do=status&status=429", ErrorKind::Network, "status 429");
    fails("do=drop", ErrorKind::Network, "the request failed");
}

#[test]
fn what_passes_is_tried_again() {
    for with in [
        "do=status&status=503&times=2",
        "do=status&status=429&times=2",
        "do=drop&times=2",
        "do=cut&times=2",
        "do=short&times=2",
    ] {
        let server = Server::start(None);
        read(&open(&server, with)).unwrap_or_else(|error| panic!("{with}: {error}"));
        assert_eq!(server.stats("requests"), 5, "{with}: three answers and two tries again");
    }
}

#[test]
fn retries_are_bounded() {
    let server = Server::start(None);
    let file = open(&server, "do=status&status=503");
    block_on(file.read_ranges(&[0..1])).expect_err("never");
    assert_eq!(server.stats("requests"), 3);
}

#[test]
fn retry_after_is_kept_within_bounds() {
    let server = Server::start(None);
    let started = Instant::now();
    read(&open(&server, "do=status&status=429&times=1&retry-after=1")).expect("after a second");
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
    let server = Server::start(None);
    read(&open(&server, "do=status&status=429&times=1&retry-after=3600")).expect_err("not within our bounds");
}

#[test]
fn a_file_that_changes_is_an_error_and_never_a_mix() {
    // Same length: the tag tells. Longer and shorter: the length on record tells, with or without a tag.
    for (with, kind) in [
        ("replaced=same&after=2", ErrorKind::IndexChanged),
        ("replaced=longer&after=2", ErrorKind::IndexChanged),
        ("replaced=shorter&after=2", ErrorKind::IndexChanged),
        ("replaced=longer&after=2&etag=none", ErrorKind::IndexChanged),
        ("replaced=shorter&after=2&etag=none", ErrorKind::IndexChanged),
    ] {
        let server = Server::start(None);
        let file = open(&server, with);
        let error = read(&file).and_then(|()| read(&file)).expect_err(with);
        assert_eq!(error.kind(), kind, "{with}: {error}");
    }
}

#[test]
fn a_cache_keeps_no_failure_and_serves_what_it_has() {
    let server = Server::start(None);
    let cache = BlockCache::default();
    let inner = open(&server, "do=status&status=503&times=3");
    let file = cache.wrap(inner, "data.bin", Access::SEARCH, &rangefind::storage::ReadProfile::HTTP);
    block_on(file.read_ranges(&[0..10])).expect_err("three failures end the tries");
    assert_eq!(block_on(file.read_ranges(&[0..10])).expect("a new try"), [generated(0..10)]);
    assert_eq!(block_on(file.read_ranges(&[5..16])).expect("resident"), [generated(5..16)]);
    assert_eq!(server.stats("requests"), 4);
}

#[test]
fn a_prefetch_is_shared_by_the_read_that_follows() {
    let server = Server::start(None);
    let cache = BlockCache::default();
    let profile = rangefind::storage::ReadProfile { gap_bytes: 0, ..rangefind::storage::ReadProfile::HTTP };
    let trace = Arc::new(IoTrace::new());
    let file = cache.wrap(open(&server, "slow=50"), "data.bin", Access::SEARCH, &profile).traced(trace.clone());
    assert_eq!(file.prefetch(&[0..10, 60_000..60_010]), 2);
    assert_eq!(file.prefetch(&[0..10, 60_000..60_010]), 0, "both are in flight");
    let read = block_on(file.read_ranges(&[0..10, 60_000..60_010])).expect("read");
    assert_eq!(read, [generated(0..10), generated(60_000..60_010)]);
    assert_eq!(server.stats("requests"), 2);
    let counts = trace.counts();
    assert_eq!((counts.requests, counts.waves, counts.cache_misses, counts.cache_hits), (2, 1, 2, 0), "{counts:?}");
}

#[test]
fn requests_go_out_in_parallel_and_no_more_than_allowed() {
    let server = Server::start(None);
    let options = HttpOptions { max_in_flight: 3, ..HttpOptions::default() };
    let storage = HttpStorage::new(&format!("{}?gen=9000000&slow=40", server.address()), options).expect("an address");
    let file = block_on(storage.open("data.bin", OpenOptions { access: Access::SEARCH, len: Some(9_000_000) }));
    let ranges: Vec<_> = (0..12).map(|at| at * 700_000..at * 700_000 + 5).collect();
    block_on(file.expect("open").read_ranges(&ranges)).expect("read");
    assert_eq!(server.stats("maxInFlight"), 3);
    assert_eq!(server.stats("requests"), 12);
}

#[test]
fn a_dropped_read_gives_its_requests_up() {
    let server = Server::start(None);
    let file = open(&server, "dribble=100");
    let mut read = Box::pin(file.read_ranges(&[0..50_000]));
    let waker = std::task::Waker::noop();
    assert!(read.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
    thread::sleep(Duration::from_millis(250));
    drop(read);
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.stats("aborted") == 0 {
        assert!(Instant::now() < deadline, "the server never saw the connection close");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_silent_server_is_given_up() {
    let read = |with: &str, idle_timeout_millis: u32| {
        let server = Server::start(None);
        // More tries than two time-outs may take.
        let options = HttpOptions { retry: QUICK, idle_timeout_millis, ..HttpOptions::default() };
        let storage =
            HttpStorage::new(&format!("{}/?gen={LEN}&{with}", server.address()), options).expect("an address");
        let file = storage.open("data.bin", OpenOptions { access: Access::SEARCH, len: Some(LEN) });
        let read = block_on(block_on(file).expect("open").read_ranges(&[0..LEN]));
        (read.map(|_| ()), server.stats("requests"))
    };
    for with in ["slow=20000", "dribble=20000"] {
        let started = Instant::now();
        let (read, requests) = read(with, 200);
        let error = read.expect_err("never");
        assert!(started.elapsed() < Duration::from_secs(18), "{with}: {:?}", started.elapsed());
        assert_eq!((error.kind(), requests), (ErrorKind::Network, 2), "{with}: {error}");
        assert!(error.to_string().contains("data.bin?") && error.to_string().contains("longer than 200 ms"), "{error}");
    }
    // What comes slowly but comes is waited for.
    read("dribble=200", 15_000).0.expect("all of it");
}

#[test]
fn a_connection_that_is_never_made_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("https://{}/", listener.local_addr().expect("bound"));
    // Accepts, and never greets.
    thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    let options = HttpOptions { retry: QUICK, connect_timeout_millis: 200, ..HttpOptions::default() };
    let started = Instant::now();
    let error = block_on(HttpStorage::new(&address, options).expect("an address").read_slot(CommitSlot::A));
    let error = error.expect_err("no greeting");
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert_eq!(error.kind(), ErrorKind::Network);
    assert!(error.to_string().contains("the connection took longer than 200 ms"), "{error}");
}

#[test]
fn slots_are_read_whole() {
    let server = Server::start(None);
    let slot = |with: &str| {
        let options = HttpOptions { retry: QUICK, ..HttpOptions::default() };
        let storage = HttpStorage::new(&format!("{}?{with}", server.address()), options).expect("an address");
        block_on(storage.read_slot(CommitSlot::A))
    };
    assert_eq!(slot("gen=500").expect("read"), Some(generated(0..500)));
    assert_eq!(slot("").expect("absent"), None);
    assert_eq!(slot("gen=500&do=status&status=500").expect_err("broken").kind(), ErrorKind::Network);
}

#[test]
fn addresses_are_checked() {
    for bad in ["", "index", "ftp://example.org/", "http://"] {
        let error = HttpStorage::new(bad, HttpOptions::default()).err().expect(bad);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{bad}");
    }
    let closed = HttpStorage::new("http://127.0.0.1:9/", HttpOptions { retry: QUICK, ..HttpOptions::default() });
    let error = block_on(closed.expect("an address").read_slot(CommitSlot::A)).expect_err("nobody listens");
    assert_eq!(error.kind(), ErrorKind::Network);
}
