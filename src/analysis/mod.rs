//! Text to terms.
//!
//! An [`Analyzer`] is chosen by name, or defined as a pipeline ([`AnalyzerSpec`]); the schema records either, so that
//! index and query can never disagree.
//!
//! | name | words | case and diacritics | besides |
//! |---|---|---|---|
//! | `english` (default) | UAX #29, bigrams in scripts without spaces | folded | Snowball stemmer, stop words |
//! | `german`, `french`, … ([`Analyzer::names`]; also `de`, `fr`) | the same | stemmed, then folded | Snowball stemmer, stop words, elision, spelling |
//! | `standard` (also `zh`, `ja`, `ko`, `th`, `lo`, `km`, `my`) | the same | folded | |
//! | `vietnamese` (also `vi`) | the same | NFKC, lower case, marks kept | |
//! | `code` | identifiers, their parts | folded | |
//! | `edgeNgram`, `ngram` | as `standard` | folded | beginnings of 1–12, parts of 2–3 characters |
//! | `whitespace` | between white space | kept | |
//! | `keyword`, `lowercase` | the whole text is one term | kept, folded | |
//!
//! Chinese, Japanese, Korean (Han, Kana, Hangul), Thai, Lao, Khmer and Burmese become bigrams in each of them that cuts
//! by UAX #29, whatever scripts a text mixes.
//!
//! Stop words are indexed (so that `"to be or not to be"` is found) and marked: a query leaves them out where it has
//! other words outside quotes. Nothing here panics, whatever the text is; only a [`CustomAnalyzer`] can fail.
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
//! [`Analyzer::analyze`] gives what an index holds of a text, [`Analyzer::query_words`] what a query looks for; a
//! multi-valued text leaves [`VALUE_GAP`] positions between values, so that no phrase crosses from one to the next.

#![forbid(unsafe_code)]

mod analyzer;
mod code;
mod custom;
mod definition;
mod fold;
mod grams;
mod languages;
mod normal;
mod pipeline;
mod segment;
mod stop_lists;
mod stop_words;
mod synonyms;
#[cfg(test)]
mod tests;
mod token;

pub(crate) use analyzer::Normalizer;
pub use analyzer::{Analyzer, MAX_TERM_BYTES, MAX_WORD_BYTES, VALUE_GAP};
pub use custom::{CustomAnalyzer, CustomAnalyzers, CustomToken};
pub use definition::{AnalyzerError, AnalyzerSpec};
pub use fold::fold;
pub(crate) use normal::is_mark;
pub use token::{OwnedToken, QueryWord, Token};
