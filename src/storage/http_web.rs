//! Range requests through the global `fetch`: pages, workers, Node, Deno and edge runtimes alike.
//!
//! Requests carry `Range: bytes=a-b` and nothing else of ours, which causes no preflight in Chromium, and
//! `cache: "no-store"`, since Chromium sends ranges of one URL one after another otherwise. Whether an answer may be
//! used is decided by [`super::http`]. Whoever stops waiting aborts what is in flight.
#![forbid(unsafe_code)]

use std::{cell::Cell, ops::Range, pin::pin, rc::Rc};

use bytes::Bytes;
use futures_util::future::{Either, select};
use js_sys::{Function, Object};
use wasm_bindgen::{JsCast, JsValue};

use super::{
    CommitSlot, File, FileEntry, OpenOptions, ReadProfile, Storage, glue,
    http::{
        Backoff, HttpFault, NoWriter, RangeAsked, ResponseHead, RetryPolicy, Validators, range_header,
        response::{ContentRange, check_range_body, check_range_head, check_whole_head},
        retry::jitter,
    },
    names::check_name,
};
use crate::{
    error::{Error, ErrorKind, Result},
    platform::sleep_millis,
};

/// How to reach an index over HTTP.
#[derive(Debug, Clone)]
pub struct HttpWebOptions {
    /// Headers to send with every request, such as `authorization`. Default none; most of them make browsers send a
    /// preflight to other origins.
    pub headers: Vec<(String, String)>,
    /// A function to call instead of the global `fetch`, with the same arguments. Default none.
    pub fetch: Option<Function>,
    /// What to ask for and how many requests at a time. Default [`ReadProfile::HTTP`]: six in flight.
    pub profile: ReadProfile,
    /// When to ask again. Default: four tries.
    pub retry: RetryPolicy,
    /// One try that takes longer than this is given up and counts as failed, milliseconds. Default 30,000.
    pub timeout_millis: u32,
}

impl Default for HttpWebOptions {
    fn default() -> Self {
        Self {
            headers: Vec::new(),
            fetch: None,
            profile: ReadProfile::HTTP,
            retry: RetryPolicy::default(),
            timeout_millis: 30_000,
        }
    }
}

/// An index behind a URL; read-only. Clones share connections and what is known of versions.
#[derive(Clone)]
pub struct HttpWebStorage(Rc<Shared>);

struct Shared {
    /// Ends with a slash.
    base: String,
    /// Of the base URL, with its question mark: a signature that every file needs.
    query: String,
    options: HttpWebOptions,
    fetch: Function,
    /// First strong tag of each file.
    validators: Validators,
    gate: glue::Gate,
    /// Whether `fetch` takes the option `cache`; some edge runtimes refuse it.
    cache_option: Cell<bool>,
}

/// A try that failed, and when the server wants to be asked again.
struct Failed {
    fault: HttpFault,
    retry_after: Option<String>,
}

impl From<HttpFault> for Failed {
    fn from(fault: HttpFault) -> Self {
        Self { fault, retry_after: None }
    }
}

impl HttpWebStorage {
    /// Names the directory at `url`; nothing is requested yet. A query in it goes along with every file.
    ///
    /// # Errors
    /// `invalid_argument` if `url` is empty or this runtime has no `fetch`.
    pub fn new(url: &str, options: HttpWebOptions) -> Result<Self> {
        let url = url.split('#').next().unwrap_or_default();
        let (path, query) = url.find('?').map_or((url, ""), |at| url.split_at(at));
        if path.is_empty() {
            return Err(Error::invalid("the URL of an index is empty"));
        }
        let fetch = options.fetch.clone().or_else(|| glue::global("fetch").dyn_into().ok());
        let fetch = fetch.ok_or_else(|| Error::invalid("this runtime has no fetch: give one in the options"))?;
        let gate = glue::Gate::new(options.profile.in_flight);
        let base = if path.ends_with('/') { path.to_owned() } else { format!("{path}/") };
        Ok(Self(Rc::new(Shared {
            base,
            query: query.to_owned(),
            options,
            fetch,
            validators: Validators::new(),
            gate,
            cache_option: Cell::new(true),
        })))
    }

    fn url(&self, name: &str) -> String {
        format!("{}{name}{}", self.0.base, self.0.query)
    }

    fn refuse<T>(&self, what: &str) -> Result<T> {
        Err(Error::new(ErrorKind::ReadOnly, format!("{}: {what} is not possible over HTTP", self.0.base)))
    }

    /// Does `attempt` until it succeeds, fails for good, or the retries are used up.
    async fn with_retries<T, R>(&self, url: &str, attempt: impl Fn() -> R) -> Result<T>
    where
        R: Future<Output = Result<T, Failed>>,
    {
        let mut backoff = Backoff::new(self.0.options.retry);
        loop {
            let failed = match self.in_time(attempt()).await {
                Ok(done) => return Ok(done),
                Err(failed) => failed,
            };
            let again = failed.fault.is_transient();
            let wait = again.then(|| backoff.next_wait(failed.retry_after.as_deref(), jitter())).flatten();
            match wait {
                Some(millis) => sleep_millis(millis).await,
                None => return Err(failed.fault.into_error(url)),
            }
        }
    }

    async fn in_time<T>(&self, attempt: impl Future<Output = Result<T, Failed>>) -> Result<T, Failed> {
        let millis = self.0.options.timeout_millis;
        // The attempt is dropped with this block, which aborts its request.
        match select(pin!(attempt), pin!(sleep_millis(millis))).await {
            Either::Left((done, _)) => done,
            Either::Right(_) => {
                Err(HttpFault::Transport { reason: format!("no complete answer within {millis} ms") }.into())
            }
        }
    }

    /// One answer: its head, and its body if `judge` likes the head. A body that is not wanted is cancelled.
    async fn request(
        &self,
        url: &str,
        range: Option<&Range<u64>>,
        judge: impl FnOnce(&ResponseHead) -> Result<(), HttpFault>,
    ) -> Result<(ResponseHead, Vec<u8>), Failed> {
        let mut abort = glue::AbortOnDrop::new();
        let response = self.fetch(url, range, &abort.signal()).await.map_err(|thrown| fault_of(&thrown))?;
        let head = read_head(&response);
        if let Err(fault) = judge(&head) {
            // Aborting ends the transfer of a body nobody wants.
            abort.abort();
            return Err(Failed { fault, retry_after: head.retry_after });
        }
        let read = glue::method(&response, "arrayBuffer").ok_or_else(|| no_response("fetch"))?;
        let buffer = glue::call(&read, &response, &[]).await.map_err(|thrown| fault_of(&thrown))?;
        abort.disarm();
        let body = glue::to_bytes(&buffer).ok_or_else(|| no_response("arrayBuffer"))?;
        Ok((head, body))
    }

    async fn fetch(&self, url: &str, range: Option<&Range<u64>>, signal: &JsValue) -> Result<JsValue, JsValue> {
        let headers = Object::new();
        for (name, value) in &self.0.options.headers {
            glue::set(&headers, name, value.as_str());
        }
        if let Some(range) = range {
            glue::set(&headers, "range", range_header(range));
        }
        let init = Object::new();
        glue::set(&init, "headers", headers);
        glue::set(&init, "signal", signal.clone());
        if self.0.cache_option.get() {
            glue::set(&init, "cache", "no-store");
        }
        let args = [url.into(), init.clone().into()];
        match glue::call(&self.0.fetch, &JsValue::UNDEFINED, &args).await {
            Err(thrown) if self.0.cache_option.get() && refuses_cache_option(&thrown) => {
                self.0.cache_option.set(false);
                let _ = js_sys::Reflect::delete_property(&init, &"cache".into());
                glue::call(&self.0.fetch, &JsValue::UNDEFINED, &args).await
            }
            answer => answer,
        }
    }

    /// Bytes `asked` of a file, checked for all that its head and length can tell.
    async fn range(&self, name: &str, asked: RangeAsked) -> Result<(ResponseHead, Bytes)> {
        let url = self.url(name);
        let (url, asked) = (&url, &asked);
        let attempt = || async move {
            let judge = |head: &ResponseHead| {
                check_range_head(asked, head)?;
                self.0.validators.check(name, head)
            };
            let (head, body) = self.request(url, Some(&asked.range), judge).await?;
            check_range_body(asked, &head, body.len() as u64)?;
            Ok((head, Bytes::from(body)))
        };
        self.with_retries(url, attempt).await
    }

    /// Length of a file whose length is not on record: from the `Content-Range` of its first byte.
    async fn find_len(&self, name: &str) -> Result<u64> {
        let (head, _) = self.range(name, RangeAsked { range: 0..1, file_len: None }).await?;
        let total = head.content_range.as_deref().and_then(ContentRange::parse).and_then(|found| found.total);
        total.ok_or_else(|| {
            let context =
                format!("{}: the server hides content-range, so the file must be opened by its length", self.url(name));
            Error::new(ErrorKind::RangeUnsupported, context)
        })
    }
}

impl Storage for HttpWebStorage {
    type File = HttpWebFile;
    type Writer = NoWriter;
    type Lock = NoWriter;

    async fn list(&self) -> Result<Vec<FileEntry>> {
        self.refuse("listing files")
    }

    async fn open(&self, name: &str, options: OpenOptions) -> Result<HttpWebFile> {
        check_name(name)?;
        let len = match options.len {
            Some(len) => len,
            None => self.find_len(name).await?,
        };
        Ok(HttpWebFile { storage: self.clone(), name: name.into(), len })
    }

    async fn create(&self, _name: &str) -> Result<NoWriter> {
        self.refuse("writing")
    }

    async fn delete(&self, _name: &str) -> Result<()> {
        self.refuse("deleting")
    }

    async fn read_slot(&self, slot: CommitSlot) -> Result<Option<Bytes>> {
        let url = self.url(slot.file_name());
        let attempt = || self.request(&url, None, check_whole_head);
        match self.with_retries(&url, attempt).await {
            Ok((_, body)) => Ok(Some(body.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn write_slot(&self, _slot: CommitSlot, _bytes: Bytes) -> Result<()> {
        self.refuse("committing")
    }

    async fn lock_writer(&self, _wait_millis: u32) -> Result<NoWriter> {
        self.refuse("writing")
    }

    fn profile(&self) -> ReadProfile {
        self.0.options.profile
    }

    fn label(&self) -> String {
        self.0.base.clone()
    }
}

/// A file behind a URL.
#[derive(Clone)]
pub struct HttpWebFile {
    storage: HttpWebStorage,
    name: Rc<str>,
    len: u64,
}

impl File for HttpWebFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let shared = &self.storage.0;
        let read = |range| async {
            let asked = RangeAsked { range, file_len: Some(self.len) };
            self.storage.range(&self.name, asked).await.map(|(_, bytes)| bytes)
        };
        glue::read_planned(ranges, self.len, &shared.options.profile, &shared.gate, read).await
    }

    fn prefetch(&self, _ranges: &[Range<u64>]) -> usize {
        0
    }

    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}

fn read_head(response: &JsValue) -> ResponseHead {
    let headers = glue::get(response, "headers");
    let get = glue::method(&headers, "get");
    let header = |name: &str| get.as_ref()?.call1(&headers, &name.into()).ok()?.as_string();
    ResponseHead {
        status: glue::get(response, "status").as_f64().unwrap_or(0.0) as u16,
        content_range: header("content-range"),
        content_encoding: header("content-encoding"),
        content_length: header("content-length").and_then(|text| text.trim().parse().ok()),
        etag: header("etag"),
        retry_after: header("retry-after"),
    }
}

fn fault_of(thrown: &JsValue) -> HttpFault {
    match glue::get(thrown, "name").as_string().as_deref() {
        Some("AbortError") => HttpFault::Aborted,
        _ => {
            // Node says "fetch failed", and why in the cause.
            let cause = glue::get(thrown, "cause");
            let code = glue::get(&cause, "code").as_string().unwrap_or_default();
            let why = if cause.is_object() { format!(" ({} {code})", glue::describe(&cause)) } else { String::new() };
            HttpFault::Transport { reason: glue::describe(thrown) + &why }
        }
    }
}

fn no_response(what: &str) -> HttpFault {
    HttpFault::Transport { reason: format!("`{what}` brought no response") }
}

/// workerd before 2024-11-11: "The 'cache' field on 'RequestInitializerDict' is not implemented."
fn refuses_cache_option(thrown: &JsValue) -> bool {
    let text = glue::describe(thrown);
    text.contains("'cache'") || text.contains("cache mode")
}
