//! An open index.

use js_sys::{Function, Promise};
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

use super::{
    analyzers,
    batch::WasmBatch,
    call::{WasmCancel, json, listener, promise, to_js},
    panics::on_request,
    settings::{JobSettings, OpenSettings},
    storage::{Backend, WasmStorage},
};
use crate::{
    engine::{Index, SearchRequest},
    error::{Error, Result},
    ids::DocId,
    query::{read_json, request::QueryInput},
};

/// One open index. Every method returns at once; promises reject with an `Error` that has our `code`.
#[wasm_bindgen]
pub struct WasmIndex {
    index: Index<Backend>,
}

#[wasm_bindgen]
impl WasmIndex {
    /// Promise of the index in `storage`. `analyzers` is an object of functions by name, or undefined.
    pub fn open(storage: &WasmStorage, settings: String, cancel: &WasmCancel, analyzers: &JsValue) -> Promise {
        open(storage.backend(), None, settings, cancel, analyzers)
    }

    /// Promise of the index in `storage` over a read-only one in `base`.
    #[wasm_bindgen(js_name = openOver)]
    pub fn open_over(
        storage: &WasmStorage,
        base: &WasmStorage,
        settings: String,
        cancel: &WasmCancel,
        analyzers: &JsValue,
    ) -> Promise {
        open(storage.backend(), Some(base.backend()), settings, cancel, analyzers)
    }

    /// Promise of an `AddReport`.
    pub fn add(&self, batch: WasmBatch) -> Promise {
        let index = self.index.clone();
        promise(async move { json(&index.add(batch.into_documents()?).await?) })
    }

    /// Promise of how many of `ids`, a JSON array, were there.
    pub fn delete(&self, ids: String) -> Promise {
        let index = self.index.clone();
        promise(async move {
            let ids: Vec<DocId> = read_json("ids", &ids)?;
            Ok(index.delete(&ids).await? as f64)
        })
    }

    /// Promise of a `CommitInfo`.
    pub fn commit(&self) -> Promise {
        let index = self.index.clone();
        promise(async move { json(&index.commit().await?) })
    }

    /// Promise of nothing.
    pub fn rollback(&self) -> Promise {
        let index = self.index.clone();
        promise(async move { index.rollback().await.map(|()| JsValue::UNDEFINED) })
    }

    /// Promise of whether there was a newer commit.
    pub fn reopen(&self) -> Promise {
        let index = self.index.clone();
        promise(async move { index.reopen().await })
    }

    /// Promise of a `SearchResponse`. `vector` takes the place of `request.vector.value`, or of all
    /// `request.vector.values`, of one length, one after another; then those are as many empty ones.
    pub fn search(&self, request: String, vector: Option<Vec<f32>>, cancel: &WasmCancel) -> Promise {
        let index = self.index.clone();
        let flag = cancel.flag();
        promise(cancel.or_drop(async move {
            let mut request = SearchRequest::from_json(&request)?;
            on_request(request.query.as_ref().and_then(QueryInput::text));
            if let Some(vector) = vector {
                let clause = request.vector.as_mut().ok_or_else(|| Error::invalid("a vector without its clause"))?;
                match &mut clause.values {
                    Some(values) if !values.is_empty() => {
                        let len = vector.len() / values.len();
                        values.iter_mut().enumerate().for_each(|(ix, value)| {
                            *value = vector[ix * len..(ix + 1) * len].to_vec();
                        });
                    }
                    _ => clause.value = Some(vector),
                }
            }
            json(&index.search(&request, &flag).await?)
        }))
    }

    /// Promise of stored documents, a JSON array with null for each that is not there.
    pub fn get(&self, ids: String, cancel: &WasmCancel) -> Promise {
        let index = self.index.clone();
        promise(cancel.or_drop(async move {
            let ids: Vec<DocId> = read_json("ids", &ids)?;
            json(&index.get(&ids).await?)
        }))
    }

    /// Promise of a `MergeReport`.
    pub fn merge(&self, settings: String, progress: Option<Function>, cancel: &WasmCancel) -> Promise {
        let (index, flag, listener) = (self.index.clone(), cancel.flag(), listener(progress));
        promise(async move {
            let settings: JobSettings = read_json("merge options", &settings)?;
            json(&index.merge(settings.merge(), &listener, &flag).await?)
        })
    }

    /// Promise of a `CheckReport`.
    pub fn check(&self, progress: Option<Function>, cancel: &WasmCancel) -> Promise {
        let (index, flag, listener) = (self.index.clone(), cancel.flag(), listener(progress));
        promise(cancel.or_drop(async move { json(&index.check(&listener, &flag).await?) }))
    }

    /// An `IndexInfo`, without I/O.
    ///
    /// # Errors
    /// `closed`.
    pub fn info(&self) -> Result<String, JsValue> {
        let info = self.index.info().and_then(|info| json(&info));
        info.map_err(|error| to_js(&error))
    }

    /// Promise of nothing.
    pub fn close(&self) -> Promise {
        let index = self.index.clone();
        promise(async move { index.close().await.map(|()| JsValue::UNDEFINED) })
    }
}

fn open(storage: Backend, base: Option<Backend>, settings: String, cancel: &WasmCancel, given: &JsValue) -> Promise {
    let analyzers = analyzers::read(given);
    promise(cancel.or_drop(async move {
        let settings: OpenSettings = read_json("open options", &settings)?;
        let index = Index::open(storage, settings.into_options(base, analyzers?)?).await?;
        index.check_analyzers()?;
        Ok(WasmIndex { index })
    }))
}
