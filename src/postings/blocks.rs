//! Blocks of 128 documents, as each codec writes and reads them.
//! The bytes are in [`super::writer`]: `fast` has packed gaps, a bit set or nothing for documents in a row, `compact` has
//! patched gaps. Frequencies follow in both. A bit set or a row need not be decoded to be searched: see [`InPlace`].

use crate::codec::{
    DecodeError, PostingsCodec, Reader, Unpacker, Write,
    bitpack::{self, BLOCK_LEN},
    pfor,
};

/// First byte of a block with a bit set: this and the number of words.
pub(super) const BIT_SET: u8 = 0x80;

/// Appends the documents of a full block: `gaps` are the differences minus one, `span` that of the last document and
/// the one before the block.
pub(super) fn write(codec: PostingsCodec, gaps: &[u32; BLOCK_LEN], span: u32, out: &mut Vec<u8>) {
    if codec == PostingsCodec::Compact {
        pfor::write(gaps, out);
        return;
    }
    let bits = bitpack::width(gaps);
    let words = (span as usize).div_ceil(64);
    if bits == 0 {
        out.push(0);
    } else if words * 8 <= bitpack::packed_len(bits + 1) && words < usize::from(BIT_SET) {
        out.push(BIT_SET | words as u8);
        let mut set = [0u64; BIT_SET as usize];
        let mut at = 0;
        for (ix, gap) in gaps.iter().enumerate() {
            at += *gap as usize + usize::from(ix > 0);
            set[at / 64] |= 1 << (at % 64);
        }
        set[..words].iter().for_each(|word| out.put_u64(*word));
    } else {
        out.push(bits);
        bitpack::pack(gaps, bits, out);
    }
}

/// Decodes the blocks of one segment: chosen when its reader is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockDecoder {
    codec: PostingsCodec,
    pub unpacker: Unpacker,
}

impl BlockDecoder {
    pub fn new(codec: PostingsCodec) -> Self {
        Self { codec, unpacker: Unpacker::detect() }
    }

    /// Reads the documents of a full block that ends with `last` and follows `base`, the last document before it. The
    /// reader stands behind them then.
    ///
    /// # Errors
    /// If the bytes end, are no such block, or do not lead to `last`.
    #[inline]
    pub fn read(
        self,
        reader: &mut Reader<'_>,
        base: u32,
        last: u32,
        docs: &mut [u32; BLOCK_LEN],
    ) -> Result<(), DecodeError> {
        if self.codec == PostingsCodec::Compact {
            pfor::read(self.unpacker, reader, docs)?;
            self.unpacker.prefix_sum(base, docs);
        } else {
            let token = reader.u8()?;
            if token < BIT_SET {
                self.unpacker.unpack_sums(reader.rest(), token, base, docs)?;
                reader.skip(bitpack::packed_len(token))?;
            } else {
                let words = reader.bytes(usize::from(token - BIT_SET) * 8)?.as_chunks().0;
                let words = words.iter().map(|&word| u64::from_le_bytes(word));
                expand(base.wrapping_add(1), words, docs).ok_or_else(|| reader.invalid("bit set of another count"))?;
            }
        }
        // A wrapped sum may come out above: the highest is what counts.
        let highest = docs.iter().fold(0, |highest, &doc| highest.max(doc));
        if highest == last { Ok(()) } else { Err(ends_elsewhere(reader)) }
    }

    /// Makes `block` the one at the reader, if that can be searched without being decoded: the reader stands behind its
    /// documents then. Else, false, and the reader has not moved.
    ///
    /// # Errors
    /// As [`Self::read`].
    #[inline]
    pub fn read_in_place(
        self,
        reader: &mut Reader<'_>,
        base: u32,
        last: u32,
        block: &mut InPlace,
    ) -> Result<bool, DecodeError> {
        let token = reader.rest().first().copied().unwrap_or(1);
        let is_row = token == 0;
        let num_words = usize::from(token & !BIT_SET);
        if self.codec == PostingsCodec::Compact || !(is_row || token > BIT_SET) || num_words > MAX_WORDS {
            return Ok(false);
        }
        reader.skip(1)?;
        (block.first, block.last, block.num_words) = (base.wrapping_add(1), last, num_words);
        (block.counted_words, block.counted) = (0, 0);
        for (word, &bytes) in block.words.iter_mut().zip(reader.bytes(8 * num_words)?.as_chunks().0) {
            *word = u64::from_le_bytes(bytes);
        }
        // The last bit is that of the last document: a search for one below always finds one.
        let len = match block.words[..num_words].last() {
            None => BLOCK_LEN,
            Some(word) => 64 * num_words - word.leading_zeros() as usize,
        };
        let is_empty = num_words > 0 && block.words[num_words - 1] == 0;
        if is_empty || len != last.wrapping_sub(base) as usize { Err(ends_elsewhere(reader)) } else { Ok(true) }
    }
}

#[cold]
fn ends_elsewhere(reader: &Reader<'_>) -> DecodeError {
    reader.invalid("documents of a block do not end where its entry says")
}

/// Documents of a bit set whose bit 0 is `first`; `None` if there are not exactly 128.
fn expand(mut first: u32, words: impl Iterator<Item = u64>, docs: &mut [u32; BLOCK_LEN]) -> Option<()> {
    let mut filled = 0;
    for mut word in words {
        while word != 0 {
            *docs.get_mut(filled)? = first.wrapping_add(word.trailing_zeros());
            filled += 1;
            word &= word - 1;
        }
        first = first.wrapping_add(64);
    }
    (filled == BLOCK_LEN).then_some(())
}

/// Words of a block that is searched in place. The writer's bit sets have at most 24: a gap that needs `bits` bits spans
/// `2^bits / 128` words or more, and no set takes more than `2 * bits + 2`.
const MAX_WORDS: usize = 24;

/// A block that is searched without being decoded: a bit set, or documents in a row.
#[derive(Debug)]
pub(super) struct InPlace {
    /// Document of bit 0.
    first: u32,
    last: u32,
    /// Words of the set; none for documents in a row.
    num_words: usize,
    words: [u64; MAX_WORDS],
    /// Documents in the words that were counted.
    counted_words: usize,
    counted: usize,
}

impl Default for InPlace {
    fn default() -> Self {
        Self { first: 0, last: 0, num_words: 0, words: [0; MAX_WORDS], counted_words: 0, counted: 0 }
    }
}

impl InPlace {
    /// The last document.
    #[inline]
    pub fn last(&self) -> u32 {
        self.last
    }

    #[inline]
    fn words(&self) -> &[u64] {
        &self.words[..self.num_words]
    }

    /// The first document at or above `target`, which is at most the last one.
    #[inline]
    pub fn find(&self, target: u32) -> u32 {
        let bit = target.saturating_sub(self.first);
        let words = self.words();
        let mut at = bit as usize / 64;
        let Some(&word) = words.get(at) else { return (self.first + bit).min(self.last) };
        let mut word = word & (u64::MAX << (bit % 64));
        while word == 0 {
            at += 1;
            let Some(&next) = words.get(at) else { return self.last };
            word = next;
        }
        self.first + 64 * at as u32 + word.trailing_zeros()
    }

    /// Whether `doc`, which is at most the last one, is one of them.
    #[inline]
    pub fn has(&self, doc: u32) -> bool {
        let bit = doc.wrapping_sub(self.first);
        match self.words().get(bit as usize / 64) {
            Some(word) => word >> (bit % 64) & 1 == 1,
            None => self.num_words == 0 && doc >= self.first,
        }
    }

    /// How many documents of the block come before `doc`, which is one of them; below 128 whatever the bytes were.
    /// Documents are asked for in ascending order.
    #[inline]
    pub fn rank(&mut self, doc: u32) -> usize {
        let bit = doc.wrapping_sub(self.first) as usize;
        let Some(&word) = self.words().get(bit / 64) else { return bit.min(BLOCK_LEN - 1) };
        while self.counted_words < bit / 64 {
            self.counted += self.words[self.counted_words].count_ones() as usize;
            self.counted_words += 1;
        }
        let before = (word & !(u64::MAX << (bit % 64))).count_ones() as usize;
        (self.counted + before).min(BLOCK_LEN - 1)
    }

    /// All documents; `None` if there are not exactly 128.
    pub fn expand(&self, docs: &mut [u32; BLOCK_LEN]) -> Option<()> {
        if self.num_words == 0 {
            docs.iter_mut().zip(self.first..).for_each(|(doc, next)| *doc = next);
            return Some(());
        }
        expand(self.first, self.words().iter().copied(), docs)
    }

    /// Sets the bits of all documents in `set`, whose bit 0 is document 0; those beyond it are left out.
    pub fn insert_into(&self, set: &mut [u64]) {
        let (at, shift) = (self.first as usize / 64, self.first % 64);
        let row = [u64::MAX; BLOCK_LEN / 64];
        let words = if self.num_words == 0 { &row } else { self.words() };
        for (ix, &word) in words.iter().enumerate() {
            if let Some(low) = set.get_mut(at + ix) {
                *low |= word << shift;
            }
            if shift > 0
                && let Some(high) = set.get_mut(at + ix + 1)
            {
                *high |= word >> (64 - shift);
            }
        }
    }
}
