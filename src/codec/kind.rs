//! The two ways of writing postings, by name and by number.

#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// How the postings of a segment are encoded. Recorded per index, and per segment in its table of contents: all
/// codecs can be read for good, and a merge writes the index's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u16)]
pub enum PostingsCodec {
    /// Documents in blocks of one width (FOR) or as bit sets, never patched: quicker to intersect. The default.
    #[default]
    Fast = 1,
    /// Documents, frequencies and positions all patched (PFOR): a few percent smaller.
    Compact = 2,
}

impl PostingsCodec {
    /// All codecs, ascending by number.
    pub const ALL: [Self; 2] = [Self::Fast, Self::Compact];

    /// Its number on disk, never reused.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// The codec with this number.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.number() == number)
    }

    /// Its name in options: `fast`, `compact`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Compact => "compact",
        }
    }
}
