//! Files in memory: tests, small indexes, and indexes that came with the page.

#![forbid(unsafe_code)]

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::{Bytes, BytesMut};

use super::{
    CommitSlot, File, FileEntry, OpenOptions, ReadProfile, Storage, Writer, names::check_name, plan::slice_ranges,
};
use crate::{
    error::{Error, ErrorKind, Result},
    platform,
};

/// How long [`MemoryStorage::lock_writer`] sleeps between two looks.
const LOCK_POLL_MILLIS: u32 = 5;

/// A namespace in memory. Clones are the same namespace; it ends with the last of them.
#[derive(Clone, Default)]
pub struct MemoryStorage(Arc<Shared>);

#[derive(Default)]
struct Shared {
    files: Mutex<BTreeMap<String, Bytes>>,
    locked: AtomicBool,
}

impl MemoryStorage {
    /// An empty namespace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a finished file in place, as a download would.
    pub fn insert(&self, name: impl Into<String>, bytes: impl Into<Bytes>) {
        self.files().insert(name.into(), bytes.into());
    }

    /// The content of a finished file or slot, if there is one.
    pub fn get(&self, name: &str) -> Option<Bytes> {
        self.files().get(name).cloned()
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        // Every change is one insert or remove: a panic elsewhere leaves the map whole.
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for MemoryStorage {
    type File = MemoryFile;
    type Writer = MemoryWriter;
    type Lock = MemoryLock;

    async fn list(&self) -> Result<Vec<FileEntry>> {
        let files = self.files();
        Ok(files.iter().map(|(name, bytes)| FileEntry { name: name.clone(), len: bytes.len() as u64 }).collect())
    }

    async fn open(&self, name: &str, options: OpenOptions) -> Result<MemoryFile> {
        check_name(name)?;
        let bytes = self.get(name).ok_or_else(|| Error::new(ErrorKind::NotFound, format!("file {name}")))?;
        check_len(name, bytes.len() as u64, options.len)?;
        Ok(MemoryFile(bytes))
    }

    async fn create(&self, name: &str) -> Result<MemoryWriter> {
        check_name(name)?;
        if self.files().contains_key(name) {
            return Err(already_exists(name));
        }
        Ok(MemoryWriter { storage: self.clone(), name: name.to_owned(), bytes: BytesMut::new() })
    }

    async fn delete(&self, name: &str) -> Result<()> {
        check_name(name)?;
        self.files().remove(name);
        Ok(())
    }

    async fn read_slot(&self, slot: CommitSlot) -> Result<Option<Bytes>> {
        Ok(self.get(slot.file_name()))
    }

    async fn write_slot(&self, slot: CommitSlot, bytes: Bytes) -> Result<()> {
        self.insert(slot.file_name(), bytes);
        Ok(())
    }

    async fn lock_writer(&self, wait_millis: u32) -> Result<MemoryLock> {
        let mut waited = 0;
        loop {
            if !self.0.locked.swap(true, Ordering::Acquire) {
                return Ok(MemoryLock(self.0.clone()));
            }
            if waited >= wait_millis {
                return Err(Error::new(ErrorKind::Locked, "index in memory: another writer of this program holds it"));
            }
            let nap = LOCK_POLL_MILLIS.min(wait_millis - waited);
            platform::sleep_millis(nap).await;
            waited += nap;
        }
    }

    fn profile(&self) -> ReadProfile {
        ReadProfile::MEMORY
    }

    fn label(&self) -> String {
        "memory".to_owned()
    }
}

/// One file in memory.
#[derive(Clone)]
pub struct MemoryFile(Bytes);

impl From<Bytes> for MemoryFile {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl File for MemoryFile {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        slice_ranges(&self.0, ranges)
    }

    fn prefetch(&self, _ranges: &[Range<u64>]) -> usize {
        0
    }

    fn as_slice(&self) -> Option<&Bytes> {
        Some(&self.0)
    }
}

/// Writes one file in memory.
pub struct MemoryWriter {
    storage: MemoryStorage,
    name: String,
    bytes: BytesMut,
}

impl Writer for MemoryWriter {
    async fn append(&mut self, bytes: Bytes) -> Result<()> {
        self.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    async fn finish(self) -> Result<u64> {
        let len = self.bytes.len() as u64;
        let mut files = self.storage.files();
        if files.contains_key(&self.name) {
            return Err(already_exists(&self.name));
        }
        files.insert(self.name, self.bytes.freeze());
        Ok(len)
    }
}

/// The only writer of a [`MemoryStorage`].
pub struct MemoryLock(Arc<Shared>);

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.0.locked.store(false, Ordering::Release);
    }
}

/// The error of a second file under one name.
pub(crate) fn already_exists(name: &str) -> Error {
    Error::invalid(format!("file {name} exists already: names are never reused"))
}

/// Compares a file's length with the one the index has on record.
///
/// # Errors
/// `corrupt` on a difference.
pub(crate) fn check_len(name: &str, found: u64, expected: Option<u64>) -> Result<()> {
    match expected {
        Some(expected) if expected != found => {
            Err(Error::new(ErrorKind::Corrupt, format!("file {name}: expected {expected} bytes, found {found}")))
        }
        _ => Ok(()),
    }
}
