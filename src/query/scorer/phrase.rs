//! Terms at given places.
//!
//! Documents come from a conjunction, rarest term first. In each, every term's positions minus its place are walked
//! together. Exact: an occurrence is where all are equal. With slop: the extent of a combination is its largest minus
//! its smallest; each one within the slop counts 1 / (1 + extent), after which the smallest moves on (Lucene's sloppy
//! frequency). Equal terms of a phrase never share a position.

use crate::{
    postings::{END, Postings},
    query::scorer::{
        Scorer,
        term::{Norms, TermWeight},
    },
};

struct PhraseTerm {
    postings: Postings,
    place: u32,
    leaf: usize,
    positions: Vec<u32>,
    at: usize,
}

/// Documents with a phrase.
pub(in crate::query) struct PhraseScorer {
    /// By ascending document frequency.
    terms: Vec<PhraseTerm>,
    slop: u32,
    weight: TermWeight,
    norms: Norms,
    doc: u32,
    freq: f32,
}

impl PhraseScorer {
    /// Terms with their places and a number that is equal for equal terms; at least two.
    pub fn new(terms: Vec<(Postings, u32, usize)>, slop: u32, weight: TermWeight, norms: Norms) -> Self {
        let mut terms: Vec<_> = terms
            .into_iter()
            .map(|(postings, place, leaf)| PhraseTerm { postings, place, leaf, positions: Vec::new(), at: 0 })
            .collect();
        terms.sort_by_key(|term| term.postings.doc_freq());
        Self { terms, slop, weight, norms, doc: END, freq: 0.0 }
    }

    fn settle(&mut self, mut doc: u32) -> u32 {
        'lead: while doc != END {
            for ix in 1..self.terms.len() {
                let found = self.terms[ix].postings.advance(doc);
                if found != doc {
                    doc = if found == END { END } else { self.terms[0].postings.advance(found) };
                    continue 'lead;
                }
            }
            self.freq = if self.slop == 0 { self.count_exact() } else { self.count_sloppy() };
            if self.freq > 0.0 {
                break;
            }
            doc = self.terms[0].postings.next();
        }
        self.doc = doc;
        doc
    }

    fn load(&mut self) {
        for term in &mut self.terms {
            term.postings.positions(&mut term.positions);
            term.at = 0;
        }
    }

    /// Occurrences in the current document. Hops: whichever term is behind catches up.
    fn count_exact(&mut self) -> f32 {
        self.load();
        let (lead, others) = self.terms.split_first_mut().expect("a phrase has terms");
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

    fn count_sloppy(&mut self) -> f32 {
        self.load();
        let mut freq = 0.0f64;
        loop {
            let (mut low, mut high, mut lowest) = (i64::MAX, i64::MIN, 0);
            for (ix, term) in self.terms.iter().enumerate() {
                let Some(&position) = term.positions.get(term.at) else { return freq as f32 };
                let start = i64::from(position) - i64::from(term.place);
                if start < low {
                    (low, lowest) = (start, ix);
                }
                high = high.max(start);
            }
            let extent = (high - low) as u64;
            if extent <= u64::from(self.slop) && !self.shares_a_position() {
                freq += 1.0 / (1 + extent) as f64;
            }
            self.terms[lowest].at += 1;
        }
    }

    fn shares_a_position(&self) -> bool {
        self.terms.iter().enumerate().any(|(ix, term)| {
            let position = term.positions[term.at];
            self.terms[..ix].iter().any(|other| other.leaf == term.leaf && other.positions[other.at] == position)
        })
    }

    /// Frequency and norm of the current document, for explanations.
    pub fn freq_and_norm(&self) -> (f32, u8) {
        (self.freq, self.norms.get(self.doc))
    }
}

impl Scorer for PhraseScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn next(&mut self) -> u32 {
        let doc = self.terms[0].postings.next();
        self.settle(doc)
    }

    fn advance(&mut self, target: u32) -> u32 {
        if self.doc != END && self.doc >= target {
            return self.doc;
        }
        let doc = self.terms[0].postings.advance(target);
        self.settle(doc)
    }

    fn score(&mut self) -> f32 {
        self.weight.score(self.freq, self.norms.get(self.doc))
    }

    fn cost(&self) -> u64 {
        self.terms.iter().map(|term| u64::from(term.postings.doc_freq())).min().unwrap_or(0)
    }
}
