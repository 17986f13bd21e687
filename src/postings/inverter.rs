//! Documents of one field, inverted in memory.
//!
//! While documents come in, a token is four bytes: the number of its term, in the order of the text. Only at the end
//! are they ordered by term: counted per term, then scattered for as many terms at once as fit a fixed budget, so that
//! a larger field means more passes, not more memory.

use crate::{
    analysis::{Analyzer, Normalizer, OwnedToken, VALUE_GAP},
    error::{Error, Result},
    ids::DocOrd,
    postings::{
        norms,
        term_table::TermTable,
        word_cache::{Key, WordCache},
        writer::{MAX_DOCS, PostingsWriter},
    },
    terms::{FieldOptions, FieldTotals, MAX_TERM_BYTES, TermsWriter},
};

/// Marks an entry that is no term: the next word's position jumps by the low bits.
const JUMP: u32 = 1 << 31;
/// Occurrences ordered in one pass, 8 bytes each.
const PASS_OCCURRENCES: u64 = 1 << 20;
/// Bytes after which a step gives the driver a chance to drain.
const STEP_BYTES: usize = 64 << 10;

/// Words remembered with their terms; they are forgotten when there are more.
const MAX_CACHED_WORDS: usize = 1 << 16;
/// A remembered word that gives no term.
const NO_TERM: u32 = u32::MAX;

/// Where in the texts of a document the next token goes.
struct Place {
    /// Position of the last token. Counted from -1, so that the first word, at 0, is a step of one.
    last: u32,
    /// Position of the first word of the value.
    base: u32,
    /// Behind the last token.
    next: u32,
    /// Words so far.
    len: u32,
}

impl Default for Place {
    fn default() -> Self {
        Self { last: u32::MAX, base: 0, next: 0, len: 0 }
    }
}

impl Place {
    fn end_value(&mut self) {
        self.base = self.next.saturating_add(VALUE_GAP).min(JUMP - 1);
        self.next = self.base;
    }
}

/// Inverts the documents of one field.
#[derive(Debug)]
pub struct Inverter {
    options: FieldOptions,
    /// Words as they are written, and the number of the term of each.
    words: TermTable,
    word_terms: Vec<u32>,
    /// The same for words seen just now.
    recent: WordCache,
    /// The analyzer that those are of.
    analyzer: Option<Analyzer>,
    table: TermTable,
    /// Occurrences of each term.
    counts: Vec<u32>,
    /// Terms of all documents one after another, with jumps of position between: their numbers, and once sorted their
    /// ranks.
    tokens: Vec<u32>,
    /// Documents with the field and where their tokens end.
    docs: Vec<(u32, usize)>,
    norms: Vec<u8>,
}

impl Inverter {
    /// An empty field.
    pub fn new(options: FieldOptions) -> Self {
        Self {
            options,
            words: TermTable::default(),
            word_terms: Vec::new(),
            recent: WordCache::default(),
            analyzer: None,
            table: TermTable::default(),
            counts: Vec::new(),
            tokens: Vec::new(),
            docs: Vec::new(),
            norms: Vec::new(),
        }
    }

    fn enter(&mut self, doc: DocOrd) -> Result<()> {
        match self.docs.last() {
            Some(&(last, _)) if last >= doc.0 => {
                if last == doc.0 {
                    return Ok(());
                }
                return Err(Error::invalid(format!("document {} after {last}", doc.0)));
            }
            _ => {}
        }
        if doc.0 >= MAX_DOCS {
            return Err(Error::invalid(format!("more than {MAX_DOCS} documents in a segment")));
        }
        self.docs.push((doc.0, self.tokens.len()));
        Ok(())
    }

    /// The number of a term.
    fn term(&mut self, term: &[u8]) -> u32 {
        let ord = self.table.insert(term);
        if ord as usize == self.counts.len() {
            self.counts.push(0);
        }
        ord
    }

    fn push(&mut self, ord: u32) {
        self.counts[ord as usize] += 1;
        self.tokens.push(ord);
    }

    /// The number of the term of a word, if it gives one. Most words were seen just now.
    #[inline]
    fn term_of_word(&mut self, word: &str, normalizer: &mut Normalizer) -> Option<u32> {
        let Some(key) = Key::of(word.as_bytes()) else { return self.look_up(word, normalizer) };
        let ord = match self.recent.find(key) {
            Some(ord) => ord,
            None => {
                let ord = self.look_up(word, normalizer).unwrap_or(NO_TERM);
                self.recent.note(key, ord);
                ord
            }
        };
        (ord != NO_TERM).then_some(ord)
    }

    /// The same among all words.
    fn look_up(&mut self, word: &str, normalizer: &mut Normalizer) -> Option<u32> {
        // Long ones are rare, and memory for them would not be bounded by their number.
        if word.len() > 40 {
            return normalizer.term(word).map(|(term, _)| self.term(term.as_bytes()));
        }
        let known = self.words.insert(word.as_bytes()) as usize;
        if known == self.word_terms.len() {
            let ord = normalizer.term(word).map_or(NO_TERM, |(term, _)| self.term(term.as_bytes()));
            self.word_terms.push(ord);
            if self.word_terms.len() == MAX_CACHED_WORDS {
                self.words = TermTable::default();
                self.word_terms.clear();
            }
            return (ord != NO_TERM).then_some(ord);
        }
        Some(self.word_terms[known]).filter(|&ord| ord != NO_TERM)
    }

    fn leave(&mut self) {
        let end = self.tokens.len();
        if let Some(doc) = self.docs.last_mut() {
            doc.1 = end;
        }
    }

    /// Adds the texts of a document; documents come in ascending order, each at most once. A text without any word
    /// leaves no trace.
    ///
    /// # Errors
    /// If the documents are out of order, or the field would pass a limit of the format.
    pub fn add_text<T: AsRef<str>>(&mut self, doc: DocOrd, analyzer: &Analyzer, values: &[T]) -> Result<()> {
        self.enter_text(doc)?;
        if self.analyzer.as_ref() != Some(analyzer) {
            self.analyzer = Some(analyzer.clone());
            self.words = TermTable::default();
            self.word_terms.clear();
            self.recent.clear();
        }
        let mut place = Place::default();
        if analyzer.is_wordwise() {
            let mut normalizer = Normalizer::new(analyzer);
            for value in values {
                analyzer.words(value.as_ref(), |word, position| {
                    let Some(ord) = self.term_of_word(word, &mut normalizer) else { return };
                    self.push_at(ord, position, &mut place);
                });
                place.end_value();
            }
        } else {
            for value in values {
                analyzer.analyze(value.as_ref(), |token| {
                    let ord = self.term(token.term.as_bytes());
                    self.push_at(ord, token.position, &mut place);
                });
                place.end_value();
            }
        }
        self.leave_text(doc, place.len);
        Ok(())
    }

    /// Adds the texts of a document as tokens, which are in order of position; else as [`Self::add_text`].
    ///
    /// # Errors
    /// As [`Self::add_text`].
    pub fn add_tokens(&mut self, doc: DocOrd, values: &[Vec<OwnedToken>]) -> Result<()> {
        self.enter_text(doc)?;
        let mut place = Place::default();
        for value in values {
            for token in value {
                let ord = self.term(token.term.as_bytes());
                self.push_at(ord, token.position, &mut place);
            }
            place.end_value();
        }
        self.leave_text(doc, place.len);
        Ok(())
    }

    fn enter_text(&mut self, doc: DocOrd) -> Result<()> {
        if self.docs.last().is_some_and(|&(last, _)| last == doc.0) {
            return Err(Error::invalid(format!("document {} twice", doc.0)));
        }
        self.enter(doc)
    }

    /// Adds a term at a position of the value that `place` is in.
    #[inline]
    fn push_at(&mut self, ord: u32, position: u32, place: &mut Place) {
        let position = place.base.saturating_add(position).min(JUMP - 1);
        let step = position.wrapping_sub(place.last);
        if step != 1 && self.options.positions {
            self.tokens.push(JUMP | step);
        }
        place.last = position;
        place.next = position + 1;
        // Tokens at one position are one word.
        place.len = place.len.saturating_add(u32::from(step != 0));
        self.push(ord);
    }

    fn leave_text(&mut self, doc: DocOrd, len: u32) {
        self.leave();
        if len == 0 {
            self.docs.pop();
        } else if self.options.freqs {
            self.norms.resize(doc.0 as usize, 0);
            self.norms.push(norms::encode(len));
        }
    }

    /// Adds one exact term of a document (a keyword, an id). Documents come in ascending order; a document may have
    /// several, and a repeated one counts once.
    ///
    /// # Errors
    /// If the term is longer than [`MAX_TERM_BYTES`], the documents are out of order, or the field would pass a limit
    /// of the format.
    pub fn add_term(&mut self, doc: DocOrd, term: &[u8]) -> Result<()> {
        if term.len() > MAX_TERM_BYTES {
            return Err(Error::invalid(format!("term of {} bytes, at most {MAX_TERM_BYTES}", term.len())));
        }
        self.enter(doc)?;
        let ord = self.term(term);
        self.push(ord);
        self.leave();
        if self.options.freqs {
            self.norms.resize(doc.0 as usize + 1, 0);
            self.norms[doc.0 as usize] = norms::encode(1);
        }
        Ok(())
    }

    /// Bytes of memory held, with what [`Self::finish`] takes besides.
    pub fn memory_bytes(&self) -> usize {
        let ordering = (self.tokens.len().min(PASS_OCCURRENCES as usize)) * 8 + self.counts.len() * 16;
        self.table.memory_bytes()
            + self.words.memory_bytes()
            + self.word_terms.capacity() * 4
            + self.recent.memory_bytes()
            + self.counts.capacity() * 4
            + self.tokens.capacity() * 4
            + self.docs.capacity() * 16
            + self.norms.capacity()
            + ordering
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    /// Documents that have the field.
    pub fn doc_count(&self) -> u32 {
        self.docs.len() as u32
    }

    /// Sorts the terms; `max_doc` is the number of documents in the segment.
    pub fn finish(mut self, max_doc: u32) -> InvertedField {
        self.norms.resize(if self.options.freqs { max_doc as usize } else { 0 }, 0);
        let sorted = self.table.sorted();
        let mut ranks = vec![0; sorted.len()];
        sorted.iter().enumerate().for_each(|(rank, &ord)| ranks[ord as usize] = rank as u32);
        // Once for all passes.
        self.tokens.iter_mut().filter(|token| **token & JUMP == 0).for_each(|token| *token = ranks[*token as usize]);
        InvertedField {
            writer: PostingsWriter::new(self.options),
            terms: TermsWriter::new(self.options),
            inverter: self,
            sorted,
            next: 0,
            pass: Pass::default(),
        }
    }
}

/// Occurrences of a range of terms, in order of term, document and position.
#[derive(Debug, Default)]
struct Pass {
    /// First rank behind the range.
    end: usize,
    occurrences: Vec<(u32, u32)>,
    at: usize,
}

/// A field ready to be written.
#[derive(Debug)]
pub struct InvertedField {
    inverter: Inverter,
    sorted: Vec<u32>,
    writer: PostingsWriter,
    terms: TermsWriter,
    next: usize,
    pass: Pass,
}

impl InvertedField {
    /// Appends the next terms, about 64 KiB of bytes; true while more are left.
    ///
    /// # Errors
    /// If the field passes a limit of the format.
    pub fn step(&mut self, terms: &mut Vec<u8>, postings: &mut Vec<u8>) -> Result<bool> {
        let before = terms.len() + postings.len();
        while self.next < self.sorted.len() && terms.len() + postings.len() < before + STEP_BYTES {
            if self.next >= self.pass.end {
                self.order_next_terms();
            }
            self.write_term(terms, postings)?;
        }
        Ok(self.next < self.sorted.len())
    }

    /// Scatters the occurrences of as many terms as the budget allows, at least one.
    fn order_next_terms(&mut self) {
        let first = self.next;
        let mut starts = Vec::new();
        let (mut end, mut total) = (first, 0u64);
        while end < self.sorted.len() {
            let count = u64::from(self.inverter.counts[self.sorted[end] as usize]);
            if end > first && total + count > PASS_OCCURRENCES {
                break;
            }
            starts.push(total as usize);
            total += count;
            end += 1;
        }
        let occurrences = &mut self.pass.occurrences;
        occurrences.clear();
        occurrences.resize(total as usize, (0, 0));
        let mut at = 0;
        for &(doc, doc_end) in &self.inverter.docs {
            let mut position = u32::MAX;
            let mut step = 1;
            for &token in &self.inverter.tokens[at..doc_end] {
                if token & JUMP != 0 {
                    step = token & !JUMP;
                    continue;
                }
                position = position.wrapping_add(step);
                step = 1;
                let rank = (token as usize).wrapping_sub(first);
                if let Some(slot) = starts.get_mut(rank) {
                    occurrences[*slot] = (doc, position);
                    *slot += 1;
                }
            }
            at = doc_end;
        }
        (self.pass.end, self.pass.at) = (end, 0);
    }

    fn write_term(&mut self, terms: &mut Vec<u8>, postings: &mut Vec<u8>) -> Result<()> {
        let ord = self.sorted[self.next];
        let options = self.inverter.options;
        let mut left = &self.pass.occurrences[self.pass.at..][..self.inverter.counts[ord as usize] as usize];
        self.pass.at += left.len();
        while let Some(&(doc, _)) = left.first() {
            let count = left.iter().take_while(|occurrence| occurrence.0 == doc).count();
            if options.freqs {
                let norm = self.inverter.norms[doc as usize];
                self.writer.add_doc(doc, count as u32, norm);
            } else {
                self.writer.add_doc(doc, 1, 0);
            }
            if options.positions {
                left[..count].iter().for_each(|&(_, position)| self.writer.add_position(position, postings));
            }
            left = &left[count..];
        }
        if let Some(info) = self.writer.finish_term(postings) {
            self.terms.push(self.inverter.table.term(ord), &info, terms)?;
        }
        self.next += 1;
        Ok(())
    }

    /// Appends what is left of `terms` and gives the rest. All steps must be done.
    pub fn finish(self, terms: &mut Vec<u8>) -> FieldParts {
        debug_assert_eq!(self.next, self.sorted.len());
        let totals = FieldTotals { doc_count: self.inverter.docs.len() as u64, ..FieldTotals::default() };
        FieldParts {
            term_index: self.terms.finish(totals, self.writer.len(), terms),
            norms: self.inverter.options.freqs.then_some(self.inverter.norms),
        }
    }
}

/// What is left of a field when its data streams are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldParts {
    /// The `term_index` stream.
    pub term_index: Vec<u8>,
    /// The `norms` stream, one byte per document; `None` for a field without frequencies.
    pub norms: Option<Vec<u8>>,
}
