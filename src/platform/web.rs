//! wasm32 side of [`super`]: the host's event loop.

use std::{cell::RefCell, collections::VecDeque, future::Future};

use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue, closure::Closure, prelude::wasm_bindgen};
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
///
/// `scheduler.yield` will not do: what it resumes goes before messages that wait. A message to oneself queues
/// behind them, and unlike nested timers is not held back for 4 ms. Outside of browsers, where a port would keep
/// the process alive or belong to one request, it is `setImmediate` or a timer.
pub async fn yield_now() {
    let promise = Promise::new(&mut |resolve, _reject| YIELDER.with(|yielder| yielder.call_soon(&resolve)));
    let _ = JsFuture::from(promise).await;
}

thread_local! {
    static YIELDER: Yielder = Yielder::new();
    /// Those who wait for their message to come around.
    static WAITING: RefCell<VecDeque<Function>> = const { RefCell::new(VecDeque::new()) };
}

/// The way of this runtime to run something after what is queued.
enum Yielder {
    Immediate(Function),
    /// The sending port and its `postMessage`; the receiving port keeps the listener.
    Channel(JsValue, Function),
    Timer,
}

impl Yielder {
    fn new() -> Self {
        let global = js_sys::global();
        let has = |name: &str| get(&global, name).is_object() || get(&global, name).is_function();
        if let Ok(immediate) = get(&global, "setImmediate").dyn_into() {
            return Self::Immediate(immediate);
        }
        let in_browser = has("document") || has("DedicatedWorkerGlobalScope");
        in_browser.then(Self::channel).flatten().unwrap_or(Self::Timer)
    }

    fn channel() -> Option<Self> {
        let constructor: Function = get(&js_sys::global(), "MessageChannel").dyn_into().ok()?;
        let channel = Reflect::construct(&constructor, &Array::new()).ok()?;
        let listener = Closure::<dyn Fn()>::new(|| {
            if let Some(resolve) = WAITING.with_borrow_mut(VecDeque::pop_front) {
                let _ = resolve.call0(&JsValue::UNDEFINED);
            }
        });
        let receiver: Object = get(&channel, "port1").dyn_into().ok()?;
        Reflect::set(&receiver, &"onmessage".into(), &listener.into_js_value()).ok()?;
        let sender = get(&channel, "port2");
        let post = get(&sender, "postMessage").dyn_into().ok()?;
        Some(Self::Channel(sender, post))
    }

    fn call_soon(&self, resolve: &Function) {
        match self {
            Self::Immediate(immediate) => drop(immediate.call1(&JsValue::UNDEFINED, resolve)),
            Self::Channel(sender, post) => {
                WAITING.with_borrow_mut(|waiting| waiting.push_back(resolve.clone()));
                drop(post.call1(sender, &JsValue::UNDEFINED));
            }
            Self::Timer => drop(set_timeout(resolve, 0)),
        }
    }
}

fn get(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap_or(JsValue::UNDEFINED)
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
