//! Which terms of a field are meant.

use std::{fmt, ops::Bound};

/// A set of terms, described.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TermPattern {
    /// Terms that start with these bytes.
    Prefix(Vec<u8>),
    /// Terms between two others, in the order of their bytes.
    Range {
        /// Where they begin.
        from: Bound<Vec<u8>>,
        /// Where they end.
        to: Bound<Vec<u8>>,
    },
}

impl fmt::Display for TermPattern {
    /// As the query syntax writes it, without a field.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let bound = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Included(term) | Bound::Excluded(term) => text(term),
            Bound::Unbounded => "*".to_owned(),
        };
        match self {
            Self::Prefix(prefix) => write!(f, "{}*", text(prefix)),
            Self::Range { from, to } => {
                let open = if matches!(from, Bound::Excluded(_)) { '{' } else { '[' };
                let close = if matches!(to, Bound::Excluded(_)) { '}' } else { ']' };
                write!(f, "{open}{} TO {}{close}", bound(from), bound(to))
            }
        }
    }
}
