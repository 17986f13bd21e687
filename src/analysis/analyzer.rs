//! Analyzers by name, and the tokens they give.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

use crate::analysis::{fold, segment, stop_words};

/// Positions between the values of a multi-valued text.
pub const VALUE_GAP: u32 = 100;
/// Longest word in bytes. Longer runs (encoded binaries, say) give no term, though they take a position. Only
/// analyzers that take the whole text as one term keep longer ones, up to [`crate::terms::MAX_TERM_BYTES`]'s 32,766.
pub const MAX_WORD_BYTES: usize = 255;
const MAX_WHOLE_BYTES: usize = 32_766;

/// One term and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The term as it is indexed.
    pub term: &'a str,
    /// Number of the word in the text, from 0.
    pub position: u32,
    /// Byte where it starts in the text.
    pub start: u32,
    /// Byte behind its end.
    pub end: u32,
    /// Whether the language calls it a stop word: indexed, but left out of unquoted queries.
    pub is_stop_word: bool,
    /// Whether it is one character of a script without spaces that had no neighbour to make a bigram with. A query
    /// takes it as a prefix, since the index holds bigrams.
    pub is_lone_ideograph: bool,
}

/// A [`Token`] that owns its term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedToken {
    /// The term as it is indexed.
    pub term: String,
    /// Number of the word in the text, from 0.
    pub position: u32,
    /// Byte where it starts in the text.
    pub start: u32,
    /// Byte behind its end.
    pub end: u32,
    /// As [`Token::is_stop_word`].
    pub is_stop_word: bool,
    /// As [`Token::is_lone_ideograph`].
    pub is_lone_ideograph: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    English,
    Standard,
    Keyword,
    Lowercase,
}

/// How the text of a field becomes terms. Cheap to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Analyzer(Kind);

impl Analyzer {
    /// Names of all analyzers, the default first.
    pub const NAMES: [&'static str; 4] = ["english", "standard", "keyword", "lowercase"];

    /// The analyzer called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Some(Self(match name {
            "english" => Kind::English,
            "standard" => Kind::Standard,
            "keyword" => Kind::Keyword,
            "lowercase" => Kind::Lowercase,
            _ => return None,
        }))
    }

    /// Name under which [`Self::find`] knows it.
    pub fn name(&self) -> &'static str {
        match self.0 {
            Kind::English => "english",
            Kind::Standard => "standard",
            Kind::Keyword => "keyword",
            Kind::Lowercase => "lowercase",
        }
    }

    /// Gives the tokens of `text` to `sink`, in order of position. Text beyond 4 GiB is ignored.
    pub fn analyze(&self, text: &str, mut sink: impl FnMut(Token<'_>)) {
        let text = &text[..text.floor_char_boundary(u32::MAX as usize)];
        match self.0 {
            Kind::Keyword | Kind::Lowercase => {
                if let Some((term, is_stop_word)) = Normalizer::new(*self).term(text) {
                    let end = text.len() as u32;
                    sink(Token { term, position: 0, start: 0, end, is_stop_word, is_lone_ideograph: false });
                }
            }
            Kind::English | Kind::Standard => self.analyze_words(text, &mut sink),
        }
    }

    fn analyze_words(&self, text: &str, sink: &mut impl FnMut(Token<'_>)) {
        let mut normalizer = Normalizer::new(*self);
        let mut position = 0;
        segment::words(text, |word| {
            let at = position;
            position += 1;
            let Some((term, is_stop_word)) = normalizer.term(&text[word.start as usize..word.end as usize]) else {
                return;
            };
            sink(Token {
                term,
                position: at,
                start: word.start,
                end: word.end,
                is_stop_word,
                is_lone_ideograph: word.kind == segment::WordKind::LoneIdeograph,
            });
        });
    }

    /// Gives the words of `text` as they are written, with their positions: what [`Normalizer::term`] makes of each are
    /// the terms of [`Self::analyze`]. Indexing uses it, since most words were seen before.
    pub(crate) fn words(&self, text: &str, mut sink: impl FnMut(&str, u32)) {
        let text = &text[..text.floor_char_boundary(u32::MAX as usize)];
        match self.0 {
            Kind::Keyword | Kind::Lowercase => sink(text, 0),
            Kind::English | Kind::Standard => {
                let mut position = 0;
                segment::words(text, |word| {
                    sink(&text[word.start as usize..word.end as usize], position);
                    position += 1;
                });
            }
        }
    }

    /// The tokens of `text`.
    pub fn tokens(&self, text: &str) -> Vec<OwnedToken> {
        let mut tokens = Vec::new();
        self.analyze(text, |Token { term, position, start, end, is_stop_word, is_lone_ideograph }| {
            tokens.push(OwnedToken { term: term.to_owned(), position, start, end, is_stop_word, is_lone_ideograph });
        });
        tokens
    }

    /// Terms that a word beginning with `text` may be stemmed to and that do not begin with it themselves: `runnin` on
    /// its way to `running`, which is indexed as `run`. None where the analyzer does not stem.
    pub fn completions(&self, text: &str) -> Vec<String> {
        if self.0 != Kind::English {
            return Vec::new();
        }
        let typed = fold(text);
        if typed.len() < 4 || typed.len() > 40 || !typed.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return Vec::new();
        }
        let stemmer = Stemmer::new(Algorithm::English);
        let mut terms: Vec<String> = COMPLETIONS
            .iter()
            .map(|ending| stemmer.stem(&format!("{typed}{ending}")).into_owned())
            .filter(|term| !term.starts_with(&*typed))
            .collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// The beginning of a word as terms start with it: folded, not stemmed. Prefix queries use it; empty if `text`
    /// has no letter or digit.
    pub fn prefix(&self, text: &str) -> String {
        match self.0 {
            Kind::Keyword => text.to_owned(),
            _ => fold(text).into_owned(),
        }
    }
}

/// Makes terms of words: the part of an analyzer that depends on nothing but the word.
pub(crate) struct Normalizer {
    kind: Kind,
    stemmer: Stemmer,
    folded: String,
    stemmed: String,
}

impl Normalizer {
    pub(crate) fn new(analyzer: Analyzer) -> Self {
        let stemmer = Stemmer::new(Algorithm::English);
        Self { kind: analyzer.0, stemmer, folded: String::new(), stemmed: String::new() }
    }

    /// The term of a word and whether it is a stop word; `None` if it gives no term.
    pub(crate) fn term(&mut self, word: &str) -> Option<(&str, bool)> {
        let max_bytes = match self.kind {
            Kind::Keyword => {
                let term = &word[..word.floor_char_boundary(MAX_WHOLE_BYTES)];
                self.folded.clear();
                self.folded.push_str(term);
                return (!term.is_empty()).then_some((&self.folded, false));
            }
            Kind::Lowercase => {
                fold::fold_into(&word[..word.floor_char_boundary(MAX_WHOLE_BYTES)], &mut self.folded);
                let end = self.folded.floor_char_boundary(MAX_WHOLE_BYTES);
                return (end > 0).then_some((&self.folded[..end], false));
            }
            Kind::English | Kind::Standard => MAX_WORD_BYTES,
        };
        if word.len() > max_bytes {
            return None;
        }
        fold::fold_into(word, &mut self.folded);
        if self.folded.is_empty() || self.folded.len() > max_bytes {
            return None;
        }
        if self.kind == Kind::English {
            if stop_words::is_english(&self.folded) {
                return Some((&self.folded, true));
            }
            if stems(&self.folded)
                && let Cow::Owned(stemmed) = self.stemmer.stem(&self.folded)
            {
                self.stemmed = stemmed;
                return (!self.stemmed.is_empty()).then_some((&self.stemmed, false));
            }
        }
        Some((&self.folded, false))
    }
}

/// Endings that a half-typed word may get.
const COMPLETIONS: [&str; 14] = ["", "g", "ng", "ing", "d", "ed", "s", "es", "e", "y", "ty", "n", "on", "ly"];

/// Whether Snowball English has anything to do: it knows letters of ASCII and apostrophes.
fn stems(word: &str) -> bool {
    word.len() > 2 && word.bytes().any(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(name: &str, text: &str) -> Vec<String> {
        Analyzer::find(name).unwrap().tokens(text).into_iter().map(|token| token.term).collect()
    }

    #[test]
    fn stems_and_folds_english() {
        assert_eq!(terms("english", "Running dogs' naïve fiancée's"), ["run", "dog", "naiv", "fiance"]);
        assert_eq!(terms("standard", "Running dogs' naïve"), ["running", "dogs", "naive"]);
        assert_eq!(terms("keyword", "As It Is"), ["As It Is"]);
        assert_eq!(terms("lowercase", "As Ít Is"), ["as it is"]);
        assert_eq!(terms("english", "don’t can't 3.14 1,000 a.b"), ["don't", "can't", "3.14", "1,000", "a.b"]);
    }

    #[test]
    fn bigrams_cover_scripts_without_spaces() {
        assert_eq!(terms("english", "日本語です"), ["日本", "本語", "語で", "です"]);
        assert_eq!(terms("english", "北京 2008 奥运会"), ["北京", "2008", "奥运", "运会"]);
        assert_eq!(terms("english", "한국어 검색"), ["한국", "국어", "검색"]);
        assert_eq!(terms("english", "カタカナ"), ["カタ", "タカ", "カナ"]);
        assert!(terms("english", "ภาษาไทย").len() > 3);
        let lone = Analyzer::find("english").unwrap().tokens("中");
        assert!(lone[0].is_lone_ideograph);
    }

    #[test]
    fn names_find_themselves() {
        for name in Analyzer::NAMES {
            assert_eq!(Analyzer::find(name).unwrap().name(), name);
        }
        assert_eq!(Analyzer::find("klingon"), None);
    }

    #[test]
    fn long_words_take_a_position_and_give_no_term() {
        let text = format!("a {} b", "x".repeat(MAX_WORD_BYTES + 1));
        let tokens = Analyzer::find("standard").unwrap().tokens(&text);
        let found: Vec<_> = tokens.iter().map(|token| (token.term.as_str(), token.position)).collect();
        assert_eq!(found, [("a", 0), ("b", 2)]);
    }

    #[test]
    fn offsets_cut_the_words_out_of_any_text() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let ranges =
            [0x20..0x7f, 0xa0..0x250, 0x300..0x370, 0x600..0x700, 0xe00..0xe80, 0x3040..0x3100, 0x4e00..0x4f00];
        for _ in 0..2_000 {
            let text: String = (0..random.usize(0..40))
                .filter_map(|_| {
                    if random.u8(0..10) == 0 {
                        return Some(random.char(..));
                    }
                    let range = ranges[random.usize(0..ranges.len())].clone();
                    char::from_u32(random.u32(range))
                })
                .collect();
            for name in Analyzer::NAMES {
                let mut last = 0;
                Analyzer::find(name).unwrap().analyze(&text, |token| {
                    assert!(token.start < token.end && !token.term.is_empty());
                    assert!(text.get(token.start as usize..token.end as usize).is_some());
                    assert!(token.position >= last);
                    last = token.position;
                });
            }
        }
    }
}
