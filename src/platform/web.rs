//! wasm32 side of [`super`]: the host's event loop.

use std::future::Future;

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue, prelude::wasm_bindgen};
use wasm_bindgen_futures::JsFuture;

/// `Send` on native; nothing on wasm32, where futures hold JavaScript values.
pub trait MaybeSend {}
impl<T: ?Sized> MaybeSend for T {}

/// `Sync` on native; nothing on wasm32.
pub trait MaybeSync {}
impl<T: ?Sized> MaybeSync for T {}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, millis: u32) -> JsValue;
}

/// Milliseconds of a monotonic clock; only differences mean something.
pub fn now_millis() -> f64 {
    performance_now()
}

/// Milliseconds since 1970-01-01 UTC.
pub fn unix_millis() -> u64 {
    js_sys::Date::now() as u64
}

/// Waits without blocking the event loop.
pub async fn sleep_millis(millis: u32) {
    let promise = Promise::new(&mut |resolve, _reject| {
        set_timeout(&resolve, millis);
    });
    let _ = JsFuture::from(promise).await;
}

/// Gives way to the event loop, so that messages (a cancellation, another query) are heard.
/// `scheduler.yield` where there is one, else a timer of zero.
pub async fn yield_now() {
    let global = js_sys::global();
    let scheduler = Reflect::get(&global, &"scheduler".into()).unwrap_or(JsValue::UNDEFINED);
    let yielder = Reflect::get(&scheduler, &"yield".into()).ok().and_then(|value| value.dyn_into::<Function>().ok());
    let promise =
        yielder.and_then(|function| function.call0(&scheduler).ok()).and_then(|value| value.dyn_into::<Promise>().ok());
    match promise {
        Some(promise) => drop(JsFuture::from(promise).await),
        None => sleep_millis(0).await,
    }
}

/// Runs `task` in the background, on the event loop.
pub fn spawn(task: impl Future<Output = ()> + 'static) {
    wasm_bindgen_futures::spawn_local(task);
}

/// Runs a future that never really waits, as those over memory: tests shared with native builds compile here too.
///
/// # Panics
/// If the future waits: nothing can block in a browser.
#[cfg(test)]
pub fn block_on<F: Future>(future: F) -> F::Output {
    use futures_util::FutureExt;
    future.now_or_never().expect("a future that is ready at once")
}
