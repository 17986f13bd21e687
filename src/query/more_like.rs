//! Documents like a given one or a text: which of its terms are searched for.
//!
//! As Lucene's `MoreLikeThis`: terms are ranked by `tf * idf`, the best of them become a union, of which some must match.
//! A query tree holds the question ([`MoreLikeQuery`]); whoever runs it looks up the document and the frequencies and puts
//! the union in its place before planning.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use crate::{
    ids::{DocId, FieldOrd},
    query::{BooleanQuery, ColumnQuery, ColumnTest, ParseField, Query, bm25, structured::MinShould},
    topk::order,
};

/// Distinct terms whose document frequencies are looked up, the most frequent in the text.
const MAX_CANDIDATES: usize = 2048;
/// The id field.
const ID_FIELD: FieldOrd = FieldOrd(0);

/// What documents are to be like.
#[derive(Debug, Clone, PartialEq)]
pub enum Like {
    /// A document of the index, which is not found itself.
    Id(DocId),
    /// A text, as if it were in each of the fields.
    Text(String),
}

/// Documents like another one.
#[derive(Debug, Clone, PartialEq)]
pub struct MoreLikeQuery {
    /// Where terms are taken from and searched.
    pub fields: Vec<ParseField>,
    /// What to be like.
    pub like: Like,
    /// Terms that are searched, the best ones.
    pub max_query_terms: u32,
    /// Occurrences in the document that a term needs.
    pub min_term_freq: u32,
    /// Documents of the index that a term must be in.
    pub min_doc_freq: u64,
    /// Documents of the index that a term may be in; `None`: any number.
    pub max_doc_freq: Option<u64>,
    pub(super) min_should: MinShould,
}

/// A term of the document.
#[derive(Debug, Clone, PartialEq)]
pub struct MoreLikeTerm {
    /// Position of its field in [`MoreLikeQuery::fields`].
    pub field_ix: usize,
    /// The term as it is indexed.
    pub term: Vec<u8>,
    /// Occurrences in the document.
    pub freq: u32,
}

impl MoreLikeQuery {
    /// Terms of `texts` (pairs of a field's position and a text) that may be searched, the most frequent ones. Stop words
    /// are none.
    pub fn terms<'t>(&self, texts: impl IntoIterator<Item = (usize, &'t str)>) -> Vec<MoreLikeTerm> {
        let mut freqs = BTreeMap::<(usize, Vec<u8>), u32>::new();
        for (field_ix, text) in texts {
            let Some(field) = self.fields.get(field_ix) else { continue };
            field.analyzer.analyze(text, |token| {
                if !token.is_stop_word && !token.is_lone_ideograph {
                    *freqs.entry((field_ix, token.term.as_bytes().to_vec())).or_default() += 1;
                }
            });
        }
        let terms = freqs.into_iter().filter(|(_, freq)| *freq >= self.min_term_freq);
        let mut terms: Vec<_> = terms.map(|((field_ix, term), freq)| MoreLikeTerm { field_ix, term, freq }).collect();
        order::by_largest(&mut terms, |term| term.freq.into());
        terms.truncate(MAX_CANDIDATES);
        terms
    }

    /// The query for those of `terms` that tell the document apart. Each comes with its document frequency and the number
    /// of documents that have its field.
    pub fn query(&self, terms: Vec<(MoreLikeTerm, u64, u64)>) -> Query {
        let fits = |doc_freq: u64| {
            doc_freq >= self.min_doc_freq.max(1) && self.max_doc_freq.is_none_or(|most| doc_freq <= most)
        };
        let mut ranked: Vec<(f32, MoreLikeTerm)> = terms
            .into_iter()
            .filter(|(_, doc_freq, _)| fits(*doc_freq))
            .map(|(term, doc_freq, num_docs)| (term.freq as f32 * bm25::idf(doc_freq, num_docs), term))
            .collect();
        order::by(&mut ranked, |a, b| b.0.total_cmp(&a.0).then_with(|| a.1.term.cmp(&b.1.term)));
        ranked.truncate(self.max_query_terms as usize);
        let should: Vec<Query> = ranked
            .into_iter()
            .filter_map(|(_, term)| {
                let field = self.fields.get(term.field_ix)?;
                let query = Query::Term { field: field.field, term: term.term };
                Some(super::parse::words::boosted(query, field.boost))
            })
            .collect();
        if should.is_empty() {
            return Query::None;
        }
        let min_should_match = self.min_should.of(should.len()).max(1);
        let must_not = match &self.like {
            Like::Id(id) => {
                vec![Query::Column(ColumnQuery { field: ID_FIELD, test: ColumnTest::Ids(vec![id.clone()]) })]
            }
            Like::Text(_) => Vec::new(),
        };
        Query::Boolean(BooleanQuery { should, must_not, min_should_match, ..BooleanQuery::default() })
    }
}

impl Query {
    /// Visits every [`Query::MoreLike`] of the tree, from left to right, to put something in its place.
    pub fn each_more_like(&mut self, each: &mut dyn FnMut(&mut Query)) {
        match self {
            Self::MoreLike(_) => each(self),
            Self::Boolean(boolean) => {
                let BooleanQuery { must, should, must_not, filter, .. } = boolean;
                [must, should, must_not, filter].into_iter().flatten().for_each(|query| query.each_more_like(each));
            }
            Self::DisMax { queries, .. } => queries.iter_mut().for_each(|query| query.each_more_like(each)),
            Self::Boost(query, _) | Self::Constant(query, _) => query.each_more_like(each),
            Self::Function(function) => function.query.each_more_like(each),
            _ => {}
        }
    }
}
