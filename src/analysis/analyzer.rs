//! Analyzers, and the tokens they give.

use std::sync::Arc;

use frostem::Algorithm;

use crate::analysis::{
    AnalyzerError, OwnedToken, QueryWord, Token,
    custom::Custom,
    fold,
    grams::Grams,
    languages::{self, LANGUAGES},
    pipeline::{Buffers, Pipeline, Step, Tokenizer},
};

/// Positions between the values of a multi-valued text.
pub const VALUE_GAP: u32 = 100;
/// Longest word in bytes. Longer runs (encoded binaries, say) give no term, though they take a position. Only
/// analyzers that take the whole text as one term keep longer ones, up to [`MAX_TERM_BYTES`].
pub const MAX_WORD_BYTES: usize = 255;
/// Longest term in bytes.
pub const MAX_TERM_BYTES: usize = 32_766;

/// How the text of a field becomes terms. Cheap to clone. Two are equal if they were made of equal definitions.
#[derive(Debug, Clone)]
pub struct Analyzer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Its name, or its definition as JSON.
    name: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Pipeline(Pipeline),
    Custom(Custom),
}

impl PartialEq for Analyzer {
    fn eq(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        match (&self.0.kind, &other.0.kind) {
            (Kind::Pipeline(_), Kind::Pipeline(_)) => self.0.name == other.0.name,
            (Kind::Custom(one), Kind::Custom(other)) => one.is_same(other),
            _ => false,
        }
    }
}

/// Lengths of the parts of words of the analyzers `edgeNgram` and `ngram`.
pub(super) const EDGE_GRAMS: Grams = Grams { edge: true, min: 1, max: 12 };
pub(super) const INNER_GRAMS: Grams = Grams { edge: false, min: 2, max: 3 };

/// Names of analyzers that are no language's, the most usual first.
const GENERAL: [&str; 8] =
    ["standard", "vietnamese", "keyword", "lowercase", "whitespace", "code", "edgeNgram", "ngram"];

impl Analyzer {
    /// Names of all built-in analyzers, the default first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let languages = LANGUAGES.iter().map(|language| language.name).filter(|name| *name != "english");
        ["english"].into_iter().chain(GENERAL).chain(languages)
    }

    /// The built-in analyzer called `name`: one of [`Self::names`], or a language by its tag (`de`, `pt-BR`).
    pub fn find(name: &str) -> Option<Self> {
        if let Some(language) = languages::find(name) {
            return Some(Self::of_pipeline(language.name.to_owned(), Pipeline::of_language(language)));
        }
        let name = languages::general(name).or_else(|| GENERAL.into_iter().find(|own| *own == name))?;
        let folded = || vec![Step::Fold];
        let pipeline = match name {
            "standard" => Pipeline { steps: folded(), ..Pipeline::default() },
            // Without its marks a syllable is another word.
            "vietnamese" => Pipeline { steps: vec![Step::Nfkc, Step::Lowercase], ..Pipeline::default() },
            "keyword" => Pipeline { tokenizer: Tokenizer::Whole, ..Pipeline::default() },
            "lowercase" => Pipeline { tokenizer: Tokenizer::Whole, steps: folded(), ..Pipeline::default() },
            "whitespace" => Pipeline { tokenizer: Tokenizer::Whitespace, ..Pipeline::default() },
            "code" => Pipeline { tokenizer: Tokenizer::Code, steps: folded(), ..Pipeline::default() },
            "edgeNgram" => Pipeline { grams: Some(EDGE_GRAMS), steps: folded(), ..Pipeline::default() },
            _ => Pipeline { grams: Some(INNER_GRAMS), steps: folded(), ..Pipeline::default() },
        };
        Some(Self::of_pipeline(name.to_owned(), pipeline))
    }

    pub(super) fn of_pipeline(name: String, pipeline: Pipeline) -> Self {
        Self(Arc::new(Inner { name, kind: Kind::Pipeline(pipeline) }))
    }

    pub(super) fn custom(custom: Custom) -> Self {
        Self(Arc::new(Inner { name: custom.name.clone(), kind: Kind::Custom(custom) }))
    }

    /// Its name; of a pipeline that a schema defines, the definition.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether it is one of the caller's own.
    pub fn is_custom(&self) -> bool {
        matches!(self.0.kind, Kind::Custom(_))
    }

    /// Gives the tokens that an index holds of `text` to `sink`, in order of position. Text beyond 4 GiB is ignored.
    /// A custom analyzer that fails gives none; [`Self::take_failure`] says so.
    pub fn analyze(&self, text: &str, mut sink: impl FnMut(Token<'_>)) {
        let text = &text[..text.floor_char_boundary(u32::MAX as usize)];
        match &self.0.kind {
            Kind::Pipeline(pipeline) => pipeline.analyze(text, &mut sink),
            Kind::Custom(custom) => custom.tokens_or_failure(text).iter().for_each(|token| {
                let OwnedToken { ref term, position, start, end, is_stop_word, is_lone_ideograph } = *token;
                sink(Token { term, position, start, end, is_stop_word, is_lone_ideograph });
            }),
        }
    }

    /// The tokens of `text`.
    pub fn tokens(&self, text: &str) -> Vec<OwnedToken> {
        let mut tokens = Vec::new();
        self.analyze(text, |token| tokens.push(token.into()));
        tokens
    }

    /// The tokens of `text`, or why a custom analyzer has none.
    ///
    /// # Errors
    /// What a custom analyzer fails with. Others never do.
    pub fn try_tokens(&self, text: &str) -> Result<Vec<OwnedToken>, AnalyzerError> {
        match &self.0.kind {
            Kind::Pipeline(_) => Ok(self.tokens(text)),
            Kind::Custom(custom) => custom.tokens(text),
        }
    }

    /// The words of a query, in order of position. A custom analyzer that fails gives none; [`Self::take_failure`]
    /// says so.
    pub fn query_words(&self, text: &str) -> Vec<QueryWord> {
        let custom = match &self.0.kind {
            Kind::Pipeline(pipeline) => return pipeline.query_words(text),
            Kind::Custom(custom) => custom,
        };
        let mut words: Vec<QueryWord> = Vec::new();
        for token in custom.tokens_or_failure(text) {
            // Tokens with one position stand for each other.
            if let Some(word) = words.last_mut().filter(|word| word.position == token.position) {
                (word.start, word.end) = (word.start.min(token.start), word.end.max(token.end));
                word.alternatives.push(vec![token]);
                continue;
            }
            let OwnedToken { position, start, end, .. } = token;
            let alternatives = vec![vec![token]];
            let (is_stop_word, is_extra) = (false, false);
            words.push(QueryWord { start, end, position, num_words: 1, is_stop_word, is_extra, alternatives });
        }
        words
    }

    /// Whether words of a query may stand for several words, so that it must see them together.
    pub fn has_synonyms(&self) -> bool {
        matches!(&self.0.kind, Kind::Pipeline(pipeline) if pipeline.synonyms.is_some())
    }

    /// Whether the index holds the beginnings of words, so that a half-typed one is a term.
    pub fn completes_words(&self) -> bool {
        matches!(&self.0.kind, Kind::Pipeline(pipeline) if pipeline.grams.is_some())
    }

    /// The same analyzer, which remembers failures of its own: each search has one.
    pub fn fresh(&self) -> Self {
        match &self.0.kind {
            Kind::Pipeline(_) => self.clone(),
            Kind::Custom(custom) => Self::custom(custom.fresh()),
        }
    }

    /// How a custom analyzer failed last, once.
    pub fn take_failure(&self) -> Option<AnalyzerError> {
        match &self.0.kind {
            Kind::Pipeline(_) => None,
            Kind::Custom(custom) => custom.take_failure(),
        }
    }

    /// Whether [`Self::words`] and [`Normalizer::term`] give the tokens: one per word at most, each by itself.
    pub(crate) fn is_wordwise(&self) -> bool {
        matches!(&self.0.kind, Kind::Pipeline(pipeline) if pipeline.is_wordwise())
    }

    /// Gives the words of `text` as they are written, with their positions: what [`Normalizer::term`] makes of each are
    /// the terms of [`Self::analyze`]. Indexing uses it, since most words were seen before.
    pub(crate) fn words(&self, text: &str, mut sink: impl FnMut(&str, u32)) {
        let text = &text[..text.floor_char_boundary(u32::MAX as usize)];
        let Kind::Pipeline(pipeline) = &self.0.kind else { return };
        if pipeline.tokenizer == Tokenizer::Words {
            // Not through `dyn`: most of the time of indexing goes by here.
            let mut position = 0;
            super::segment::words(text, |word| {
                sink(&text[word.start as usize..word.end as usize], position);
                position += 1;
            });
            return;
        }
        pipeline.words(text, &mut sink);
    }

    /// Terms that a word beginning with `text` may be stemmed to and that do not begin with it themselves: `runnin` on
    /// its way to `running`, which is indexed as `run`. None where the analyzer does not stem.
    pub fn completions(&self, text: &str) -> Vec<String> {
        let Kind::Pipeline(pipeline) = &self.0.kind else { return Vec::new() };
        let Some(stemmer) = pipeline.stemmer() else { return Vec::new() };
        let typed = pipeline.prefix(text);
        let is_word = typed.chars().all(|letter| letter.is_lowercase() || !letter.is_ascii() && letter.is_alphabetic());
        if typed.chars().count() < 4 || typed.len() > 40 || !is_word {
            return Vec::new();
        }
        let is_english = stemmer == Algorithm::English;
        if is_english && !typed.is_ascii() {
            return Vec::new();
        }
        let mut buffers = Buffers::default();
        let mut terms: Vec<String> = Vec::new();
        for ending in if is_english { &COMPLETIONS[..] } else { &COMPLETIONS[..1] } {
            if pipeline.term(&format!("{text}{ending}"), &mut buffers) == Some(false)
                && !buffers.front.starts_with(&typed)
            {
                terms.push(buffers.front.clone());
            }
        }
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// The beginning of a word as terms start with it: folded, not stemmed. Prefix queries use it; empty if `text`
    /// has no letter or digit.
    pub fn prefix(&self, text: &str) -> String {
        match &self.0.kind {
            Kind::Pipeline(pipeline) => pipeline.prefix(text),
            Kind::Custom(custom) => match custom.tokens_or_failure(text).pop() {
                Some(token) => token.term,
                None => fold::fold(text).into_owned(),
            },
        }
    }
}

/// Makes terms of words: the part of an analyzer that depends on nothing but the word.
pub(crate) struct Normalizer {
    analyzer: Analyzer,
    buffers: Buffers,
}

impl Normalizer {
    pub(crate) fn new(analyzer: &Analyzer) -> Self {
        Self { analyzer: analyzer.clone(), buffers: Buffers::default() }
    }

    /// The term of a word and whether it is a stop word; `None` if it gives no term.
    pub(crate) fn term(&mut self, word: &str) -> Option<(&str, bool)> {
        let Kind::Pipeline(pipeline) = &self.analyzer.0.kind else { return None };
        let is_stop_word = pipeline.term(word, &mut self.buffers)?;
        Some((&self.buffers.front, is_stop_word))
    }
}

/// Endings that a half-typed word may get; the first is none.
const COMPLETIONS: [&str; 14] = ["", "g", "ng", "ing", "d", "ed", "s", "es", "e", "y", "ty", "n", "on", "ly"];
