//! A disk in memory that fails on request, and crashes on request with everything unflushed damaged.
//!
//! A crash test runs some work once to learn [`FaultyStorage::writes`], then for each of them and each [`Damage`]:
//! same work on a fresh storage with [`Faults::crash_at_write`], [`FaultyStorage::reopen`], and a look at what is left.

#![forbid(unsafe_code)]

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::{Bytes, BytesMut};

use crate::{
    error::{Error, ErrorKind, Result},
    storage::{
        CommitSlot, File, FileEntry, MemoryStorage, OpenOptions, ReadProfile, Storage, Writer,
        memory::{MemoryLock, already_exists, check_len},
        names::check_name,
        plan::slice_ranges,
    },
};

/// What a crash does to bytes that were not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Damage {
    /// The file is gone.
    Deleted,
    /// Its length is right, its bytes are zero.
    Zeroed,
    /// The second half is missing.
    Halved,
    /// All of it happens to be there.
    Unchanged,
    /// One bit is wrong.
    BitFlipped,
    /// The file is there without bytes.
    Emptied,
}

impl Damage {
    /// All six.
    pub const ALL: [Self; 6] =
        [Self::Deleted, Self::Zeroed, Self::Halved, Self::Unchanged, Self::BitFlipped, Self::Emptied];

    /// What is found after a crash where `bytes` should be; `None`: no file. `seed` picks the bit.
    pub fn apply(self, bytes: &Bytes, seed: u64) -> Option<Bytes> {
        match self {
            Self::Deleted => None,
            Self::Zeroed => Some(vec![0; bytes.len()].into()),
            Self::Halved => Some(bytes.slice(..bytes.len() / 2)),
            Self::Unchanged => Some(bytes.clone()),
            Self::BitFlipped if bytes.is_empty() => Some(Bytes::new()),
            Self::BitFlipped => {
                let mut damaged = bytes.to_vec();
                let at = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (8 * damaged.len() as u64);
                damaged[(at / 8) as usize] ^= 1 << (at % 8);
                Some(damaged.into())
            }
            Self::Emptied => Some(Bytes::new()),
        }
    }
}

/// What goes wrong, and when. Numbers count from 1; each fault but the quota and the crash happens once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// The read of that number fails with `network`. Reads: `open`, `read_ranges`, `read_slot`, `list`.
    pub fail_read: Option<u64>,
    /// The write of that number fails with `io` and does nothing. Writes: `create`, `append`, `finish`, `write_slot`,
    /// `delete`.
    pub fail_write: Option<u64>,
    /// The write of that number, an append, puts down half its bytes and fails with `io`.
    pub short_write: Option<u64>,
    /// Appends and slots beyond so many bytes in all fail with `quota`.
    pub quota_bytes: Option<u64>,
    /// At the write of that number the machine stops: the write may be half done, nothing after it happens.
    pub crash_at_write: Option<u64>,
}

/// A storage in memory with [`Faults`]. Clones are the same disk.
#[derive(Clone, Default)]
pub struct FaultyStorage {
    disk: Arc<Mutex<Disk>>,
    /// For the writer's lock.
    locks: MemoryStorage,
}

#[derive(Default)]
struct Disk {
    faults: Faults,
    reads: u64,
    writes: u64,
    crashed: bool,
    /// Finished and on the disk for good, slots included.
    flushed: BTreeMap<String, Bytes>,
    /// Being written, by name.
    growing: BTreeMap<String, BytesMut>,
    /// Being replaced or finished when the machine stopped.
    in_flight: Option<(String, Bytes)>,
    /// Removed since the directory was last flushed: a crash may bring them back.
    removed: Vec<(String, Bytes)>,
}

impl FaultyStorage {
    /// An empty disk without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what goes wrong from now on. Counters go on.
    pub fn set_faults(&self, faults: Faults) {
        self.disk().faults = faults;
    }

    /// Writes so far: `create`, `append`, `finish`, `write_slot`, `delete`, each counts one.
    pub fn writes(&self) -> u64 {
        self.disk().writes
    }

    /// Reads so far: `open`, `read_ranges`, `read_slot`, `list`, each counts one.
    pub fn reads(&self) -> u64 {
        self.disk().reads
    }

    /// Whether the machine has stopped.
    pub fn has_crashed(&self) -> bool {
        self.disk().crashed
    }

    /// Stops the machine now.
    pub fn crash(&self) {
        self.disk().crashed = true;
    }

    /// The disk as the next start finds it, without faults: what was flushed is whole; every unflushed file, and the
    /// slot or file that was just being put down, has `damage`; files removed since the last flush are back under
    /// [`Damage::Unchanged`]. `seed` picks the bit that flips.
    ///
    /// Half-written files appear under their final names, as with a backend that writes in place; others hide them.
    pub fn reopen(&self, damage: Damage, seed: u64) -> Self {
        let disk = self.disk();
        let mut flushed = disk.flushed.clone();
        let growing = disk.growing.iter().map(|(name, bytes)| (name.clone(), Bytes::copy_from_slice(bytes)));
        let unflushed: Vec<_> = growing.chain(disk.in_flight.clone()).collect();
        if damage == Damage::Unchanged {
            for (name, bytes) in &disk.removed {
                flushed.entry(name.clone()).or_insert_with(|| bytes.clone());
            }
        }
        for (name, bytes) in unflushed {
            match damage.apply(&bytes, seed) {
                Some(damaged) => drop(flushed.insert(name, damaged)),
                None => drop(flushed.remove(&name)),
            }
        }
        let reopened = Self::new();
        reopened.disk().flushed = flushed;
        reopened
    }

    /// Damages one finished file or slot, as a bad disk does. Returns whether there was one.
    pub fn damage(&self, name: &str, damage: Damage, seed: u64) -> bool {
        let mut disk = self.disk();
        let Some(bytes) = disk.flushed.remove(name) else { return false };
        if let Some(damaged) = damage.apply(&bytes, seed) {
            disk.flushed.insert(name.to_owned(), damaged);
        }
        true
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a write happens.
enum Turn {
    Whole,
    Half,
}

impl Disk {
    fn alive(&self) -> Result<()> {
        if self.crashed { Err(Error::new(ErrorKind::Io, "the machine has stopped")) } else { Ok(()) }
    }

    fn read(&mut self) -> Result<()> {
        self.alive()?;
        self.reads += 1;
        if self.faults.fail_read == Some(self.reads) {
            return Err(Error::new(ErrorKind::Network, format!("read {} fails as asked", self.reads)));
        }
        Ok(())
    }

    /// Counts a write. `crash` puts into place what a crash in the middle of it leaves.
    fn write(&mut self, crash: impl FnOnce(&mut Self)) -> Result<Turn> {
        self.alive()?;
        self.writes += 1;
        let number = Some(self.writes);
        if self.faults.crash_at_write == number {
            crash(self);
            self.crashed = true;
            return Err(Error::new(ErrorKind::Io, format!("the machine stops at write {}", self.writes)));
        }
        if self.faults.fail_write == number {
            return Err(Error::new(ErrorKind::Io, format!("write {} fails as asked", self.writes)));
        }
        Ok(if self.faults.short_write == number { Turn::Half } else { Turn::Whole })
    }

    fn charge(&self, more: usize, replaced: usize) -> Result<()> {
        let Some(quota) = self.faults.quota_bytes else { return Ok(()) };
        let flushed: usize = self.flushed.values().map(Bytes::len).sum();
        let growing: usize = self.growing.values().map(BytesMut::len).sum();
        let used = (flushed + growing + more - replaced) as u64;
        if used > quota {
            return Err(Error::new(ErrorKind::Quota, format!("{used} bytes needed, {quota} allowed")));
        }
        Ok(())
    }
}

impl Storage for FaultyStorage {
    type File = FaultyFile;
    type Writer = FaultyWriter;
    type Lock = MemoryLock;

    async fn list(&self) -> Result<Vec<FileEntry>> {
        let mut disk = self.disk();
        disk.read()?;
        let files = disk.flushed.iter();
        Ok(files.map(|(name, bytes)| FileEntry { name: name.clone(), len: bytes.len() as u64 }).collect())
    }

    async fn open(&self, name: &str, options: OpenOptions) -> Result<FaultyFile> {
        check_name(name)?;
        let mut disk = self.disk();
        disk.read()?;
        let bytes = disk.flushed.get(name).cloned();
        let bytes = bytes.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("file {name}")))?;
        check_len(name, bytes.len() as u64, options.len)?;
        Ok(FaultyFile { bytes, storage: self.clone() })
    }

    async fn create(&self, name: &str) -> Result<FaultyWriter> {
        check_name(name)?;
        let mut disk = self.disk();
        if disk.flushed.contains_key(name) {
            return Err(already_exists(name));
        }
        let start = |disk: &mut Disk| drop(disk.growing.insert(name.to_owned(), BytesMut::new()));
        disk.write(start)?;
        start(&mut disk);
        Ok(FaultyWriter { storage: self.clone(), name: name.to_owned(), failed: false })
    }

    async fn delete(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let mut disk = self.disk();
        let remove = |disk: &mut Disk| {
            if let Some(bytes) = disk.flushed.remove(name) {
                disk.removed.push((name.to_owned(), bytes));
            }
        };
        disk.write(remove)?;
        remove(&mut disk);
        Ok(())
    }

    async fn read_slot(&self, slot: CommitSlot) -> Result<Option<Bytes>> {
        let mut disk = self.disk();
        disk.read()?;
        Ok(disk.flushed.get(slot.file_name()).cloned())
    }

    async fn write_slot(&self, slot: CommitSlot, bytes: Bytes) -> Result<()> {
        let mut disk = self.disk();
        let name = slot.file_name();
        disk.write(|disk| disk.in_flight = Some((name.to_owned(), bytes.clone())))?;
        let replaced = disk.flushed.get(name).map_or(0, Bytes::len);
        disk.charge(bytes.len(), replaced)?;
        disk.flushed.insert(name.to_owned(), bytes);
        disk.removed.clear();
        Ok(())
    }

    async fn lock_writer(&self, wait_millis: u32) -> Result<MemoryLock> {
        self.disk().alive()?;
        self.locks.lock_writer(wait_millis).await
    }

    fn profile(&self) -> ReadProfile {
        ReadProfile::LOCAL
    }

    fn label(&self) -> String {
        "faulty".to_owned()
    }
}

/// A file of a [`FaultyStorage`].
#[derive(Clone)]
pub struct FaultyFile {
    bytes: Bytes,
    storage: FaultyStorage,
}

impl File for FaultyFile {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.storage.disk().read()?;
        slice_ranges(&self.bytes, ranges)
    }

    fn prefetch(&self, _ranges: &[Range<u64>]) -> usize {
        0
    }

    /// Never: a caller must not get around the faults.
    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}

/// A writer of a [`FaultyStorage`].
pub struct FaultyWriter {
    storage: FaultyStorage,
    name: String,
    failed: bool,
}

impl FaultyWriter {
    fn append_now(&self, bytes: &Bytes) -> Result<()> {
        let mut disk = self.storage.disk();
        let grow = |disk: &mut Disk, bytes: &[u8]| {
            if let Some(growing) = disk.growing.get_mut(&self.name) {
                growing.extend_from_slice(bytes);
            }
        };
        let turn = disk.write(|disk| grow(disk, bytes))?;
        disk.charge(bytes.len(), 0)?;
        match turn {
            Turn::Whole => {
                grow(&mut disk, bytes);
                Ok(())
            }
            Turn::Half => {
                grow(&mut disk, &bytes[..bytes.len() / 2]);
                Err(Error::new(ErrorKind::Io, format!("short write of {}", self.name)))
            }
        }
    }
}

impl Writer for FaultyWriter {
    async fn append(&mut self, bytes: Bytes) -> Result<()> {
        if self.failed {
            return Err(Error::new(ErrorKind::Closed, format!("writer of {}: it failed before", self.name)));
        }
        let appended = self.append_now(&bytes);
        self.failed = appended.is_err();
        appended
    }

    async fn finish(self) -> Result<u64> {
        if self.failed {
            return Err(Error::new(ErrorKind::Closed, format!("writer of {}: it failed before", self.name)));
        }
        let mut disk = self.storage.disk();
        // In the middle of it the file is still growing: a crash damages it.
        disk.write(|_| {})?;
        if disk.flushed.contains_key(&self.name) {
            return Err(already_exists(&self.name));
        }
        let bytes = disk.growing.remove(&self.name).unwrap_or_default().freeze();
        let len = bytes.len() as u64;
        disk.flushed.insert(self.name.clone(), bytes);
        disk.removed.clear();
        Ok(len)
    }
}

impl Drop for FaultyWriter {
    fn drop(&mut self) {
        let mut disk = self.storage.disk();
        // After a crash nobody is left to clean up.
        if !disk.crashed {
            disk.growing.remove(&self.name);
        }
    }
}

#[cfg(test)]
#[path = "faulty_tests.rs"]
mod tests;
