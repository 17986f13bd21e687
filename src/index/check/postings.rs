//! Terms and postings of one field: order, bounds and counts.

use std::collections::HashMap;

use bytes::Bytes;

use super::{Walk, hash};
use crate::{
    error::{Error, ErrorKind, Result},
    ids::FieldOrd,
    postings::{Damage, END, Postings, TermBytes},
    segment::{OpenSegment, SectionKind, VerifiedFile},
    storage::File,
    terms::{TermCursor, TermIndex, TermInfo},
};

/// Bytes of dictionary or postings read at a time.
const WINDOW_BYTES: u64 = 1 << 20;

/// What a walk over a field found.
pub(super) enum FieldReport {
    /// Nothing wrong; for the id field, the hash of the id of each document.
    Sound(HashMap<u32, u64>),
    /// The first thing wrong, and in which section.
    Broken(SectionKind, Error),
}

fn corrupt(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}

/// A window of the postings stream.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Bytes,
}

struct FieldWalk<'a, F: File> {
    segment: &'a OpenSegment<VerifiedFile<F>>,
    field: FieldOrd,
    index: &'a TermIndex,
    norms: Option<Bytes>,
    window: Window,
    num_terms: u64,
    sum_doc_freq: u64,
    sum_total_term_freq: u64,
    ids: Option<HashMap<u32, u64>>,
}

impl Walk<'_> {
    /// Walks terms and postings of a field.
    ///
    /// # Errors
    /// `aborted` alone.
    pub(super) async fn field_postings<F: File>(
        &mut self,
        segment: &OpenSegment<VerifiedFile<F>>,
        field: FieldOrd,
        has_norms: bool,
        is_id: bool,
    ) -> Result<FieldReport> {
        let Some(index) = segment.terms(field) else { return Ok(FieldReport::Sound(HashMap::new())) };
        let mut norms = None;
        if has_norms {
            let read = segment.reader().read_one(SectionKind::Norms, field, 0..u64::from(segment.max_doc())).await;
            match read {
                Ok(bytes) => {
                    self.turn(bytes.len() as u64).await?;
                    norms = Some(bytes);
                }
                Err(error) => return Ok(FieldReport::Broken(SectionKind::Norms, error)),
            }
        }
        let mut walk = FieldWalk {
            segment,
            field,
            index,
            norms,
            window: Window::default(),
            num_terms: 0,
            sum_doc_freq: 0,
            sum_total_term_freq: 0,
            ids: is_id.then(HashMap::new),
        };
        match walk.run(self).await {
            Ok(()) => Ok(FieldReport::Sound(walk.ids.unwrap_or_default())),
            Err((_, error)) if error.kind() == ErrorKind::Aborted => Err(error),
            Err((section, error)) => Ok(FieldReport::Broken(section, error)),
        }
    }
}

type Found<T> = Result<T, (SectionKind, Error)>;

impl<F: File> FieldWalk<'_, F> {
    async fn run(&mut self, walk: &mut Walk<'_>) -> Found<()> {
        let in_terms = |error| (SectionKind::Terms, error);
        let lens = [(SectionKind::Terms, self.index.terms_len()), (SectionKind::Postings, self.index.postings_len())];
        for (kind, expected) in lens {
            let found = self.segment.reader().section_len(kind, self.field);
            if found != expected {
                return Err((
                    SectionKind::TermIndex,
                    corrupt(format!("{found} bytes of {kind}, the index says {expected}")),
                ));
            }
        }
        let mut last: Option<Vec<u8>> = None;
        let mut block = 0;
        while block < self.index.num_blocks() {
            let Some(first) = self.index.block_range(block) else { break };
            let mut range = first;
            block += 1;
            while let Some(next) = self.index.block_range(block).filter(|next| next.end - range.start <= WINDOW_BYTES) {
                range.end = next.end;
                block += 1;
            }
            let bytes =
                self.segment.reader().read_one(SectionKind::Terms, self.field, range).await.map_err(in_terms)?;
            walk.turn(bytes.len() as u64).await.map_err(in_terms)?;
            let mut cursor = TermCursor::new(self.index.options(), bytes);
            while cursor.advance().map_err(|error| in_terms(Error::corrupt("dictionary block", error)))? {
                let term = cursor.term();
                if last.as_deref().is_some_and(|last| last >= term) {
                    return Err(in_terms(corrupt(format!("term {} is not above the one before", show(term)))));
                }
                if self.index.locate(term).is_none() {
                    return Err((
                        SectionKind::TermIndex,
                        corrupt(format!("term {} cannot be found by it", show(term))),
                    ));
                }
                let (term, info) = (term.to_vec(), *cursor.info());
                self.term(walk, &term, &info).await?;
                last = Some(term);
            }
        }
        let totals = self.index.totals();
        let found = (self.num_terms, self.sum_doc_freq, self.sum_total_term_freq);
        if found != (totals.num_terms, totals.sum_doc_freq, totals.sum_total_term_freq) {
            return Err((SectionKind::TermIndex, corrupt(format!("totals are {totals:?}, found {found:?}"))));
        }
        Ok(())
    }

    async fn term(&mut self, walk: &mut Walk<'_>, term: &[u8], info: &TermInfo) -> Found<()> {
        let in_postings = |error: Error| (SectionKind::Postings, error.at(format!("term {}", show(term))));
        self.num_terms += 1;
        self.sum_doc_freq += u64::from(info.doc_freq);
        self.sum_total_term_freq += info.total_term_freq;
        if info.range().end > self.index.postings_len() {
            return Err(in_postings(corrupt(format!("bytes {:?} of {}", info.range(), self.index.postings_len()))));
        }
        let bytes = self.postings_bytes(walk, info).await.map_err(in_postings)?;
        self.walk_term(term, info, &bytes).map_err(in_postings)
    }

    /// The bytes of a term, through a window: terms follow each other in the stream.
    async fn postings_bytes(&mut self, walk: &mut Walk<'_>, info: &TermInfo) -> Result<Bytes> {
        let range = info.range();
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let have = self.window.start..self.window.start + self.window.bytes.len() as u64;
        if range.start < have.start || range.end > have.end {
            let end = range.end.max(range.start + WINDOW_BYTES).min(self.index.postings_len());
            let window = range.start..end;
            let bytes = self.segment.reader().read_one(SectionKind::Postings, self.field, window).await?;
            walk.turn(bytes.len() as u64).await?;
            self.window = Window { start: range.start, bytes };
        }
        let at = (range.start - self.window.start) as usize;
        Ok(self.window.bytes.slice(at..at + (range.end - range.start) as usize))
    }

    fn walk_term(&mut self, term: &[u8], info: &TermInfo, bytes: &Bytes) -> Result<()> {
        let options = self.index.options();
        let damage = Damage::default();
        let positions = options.positions.then(|| bytes.slice(..info.positions_len as usize));
        let docs = bytes.slice(info.positions_len as usize..);
        let bytes = TermBytes::whole(info, docs, positions);
        let mut postings = Postings::open(options, self.segment.max_doc(), info, bytes, &damage);
        let (mut docs, mut freqs, mut last, mut found) = (0u32, 0u64, None, Vec::new());
        loop {
            let doc = postings.next();
            damage.check().map_err(|error| Error::corrupt("damaged", error))?;
            if doc == END {
                break;
            }
            if doc >= self.segment.max_doc() || last.is_some_and(|last| last >= doc) {
                return Err(corrupt(format!(
                    "document {doc} after {last:?} in a segment of {}",
                    self.segment.max_doc()
                )));
            }
            last = Some(doc);
            docs += 1;
            let freq = postings.freq();
            freqs += u64::from(freq);
            if options.positions {
                postings.positions(&mut found);
                damage.check().map_err(|error| Error::corrupt("damaged", error))?;
                if found.len() as u64 != u64::from(freq) || found.windows(2).any(|pair| pair[0] > pair[1]) {
                    return Err(corrupt(format!("document {doc}: {freq} occurrences, positions {found:?}")));
                }
            }
            if self.norms.as_ref().is_some_and(|norms| norms.get(doc as usize) == Some(&0)) {
                return Err(corrupt(format!("document {doc} has it, and length 0")));
            }
            if let Some(ids) = &mut self.ids {
                ids.insert(doc, hash(term));
            }
        }
        if docs != info.doc_freq || freqs != info.total_term_freq {
            let (expected, total) = (info.doc_freq, info.total_term_freq);
            return Err(corrupt(format!("{docs} documents and {freqs} occurrences, expected {expected} and {total}")));
        }
        Ok(())
    }
}

/// A term for a message: text where it is.
fn show(term: &[u8]) -> String {
    let short = &term[..term.len().min(40)];
    format!("{:?}", String::from_utf8_lossy(short))
}
