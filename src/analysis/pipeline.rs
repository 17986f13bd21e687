//! Pipelines: a tokenizer cuts a text into words, steps make a term of each, n-grams or synonyms make more of it.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

use crate::analysis::{
    MAX_TERM_BYTES, MAX_WORD_BYTES, OwnedToken, QueryWord, Token,
    code::{self, Piece},
    fold,
    grams::Grams,
    languages::{Language, Spelling, Trim, turkish_lowercase},
    normal,
    segment::{self, WordKind},
    stop_words::WordSet,
    synonyms::Synonyms,
};

/// How a text is cut into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tokenizer {
    /// UAX #29, with bigrams in scripts without spaces.
    #[default]
    Words,
    /// At white space alone.
    Whitespace,
    /// Not at all.
    Whole,
    /// Identifiers and their parts.
    Code,
}

/// What is done to a word.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Nfkc,
    Lowercase,
    TurkishLowercase,
    Fold,
    /// Marks stop words, which no later stemmer touches.
    Stop(WordSet),
    Stem(Algorithm),
    Spelling(Spelling),
    /// Drops words with fewer or more characters.
    Length(usize, usize),
}

/// A tokenizer and what follows it.
#[derive(Debug, Clone, Default)]
pub(super) struct Pipeline {
    pub tokenizer: Tokenizer,
    pub trims: Vec<Trim>,
    pub steps: Vec<Step>,
    /// Excludes synonyms.
    pub grams: Option<Grams>,
    pub synonyms: Option<Synonyms>,
}

/// Two buffers that the steps of a pipeline write in turn; the term is in `front`.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub front: String,
    back: String,
}

impl Buffers {
    fn swap(&mut self) {
        std::mem::swap(&mut self.front, &mut self.back);
    }
}

/// A term before it becomes a token.
struct Raw<'a> {
    /// The word that it is of, trimmed.
    word: &'a str,
    token: Token<'a>,
    is_extra: bool,
}

impl Pipeline {
    /// The pipeline of a language.
    pub fn of_language(language: &Language) -> Self {
        let stop = (!language.stop_words.is_empty()).then(|| Step::Stop(WordSet::of_list(language.stop_words)));
        let stem = Step::Stem(language.stemmer);
        let mut steps = Vec::new();
        if language.stemmer == Algorithm::English {
            // Its stemmer knows no letter but those of ASCII.
            steps.push(Step::Fold);
            steps.extend(stop);
            steps.push(stem);
        } else {
            let is_turkish = language.stemmer == Algorithm::Turkish;
            steps.push(Step::Nfkc);
            steps.push(if is_turkish { Step::TurkishLowercase } else { Step::Lowercase });
            steps.extend(stop);
            steps.push(stem);
            steps.push(Step::Fold);
            steps.extend(language.spelling.map(Step::Spelling));
        }
        Self { trims: language.trim.into_iter().collect(), steps, ..Self::default() }
    }

    /// Whether each word gives at most one term, which depends on nothing but the word.
    pub fn is_wordwise(&self) -> bool {
        let expands = self.synonyms.as_ref().is_some_and(|synonyms| synonyms.at_index);
        self.grams.is_none() && !expands && self.tokenizer != Tokenizer::Code
    }

    fn max_bytes(&self) -> usize {
        if self.tokenizer == Tokenizer::Whole { MAX_TERM_BYTES } else { MAX_WORD_BYTES }
    }

    fn trimmed<'w>(&self, word: &'w str) -> &'w str {
        self.trims.iter().fold(word, |word, trim| trim.apply(word))
    }

    /// Makes the term of a word, left in `buffers.front`; whether it is a stop word. `None` if it gives no term.
    pub fn term(&self, word: &str, buffers: &mut Buffers) -> Option<bool> {
        let mut word = self.trimmed(word);
        if self.tokenizer == Tokenizer::Whole {
            word = &word[..word.floor_char_boundary(MAX_TERM_BYTES)];
        } else if word.len() > MAX_WORD_BYTES {
            return None;
        }
        buffers.front.clear();
        buffers.front.push_str(word);
        let mut is_stop_word = false;
        for step in &self.steps {
            match step {
                Step::Stop(words) => is_stop_word |= words.contains(&buffers.front),
                Step::Stem(algorithm) => {
                    if !is_stop_word {
                        stem(*algorithm, &mut buffers.front);
                    }
                }
                Step::Length(min, max) => {
                    let count = buffers.front.chars().count();
                    if count < *min || count > *max {
                        return None;
                    }
                }
                plain => plain.spell(buffers),
            }
        }
        if self.tokenizer == Tokenizer::Whole {
            let end = buffers.front.floor_char_boundary(MAX_TERM_BYTES);
            buffers.front.truncate(end);
        }
        (!buffers.front.is_empty() && buffers.front.len() <= self.max_bytes()).then_some(is_stop_word)
    }

    /// The beginning of a word as terms start with it: everything but stop words, stemming and lengths.
    pub fn prefix(&self, text: &str) -> String {
        let mut buffers = Buffers { front: self.trimmed(text).to_owned(), back: String::new() };
        if self.tokenizer == Tokenizer::Code {
            buffers.front.retain(|letter| !matches!(letter, '_' | '$' | '-'));
        }
        for step in &self.steps {
            if !matches!(step, Step::Stop(_) | Step::Stem(_) | Step::Length(..)) {
                step.spell(&mut buffers);
            }
        }
        buffers.front
    }

    /// The stemmer, if there is one.
    pub fn stemmer(&self) -> Option<Algorithm> {
        self.steps.iter().find_map(|step| match step {
            Step::Stem(algorithm) => Some(*algorithm),
            _ => None,
        })
    }

    /// Gives the words of `text` as they are written, with their positions. Only for [`Self::is_wordwise`].
    pub fn words(&self, text: &str, sink: &mut dyn FnMut(&str, u32)) {
        let mut position = 0;
        let mut next = |word: &str| {
            sink(word, position);
            position += 1;
        };
        match self.tokenizer {
            Tokenizer::Words => {
                segment::words_dyn(text, &mut |word| next(&text[word.start as usize..word.end as usize]));
            }
            Tokenizer::Whitespace => text.split_whitespace().for_each(next),
            Tokenizer::Whole => next(text),
            Tokenizer::Code => code::pieces(text, &mut |piece| next(&piece.text)),
        }
    }

    /// Cuts `text` and makes terms, without n-grams and synonyms.
    fn raw_tokens(&self, text: &str, sink: &mut dyn FnMut(Raw<'_>)) {
        let mut buffers = Buffers::default();
        let mut give =
            |word: &str, start: usize, end: usize, position: u32, is_lone_ideograph: bool, is_extra: bool| {
                let Some(is_stop_word) = self.term(word, &mut buffers) else { return };
                let (mut start, mut end) = (start, end);
                let word = match is_extra {
                    true => word,
                    false => {
                        let trimmed = self.trimmed(word);
                        start += trimmed.as_ptr() as usize - word.as_ptr() as usize;
                        end = start + trimmed.len();
                        trimmed
                    }
                };
                let (start, end) = (start as u32, end as u32);
                let token = Token { term: &buffers.front, position, start, end, is_stop_word, is_lone_ideograph };
                sink(Raw { word, token, is_extra });
            };
        match self.tokenizer {
            Tokenizer::Words => {
                let mut position = 0;
                segment::words_dyn(text, &mut |word| {
                    let (start, end) = (word.start as usize, word.end as usize);
                    give(&text[start..end], start, end, position, word.kind == WordKind::LoneIdeograph, false);
                    position += 1;
                });
            }
            Tokenizer::Whitespace => {
                for (position, word) in text.split_whitespace().enumerate() {
                    let start = word.as_ptr() as usize - text.as_ptr() as usize;
                    give(word, start, start + word.len(), position as u32, false, false);
                }
            }
            Tokenizer::Whole => {
                let end = text.floor_char_boundary(MAX_TERM_BYTES);
                give(&text[..end], 0, end, 0, false, false);
            }
            Tokenizer::Code => code::pieces(text, &mut |piece| {
                let Piece { text, start, end, position, is_whole, is_lone_ideograph } = piece;
                give(&text, start, end, position, is_lone_ideograph, is_whole);
            }),
        }
    }

    /// Gives the tokens that an index holds of `text`, by position.
    pub fn analyze(&self, text: &str, sink: &mut dyn FnMut(Token<'_>)) {
        if let Some(grams) = &self.grams {
            return self.raw_tokens(text, &mut |raw| grams.of_word(raw.word, raw.token, sink));
        }
        if let Some(synonyms) = self.synonyms.as_ref().filter(|synonyms| synonyms.at_index) {
            let mut tokens = Vec::new();
            self.raw_tokens(text, &mut |raw| tokens.push(OwnedToken::from(raw.token)));
            for token in synonyms.expand(tokens) {
                let OwnedToken { ref term, position, start, end, is_stop_word, is_lone_ideograph } = token;
                sink(Token { term, position, start, end, is_stop_word, is_lone_ideograph });
            }
            return;
        }
        self.raw_tokens(text, &mut |raw| sink(raw.token));
    }

    /// The words of a query.
    pub fn query_words(&self, text: &str) -> Vec<QueryWord> {
        let mut words: Vec<QueryWord> = Vec::new();
        if let Some(synonyms) = &self.synonyms {
            let mut tokens = Vec::new();
            self.raw_tokens(text, &mut |raw| tokens.push(OwnedToken::from(raw.token)));
            return synonyms.widen(tokens);
        }
        self.raw_tokens(text, &mut |raw| {
            let Token { position, start, end, is_stop_word, .. } = raw.token;
            let plain = |alternative, is_extra| QueryWord {
                start,
                end,
                position,
                num_words: 1,
                is_stop_word,
                is_extra,
                alternatives: vec![alternative],
            };
            match &self.grams {
                None => words.push(plain(vec![raw.token.into()], raw.is_extra)),
                Some(grams) => {
                    let (required, extra) = grams.of_query(raw.token);
                    words.push(plain(required, raw.is_extra));
                    words.extend(extra.map(|extra| plain(vec![extra], true)));
                }
            }
        });
        words
    }

    /// The terms of a side of a synonym rule.
    pub fn side(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.raw_tokens(text, &mut |raw| terms.push(raw.token.term.to_owned()));
        terms
    }
}

impl Step {
    /// What changes letters and nothing else.
    fn spell(&self, buffers: &mut Buffers) {
        match self {
            Self::Nfkc if buffers.front.is_ascii() => {}
            Self::Nfkc => {
                let Buffers { front, back } = buffers;
                back.clear();
                let mut letters = normal::decompose(front);
                normal::compose(&mut letters);
                back.extend(letters);
                buffers.swap();
            }
            Self::Lowercase | Self::TurkishLowercase
                if buffers.front.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) => {}
            Self::Lowercase | Self::Fold if buffers.front.is_ascii() => buffers.front.make_ascii_lowercase(),
            Self::Lowercase => {
                let Buffers { front, back } = buffers;
                back.clear();
                back.extend(front.chars().flat_map(char::to_lowercase));
                buffers.swap();
            }
            Self::TurkishLowercase => {
                turkish_lowercase(&buffers.front, &mut buffers.back);
                buffers.swap();
            }
            Self::Fold => {
                fold::fold_into(&buffers.front, &mut buffers.back);
                buffers.swap();
            }
            Self::Spelling(spelling) => {
                spelling.apply(&buffers.front, &mut buffers.back);
                buffers.swap();
            }
            Self::Stop(_) | Self::Stem(_) | Self::Length(..) => {}
        }
    }
}

/// Stems `word` where the stemmer has anything to do: none leaves words of one or two letters shorter.
fn stem(algorithm: Algorithm, word: &mut String) {
    let is_candidate = match algorithm {
        // It knows letters of ASCII and apostrophes.
        Algorithm::English => word.len() > 2 && word.bytes().any(|byte| byte.is_ascii_lowercase()),
        _ => word.len() > 2 && word.chars().all(|letter| !segment::is_unspaced(letter)),
    };
    if is_candidate && let Cow::Owned(stemmed) = Stemmer::new(algorithm).stem(word) {
        *word = stemmed;
    }
}
