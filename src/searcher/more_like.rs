//! Looks up what "more like this" asks about, and puts unions of terms in its place.

#![forbid(unsafe_code)]

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{batch::Batch, flow::Search};
use crate::{
    error::{Error, ErrorKind, Result},
    ids::{DocId, FieldOrd},
    index::get::get_documents,
    query::{Like, MoreLikeQuery, MoreLikeTerm, Query},
    segment::SectionKind,
    storage::File,
    terms,
};

impl<F: File> Search<'_, F> {
    /// The query with every [`Query::MoreLike`] replaced; `None` if it has none. Stored documents and dictionary blocks of
    /// their terms are read: three waves more.
    pub(super) async fn replace_more_like(&self) -> Result<Option<Query>> {
        let Some(mut query) = self.ask.query.clone() else { return Ok(None) };
        let mut asked: Vec<MoreLikeQuery> = Vec::new();
        query.each_more_like(&mut |place| {
            if let Query::MoreLike(one) = place {
                asked.push((**one).clone());
            }
        });
        if asked.is_empty() {
            return Ok(None);
        }
        let ids: Vec<DocId> = asked
            .iter()
            .filter_map(|one| match &one.like {
                Like::Id(id) => Some(id.clone()),
                Like::Text(_) => None,
            })
            .collect();
        self.cancel.check()?;
        let mut documents = self.trace.wave(get_documents(self.segments, &ids)).await?.into_iter();
        let mut found: Vec<Vec<MoreLikeTerm>> = Vec::with_capacity(asked.len());
        for one in &asked {
            found.push(match &one.like {
                Like::Text(text) => one.terms((0..one.fields.len()).map(|ix| (ix, text.as_str()))),
                Like::Id(id) => {
                    let missing = || Error::new(ErrorKind::NotFound, format!("moreLikeThis {id}: no such document"));
                    let stored = documents.next().flatten().ok_or_else(missing)?;
                    let json: Map<String, Value> = serde_json::from_str(&stored.json)
                        .map_err(|error| Error::corrupt(format!("stored document {id}"), error))?;
                    let texts = one.fields.iter().enumerate().flat_map(|(ix, field)| {
                        let values = match json.get(&field.name) {
                            Some(Value::Array(list)) => list.as_slice(),
                            Some(single) => std::slice::from_ref(single),
                            None => &[],
                        };
                        values.iter().filter_map(Value::as_str).map(move |text| (ix, text))
                    });
                    one.terms(texts)
                }
            });
            for field in &one.fields {
                if let Some(error) = field.analyzer.take_failure() {
                    return Err(Error::invalid(format!("moreLikeThis, field {:?}: {error}", field.name)));
                }
            }
        }
        let all: Vec<(FieldOrd, &[u8])> = asked
            .iter()
            .zip(&found)
            .flat_map(|(one, terms)| terms.iter().map(|term| (one.fields[term.field_ix].field, term.term.as_slice())))
            .collect();
        let mut doc_freqs = self.doc_freqs(&all).await?.into_iter();
        let mut queries = Vec::with_capacity(asked.len());
        for (one, terms) in asked.iter().zip(found) {
            let weighed = terms.into_iter().map(|term| {
                let num_docs = self.num_docs_with(one.fields[term.field_ix].field);
                (term, doc_freqs.next().unwrap_or(0), num_docs)
            });
            queries.push(one.query(weighed.collect()));
        }
        let mut queries = queries.into_iter();
        query.each_more_like(&mut |place| *place = queries.next().unwrap_or(Query::None));
        Ok(Some(query))
    }

    /// Documents of all segments that have a field.
    fn num_docs_with(&self, field: FieldOrd) -> u64 {
        let indexes = self.segments.iter().filter_map(|segment| segment.segment.terms(field));
        indexes.map(|index| index.totals().doc_count).sum()
    }

    /// Documents of all segments with each of some terms. One wave: each dictionary block once.
    async fn doc_freqs(&self, wanted: &[(FieldOrd, &[u8])]) -> Result<Vec<u64>> {
        let (mut batch, mut slots, mut uses) = (Batch::default(), HashMap::new(), Vec::new());
        for (ix, segment) in self.segments.iter().enumerate() {
            for (at, &(field, term)) in wanted.iter().enumerate() {
                let Some(index) = segment.segment.terms(field) else { continue };
                let Some(range) = index.locate(term) else { continue };
                let slot = *slots
                    .entry((ix, field, range.start))
                    .or_insert_with(|| batch.push(ix, SectionKind::Terms, field, range));
                uses.push((at, ix, index.options(), slot));
            }
        }
        let mut doc_freqs = vec![0; wanted.len()];
        if batch.is_empty() {
            return Ok(doc_freqs);
        }
        let fetched = self.read(&batch).await?;
        for (at, ix, options, slot) in uses {
            let damaged = |error| Error::corrupt(format!("terms of segment {}", self.segments[ix].segment.id()), error);
            let info = terms::find(options, fetched.get(slot)?, wanted[at].1).map_err(damaged)?;
            doc_freqs[at] += info.map_or(0, |info| u64::from(info.doc_freq));
        }
        Ok(doc_freqs)
    }
}
