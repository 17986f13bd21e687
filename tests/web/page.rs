//! Storage on the main thread of a page: no synchronous handles, slices instead.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::wasm_bindgen_test_configure;

mod conformance;
#[cfg(feature = "webgpu")]
mod gpu;
mod http;
mod opfs;
mod support;

wasm_bindgen_test_configure!(run_in_browser);
