//! Writes the postings of one term after another.
//!
//! ```text
//! a term:  positions | skip data | documents          (TermInfo has the lengths; a singleton has positions at most)
//!
//! documents, per block of 128:
//!   codec 1, fast:
//!     u8   0: 128 documents in a row; 1–32: bits of packed gaps minus one; 0x80 | n: bit set of n 64-bit words,
//!          bit 0 being the document after the last one of the block before
//!          the packed gaps or the bit set (chosen where it takes at most 16 bytes more)
//!   codec 2, compact:
//!          gaps minus one, PFOR
//!   both:  [frequencies minus one, PFOR]
//! then the tail of less than 128: gaps as group varint (gap << 1 | frequency is 1), gaps counted from the last document
//!          (-1 at the start), then a vint for each frequency that is not 1; without frequencies the gaps alone
//!
//! positions: gaps inside each document, in blocks of 128 (PFOR) across documents, then the rest as vints
//!
//! skip data, for terms with at least one block:
//!   [vint length, impacts of the whole term]
//!   [vlong where the vints of the positions start]
//!   per group of 32 blocks (the last one may have fewer):
//!     u32 last document, u32 end of its entries below, u32 end of its documents [u64 and u8: end of its positions]
//!   per group: [vint length, impacts], then per block:
//!     vint15 last document - the one before, vint15 bytes of documents, [vlong15 and u8: positions], [vint length, impacts]
//! ```
//! Brackets: only where the field keeps frequencies or positions. The end of positions is a byte of the stream of
//! positions and how many of the block that starts there come before.

use crate::{
    codec::{Write, bitpack::BLOCK_LEN, group_varint, pfor},
    postings::{blocks, impacts::ImpactCollector},
    terms::{FieldOptions, TermInfo},
};

/// Blocks in a group of the upper level of skip data.
pub(super) const GROUP_BLOCKS: usize = 32;
/// Largest document number plus one: a gap and its flag fit 32 bits.
pub const MAX_DOCS: u32 = (1 << 31) - 1;
/// "No document before": gaps wrap around from here.
pub(super) const BEFORE_FIRST: u32 = u32::MAX;

/// Bytes of a group entry.
pub(super) const fn group_len(positions: bool) -> usize {
    if positions { 21 } else { 12 }
}

/// Encodes one term at a time. Holds its documents; positions leave for the output as blocks fill up.
#[derive(Debug)]
pub(crate) struct PostingsWriter {
    options: FieldOptions,
    start: u64,
    doc_freq: u32,
    total_term_freq: u64,
    last_doc: u32,
    /// Last document before the block in `block_docs`.
    base: u32,
    block_docs: [u32; BLOCK_LEN],
    block_freqs: [u32; BLOCK_LEN],
    in_block: usize,
    positions: [u32; BLOCK_LEN],
    in_positions: usize,
    positions_len: u64,
    last_position: u32,
    /// Finished blocks.
    docs: Vec<u8>,
    entries: Vec<u8>,
    groups: Vec<u8>,
    group_entries: Vec<u8>,
    in_group: usize,
    entry_positions: u64,
    entry_positions_ix: u8,
    block_impacts: ImpactCollector,
    group_impacts: ImpactCollector,
    term_impacts: ImpactCollector,
    scratch: Vec<u8>,
}

impl PostingsWriter {
    pub fn new(options: FieldOptions) -> Self {
        Self {
            options,
            start: 0,
            doc_freq: 0,
            total_term_freq: 0,
            last_doc: BEFORE_FIRST,
            base: BEFORE_FIRST,
            block_docs: [0; BLOCK_LEN],
            block_freqs: [0; BLOCK_LEN],
            in_block: 0,
            positions: [0; BLOCK_LEN],
            in_positions: 0,
            positions_len: 0,
            last_position: 0,
            docs: Vec::new(),
            entries: Vec::new(),
            groups: Vec::new(),
            group_entries: Vec::new(),
            in_group: 0,
            entry_positions: 0,
            entry_positions_ix: 0,
            block_impacts: ImpactCollector::default(),
            group_impacts: ImpactCollector::default(),
            term_impacts: ImpactCollector::default(),
            scratch: Vec::new(),
        }
    }

    /// Bytes written so far: the length of the stream.
    pub fn len(&self) -> u64 {
        self.start
    }

    pub fn memory_bytes(&self) -> usize {
        self.docs.capacity() + self.entries.capacity() + self.groups.capacity()
    }

    /// Adds the next document of the term. Its positions follow through [`Self::add_position`].
    #[inline]
    pub fn add_doc(&mut self, doc: u32, freq: u32, norm: u8) {
        debug_assert!(doc < MAX_DOCS && (self.last_doc == BEFORE_FIRST || doc > self.last_doc));
        debug_assert!(freq > 0);
        if self.in_block == BLOCK_LEN {
            self.flush_block();
        }
        self.block_docs[self.in_block] = doc.wrapping_sub(self.last_doc).wrapping_sub(1);
        self.block_freqs[self.in_block] = freq - 1;
        self.in_block += 1;
        if self.options.freqs {
            self.block_impacts.add(freq, norm);
        }
        self.doc_freq += 1;
        self.total_term_freq += u64::from(freq);
        self.last_doc = doc;
        self.last_position = 0;
    }

    /// Adds a position of the last document; they ascend, and there are as many as its frequency.
    #[inline]
    pub fn add_position(&mut self, position: u32, out: &mut Vec<u8>) {
        self.positions[self.in_positions] = position - self.last_position;
        self.last_position = position;
        self.in_positions += 1;
        if self.in_positions == BLOCK_LEN {
            let before = out.len();
            pfor::write(&self.positions, out);
            self.positions_len += (out.len() - before) as u64;
            self.in_positions = 0;
        }
    }

    fn flush_block(&mut self) {
        let before = self.docs.len();
        let span = self.last_doc.wrapping_sub(self.base);
        blocks::write(self.options.codec, &self.block_docs, span, &mut self.docs);
        if self.options.freqs {
            pfor::write(&self.block_freqs, &mut self.docs);
        }
        let docs_len = (self.docs.len() - before) as u64;
        let entry = &mut self.group_entries;
        entry.put_vlong15(u64::from(span));
        entry.put_vlong15(docs_len);
        if self.options.positions {
            entry.put_vlong15(self.positions_len - self.entry_positions);
            entry.put_u8(self.in_positions as u8);
            self.entry_positions = self.positions_len;
            self.entry_positions_ix = self.in_positions as u8;
        }
        if self.options.freqs {
            self.scratch.clear();
            self.block_impacts.write(&mut self.scratch);
            entry.put_prefixed(&self.scratch);
            self.group_impacts.add_all(&self.block_impacts);
            self.block_impacts.clear();
        }
        self.base = self.last_doc;
        self.in_block = 0;
        self.in_group += 1;
        if self.in_group == GROUP_BLOCKS {
            self.flush_group();
        }
    }

    fn flush_group(&mut self) {
        if self.options.freqs {
            self.scratch.clear();
            self.group_impacts.write(&mut self.scratch);
            self.entries.put_prefixed(&self.scratch);
            self.term_impacts.add_all(&self.group_impacts);
            self.group_impacts.clear();
        }
        self.entries.append(&mut self.group_entries);
        self.groups.put_u32(self.base);
        // A term's documents and entries stay below 4 GiB: 2^31 documents take at most 4 bytes, and a bit, each.
        self.groups.put_u32(u32::try_from(self.entries.len()).expect("entries of a term are shorter than 4 GiB"));
        self.groups.put_u32(u32::try_from(self.docs.len()).expect("documents of a term are shorter than 4 GiB"));
        if self.options.positions {
            // Where the last block ended: positions of the tail may have followed since.
            self.groups.put_u64(self.entry_positions);
            self.groups.put_u8(self.entry_positions_ix);
        }
        self.in_group = 0;
    }

    /// Ends the term: appends what is not yet in `out` and says what the dictionary has to know. `None` if it had no
    /// document.
    pub fn finish_term(&mut self, out: &mut Vec<u8>) -> Option<TermInfo> {
        if self.doc_freq == 0 {
            return None;
        }
        let mut info = TermInfo {
            doc_freq: self.doc_freq,
            total_term_freq: self.total_term_freq,
            start: self.start,
            ..TermInfo::default()
        };
        if self.doc_freq == 1 {
            info.singleton = Some(self.last_doc);
        }
        if self.options.positions && self.total_term_freq == 1 {
            info.inline_position = Some(self.positions[0]);
        } else if self.options.positions {
            let before = out.len();
            self.positions[..self.in_positions].iter().for_each(|&gap| out.put_vint(gap));
            info.positions_len = self.positions_len + (out.len() - before) as u64;
        }
        if self.doc_freq > 1 {
            if self.in_block == BLOCK_LEN {
                self.flush_block();
            }
            if self.in_group > 0 {
                self.flush_group();
            }
            info.skip_len = self.write_skip(out);
            self.write_tail();
            info.docs_len = u32::try_from(self.docs.len()).expect("documents of a term are shorter than 4 GiB");
            out.extend_from_slice(&self.docs);
        }
        self.start += info.len_bytes();
        self.reset();
        Some(info)
    }

    fn write_skip(&mut self, out: &mut Vec<u8>) -> u32 {
        if self.groups.is_empty() {
            return 0;
        }
        let before = out.len();
        if self.options.freqs {
            self.term_impacts.add_all(&self.block_impacts);
            self.scratch.clear();
            self.term_impacts.write(&mut self.scratch);
            out.put_prefixed(&self.scratch);
        }
        if self.options.positions {
            out.put_vlong(self.positions_len);
        }
        out.extend_from_slice(&self.groups);
        out.extend_from_slice(&self.entries);
        u32::try_from(out.len() - before).expect("skip data of a term is shorter than 4 GiB")
    }

    fn write_tail(&mut self) {
        let tail = self.in_block;
        if tail == 0 {
            return;
        }
        let gaps = &mut self.block_docs[..tail];
        gaps.iter_mut().for_each(|gap| *gap += 1);
        if self.options.freqs {
            for (gap, &freq) in gaps.iter_mut().zip(&self.block_freqs) {
                *gap = *gap << 1 | u32::from(freq == 0);
            }
        }
        group_varint::write(&mut self.docs, gaps);
        if self.options.freqs {
            for &freq in self.block_freqs[..tail].iter().filter(|&&freq| freq > 0) {
                self.docs.put_vint(freq + 1);
            }
        }
    }

    fn reset(&mut self) {
        self.doc_freq = 0;
        self.total_term_freq = 0;
        self.last_doc = BEFORE_FIRST;
        self.base = BEFORE_FIRST;
        self.in_block = 0;
        self.in_positions = 0;
        self.positions_len = 0;
        self.last_position = 0;
        self.docs.clear();
        self.entries.clear();
        self.groups.clear();
        self.group_entries.clear();
        self.in_group = 0;
        self.entry_positions = 0;
        self.entry_positions_ix = 0;
        self.block_impacts.clear();
        self.group_impacts.clear();
        self.term_impacts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(options: FieldOptions, docs: &[(u32, u32)]) -> (TermInfo, Vec<u8>) {
        let mut writer = PostingsWriter::new(options);
        let mut out = Vec::new();
        for &(doc, freq) in docs {
            writer.add_doc(doc, freq, 1);
        }
        let info = writer.finish_term(&mut out).unwrap();
        (info, out)
    }

    #[test]
    fn tail_matches_golden_bytes() {
        let (info, out) = write(FieldOptions::FREQS, &[(7, 1), (11, 3)]);
        assert_eq!(out, [0x11, 0x08, 0x03]);
        assert_eq!((info.skip_len, info.docs_len), (0, 3));
    }

    #[test]
    fn documents_in_a_row_take_one_byte() {
        let docs: Vec<_> = (0..256).map(|doc| (doc, 1)).collect();
        let (info, out) = write(FieldOptions::KEYWORD, &docs);
        assert_eq!(info.docs_len, 2);
        assert_eq!(out[out.len() - 2..], [0, 0]);
    }

    #[test]
    fn singletons_live_in_the_dictionary() {
        let (info, out) = write(FieldOptions::FREQS, &[(7, 5)]);
        assert_eq!((info.singleton, info.total_term_freq, out.len()), (Some(7), 5, 0));
    }
}
