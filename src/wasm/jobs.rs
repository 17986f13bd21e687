//! Whole jobs: documents to a finished index, several indexes into one.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
};

use futures_channel::{mpsc, oneshot};
use js_sys::{Function, Promise};
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

use super::{
    analyzers,
    batch::WasmBatch,
    call::{WasmCancel, json, listener, promise},
    settings::JobSettings,
    storage::{Backend, WasmStorage},
};
use crate::{
    engine::{BuildReport, CustomAnalyzers, build, merge},
    error::{Error, ErrorKind, Result},
    platform::{Cancel, spawn},
    query::read_json,
    schema::DocumentBatch,
};

type Batches = mpsc::Sender<Result<DocumentBatch>>;
type Outcome = oneshot::Receiver<Result<BuildReport>>;

/// A build that takes its documents batch by batch.
#[wasm_bindgen]
pub struct WasmBuild {
    batches: std::rc::Rc<RefCell<Option<Batches>>>,
    outcome: Cell<Option<Outcome>>,
}

#[wasm_bindgen]
impl WasmBuild {
    /// Starts building a new index in `storage`. `analyzers` is an object of functions by name, or undefined.
    pub fn start(
        storage: &WasmStorage,
        settings: String,
        progress: Option<Function>,
        cancel: &WasmCancel,
        analyzers: &JsValue,
    ) -> Self {
        let analyzers = analyzers::read(analyzers);
        // One batch waits while another is being indexed; a third waits at the sender.
        let (batches, received) = mpsc::channel(0);
        let (told, outcome) = oneshot::channel();
        let (storage, flag, listener) = (storage.backend(), cancel.flag(), listener(progress));
        spawn(async move {
            let _ = told.send(run(storage, received, &settings, analyzers, &listener, &flag).await);
        });
        Self { batches: std::rc::Rc::new(RefCell::new(Some(batches))), outcome: Cell::new(Some(outcome)) }
    }

    /// Promise that resolves when the build has room for the next batch. One at a time.
    pub fn push(&self, batch: WasmBatch) -> Promise {
        let cell = self.batches.clone();
        promise(async move {
            let mut batches = cell.take().ok_or_else(|| Error::new(ErrorKind::Closed, "the build is over"))?;
            let batch = batch.into_documents();
            if poll_fn(|context| batches.poll_ready(context)).await.is_ok() && batches.start_send(batch).is_ok() {
                cell.replace(Some(batches));
            }
            // Otherwise the build has ended early, and `finish` says why.
            Ok(cell.borrow().is_some())
        })
    }

    /// Promise of a `BuildReport`.
    pub fn finish(&self) -> Promise {
        self.batches.take();
        let outcome = self.outcome.take();
        promise(async move {
            let outcome = outcome.ok_or_else(|| Error::new(ErrorKind::Closed, "the build is over"))?;
            let report = outcome.await.map_err(|_| Error::new(ErrorKind::Closed, "the build was dropped"))?;
            json(&report?)
        })
    }

    /// Ends the build with `aborted`: what it wrote is removed. Promise of nothing, when that is done.
    pub fn abort(&self) -> Promise {
        if let Some(mut batches) = self.batches.take() {
            // Where there is no room the cancellation flag, which the face has set before, does the same.
            let _ = batches.try_send(Err(Error::new(ErrorKind::Aborted, "cancelled by the caller")));
        }
        let outcome = self.outcome.take();
        promise(async move {
            if let Some(outcome) = outcome {
                let _ = outcome.await;
            }
            Ok(JsValue::UNDEFINED)
        })
    }
}

async fn run(
    storage: Backend,
    batches: mpsc::Receiver<Result<DocumentBatch>>,
    settings: &str,
    analyzers: Result<CustomAnalyzers>,
    listener: &impl Fn(crate::engine::Progress),
    cancel: &Cancel,
) -> Result<BuildReport> {
    let settings: JobSettings = read_json("build options", settings)?;
    build(storage, batches, settings.build(analyzers?)?, listener, cancel).await
}

/// A merge of several indexes into a new one.
#[wasm_bindgen]
pub struct WasmMerge {
    sources: Vec<Backend>,
    target: Backend,
}

#[wasm_bindgen]
impl WasmMerge {
    /// A merge of nothing yet into a new index in `target`.
    #[wasm_bindgen(constructor)]
    pub fn new(target: &WasmStorage) -> Self {
        Self { sources: Vec::new(), target: target.backend() }
    }

    /// Adds a source; of documents with one id, the one of the later source stays.
    #[wasm_bindgen(js_name = addSource)]
    pub fn add_source(&mut self, source: &WasmStorage) {
        self.sources.push(source.backend());
    }

    /// Promise of a `MergeReport`.
    pub fn run(&self, settings: String, progress: Option<Function>, cancel: &WasmCancel) -> Promise {
        let (sources, target) = (self.sources.clone(), self.target.clone());
        let (flag, listener) = (cancel.flag(), listener(progress));
        promise(async move {
            let settings: JobSettings = read_json("merge options", &settings)?;
            json(&merge(&sources, target, settings.merge(), &listener, &flag).await?)
        })
    }
}
