//! Text to terms: words, folding, stemming, one and the same for indexing and for queries.
//!
//! An [`Analyzer`] is chosen by name; the schema records the name, so that index and query can never disagree.
//!
//! | name | words | case and diacritics | stemming |
//! |---|---|---|---|
//! | `english` (default) | UAX #29, bigrams in CJK and Thai | folded | Snowball English |
//! | `standard` | the same | folded | none |
//! | `keyword` | the whole text is one term | kept | none |
//! | `lowercase` | the whole text is one term | folded | none |
//!
//! Stop words are indexed (so that `"to be or not to be"` is found) and marked: a query leaves them out where it has
//! other words outside quotes. Nothing here fails or panics, whatever the text is.
//!
//! ```
//! use rangefind::analysis::Analyzer;
//!
//! let analyzer = Analyzer::find("english").expect("built in");
//! let tokens = analyzer.tokens("The Crème brûlées, 東京都");
//! let terms: Vec<_> = tokens.iter().map(|token| token.term.as_str()).collect();
//! assert_eq!(terms, ["the", "creme", "brule", "東京", "京都"]);
//! assert!(tokens[0].is_stop_word);
//! assert_eq!((tokens[1].start, tokens[1].end, tokens[1].position), (4, 10, 1));
//! ```
//!
//! [`Analyzer::analyze`] is the form without allocation that indexing uses; a multi-valued text leaves
//! [`VALUE_GAP`] positions between values, so that no phrase crosses from one to the next.

#![forbid(unsafe_code)]

mod analyzer;
mod fold;
mod segment;
mod stop_words;

pub(crate) use analyzer::Normalizer;
pub use analyzer::{Analyzer, MAX_WORD_BYTES, OwnedToken, Token, VALUE_GAP};
pub use fold::fold;
