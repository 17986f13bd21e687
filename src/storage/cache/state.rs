//! What is resident, what is in flight, what is pinned, and what goes first.
//!
//! Eviction is S3-FIFO (Yang et al., "FIFO Queues are All You Need for Cache Eviction", SOSP 2023): new blocks enter
//! a small queue, a tenth of the budget; those read again move to the main queue, those that are not leave and are
//! remembered by key, and one that comes back soon enters the main queue at once. So a scan passes through the small
//! queue and leaves the rest alone, and a hit changes one counter, no list.

#![forbid(unsafe_code)]

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use bytes::Bytes;

use super::{CacheStats, flight::Flight};

/// Share of the budget that blocks may fill before their second read: one tenth, as the paper found best.
const SMALL_QUEUE_DIVISOR: u64 = 10;
/// Reads that are remembered per block.
const MAX_FREQUENCY: u8 = 3;

/// Block `block` of file `file`, or a range of it put together of several blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) file: u32,
    pub(super) block: u64,
}

/// Marks keys of ranges: no file has as many blocks.
const JOINED: u64 = 1 << 63;

impl Key {
    /// Key of the range that starts at byte `start`.
    pub(super) fn joined(file: u32, start: u64) -> Self {
        Self { file, block: JOINED | start }
    }
}

/// Multiplies and mixes: keys are small numbers that no outsider chooses.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        // The odd constant nearest to 2^64 divided by the golden ratio.
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

type Build = BuildHasherDefault<KeyHasher>;

enum Slot {
    Loading(Arc<Flight>),
    Resident(Resident),
}

struct Resident {
    bytes: Bytes,
    frequency: u8,
    /// Tells this residency from an earlier one of the same key that a queue still names.
    stamp: u64,
}

/// What a reader finds.
pub(super) enum Found {
    Resident(Bytes),
    Loading(Arc<Flight>),
    /// Nothing was there: the caller loads it and lands the flight.
    Started(Arc<Flight>),
}

#[derive(Default)]
pub(super) struct State {
    budget_bytes: u64,
    slots: HashMap<Key, Slot, Build>,
    small: VecDeque<(Key, u64)>,
    main: VecDeque<(Key, u64)>,
    ghosts: VecDeque<Key>,
    ghost_keys: HashSet<Key, Build>,
    pins: HashMap<Key, u32, Build>,
    files: HashMap<(String, u64), FileUse>,
    next_file: u32,
    next_stamp: u64,
    small_bytes: u64,
    resident_bytes: u64,
    pinned_bytes: u64,
    loading_blocks: u64,
    evicted_blocks: u64,
}

struct FileUse {
    id: u32,
    handles: u32,
}

impl State {
    pub(super) fn new(budget_bytes: u64) -> Self {
        Self { budget_bytes, ..Self::default() }
    }

    pub(super) fn budget_bytes(&self) -> u64 {
        self.budget_bytes
    }

    pub(super) fn stats(&self) -> CacheStats {
        CacheStats {
            budget_bytes: self.budget_bytes,
            resident_bytes: self.resident_bytes,
            resident_blocks: self.slots.len() as u64 - self.loading_blocks,
            pinned_bytes: self.pinned_bytes,
            loading_blocks: self.loading_blocks,
            evicted_blocks: self.evicted_blocks,
        }
    }

    /// Number of the file of that name and length, while it has handles.
    pub(super) fn open_file(&mut self, name: &str, len: u64) -> u32 {
        let next = self.next_file;
        let file = self.files.entry((name.to_owned(), len)).or_insert(FileUse { id: next, handles: 0 });
        if file.handles == 0 {
            self.next_file += 1;
        }
        file.handles += 1;
        file.id
    }

    /// Gives a handle back; the last one takes the file's blocks along.
    pub(super) fn close_file(&mut self, name: &str, len: u64) {
        let key = (name.to_owned(), len);
        let Some(file) = self.files.get_mut(&key) else { return };
        file.handles -= 1;
        if file.handles > 0 {
            return;
        }
        let id = file.id;
        self.files.remove(&key);
        let resident: Vec<Key> = self.slots.keys().filter(|key| key.file == id).copied().collect();
        resident.into_iter().for_each(|key| self.forget(key));
        self.small.retain(|(key, _)| key.file != id);
        self.main.retain(|(key, _)| key.file != id);
        self.small_bytes = self.small.iter().map(|&(key, stamp)| self.resident_len(key, stamp).unwrap_or(0)).sum();
    }

    /// The block if it is resident; counts a read if `again`: whoever loaded the block has its first read free.
    pub(super) fn hit(&mut self, key: Key, again: bool) -> Option<Bytes> {
        match self.slots.get_mut(&key) {
            Some(Slot::Resident(resident)) => {
                resident.frequency = (resident.frequency + u8::from(again)).min(MAX_FREQUENCY);
                Some(resident.bytes.clone())
            }
            _ => None,
        }
    }

    /// The block, the load it is in, or a load that the caller has to do.
    pub(super) fn find(&mut self, key: Key, again: bool) -> Found {
        if let Some(bytes) = self.hit(key, again) {
            return Found::Resident(bytes);
        }
        if let Some(Slot::Loading(flight)) = self.slots.get(&key) {
            return Found::Loading(flight.clone());
        }
        let flight = Arc::new(Flight::default());
        self.slots.insert(key, Slot::Loading(flight.clone()));
        self.loading_blocks += 1;
        Found::Started(flight)
    }

    /// Whether it is neither resident nor in flight.
    pub(super) fn is_absent(&self, key: Key) -> bool {
        !self.slots.contains_key(&key)
    }

    /// Ends a load: makes the block resident, or forgets the load. Nothing happens if the slot is not that load's.
    pub(super) fn land(&mut self, key: Key, flight: &Arc<Flight>, bytes: Option<Bytes>) {
        match self.slots.get(&key) {
            Some(Slot::Loading(current)) if Arc::ptr_eq(current, flight) => {}
            _ => return,
        }
        self.slots.remove(&key);
        self.loading_blocks -= 1;
        if let Some(bytes) = bytes {
            self.insert(key, bytes);
        }
    }

    /// The range of `len` bytes that starts where `key` says, if one at least as long is resident.
    pub(super) fn hit_joined(&mut self, key: Key, len: u64) -> Option<Bytes> {
        let bytes = self.hit(key, true)?;
        (bytes.len() as u64 >= len).then(|| bytes.slice(..len as usize))
    }

    /// Makes a range resident that was put together of resident blocks, in place of a shorter one.
    pub(super) fn insert_joined(&mut self, key: Key, bytes: Bytes) {
        if let Some(Slot::Resident(shorter)) = self.slots.get(&key) {
            // The queues name it by its stamp and pass it over; its bytes leave the sum of the small one now.
            let entry = (key, shorter.stamp);
            if self.small.contains(&entry) {
                self.small_bytes -= shorter.bytes.len() as u64;
            }
            self.forget(key);
        }
        self.insert(key, bytes);
    }

    fn insert(&mut self, key: Key, bytes: Bytes) {
        let len = bytes.len() as u64;
        let stamp = self.next_stamp;
        self.next_stamp += 1;
        self.resident_bytes += len;
        if self.ghost_keys.remove(&key) {
            self.main.push_back((key, stamp));
        } else {
            self.small.push_back((key, stamp));
            self.small_bytes += len;
        }
        self.slots.insert(key, Slot::Resident(Resident { bytes, frequency: 0, stamp }));
        self.evict();
    }

    /// Keeps a block, or the place of one, until [`Self::unpin`]. `len` is the length of the block.
    pub(super) fn pin(&mut self, key: Key, len: u64) {
        let pins = self.pins.entry(key).or_insert(0);
        if *pins == 0 {
            self.pinned_bytes += len;
        }
        *pins += 1;
    }

    /// Undoes one [`Self::pin`] of the same length.
    pub(super) fn unpin(&mut self, key: Key, len: u64) {
        let Some(pins) = self.pins.get_mut(&key) else { return };
        *pins -= 1;
        if *pins == 0 {
            self.pins.remove(&key);
            self.pinned_bytes -= len;
            if self.resident_bytes > self.budget_bytes {
                self.evict();
            }
        }
    }

    /// Whether `len` more pinned bytes fit the budget.
    pub(super) fn can_pin(&self, len: u64) -> bool {
        self.pinned_bytes.saturating_add(len) <= self.budget_bytes
    }

    fn resident_len(&self, key: Key, stamp: u64) -> Option<u64> {
        match self.slots.get(&key) {
            Some(Slot::Resident(resident)) if resident.stamp == stamp => Some(resident.bytes.len() as u64),
            _ => None,
        }
    }

    fn forget(&mut self, key: Key) {
        match self.slots.remove(&key) {
            Some(Slot::Resident(resident)) => self.resident_bytes -= resident.bytes.len() as u64,
            Some(Slot::Loading(_)) => self.loading_blocks -= 1,
            None => {}
        }
    }

    /// Drops blocks until the budget holds, or only pinned ones are left.
    fn evict(&mut self) {
        // Every entry is looked at a bounded number of times: its frequency falls with each look, a pinned one
        // uses up a look.
        let mut looks = (self.small.len() + self.main.len()) * (usize::from(MAX_FREQUENCY) + 2);
        while self.resident_bytes > self.budget_bytes && looks > 0 {
            looks -= 1;
            let small_is_full = self.small_bytes > self.budget_bytes / SMALL_QUEUE_DIVISOR;
            if (small_is_full || self.main.is_empty()) && !self.small.is_empty() {
                self.evict_small();
            } else if !self.main.is_empty() {
                self.evict_main();
            } else {
                return;
            }
        }
    }

    fn evict_small(&mut self) {
        let Some((key, stamp)) = self.small.pop_front() else { return };
        let Some(len) = self.resident_len(key, stamp) else { return };
        self.small_bytes -= len;
        let read_again = matches!(self.slots.get(&key), Some(Slot::Resident(resident)) if resident.frequency > 0);
        if read_again || self.pins.contains_key(&key) {
            self.set_frequency(key, 0);
            self.main.push_back((key, stamp));
            return;
        }
        self.forget(key);
        self.evicted_blocks += 1;
        if self.ghost_keys.insert(key) {
            self.ghosts.push_back(key);
        }
        // As many ghosts as blocks: an entry costs 12 bytes or so against kilobytes.
        while self.ghosts.len() > (self.small.len() + self.main.len()).max(16) {
            if let Some(oldest) = self.ghosts.pop_front() {
                self.ghost_keys.remove(&oldest);
            }
        }
    }

    fn evict_main(&mut self) {
        let Some((key, stamp)) = self.main.pop_front() else { return };
        if self.resident_len(key, stamp).is_none() {
            return;
        }
        let frequency = match self.slots.get(&key) {
            Some(Slot::Resident(resident)) => resident.frequency,
            _ => 0,
        };
        if frequency > 0 || self.pins.contains_key(&key) {
            self.set_frequency(key, frequency.saturating_sub(1));
            self.main.push_back((key, stamp));
            return;
        }
        self.forget(key);
        self.evicted_blocks += 1;
    }

    fn set_frequency(&mut self, key: Key, frequency: u8) {
        if let Some(Slot::Resident(resident)) = self.slots.get_mut(&key) {
            resident.frequency = frequency;
        }
    }

    /// Recounts everything from the slots.
    ///
    /// # Panics
    /// If a counter is wrong.
    #[cfg(all(test, not(target_arch = "wasm32")))]
    pub(super) fn check_invariants(&self) {
        let lens = self.slots.values().filter_map(|slot| match slot {
            Slot::Resident(resident) => Some(resident.bytes.len() as u64),
            Slot::Loading(_) => None,
        });
        assert_eq!(self.resident_bytes, lens.sum::<u64>(), "resident bytes");
        let loading = self.slots.values().filter(|slot| matches!(slot, Slot::Loading(_))).count() as u64;
        assert_eq!(self.loading_blocks, loading, "loading blocks");
        let small = self.small.iter().filter_map(|&(key, stamp)| self.resident_len(key, stamp));
        assert_eq!(self.small_bytes, small.sum::<u64>(), "bytes of the small queue");
        for (key, slot) in &self.slots {
            let Slot::Resident(resident) = slot else { continue };
            let queued = self.small.iter().chain(&self.main).filter(|entry| **entry == (*key, resident.stamp)).count();
            assert_eq!(queued, 1, "each resident block is in one queue");
        }
        let pinned = self.slots.keys().any(|key| self.pins.contains_key(key));
        assert!(pinned || self.resident_bytes <= self.budget_bytes, "over budget without a pin");
    }
}
