//! Cursors: where a hit is in the order of its search, as text that callers hand back.
//!
//! ```text
//! lower-case hexadecimal of:
//!   version u8 (1), order u32, snapshot u64, segment id [16], doc vint, position vlong, neighbours vint,
//!   keys vint, per key: 0 (no value) | 1, value u64 | 2, keyword (vint length, bytes)
//!   crc32c u32 of what comes before
//! ```
//!
//! An order by columns, or by index order alone, continues from the values and the place of the hit, so that it goes on
//! in later commits too. An order by score continues from a position, in the same commit.

#![forbid(unsafe_code)]

use crate::{
    codec::{Reader, Write, checksum},
    error::{Error, ErrorKind, Result},
    ids::SegmentId,
};

const VERSION: u8 = 1;
/// Sort keys of a cursor at most: no request has more.
const MAX_KEYS: u32 = 64;

/// A parsed cursor.
#[derive(Debug, Clone, PartialEq)]
pub struct Cursor {
    /// Fingerprint of what hits are ordered by.
    pub order: u32,
    /// Fingerprint of the commit.
    pub snapshot: u64,
    /// Segment of the hit.
    pub segment: SegmentId,
    /// The hit's document in it.
    pub doc: u32,
    /// Hits up to and with this one.
    pub position: u64,
    /// Neighbours that the vector leg considered; 0 without one.
    pub neighbours: u32,
    /// Values of the hit's sort keys; of an order by score none.
    pub keys: Vec<CursorKey>,
}

/// The value of one sort key.
#[derive(Debug, Clone, PartialEq)]
pub enum CursorKey {
    /// None.
    Missing,
    /// A number as columns keep it.
    Number(u64),
    /// A keyword.
    Word(String),
}

impl Cursor {
    /// The cursor as text.
    pub fn to_text(&self) -> String {
        let mut bytes = vec![VERSION];
        bytes.put_u32(self.order);
        bytes.put_u64(self.snapshot);
        bytes.put(&self.segment.0);
        bytes.put_vint(self.doc);
        bytes.put_vlong(self.position);
        bytes.put_vint(self.neighbours);
        bytes.put_vint(self.keys.len() as u32);
        for key in &self.keys {
            match key {
                CursorKey::Missing => bytes.put_u8(0),
                CursorKey::Number(value) => {
                    bytes.put_u8(1);
                    bytes.put_u64(*value);
                }
                CursorKey::Word(word) => {
                    bytes.put_u8(2);
                    bytes.put_prefixed(word.as_bytes());
                }
            }
        }
        checksum::seal(&mut bytes, 0);
        let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
        bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }

    /// Reads a cursor.
    ///
    /// # Errors
    /// `invalid_argument` if `text` is none.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = || Error::invalid("after: this is no cursor of a search: pass on `cursor` of an answer as it is");
        let digits: Option<Vec<u8>> =
            text.bytes().map(|byte| char::from(byte).to_digit(16).map(|digit| digit as u8)).collect();
        let digits = digits.filter(|digits| digits.len().is_multiple_of(2)).ok_or_else(bad)?;
        let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        let body = checksum::open(&bytes).ok().filter(|body| !body.is_empty()).ok_or_else(bad)?;
        if body[0] != VERSION {
            return Err(Error::new(ErrorKind::IndexChanged, "after: a cursor of another version: start again"));
        }
        Self::read(&body[1..]).ok_or_else(bad)
    }

    fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let (order, snapshot) = (reader.u32().ok()?, reader.u64().ok()?);
        let segment = SegmentId(reader.bytes(16).ok()?.try_into().ok()?);
        let (doc, position) = (reader.vint().ok()?, reader.vlong().ok()?);
        let neighbours = reader.vint().ok()?;
        let count = reader.vint().ok().filter(|&count| count <= MAX_KEYS)?;
        let mut keys = Vec::new();
        for _ in 0..count {
            keys.push(match reader.u8().ok()? {
                0 => CursorKey::Missing,
                1 => CursorKey::Number(reader.u64().ok()?),
                2 => CursorKey::Word(reader.text().ok()?.to_owned()),
                _ => return None,
            });
        }
        reader.is_empty().then_some(Self { order, snapshot, segment, doc, position, neighbours, keys })
    }
}

/// A hash of bytes that is the same everywhere (FNV-1a, 64 bits): tells commits and orders apart.
pub(super) fn fingerprint<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for part in parts {
        for byte in part.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rng: &mut fastrand::Rng) -> Cursor {
        let key = |rng: &mut fastrand::Rng| match rng.u8(0..3) {
            0 => CursorKey::Missing,
            1 => CursorKey::Number(rng.u64(..)),
            _ => CursorKey::Word((0..rng.usize(0..9)).map(|_| rng.char(..)).collect()),
        };
        Cursor {
            order: rng.u32(..),
            snapshot: rng.u64(..),
            segment: SegmentId([rng.u8(..); 16]),
            doc: rng.u32(..),
            position: rng.u64(..),
            neighbours: rng.u32(..),
            keys: (0..rng.usize(0..4)).map(|_| key(rng)).collect(),
        }
    }

    #[test]
    fn cursors_round_trip_and_nothing_else_is_one() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..500 {
            let cursor = sample(&mut rng);
            let text = cursor.to_text();
            assert_eq!(Cursor::parse(&text).expect("just written"), cursor, "seed {seed}");
            let mut bad: Vec<char> = text.chars().collect();
            let at = rng.usize(0..bad.len());
            bad[at] = rng.char('0'..='z');
            let bad: String = bad.into_iter().take(if rng.bool() { text.len() } else { at }).collect();
            if bad.to_ascii_lowercase() != text {
                assert_eq!(Cursor::parse(&bad).expect_err("damaged").kind(), ErrorKind::InvalidArgument, "seed {seed}");
            }
        }
        for text in ["", "0", "00", "zz", "é", "ffffffffffffffff"] {
            assert!(Cursor::parse(text).is_err());
        }
        for _ in 0..3000 {
            let mut bytes: Vec<u8> = (0..rng.usize(0..60)).map(|ix| if ix == 0 { 1 } else { rng.u8(..) }).collect();
            checksum::seal(&mut bytes, 0);
            let _ = Cursor::parse(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        }
    }
}
