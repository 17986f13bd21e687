//! Where an index lives, as JavaScript describes it.

use js_sys::{Array, Function, Promise, Uint8Array};
use serde::Deserialize;
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

use super::call::{promise, to_js};
use crate::{
    error::Result,
    query::read_json,
    storage::{
        Access, AnyStorage, CommitSlot, File, MemoryStorage, OpenOptions, ReadProfile, Storage, Writer,
        http::RetryPolicy,
        http_web::{HttpWebOptions, HttpWebStorage},
        js::JsStorage,
        opfs::{OpfsOptions, OpfsStorage},
    },
};

/// The one storage type of this border.
pub(super) type Backend = AnyStorage;

/// A storage. Clones of what it stands for are the same storage.
#[wasm_bindgen]
pub struct WasmStorage {
    backend: Backend,
}

#[wasm_bindgen]
impl WasmStorage {
    /// Memory of this instance.
    pub fn memory() -> Self {
        Self { backend: MemoryStorage::new().into() }
    }

    /// Promise of a directory of the origin private file system.
    pub fn opfs(path: String) -> Promise {
        promise(async move {
            let backend = OpfsStorage::open(&path, OpfsOptions::default()).await?.into();
            Ok(Self { backend })
        })
    }

    /// An index behind a URL. `options` is JSON, `fetch` a function to call instead of the global one.
    ///
    /// # Errors
    /// `invalid_argument` if the URL is none or the options make no sense.
    pub fn http(url: &str, options: &str, fetch: Option<Function>) -> Result<WasmStorage, JsValue> {
        let options = read_json::<HttpSettings>("http options", options).map(|settings| settings.into_options(fetch));
        let storage = options.and_then(|options| HttpWebStorage::new(url, options));
        storage.map(|storage| Self { backend: storage.into() }).map_err(|error| to_js(&error))
    }

    /// An object of the caller's.
    ///
    /// # Errors
    /// `invalid_argument` if it lacks what it must have.
    pub fn custom(object: JsValue) -> Result<WasmStorage, JsValue> {
        JsStorage::new(object).map(|storage| Self { backend: storage.into() }).map_err(|error| to_js(&error))
    }

    /// Promise of every file, an array of `[name, bytes]`.
    #[wasm_bindgen(js_name = readFiles)]
    pub fn read_files(&self) -> Promise {
        let backend = self.backend.clone();
        promise(read_files(backend))
    }

    /// Promise of nothing: writes one file whole.
    #[wasm_bindgen(js_name = writeFile)]
    pub fn write_file(&self, name: String, bytes: Vec<u8>) -> Promise {
        let backend = self.backend.clone();
        promise(async move {
            match CommitSlot::ALL.into_iter().find(|slot| slot.file_name() == name) {
                Some(slot) => backend.write_slot(slot, bytes.into()).await?,
                None => {
                    let mut writer = backend.create(&name).await?;
                    writer.append(bytes.into()).await?;
                    writer.finish().await?;
                }
            }
            Ok(JsValue::UNDEFINED)
        })
    }
}

/// Options of [`HttpWebStorage`] as the face writes them.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct HttpSettings {
    headers: std::collections::BTreeMap<String, String>,
    block_bytes: Option<u32>,
    gap_bytes: Option<u64>,
    max_request_bytes: Option<u64>,
    in_flight: Option<usize>,
    latency_micros: Option<u32>,
    retries: Option<u32>,
    timeout_millis: Option<u32>,
}

impl HttpSettings {
    fn into_options(self, fetch: Option<Function>) -> HttpWebOptions {
        let default = HttpWebOptions::default();
        let (wished, usual) = (&self, default.profile);
        let profile = ReadProfile {
            block_bytes: wished.block_bytes.unwrap_or(usual.block_bytes),
            gap_bytes: wished.gap_bytes.unwrap_or(usual.gap_bytes),
            max_request_bytes: wished.max_request_bytes.unwrap_or(usual.max_request_bytes),
            in_flight: wished.in_flight.unwrap_or(usual.in_flight),
            latency_micros: wished.latency_micros.unwrap_or(usual.latency_micros),
        };
        let attempts = self.retries.map_or(default.retry.attempts, |retries| retries.saturating_add(1));
        HttpWebOptions {
            headers: self.headers.into_iter().collect(),
            fetch,
            profile,
            retry: RetryPolicy { attempts, ..default.retry },
            timeout_millis: self.timeout_millis.unwrap_or(default.timeout_millis),
        }
    }
}

impl WasmStorage {
    pub(super) fn backend(&self) -> Backend {
        self.backend.clone()
    }
}

async fn read_files(backend: Backend) -> Result<Array> {
    let files = Array::new();
    for entry in backend.list().await? {
        let slot = CommitSlot::ALL.into_iter().find(|slot| slot.file_name() == entry.name);
        let bytes = match slot {
            Some(slot) => backend.read_slot(slot).await?,
            None => {
                let file =
                    backend.open(&entry.name, OpenOptions { access: Access::CHECK, len: Some(entry.len) }).await?;
                file.read_ranges(std::slice::from_ref(&(0..entry.len))).await?.pop()
            }
        };
        if let Some(bytes) = bytes {
            files.push(&Array::of2(&entry.name.into(), &Uint8Array::from(bytes.as_ref())));
        }
    }
    Ok(files)
}
