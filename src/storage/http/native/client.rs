//! One request at a time, with retries, on the calling thread.

#![forbid(unsafe_code)]

use std::{
    io::{self, Read},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ureq::{
    Agent, Timeout,
    http::{HeaderMap, Response},
};

use super::HttpOptions;
use crate::{
    error::{ErrorKind, Result},
    storage::http::{
        Backoff, HttpFault, RangeAsked, ResponseHead, Validators, range_header,
        response::{check_encoding, check_range_body, check_range_head, check_whole_head},
        retry::jitter,
    },
};

/// A body is read in pieces of this length; between two of them a read that nobody waits for ends.
const PIECE_BYTES: usize = 64 << 10;
/// No more is reserved for a body on the word of a header.
const MAX_RESERVED_BYTES: u64 = 4 << 20;
/// A commit slot is far smaller; a server that sends more is not serving one.
const MAX_WHOLE_BYTES: u64 = 64 << 20;
/// Between two looks, while it waits to try again, whether anybody still waits for the answer.
const NAP: Duration = Duration::from_millis(20);

/// Tries that may end by a time-out: a server that was silent twice stays so, and each costs seconds.
const MAX_TIMEOUTS: u32 = 2;

/// Tells whether anybody still waits for the answer.
type Wanted<'a> = &'a dyn Fn() -> bool;

pub(super) struct Client {
    /// Ends with a slash.
    base: String,
    /// Of the base URL, with its question mark.
    query: String,
    options: HttpOptions,
    agent: Agent,
    validators: Validators,
}

impl Client {
    pub(super) fn new(base: String, query: String, options: HttpOptions) -> Self {
        let after = |millis: u32| Some(Duration::from_millis(u64::from(millis.max(1))));
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .accept_encoding("identity")
            .user_agent(concat!("rangefind/", env!("CARGO_PKG_VERSION")))
            .timeout_global(after(options.timeout_millis))
            .timeout_resolve(after(options.connect_timeout_millis))
            .timeout_connect(after(options.connect_timeout_millis))
            .timeout_per_read(after(options.idle_timeout_millis))
            .timeout_per_write(after(options.idle_timeout_millis))
            .max_idle_connections(options.max_in_flight.max(1))
            .max_idle_connections_per_host(options.max_in_flight.max(1))
            .build()
            .new_agent();
        Self { base, query, options, agent, validators: Validators::new() }
    }

    /// Bytes of a file, checked for all that head and length of the answer can tell.
    pub(super) fn read_range(&self, name: &str, asked: &RangeAsked, wanted: Wanted) -> Result<(ResponseHead, Bytes)> {
        self.with_retries(name, wanted, || {
            let (head, mut response) = self.get(name, Some(asked))?;
            let judged = check_range_head(asked, &head).and_then(|()| self.validators.check(name, &head));
            judged.map_err(|fault| (fault, head.retry_after.clone()))?;
            // One byte more than is due, to see that there is none.
            let body = self.read_body(&mut response, asked.len().saturating_add(1), wanted)?;
            check_range_body(asked, &head, body.len() as u64)?;
            Ok((head, body))
        })
    }

    /// A small file whole, past every cache; `None` if the server has none.
    pub(super) fn read_whole(&self, name: &str, wanted: Wanted) -> Result<Option<Bytes>> {
        let read = self.with_retries(name, wanted, || {
            let (head, mut response) = self.get(name, None)?;
            let judged = check_whole_head(&head).and_then(|()| check_encoding(&head));
            judged.map_err(|fault| (fault, head.retry_after.clone()))?;
            let body = self.read_body(&mut response, MAX_WHOLE_BYTES, wanted)?;
            match head.content_length {
                Some(asked) if asked != body.len() as u64 => {
                    Err(HttpFault::WrongBodyLen { asked, found: body.len() as u64 }.into())
                }
                _ => Ok(body),
            }
        });
        match read {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    fn get(&self, name: &str, asked: Option<&RangeAsked>) -> Result<(ResponseHead, Response<ureq::Body>), Failed> {
        let mut request = self.agent.get(self.url(name)).header("cache-control", "no-cache");
        for (header, value) in &self.options.headers {
            request = request.header(header, value);
        }
        if let Some(asked) = asked {
            request = request.header("range", range_header(&asked.range));
        }
        let response = request.call().map_err(|error| self.fault_of(error))?;
        Ok((read_head(&response), response))
    }

    /// The body, at most `limit` bytes of it.
    fn read_body(&self, response: &mut Response<ureq::Body>, limit: u64, wanted: Wanted) -> Result<Bytes, HttpFault> {
        let mut reader = response.body_mut().as_reader().take(limit);
        let mut body = Vec::with_capacity(limit.min(MAX_RESERVED_BYTES) as usize);
        let mut piece = vec![0; PIECE_BYTES.min(limit as usize)];
        loop {
            if !wanted() {
                return Err(HttpFault::Aborted);
            }
            match reader.read(&mut piece) {
                Ok(0) => return Ok(body.into()),
                Ok(read) => body.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fault_of(error.into())),
            }
        }
    }

    fn fault_of(&self, error: ureq::Error) -> HttpFault {
        let HttpOptions { connect_timeout_millis, idle_timeout_millis, timeout_millis, .. } = self.options;
        let (phase, millis) = match error {
            ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => ("the connection", connect_timeout_millis),
            ureq::Error::Timeout(Timeout::PerRead) => ("the next piece of its answer", idle_timeout_millis),
            ureq::Error::Timeout(Timeout::PerWrite) => ("taking the request", idle_timeout_millis),
            ureq::Error::Timeout(_) => ("the whole answer", timeout_millis),
            error => return HttpFault::Transport { reason: error.to_string() },
        };
        HttpFault::TimedOut { phase, millis }
    }

    fn url(&self, name: &str) -> String {
        format!("{}{name}{}", self.base, self.query)
    }

    fn with_retries<T>(&self, name: &str, wanted: Wanted, attempt: impl Fn() -> Result<T, Failed>) -> Result<T> {
        let mut backoff = Backoff::new(self.options.retry);
        let mut timeouts = 0;
        loop {
            let Failed { fault, retry_after } = match attempt() {
                Ok(done) => return Ok(done),
                Err(failed) => failed,
            };
            timeouts += u32::from(matches!(fault, HttpFault::TimedOut { .. }));
            let again = fault.is_transient() && timeouts < MAX_TIMEOUTS && wanted();
            let wait = again.then(|| backoff.next_wait(retry_after.as_deref(), jitter())).flatten();
            let Some(millis) = wait else { return Err(fault.into_error(&self.url(name))) };
            let until = Instant::now() + Duration::from_millis(u64::from(millis));
            while let Some(rest) = until.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) {
                if !wanted() {
                    return Err(HttpFault::Aborted.into_error(&self.url(name)));
                }
                thread::sleep(rest.min(NAP));
            }
        }
    }
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

impl From<(HttpFault, Option<String>)> for Failed {
    fn from((fault, retry_after): (HttpFault, Option<String>)) -> Self {
        Self { fault, retry_after }
    }
}

fn read_head(response: &Response<ureq::Body>) -> ResponseHead {
    let text = |headers: &HeaderMap, name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    let headers = response.headers();
    ResponseHead {
        status: response.status().as_u16(),
        content_range: text(headers, "content-range"),
        content_encoding: text(headers, "content-encoding"),
        content_length: text(headers, "content-length").and_then(|length| length.parse().ok()),
        etag: text(headers, "etag"),
        retry_after: text(headers, "retry-after"),
    }
}
