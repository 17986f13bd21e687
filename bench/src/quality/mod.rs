//! Ranking quality on judged queries: scifact (Wadden et al., 2020) as BEIR cuts it, indexed and searched by the
//! engine as a caller would.
//!
//! [`languages`] does the same for twelve more.
//!
//! The text leg alone, the vector leg alone and both fused, by normalised discounted cumulative gain at 10. The data
//! lie in `$RANGEFIND_DATA`, or in `../shared/data` beside the repository.

pub(crate) mod data;
mod languages;
mod ndcg;

use rangefind::{
    engine::{DocumentBatch, FieldVectors, Index, OpenMode, OpenOptions, SearchRequest},
    ids::DocId,
    platform::{Cancel, block_on},
    query::request::VectorClause,
    schema::{Field, FieldKind, Metric, Schema, TextOptions, VectorOptions},
    storage::memory::MemoryStorage,
};
use serde_json::{Value, json};

use crate::{Effort, report::Row};
use data::Judged;

/// Hits judged per query.
const DEPTH: u32 = 10;

/// Key, least nDCG@10 that is good enough, what others publish for the same data.
const GOALS: [(&str, f64, &str); 3] = [
    ("ndcg10-scifact-bm25", 0.67, "published: BM25 of Anserini 0.679"),
    ("ndcg10-scifact-minilm", 0.64, "published: all-MiniLM-L6-v2 0.645"),
    ("ndcg10-scifact-rrf", 0.71, "reference: exact RRF of both 0.719"),
];

/// A field that holds title and text as one, as the published figures do.
const TEXT: &str = "contents";
const VECTOR: &str = "embedding";

/// Measures all three rankings, then the languages.
pub fn run(effort: Effort) -> Vec<Row> {
    let judged = Judged::load("scifact").unwrap_or_else(|error| panic!("scifact: {error}"));
    let index = block_on(build(&judged));
    let means =
        [mean(&judged, &index, true, false), mean(&judged, &index, false, true), mean(&judged, &index, true, true)];
    GOALS
        .into_iter()
        .zip(means)
        .map(|((key, goal, published), ours)| {
            let note = format!("{} queries over {} documents; {published}", judged.queries.len(), judged.docs.len());
            Row::larger_is_better(key, ours, "nDCG@10", "goal", goal).goal(1.0).note(note)
        })
        .chain(languages::rows(effort))
        .collect()
}

async fn build(judged: &Judged) -> Index<MemoryStorage> {
    let field = |name: &str, kind| Field { name: name.to_owned(), kind };
    let schema = Schema::new([
        field(TEXT, FieldKind::Text(TextOptions::default())),
        field(VECTOR, FieldKind::Vector(VectorOptions::new(judged.dims, Metric::Cosine))),
    ]);
    let options = OpenOptions { mode: OpenMode::Create, schema: Some(schema), ..OpenOptions::default() };
    let index = Index::open(MemoryStorage::new(), options).await.expect("a new index in memory");
    let rows: Vec<Value> = judged.docs.iter().map(|doc| json!({ "id": doc.id, TEXT: doc.text })).collect();
    let vectors = FieldVectors { field: VECTOR.to_owned(), values: judged.doc_vectors.clone(), counts: None };
    let report = index.add(DocumentBatch::from_values(rows).with_vectors(vectors)).await.expect("room in memory");
    assert!(report.refused.is_empty(), "refused: {:?}", report.refused.first());
    index.commit().await.expect("room in memory");
    index
}

/// Mean nDCG@10 over all judged queries.
fn mean(judged: &Judged, index: &Index<MemoryStorage>, text: bool, vector: bool) -> f64 {
    let dims = judged.dims as usize;
    let gains: Vec<f64> = judged
        .queries
        .iter()
        .zip(judged.query_vectors.chunks_exact(dims))
        .map(|(query, value)| {
            let request = SearchRequest {
                query: text.then(|| query.text.clone().into()),
                vector: vector.then(|| VectorClause {
                    field: VECTOR.to_owned(),
                    value: Some(value.to_vec()),
                    ..VectorClause::default()
                }),
                select: Some(Vec::new()),
                limit: Some(DEPTH),
                ..SearchRequest::default()
            };
            let response = block_on(index.search(&request, &Cancel::new())).expect("a plain query is never an error");
            let ranked: Vec<String> = response.hits.iter().map(|hit| plain(&hit.id)).collect();
            ndcg::ndcg(&ranked, &judged.relevant[&query.id], DEPTH as usize)
        })
        .collect();
    gains.iter().sum::<f64>() / gains.len() as f64
}

fn plain(id: &DocId) -> String {
    id.to_string()
}
