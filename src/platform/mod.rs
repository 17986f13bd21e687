//! What differs between native and wasm32 under one name: thread bounds, clock, sleep, background tasks,
//! giving way to the event loop. [`cancel`] is shared by both.

pub mod cancel;

#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(target_arch = "wasm32")]
mod web;

pub use cancel::Cancel;
#[cfg(not(target_arch = "wasm32"))]
pub use native::{
    MaybeSend, MaybeSync, Task, block_on, capture_spawned, now_millis, sleep_millis, spawn, unix_millis, yield_now,
};
#[cfg(all(test, target_arch = "wasm32"))]
pub use web::block_on;
#[cfg(target_arch = "wasm32")]
pub use web::{MaybeSend, MaybeSync, now_millis, sleep_millis, spawn, unix_millis, yield_now};
