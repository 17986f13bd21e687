//! Storage in an object the caller supplies: an R2 bucket, an S3 client, Node or Deno files, a Cache.
//!
//! The object has up to nine members; every function may answer at once or with a promise. Names are flat
//! (`[A-Za-z0-9._-]{1,128}`); the object adds its own prefix. In TypeScript:
//!
//! ```ts
//! interface StorageObject {
//!   /** For error messages and `info`, such as "r2:notes". Default "js". */
//!   label?: string;
//!   /** What the store likes to be asked for; each default as {@link DEFAULT_PROFILE}. */
//!   profile?: { blockBytes?: number; gapBytes?: number; maxRequestBytes?: number; inFlight?: number; latencyMicros?: number };
//!
//!   /** Exactly `length` bytes from `offset`. A shorter or longer answer is refused. Throw for an absent file.
//!    *  `signal` fires when nobody waits for the bytes any more. */
//!   read(name: string, offset: number, length: number, signal: AbortSignal): Awaitable<Uint8Array | ArrayBuffer>;
//!   /** The whole file; `undefined` or `null` where there is none. Used for the two commit slots only. */
//!   get(name: string, signal: AbortSignal): Awaitable<Uint8Array | ArrayBuffer | undefined | null>;
//!   /** Length in bytes; `undefined` or `null` where there is no such file. Without it the index's own record is
//!    *  trusted, and a file must be opened with a known length. */
//!   size?(name: string): Awaitable<number | undefined | null>;
//!   /** All files. Needed for writing (garbage collection) and for `check`. */
//!   list?(): Awaitable<Iterable<{ name: string; size: number }> | AsyncIterable<{ name: string; size: number }>>;
//!
//!   // Writing: `create`, `put`, `delete`, `list` and `size`, or the storage is read-only.
//!   /** Starts a new file, replacing a leftover of the same name that was never finished. */
//!   create?(name: string): Awaitable<{
//!     append(bytes: Uint8Array): Awaitable<void>;   // the bytes are the callee's to keep
//!     /** Makes the file durable and visible under its name, whole. */
//!     finish(): Awaitable<void>;
//!     /** Called instead of `finish` when the writer is dropped. */
//!     abort?(): Awaitable<void>;
//!   }>;
//!   /** Replaces a small file, durably. Used for commit slots. */
//!   put?(name: string, bytes: Uint8Array): Awaitable<void>;
//!   /** Removes a file; an absent one is no error. */
//!   delete?(name: string): Awaitable<void>;
//!   /** Becomes the only writer, waiting at most `waitMillis`. Answers the function that releases the lock, or
//!    *  `undefined` if another writer holds it. Without it nothing keeps two writers apart except this instance. */
//!   lock?(waitMillis: number): Awaitable<(() => void) | undefined | null>;
//! }
//! ```
//!
//! An exception with a `code` of ours ([`crate::ErrorKind::code`]) keeps it; `QuotaExceededError`, `AbortError` and
//! `NotFoundError` are understood by name; any other is `io`.
#![forbid(unsafe_code)]

use std::{cell::Cell, ops::Range, rc::Rc};

use bytes::Bytes;
use js_sys::{Function, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};

use super::{
    CommitSlot, File, FileEntry, OpenOptions, ReadProfile, Storage, Writer, glue,
    memory::{already_exists, check_len},
    names::check_name,
};
use crate::{
    error::{Error, ErrorKind, Result},
    platform::{self, now_millis, sleep_millis},
};

/// What an object is asked for when it states no wish: as for a store across a network.
pub const DEFAULT_PROFILE: ReadProfile = ReadProfile {
    block_bytes: 16 << 10,
    gap_bytes: 32 << 10,
    max_request_bytes: 4 << 20,
    in_flight: 6,
    latency_micros: 20_000,
};

/// Pause between two tries for a lock another handle of this instance holds, milliseconds.
const LOCK_POLL_MILLIS: u32 = 20;

/// The caller's object, checked once for the members it must have.
#[derive(Clone)]
pub struct JsStorage(Rc<Shared>);

struct Shared {
    object: JsValue,
    label: String,
    profile: ReadProfile,
    read: Function,
    get: Function,
    /// Requests in flight, over all files of the store.
    gate: glue::Gate,
    /// Whether a clone of this storage holds the writer lock; the only guard where the object has no `lock`.
    locked: Cell<bool>,
}

impl JsStorage {
    /// Wraps `object`.
    ///
    /// # Errors
    /// `invalid_argument` if `read` or `get` is missing, or `profile` holds nonsense.
    pub fn new(object: JsValue) -> Result<Self> {
        let need = |name: &str| {
            glue::method(&object, name).ok_or_else(|| Error::invalid(format!("storage object: no function `{name}`")))
        };
        let (read, get) = (need("read")?, need("get")?);
        let label = glue::get(&object, "label").as_string().unwrap_or_else(|| "js".to_owned());
        let profile = read_profile(&glue::get(&object, "profile"))?;
        Ok(Self(Rc::new(Shared {
            object,
            label,
            profile,
            read,
            get,
            gate: glue::Gate::new(profile.in_flight),
            locked: Cell::new(false),
        })))
    }

    async fn call(&self, function: &Function, args: &[JsValue], what: impl FnOnce() -> String) -> Result<JsValue> {
        let answer = glue::call(function, &self.0.object, args).await;
        answer.map_err(|thrown| glue::error_from(&thrown, ErrorKind::Io, format!("{}: {}", self.0.label, what())))
    }

    /// A member that only writable storages have.
    fn writing(&self, name: &str) -> Result<Function> {
        glue::method(&self.0.object, name).ok_or_else(|| {
            Error::new(ErrorKind::ReadOnly, format!("{}: the storage object has no function `{name}`", self.0.label))
        })
    }

    /// Length of a file: `Ok(None)` if it is absent, `Err` if the object cannot tell.
    async fn size(&self, name: &str) -> Result<Option<u64>> {
        let size = self.writing("size")?;
        let answer = self.call(&size, &[name.into()], || format!("size of {name}")).await?;
        if answer.is_null() || answer.is_undefined() {
            return Ok(None);
        }
        to_len(&answer)
            .map(Some)
            .ok_or_else(|| Error::new(ErrorKind::Io, format!("{}: size of {name} is no length", self.0.label)))
    }
}

/// A whole number of bytes: a JavaScript number or bigint.
fn to_len(value: &JsValue) -> Option<u64> {
    let number = value.as_f64().or_else(|| u64::try_from(value.clone()).ok().map(|big| big as f64))?;
    (number >= 0.0 && number.fract() == 0.0 && number <= js_sys::Number::MAX_SAFE_INTEGER).then_some(number as u64)
}

fn read_profile(wishes: &JsValue) -> Result<ReadProfile> {
    let wish = |name: &str, default: u64| {
        let value = glue::get(wishes, name);
        if value.is_undefined() {
            return Ok(default);
        }
        to_len(&value).ok_or_else(|| Error::invalid(format!("storage object: profile.{name} is no whole number")))
    };
    let small = |name: &str, default: u32| {
        u32::try_from(wish(name, u64::from(default))?)
            .map_err(|_| Error::invalid(format!("storage object: profile.{name} is too large")))
    };
    let profile = ReadProfile {
        block_bytes: small("blockBytes", DEFAULT_PROFILE.block_bytes)?,
        gap_bytes: wish("gapBytes", DEFAULT_PROFILE.gap_bytes)?,
        max_request_bytes: wish("maxRequestBytes", DEFAULT_PROFILE.max_request_bytes)?,
        in_flight: small("inFlight", DEFAULT_PROFILE.in_flight as u32)? as usize,
        latency_micros: small("latencyMicros", DEFAULT_PROFILE.latency_micros)?,
    };
    if !profile.block_bytes.is_power_of_two() || profile.max_request_bytes < u64::from(profile.block_bytes) {
        return Err(Error::invalid(
            "storage object: profile.blockBytes must be a power of two, at most maxRequestBytes",
        ));
    }
    if profile.in_flight == 0 {
        return Err(Error::invalid("storage object: profile.inFlight must be at least 1"));
    }
    Ok(profile)
}

impl Storage for JsStorage {
    type File = JsFile;
    type Writer = JsWriter;
    type Lock = JsLock;

    async fn list(&self) -> Result<Vec<FileEntry>> {
        let list = self.writing("list")?;
        let answer = self.call(&list, &[], || "list".to_owned()).await?;
        let failed = |thrown: JsValue| glue::error_from(&thrown, ErrorKind::Io, format!("{}: list", self.0.label));
        let items = glue::collect(&answer).await.map_err(failed)?;
        let mut entries = Vec::new();
        for entry in items.ok_or_else(|| self.nonsense("list", "nothing iterable"))? {
            let (name, len) = (glue::get(&entry, "name").as_string(), to_len(&glue::get(&entry, "size")));
            let (Some(name), Some(len)) = (name, len) else {
                return Err(self.nonsense("list", "an entry without `name` and `size`"));
            };
            // Files of others beside ours are none of our business.
            if check_name(&name).is_ok() {
                entries.push(FileEntry { name, len });
            }
        }
        Ok(entries)
    }

    async fn open(&self, name: &str, options: OpenOptions) -> Result<JsFile> {
        check_name(name)?;
        let has_size = glue::method(&self.0.object, "size").is_some();
        let len = match options.len {
            Some(expected) if !has_size => expected,
            expected => {
                let found = self.size(name).await?.ok_or_else(|| self.missing(name))?;
                check_len(name, found, expected).map_err(|error| error.at(&self.0.label))?;
                found
            }
        };
        Ok(JsFile { storage: self.clone(), name: name.into(), len })
    }

    async fn create(&self, name: &str) -> Result<JsWriter> {
        check_name(name)?;
        let create = self.writing("create")?;
        if glue::method(&self.0.object, "size").is_some() && self.size(name).await?.is_some() {
            return Err(already_exists(name).at(&self.0.label));
        }
        let writer = self.call(&create, &[name.into()], || format!("create {name}")).await?;
        let need = |member: &str| {
            glue::method(&writer, member)
                .ok_or_else(|| self.nonsense("create", &format!("a writer without function `{member}`")))
        };
        let (append, finish) = (need("append")?, need("finish")?);
        Ok(JsWriter { storage: self.clone(), name: name.to_owned(), writer: Some(writer), append, finish, len: 0 })
    }

    async fn delete(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let delete = self.writing("delete")?;
        self.call(&delete, &[name.into()], || format!("delete {name}")).await.map(drop)
    }

    async fn read_slot(&self, slot: CommitSlot) -> Result<Option<Bytes>> {
        let mut abort = glue::AbortOnDrop::new();
        let name = slot.file_name();
        let args = [name.into(), abort.signal()];
        let answer = self.call(&self.0.get, &args, || format!("get {name}")).await;
        abort.disarm();
        let answer = match answer {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        if answer.is_null() || answer.is_undefined() {
            return Ok(None);
        }
        let bytes = glue::to_bytes(&answer).ok_or_else(|| self.nonsense("get", "neither bytes nor undefined"))?;
        Ok(Some(bytes.into()))
    }

    async fn write_slot(&self, slot: CommitSlot, bytes: Bytes) -> Result<()> {
        let put = self.writing("put")?;
        let name = slot.file_name();
        let args = [name.into(), Uint8Array::from(bytes.as_ref()).into()];
        self.call(&put, &args, || format!("put {name}")).await.map(drop)
    }

    async fn lock_writer(&self, wait_millis: u32) -> Result<JsLock> {
        self.writing("create")?;
        let locked = |by: &str| Error::new(ErrorKind::Locked, format!("{}: {by} is writing", self.0.label));
        let started = now_millis();
        while self.0.locked.get() {
            if now_millis() - started >= f64::from(wait_millis) {
                return Err(locked("another handle of this instance"));
            }
            sleep_millis(LOCK_POLL_MILLIS).await;
        }
        // Taken before the await below, so that no second handle slips in; given back by the guard on every path.
        self.0.locked.set(true);
        let mut guard = JsLock { storage: self.clone(), release: None };
        if let Some(lock) = glue::method(&self.0.object, "lock") {
            let left = (f64::from(wait_millis) - (now_millis() - started)).max(0.0);
            let answer = self.call(&lock, &[left.into()], || "lock".to_owned()).await?;
            if answer.is_null() || answer.is_undefined() {
                return Err(locked("another instance"));
            }
            let release = answer.dyn_into::<Function>();
            guard.release = Some(release.map_err(|_| self.nonsense("lock", "neither a function nor undefined"))?);
        }
        Ok(guard)
    }

    fn profile(&self) -> ReadProfile {
        self.0.profile
    }

    fn label(&self) -> String {
        self.0.label.clone()
    }
}

impl JsStorage {
    fn missing(&self, name: &str) -> Error {
        Error::new(ErrorKind::NotFound, format!("{}: {name}", self.0.label))
    }

    fn nonsense(&self, function: &str, what: &str) -> Error {
        Error::new(ErrorKind::Io, format!("{}: `{function}` answered {what}", self.0.label))
    }
}

/// A file of a [`JsStorage`].
#[derive(Clone)]
pub struct JsFile {
    storage: JsStorage,
    name: Rc<str>,
    len: u64,
}

impl JsFile {
    async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let mut abort = glue::AbortOnDrop::new();
        let (offset, len) = (range.start, range.end - range.start);
        // Offsets stay below 2^53: no file of a JavaScript store is longer.
        let args = [self.name.as_ref().into(), (offset as f64).into(), (len as f64).into(), abort.signal()];
        let what = || format!("read {}: {offset}..{}", self.name, range.end);
        let answer = self.storage.call(&self.storage.0.read, &args, what).await;
        abort.disarm();
        let bytes = glue::to_bytes(&answer?).ok_or_else(|| self.storage.nonsense("read", "no bytes"))?;
        if bytes.len() as u64 != len {
            let answered = format!("{} bytes of {} where {len} were asked for", bytes.len(), self.name);
            return Err(self.storage.nonsense("read", &answered));
        }
        Ok(bytes.into())
    }
}

impl File for JsFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let shared = &self.storage.0;
        let read = glue::read_planned(ranges, self.len, &shared.profile, &shared.gate, |range| self.read(range));
        read.await.map_err(|error| error.at(&self.name))
    }

    fn prefetch(&self, _ranges: &[Range<u64>]) -> usize {
        0
    }

    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}

/// Writes one file of a [`JsStorage`].
pub struct JsWriter {
    storage: JsStorage,
    name: String,
    /// `None` once finished.
    writer: Option<JsValue>,
    append: Function,
    finish: Function,
    len: u64,
}

impl Writer for JsWriter {
    async fn append(&mut self, bytes: Bytes) -> Result<()> {
        let writer = self.writer.clone().expect("only finish takes it, and finish consumes the writer");
        let copy = Uint8Array::from(bytes.as_ref());
        let answer = glue::call(&self.append, &writer, &[copy.into()]).await;
        answer.map_err(|thrown| self.failed(&thrown))?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    async fn finish(mut self) -> Result<u64> {
        let writer = self.writer.clone().expect("as above");
        glue::call(&self.finish, &writer, &[]).await.map_err(|thrown| self.failed(&thrown))?;
        self.writer = None;
        Ok(self.len)
    }
}

impl JsWriter {
    fn failed(&self, thrown: &JsValue) -> Error {
        glue::error_from(thrown, ErrorKind::Io, format!("{}: write {}", self.storage.0.label, self.name))
    }
}

impl Drop for JsWriter {
    fn drop(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        let Some(abort) = glue::method(&writer, "abort") else { return };
        // Nobody is left to hear how it ends, but an unheard rejection would end a Node process.
        platform::spawn(async move {
            let _ = glue::call(&abort, &writer, &[]).await;
        });
    }
}

/// The writer lock of a [`JsStorage`].
pub struct JsLock {
    storage: JsStorage,
    release: Option<Function>,
}

impl Drop for JsLock {
    fn drop(&mut self) {
        self.storage.0.locked.set(false);
        if let Some(release) = self.release.take() {
            platform::spawn(async move {
                let _ = glue::call(&release, &JsValue::UNDEFINED, &[]).await;
            });
        }
    }
}
