//! From ranked documents to hits: stored documents, selected fields, highlights.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    ask::Ask,
    batch::{Batch, Fetched, Slot},
    flow::{Ranked, Search},
    snippet::highlight,
};
use crate::{
    analysis::Analyzer,
    docstore::{DocIdsPlan, DocPlan},
    error::{Error, ErrorKind, Result},
    ids::{DocAddress, DocId, FieldOrd},
    query::{
        Highlighter,
        request::{Explanation, FieldHighlight, Hit, SearchRequest},
    },
    schema::Metric,
    segment::SectionKind,
    storage::File,
};

/// Stored documents of one segment, or their ids alone, that were asked for.
pub(super) struct StoredPlan {
    segment: usize,
    plan: Plan,
    slots: Vec<Slot>,
}

enum Plan {
    Documents(DocPlan),
    Ids(DocIdsPlan),
}

/// What was read of one hit.
struct Stored {
    id: DocId,
    /// `None` where the id is all that the hit needs.
    json: Option<String>,
}

/// Asks for the blocks of the hits' stored documents, or of their ids where the hits show nothing else.
pub(super) fn want_documents<F: File>(
    search: &Search<'_, F>,
    request: &SearchRequest,
    page: &[Ranked],
    batch: &mut Batch,
) -> Result<Vec<StoredPlan>> {
    let selects_nothing = request.select.as_ref().is_some_and(Vec::is_empty) && search.ask.highlights.is_empty();
    let mut plans = Vec::new();
    for (ix, segment) in search.segments.iter().enumerate() {
        let here = page.iter().map(|one| one.address).filter(|address| address.segment.0 as usize == ix);
        let docs: Vec<_> = here.map(|address| address.doc).collect();
        if docs.is_empty() {
            continue;
        }
        let segment = &segment.segment;
        let missing = || Error::new(ErrorKind::Corrupt, format!("segment {} has no stored documents", segment.id()));
        let at = |error| Error::from(error).at(format!("segment {}", segment.id()));
        let (plan, kind, ranges) = match segment.doc_ids().filter(|_| selects_nothing) {
            Some(index) => {
                let plan = index.plan(&docs).map_err(at)?;
                let ranges = plan.ranges(index);
                (Plan::Ids(plan), SectionKind::DocIds, ranges)
            }
            None => {
                let index = segment.docs().ok_or_else(missing)?;
                let plan = index.plan(&docs).map_err(at)?;
                let ranges = plan.ranges(index);
                (Plan::Documents(plan), SectionKind::Docs, ranges)
            }
        };
        let slots = ranges.into_iter().map(|range| batch.push(ix, kind, FieldOrd(0), range)).collect();
        plans.push(StoredPlan { segment: ix, plan, slots });
    }
    Ok(plans)
}

/// The hits of the page, in order.
pub(super) fn build<F: File>(
    search: &Search<'_, F>,
    request: &SearchRequest,
    page: &[Ranked],
    stored: &[StoredPlan],
    fetched: &Fetched,
    explain: impl Fn(&Ranked) -> Result<Explanation>,
) -> Result<Vec<Hit>> {
    let mut documents: Vec<Vec<Stored>> = Vec::new();
    documents.resize_with(search.segments.len(), Vec::new);
    for plan in stored {
        let segment = &search.segments[plan.segment].segment;
        let buffers: Vec<_> = plan.slots.iter().map(|&slot| fetched.get(slot).cloned()).collect::<Result<_>>()?;
        let found = match (&plan.plan, segment.docs(), segment.doc_ids()) {
            (Plan::Documents(plan), Some(index), _) => plan.decode(index, &buffers).map(|found| {
                found.into_iter().map(|one| Stored { id: one.id, json: Some(one.json) }).collect::<Vec<_>>()
            }),
            (Plan::Ids(plan), _, Some(index)) => {
                let ids = plan.decode(index, &buffers);
                ids.map(|ids| ids.into_iter().map(|id| Stored { id, json: None }).collect())
            }
            _ => continue,
        };
        let mut found = found.map_err(|error| Error::from(error).at(format!("segment {}", segment.id())))?;
        // Taken from the end, in page order.
        found.reverse();
        documents[plan.segment] = found;
    }
    let markers = markers(search.ask);
    let select = request.select.as_ref().map(|names| names.iter().map(String::as_str).collect::<BTreeSet<_>>());
    page.iter()
        .map(|one| {
            let missing = || Error::new(ErrorKind::Corrupt, format!("{:?} was not read", one.address));
            let stored = documents[one.address.segment.0 as usize].pop().ok_or_else(missing)?;
            let mut doc = stored.json.map_or_else(|| Ok(Map::new()), |json| parse(&json, one.address))?;
            let highlights = markers.iter().flat_map(|marker| marker.mark(&doc)).collect();
            if let Some(select) = &select {
                doc.retain(|name, _| select.contains(name.as_str()));
            }
            Ok(Hit {
                id: stored.id,
                score: one.score,
                text_score: one.text,
                vector_score: one.vector,
                doc,
                highlights,
                explain: request.explain.then(|| explain(one)).transpose()?,
                group: None,
                inner: Vec::new(),
            })
        })
        .collect()
}

fn parse(json: &str, address: DocAddress) -> Result<Map<String, Value>> {
    let at = || format!("stored document {} of segment {}", address.doc.0, address.segment.0);
    serde_json::from_str(json).map_err(|error| Error::corrupt(at(), error))
}

/// Marks matches in one field.
struct Marker<'a> {
    name: &'a str,
    analyzer: Analyzer,
    highlighter: Highlighter,
}

fn markers(ask: &Ask) -> Vec<Marker<'_>> {
    let Some(query) = &ask.query else { return Vec::new() };
    ask.highlights
        .iter()
        .map(|(field, name, analyzer)| Marker {
            name,
            analyzer: analyzer.clone(),
            highlighter: query.highlighter(*field),
        })
        .filter(|marker| !marker.highlighter.is_empty())
        .collect()
}

impl Marker<'_> {
    fn mark(&self, doc: &Map<String, Value>) -> Vec<FieldHighlight> {
        let values = match doc.get(self.name) {
            Some(Value::Array(list)) => list.as_slice(),
            Some(single) => std::slice::from_ref(single),
            None => &[],
        };
        let texts = values.iter().enumerate().filter_map(|(ix, value)| Some((ix as u32, value.as_str()?)));
        texts
            .filter_map(|(ix, text)| highlight(self.name, ix, text, &self.highlighter.mark(&self.analyzer, text)))
            .collect()
    }
}

/// How a metric's score is made, in words.
pub(super) fn metric_words(metric: Metric) -> &'static str {
    match metric {
        Metric::Cosine => "(1 + cosine similarity) / 2",
        Metric::Dot => "(1 + dot product) / 2",
        Metric::L2 => "1 / (1 + squared Euclidean distance)",
    }
}
