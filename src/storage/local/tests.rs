//! Tests of [`super`] beyond the conformance suite: handles, locks, leftovers, processes that die.

use std::process::Command;

use super::*;
use crate::{
    platform::block_on,
    storage::{Access, File, Writer},
};

const SEARCH: OpenOptions = OpenOptions { access: Access::SEARCH, len: None };

fn storage(max_open_files: usize) -> (tempfile::TempDir, LocalStorage) {
    let directory = tempfile::tempdir().expect("a directory");
    let storage = LocalStorage::new(directory.path(), LocalOptions { max_open_files });
    (directory, storage)
}

async fn write(storage: &LocalStorage, name: &str, bytes: &'static [u8]) {
    let mut writer = storage.create(name).await.expect("create");
    writer.append(Bytes::from_static(bytes)).await.expect("append");
    writer.finish().await.expect("finish");
}

#[test]
fn files_are_closed_and_opened_again_within_the_budget() {
    let (_directory, storage) = storage(3);
    block_on(async {
        let mut files = Vec::new();
        for at in 0..10 {
            let name = format!("{at}.bin");
            write(&storage, &name, b"some bytes").await;
            files.push(storage.open(&name, SEARCH).await.expect("open"));
            assert!(storage.open_files() <= 3);
        }
        for file in files.iter().chain(files.iter().rev()) {
            assert_eq!(file.read_ranges(&[5..10]).await.expect("read"), [Bytes::from_static(b"bytes")]);
            assert!(storage.open_files() <= 3);
        }
    });
    assert_eq!(storage.open_files(), 0, "dropped files are closed");
}

#[test]
fn a_file_that_changed_while_it_was_closed_is_noticed() {
    let (directory, storage) = storage(1);
    block_on(async {
        write(&storage, "a", b"first").await;
        write(&storage, "b", b"other").await;
        let a = storage.open("a", SEARCH).await.expect("open");
        let _b = storage.open("b", SEARCH).await.expect("open");
        fs::write(directory.path().join("a"), b"now longer").expect("write");
        assert_eq!(a.read_ranges(&[0..1]).await.expect_err("changed").kind(), ErrorKind::IndexChanged);
    });
}

#[test]
fn many_ranges_are_read_by_several_threads() {
    let (directory, storage) = storage(4);
    let bytes: Vec<u8> = (0..4_000_000u32).map(|at| (at * 31 + (at >> 8)) as u8).collect();
    fs::write(directory.path().join("a"), &bytes).expect("write");
    let ranges: Vec<_> = (0..90u64).map(|at| at * 40_000..at * 40_000 + 100).collect();
    let read = block_on(async { storage.open("a", SEARCH).await.expect("open").read_ranges(&ranges).await });
    for (range, read) in ranges.iter().zip(read.expect("read")) {
        assert_eq!(read, bytes[range.start as usize..range.end as usize]);
    }
}

#[test]
fn leftovers_are_hidden_and_removed_by_the_next_writer() {
    let (directory, storage) = storage(4);
    let leftover = directory.path().join(".dead.seg.tmp");
    fs::write(&leftover, b"half").expect("write");
    block_on(async {
        assert_eq!(storage.list().await.expect("list"), []);
        let lock = storage.lock_writer(0).await.expect("free");
        assert!(!leftover.exists());
        drop(lock);
        assert_eq!(storage.list().await.expect("list"), [], "the lock file is no file of the index");
    });
}

#[test]
fn a_slot_is_old_or_new_never_half() {
    let (directory, storage) = storage(4);
    block_on(async {
        storage.write_slot(CommitSlot::A, Bytes::from_static(b"old")).await.expect("write");
        // What a crash between write and rename leaves.
        fs::write(directory.path().join(".commit-a.rf.tmp"), b"ne").expect("write");
        assert_eq!(storage.read_slot(CommitSlot::A).await.expect("read").as_deref(), Some(&b"old"[..]));
        storage.write_slot(CommitSlot::A, Bytes::from_static(b"new")).await.expect("write");
        assert_eq!(storage.read_slot(CommitSlot::A).await.expect("read").as_deref(), Some(&b"new"[..]));
    });
}

#[test]
fn an_empty_place_reads_as_empty() {
    let (directory, _) = storage(4);
    let nowhere = LocalStorage::new(directory.path().join("nowhere"), LocalOptions::default());
    block_on(async {
        assert_eq!(nowhere.list().await.expect("list"), []);
        assert_eq!(nowhere.read_slot(CommitSlot::A).await.expect("read"), None);
        assert_eq!(nowhere.open("a", SEARCH).await.err().expect("absent").kind(), ErrorKind::NotFound);
    });
    assert!(!directory.path().join("nowhere").exists(), "reading makes no directory");
}

/// Set in the child of [`a_dead_process_loses_the_lock`]: the directory whose lock it takes.
const HOLDER: &str = "RANGEFIND_TEST_LOCK_HOLDER";

#[test]
fn a_dead_process_loses_the_lock() {
    if let Ok(directory) = std::env::var(HOLDER) {
        let storage = LocalStorage::new(directory, LocalOptions::default());
        let _lock = block_on(storage.lock_writer(0)).expect("free");
        println!("locked");
        // Until the parent kills it.
        std::thread::sleep(std::time::Duration::from_secs(60));
        return;
    }
    let (directory, storage) = storage(4);
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "storage::local::tests::a_dead_process_loses_the_lock", "--nocapture"])
        .env(HOLDER, directory.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("spawn");
    let mut lines = io::BufRead::lines(io::BufReader::new(child.stdout.take().expect("piped")));
    assert!(lines.any(|line| line.expect("read").contains("locked")), "the child takes the lock");
    let error = block_on(storage.lock_writer(50)).err().expect("held");
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.to_string().contains(&format!("process {}", child.id())), "{error}");
    child.kill().expect("kill");
    child.wait().expect("wait");
    block_on(storage.lock_writer(1_000)).expect("free again at once");
}
