//! The suite on the backends that need no browser, and the suite itself shown failing.

use std::ops::Range;

use bytes::Bytes;

use super::*;
use crate::{
    error::Result,
    platform::block_on,
    storage::{
        AnyStorage, CommitSlot, File, FileEntry, MemoryStorage, OpenOptions, ReadProfile,
        local::{LocalOptions, LocalStorage},
        memory::{MemoryFile, MemoryLock, MemoryWriter},
    },
};

#[test]
fn memory_conforms() {
    assert!(block_on(run_all(MemoryStorage::new())) > 20);
}

#[test]
fn local_files_conform() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("made by the first write");
    block_on(run_all(LocalStorage::new(path, LocalOptions { max_open_files: 8 })));
}

#[test]
fn the_enum_conforms() {
    block_on(run_all(AnyStorage::from(MemoryStorage::new())));
    let directory = tempfile::tempdir().expect("a directory");
    block_on(run_all(AnyStorage::from(LocalStorage::new(directory.path(), LocalOptions::default()))));
}

#[test]
#[should_panic(expected = "ran no check")]
fn an_empty_suite_fails() {
    Suite::default().finish();
}

/// A backend with one bug.
#[derive(Clone)]
struct Buggy(MemoryStorage, Bug);

#[derive(Clone, Copy, PartialEq)]
enum Bug {
    ShortBuffer,
    WrongOrder,
    TwoWriters,
}

#[derive(Clone)]
struct BuggyFile(MemoryFile, Bug);

impl Storage for Buggy {
    type File = BuggyFile;
    type Writer = MemoryWriter;
    type Lock = Option<MemoryLock>;

    async fn list(&self) -> Result<Vec<FileEntry>> {
        self.0.list().await
    }
    async fn open(&self, name: &str, options: OpenOptions) -> Result<BuggyFile> {
        Ok(BuggyFile(self.0.open(name, options).await?, self.1))
    }
    async fn create(&self, name: &str) -> Result<MemoryWriter> {
        self.0.create(name).await
    }
    async fn delete(&self, name: &str) -> Result<()> {
        self.0.delete(name).await
    }
    async fn read_slot(&self, slot: CommitSlot) -> Result<Option<Bytes>> {
        self.0.read_slot(slot).await
    }
    async fn write_slot(&self, slot: CommitSlot, bytes: Bytes) -> Result<()> {
        self.0.write_slot(slot, bytes).await
    }
    async fn lock_writer(&self, wait_millis: u32) -> Result<Option<MemoryLock>> {
        if self.1 == Bug::TwoWriters { Ok(None) } else { self.0.lock_writer(wait_millis).await.map(Some) }
    }
    fn profile(&self) -> ReadProfile {
        self.0.profile()
    }
    fn label(&self) -> String {
        self.0.label()
    }
}

impl File for BuggyFile {
    fn len(&self) -> u64 {
        self.0.len()
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let mut read = self.0.read_ranges(ranges).await?;
        match self.1 {
            Bug::ShortBuffer if ranges.len() > 2 => read[0] = read[0].slice(..read[0].len().saturating_sub(1)),
            Bug::WrongOrder => read.sort(),
            _ => {}
        }
        Ok(read)
    }
    fn prefetch(&self, ranges: &[Range<u64>]) -> usize {
        self.0.prefetch(ranges)
    }
    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}

#[test]
#[should_panic(expected = "wrong bytes")]
fn a_short_buffer_fails() {
    block_on(run_all(Buggy(MemoryStorage::new(), Bug::ShortBuffer)));
}

#[test]
#[should_panic(expected = "wrong bytes")]
fn another_order_fails() {
    block_on(run_all(Buggy(MemoryStorage::new(), Bug::WrongOrder)));
}

#[test]
#[should_panic(expected = "second: expected an error")]
fn a_lock_that_locks_nobody_out_fails() {
    block_on(run_all(Buggy(MemoryStorage::new(), Bug::TwoWriters)));
}
