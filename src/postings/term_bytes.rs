//! The bytes of a term that a reader works on: skip data whole, documents and positions as far as they were read.
//!
//! A query that knows from skip data which blocks can still win reads those alone. What was not read is absent, not
//! empty: a reader that asks for it gets [`DecodeError::NotRead`], which is a fault of the planner and never an answer.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{codec::DecodeError, terms::TermInfo};

/// Bytes of one term.
#[derive(Debug, Clone, Default)]
pub struct TermBytes {
    /// All skip data; empty for a term without full blocks.
    pub skips: Bytes,
    /// Documents and frequencies, places counted from the end of the skip data.
    pub docs: Runs,
    /// Positions, if they will be asked for.
    pub positions: Option<Runs>,
}

impl TermBytes {
    /// A term of a resident `postings` stream, with positions if they will be asked for.
    ///
    /// # Errors
    /// If the stream ends before the term does.
    pub fn resident(info: &TermInfo, stream: &Bytes, positions: bool) -> Result<Self, DecodeError> {
        let cut = |range: Range<u64>| {
            let len = stream.len();
            let end = usize::try_from(range.end).unwrap_or(usize::MAX);
            match usize::try_from(range.start) {
                _ if range.is_empty() => Ok(Bytes::new()),
                Ok(start) if end <= len => Ok(stream.slice(start..end)),
                start => Err(DecodeError::Truncated { offset: start.unwrap_or(usize::MAX), needed: end, have: len }),
            }
        };
        let docs = info.docs_range();
        let split = docs.start.saturating_add(u64::from(info.skip_len));
        Ok(Self {
            skips: cut(docs.start..split)?,
            docs: Runs::whole(cut(split..docs.end)?),
            positions: if positions { Some(Runs::whole(cut(info.positions_range())?)) } else { None },
        })
    }

    /// A term that was read whole: `docs` are the bytes of [`TermInfo::docs_range`] (skip data and documents),
    /// `positions` those of [`TermInfo::positions_range`].
    pub fn whole(info: &TermInfo, docs: Bytes, positions: Option<Bytes>) -> Self {
        let split = (info.skip_len as usize).min(docs.len());
        Self {
            skips: docs.slice(..split),
            docs: Runs::whole(docs.slice(split..)),
            positions: positions.map(Runs::whole),
        }
    }
}

/// A stretch of bytes of which all or parts are there. Clones share them.
#[derive(Debug, Clone)]
pub struct Runs(Kept);

#[derive(Debug, Clone)]
enum Kept {
    Nothing,
    Whole(Bytes),
    /// Where each part starts, ascending, and its bytes. They may overlap.
    Parts(Arc<Vec<(u64, Bytes)>>),
}

impl Default for Runs {
    /// Nothing of it.
    fn default() -> Self {
        Self(Kept::Nothing)
    }
}

impl Runs {
    /// All of it.
    pub fn whole(bytes: Bytes) -> Self {
        Self(Kept::Whole(bytes))
    }

    /// Whether nothing is absent.
    pub fn is_whole(&self) -> bool {
        matches!(self.0, Kept::Whole(_))
    }

    /// Adds a part that starts at `start`; nothing to what is whole.
    pub fn insert(&mut self, start: u64, bytes: Bytes) {
        if matches!(self.0, Kept::Nothing) {
            self.0 = Kept::Parts(Arc::default());
        }
        if let Kept::Parts(parts) = &mut self.0 {
            let at = parts.partition_point(|(known, _)| *known <= start);
            Arc::make_mut(parts).insert(at, (start, bytes));
        }
    }

    /// The part to look into for what is at `at`, and where it starts. Of parts that overlap the last one to start
    /// reaches furthest behind, as a planner asks for blocks whole.
    #[inline]
    fn part(&self, at: u64) -> Option<(u64, &Bytes)> {
        match &self.0 {
            Kept::Nothing => None,
            Kept::Whole(bytes) => Some((0, bytes)),
            Kept::Parts(parts) => {
                let (start, bytes) = parts[..parts.partition_point(|(start, _)| *start <= at)].last()?;
                Some((*start, bytes))
            }
        }
    }

    /// Bytes from `at` to the end of the part that has it; none at the end of the whole.
    ///
    /// # Errors
    /// [`DecodeError::NotRead`] if they are absent.
    #[inline]
    pub fn rest(&self, at: u64) -> Result<&[u8], DecodeError> {
        let rest = self.part(at).and_then(|(start, bytes)| bytes.get(usize::try_from(at - start).ok()?..));
        match rest {
            Some(rest) if !rest.is_empty() || self.is_whole() => Ok(rest),
            None if self.is_whole() => Ok(&[]),
            _ => Err(DecodeError::NotRead { offset: at }),
        }
    }

    /// The bytes of `range`.
    ///
    /// # Errors
    /// [`DecodeError::NotRead`] if some are absent, [`DecodeError::Truncated`] if the whole ends before.
    #[inline]
    pub fn get(&self, range: Range<usize>) -> Result<&[u8], DecodeError> {
        let (start, needed) = (range.start, range.end.saturating_sub(range.start));
        let rest = if needed == 0 { &[] } else { self.rest(start as u64)? };
        rest.get(..needed).ok_or(match self.is_whole() {
            true => DecodeError::Truncated { offset: start, needed, have: rest.len() },
            false => DecodeError::NotRead { offset: start as u64 },
        })
    }

    /// The bytes of `range`, put together from parts that touch where it needs several.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn gather(&self, range: Range<usize>) -> Result<Bytes, DecodeError> {
        let mut gathered = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let rest = self.rest(at as u64)?;
            let take = &rest[..rest.len().min(range.end - at)];
            if at == range.start && take.len() == range.len() {
                return Ok(self.part(at as u64).map_or_else(Bytes::new, |(_, bytes)| bytes.slice_ref(take)));
            }
            if take.is_empty() {
                return Err(DecodeError::Truncated { offset: at, needed: range.end - at, have: 0 });
            }
            gathered.extend_from_slice(take);
            at += take.len();
        }
        Ok(gathered.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_bytes_are_not_empty_ones() {
        let mut runs = Runs::default();
        runs.insert(10, Bytes::from_static(b"klmnop"));
        runs.insert(2, Bytes::from_static(b"cde"));
        runs.insert(14, Bytes::from_static(b"opqr"));
        assert_eq!(runs.get(2..5).unwrap(), b"cde");
        assert_eq!(runs.get(10..12).unwrap(), b"kl");
        assert_eq!(runs.rest(15).unwrap(), b"pqr");
        assert_eq!(runs.gather(11..18).unwrap(), &b"lmnopqr"[..]);
        for range in [0..1, 4..6, 5..6, 12..19, 18..19] {
            assert_eq!(runs.get(range.clone()), Err(DecodeError::NotRead { offset: range.start as u64 }));
        }
        assert!(runs.gather(4..12).is_err());
        assert_eq!(runs.get(7..7).unwrap(), b"");
    }

    #[test]
    fn the_end_of_the_whole_is_an_end() {
        let runs = Runs::whole(Bytes::from_static(b"abc"));
        assert_eq!(runs.rest(9).unwrap(), b"");
        assert_eq!(runs.get(1..9), Err(DecodeError::Truncated { offset: 1, needed: 8, have: 2 }));
        assert_eq!(runs.gather(1..3).unwrap(), &b"bc"[..]);
        assert!(runs.gather(1..9).is_err());
    }
}
