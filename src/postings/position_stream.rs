//! The positions of a term from front to back, out of windows on its stream.

use std::ops::Range;

use bytes::Bytes;

use crate::{
    codec::{DecodeError, Reader, Unpacker, bitpack::BLOCK_LEN, pfor},
    terms::TermInfo,
};

/// No block of positions, packed or in vints, takes more bytes.
pub(super) const BLOCK_BYTES: u64 = 5 * BLOCK_LEN as u64;

/// A part of a stream.
#[derive(Debug, Default)]
pub(super) struct Window {
    start: u64,
    bytes: Bytes,
    /// A range that was asked for.
    expected: Option<Range<u64>>,
}

impl Window {
    pub fn has(&self, range: &Range<u64>) -> bool {
        range.start >= self.start && range.end <= self.start + self.bytes.len() as u64
    }

    /// The bytes of `range`; none where it is not covered.
    pub fn slice(&self, range: &Range<u64>) -> Bytes {
        if range.is_empty() || !self.has(range) {
            return Bytes::new();
        }
        self.bytes.slice((range.start - self.start) as usize..(range.end - self.start) as usize)
    }

    fn get(&self, range: &Range<u64>) -> Option<&[u8]> {
        self.has(range).then(|| &self.bytes[(range.start - self.start) as usize..(range.end - self.start) as usize])
    }

    pub fn fill(&mut self, start: u64, bytes: Bytes) {
        (self.start, self.bytes, self.expected) = (start, bytes, None);
    }

    /// Notes what is asked for, so that the answer finds its way here.
    pub fn expect(&mut self, range: &Range<u64>) {
        self.expected = Some(range.clone());
    }

    pub fn wants(&self, range: &Range<u64>) -> bool {
        self.expected.as_ref() == Some(range)
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// Decodes the positions of a term in order.
#[derive(Debug)]
pub(super) struct PositionStream {
    unpacker: Unpacker,
    inline: Option<u32>,
    next: u64,
    end: u64,
    /// Positions not yet decoded.
    left: u64,
    gaps: [u32; BLOCK_LEN],
    ix: usize,
    len: usize,
    /// Positions of the current document not yet given, and the last one given.
    left_in_doc: u32,
    position: u32,
    entered: bool,
}

impl PositionStream {
    pub fn new(info: &TermInfo) -> Self {
        let range = info.positions_range();
        Self {
            unpacker: Unpacker::detect(),
            inline: info.inline_position,
            next: range.start,
            end: range.end,
            left: info.total_term_freq,
            gaps: [0; BLOCK_LEN],
            ix: 0,
            len: 0,
            left_in_doc: 0,
            position: 0,
            entered: false,
        }
    }

    /// Whether a document was entered and [`Self::run`] has not finished it.
    pub fn in_doc(&self) -> bool {
        self.entered
    }

    pub fn enter_doc(&mut self, freq: u32) {
        (self.left_in_doc, self.position, self.entered) = (freq, 0, true);
    }

    /// Gives the positions of the document; `Some` says from where on bytes are missing.
    pub fn run(
        &mut self,
        main: &Window,
        other: &Window,
        each: &mut impl FnMut(u32),
    ) -> Result<Option<Range<u64>>, DecodeError> {
        if let Some(position) = self.inline {
            each(position);
            self.entered = false;
            return Ok(None);
        }
        while self.left_in_doc > 0 {
            if self.ix == self.len
                && let Some(missing) = self.decode(main, other)?
            {
                return Ok(Some(missing));
            }
            let take = (self.left_in_doc as usize).min(self.len - self.ix);
            for &gap in &self.gaps[self.ix..self.ix + take] {
                // A gap that wraps would be damage: the writer counts on ascending positions.
                self.position = self
                    .position
                    .checked_add(gap)
                    .ok_or(DecodeError::Invalid { offset: 0, what: "position passes 32 bits" })?;
                each(self.position);
            }
            self.ix += take;
            self.left_in_doc -= take as u32;
        }
        self.entered = false;
        Ok(None)
    }

    fn decode(&mut self, main: &Window, other: &Window) -> Result<Option<Range<u64>>, DecodeError> {
        let needed = self.next..self.end.min(self.next.saturating_add(BLOCK_BYTES));
        let Some(bytes) = main.get(&needed).or_else(|| other.get(&needed)) else {
            return Ok(Some(self.next..self.end));
        };
        let mut reader = Reader::new(bytes);
        if self.left >= BLOCK_LEN as u64 {
            pfor::read(self.unpacker, &mut reader, &mut self.gaps)?;
            self.len = BLOCK_LEN;
        } else {
            self.len = self.left as usize;
            for gap in &mut self.gaps[..self.len] {
                *gap = reader.vint()?;
            }
        }
        if self.len == 0 {
            return Err(reader.invalid("more positions than there are"));
        }
        self.left -= self.len as u64;
        self.ix = 0;
        self.next += reader.offset() as u64;
        Ok(None)
    }
}
