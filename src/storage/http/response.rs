//! Whether an HTTP answer is the bytes that were asked for.
//!
//! Servers ignore ranges, compress parts, cut bodies and replace files. Each is told apart here, with its own
//! message, before a byte is used. A header that the browser hides is not needed: lengths come from the index.

#![forbid(unsafe_code)]

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use thiserror::Error as ThisError;

use crate::error::{Error, ErrorKind};

/// One range request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeAsked {
    /// The bytes asked for; never empty.
    pub range: Range<u64>,
    /// Length of the whole file where it is known.
    pub file_len: Option<u64>,
}

impl RangeAsked {
    /// Bytes asked for.
    pub fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Whether nothing is asked for; such a request is not made.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }
}

/// Value of the `Range` header: `bytes=a-b`, the only form that causes no preflight in any browser.
///
/// # Panics
/// If the range is empty: there is no such request.
pub fn range_header(range: &Range<u64>) -> String {
    assert!(range.start < range.end, "an empty range has no request");
    format!("bytes={}-{}", range.start, range.end - 1)
}

/// What is seen of an answer before its body; a header hidden by the browser is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// Status code.
    pub status: u16,
    /// `Content-Range`.
    pub content_range: Option<String>,
    /// `Content-Encoding`.
    pub content_encoding: Option<String>,
    /// `Content-Length`.
    pub content_length: Option<u64>,
    /// `ETag`, quotes included.
    pub etag: Option<String>,
    /// `Retry-After`.
    pub retry_after: Option<String>,
}

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum HttpFault {
    /// 404 or 410.
    #[error("the server has no such file (status {status})")]
    Missing {
        /// Status code.
        status: u16,
    },
    /// 200 where 206 was due.
    #[error(
        "the server answered a range request with the whole file (status 200): it does not support range requests, \
         or something between does not"
    )]
    RangeIgnored,
    /// A part that was compressed on the way.
    #[error(
        "the server compressed a part of the file (content-encoding {encoding}): serve it as application/octet-stream \
         with cache-control: no-transform"
    )]
    Encoded {
        /// The encoding it names.
        encoding: String,
    },
    /// A part, but not the one asked for.
    #[error("asked for bytes {asked:?}, the server answered with content-range {found:?}")]
    WrongRange {
        /// Bytes asked for.
        asked: Range<u64>,
        /// The header as it came.
        found: String,
    },
    /// The body ended early or went on for too long.
    #[error("asked for {asked} bytes, the body has {found}")]
    WrongBodyLen {
        /// Bytes asked for.
        asked: u64,
        /// Bytes that came.
        found: u64,
    },
    /// The whole file has another length than the index has on record.
    #[error("the file changed: the index has {expected} bytes on record, the server says {found}: reopen the index")]
    LenChanged {
        /// Bytes on record.
        expected: u64,
        /// Bytes now.
        found: u64,
    },
    /// 416: what the index has on record is not there any more.
    #[error("the file changed: the server has no such range any more (status 416): reopen the index")]
    NotSatisfiable,
    /// Another version than the requests before it saw.
    #[error("the file changed: etag was {before}, is {now}: reopen the index")]
    EtagChanged {
        /// First seen.
        before: String,
        /// Seen now.
        now: String,
    },
    /// 412: a condition of the request failed.
    #[error("the file changed (status 412): reopen the index")]
    PreconditionFailed,
    /// Any other status.
    #[error("the server answered with status {status}")]
    Status {
        /// Status code.
        status: u16,
    },
    /// No answer at all, or one that broke off.
    #[error("the request failed: {reason}")]
    Transport {
        /// As the client tells it.
        reason: String,
    },
    /// Nothing came for too long.
    #[error("the server did not answer: {phase} took longer than {millis} ms")]
    TimedOut {
        /// What was waited for.
        phase: &'static str,
        /// How long, milliseconds.
        millis: u32,
    },
    /// The caller gave up.
    #[error("cancelled by the caller")]
    Aborted,
}

impl HttpFault {
    /// Whether the same request may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Status { status } => matches!(status, 408 | 425 | 429 | 500..=599),
            Self::Transport { .. } | Self::TimedOut { .. } | Self::WrongBodyLen { .. } => true,
            _ => false,
        }
    }

    /// The kind callers branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Missing { .. } => ErrorKind::NotFound,
            Self::RangeIgnored | Self::Encoded { .. } | Self::WrongRange { .. } => ErrorKind::RangeUnsupported,
            Self::LenChanged { .. } | Self::NotSatisfiable | Self::EtagChanged { .. } | Self::PreconditionFailed => {
                ErrorKind::IndexChanged
            }
            Self::WrongBodyLen { .. } | Self::Status { .. } | Self::Transport { .. } | Self::TimedOut { .. } => {
                ErrorKind::Network
            }
            Self::Aborted => ErrorKind::Aborted,
        }
    }

    /// The error of the crate, with the address it is about.
    pub fn into_error(self, url: &str) -> Error {
        Error::with_source(self.kind(), url, self)
    }
}

/// Judges status and headers of the answer to a range request, before its body is read. With
/// [`HttpFault::RangeIgnored`] the body should be cancelled: it may be the whole file.
///
/// # Errors
/// The reason not to use the answer. A 200 is accepted only if the whole file was asked for.
pub fn check_range_head(asked: &RangeAsked, head: &ResponseHead) -> Result<(), HttpFault> {
    match head.status {
        206 => {}
        200 if asked.file_len.is_some_and(|len| asked.range == (0..len)) => return check_encoding(head),
        200 => return Err(HttpFault::RangeIgnored),
        404 | 410 => return Err(HttpFault::Missing { status: head.status }),
        412 => return Err(HttpFault::PreconditionFailed),
        416 => return Err(HttpFault::NotSatisfiable),
        status => return Err(HttpFault::Status { status }),
    }
    check_encoding(head)?;
    if let Some(text) = &head.content_range {
        let wrong = || HttpFault::WrongRange { asked: asked.range.clone(), found: text.clone() };
        let found = ContentRange::parse(text).ok_or_else(wrong)?;
        if let (Some(expected), Some(total)) = (asked.file_len, found.total)
            && expected != total
        {
            return Err(HttpFault::LenChanged { expected, found: total });
        }
        if found.range != asked.range {
            return Err(wrong());
        }
    }
    match head.content_length {
        Some(found) if found != asked.len() => Err(HttpFault::WrongBodyLen { asked: asked.len(), found }),
        _ => Ok(()),
    }
}

/// Judges the answer to a request for a whole file, a commit slot.
///
/// # Errors
/// As [`check_range_head`].
pub fn check_whole_head(head: &ResponseHead) -> Result<(), HttpFault> {
    match head.status {
        200 => Ok(()),
        404 | 410 => Err(HttpFault::Missing { status: head.status }),
        status => Err(HttpFault::Status { status }),
    }
}

/// Judges the length of a body that was read to its end.
///
/// # Errors
/// [`HttpFault::WrongBodyLen`]; [`HttpFault::LenChanged`] where a 200 brought the whole file in another length.
pub fn check_range_body(asked: &RangeAsked, head: &ResponseHead, body_len: u64) -> Result<(), HttpFault> {
    if body_len == asked.len() {
        return Ok(());
    }
    match asked.file_len {
        Some(expected) if head.status == 200 => Err(HttpFault::LenChanged { expected, found: body_len }),
        _ => Err(HttpFault::WrongBodyLen { asked: asked.len(), found: body_len }),
    }
}

/// Refuses a compressed body where it is not decompressed on the way to us.
///
/// # Errors
/// [`HttpFault::Encoded`].
pub fn check_encoding(head: &ResponseHead) -> Result<(), HttpFault> {
    match head.content_encoding.as_deref().map(str::trim) {
        None | Some("") => Ok(()),
        Some(encoding) if encoding.eq_ignore_ascii_case("identity") => Ok(()),
        Some(encoding) => Err(HttpFault::Encoded { encoding: encoding.to_owned() }),
    }
}

/// A parsed `Content-Range: bytes a-b/total`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentRange {
    /// The bytes of the body.
    pub range: Range<u64>,
    /// Length of the whole file; `None` for `*`.
    pub total: Option<u64>,
}

impl ContentRange {
    /// Parses the header; `None` if it is anything else, or contradicts itself.
    pub fn parse(text: &str) -> Option<Self> {
        let (unit, rest) = text.trim().split_once(char::is_whitespace)?;
        if !unit.eq_ignore_ascii_case("bytes") {
            return None;
        }
        let (span, total) = rest.trim().split_once('/')?;
        let (first, last) = span.trim().split_once('-')?;
        let range = number(first)?..number(last)?.checked_add(1)?;
        let total = match total.trim() {
            "*" => None,
            total => Some(number(total)?),
        };
        let fits = range.start < range.end && total.is_none_or(|total| range.end <= total);
        fits.then_some(Self { range, total })
    }
}

/// Decimal digits only: `u64::from_str` would take a sign.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// First strong `ETag` seen of each file, so that bytes of two versions never mix. Weak ones (`W/`) are ignored:
/// compressing servers change them for equal bytes.
#[derive(Debug, Default)]
pub struct Validators(Mutex<HashMap<String, String>>);

impl Validators {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers the first strong tag of `name`, or compares with it. Call it for every answer that passed
    /// [`check_range_head`].
    ///
    /// # Errors
    /// [`HttpFault::EtagChanged`].
    pub fn check(&self, name: &str, head: &ResponseHead) -> Result<(), HttpFault> {
        let Some(now) = head.etag.as_deref().filter(|tag| tag.starts_with('"')) else { return Ok(()) };
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(name) {
            None => {
                seen.insert(name.to_owned(), now.to_owned());
                Ok(())
            }
            Some(before) if before == now => Ok(()),
            Some(before) => Err(HttpFault::EtagChanged { before: before.clone(), now: now.to_owned() }),
        }
    }
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
