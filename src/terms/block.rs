//! One block of a dictionary: keys first, then what belongs to them.
//!
//! ```text
//! vint   number of terms
//! vlong  where the postings of the first one start
//! vint   bytes of keys, vint bytes of infos
//! keys:  u8 shared << 4 | suffix, each up to 14, 15 meaning 15 + a vint behind; then the suffix
//! infos: vint doc_freq, [vlong total_term_freq - doc_freq], then
//!        of a singleton: zig-zag document - previous singleton of the block, [vint position if it occurs once,
//!                        else vlong bytes of positions]
//!        of the rest:    vint bytes of documents, vint bytes of skip data, [vlong bytes of positions]
//! ```
//! Brackets: only where the field keeps frequencies or positions. Blocks follow each other without gaps.

use crate::{
    codec::{DecodeError, Reader},
    terms::{FieldOptions, TermInfo},
};

struct Header<'a> {
    count: u32,
    start: u64,
    keys: Reader<'a>,
    infos: Reader<'a>,
}

impl<'a> Header<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (count, start) = (reader.vint()?, reader.vlong()?);
        let (keys_len, infos_len) = (reader.vint()? as usize, reader.vint()? as usize);
        let keys = Reader::new(reader.bytes(keys_len)?);
        let infos = Reader::new(reader.bytes(infos_len)?);
        Ok(Self { count, start, keys, infos })
    }
}

/// Shared length and suffix of the next key.
#[inline(always)]
fn next_key<'a>(keys: &mut Reader<'a>) -> Result<(usize, &'a [u8]), DecodeError> {
    let head = keys.u8()?;
    let (mut shared, mut len) = (usize::from(head >> 4), usize::from(head & 15));
    if shared == 15 {
        shared += keys.vint()? as usize;
    }
    if len == 15 {
        len += keys.vint()? as usize;
    }
    Ok((shared, keys.bytes(len)?))
}

/// A vint of up to three bytes with at least one byte behind them: nothing else has to be checked.
#[inline(always)]
fn short_vint(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let word = u32::from_le_bytes(*bytes.get(*at..)?.first_chunk()?);
    if word & 0x80 == 0 {
        *at += 1;
        return Some(word & 0x7f);
    }
    if word & 0x8000 == 0 {
        *at += 2;
        return Some(word & 0x7f | word >> 1 & 0x3f80);
    }
    *at += 3;
    (word & 0x80_0000 == 0).then_some(word & 0x7f | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000)
}

/// Reads infos one after another, keeping what they are relative to.
#[derive(Debug, Clone, Default)]
struct InfoState {
    start: u64,
    last_singleton: u32,
}

impl InfoState {
    /// Goes behind an info, of which only the next ones need to know where it ends.
    #[inline]
    fn pass(&mut self, options: FieldOptions, infos: &mut Reader<'_>) -> Result<(), DecodeError> {
        match self.pass_short(options, infos.rest()) {
            Some(len) => infos.skip(len),
            None => self.next(options, infos).map(|_| ()),
        }
    }

    /// The same of an info of short numbers, with others behind it; its length. `None`, and nothing done, of one that
    /// [`Self::next`] has to read.
    #[inline(always)]
    fn pass_short(&mut self, options: FieldOptions, infos: &[u8]) -> Option<usize> {
        let mut at = 0;
        let doc_freq = short_vint(infos, &mut at)?;
        let extra = if options.freqs { short_vint(infos, &mut at)? } else { 0 };
        let (mut len, mut singleton) = (0, self.last_singleton);
        match doc_freq {
            0 => return None,
            1 => {
                let delta = short_vint(infos, &mut at)?;
                let doc = i64::from(self.last_singleton) + (i64::from(delta >> 1) ^ -i64::from(delta & 1));
                if options.positions {
                    let last = short_vint(infos, &mut at)?;
                    len = if extra == 0 { 0 } else { u64::from(last) };
                }
                singleton = u32::try_from(doc).ok().filter(|&doc| doc < u32::MAX)?;
            }
            _ => {
                len = u64::from(short_vint(infos, &mut at)?) + u64::from(short_vint(infos, &mut at)?);
                if options.positions {
                    len += u64::from(short_vint(infos, &mut at)?);
                }
            }
        }
        (self.start, self.last_singleton) = (self.start.checked_add(len)?, singleton);
        Some(at)
    }

    #[inline]
    fn next(&mut self, options: FieldOptions, infos: &mut Reader<'_>) -> Result<TermInfo, DecodeError> {
        let doc_freq = infos.vint()?;
        if doc_freq == 0 {
            return Err(infos.invalid("term without documents"));
        }
        let extra = if options.freqs { infos.vlong()? } else { 0 };
        let total_term_freq =
            u64::from(doc_freq).checked_add(extra).ok_or_else(|| infos.invalid("frequency overflow"))?;
        let mut info = TermInfo { doc_freq, total_term_freq, start: self.start, ..TermInfo::default() };
        if doc_freq == 1 {
            let doc = infos
                .zigzag()?
                .checked_add(i64::from(self.last_singleton))
                .and_then(|doc| u32::try_from(doc).ok())
                .filter(|&doc| doc < u32::MAX)
                .ok_or_else(|| infos.invalid("document out of range"))?;
            self.last_singleton = doc;
            info.singleton = Some(doc);
            if options.positions {
                match total_term_freq {
                    1 => info.inline_position = Some(infos.vint()?),
                    _ => info.positions_len = infos.vlong()?,
                }
            }
        } else {
            info.docs_len = infos.vint()?;
            info.skip_len = infos.vint()?;
            if options.positions {
                info.positions_len = infos.vlong()?;
            }
        }
        let docs = u64::from(info.docs_len) + u64::from(info.skip_len);
        self.start = info
            .positions_len
            .checked_add(docs)
            .and_then(|len| self.start.checked_add(len))
            .ok_or_else(|| infos.invalid("postings pass 2^64 bytes"))?;
        Ok(info)
    }
}

/// Looks `term` up in the block that [`crate::terms::TermIndex::locate`] named.
///
/// # Errors
/// If the block is damaged.
pub fn find(options: FieldOptions, block: &[u8], term: &[u8]) -> Result<Option<TermInfo>, DecodeError> {
    let mut header = Header::parse(&mut Reader::new(block))?;
    // `matched` bytes of the term equal the previous key, which is below the term.
    let mut matched = 0;
    let mut previous_len = 0;
    for ix in 0..header.count {
        let (shared, suffix) = next_key(&mut header.keys)?;
        if shared > previous_len {
            return Err(header.keys.invalid("key shares more than the previous one has"));
        }
        previous_len = shared + suffix.len();
        if shared > matched {
            // Differs from the term where the previous key did, and that was below.
            continue;
        }
        if shared < matched {
            // Differs from the previous key inside what matched, upwards: above the term.
            return Ok(None);
        }
        let rest = &term[matched..];
        let equal = rest.iter().zip(suffix).take_while(|(a, b)| a == b).count();
        if equal == suffix.len() {
            if equal == rest.len() {
                let mut state = InfoState { start: header.start, last_singleton: 0 };
                for _ in 0..ix {
                    state.pass(options, &mut header.infos)?;
                }
                return state.next(options, &mut header.infos).map(Some);
            }
        } else if equal == rest.len() || suffix[equal] > rest[equal] {
            return Ok(None);
        }
        matched += equal;
    }
    Ok(None)
}

/// Walks the terms of one or several whole blocks in order.
#[derive(Debug, Clone)]
pub struct TermCursor<B> {
    options: FieldOptions,
    bytes: B,
    /// Where the next block starts.
    next_block: usize,
    left: u32,
    /// Infos in front of that of the current term, it included, that were not read.
    unread: u32,
    keys: (usize, usize),
    infos: (usize, usize),
    state: InfoState,
    term: Vec<u8>,
    info: TermInfo,
}

impl<B: AsRef<[u8]>> TermCursor<B> {
    /// In front of the first term of `bytes`, which start with a block.
    pub fn new(options: FieldOptions, bytes: B) -> Self {
        Self {
            options,
            bytes,
            next_block: 0,
            left: 0,
            unread: 0,
            keys: (0, 0),
            infos: (0, 0),
            state: InfoState::default(),
            term: Vec::new(),
            info: TermInfo::default(),
        }
    }

    /// Goes to the next term; false behind the last one.
    ///
    /// # Errors
    /// If a block is damaged.
    pub fn advance(&mut self) -> Result<bool, DecodeError> {
        Ok(self.advance_key()? && self.read_info().map(|_| true)?)
    }

    /// Goes to the next term without reading what is known of it; false behind the last one. [`Self::info`] is that of
    /// another term until [`Self::read_info`].
    ///
    /// # Errors
    /// If a block is damaged.
    pub fn advance_key(&mut self) -> Result<bool, DecodeError> {
        let bytes = self.bytes.as_ref();
        while self.left == 0 {
            if self.next_block >= bytes.len() {
                return Ok(false);
            }
            let mut reader = Reader::at(bytes, self.next_block);
            let header = Header::parse(&mut reader)?;
            self.next_block = reader.offset();
            self.infos = (reader.offset() - header.infos.remaining(), reader.offset());
            self.keys = (self.infos.0 - header.keys.remaining(), self.infos.0);
            self.state = InfoState { start: header.start, last_singleton: 0 };
            (self.left, self.unread) = (header.count, 0);
            self.term.clear();
        }
        let mut keys = Reader::at(&bytes[..self.keys.1], self.keys.0);
        let (shared, suffix) = next_key(&mut keys)?;
        if shared > self.term.len() {
            return Err(keys.invalid("key shares more than the previous one has"));
        }
        self.term.truncate(shared);
        self.term.extend_from_slice(suffix);
        self.keys.0 = keys.offset();
        self.left -= 1;
        self.unread += 1;
        Ok(true)
    }

    /// Reads what is known of the current term.
    ///
    /// # Errors
    /// If the block is damaged.
    pub fn read_info(&mut self) -> Result<&TermInfo, DecodeError> {
        let mut infos = Reader::at(&self.bytes.as_ref()[..self.infos.1], self.infos.0);
        while self.unread > 0 {
            self.info = self.state.next(self.options, &mut infos)?;
            self.unread -= 1;
        }
        self.infos.0 = infos.offset();
        Ok(&self.info)
    }

    /// The current term.
    pub fn term(&self) -> &[u8] {
        &self.term
    }

    /// What the dictionary knows of it.
    pub fn info(&self) -> &TermInfo {
        &self.info
    }
}
