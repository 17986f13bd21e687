//! Reads the positions of a term, of the documents that are asked for.

use crate::{
    codec::{DecodeError, Reader, Unpacker, bitpack::BLOCK_LEN, pfor},
    postings::term_bytes::Runs,
    terms::TermInfo,
};

/// A view on the positions of one term.
#[derive(Debug)]
pub(super) struct Positions {
    bytes: Runs,
    unpacker: Unpacker,
    /// Set for a term of one document that has one position.
    inline: Option<u32>,
    total: u64,
    /// Where the vints behind the last full block start, if known; else counted.
    tail_at: Option<u64>,
    /// Which block of documents is entered, and up to which of its documents positions were passed over.
    doc_block: Option<u32>,
    docs_done: usize,
    gaps: [u32; BLOCK_LEN],
    /// Where the decoded block starts and where the next one does.
    block_at: Option<u64>,
    next_at: u64,
    ix: usize,
    len: usize,
    /// Positions in front of the decoded block, where counted.
    before: u64,
}

impl Positions {
    pub fn new(bytes: Runs, info: &TermInfo) -> Self {
        Self {
            bytes,
            unpacker: Unpacker::detect(),
            inline: info.inline_position,
            total: info.total_term_freq,
            tail_at: None,
            doc_block: None,
            docs_done: 0,
            gaps: [0; BLOCK_LEN],
            block_at: None,
            next_at: 0,
            ix: 0,
            len: 0,
            before: 0,
        }
    }

    /// Says where the vints start; needed for terms whose blocks are jumped over.
    pub fn set_tail(&mut self, tail_at: Option<u64>) {
        self.tail_at = tail_at;
    }

    /// A block of documents was entered whose positions start at byte `at`, behind `ix` of the block there.
    pub fn enter_block(&mut self, block: u32, at: u64, ix: u8) {
        self.doc_block = Some(block);
        self.docs_done = 0;
        if self.block_at != Some(at) || self.len == 0 {
            self.block_at = None;
            self.len = 0;
            self.next_at = at;
        }
        self.ix = usize::from(ix);
    }

    fn next_is_full(&self) -> bool {
        match self.tail_at {
            Some(tail) => self.next_at < tail,
            None => self.total - self.before.min(self.total) >= BLOCK_LEN as u64,
        }
    }

    fn reader_at_next(&self) -> Result<Reader<'_>, DecodeError> {
        self.bytes.rest(self.next_at).map(Reader::new)
    }

    fn load(&mut self) -> Result<(), DecodeError> {
        let at = self.next_at;
        let full = self.next_is_full();
        let mut reader = Reader::new(self.bytes.rest(at)?);
        if full {
            pfor::read(self.unpacker, &mut reader, &mut self.gaps)?;
            self.len = BLOCK_LEN;
        } else {
            self.len = (self.total % BLOCK_LEN as u64) as usize;
            for gap in &mut self.gaps[..self.len] {
                *gap = reader.vint()?;
            }
        }
        if self.len == 0 {
            return Err(reader.invalid("more positions than there are"));
        }
        self.before += self.len as u64;
        self.block_at = Some(at);
        self.next_at = at + reader.offset() as u64;
        Ok(())
    }

    /// Goes on until a position is there to read.
    #[inline]
    fn fill(&mut self) -> Result<(), DecodeError> {
        while self.ix >= self.len.max(1) || self.len == 0 {
            let behind = self.len;
            if behind > 0 {
                self.ix -= behind;
            }
            // Whole blocks are passed over undecoded.
            while self.ix >= BLOCK_LEN && self.next_is_full() {
                let mut reader = self.reader_at_next()?;
                pfor::skip(&mut reader)?;
                self.next_at += reader.offset() as u64;
                self.before += BLOCK_LEN as u64;
                self.ix -= BLOCK_LEN;
            }
            self.load()?;
        }
        Ok(())
    }

    fn skip(&mut self, mut count: u64) -> Result<(), DecodeError> {
        // `fill` takes the index on from here, however far beyond the block it is.
        count += self.ix as u64;
        self.ix = usize::try_from(count).map_err(|_| DecodeError::Invalid { offset: 0, what: "too many positions" })?;
        Ok(())
    }

    /// Positions of the document at `doc_ix` of the entered block, given all frequencies of the block.
    pub fn read(&mut self, freqs: &[u32; BLOCK_LEN], doc_ix: usize, out: &mut Vec<u32>) -> Result<(), DecodeError> {
        if let Some(position) = self.inline {
            out.push(position);
            return Ok(());
        }
        if doc_ix >= BLOCK_LEN {
            return Ok(());
        }
        if doc_ix < self.docs_done {
            return Err(DecodeError::Invalid { offset: 0, what: "positions were read already" });
        }
        let passed = freqs[self.docs_done..doc_ix].iter().map(|&freq| u64::from(freq)).sum();
        self.skip(passed)?;
        let mut left = freqs[doc_ix] as usize;
        let mut position = 0u32;
        while left > 0 {
            if self.len == 0 || self.ix >= self.len {
                self.fill()?;
            }
            let take = left.min(self.len - self.ix);
            for &gap in &self.gaps[self.ix..self.ix + take] {
                position = position.wrapping_add(gap);
                out.push(position);
            }
            self.ix += take;
            left -= take;
        }
        self.docs_done = doc_ix + 1;
        Ok(())
    }
}
