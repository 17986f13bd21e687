//! Reading a finished file: through a synchronous handle where one can be had, else through slices.
#![forbid(unsafe_code)]

use std::{cell::Cell, cell::RefCell, ops::Range, rc::Rc};

use bytes::Bytes;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, FileSystemFileHandle, FileSystemReadWriteOptions, FileSystemSyncAccessHandle};

use super::{OpfsStorage, handles};
use crate::{
    error::{Error, ErrorKind, Result},
    platform::now_millis,
    storage::{
        File, ReadProfile, glue,
        plan::{PlanLimits, ReadPlan, check_ranges},
    },
};

/// How long a file whose handle was refused is read by slices before the next try, milliseconds.
const SLICES_FOR_MILLIS: f64 = 1_000.0;

/// One finished file. Clones share the handle; with the last of them it is closed.
#[derive(Clone)]
pub struct OpfsFile(Rc<Shared>);

struct Shared {
    storage: OpfsStorage,
    name: String,
    path: Rc<str>,
    handle: FileSystemFileHandle,
    len: u64,
    /// The file as slices see it; taken again if the browser finds it stale.
    blob: RefCell<Blob>,
    /// Time before which no synchronous handle is tried.
    slices_until: Cell<f64>,
}

impl OpfsFile {
    pub(super) fn new(
        storage: OpfsStorage,
        name: &str,
        path: Rc<str>,
        handle: FileSystemFileHandle,
        blob: Blob,
    ) -> Self {
        let len = blob.size() as u64;
        let slices_until = if storage.slices_only() || !handles::available(&handle) { f64::INFINITY } else { 0.0 };
        Self(Rc::new(Shared {
            storage,
            name: name.to_owned(),
            path,
            handle,
            len,
            blob: RefCell::new(blob),
            slices_until: Cell::new(slices_until),
        }))
    }

    /// Whether the last read went through slices rather than a synchronous handle.
    pub fn reads_slices(&self) -> bool {
        now_millis() < self.0.slices_until.get()
    }

    async fn sync_handle(&self) -> Option<FileSystemSyncAccessHandle> {
        let shared = &self.0;
        if self.reads_slices() {
            return None;
        }
        let handle = handles::for_reading(&shared.path, &shared.handle).await;
        if handle.is_none() {
            shared.slices_until.set(now_millis() + SLICES_FOR_MILLIS);
        }
        handle
    }

    async fn read_slice(&self, range: Range<u64>) -> Result<Bytes> {
        let mut fresh = false;
        loop {
            let blob = self.0.blob.borrow().clone();
            match slice(&blob, &range).await {
                Ok(bytes) if bytes.len() as u64 == range.end - range.start => return Ok(bytes.into()),
                Ok(bytes) => return Err(self.short(&range, bytes.len())),
                // A snapshot goes stale when the file is touched; finished files are not, except by deletion.
                Err(_) if !fresh => {
                    *self.0.blob.borrow_mut() =
                        get_file(&self.0.handle).await.map_err(|thrown| self.failed(&thrown))?;
                    fresh = true;
                }
                Err(thrown) => return Err(self.failed(&thrown)),
            }
        }
    }

    fn read_sync(&self, handle: &FileSystemSyncAccessHandle, range: &Range<u64>) -> Result<Bytes> {
        let mut buffer = vec![0; (range.end - range.start) as usize];
        let options = FileSystemReadWriteOptions::new();
        let mut filled = 0;
        while filled < buffer.len() {
            options.set_at((range.start + filled as u64) as f64);
            let read = handle.read_with_u8_array_and_options(&mut buffer[filled..], &options);
            match read.map_err(|thrown| self.failed(&thrown))? as usize {
                0 => return Err(self.short(range, filled)),
                read => filled += read,
            }
        }
        Ok(buffer.into())
    }

    fn failed(&self, thrown: &JsValue) -> Error {
        glue::error_from(thrown, ErrorKind::Io, format!("{}/{}", self.0.storage.label_str(), self.0.name))
    }

    fn short(&self, range: &Range<u64>, found: usize) -> Error {
        let at = format!("{}/{}", self.0.storage.label_str(), self.0.name);
        Error::new(
            ErrorKind::Corrupt,
            format!("{at}: {found} bytes at {}..{}: the file was cut", range.start, range.end),
        )
    }
}

impl File for OpfsFile {
    fn len(&self) -> u64 {
        self.0.len
    }

    fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let profile = self.0.storage.read_profile();
        let at = |error: Error| error.at(&self.0.name);
        check_ranges(ranges, self.0.len).map_err(at)?;
        if ranges.iter().all(Range::is_empty) {
            return Ok(vec![Bytes::new(); ranges.len()]);
        }
        let Some(handle) = self.sync_handle().await else {
            let gate = self.0.storage.gate();
            return glue::read_planned(ranges, self.0.len, &profile, gate, |range| self.read_slice(range)).await;
        };
        let plan = ReadPlan::new(ranges, PlanLimits::from(&profile));
        let answers: Result<Vec<Bytes>> =
            plan.requests().iter().map(|request| self.read_sync(&handle, request)).collect();
        Ok(plan.assemble(&answers?))
    }

    fn prefetch(&self, _ranges: &[Range<u64>]) -> usize {
        0
    }

    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.storage.file_closed(&self.path);
    }
}

/// The file behind a handle, as it is now. It works while others hold the file.
pub(super) async fn get_file(handle: &FileSystemFileHandle) -> Result<Blob, JsValue> {
    Ok(glue::settle(handle.get_file().into()).await?.unchecked_into())
}

/// Bytes `range` of a blob.
pub(super) async fn slice(blob: &Blob, range: &Range<u64>) -> Result<Vec<u8>, JsValue> {
    let part = blob.slice_with_f64_and_f64(range.start as f64, range.end as f64)?;
    let buffer = glue::settle(part.array_buffer().into()).await?;
    glue::to_bytes(&buffer).ok_or(buffer)
}

/// What slices like to be asked for: each costs a millisecond, whatever its length.
pub(super) const SLICE_PROFILE: ReadProfile = ReadProfile {
    block_bytes: 16 << 10,
    gap_bytes: 64 << 10,
    max_request_bytes: 4 << 20,
    in_flight: 6,
    latency_micros: 1_500,
};
