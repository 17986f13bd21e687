//! One error for the whole crate: a closed kind with a stable code, where it happened, and its cause.
//!
//! Lower floors may have small error enums of their own; they are converted where a name is known
//! ("postings of segment 3f, block 12"). JavaScript sees [`ErrorKind::code`].

use std::{error::Error as StdError, fmt};

/// Result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something failed. Closed: callers branch on it; codes are stable across releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A file, index, field or document that was named does not exist.
    NotFound,
    /// Bytes do not match their checksum or their format.
    Corrupt,
    /// Written by a newer or unknown version.
    UnsupportedFormat,
    /// An option or query that cannot be served as given.
    InvalidArgument,
    /// A document that does not fit the schema; the rest of its batch is untouched.
    InvalidDocument,
    /// The network failed after the bounded retries.
    Network,
    /// The server does not answer byte ranges in a usable way.
    RangeUnsupported,
    /// A file changed under an open index: reopen it.
    IndexChanged,
    /// The caller cancelled.
    Aborted,
    /// Another writer holds the index.
    Locked,
    /// The storage or the index is opened for reading only.
    ReadOnly,
    /// The storage is full or over its quota.
    Quota,
    /// A memory, buffer or work budget cannot be met.
    OverBudget,
    /// A GPU was required and there is none, or it was lost.
    NoGpu,
    /// The handle was closed.
    Closed,
    /// The engine instance panicked: an error of ours. Open a new one.
    Crashed,
    /// The operating system or browser refused an operation on storage.
    Io,
}

impl ErrorKind {
    /// All kinds, in declaration order.
    pub const ALL: [Self; 17] = [
        Self::NotFound,
        Self::Corrupt,
        Self::UnsupportedFormat,
        Self::InvalidArgument,
        Self::InvalidDocument,
        Self::Network,
        Self::RangeUnsupported,
        Self::IndexChanged,
        Self::Aborted,
        Self::Locked,
        Self::ReadOnly,
        Self::Quota,
        Self::OverBudget,
        Self::NoGpu,
        Self::Closed,
        Self::Crashed,
        Self::Io,
    ];

    /// Stable code, as JavaScript and `--json` output show it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Corrupt => "corrupt",
            Self::UnsupportedFormat => "unsupported_format",
            Self::InvalidArgument => "invalid_argument",
            Self::InvalidDocument => "invalid_document",
            Self::Network => "network",
            Self::RangeUnsupported => "range_unsupported",
            Self::IndexChanged => "index_changed",
            Self::Aborted => "aborted",
            Self::Locked => "locked",
            Self::ReadOnly => "read_only",
            Self::Quota => "quota",
            Self::OverBudget => "over_budget",
            Self::NoGpu => "no_gpu",
            Self::Closed => "closed",
            Self::Crashed => "crashed",
            Self::Io => "io",
        }
    }
}

/// What failed, where, and why.
pub struct Error {
    kind: ErrorKind,
    context: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of `kind` at `context`, a short phrase that names what and where.
    pub fn new(kind: ErrorKind, context: impl Into<String>) -> Self {
        Self { kind, context: context.into(), source: None }
    }

    /// The same with its cause.
    pub fn with_source(
        kind: ErrorKind,
        context: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self { kind, context: context.into(), source: Some(source.into()) }
    }

    /// Shorthand for [`ErrorKind::Corrupt`] with a cause.
    pub fn corrupt(context: impl Into<String>, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::with_source(ErrorKind::Corrupt, context, source)
    }

    /// Shorthand for [`ErrorKind::InvalidArgument`].
    pub fn invalid(context: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, context)
    }

    /// Prefixes the context with `outer`, a name known only to the caller.
    #[must_use]
    pub fn at(mut self, outer: impl fmt::Display) -> Self {
        self.context = format!("{outer}: {}", self.context);
        self
    }

    /// The closed kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where it happened, in words, without the cause.
    pub fn context(&self) -> &str {
        &self.context
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.context)?;
        let mut cause = StdError::source(self);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self, self.kind.code())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct() {
        let codes: std::collections::BTreeSet<_> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn display_shows_the_whole_chain() {
        let inner = Error::new(ErrorKind::Io, "disk");
        let outer = Error::corrupt("postings of segment 3f", inner).at("search");
        assert_eq!(outer.to_string(), "search: postings of segment 3f: disk");
        assert_eq!(outer.kind().code(), "corrupt");
    }
}
