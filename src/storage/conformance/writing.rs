//! Checks of backends that write. Each uses names of its own.

#![forbid(unsafe_code)]

use bytes::Bytes;

use super::fixture::Random;
use crate::{
    error::{ErrorKind, Result},
    storage::{Access, CommitSlot, File, OpenOptions, Storage, Writer, names::MAX_NAME_LEN},
};

const SEARCH: OpenOptions = OpenOptions { access: Access::SEARCH, len: None };

/// The kind of an error.
///
/// # Panics
/// If there is none.
pub(super) fn kind<T>(what: &str, result: Result<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("{what}: expected an error"),
        Err(error) => error.kind(),
    }
}

async fn write<S: Storage>(storage: &S, name: &str, bytes: &Bytes) {
    let mut writer = storage.create(name).await.expect("create");
    writer.append(bytes.clone()).await.expect("append");
    assert_eq!(writer.finish().await.expect("finish"), bytes.len() as u64, "length of {name}");
}

async fn read<S: Storage>(storage: &S, name: &str) -> Bytes {
    let file = storage.open(name, SEARCH).await.expect("open");
    let whole = 0..file.len();
    file.read_ranges(&[whole]).await.expect("read").pop().expect("one buffer")
}

async fn listed<S: Storage>(storage: &S, name: &str) -> Option<u64> {
    storage.list().await.expect("list").into_iter().find(|entry| entry.name == name).map(|entry| entry.len)
}

pub(super) async fn starts_empty<S: Storage>(storage: &S) {
    assert_eq!(storage.list().await.expect("list"), [], "a fresh storage lists nothing");
    for slot in CommitSlot::ALL {
        assert_eq!(storage.read_slot(slot).await.expect("read"), None, "{slot:?} of a fresh storage");
    }
    assert!(!storage.label().is_empty(), "a storage has a label");
    let profile = storage.profile();
    assert!(profile.block_bytes.is_power_of_two(), "blocks of {} bytes", profile.block_bytes);
    assert!(profile.in_flight > 0 && profile.max_request_bytes > 0, "{profile:?}");
}

pub(super) async fn keeps_what_was_written<S: Storage>(storage: &S) {
    let bytes = Random::new(1).bytes(70_001);
    write(storage, "kept-1.bin", &bytes).await;
    assert_eq!(read(storage, "kept-1.bin").await, bytes);
    assert_eq!(listed(storage, "kept-1.bin").await, Some(70_001));
    let clone = storage.clone();
    assert_eq!(read(&clone, "kept-1.bin").await, bytes, "a clone is the same storage");
}

pub(super) async fn joins_appends<S: Storage>(storage: &S) {
    let mut random = Random::new(2);
    let mut writer = storage.create("joined.bin").await.expect("create");
    let mut expected = Vec::new();
    for _ in 0..200 {
        let len = random.below(5_000) as usize;
        let part = if random.below(10) == 0 { Bytes::new() } else { random.bytes(len) };
        expected.extend_from_slice(&part);
        writer.append(part).await.expect("append");
    }
    assert_eq!(writer.finish().await.expect("finish"), expected.len() as u64);
    assert_eq!(read(storage, "joined.bin").await, expected);
    write(storage, "nothing.bin", &Bytes::new()).await;
    assert_eq!(read(storage, "nothing.bin").await, Bytes::new(), "a file may be empty");
}

pub(super) async fn an_unfinished_file_is_not_there<S: Storage>(storage: &S) {
    let mut writer = storage.create("half.bin").await.expect("create");
    writer.append(Bytes::from_static(b"left over")).await.expect("append");
    drop(writer);
    assert_eq!(listed(storage, "half.bin").await, None, "a dropped writer leaves no file");
    assert_eq!(kind("open", storage.open("half.bin", SEARCH).await), ErrorKind::NotFound);
    let bytes = Bytes::from_static(b"new");
    write(storage, "half.bin", &bytes).await;
    assert_eq!(read(storage, "half.bin").await, bytes, "nothing of the leftover is in the new file");
}

pub(super) async fn names_are_never_reused<S: Storage>(storage: &S) {
    let bytes = Bytes::from_static(b"first");
    write(storage, "once.bin", &bytes).await;
    assert_eq!(kind("create", storage.create("once.bin").await), ErrorKind::InvalidArgument);
    assert_eq!(read(storage, "once.bin").await, bytes);
}

pub(super) async fn refuses_bad_names<S: Storage>(storage: &S) {
    let long = "x".repeat(MAX_NAME_LEN + 1);
    for name in ["", ".", "..", ".hidden", "a/b", "../up", "a\\b", "ä", &long] {
        let created = storage.create(name).await;
        assert_eq!(kind(name, created), ErrorKind::InvalidArgument, "create {name:?}");
        assert_eq!(kind(name, storage.open(name, SEARCH).await), ErrorKind::InvalidArgument, "open {name:?}");
        assert_eq!(kind(name, storage.delete(name).await), ErrorKind::InvalidArgument, "delete {name:?}");
    }
}

pub(super) async fn deletes<S: Storage>(storage: &S) {
    write(storage, "gone.bin", &Bytes::from_static(b"x")).await;
    storage.delete("gone.bin").await.expect("delete");
    assert_eq!(listed(storage, "gone.bin").await, None);
    assert_eq!(kind("open", storage.open("gone.bin", SEARCH).await), ErrorKind::NotFound);
    storage.delete("gone.bin").await.expect("deleting what is absent is no error");
}

pub(super) async fn slots_are_replaced_one_by_one<S: Storage>(storage: &S) {
    let mut random = Random::new(3);
    let (mut a, mut b) = (None, None);
    for (step, len) in [4_000, 10, 0, 90_000, 333].into_iter().enumerate() {
        let bytes = random.bytes(len);
        let (slot, own) = if step % 2 == 0 { (CommitSlot::A, &mut a) } else { (CommitSlot::B, &mut b) };
        storage.write_slot(slot, bytes.clone()).await.expect("write");
        *own = Some(bytes);
        assert_eq!(storage.read_slot(CommitSlot::A).await.expect("read"), a, "slot A after step {step}");
        assert_eq!(storage.read_slot(CommitSlot::B).await.expect("read"), b, "slot B after step {step}");
    }
    assert_eq!(listed(storage, CommitSlot::B.file_name()).await, Some(90_000), "slots are listed");
}

pub(super) async fn one_writer_at_a_time<S: Storage>(storage: &S) {
    let lock = storage.lock_writer(0).await.expect("nobody holds it");
    assert_eq!(kind("second", storage.lock_writer(0).await), ErrorKind::Locked);
    assert_eq!(kind("waiting", storage.clone().lock_writer(30).await), ErrorKind::Locked);
    drop(lock);
    let lock = storage.lock_writer(2_000).await.expect("given back");
    drop(lock);
    drop(storage.lock_writer(2_000).await.expect("given back again"));
}

pub(super) async fn more_files_than_handles<S: Storage>(storage: &S) {
    const FILES: usize = 80;
    let mut random = Random::new(4);
    let contents: Vec<Bytes> = (0..FILES).map(|_| random.bytes(300)).collect();
    let mut files = Vec::with_capacity(FILES);
    for (at, bytes) in contents.iter().enumerate() {
        let name = format!("many-{at}.bin");
        write(storage, &name, bytes).await;
        files.push(storage.open(&name, SEARCH).await.expect("open"));
    }
    for round in 0..2 {
        for (at, file) in files.iter().enumerate() {
            let range = 10 * round..200;
            let read = file.read_ranges(std::slice::from_ref(&range)).await.expect("read").pop().expect("one buffer");
            assert_eq!(read, contents[at].slice(range.start as usize..200), "file {at} of {FILES}");
        }
    }
    drop(files);
    for at in 0..FILES {
        storage.delete(&format!("many-{at}.bin")).await.expect("delete");
    }
}

pub(super) async fn reads_go_on_while_others_write<S: Storage>(storage: &S) {
    let bytes = Random::new(5).bytes(20_000);
    write(storage, "old.bin", &bytes).await;
    let file = storage.open("old.bin", SEARCH).await.expect("open");
    let mut writer = storage.create("new.bin").await.expect("create");
    for start in [0, 5_000, 19_000] {
        writer.append(bytes.slice(..1_000)).await.expect("append");
        let read = file.read_ranges(&[start..start + 1_000]).await.expect("read").pop().expect("one buffer");
        assert_eq!(read, bytes.slice(start as usize..start as usize + 1_000));
    }
    assert_eq!(writer.finish().await.expect("finish"), 3_000);
    assert_eq!(read(storage, "new.bin").await.len(), 3_000);
}
