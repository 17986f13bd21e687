//! Writes a dictionary, term by term in order.

use crate::{
    codec::{Write, checksum},
    error::{Error, Result},
    terms::{
        FieldOptions, FieldTotals, TermInfo,
        index::{TERM_INDEX_VERSION, shared_prefix},
    },
};

/// Longest term in bytes. Longer ones are refused.
pub const MAX_TERM_BYTES: usize = 32_766;
/// Terms in a block: a lookup scans half of it on average; a range of some hundred bytes.
pub(super) const BLOCK_TERMS: usize = 32;
/// A block also ends when its keys pass this, so that long terms do not make long ranges.
const BLOCK_KEY_BYTES: usize = 2048;

/// Builds the two streams of a dictionary. Holds one block and the keys of all blocks.
#[derive(Debug)]
pub struct TermsWriter {
    options: FieldOptions,
    keys: Vec<u8>,
    metas: Vec<u8>,
    in_block: usize,
    block_start: u64,
    last_singleton: u32,
    last: Vec<u8>,
    /// Encoded entries of finished blocks: shared prefix, suffix, length.
    blocks: Vec<u8>,
    num_blocks: u32,
    separator: Vec<u8>,
    previous_separator: Vec<u8>,
    terms_len: u64,
    num_terms: u64,
    sum_doc_freq: u64,
    sum_total_term_freq: u64,
}

impl TermsWriter {
    /// An empty dictionary of a field.
    pub fn new(options: FieldOptions) -> Self {
        Self {
            options,
            keys: Vec::new(),
            metas: Vec::new(),
            in_block: 0,
            block_start: 0,
            last_singleton: 0,
            last: Vec::new(),
            blocks: Vec::new(),
            num_blocks: 0,
            separator: Vec::new(),
            previous_separator: Vec::new(),
            terms_len: 0,
            num_terms: 0,
            sum_doc_freq: 0,
            sum_total_term_freq: 0,
        }
    }

    /// Adds the next term; appends to `terms` whenever a block is full.
    ///
    /// `info.start` of each term is where the previous one's postings ended.
    ///
    /// # Errors
    /// If the term is longer than [`MAX_TERM_BYTES`] or not above the previous one.
    pub fn push(&mut self, term: &[u8], info: &TermInfo, terms: &mut Vec<u8>) -> Result<()> {
        if term.len() > MAX_TERM_BYTES {
            return Err(Error::invalid(format!("term of {} bytes, at most {MAX_TERM_BYTES}", term.len())));
        }
        if self.num_terms > 0 && term <= self.last.as_slice() {
            return Err(Error::invalid(format!("terms out of order: {term:?} after {:?}", self.last)));
        }
        if self.in_block == 0 {
            self.block_start = info.start;
            self.last_singleton = 0;
            // The shortest key that parts this block from the one before; the first block keeps its whole first term.
            let keep = if self.num_terms == 0 { term.len() } else { shared_prefix(&self.last, term) + 1 };
            self.separator.clear();
            self.separator.extend_from_slice(&term[..keep]);
            self.put_key(0, term);
        } else {
            self.put_key(shared_prefix(&self.last, term), term);
        }
        self.put_info(info);
        self.last.clear();
        self.last.extend_from_slice(term);
        self.in_block += 1;
        self.num_terms += 1;
        self.sum_doc_freq += u64::from(info.doc_freq);
        self.sum_total_term_freq += info.total_term_freq;
        if self.in_block == BLOCK_TERMS || self.keys.len() >= BLOCK_KEY_BYTES {
            self.flush(terms);
        }
        Ok(())
    }

    /// One byte holds both lengths where both are below 15.
    fn put_key(&mut self, shared: usize, term: &[u8]) {
        let suffix = &term[shared..];
        self.keys.push((shared.min(15) as u8) << 4 | suffix.len().min(15) as u8);
        if shared >= 15 {
            self.keys.put_vint((shared - 15) as u32);
        }
        if suffix.len() >= 15 {
            self.keys.put_vint((suffix.len() - 15) as u32);
        }
        self.keys.put(suffix);
    }

    fn put_info(&mut self, info: &TermInfo) {
        let metas = &mut self.metas;
        metas.put_vint(info.doc_freq);
        if self.options.freqs {
            metas.put_vlong(info.total_term_freq - u64::from(info.doc_freq));
        }
        if let Some(doc) = info.singleton {
            metas.put_zigzag(i64::from(doc) - i64::from(self.last_singleton));
            self.last_singleton = doc;
            if self.options.positions {
                match info.inline_position {
                    Some(position) => metas.put_vint(position),
                    None => metas.put_vlong(info.positions_len),
                }
            }
        } else {
            metas.put_vint(info.docs_len);
            metas.put_vint(info.skip_len);
            if self.options.positions {
                metas.put_vlong(info.positions_len);
            }
        }
    }

    fn flush(&mut self, terms: &mut Vec<u8>) {
        let before = terms.len();
        terms.put_vint(self.in_block as u32);
        terms.put_vlong(self.block_start);
        terms.put_vint(self.keys.len() as u32);
        terms.put_vint(self.metas.len() as u32);
        terms.append(&mut self.keys);
        terms.append(&mut self.metas);
        let len = (terms.len() - before) as u64;
        let shared = shared_prefix(&self.previous_separator, &self.separator);
        self.blocks.put_vint(shared as u32);
        self.blocks.put_prefixed(&self.separator[shared..]);
        self.blocks.put_vlong(len);
        std::mem::swap(&mut self.separator, &mut self.previous_separator);
        self.num_blocks += 1;
        self.terms_len += len;
        self.in_block = 0;
    }

    /// Appends the last block and returns the `term_index` stream. Of `totals` only `doc_count` is taken; the rest
    /// was counted here. `postings_len` is the length of the postings stream.
    pub fn finish(mut self, totals: FieldTotals, postings_len: u64, terms: &mut Vec<u8>) -> Vec<u8> {
        if self.in_block > 0 {
            self.flush(terms);
        }
        let mut out = Vec::with_capacity(self.blocks.len() + 64);
        out.put_u16(TERM_INDEX_VERSION);
        out.put_u8(self.options.to_byte());
        out.put_vlong(totals.doc_count);
        out.put_vlong(self.sum_total_term_freq);
        out.put_vlong(self.sum_doc_freq);
        out.put_vlong(self.num_terms);
        out.put_vlong(self.terms_len);
        out.put_vlong(postings_len);
        out.put_prefixed(&self.last);
        out.put_vint(self.num_blocks);
        out.append(&mut self.blocks);
        checksum::seal(&mut out, 0);
        out
    }

    /// Bytes of the `terms` stream so far, without the block that is still open.
    pub fn terms_len(&self) -> u64 {
        self.terms_len
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.keys.capacity() + self.metas.capacity() + self.blocks.capacity() + self.last.capacity()
    }
}
