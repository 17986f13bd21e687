//! Tests of [`super`].

use super::*;
use crate::{
    platform::block_on,
    storage::{
        Access, MemoryStorage, OpenOptions, Storage,
        testing::{CountingStorage, Faults, FaultyStorage},
    },
};

const MERGE: OpenOptions = OpenOptions { access: Access::MERGE, len: None };

#[test]
fn reads_every_byte_once_in_windows() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let bytes: Bytes = (0..50_000).map(|_| random.u8(..)).collect();
    let memory = MemoryStorage::new();
    memory.insert("a", bytes.clone());
    for (window_bytes, ahead) in [(1_000, 1), (4_096, 3), (100_000, 2)] {
        let counting = CountingStorage::new(memory.clone());
        let file = block_on(counting.open("a", MERGE)).expect("open");
        let options = SequentialOptions { window_bytes, ahead, checksum: true };
        let mut reader = SequentialReader::new(file, 7..49_000, options).expect("inside");
        let mut joined = Vec::new();
        while reader.remaining() > 0 {
            let len = random.usize(1..3_000).min(reader.remaining() as usize);
            let part = if random.bool() { block_on(reader.read_exact(len)) } else { block_on(reader.next(len)) };
            joined.extend_from_slice(&part.expect("read"));
            assert_eq!(reader.position(), 7 + joined.len() as u64);
        }
        assert_eq!(joined, bytes[7..49_000]);
        assert_eq!(reader.checksum(), crc32c::crc32c(&bytes[7..49_000]));
        assert!(block_on(reader.next(1)).expect("the end").is_empty());
        assert_eq!(block_on(reader.read_exact(1)).expect_err("past the end").kind(), ErrorKind::Corrupt);
        assert_eq!(counting.total().bytes, 48_993);
        assert_eq!(counting.total().requests, 48_993u64.div_ceil(u64::from(window_bytes)));
    }
}

#[test]
fn a_resident_file_is_not_copied() {
    let memory = MemoryStorage::new();
    memory.insert("a", vec![7; 10_000]);
    let file = block_on(memory.open("a", MERGE)).expect("open");
    let start = file.as_slice().expect("resident").as_ptr();
    let options = SequentialOptions { window_bytes: 10, ..SequentialOptions::default() };
    let mut reader = SequentialReader::new(file, 100..10_000, options).expect("inside");
    let part = block_on(reader.read_exact(5_000)).expect("read");
    assert_eq!(part.as_ptr(), start.wrapping_add(100));
}

#[test]
fn an_error_reaches_the_reader() {
    let storage = FaultyStorage::new();
    block_on(async {
        let mut writer = storage.create("a").await.expect("create");
        crate::storage::Writer::append(&mut writer, vec![1; 10_000].into()).await.expect("append");
        crate::storage::Writer::finish(writer).await.expect("finish");
        let file = storage.open("a", MERGE).await.expect("open");
        storage.set_faults(Faults { fail_read: Some(storage.reads() + 3), ..Faults::default() });
        let options = SequentialOptions { window_bytes: 1_000, ahead: 1, checksum: false };
        let mut reader = SequentialReader::new(file, 0..10_000, options).expect("inside");
        assert_eq!(reader.next(5_000).await.expect("first window").len(), 1_000);
        assert_eq!(reader.read_exact(5_000).await.expect_err("third window").kind(), ErrorKind::Network);
    });
    let file = block_on(storage.open("a", MERGE)).expect("open");
    assert!(SequentialReader::new(file, 0..10_001, SequentialOptions::default()).is_err(), "outside the file");
}
