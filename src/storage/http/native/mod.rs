//! An index behind a URL, read from a native program; read-only.
//!
//! Requests run on threads of the storage's own ([`pool`]), as many as may be in flight, so that reads of many files
//! share the bound and a read never waits for the threads of background tasks.

#![forbid(unsafe_code)]

mod client;
mod pool;

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use client::Client;
use futures_channel::oneshot;
use futures_util::future::try_join_all;
use pool::Pool;

use super::{NoWriter, RangeAsked, ResponseHead, RetryPolicy, response::ContentRange};
use crate::{
    error::{Error, ErrorKind, Result},
    storage::{
        Access, CommitSlot, File, FileEntry, OpenOptions, Purpose, ReadProfile, Storage,
        names::check_name,
        plan::{PlanLimits, ReadPlan, check_ranges},
    },
};

/// How to reach an index over HTTP.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Headers to send with every request, such as `authorization`. Default none.
    pub headers: Vec<(String, String)>,
    /// Requests in flight at a time, over all files. Default 6.
    pub max_in_flight: usize,
    /// When to ask again. Default: four tries.
    pub retry: RetryPolicy,
    /// A connection that takes longer to make is given up, milliseconds: name, TCP and TLS together. Default 10,000.
    pub connect_timeout_millis: u32,
    /// A server that sends nothing for longer is given up, milliseconds: before its answer begins or between two pieces
    /// of it. Default 20,000.
    pub idle_timeout_millis: u32,
    /// One try that takes longer than this is given up, milliseconds, however much came. Default 60,000. After a time-out
    /// of any of the three kinds the request is tried once more, whatever [`Self::retry`] allows.
    pub timeout_millis: u32,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            headers: Vec::new(),
            max_in_flight: ReadProfile::HTTP.in_flight,
            retry: RetryPolicy::default(),
            connect_timeout_millis: 10_000,
            idle_timeout_millis: 20_000,
            timeout_millis: 60_000,
        }
    }
}

/// An index behind a URL. Clones share connections and what is known of versions.
///
/// A read that is dropped before it ends gives its requests up: those that wait never start, those that run end at
/// the next piece of body that arrives.
#[derive(Clone)]
pub struct HttpStorage(Arc<Shared>);

struct Shared {
    base: String,
    client: Arc<Client>,
    pool: Pool,
    profile: ReadProfile,
}

impl HttpStorage {
    /// Names the directory at `url`; nothing is requested yet. A query in it goes along with every file.
    ///
    /// # Errors
    /// `invalid_argument` if `url` is not an `http:` or `https:` address.
    pub fn new(url: &str, options: HttpOptions) -> Result<Self> {
        let url = url.split('#').next().unwrap_or_default();
        let (path, query) = url.find('?').map_or((url, ""), |at| url.split_at(at));
        let scheme = path.split("://").next().unwrap_or_default();
        let has_host = path.len() > scheme.len() + "://".len();
        if !matches!(scheme, "http" | "https") || !has_host {
            return Err(Error::invalid(format!("{url:?}: an index over HTTP has an http: or https: address")));
        }
        let base = if path.ends_with('/') { path.to_owned() } else { format!("{path}/") };
        let profile = ReadProfile { in_flight: options.max_in_flight.max(1), ..ReadProfile::HTTP };
        let pool = Pool::new(profile.in_flight);
        let client = Arc::new(Client::new(base.clone(), query.to_owned(), options));
        Ok(Self(Arc::new(Shared { base, client, pool, profile })))
    }

    fn refuse<T>(&self, what: &str) -> Result<T> {
        Err(Error::new(ErrorKind::ReadOnly, format!("{}: {what} is not possible over HTTP", self.0.base)))
    }
}

impl Shared {
    /// Starts one range request; the answer comes through the channel.
    fn start(&self, name: &str, asked: RangeAsked, purpose: Purpose) -> Answer<(ResponseHead, Bytes)> {
        let (client, name) = (self.client.clone(), name.to_owned());
        self.run(purpose, move |wanted| client.read_range(&name, &asked, wanted))
    }

    fn run<T: Send + 'static>(
        &self,
        purpose: Purpose,
        work: impl FnOnce(&dyn Fn() -> bool) -> Result<T> + Send + 'static,
    ) -> Answer<T> {
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            if sender.is_canceled() {
                return;
            }
            let done = work(&|| !sender.is_canceled());
            // Whoever asked may be gone: then nobody misses it.
            let _ = sender.send(done);
        };
        self.pool.run(purpose == Purpose::Search, Box::new(job));
        Answer(receiver)
    }
}

/// What a request will bring.
struct Answer<T>(oneshot::Receiver<Result<T>>);

impl<T> Answer<T> {
    async fn get(self) -> Result<T> {
        let lost = |_| Err(Error::new(ErrorKind::Network, "a request ended without an answer"));
        self.0.await.unwrap_or_else(lost)
    }
}

impl Storage for HttpStorage {
    type File = HttpFile;
    type Writer = NoWriter;
    type Lock = NoWriter;

    async fn list(&self) -> Result<Vec<FileEntry>> {
        self.refuse("listing files")
    }

    async fn open(&self, name: &str, options: OpenOptions) -> Result<HttpFile> {
        check_name(name)?;
        let len = match options.len {
            Some(len) => len,
            None => {
                let asked = RangeAsked { range: 0..1, file_len: None };
                let (head, _) = self.0.start(name, asked, options.access.purpose).get().await?;
                let found = head.content_range.as_deref().and_then(ContentRange::parse).and_then(|found| found.total);
                found.ok_or_else(|| {
                    let context = format!("{}{name}: the server does not tell its length", self.0.base);
                    Error::new(ErrorKind::RangeUnsupported, context)
                })?
            }
        };
        Ok(HttpFile(Arc::new(Opened { storage: self.0.clone(), name: name.to_owned(), len, access: options.access })))
    }

    async fn create(&self, name: &str) -> Result<NoWriter> {
        self.refuse(&format!("writing {name}"))
    }

    async fn delete(&self, name: &str) -> Result<()> {
        self.refuse(&format!("deleting {name}"))
    }

    async fn read_slot(&self, slot: CommitSlot) -> Result<Option<Bytes>> {
        let client = self.0.client.clone();
        self.0.run(Purpose::Search, move |wanted| client.read_whole(slot.file_name(), wanted)).get().await
    }

    async fn write_slot(&self, _slot: CommitSlot, _bytes: Bytes) -> Result<()> {
        self.refuse("a commit")
    }

    async fn lock_writer(&self, _wait_millis: u32) -> Result<NoWriter> {
        self.refuse("writing")
    }

    fn profile(&self) -> ReadProfile {
        self.0.profile
    }

    fn label(&self) -> String {
        self.0.base.clone()
    }
}

/// A file behind a URL.
#[derive(Clone)]
pub struct HttpFile(Arc<Opened>);

struct Opened {
    storage: Arc<Shared>,
    name: String,
    len: u64,
    access: Access,
}

impl File for HttpFile {
    fn len(&self) -> u64 {
        self.0.len
    }

    fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let Opened { storage, name, len, access } = &*self.0;
        check_ranges(ranges, *len)?;
        let plan = ReadPlan::new(ranges, PlanLimits::from(&storage.profile));
        let asked = plan.requests().iter().map(|range| RangeAsked { range: range.clone(), file_len: Some(*len) });
        // All are queued before the first is awaited.
        let started: Vec<_> = asked.map(|asked| storage.start(name, asked, access.purpose)).collect();
        let answers = try_join_all(started.into_iter().map(Answer::get)).await?;
        let bodies: Vec<Bytes> = answers.into_iter().map(|(_, body)| body).collect();
        Ok(plan.assemble(&bodies))
    }

    /// Keeps nothing: the cache above starts loads.
    fn prefetch(&self, _ranges: &[Range<u64>]) -> usize {
        0
    }

    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}
