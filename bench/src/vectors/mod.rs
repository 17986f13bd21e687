//! Vector search on real sets: recall against time, build time, bytes.
//!
//! `RANGEFIND_VECTOR_SETS` names the sets, `wordnet_minilm,fashion_mnist` by default.

mod data;

use std::{hint::black_box, time::Instant};

use rangefind::{
    engine::{Cancel, DocumentBatch, FieldVectors, Index, OpenOptions},
    ids::DocId,
    platform::block_on,
    query::request::SearchRequest,
    schema::Schema,
    storage::MemoryStorage,
};
use serde_json::{Value, json};

use self::data::Set;
use crate::{Effort, report::Row};

/// Vectors of a batch.
const BATCH: usize = 2000;

/// Runs the suite.
pub fn run(effort: Effort) -> Vec<Row> {
    let names = std::env::var("RANGEFIND_VECTOR_SETS").unwrap_or_else(|_| "wordnet_minilm,fashion_mnist".to_owned());
    names.split(',').flat_map(|name| of_set(name, effort)).collect()
}

fn of_set(name: &str, effort: Effort) -> Vec<Row> {
    let mut set = Set::load(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    if effort == Effort::Quick {
        set.queries.truncate(200 * set.dims);
    }
    let started = Instant::now();
    let index = block_on(build(&set));
    let build_seconds = started.elapsed().as_secs_f64();
    let info = index.info().expect("just built");
    let raw = (set.base.len() * 4) as f64;
    eprintln!("{name}: built in {build_seconds:.1} s, {} bytes", info.bytes);
    let mut rows = vec![
        Row::smaller_is_better(&format!("native-build-{name}"), build_seconds, "s", "none", f64::NAN),
        Row::smaller_is_better(&format!("file-vs-raw-{name}"), info.bytes as f64 / raw, "x", "raw f32", 1.0),
    ];
    let mut clauses = vec![json!({}), json!({ "recall": 0.9 }), json!({ "recall": 0.99 })];
    for probes in [16, 32, 64, 128, 256, 512] {
        clauses.extend([5, 10, 20].map(|times| json!({ "probes": probes, "oversample": times })));
    }
    clauses.push(json!({ "exact": true }));
    for clause in clauses {
        let measured = block_on(measure(&index, &set, &clause));
        let label = format!("{name} {clause}");
        eprintln!(
            "{label}: recall@10 {:.4}, {:.0}/s, {:.0} cells, {:.0} codes, {:.0} rows",
            measured.recall, measured.rate, measured.cells, measured.codes, measured.rows
        );
        let row = Row::larger_is_better(&format!("qps {label}"), measured.rate, "1/s", "none", f64::NAN);
        rows.push(row.note(format!("recall@10 {:.4}", measured.recall)));
    }
    rows
}

async fn build(set: &Set) -> Index<MemoryStorage> {
    let schema = json!({ "v": { "type": "vector", "dims": set.dims, "metric": set.metric } });
    let options = OpenOptions {
        schema: Some(Schema::from_json(&schema).expect("a schema")),
        memory_bytes: 4 << 30,
        ..OpenOptions::default()
    };
    let index = Index::open(MemoryStorage::new(), options).await.expect("a new index");
    for (ix, values) in set.base.chunks(BATCH * set.dims).enumerate() {
        let count = values.len() / set.dims;
        let docs = (0..count).map(|doc| json!({ "id": ix * BATCH + doc })).collect();
        let vectors = FieldVectors { field: "v".to_owned(), values: values.to_vec(), counts: None };
        index.add(DocumentBatch::from_values(docs).with_vectors(vectors)).await.expect("room");
    }
    index.commit().await.expect("room");
    index
}

struct Measured {
    recall: f64,
    rate: f64,
    cells: f64,
    codes: f64,
    rows: f64,
}

async fn measure(index: &Index<MemoryStorage>, set: &Set, clause: &Value) -> Measured {
    let queries: Vec<SearchRequest> = set
        .queries
        .chunks_exact(set.dims)
        .map(|query| {
            let mut clause = clause.clone();
            clause["field"] = json!("v");
            clause["value"] = json!(query);
            serde_json::from_value(json!({ "vector": clause, "limit": 10, "select": [] })).expect("a request")
        })
        .collect();
    let (mut hits, mut cells, mut codes, mut rows) = (0, 0, 0, 0);
    for (query, truth) in queries.iter().zip(set.truth.chunks_exact(set.truth_len)) {
        let response = index.search(query, &Cancel::new()).await.expect("an answer");
        let is_true = |id: &DocId| matches!(id, DocId::Int(id) if truth[..10].contains(&(*id as i32)));
        hits += response.hits.iter().filter(|hit| is_true(&hit.id)).count();
        cells += response.stats.cells_probed;
        codes += response.stats.codes_scored;
        rows += response.stats.vectors_scored;
    }
    let started = Instant::now();
    for query in &queries {
        black_box(index.search(query, &Cancel::new()).await.expect("an answer"));
    }
    let (count, seconds) = (queries.len() as f64, started.elapsed().as_secs_f64());
    Measured {
        recall: hits as f64 / (10.0 * count),
        rate: count / seconds,
        cells: cells as f64 / count,
        codes: codes as f64 / count,
        rows: rows as f64 / count,
    }
}
