//! Analyzers that the caller brings, known to an index by their name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
};

use crate::analysis::{Analyzer, AnalyzerError, MAX_TERM_BYTES, OwnedToken};

/// Positions stay below this: room for [`crate::analysis::VALUE_GAP`] and many values.
const MAX_POSITION: u32 = 1 << 28;

/// Makes tokens of a text. Indexing and searching both use it, so it must always answer alike for one text.
pub trait CustomAnalyzer: Debug + Send + Sync {
    /// The tokens of `text`, in any order.
    ///
    /// # Errors
    /// Why not, in words: the document is refused, or the search fails.
    fn analyze(&self, text: &str) -> Result<Vec<CustomToken>, String>;
}

/// One token of a [`CustomAnalyzer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomToken {
    /// The term, as it is indexed and looked for; not empty, at most 32,766 bytes.
    pub term: String,
    /// Number of the word, from 0. Tokens with one position stand for each other.
    pub position: u32,
    /// Byte where it starts in the text.
    pub start: u32,
    /// Byte behind its end; equal to `start` if no part of the text shows it.
    pub end: u32,
}

impl CustomToken {
    /// Tokens of `terms`, word after word. A term that `text` spells alike, or in another case of ASCII, is said to
    /// come from there.
    pub fn in_order(text: &str, terms: impl IntoIterator<Item = String>) -> Vec<Self> {
        /// How far ahead a term is looked for: work stays proportional to the text.
        const WINDOW_BYTES: usize = 4096;
        let lower = text.to_ascii_lowercase();
        let mut from = 0usize;
        let terms = terms.into_iter().enumerate();
        terms
            .map(|(ix, term)| {
                let window = &lower[from..lower.floor_char_boundary(from.saturating_add(WINDOW_BYTES))];
                let found = window.find(&term.to_ascii_lowercase()).filter(|_| !term.is_empty());
                let start = from + found.unwrap_or(0);
                let end = start + found.map_or(0, |_| term.len());
                from = end;
                Self { term, position: ix as u32, start: start as u32, end: end as u32 }
            })
            .collect()
    }
}

/// The custom analyzers that an index is opened with, by name.
#[derive(Debug, Clone, Default)]
pub struct CustomAnalyzers(BTreeMap<String, Arc<dyn CustomAnalyzer>>);

impl CustomAnalyzers {
    /// Adds `analyzer` under `name`, which a schema may use from now on.
    ///
    /// # Errors
    /// If the name is empty, longer than 256 bytes, or one of a built-in analyzer.
    pub fn insert(&mut self, name: &str, analyzer: Arc<dyn CustomAnalyzer>) -> Result<(), AnalyzerError> {
        const MAX_NAME_BYTES: usize = 256;
        if name.is_empty() || name.len() > MAX_NAME_BYTES || Analyzer::find(name).is_some() {
            let what = format!("a custom analyzer cannot be called {name:?}");
            return Err(AnalyzerError::Definition { what });
        }
        self.0.insert(name.to_owned(), analyzer);
        Ok(())
    }

    /// The analyzer called `name`.
    pub fn get(&self, name: &str) -> Option<Analyzer> {
        self.0.get(name).map(|function| Analyzer::custom(Custom::new(name.to_owned(), Arc::clone(function))))
    }
}

/// A custom analyzer at work, and how it failed.
#[derive(Debug)]
pub(super) struct Custom {
    pub name: String,
    function: Arc<dyn CustomAnalyzer>,
    failure: Mutex<Option<AnalyzerError>>,
}

impl Custom {
    fn new(name: String, function: Arc<dyn CustomAnalyzer>) -> Self {
        Self { name, function, failure: Mutex::new(None) }
    }

    /// The same, which has not failed yet.
    pub fn fresh(&self) -> Self {
        Self::new(self.name.clone(), Arc::clone(&self.function))
    }

    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function, &other.function)
    }

    /// The tokens of `text` by position, those with equal positions and terms once.
    pub fn tokens(&self, text: &str) -> Result<Vec<OwnedToken>, AnalyzerError> {
        let failed = |reason: String| AnalyzerError::Failed { name: self.name.clone(), reason };
        let mut tokens = self.function.analyze(text).map_err(failed)?;
        for token in &tokens {
            let CustomToken { term, position, start, end } = token;
            if term.is_empty() || term.len() > MAX_TERM_BYTES {
                return Err(failed(format!("a term of {} bytes, 1 to {MAX_TERM_BYTES} are possible", term.len())));
            }
            if *position >= MAX_POSITION {
                return Err(failed(format!("term {term:?} has position {position}, at most {MAX_POSITION}")));
            }
            if start > end || text.get(*start as usize..*end as usize).is_none() {
                return Err(failed(format!("term {term:?} is no part of the text: {start} to {end}")));
            }
        }
        tokens.sort_by_key(|token| token.position);
        let mut kept: Vec<OwnedToken> = Vec::with_capacity(tokens.len());
        // Terms at one position: there may be as many as tokens.
        let mut here = BTreeSet::new();
        for CustomToken { term, position, start, end } in tokens {
            if kept.last().is_none_or(|last| last.position != position) {
                here.clear();
            }
            if here.insert(term.clone()) {
                let (is_stop_word, is_lone_ideograph) = (false, false);
                kept.push(OwnedToken { term, position, start, end, is_stop_word, is_lone_ideograph });
            }
        }
        Ok(kept)
    }

    /// As [`Self::tokens`]; a failure gives none and is remembered.
    pub fn tokens_or_failure(&self, text: &str) -> Vec<OwnedToken> {
        self.tokens(text).unwrap_or_else(|error| {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Vec::new()
        })
    }

    pub fn take_failure(&self) -> Option<AnalyzerError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
