//! The query tree.

use crate::{
    ids::FieldOrd,
    query::{ColumnQuery, FunctionQuery, Highlighter, MoreLikeQuery},
    terms::TermPattern,
};

/// What documents to find and how to score them. Nests freely.
#[derive(Debug, Clone, PartialEq)]
pub enum Query {
    /// Every document, score 1.
    All,
    /// No document.
    None,
    /// Documents with a term, scored by BM25.
    Term {
        /// Where to look.
        field: FieldOrd,
        /// The term as it is indexed.
        term: Vec<u8>,
    },
    /// Documents with terms at given places.
    Phrase(PhraseQuery),
    /// Documents with terms at given places, the last of them only begun.
    PhrasePrefix(PhrasePrefixQuery),
    /// Documents with a term that fits a pattern.
    Pattern {
        /// Where to look.
        field: FieldOrd,
        /// Which terms, as they are indexed.
        pattern: TermPattern,
        /// How matches are scored.
        scoring: PatternScoring,
    },
    /// Conditions on other queries.
    Boolean(BooleanQuery),
    /// The best of several queries: the highest score, plus `tie_breaker` times the others.
    DisMax {
        /// The queries.
        queries: Vec<Query>,
        /// Share of the scores that are not the highest, 0–1.
        tie_breaker: f32,
    },
    /// Matches of a query with its score times a factor.
    Boost(Box<Query>, f32),
    /// Matches of a query with one score for all.
    Constant(Box<Query>, f32),
    /// Matches of a query, scored by a function of a column.
    Function(FunctionQuery),
    /// Documents like another one. A plan takes it for no document: see [`Query::each_more_like`].
    MoreLike(Box<MoreLikeQuery>),
    /// Documents whose column fulfils a condition; score 1.
    Column(ColumnQuery),
    /// Documents in the bit set of this number in [`crate::query::SegmentFilter::sets`]; score 0.
    Filter(u32),
}

/// How the terms of a pattern score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PatternScoring {
    /// As one term: frequencies are summed, the document frequency is that of the most frequent one. Very broad patterns
    /// (more than 65,536 postings) score as a term of frequency 1 in a document of average length. Of a fuzzy pattern
    /// each term scores for itself, by 1 - edits / length, those that are edits away with the document frequency of the
    /// most frequent one.
    #[default]
    Blended,
    /// 1 for every match.
    Constant,
}

/// Terms at given places.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PhraseQuery {
    /// Where to look; a field with positions.
    pub field: FieldOrd,
    /// Terms and their places relative to each other, ascending.
    pub terms: Vec<(u32, Vec<u8>)>,
    /// How far terms may be from their places, summed up as the extent of their shifts. 0: exact.
    pub slop: u32,
}

/// Terms at given places, and behind them one that is only begun: what is being typed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PhrasePrefixQuery {
    /// The terms in front; at least one.
    pub phrase: PhraseQuery,
    /// Place of the last term, and how it begins.
    pub last: (u32, Vec<u8>),
    /// Terms that it stands for at most, over all segments, those in the most documents.
    pub max_expansions: u32,
}

/// Conditions on other queries. Without any positive clause it matches nothing, except that `must_not` alone matches
/// every other document.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BooleanQuery {
    /// All of these match; their scores add up.
    pub must: Vec<Query>,
    /// At least `min_should_match` of these match; their scores add up.
    pub should: Vec<Query>,
    /// None of these matches.
    pub must_not: Vec<Query>,
    /// All of these match, without a score.
    pub filter: Vec<Query>,
    /// How many of `should` have to match; at least one where there is neither `must` nor `filter`.
    pub min_should_match: u32,
}

impl Query {
    /// Documents with a term that starts with `prefix`, scored as one term.
    pub fn prefix(field: FieldOrd, prefix: impl Into<Vec<u8>>) -> Self {
        Self::Pattern { field, pattern: TermPattern::Prefix(prefix.into()), scoring: PatternScoring::Blended }
    }

    /// What to mark in texts of `field`.
    pub fn highlighter(&self, field: FieldOrd) -> Highlighter {
        Highlighter::new(self, field)
    }

    /// Whether it can match nothing, seen from the tree alone.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}
