//! Writing a new file under a hidden name, and renaming it when it is finished and flushed.
#![forbid(unsafe_code)]

use bytes::{Bytes, BytesMut};
use js_sys::{Function, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{FileSystemFileHandle, FileSystemReadWriteOptions};

use super::{OpfsStorage, handles, handles::WriteHandle};
use crate::{
    error::{Error, ErrorKind, Result},
    platform,
    storage::{Writer, glue},
};

/// Appends are gathered up to this: one write call costs 80 µs in Chromium and 600 µs in Firefox, whatever its length.
const BUFFER_BYTES: usize = 256 << 10;

/// Waits before a file whose handle was just closed is renamed again, milliseconds.
const RENAME_RETRY_MILLIS: [u32; 5] = [2, 5, 20, 50, 100];

/// Where bytes go.
pub(super) enum Sink {
    /// A synchronous handle.
    Sync(WriteHandle),
    /// `createWritable()`: the browser writes a copy and swaps it in when closed. The only way outside workers.
    Stream(JsValue),
}

impl Sink {
    /// Opens `file`, emptied.
    ///
    /// # Errors
    /// What the browser throws.
    pub(super) async fn open(file: &FileSystemFileHandle, slices_only: bool) -> Result<Self, JsValue> {
        if handles::available(file) && !slices_only {
            let handle = WriteHandle::open(file).await?;
            handle.truncate_with_u32(0)?;
            return Ok(Self::Sync(handle));
        }
        let create = glue::method(file, "createWritable").ok_or_else(|| {
            JsValue::from_str("this browser writes files in dedicated workers only (no createWritable)")
        })?;
        glue::call(&create, file, &[]).await.map(Self::Stream)
    }

    /// Writes `bytes` at `offset`, all of them.
    pub(super) async fn write(&self, bytes: &[u8], offset: u64) -> Result<(), JsValue> {
        match self {
            Self::Sync(handle) => {
                let options = FileSystemReadWriteOptions::new();
                let mut done = 0;
                while done < bytes.len() {
                    options.set_at((offset + done as u64) as f64);
                    match handle.write_with_u8_array_and_options(&bytes[done..], &options)? as usize {
                        0 => return Err(quota_error()),
                        written => done += written,
                    }
                }
                Ok(())
            }
            // A stream has a position of its own, which is `offset`: all writes are appends.
            Self::Stream(stream) => {
                let copy = Uint8Array::from(bytes);
                glue::call(&stream_method(stream, "write")?, stream, &[copy.into()]).await.map(drop)
            }
        }
    }

    /// Makes it durable and closes it.
    pub(super) async fn close(self) -> Result<(), JsValue> {
        match self {
            Self::Sync(handle) => handle.flush(),
            Self::Stream(stream) => glue::call(&stream_method(&stream, "close")?, &stream, &[]).await.map(drop),
        }
    }

    /// Gives up; a stream must be told, or it keeps its lock.
    async fn abort(self) {
        if let Self::Stream(stream) = self
            && let Some(abort) = glue::method(&stream, "abort")
        {
            let _ = glue::call(&abort, &stream, &[]).await;
        }
    }
}

fn stream_method(stream: &JsValue, name: &str) -> Result<Function, JsValue> {
    glue::method(stream, name).ok_or_else(|| JsValue::from_str("no writable file stream"))
}

/// A write that took nothing: the disk is full, and the browser says no more than that.
fn quota_error() -> JsValue {
    let error = js_sys::Error::new("the storage took no more bytes");
    error.set_name("QuotaExceededError");
    error.into()
}

/// Writes one new file of an [`OpfsStorage`].
pub struct OpfsWriter {
    storage: OpfsStorage,
    name: String,
    file: FileSystemFileHandle,
    /// `None` once finished.
    sink: Option<Sink>,
    pending: BytesMut,
    written: u64,
}

impl OpfsWriter {
    pub(super) fn new(storage: OpfsStorage, name: &str, file: FileSystemFileHandle, sink: Sink) -> Self {
        Self { storage, name: name.to_owned(), file, sink: Some(sink), pending: BytesMut::new(), written: 0 }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let sink = self.sink.as_ref().expect("only finish takes it, and finish consumes the writer");
        sink.write(bytes, self.written).await.map_err(|thrown| self.failed(&thrown))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    async fn drain(&mut self) -> Result<()> {
        let pending = self.pending.split();
        if pending.is_empty() { Ok(()) } else { self.write(&pending).await }
    }

    fn failed(&self, thrown: &JsValue) -> Error {
        glue::error_from(thrown, ErrorKind::Io, format!("{}/{}: write", self.storage.label_str(), self.name))
    }
}

impl Writer for OpfsWriter {
    async fn append(&mut self, bytes: Bytes) -> Result<()> {
        if self.pending.len() + bytes.len() >= BUFFER_BYTES {
            self.drain().await?;
        }
        if bytes.len() >= BUFFER_BYTES {
            return self.write(&bytes).await;
        }
        self.pending.extend_from_slice(&bytes);
        Ok(())
    }

    async fn finish(mut self) -> Result<u64> {
        self.drain().await?;
        let sink = self.sink.take().expect("as above");
        let closed = sink.close().await;
        let finished = match closed.map_err(|thrown| self.failed(&thrown)) {
            Ok(()) => self.storage.publish(&self.file, &self.name).await,
            Err(error) => Err(error),
        };
        if finished.is_err() {
            self.storage.remove_leftover(&self.name).await;
        }
        finished.map(|()| self.written)
    }
}

impl Drop for OpfsWriter {
    fn drop(&mut self) {
        let Some(sink) = self.sink.take() else { return };
        let (storage, name) = (self.storage.clone(), std::mem::take(&mut self.name));
        platform::spawn(async move {
            sink.abort().await;
            storage.remove_leftover(&name).await;
        });
    }
}

/// Replaces the content of a commit slot.
///
/// # Errors
/// What the browser throws.
pub(super) async fn replace(file: &FileSystemFileHandle, bytes: &[u8], slices_only: bool) -> Result<(), JsValue> {
    let sink = Sink::open(file, slices_only).await?;
    match sink.write(bytes, 0).await {
        Ok(()) => sink.close().await,
        Err(thrown) => {
            sink.abort().await;
            Err(thrown)
        }
    }
}

/// `file.move(name)`: within one directory, over nothing.
///
/// # Errors
/// What the browser throws.
pub(super) async fn rename(file: &FileSystemFileHandle, name: &str) -> Result<(), JsValue> {
    let rename = glue::method(file.unchecked_ref(), "move")
        .ok_or_else(|| JsValue::from_str("this browser cannot rename files (no FileSystemFileHandle.move)"))?;
    let args = [name.into()];
    glue::while_held(&RENAME_RETRY_MILLIS, || glue::call(&rename, file, &args)).await.map(drop)
}
