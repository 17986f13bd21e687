//! Reading an index over HTTP: what every client shares.
//!
//! [`response`] decides whether an answer may be used, [`retry`] whether and when to ask again. Both are pure; the native
//! client and the browser's fetch bring bytes and headers to them.

#[cfg(all(not(target_arch = "wasm32"), feature = "http"))]
pub mod native;
mod no_writer;
pub mod response;
pub mod retry;

#[cfg(all(not(target_arch = "wasm32"), feature = "http"))]
pub use native::{HttpFile, HttpOptions, HttpStorage};
pub use no_writer::NoWriter;
pub use response::{HttpFault, RangeAsked, ResponseHead, Validators, range_header};
pub use retry::{Backoff, RetryPolicy};
