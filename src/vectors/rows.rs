//! Which row holds a vector, where equal vectors share one.
//!
//! Vectors with a row of their own are a set; their rows follow the order of vectors. Each of the others names the row of
//! an equal vector in front of it.

use std::sync::Arc;

use super::error::VectorFormatError;
use crate::bitset::{BitSet, Ranks};

/// From vectors to rows, while rows are written.
#[derive(Debug, Default)]
pub struct RowMapWriter {
    words: Vec<u64>,
    len: u32,
    num_rows: u32,
    shared: Vec<u32>,
}

impl RowMapWriter {
    /// The next vector has a row of its own; returns its number.
    pub fn push_own(&mut self) -> u32 {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        self.words[self.len as usize / 64] |= 1 << (self.len % 64);
        self.len += 1;
        self.num_rows += 1;
        self.num_rows - 1
    }

    /// The next vector is that of `row`.
    ///
    /// # Panics
    /// If there is no such row so far.
    pub fn push_shared(&mut self, row: u32) {
        assert!(row < self.num_rows, "row {row} of {}", self.num_rows);
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        self.len += 1;
        self.shared.push(row);
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        self.words.capacity() * 8 + self.shared.capacity() * 4
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        BitSet::from_words(self.words, self.len).write(out);
        self.shared.iter().for_each(|row| out.extend_from_slice(&row.to_le_bytes()));
    }
}

/// From vectors to rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowMap {
    own: Arc<BitSet>,
    shared: Vec<u32>,
}

impl RowMap {
    /// Reads what [`RowMapWriter`] wrote for `count` vectors; `bytes` are exactly that. Each vector's row is there then.
    pub(super) fn parse(bytes: &[u8], count: u32) -> Result<Self, VectorFormatError> {
        let length = |expected: u64| VectorFormatError::MetaLength { found: bytes.len(), expected };
        let set_len = set_bytes(count);
        let (own, shared) = bytes.split_at_checked(set_len).ok_or_else(|| length(set_len as u64))?;
        let own = BitSet::parse(own).ok().filter(|own| own.len() == count).ok_or_else(|| length(set_len as u64))?;
        let (shared, rest) = shared.as_chunks::<4>();
        if shared.len() != (count - own.count()) as usize || !rest.is_empty() {
            return Err(length(set_len as u64 + u64::from(count - own.count()) * 4));
        }
        let shared: Vec<u32> = shared.iter().map(|&row| u32::from_le_bytes(row)).collect();
        let mut own_before = 0;
        let mut rows = shared.iter();
        for ord in 0..count {
            if own.contains(ord) {
                own_before += 1;
            } else if rows.next().is_none_or(|&row| row >= own_before) {
                return Err(VectorFormatError::SharedRow { ord });
            }
        }
        Ok(Self { own: Arc::new(own), shared })
    }

    pub(super) fn num_rows(&self) -> u32 {
        self.own.count()
    }

    pub(super) fn into_lookup(self) -> RowLookup {
        RowLookup { own: Ranks::new(self.own), shared: self.shared }
    }
}

/// Bytes of a set of `count` vectors.
pub(super) fn set_bytes(count: u32) -> usize {
    4 + count.div_ceil(64) as usize * 8
}

/// A map that answers at once.
#[derive(Debug)]
pub(super) struct RowLookup {
    own: Ranks,
    shared: Vec<u32>,
}

impl RowLookup {
    /// Row of a vector.
    ///
    /// # Panics
    /// If there is no such vector.
    #[inline]
    pub(super) fn row_of(&self, ord: u32) -> u32 {
        let rank = self.own.rank(ord);
        if self.own.set().contains(ord) { rank } else { self.shared[(ord - rank) as usize] }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.own.set().memory_bytes() + self.shared.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_come_back_and_damage_is_refused() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        for count in [0u32, 1, 63, 64, 65, 1000] {
            let (mut writer, mut plain) = (RowMapWriter::default(), Vec::new());
            for ord in 0..count {
                let row = if ord == 0 || rng.bool() {
                    writer.push_own()
                } else {
                    let row = plain[rng.usize(0..plain.len())];
                    writer.push_shared(row);
                    row
                };
                plain.push(row);
            }
            let mut bytes = Vec::new();
            writer.write(&mut bytes);
            let map = RowMap::parse(&bytes, count).unwrap();
            assert_eq!(map.num_rows(), plain.iter().max().map_or(0, |row| row + 1));
            let lookup = map.into_lookup();
            assert!(plain.iter().zip(0..).all(|(&row, ord)| lookup.row_of(ord) == row), "{count}");
            for len in 0..bytes.len() {
                assert!(RowMap::parse(&bytes[..len], count).is_err());
            }
            assert!(RowMap::parse(&bytes, count + 1).is_err());
            for _ in 0..200 {
                let mut damaged = bytes.clone();
                let at = rng.usize(0..damaged.len());
                damaged[at] ^= 1 << rng.u8(0..8);
                if let Ok(map) = RowMap::parse(&damaged, count) {
                    let rows = map.num_rows();
                    let lookup = map.into_lookup();
                    assert!((0..count).all(|ord| lookup.row_of(ord) < rows));
                }
            }
        }
    }
}
