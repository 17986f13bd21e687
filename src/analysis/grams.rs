//! N-grams: parts of words as terms, for search as you type (from the beginning of a word) and inside words.
//!
//! The index holds the parts. A query is plain words: one no longer than the longest part is a term, a longer one is
//! cut to it, or into all parts of that length, which must all match.

use crate::analysis::{OwnedToken, Token};

/// Which parts of a word are terms. Lengths are in characters of the finished term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grams {
    /// Only those at the beginning.
    pub edge: bool,
    pub min: usize,
    pub max: usize,
}

impl Grams {
    /// Longest part.
    pub const MAX_LEN: usize = 32;
    /// Most different lengths of parts that may begin anywhere: each is a term per character.
    pub const MAX_LENGTHS: usize = 8;

    /// Gives the terms of a word whose own term is `token`; `word` is how the text spells it.
    pub fn of_word(&self, word: &str, token: Token<'_>, sink: &mut dyn FnMut(Token<'_>)) {
        let term = token.term;
        let cuts: Vec<usize> = term.char_indices().map(|(at, _)| at).chain([term.len()]).collect();
        let len = cuts.len() - 1;
        // Where in the text a part is, as long as no character became several.
        let places: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
        let is_aligned = places.len() == cuts.len() && word.len() == (token.end - token.start) as usize;
        let part = |from: usize, to: usize| {
            let (start, end) = match is_aligned {
                true => (token.start + places[from] as u32, token.start + places[to] as u32),
                false => (token.start, token.end),
            };
            Token { term: &term[cuts[from]..cuts[to]], start, end, ..token }
        };
        let mut parts: Vec<Token<'_>> = Vec::new();
        for from in 0..if self.edge { 1 } else { len } {
            let longest = self.max.min(len - from);
            for count in self.min..=longest {
                let term = &term[cuts[from]..cuts[from + count]];
                // A part that comes twice in a word is one term at its position.
                if !(0..from).any(|earlier| term == &token.term[cuts[earlier]..cuts[earlier + count]]) {
                    parts.push(part(from, from + count));
                }
            }
        }
        if len < self.min || (self.edge && len > self.max) {
            parts.push(part(0, len));
        }
        parts.into_iter().for_each(sink);
    }

    /// What a query needs of a word whose term is `token`, and what only adds to the score.
    pub fn of_query(&self, token: Token<'_>) -> (Vec<OwnedToken>, Option<OwnedToken>) {
        let term = token.term;
        let cuts: Vec<usize> = term.char_indices().map(|(at, _)| at).chain([term.len()]).collect();
        let len = cuts.len() - 1;
        if len < self.min {
            // The beginning of parts that the index has.
            return (vec![Token { is_lone_ideograph: true, ..token }.into()], None);
        }
        if len <= self.max {
            return (vec![Token { is_lone_ideograph: false, ..token }.into()], None);
        }
        let part = |from: usize| {
            let term = &term[cuts[from]..cuts[from + self.max]];
            OwnedToken::from(Token { term, is_lone_ideograph: false, ..token })
        };
        if self.edge {
            return (vec![part(0)], Some(token.into()));
        }
        let mut parts: Vec<OwnedToken> = Vec::new();
        for part in (0..=len - self.max).map(part) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        (parts, None)
    }
}
