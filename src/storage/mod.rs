//! Storage: where bytes live and how they are asked for.
//!
//! [`api`] holds the traits; [`plan`] turns wanted ranges into few requests. Backends: [`memory`] here, the others
//! beside it. [`http`] holds what the native and the browser's HTTP clients share.

#![forbid(unsafe_code)]

pub mod api;
#[cfg(target_arch = "wasm32")]
mod glue;
pub mod http;
#[cfg(target_arch = "wasm32")]
pub mod http_web;
#[cfg(target_arch = "wasm32")]
pub mod js;
pub mod memory;
pub mod names;
#[cfg(target_arch = "wasm32")]
pub mod opfs;
pub mod plan;

pub use api::{Access, CommitSlot, File, FileEntry, OpenOptions, Pattern, Purpose, ReadProfile, Storage, Writer};
pub use memory::MemoryStorage;
