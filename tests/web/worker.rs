//! Storage in a dedicated worker: where the private file system has synchronous handles.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::wasm_bindgen_test_configure;

mod codec;
mod conformance;
mod distance;
#[cfg(feature = "webgpu")]
mod gpu;
mod http;
mod js_storage;
mod opfs;
mod opfs_worker;
mod support;

wasm_bindgen_test_configure!(run_in_dedicated_worker);
