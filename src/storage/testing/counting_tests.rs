//! Tests of [`super`].

use super::*;
use crate::{
    platform::block_on,
    storage::{BlockCache, MemoryStorage, conformance, read_batches},
};

const SEARCH: OpenOptions = OpenOptions { access: Access::SEARCH, len: None };

fn storage_of(files: &[(&str, usize)]) -> CountingStorage<MemoryStorage> {
    let memory = MemoryStorage::new();
    for &(name, len) in files {
        memory.insert(name, vec![7; len]);
    }
    CountingStorage::new(memory)
}

#[test]
fn it_conforms() {
    block_on(conformance::run_all(CountingStorage::new(MemoryStorage::new())));
}

#[test]
fn counts_per_section_and_access() {
    let storage = storage_of(&[("a.seg", 10_000)]);
    storage.label_section("a.seg", 0..1_000, "terms");
    block_on(async {
        let search = storage.open("a.seg", SEARCH).await.expect("open");
        let merge = storage.open("a.seg", OpenOptions { access: Access::MERGE, len: None }).await.expect("open");
        search.read_ranges(&[0..10, 10..20, 500..600, 5_000..5_001]).await.expect("read");
        merge.read_ranges(&[0..10_000]).await.expect("read");
        assert_eq!(search.prefetch(&[0..10]), 0);
    });
    assert_eq!(storage.of("terms").requests, 3);
    assert_eq!(storage.of("a.seg"), Tally { requests: 1, bytes: 1, ..Tally::default() });
    assert_eq!(storage.of_purpose(Purpose::Search).bytes, 121);
    assert_eq!(storage.of_purpose(Purpose::Search).prefetches, 1);
    assert_eq!(storage.of_purpose(Purpose::Merge), Tally { reads: 1, requests: 1, bytes: 10_000, ..Tally::default() });
    assert_eq!((storage.total().reads, storage.opened()), (2, 2));
    assert!(
        storage.report().contains("terms merge sequential: 1 reads, 1 requests, 10000 bytes\n"),
        "{}",
        storage.report()
    );
    storage.reset();
    assert_eq!(storage.total(), Tally::default());
}

#[test]
fn reads_of_one_join_are_one_wave() {
    let storage = storage_of(&[("a", 100), ("b", 100), ("c", 100)]);
    block_on(async {
        let mut batches = Vec::new();
        for name in ["a", "b", "c"] {
            batches.push((storage.open(name, SEARCH).await.expect("open"), vec![0..10, 50..60]));
        }
        read_batches(&batches).await.expect("read");
        assert_eq!(storage.waves(), 1);
        for (file, ranges) in &batches {
            file.read_ranges(ranges).await.expect("read");
        }
        assert_eq!(storage.waves(), 4);
        batches[0].0.read_ranges(&[3..3]).await.expect("read");
        assert_eq!(storage.waves(), 4, "nothing was asked for");
    });
}

#[test]
fn a_cache_asks_once_for_each_block() {
    let storage = storage_of(&[("a", 100_000)]);
    block_on(async {
        let cache = BlockCache::new(1 << 20);
        let inner = storage.open("a", SEARCH).await.expect("open");
        let file = cache.wrap(inner, "a", Access::SEARCH, &ReadProfile::LOCAL);
        file.read_ranges(&[0..10, 20_000..20_001]).await.expect("read");
        file.read_ranges(&[5..9, 8_191..8_192]).await.expect("read");
        assert_eq!(storage.total().reads, 1, "{}", storage.report());
    });
}
