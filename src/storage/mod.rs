//! Storage: where bytes live and how they are asked for.
//!
//! [`api`] holds the traits; [`plan`] turns wanted ranges into few requests. Backends: [`memory`] here, the others
//! beside it. [`cache`] keeps blocks for searches, [`sequential`] reads ahead for merges. [`http`] holds what
//! the native and the browser's HTTP clients share.

pub mod any;
pub mod api;
pub mod batch;
pub mod cache;
pub mod conformance;
#[cfg(target_arch = "wasm32")]
mod glue;
pub mod http;
#[cfg(target_arch = "wasm32")]
pub mod http_web;
#[cfg(target_arch = "wasm32")]
pub mod js;
#[cfg(not(target_arch = "wasm32"))]
pub mod local;
pub mod memory;
pub mod names;
#[cfg(target_arch = "wasm32")]
pub mod opfs;
pub mod plan;
pub mod sequential;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
pub mod trace;

pub use any::{AnyFile, AnyLock, AnyStorage, AnyWriter};
pub use api::{Access, CommitSlot, File, FileEntry, OpenOptions, Pattern, Purpose, ReadProfile, Storage, Writer};
pub use batch::read_batches;
pub use cache::{BlockCache, CacheStats, CachedFile, DEFAULT_CACHE_BYTES};
pub use memory::MemoryStorage;
pub use sequential::{SequentialOptions, SequentialReader};
pub use trace::{IoCounts, IoTrace};
