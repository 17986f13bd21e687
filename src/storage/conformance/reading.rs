//! Checks of reading, on the files of a [`Fixture`].

#![forbid(unsafe_code)]

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use futures_util::future::join_all;

use super::{
    fixture::{Fixture, Random},
    writing::kind,
};
use crate::{
    error::ErrorKind,
    storage::{
        Access, BlockCache, CommitSlot, File, IoTrace, OpenOptions, Pattern, Purpose, SequentialOptions,
        SequentialReader, Storage, read_batches,
    },
};

/// A storage with the fixture in it.
pub(super) struct Place<'a, S: Storage> {
    pub(super) storage: &'a S,
    pub(super) fixture: &'a Fixture,
}

impl<S: Storage> Place<'_, S> {
    async fn open(&self, name: &str, access: Access) -> S::File {
        let len = Some(self.fixture.bytes(name).len() as u64);
        self.storage.open(name, OpenOptions { access, len }).await.expect("open")
    }

    fn expected(&self, name: &str, ranges: &[Range<u64>]) -> Vec<Bytes> {
        let bytes = self.fixture.bytes(name);
        ranges.iter().map(|range| bytes.slice(range.start as usize..range.end as usize)).collect()
    }

    async fn check(&self, name: &str, file: &impl File, ranges: &[Range<u64>]) {
        let read = file.read_ranges(ranges).await.expect("read");
        assert!(read == self.expected(name, ranges), "{name} {ranges:?}: wrong bytes");
    }
}

/// Random ranges of a file of `len` bytes: mostly short, some empty, some long.
fn some_ranges(random: &mut Random, len: u64) -> Vec<Range<u64>> {
    let count = random.below(12) + 1;
    let range = |_| {
        let start = random.below(len + 1);
        let longest = if random.below(6) == 0 { 100_000 } else { 3_000 };
        start..(start + random.below(longest)).min(len)
    };
    (0..count).map(range).collect()
}

pub(super) async fn tells_lengths<S: Storage>(place: &Place<'_, S>) {
    for name in [Fixture::SMALL, Fixture::LARGE, Fixture::EMPTY] {
        let len = place.fixture.bytes(name).len() as u64;
        let file = place.open(name, Access::SEARCH).await;
        assert_eq!(file.len(), len, "length of {name}");
        assert_eq!(file.is_empty(), len == 0, "{name} is empty");
        if len > 0 {
            let unknown = OpenOptions { access: Access::SEARCH, len: None };
            assert_eq!(place.storage.open(name, unknown).await.expect("open").len(), len, "{name}: learned length");
        }
    }
}

pub(super) async fn reads_in_the_order_asked<S: Storage>(place: &Place<'_, S>) {
    let file = place.open(Fixture::SMALL, Access::SEARCH).await;
    let batches: [&[Range<u64>]; 7] = [
        &[],
        &[0..1_000],
        &[999..1_000, 0..1],
        &[500..600, 100..200, 550..650, 100..200],
        &[7..7, 0..0, 1_000..1_000],
        &[10..20, 5..5, 20..30],
        &[0..1, 2..3, 4..5, 900..901],
    ];
    for ranges in batches {
        place.check(Fixture::SMALL, &file, ranges).await;
    }
    let empty = place.open(Fixture::EMPTY, Access::SEARCH).await;
    place.check(Fixture::EMPTY, &empty, &[0..0]).await;
}

pub(super) async fn reads_random_batches<S: Storage>(place: &Place<'_, S>) {
    // A fixed seed: a browser's test log shows the panic, not what was printed before.
    let mut random = Random::new(11);
    let file = place.open(Fixture::LARGE, Access::SEARCH).await;
    for _ in 0..40 {
        place.check(Fixture::LARGE, &file, &some_ranges(&mut random, file.len())).await;
    }
}

pub(super) async fn reads_more_than_one_request<S: Storage>(place: &Place<'_, S>) {
    let file = place.open(Fixture::LARGE, Access::MERGE).await;
    let len = file.len();
    place.check(Fixture::LARGE, &file, &[0..len]).await;
    place.check(Fixture::LARGE, &file, &[len - 1..len, 1..len, 0..2]).await;

    let options = SequentialOptions { window_bytes: 300_000, ahead: 2, checksum: true };
    let mut reader = SequentialReader::new(file, 5..len, options).expect("inside the file");
    let mut joined = Vec::new();
    loop {
        let part = reader.next(123_456).await.expect("read");
        if part.is_empty() {
            break;
        }
        joined.extend_from_slice(&part);
    }
    let expected = place.fixture.bytes(Fixture::LARGE).slice(5..);
    assert!(joined == expected, "sequential reader: wrong bytes");
    assert_eq!(reader.checksum(), crc32c::crc32c(&expected), "checksum in passing");
}

pub(super) async fn refuses_ranges_outside<S: Storage>(place: &Place<'_, S>) {
    let file = place.open(Fixture::SMALL, Access::SEARCH).await;
    #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
    let outside = [0..1_001, 1_000..1_001, 2_000..2_000, u64::MAX - 1..u64::MAX, 5..4];
    for range in outside {
        let read = file.read_ranges(&[0..1, range.clone()]).await;
        assert_eq!(kind("read", read), ErrorKind::InvalidArgument, "{range:?}");
    }
}

pub(super) async fn misses_are_not_found<S: Storage>(place: &Place<'_, S>) {
    let unknown = OpenOptions { access: Access::SEARCH, len: None };
    assert_eq!(kind("open", place.storage.open("absent.bin", unknown).await), ErrorKind::NotFound);
    // Where the length is trusted, the first read finds out.
    let trusted = OpenOptions { access: Access::SEARCH, len: Some(10) };
    let missing = match place.storage.open("absent.bin", trusted).await {
        Ok(file) => kind("read", file.read_ranges(&[0..10]).await),
        Err(error) => error.kind(),
    };
    assert_eq!(missing, ErrorKind::NotFound);
}

pub(super) async fn prefetch_changes_no_bytes<S: Storage>(place: &Place<'_, S>) {
    let file = place.open(Fixture::LARGE, Access::SEARCH).await;
    let wanted = [70_000..80_000, 10..20, 1_000_000..1_000_100];
    file.prefetch(&wanted);
    file.prefetch(&[file.len() - 5..file.len() + 5, u64::MAX - 3..u64::MAX]);
    place.check(Fixture::LARGE, &file, &wanted).await;
    if let Some(all) = file.as_slice() {
        assert!(all == place.fixture.bytes(Fixture::LARGE), "as_slice is the file");
        assert_eq!(file.prefetch(&wanted), 0, "a resident file declines to prefetch");
    }
}

pub(super) async fn every_access_reads_the_same<S: Storage>(place: &Place<'_, S>) {
    for pattern in [Pattern::Random, Pattern::Sequential, Pattern::Once] {
        for purpose in [Purpose::Search, Purpose::Merge, Purpose::Check] {
            for pin in [false, true] {
                let file = place.open(Fixture::SMALL, Access { pattern, purpose, pin }).await;
                place.check(Fixture::SMALL, &file, &[3..500, 0..1_000]).await;
            }
        }
    }
}

pub(super) async fn reads_in_parallel<S: Storage>(place: &Place<'_, S>) {
    let mut random = Random::new(12);
    let large = place.open(Fixture::LARGE, Access::SEARCH).await;
    let small = place.open(Fixture::SMALL, Access::SEARCH).await;
    let batches: Vec<_> = (0..6).map(|_| some_ranges(&mut random, large.len())).collect();
    let reads = batches.iter().map(|ranges| large.read_ranges(ranges));
    for (ranges, read) in batches.iter().zip(join_all(reads).await) {
        assert!(read.expect("read") == place.expected(Fixture::LARGE, ranges), "parallel {ranges:?}");
    }
    let both = [(large, vec![9..99, 0..3]), (small, vec![0..10])];
    let read = read_batches(&both).await.expect("read");
    assert!(read[0] == place.expected(Fixture::LARGE, &both[0].1), "first file of a batch");
    assert!(read[1] == place.expected(Fixture::SMALL, &both[1].1), "second file of a batch");
}

pub(super) async fn reads_through_a_cache<S: Storage>(place: &Place<'_, S>) {
    for budget_bytes in [0, 100_000, 64 << 20] {
        let cache = BlockCache::new(budget_bytes);
        let mut random = Random::new(13);
        let inner = place.open(Fixture::LARGE, Access::SEARCH).await;
        let file = cache.wrap(inner, Fixture::LARGE, Access::SEARCH, &place.storage.profile());
        for step in 0..20 {
            let trace = Arc::new(IoTrace::new());
            let file = file.traced(trace.clone());
            let ranges = some_ranges(&mut random, file.len());
            if step % 2 == 0 {
                file.prefetch(&ranges);
            }
            place.check(Fixture::LARGE, &file, &ranges).await;
            assert!(trace.counts().waves <= 1, "one batch is one wave: {:?}", trace.counts());
        }
        drop(file);
        let stats = cache.stats();
        assert_eq!(stats.pinned_bytes, 0, "no pin outlives its handle: {stats:?}");
    }
}

pub(super) async fn slots_are_read<S: Storage>(place: &Place<'_, S>) {
    let expected = place.fixture.bytes(CommitSlot::A.file_name());
    assert_eq!(place.storage.read_slot(CommitSlot::A).await.expect("read").as_ref(), Some(expected));
    assert_eq!(place.storage.read_slot(CommitSlot::B).await.expect("read"), None, "the other slot is absent");
}

pub(super) async fn lengths_on_record_are_compared<S: Storage>(place: &Place<'_, S>) {
    let wrong = OpenOptions { access: Access::SEARCH, len: Some(999) };
    assert_eq!(kind("open", place.storage.open(Fixture::SMALL, wrong).await), ErrorKind::Corrupt);
}

pub(super) async fn refuses_to_write<S: Storage>(place: &Place<'_, S>) {
    let storage = place.storage;
    assert_eq!(kind("create", storage.create("new.bin").await), ErrorKind::ReadOnly);
    assert_eq!(kind("delete", storage.delete(Fixture::SMALL).await), ErrorKind::ReadOnly);
    assert_eq!(kind("slot", storage.write_slot(CommitSlot::B, Bytes::new()).await), ErrorKind::ReadOnly);
    assert_eq!(kind("lock", storage.lock_writer(0).await), ErrorKind::ReadOnly);
    if let Err(error) = storage.list().await {
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "list");
    }
}
