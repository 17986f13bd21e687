//! Reads the postings of one term: document after document, or straight to a target.
//!
//! Damaged bytes end the iteration and leave a [`DecodeError`] in the shared [`Damage`], so that hot loops carry no
//! `Result`; whoever runs a scorer looks there at the end. No document at or above `max_doc` is ever given.

use std::{cell::Cell, ops::Range, rc::Rc};

use bytes::Bytes;

use crate::{
    codec::{DecodeError, Reader, bitpack::BLOCK_LEN, group_varint, pfor},
    postings::{
        blocks::{BlockDecoder, InPlace},
        impacts::{self, Impact},
        positions::Positions,
        skip::Skips,
        term_bytes::{Runs, TermBytes},
        writer::BEFORE_FIRST,
    },
    terms::{FieldOptions, TermInfo},
};

/// "No more documents": above every document.
pub const END: u32 = u32::MAX;

/// Where readers of one query leave the first damage they meet.
#[derive(Debug, Clone, Default)]
pub struct Damage(Rc<Cell<Option<DecodeError>>>);

impl Damage {
    /// Notes an error unless there is one already.
    #[cold]
    pub fn note(&self, error: DecodeError) {
        if self.0.get().is_none() {
            self.0.set(Some(error));
        }
    }

    /// # Errors
    /// The first damage noted.
    pub fn check(&self) -> Result<(), DecodeError> {
        self.0.get().map_or(Ok(()), Err)
    }
}

/// An iterator over the documents of a term. Starts in front of the first one.
#[derive(Debug)]
pub struct Postings {
    options: FieldOptions,
    decoder: BlockDecoder,
    max_doc: u32,
    doc_freq: u32,
    /// Skip data.
    skip_bytes: Bytes,
    /// Documents and frequencies, as far as they were read.
    bytes: Runs,
    skips: Skips,
    /// Documents from here on are not given, and their blocks not entered.
    end: u32,
    /// The block that is entered, if any.
    loaded: Option<u32>,
    /// Whether that is one in place: `doc` is in it, and `docs` has none (`len` is 0).
    is_in_place: bool,
    in_place: InPlace,
    /// Documents of that block; [`END`] behind the last one of a tail.
    docs: [u32; BLOCK_LEN],
    freqs: [u32; BLOCK_LEN],
    /// Where the frequencies of the block start and where the block ends, until they are decoded.
    pending_freqs: Option<(usize, usize)>,
    at: usize,
    len: usize,
    doc: u32,
    positions: Option<Positions>,
    damage: Damage,
}

impl Postings {
    /// Opens a term of a segment of `max_doc` documents.
    pub fn open(options: FieldOptions, max_doc: u32, info: &TermInfo, bytes: TermBytes, damage: &Damage) -> Self {
        let mut postings = Self {
            options,
            decoder: BlockDecoder::new(options.codec),
            max_doc,
            doc_freq: info.doc_freq,
            skips: Skips::default(),
            end: END,
            loaded: None,
            is_in_place: false,
            in_place: InPlace::default(),
            docs: [END; BLOCK_LEN],
            freqs: [1; BLOCK_LEN],
            pending_freqs: None,
            at: 0,
            len: 0,
            doc: BEFORE_FIRST,
            positions: bytes.positions.map(|bytes| Positions::new(bytes, info)),
            damage: damage.clone(),
            skip_bytes: bytes.skips,
            bytes: bytes.docs,
        };
        if let Some(doc) = info.singleton {
            // A block of one, loaded already; `next` enters it.
            postings.docs[0] = doc;
            postings.freqs[0] = u32::try_from(info.total_term_freq).unwrap_or(u32::MAX);
            postings.loaded = Some(0);
            postings.len = 1;
            postings.at = usize::MAX;
            postings.skips = Skips::singleton(doc);
            if doc >= max_doc {
                postings.fail(DecodeError::Invalid { offset: 0, what: "document beyond the segment" });
            }
        } else {
            match Skips::open(options, info, &postings.skip_bytes) {
                Ok(skips) => {
                    if let Some(positions) = &mut postings.positions {
                        positions.set_tail(skips.positions_tail());
                    }
                    postings.skips = skips;
                }
                Err(error) => postings.fail(error),
            }
        }
        postings
    }

    /// Gives no document at or above `end`: blocks behind it need not be there. Comes before the first move.
    pub fn set_end(&mut self, end: u32) {
        self.end = end;
        if self.loaded.is_some() && self.docs[0] >= end {
            // The block of a singleton.
            (self.at, self.len) = (0, 0);
        }
    }

    #[cold]
    fn fail(&mut self, error: DecodeError) {
        self.damage.note(error);
        self.skips = Skips::ended();
        self.loaded = Some(0);
        self.is_in_place = false;
        (self.at, self.len) = (0, 0);
        self.doc = END;
    }

    /// Documents of the term.
    pub fn doc_freq(&self) -> u32 {
        self.doc_freq
    }

    /// The current document: [`END`] behind the last one, and also before the first call of [`Self::next`].
    #[inline]
    pub fn doc(&self) -> u32 {
        self.doc
    }

    /// Goes to the next document.
    #[allow(clippy::should_implement_trait, reason = "an iterator would have to be an Option of a struct")]
    #[inline]
    pub fn next(&mut self) -> u32 {
        let next = self.at.wrapping_add(1);
        if next < self.len {
            self.at = next;
            self.doc = self.docs[next];
            return self.doc;
        }
        self.next_in_new_block()
    }

    fn next_in_new_block(&mut self) -> u32 {
        if self.is_in_place {
            self.decode();
            return self.next();
        }
        match self.loaded {
            Some(block) if block >= self.skips.last_block() => return self.end(),
            Some(_) => {
                if let Err(error) = self.skips.next(&self.skip_bytes) {
                    self.fail(error);
                    return END;
                }
            }
            None => {}
        }
        self.load();
        self.doc
    }

    fn end(&mut self) -> u32 {
        self.is_in_place = false;
        (self.at, self.len) = (0, 0);
        self.doc = END;
        END
    }

    /// Decodes the block that skips stand on and enters its first document.
    fn load(&mut self) {
        match self.try_load(None) {
            Ok(()) if self.len == 0 => {
                self.end();
            }
            Ok(()) => self.doc = self.docs[0],
            Err(error) => self.fail(error),
        }
    }

    /// Enters the block that skips stand on. With a target, one that can be searched in place is, and `doc` is the first
    /// document at or above the target; else its documents are decoded.
    fn try_load(&mut self, target: Option<u32>) -> Result<(), DecodeError> {
        let block = self.skips.block();
        let entry = self.skips.entry();
        let base = entry.base;
        self.loaded = Some(block);
        (self.at, self.len) = (0, 0);
        (self.is_in_place, self.pending_freqs) = (false, None);
        if base.wrapping_add(1) >= self.end {
            return Ok(());
        }
        let mut reader = Reader::new(self.bytes.get(entry.docs.clone())?);
        if block < self.skips.num_full() {
            let last = entry.last_doc;
            if last >= self.max_doc {
                return Err(reader.invalid("document beyond the segment"));
            }
            let target = target.filter(|_| last < self.end);
            if let Some(target) = target
                && self.decoder.read_in_place(&mut reader, base, last, &mut self.in_place)?
            {
                self.is_in_place = true;
                self.doc = self.in_place.find(target);
            } else {
                self.decoder.read(&mut reader, base, last, &mut self.docs)?;
                self.len = BLOCK_LEN;
            }
            if self.options.freqs {
                self.pending_freqs = Some((entry.docs.start + reader.offset(), entry.docs.end));
            }
        } else {
            self.len = self.doc_freq as usize % BLOCK_LEN;
            let docs = &mut self.docs[..self.len];
            group_varint::read(&mut reader, docs)?;
            let mut last = base;
            for (doc, freq) in docs.iter_mut().zip(&mut self.freqs) {
                let mut gap = *doc;
                if self.options.freqs {
                    *freq = gap & 1;
                    gap >>= 1;
                }
                last = last.wrapping_add(gap);
                if last >= self.max_doc || gap == 0 {
                    return Err(reader.invalid("document beyond the segment"));
                }
                *doc = last;
            }
            if self.options.freqs {
                for freq in self.freqs[..self.len].iter_mut().filter(|freq| **freq == 0) {
                    *freq = reader.vint()?.max(1);
                }
            }
            self.docs[self.len..].fill(END);
        }
        if self.end != END && self.len > 0 && self.docs[self.len - 1] >= self.end {
            self.len = find_at_least(&self.docs, self.end);
            self.docs[self.len..].fill(END);
        }
        if let Some(positions) = &mut self.positions {
            positions.enter_block(block, entry.positions_at, entry.positions_ix);
        }
        Ok(())
    }

    /// Decodes the block that is in place and goes to the same document in it.
    fn decode(&mut self) {
        self.is_in_place = false;
        match self.in_place.expand(&mut self.docs) {
            Some(()) => (self.at, self.len) = (self.in_place.rank(self.doc), BLOCK_LEN),
            None => self.fail(DecodeError::Invalid { offset: 0, what: "bit set of another count" }),
        }
    }

    /// Goes to the first document at or above `target`; stays where it is if it is there already.
    #[inline]
    pub fn advance(&mut self, target: u32) -> u32 {
        // Before the first document `doc` is END as well, but nothing is loaded or `at` is in front.
        if self.at < self.len {
            if self.doc >= target {
                return self.doc;
            }
            if self.docs[self.len - 1] >= target {
                self.at = find_behind(&self.docs, self.at, target);
                self.doc = self.docs[self.at];
                return self.doc;
            }
        }
        self.advance_far(target)
    }

    /// Takes the place of a view that ran ahead over skip data, so that it need not be read again. Only
    /// [`Self::advance`] to a document at or above the first one there may come next.
    pub fn follow(&mut self, ahead: &Lookahead) {
        if ahead.skips.block() > self.skips.block() + 1 && !self.is_at_end() {
            self.skips = ahead.skips.clone();
        }
    }

    /// Whether the term has `target`; targets ascend. The current document is the target then; else it is any one that
    /// [`Self::advance`] can go on from.
    #[inline]
    pub fn has(&mut self, target: u32) -> bool {
        if self.is_in_place && target <= self.in_place.last() {
            let has = self.in_place.has(target);
            if has {
                self.doc = target;
            }
            return has;
        }
        self.advance(target) == target
    }

    fn advance_far(&mut self, target: u32) -> u32 {
        if self.is_in_place && target <= self.in_place.last() {
            if self.doc < target {
                self.doc = self.in_place.find(target);
            }
            return self.doc;
        }
        if self.doc == END && self.loaded.is_some() && self.at != usize::MAX {
            return END;
        }
        if let Err(error) = self.skips.seek(target, &self.skip_bytes) {
            self.fail(error);
            return END;
        }
        if self.skips.entry().last_doc < target {
            // The last block is a full one, and ends before: it need not be there.
            self.loaded = Some(self.skips.block());
            return self.end();
        }
        if self.loaded != Some(self.skips.block()) {
            if let Err(error) = self.try_load(Some(target)) {
                self.fail(error);
                return END;
            }
            if self.is_in_place {
                return self.doc;
            }
        }
        if self.len == 0 || self.docs[self.len - 1] < target {
            // Only the tail can end below a target that skips let through.
            return self.end();
        }
        self.at = find_at_least(&self.docs, target);
        self.doc = self.docs[self.at];
        self.doc
    }

    /// Whether it was moved behind the last document.
    pub fn is_at_end(&self) -> bool {
        self.doc == END && self.loaded.is_some() && self.at != usize::MAX
    }

    /// Occurrences in the current document; 1 where frequencies are not kept.
    #[inline]
    pub fn freq(&mut self) -> u32 {
        let at = self.place();
        self.freqs[at & (BLOCK_LEN - 1)]
    }

    /// Where the current document is in its block, whose frequencies are decoded then.
    #[inline]
    fn place(&mut self) -> usize {
        if self.pending_freqs.is_some() {
            self.load_freqs();
        }
        if self.is_in_place { self.in_place.rank(self.doc) } else { self.at }
    }

    #[cold]
    fn load_freqs(&mut self) {
        let Some((start, end)) = self.pending_freqs.take() else { return };
        let bytes = self.bytes.get(start..end);
        match bytes.and_then(|bytes| pfor::read(self.decoder.unpacker, &mut Reader::new(bytes), &mut self.freqs)) {
            Ok(()) => self.freqs.iter_mut().for_each(|freq| *freq = freq.saturating_add(1)),
            Err(error) => {
                self.freqs.fill(1);
                self.damage.note(error);
            }
        }
    }

    /// Positions in the current document, ascending, into `out`, which is cleared first. Without positions it stays
    /// empty. Asked for once per document.
    pub fn positions(&mut self, out: &mut Vec<u32>) {
        out.clear();
        let place = self.place();
        let Some(positions) = &mut self.positions else { return };
        if let Err(error) = positions.read(&self.freqs, place, out) {
            self.damage.note(error);
        }
    }

    /// Sets the bits of all documents in `set`, whose bit 0 is document 0: bit sets are not decoded for it. Comes before
    /// the first move.
    pub fn collect_into(mut self, set: &mut [u64]) {
        let mut insert = |doc: u32| set[doc as usize / 64] |= 1 << (doc % 64);
        if self.loaded.is_some() {
            // A singleton, or nothing.
            let doc = self.next();
            return if doc != END {
                insert(doc)
            };
        }
        loop {
            if let Err(error) = self.try_load(Some(0)) {
                return self.fail(error);
            }
            if self.is_in_place {
                self.in_place.insert_into(set);
            } else {
                self.docs[..self.len].iter().for_each(|&doc| set[doc as usize / 64] |= 1 << (doc % 64));
            }
            if self.skips.block() >= self.skips.last_block() {
                return;
            }
            if let Err(error) = self.skips.next(&self.skip_bytes) {
                return self.fail(error);
            }
        }
    }

    /// Whether all documents are in one block, decoded at the first step.
    pub fn is_short(&self) -> bool {
        (self.doc_freq as usize) < BLOCK_LEN
    }

    /// The decoded block from the current document up to and without `end`: documents and frequencies. Then
    /// [`Self::consume`] goes behind them. Empty at the end.
    #[inline]
    pub fn block_until(&mut self, end: u32) -> (&[u32], &[u32]) {
        if self.is_in_place {
            self.decode();
        }
        if self.doc >= end {
            return (&[], &[]);
        }
        if self.pending_freqs.is_some() {
            self.load_freqs();
        }
        let to = if self.docs[self.len - 1] < end { self.len } else { find_at_least(&self.docs, end) };
        (&self.docs[self.at..to], &self.freqs[self.at..to])
    }

    /// The documents of [`Self::block_until`] alone: frequencies stay undecoded.
    #[inline]
    pub fn docs_until(&mut self, end: u32) -> &[u32] {
        if self.is_in_place {
            self.decode();
        }
        if self.doc >= end {
            return &[];
        }
        let to = if self.docs[self.len - 1] < end { self.len } else { find_at_least(&self.docs, end) };
        &self.docs[self.at..to]
    }

    /// Goes `count` documents on inside the decoded block, or to the first one of the next block.
    #[inline]
    pub fn consume(&mut self, count: usize) -> u32 {
        if count == 0 {
            return self.doc;
        }
        self.at += count - 1;
        self.next()
    }

    /// A view on the blocks that runs ahead of the iterator; `None` for a term without full blocks.
    pub fn lookahead(&self) -> Option<Lookahead> {
        if self.skips.num_full() == 0 {
            return None;
        }
        Some(Lookahead { skips: self.skips.clone(), bytes: self.skip_bytes.clone(), damage: self.damage.clone() })
    }

    /// Impacts of the whole term; none for one of less than 128 documents.
    pub fn term_impacts(&self, each: impl FnMut(Impact)) {
        let mut reader = Reader::new(self.skip_bytes.get(self.skips.term_impacts()).unwrap_or_default());
        if let Err(error) = impacts::for_each(&mut reader, each) {
            self.damage.note(error);
        }
    }

    /// The highest product of a frequency and the factor of its norm, of those.
    pub fn best_term_factor(&self, factors: &[f32; 256]) -> Option<f32> {
        best_factor_in(&self.skip_bytes, self.skips.term_impacts(), factors, &self.damage)
    }
}

/// A view that moves forward over the blocks of a term and decodes none of them.
#[derive(Debug)]
pub struct Lookahead {
    skips: Skips,
    bytes: Bytes,
    damage: Damage,
}

impl Lookahead {
    /// Goes to the block that could hold `target` and gives its last document; `END - 1` for a tail, whose end is not
    /// known, and where there is none.
    #[inline]
    pub fn seek(&mut self, target: u32) -> u32 {
        if target > self.skips.entry().last_doc
            && let Err(error) = self.skips.seek(target, &self.bytes)
        {
            self.fail(error);
        }
        self.last_doc()
    }

    #[cold]
    fn fail(&mut self, error: DecodeError) {
        self.damage.note(error);
        self.skips = Skips::ended();
    }

    /// Goes to the next block and gives its last document; stays on the last one.
    pub fn next_block(&mut self) -> u32 {
        if let Err(error) = self.skips.next(&self.bytes) {
            self.fail(error);
        }
        self.last_doc()
    }

    fn last_doc(&self) -> u32 {
        self.skips.entry().last_doc.min(END - 1)
    }

    /// Whether there is no block behind.
    pub fn is_last(&self) -> bool {
        self.skips.block() >= self.skips.last_block()
    }

    /// Whether it stands on the tail of less than 128 documents, whose last one is not known.
    pub fn is_tail(&self) -> bool {
        self.skips.block() >= self.skips.num_full()
    }

    /// Number of the block.
    #[inline]
    pub fn block(&self) -> u32 {
        self.skips.block()
    }

    /// First document that the block could hold.
    #[inline]
    pub fn first_doc(&self) -> u32 {
        self.skips.entry().base.wrapping_add(1)
    }

    /// Where its documents and frequencies are, in the bytes of [`TermBytes::docs`].
    pub fn docs_range(&self) -> Range<usize> {
        self.skips.entry().docs.clone()
    }

    /// Where the positions of its documents are, in the `positions_len` bytes of the term's positions.
    pub fn positions_range(&self, positions_len: u64) -> Range<u64> {
        let entry = self.skips.entry();
        let end = if self.skips.block() >= self.skips.num_full() { positions_len } else { entry.positions_end() };
        entry.positions_at.min(positions_len)..end.min(positions_len)
    }

    /// Number and last document of the group of blocks that this one is in; `None` for a tail.
    #[inline]
    pub fn group(&self) -> Option<(u32, u32)> {
        self.skips.group()
    }

    /// Impacts of that group. None at all means that nothing is known.
    pub fn group_impacts(&self, each: impl FnMut(Impact)) {
        let range = self.skips.group_impacts();
        let mut reader = Reader::new(self.bytes.get(range).unwrap_or_default());
        if let Err(error) = impacts::for_each(&mut reader, each) {
            self.damage.note(error);
        }
    }

    /// The highest product of a frequency and the factor of its norm, of the impacts of that group.
    pub fn best_group_factor(&self, factors: &[f32; 256]) -> Option<f32> {
        best_factor_in(&self.bytes, self.skips.group_impacts(), factors, &self.damage)
    }

    /// The same of the impacts of the block.
    pub fn best_factor(&self, factors: &[f32; 256]) -> Option<f32> {
        best_factor_in(&self.bytes, self.skips.entry().impacts.clone(), factors, &self.damage)
    }

    /// Whether `target` is behind all documents that skip data know of, and there is no tail.
    pub fn is_behind(&self, target: u32) -> bool {
        self.skips.is_behind(target)
    }

    /// Impacts of the block; of the whole term for a tail. None at all means that nothing is known.
    pub fn impacts(&self, each: impl FnMut(Impact)) {
        let range = self.skips.entry().impacts.clone();
        let mut reader = Reader::new(self.bytes.get(range).unwrap_or_default());
        if let Err(error) = impacts::for_each(&mut reader, each) {
            self.damage.note(error);
        }
    }
}

fn best_factor_in(bytes: &Bytes, range: Range<usize>, factors: &[f32; 256], damage: &Damage) -> Option<f32> {
    impacts::best_factor(bytes.get(range).unwrap_or_default(), factors).unwrap_or_else(|error| {
        damage.note(error);
        None
    })
}

/// First index whose document is at least `target`, given that the last one is. Seven steps without branches.
#[inline]
fn find_at_least(docs: &[u32; BLOCK_LEN], target: u32) -> usize {
    let mut low = 0;
    let mut half = BLOCK_LEN / 2;
    while half > 0 {
        low += usize::from(docs[(low + half - 1) & (BLOCK_LEN - 1)] < target) * half;
        half /= 2;
    }
    low.min(BLOCK_LEN - 1)
}

/// Documents behind the current one among which a target is looked for first.
const NEAR: usize = 8;

/// The same, given that the document at `at` is below the target: most targets are near.
#[inline]
fn find_behind(docs: &[u32; BLOCK_LEN], at: usize, target: u32) -> usize {
    match docs.get(at + 1..).and_then(|behind| behind.first_chunk::<NEAR>()) {
        Some(near) if near[NEAR - 1] >= target => at + 1 + near.iter().filter(|&&doc| doc < target).count(),
        _ => find_at_least(docs, target),
    }
}
