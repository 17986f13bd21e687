//! One call from JavaScript: its promise, its errors, its cancellation, its progress.

use std::{
    cell::{Cell, RefCell},
    future::{Future, pending},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, Waker},
};

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use js_sys::{Function, Promise, Reflect};
use serde::Serialize;
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};
use wasm_bindgen_futures::future_to_promise;

use crate::{
    engine::Progress,
    error::{Error, ErrorKind, Result},
    platform::{Cancel, now_millis},
};

/// Progress is told at most this often, milliseconds, but for the first and last news of a phase.
const PROGRESS_MILLIS: f64 = 50.0;

/// Tells the work of one call to stop.
#[wasm_bindgen]
#[derive(Default)]
pub struct WasmCancel {
    shared: Rc<Shared>,
}

#[derive(Default)]
struct Shared {
    flag: Cancel,
    waiting: RefCell<Option<oneshot::Sender<()>>>,
}

#[wasm_bindgen]
impl WasmCancel {
    /// A flag nobody has set.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.shared.flag.cancel();
        if let Some(sender) = self.shared.waiting.take() {
            let _ = sender.send(());
        }
    }
}

impl WasmCancel {
    /// The flag that long work looks at.
    pub(super) fn flag(&self) -> Cancel {
        self.shared.flag.clone()
    }

    /// `work`, dropped as soon as the flag is set: what it waits for from storage is aborted too. Only for work
    /// that changes nothing.
    ///
    /// # Errors
    /// `aborted`, or what `work` fails with.
    pub(super) fn or_drop<T, F>(&self, work: F) -> impl Future<Output = Result<T>> + use<T, F>
    where
        F: Future<Output = Result<T>>,
    {
        let (sender, receiver) = oneshot::channel();
        self.shared.waiting.replace(Some(sender));
        let flag = self.flag();
        async move {
            flag.check()?;
            let cancelled = async {
                if receiver.await.is_err() {
                    // The flag was dropped unset: it will never be.
                    pending::<()>().await;
                }
            };
            match select(pin!(work), pin!(cancelled)).await {
                Either::Left((outcome, _)) => outcome,
                Either::Right(_) => Err(Error::new(ErrorKind::Aborted, "cancelled by the caller")),
            }
        }
    }
}

/// The promise of `work`, which starts at once. What can be done at once, such as a search whose bytes are all cached,
/// is done without a task: that would cost more than a small query.
pub(super) fn promise<T: Into<JsValue>>(work: impl Future<Output = Result<T>> + 'static) -> Promise {
    settle(Box::pin(async move { work.await.map(Into::into).map_err(|error| to_js(&error)) }))
}

fn settle(mut work: Pin<Box<dyn Future<Output = std::result::Result<JsValue, JsValue>>>>) -> Promise {
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(value)) => Promise::resolve(&value),
        Poll::Ready(Err(error)) => Promise::reject(&error),
        // Polled again at once by its task, it registers with that.
        Poll::Pending => future_to_promise(work),
    }
}

/// JSON text of an answer.
pub(super) fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::with_source(ErrorKind::InvalidArgument, "answer as JSON", error))
}

/// A JavaScript `Error` with our `code`.
pub(super) fn to_js(error: &Error) -> JsValue {
    let thrown = js_sys::Error::new(&error.to_string());
    // Setting a property of a fresh object does not fail.
    let _ = Reflect::set(&thrown, &"code".into(), &error.kind().code().into());
    thrown.into()
}

/// A listener that passes progress on to `callback(phase, done, total)`, thinned to [`PROGRESS_MILLIS`].
pub(super) fn listener(callback: Option<Function>) -> impl Fn(Progress) {
    let last = Cell::new(None);
    let told_at = Cell::new(f64::NEG_INFINITY);
    move |news: Progress| {
        let Some(callback) = &callback else { return };
        let now = now_millis();
        let edge = last.get() != Some(news.phase) || news.done >= news.total;
        if !edge && now - told_at.get() < PROGRESS_MILLIS {
            return;
        }
        last.set(Some(news.phase));
        told_at.set(now);
        let phase = serde_wasm_bindgen::to_value(&news.phase).unwrap_or(JsValue::UNDEFINED);
        // The face's callback catches what its listener throws.
        let _ = callback.call3(&JsValue::UNDEFINED, &phase, &(news.done as f64).into(), &(news.total as f64).into());
    }
}
