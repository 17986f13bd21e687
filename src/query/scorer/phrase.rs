//! Terms at given places.
//!
//! Documents come from a conjunction, rarest term first; a phrase is confirmed by positions. An occurrence is where all
//! positions minus their places are equal; with slop see [`super::sloppy`]. The last term may be any of several: a word
//! that is still being typed.
//!
//! With a minimum score positions are read only where the phrase could pass it if it were as frequent as the rarest of
//! its terms in the document.

use crate::{
    postings::{END, Postings},
    query::scorer::{
        Scorer,
        bounds::BlockBounds,
        sloppy::{Sloppy, SloppyTerm},
        term::{Norms, TermWeight},
    },
    topk::order,
};

/// Where the documents and positions of a place come from.
pub(in crate::query) enum PhrasePostings {
    One(Box<Postings>),
    /// Any of several terms.
    Any(Vec<Postings>),
}

impl PhrasePostings {
    fn advance(&mut self, target: u32) -> u32 {
        match self {
            Self::One(postings) => postings.advance(target),
            Self::Any(all) => all.iter_mut().map(|postings| postings.advance(target)).min().unwrap_or(END),
        }
    }

    fn doc_freq(&self) -> u64 {
        match self {
            Self::One(postings) => u64::from(postings.doc_freq()),
            Self::Any(all) => all.iter().map(|postings| u64::from(postings.doc_freq())).sum(),
        }
    }

    /// Occurrences in `doc`, on which it stands.
    fn freq(&mut self, doc: u32) -> u32 {
        match self {
            Self::One(postings) => postings.freq(),
            Self::Any(all) => {
                all.iter_mut().filter(|postings| postings.doc() == doc).map(|postings| postings.freq()).sum()
            }
        }
    }

    fn positions(&mut self, doc: u32, out: &mut Vec<u32>, part: &mut Vec<u32>) {
        match self {
            Self::One(postings) => postings.positions(out),
            Self::Any(all) => {
                out.clear();
                for postings in all.iter_mut().filter(|postings| postings.doc() == doc) {
                    postings.positions(part);
                    out.extend_from_slice(part);
                }
                out.sort_unstable();
                out.dedup();
            }
        }
    }
}

/// One place of a phrase.
pub(in crate::query) struct PhrasePlace {
    pub postings: PhrasePostings,
    pub place: u32,
    /// Equal for equal terms.
    pub term: usize,
}

struct PhraseTerm {
    postings: PhrasePostings,
    place: u32,
    /// Its number by place.
    ix: usize,
    positions: Vec<u32>,
    at: usize,
}

/// Documents with a phrase.
pub(in crate::query) struct PhraseScorer {
    /// By ascending document frequency.
    terms: Vec<PhraseTerm>,
    sloppy: Option<Sloppy>,
    weight: TermWeight,
    norms: Norms,
    windows: Option<Box<BlockBounds>>,
    min_score: f32,
    part: Vec<u32>,
    next: u32,
    doc: u32,
    freq: f32,
}

impl PhraseScorer {
    /// Places ascend; there are at least two.
    pub fn new(places: Vec<PhrasePlace>, slop: u32, weight: TermWeight, norms: Norms) -> Self {
        let sloppy = (slop > 0)
            .then(|| Sloppy::new(places.iter().map(|place| SloppyTerm::new(place.place, place.term)).collect(), slop));
        let mut terms: Vec<_> = places
            .into_iter()
            .enumerate()
            .map(|(ix, PhrasePlace { postings, place, .. })| PhraseTerm {
                postings,
                place,
                ix,
                positions: Vec::new(),
                at: 0,
            })
            .collect();
        order::by_key(&mut terms, |term| term.postings.doc_freq());
        Self {
            terms,
            sloppy,
            weight,
            norms,
            windows: None,
            min_score: f32::NEG_INFINITY,
            part: Vec::new(),
            next: 0,
            doc: END,
            freq: 0.0,
        }
    }

    /// The first document at or above `target` that all terms are in.
    fn candidate(&mut self, target: u32) -> u32 {
        if self.next == END {
            self.doc = END;
            return END;
        }
        let mut doc = self.terms[0].postings.advance(target.max(self.next));
        'lead: while doc != END {
            for ix in 1..self.terms.len() {
                let found = self.terms[ix].postings.advance(doc);
                if found != doc {
                    doc = if found == END { END } else { self.terms[0].postings.advance(found) };
                    continue 'lead;
                }
            }
            break;
        }
        (self.next, self.doc) = (if doc == END { END } else { doc + 1 }, doc);
        doc
    }

    fn settle(&mut self) -> u32 {
        while self.doc != END && !self.confirm() {
            self.candidate(self.next);
        }
        self.doc
    }

    /// Whether the document could pass the minimum, from frequencies alone.
    fn can_pass(&mut self) -> bool {
        let doc = self.doc;
        let freqs = self.terms.iter_mut().map(|term| term.postings.freq(doc));
        // Each position is at most in one match of an exact phrase, and the smallest in one of a sloppy one.
        let most = if self.sloppy.is_some() { freqs.fold(0, u32::saturating_add) } else { freqs.min().unwrap_or(0) };
        self.weight.score(most as f32, self.norms.get(doc)) > self.min_score
    }

    /// Occurrences in the current document. Hops: whichever term is behind catches up.
    fn count_exact(&mut self) -> f32 {
        let doc = self.doc;
        for term in &mut self.terms {
            term.postings.positions(doc, &mut term.positions, &mut self.part);
            term.at = 0;
            if term.positions.is_empty() {
                return 0.0;
            }
        }
        let Some((lead, others)) = self.terms.split_first_mut() else { return 0.0 };
        let mut count = 0u32;
        'lead: for &position in &lead.positions {
            let start = i64::from(position) - i64::from(lead.place);
            for term in others.iter_mut() {
                let wanted = start + i64::from(term.place);
                while term.positions.get(term.at).is_some_and(|&position| i64::from(position) < wanted) {
                    term.at += 1;
                }
                match term.positions.get(term.at) {
                    None => break 'lead,
                    Some(&position) if i64::from(position) == wanted => {}
                    Some(_) => continue 'lead,
                }
            }
            count += 1;
        }
        count as f32
    }

    fn count(&mut self) -> f32 {
        let Some(sloppy) = &mut self.sloppy else { return self.count_exact() };
        for term in &mut self.terms {
            term.postings.positions(self.doc, &mut sloppy.terms[term.ix].positions, &mut self.part);
        }
        sloppy.freq()
    }

    /// Frequency and norm of the current document, for explanations.
    pub fn freq_and_norm(&self) -> (f32, u8) {
        (self.freq, self.norms.get(self.doc))
    }

    fn limit(&self) -> f32 {
        self.weight.weight.max(0.0)
    }

    /// Impacts of the rarest term: an exact phrase is at most as frequent, in a document as long.
    fn windows(&mut self) -> Option<(&mut BlockBounds, &TermWeight)> {
        let limit = self.limit();
        match &self.terms[0].postings {
            PhrasePostings::One(postings) if self.sloppy.is_none() => {
                Some((self.windows.get_or_insert_with(|| Box::new(BlockBounds::new(postings, limit))), &self.weight))
            }
            _ => None,
        }
    }
}

impl Scorer for PhraseScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn next(&mut self) -> u32 {
        self.candidate(self.next);
        self.settle()
    }

    fn advance(&mut self, target: u32) -> u32 {
        if self.doc != END && self.doc >= target {
            return self.doc;
        }
        self.candidate(target);
        self.settle()
    }

    fn advance_candidate(&mut self, target: u32) -> u32 {
        if self.doc != END && self.doc >= target {
            return self.doc;
        }
        self.candidate(target)
    }

    fn confirm(&mut self) -> bool {
        if self.min_score > f32::NEG_INFINITY && !self.can_pass() {
            return false;
        }
        self.freq = self.count();
        self.freq > 0.0
    }

    fn confirm_cost(&self) -> u32 {
        100
    }

    fn score(&mut self) -> f32 {
        self.weight.score(self.freq, self.norms.get(self.doc))
    }

    fn cost(&self) -> u64 {
        self.terms.first().map_or(0, |term| term.postings.doc_freq())
    }

    fn bound(&mut self, from: u32, to: u32) -> f32 {
        let (doc, limit) = (self.doc, self.limit());
        if doc == END {
            return f32::NEG_INFINITY;
        }
        self.windows().map_or(limit, |(windows, weight)| windows.of(doc, from, to, weight))
    }

    fn max_score(&mut self) -> f32 {
        self.limit()
    }

    fn window_end(&mut self, target: u32) -> u32 {
        let doc = self.doc;
        if doc == END {
            return END;
        }
        self.windows().map_or(END, |(windows, weight)| windows.end_of_block(doc, target, weight))
    }

    fn set_min_score(&mut self, min: f32) {
        self.min_score = min;
    }
}
