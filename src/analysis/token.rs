//! What an analyzer gives: tokens of a text that is indexed, words of a query.

/// One term and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The term as it is indexed.
    pub term: &'a str,
    /// Number of the word in the text, from 0. Several tokens may share one.
    pub position: u32,
    /// Byte where it starts in the text.
    pub start: u32,
    /// Byte behind its end.
    pub end: u32,
    /// Whether the language calls it a stop word: indexed, but left out of unquoted queries.
    pub is_stop_word: bool,
    /// Whether it is one character of a script without spaces that had no neighbour to make a bigram with, or shorter
    /// than the n-grams of its field. A query takes it as a prefix, since the index holds longer ones.
    pub is_lone_ideograph: bool,
}

/// A [`Token`] that owns its term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedToken {
    /// The term as it is indexed.
    pub term: String,
    /// Number of the word in the text, from 0. Several tokens may share one.
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

impl From<Token<'_>> for OwnedToken {
    fn from(token: Token<'_>) -> Self {
        let Token { term, position, start, end, is_stop_word, is_lone_ideograph } = token;
        Self { term: term.to_owned(), position, start, end, is_stop_word, is_lone_ideograph }
    }
}

/// One word of a query, and all that it may stand for in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryWord {
    /// Byte where it starts in the query.
    pub start: u32,
    /// Byte behind its end.
    pub end: u32,
    /// Number of its first word in the query, from 0.
    pub position: u32,
    /// Words of the query that it covers: more than one where a synonym has several.
    pub num_words: u32,
    /// Whether the language calls it a stop word.
    pub is_stop_word: bool,
    /// Whether it only adds to a score and is never required: an identifier as a whole, whose parts are words too.
    pub is_extra: bool,
    /// Any of these is enough; each is terms with their positions, relative to each other, all of which must match.
    pub alternatives: Vec<Vec<OwnedToken>>,
}
