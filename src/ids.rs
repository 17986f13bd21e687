//! Names of things, as types: what one floor calls ordinal 7, another cannot mistake for document 7.
//!
//! Ordinal = position inside one segment; id = survives a merge; address = segment + ordinal.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// Document number inside one segment, `0..max_doc`, deleted ones included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DocOrd(pub u32);

/// Position of a field in the schema; 0 is the reserved id field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FieldOrd(pub u16);

/// Position of a segment in its snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SegmentOrd(pub u32);

/// Where a document is inside one snapshot. Not stable across a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DocAddress {
    /// The segment.
    pub segment: SegmentOrd,
    /// The document inside it.
    pub doc: DocOrd,
}

/// Name of a segment: 16 random bytes, never reused. Shown as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub [u8; 16]);

impl SegmentId {
    /// A fresh random name.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] where the platform gives no randomness.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| Error::new(ErrorKind::Io, format!("randomness: {error}")))?;
        Ok(Self(bytes))
    }

    /// Name of the segment's data file.
    pub fn file_name(&self) -> String {
        format!("{self}.seg")
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The caller's name of a document: a string or an integer. They never equal each other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DocId {
    /// An integer id.
    Int(i64),
    /// A string id, any UTF-8 except the empty string.
    Str(String),
}

impl DocId {
    /// Term bytes under which the id field is indexed: `i` and big-endian sign-flipped integer, or `s` and the text.
    /// Integers sort before strings and in numeric order.
    pub fn to_term(&self) -> Vec<u8> {
        match self {
            Self::Int(value) => {
                let mut term = vec![b'i'];
                term.extend_from_slice(&((*value as u64) ^ (1 << 63)).to_be_bytes());
                term
            }
            Self::Str(text) => {
                let mut term = vec![b's'];
                term.extend_from_slice(text.as_bytes());
                term
            }
        }
    }

    /// Inverse of [`Self::to_term`]; `None` if `term` is no id term.
    pub fn from_term(term: &[u8]) -> Option<Self> {
        match term.split_first()? {
            (b'i', rest) => Some(Self::Int((u64::from_be_bytes(rest.try_into().ok()?) ^ (1 << 63)) as i64)),
            (b's', rest) => Some(Self::Str(std::str::from_utf8(rest).ok()?.to_owned())),
            _ => None,
        }
    }
}

impl From<&str> for DocId {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<i64> for DocId {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Str(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_terms_round_trip_and_sort() {
        let ids =
            [DocId::Int(i64::MIN), DocId::Int(-1), DocId::Int(0), DocId::Int(7), DocId::from("a"), DocId::from("é")];
        for pair in ids.windows(2) {
            assert!(pair[0].to_term() < pair[1].to_term(), "{pair:?}");
        }
        for id in ids {
            assert_eq!(DocId::from_term(&id.to_term()), Some(id));
        }
        assert_eq!(DocId::from_term(b"x"), None);
        assert_eq!(DocId::from_term(b"i123"), None);
    }
}
