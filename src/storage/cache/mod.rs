//! The block cache: one budget for all files of an engine.
//!
//! [`BlockCache`] holds blocks, [`CachedFile`] reads one file through it. Residency is known per block, so nothing is
//! guessed: a prefetch asks for exactly what is neither resident nor in flight. `state` decides what stays
//! (S3-FIFO), `flight` lets several readers wait for one load.

#![forbid(unsafe_code)]

mod file;
mod flight;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use file::CachedFile;
use state::State;

use super::{Access, File, ReadProfile};

/// Budget of a cache whose owner gives none: 64 MiB.
pub const DEFAULT_CACHE_BYTES: u64 = 64 << 20;

/// Blocks of files under one budget. Clones are the same cache.
#[derive(Clone)]
pub struct BlockCache(Arc<Mutex<State>>);

/// What a cache holds at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// The budget.
    pub budget_bytes: u64,
    /// Bytes of resident blocks.
    pub resident_bytes: u64,
    /// Resident blocks.
    pub resident_blocks: u64,
    /// Bytes of blocks that are pinned, resident or on their way.
    pub pinned_bytes: u64,
    /// Blocks in flight.
    pub loading_blocks: u64,
    /// Blocks dropped to make room, ever.
    pub evicted_blocks: u64,
}

impl BlockCache {
    /// A cache of `budget_bytes`, see [`DEFAULT_CACHE_BYTES`]. With 0 nothing is kept: reads go straight to the
    /// backend, still coalesced and in parallel, and prefetches decline.
    pub fn new(budget_bytes: u64) -> Self {
        Self(Arc::new(Mutex::new(State::new(budget_bytes))))
    }

    /// A handle of `file` that reads through this cache. Handles of one `name` (and length) share blocks: a cache
    /// serves one namespace, where names are never reused. `access` decides: [`super::Pattern::Random`] keeps
    /// blocks, the other patterns pass the cache by; [`Access::pin`] keeps what was read until the handle and its
    /// clones are dropped. The last handle of a file takes its blocks along.
    pub fn wrap<F: File>(&self, file: F, name: &str, access: Access, profile: &ReadProfile) -> CachedFile<F> {
        self.wrap_fine(file, name, access, profile, u64::MAX)
    }

    /// The same of a file whose readers want exact ranges from `fine_from` on: where a read takes long
    /// ([`ReadProfile::is_far`]), blocks are small there and requests are not joined over wide gaps. All handles of one
    /// name are made with one place.
    pub fn wrap_fine<F: File>(
        &self,
        file: F,
        name: &str,
        access: Access,
        profile: &ReadProfile,
        fine_from: u64,
    ) -> CachedFile<F> {
        CachedFile::new(self.clone(), file, name, access, profile, fine_from)
    }

    /// What it holds now.
    pub fn stats(&self) -> CacheStats {
        self.state().stats()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No step between two changes of the state can panic half way through an invariant that readers rely on.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for BlockCache {
    fn default() -> Self {
        Self::new(DEFAULT_CACHE_BYTES)
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
