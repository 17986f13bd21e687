//! Where vectors are scored: [`search_flat`] reads rows and scores them, on a GPU where one is asked for and
//! pays, on the CPU otherwise, with the same answer.
//!
//! Without the feature `webgpu` there is no device code; [`GpuHost`] then always answers "CPU" and says why.
//!
//! [`search_flat`] is what the searcher calls. [`Mode`] is the caller's wish, [`rules`] decides.

#![forbid(unsafe_code)]

#[cfg(feature = "webgpu")]
mod device;
#[cfg(all(test, feature = "webgpu", not(target_arch = "wasm32")))]
mod device_tests;
#[cfg(feature = "webgpu")]
mod flat_job;
#[cfg(feature = "webgpu")]
mod host;
#[cfg(not(feature = "webgpu"))]
#[path = "host_absent.rs"]
mod host;
#[cfg(feature = "webgpu")]
mod instance;
#[cfg(feature = "webgpu")]
mod kernels;
#[cfg(feature = "webgpu")]
mod layout;
mod owners;
#[cfg(feature = "webgpu")]
mod pool;
mod rescore;
mod rounds;
pub mod rules;
mod search;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod search_tests;
#[cfg(all(test, feature = "webgpu", not(target_arch = "wasm32")))]
mod twin;

pub use host::GpuHost;
pub use owners::OwnerStreams;
pub use rules::{GpuOptions, Job, Mode};
pub use search::{FlatAnswer, FlatRequest, SegmentRows, search_flat};
