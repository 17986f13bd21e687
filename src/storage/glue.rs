//! What the wasm backends share: calling JavaScript that may answer now or later, turning what it throws into
//! our errors, and aborting what is in flight when a read is dropped.
#![forbid(unsafe_code)]

use std::{cell::RefCell, collections::VecDeque, future::Future, ops::Range, rc::Rc};

use bytes::Bytes;
use futures_channel::oneshot;
use futures_util::future::try_join_all;
use js_sys::{Array, Function, Object, Promise, Reflect, Symbol, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::{
    ReadProfile,
    plan::{PlanLimits, ReadPlan, check_ranges},
};
use crate::{
    error::{Error, ErrorKind, Result},
    platform::sleep_millis,
};

/// Property `name` of `object`; `undefined` where there is none or `object` is no object.
pub(crate) fn get(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
}

/// Property `name` of `object` if it is a function.
pub(crate) fn method(object: &JsValue, name: &str) -> Option<Function> {
    get(object, name).dyn_into().ok()
}

/// Sets `object[name] = value` on an object of ours.
pub(crate) fn set(object: &Object, name: &str, value: impl Into<JsValue>) {
    // Reflect.set fails only on frozen objects and proxies; these are plain literals.
    let _ = Reflect::set(object, &JsValue::from_str(name), &value.into());
}

/// A property of the global object, whichever runtime this is.
pub(crate) fn global(name: &str) -> JsValue {
    get(&js_sys::global(), name)
}

/// `function.apply(this, args)`, awaited only if the answer is a promise.
pub(crate) async fn call(function: &Function, this: &JsValue, args: &[JsValue]) -> Result<JsValue, JsValue> {
    let args: Array = args.iter().collect();
    let answer = function.apply(this, &args)?;
    settle(answer).await
}

/// `value`, or what it resolves to if it is a promise or another thenable.
pub(crate) async fn settle(value: JsValue) -> Result<JsValue, JsValue> {
    if let Some(promise) = value.dyn_ref::<Promise>() {
        return JsFuture::from(promise.clone()).await;
    }
    if value.is_object() && method(&value, "then").is_some() {
        return JsFuture::from(Promise::resolve(&value)).await;
    }
    Ok(value)
}

/// Bytes of a `Uint8Array`, another view, or an `ArrayBuffer`, copied into wasm memory; none of one whose buffer was
/// transferred away. Nothing here throws, whatever `value` is.
pub(crate) fn to_bytes(value: &JsValue) -> Option<Vec<u8>> {
    // A detached buffer has no bytes, and copying none of them throws.
    let copy = |array: &Uint8Array| if array.length() == 0 { Vec::new() } else { array.to_vec() };
    if let Some(array) = value.dyn_ref::<Uint8Array>() {
        return Some(copy(array));
    }
    let len = get(value, "byteLength").as_f64()?;
    if len == 0.0 {
        return Some(Vec::new());
    }
    let args = if value.is_instance_of::<js_sys::ArrayBuffer>() {
        Array::of1(value)
    } else {
        // Views of another realm fail instanceof; what has these three properties is a view.
        let (buffer, offset) = (get(value, "buffer"), get(value, "byteOffset").as_f64()?);
        Array::of3(&buffer, &offset.into(), &len.into())
    };
    // Not `Uint8Array::new…`: an exception would leave wasm past all of us.
    let made = Reflect::construct(&global("Uint8Array").dyn_into::<Function>().ok()?, &args).ok()?;
    made.dyn_ref::<Uint8Array>().map(copy)
}

/// Text of something thrown: its name and message, never empty.
pub(crate) fn describe(thrown: &JsValue) -> String {
    let part = |name| get(thrown, name).as_string().unwrap_or_default();
    match (part("name"), part("message")) {
        (name, message) if name.is_empty() && message.is_empty() => {
            thrown.as_string().unwrap_or_else(|| format!("{thrown:?}"))
        }
        (name, message) if message.is_empty() => name,
        (name, message) if name.is_empty() => message,
        (name, message) => format!("{name}: {message}"),
    }
}

/// Our error for something JavaScript threw. A `code` that is one of [`ErrorKind::code`] is believed; else the
/// names of the platform (`QuotaExceededError`, `AbortError`, …) decide; the rest is `otherwise`.
pub(crate) fn error_from(thrown: &JsValue, otherwise: ErrorKind, context: impl Into<String>) -> Error {
    let code = get(thrown, "code").as_string();
    let by_code = code.and_then(|code| ErrorKind::ALL.into_iter().find(|kind| kind.code() == code));
    let kind = by_code.unwrap_or_else(|| match get(thrown, "name").as_string().as_deref() {
        Some("QuotaExceededError") => ErrorKind::Quota,
        Some("AbortError") => ErrorKind::Aborted,
        Some("NotFoundError") => ErrorKind::NotFound,
        Some("NoModificationAllowedError") => ErrorKind::Locked,
        _ => otherwise,
    });
    Error::with_source(kind, context, describe(thrown))
}

/// Whether a file could not be had because something else holds it.
pub(crate) fn is_held(thrown: &JsValue) -> bool {
    let name = get(thrown, "name").as_string();
    // Firefox says InvalidStateError while a handle that was just closed is going away.
    matches!(name.as_deref(), Some("NoModificationAllowedError" | "InvalidStateError"))
}

/// Does `attempt` again after each of `waits` (milliseconds) as long as something else holds the file.
///
/// # Errors
/// What the last attempt throws.
pub(crate) async fn while_held<T, R>(waits: &[u32], attempt: impl Fn() -> R) -> Result<T, JsValue>
where
    R: Future<Output = Result<T, JsValue>>,
{
    for millis in waits {
        match attempt().await {
            Err(thrown) if is_held(&thrown) => sleep_millis(*millis).await,
            settled => return settled,
        }
    }
    attempt().await
}

/// Items of an iterable, an async iterable included; `None` if `iterable` is neither.
///
/// # Errors
/// What the iteration throws.
pub(crate) async fn collect(iterable: &JsValue) -> Result<Option<Vec<JsValue>>, JsValue> {
    let by_symbol = |symbol: &Symbol| Reflect::get(iterable, symbol).ok()?.dyn_into::<Function>().ok();
    let start = by_symbol(&Symbol::async_iterator()).or_else(|| by_symbol(&Symbol::iterator()));
    let Some(start) = start else { return Ok(None) };
    let iterator = start.call0(iterable)?;
    let Some(next) = method(&iterator, "next") else { return Ok(None) };
    let mut items = Vec::new();
    loop {
        let step = call(&next, &iterator, &[]).await?;
        if get(&step, "done").is_truthy() {
            return Ok(Some(items));
        }
        items.push(get(&step, "value"));
    }
}

/// An `AbortController` that fires when dropped before [`Self::disarm`]: whoever stops waiting for a read
/// stops its requests too.
pub(crate) struct AbortOnDrop {
    controller: Option<JsValue>,
}

impl AbortOnDrop {
    /// A fresh controller; without one in runtimes that have none.
    pub(crate) fn new() -> Self {
        let controller = global("AbortController")
            .dyn_into::<Function>()
            .ok()
            .and_then(|constructor| Reflect::construct(&constructor, &Array::new()).ok());
        Self { controller }
    }

    /// The signal, or `undefined`.
    pub(crate) fn signal(&self) -> JsValue {
        self.controller.as_ref().map_or(JsValue::UNDEFINED, |controller| get(controller, "signal"))
    }

    /// Aborts now.
    pub(crate) fn abort(&mut self) {
        if let Some(controller) = self.controller.take()
            && let Some(abort) = method(&controller, "abort")
        {
            let _ = abort.call0(&controller);
        }
    }

    /// The work is over: dropping does nothing any more.
    pub(crate) fn disarm(&mut self) {
        self.controller = None;
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.abort();
    }
}

/// Lets a fixed number of tasks in at a time, first come, first served.
#[derive(Clone)]
pub(crate) struct Gate(Rc<RefCell<GateState>>);

struct GateState {
    free: usize,
    waiting: VecDeque<oneshot::Sender<Pass>>,
}

/// The right to be inside; dropping it lets the next one in.
pub(crate) struct Pass(Option<Gate>);

impl Gate {
    /// A gate for `places` tasks, at least one.
    pub(crate) fn new(places: usize) -> Self {
        Self(Rc::new(RefCell::new(GateState { free: places.max(1), waiting: VecDeque::new() })))
    }

    /// Waits for a place.
    pub(crate) async fn enter(&self) -> Pass {
        let turn = {
            let mut state = self.0.borrow_mut();
            if state.free > 0 {
                state.free -= 1;
                return Pass(Some(self.clone()));
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting.push_back(sender);
            receiver
        };
        turn.await.expect("a gate outlives its queue: every pass holds it, and someone is inside while others wait")
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let Some(gate) = self.0.take() else { return };
        let next = || gate.0.borrow_mut().waiting.pop_front();
        while let Some(sender) = next() {
            // The pass moves on. One that comes back, since its task gave up, is emptied and goes to the one after.
            match sender.send(Self(Some(gate.clone()))) {
                Ok(()) => return,
                Err(mut refused) => refused.0 = None,
            }
        }
        gate.0.borrow_mut().free += 1;
    }
}

/// Reads `ranges` of a file of `len` bytes through `read`, which brings exactly one range: near ranges as one request,
/// the requests in parallel, as many as `gate` lets in.
///
/// # Errors
/// `invalid_argument` for a range past the end; the first error of `read`, upon which the other reads are dropped.
pub(crate) async fn read_planned<F, R>(
    ranges: &[Range<u64>],
    len: u64,
    profile: &ReadProfile,
    gate: &Gate,
    read: F,
) -> Result<Vec<Bytes>>
where
    F: Fn(Range<u64>) -> R,
    R: Future<Output = Result<Bytes>>,
{
    check_ranges(ranges, len)?;
    let plan = ReadPlan::new(ranges, PlanLimits::from(profile));
    let read = &read;
    let requests = plan.requests().iter().cloned().map(|request| async move {
        let _pass = gate.enter().await;
        read(request).await
    });
    Ok(plan.assemble(&try_join_all(requests).await?))
}
