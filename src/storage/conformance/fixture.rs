//! Files with known bytes, and random numbers that need no crate.

#![forbid(unsafe_code)]

use bytes::Bytes;

use crate::storage::{CommitSlot, Storage, Writer};

/// Random numbers of a seed: SplitMix64 (Steele et al., "Fast Splittable Pseudorandom Number Generators", 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end.max(1)
    }

    /// So many random bytes.
    pub fn bytes(&mut self, len: usize) -> Bytes {
        let mut bytes = Vec::with_capacity(len + 8);
        while bytes.len() < len {
            bytes.extend_from_slice(&self.next_u64().to_le_bytes());
        }
        bytes.truncate(len);
        bytes.into()
    }
}

/// The files that reading checks expect: write them with [`Self::write_to`], or serve [`Self::files`].
#[derive(Debug, Clone)]
pub struct Fixture {
    files: Vec<(String, Bytes)>,
}

impl Fixture {
    /// Name of a file of 1,000 bytes.
    pub const SMALL: &'static str = "small.bin";
    /// Name of a file of a few MiB: longer than one request of any backend may be.
    pub const LARGE: &'static str = "large.bin";
    /// Name of a file without bytes.
    pub const EMPTY: &'static str = "empty.bin";

    /// The same bytes every time.
    pub fn new() -> Self {
        let mut random = Random::new(2026);
        let large = random.bytes((4 << 20) + 12_345);
        let files = [
            (Self::SMALL, random.bytes(1_000)),
            (Self::LARGE, large),
            (Self::EMPTY, Bytes::new()),
            (CommitSlot::A.file_name(), random.bytes(777)),
        ];
        Self { files: files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect() }
    }

    /// Every file, the one commit slot included; the other slot is absent.
    pub fn files(&self) -> &[(String, Bytes)] {
        &self.files
    }

    /// Content of a file.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn bytes(&self, name: &str) -> &Bytes {
        let file = self.files.iter().find(|(own, _)| own == name);
        &file.unwrap_or_else(|| panic!("the fixture has no file {name}")).1
    }

    /// Writes the files into an otherwise unused storage; both slots of it are overwritten or absent.
    ///
    /// # Panics
    /// If writing fails.
    pub async fn write_to<S: Storage>(&self, storage: &S) {
        for (name, bytes) in &self.files {
            if name == CommitSlot::A.file_name() {
                storage.write_slot(CommitSlot::A, bytes.clone()).await.expect("write the slot");
                continue;
            }
            let mut writer = storage.create(name).await.expect("create");
            writer.append(bytes.clone()).await.expect("append");
            writer.finish().await.expect("finish");
        }
        storage.delete(CommitSlot::B.file_name()).await.expect("delete the other slot");
    }
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new()
    }
}
