//! Options of vector fields through everything: added, flushed, searched, deleted, merged, reopened and checked.
#![cfg(not(target_arch = "wasm32"))]

use rangefind::{
    engine::{Cancel, DocumentBatch, FieldVectors, Index, MergeOptions, OpenOptions, no_progress},
    ids::DocId,
    platform::block_on,
    query::request::SearchResponse,
    schema::Schema,
    storage::{MemoryStorage, Storage, testing::CountingStorage},
};
use serde_json::{Value, json};

/// More than a segment needs for cells.
const CELLS: usize = 4200;
const DIMS: usize = 24;

fn options<S>(field: &Value) -> OpenOptions<S> {
    let schema = json!({ "embedding": field });
    let schema = Some(Schema::from_json(&schema).unwrap());
    OpenOptions { schema, auto_merge: false, grace_millis: 0, ..OpenOptions::default() }
}

fn field(metric: &str, more: &Value) -> Value {
    let mut field = json!({ "type": "vector", "dims": DIMS, "metric": metric });
    for (name, value) in more.as_object().unwrap() {
        field[name] = value.clone();
    }
    field
}

/// Vectors around some centers, of different lengths.
fn clustered(rng: &mut fastrand::Rng, len: usize) -> Vec<Vec<f32>> {
    let centers: Vec<Vec<f32>> = (0..40).map(|_| (0..DIMS).map(|_| rng.f32() * 2.0 - 1.0).collect()).collect();
    let vector = |rng: &mut fastrand::Rng| {
        let (center, length) = (&centers[rng.usize(0..40)], 0.5 + rng.f32());
        center.iter().map(|c| (c + (rng.f32() - 0.5) * 1.2) * length).collect()
    };
    (0..len).map(|_| vector(rng)).collect()
}

async fn add<S: Storage>(index: &Index<S>, first: usize, vectors: &[Vec<f32>]) {
    let docs = (first..first + vectors.len()).map(|id| json!({ "id": id })).collect();
    let vectors = FieldVectors { field: "embedding".to_owned(), values: vectors.concat(), counts: None };
    let report = index.add(DocumentBatch::from_values(docs).with_vectors(vectors)).await.unwrap();
    assert_eq!(report.refused, vec![]);
    index.commit().await.unwrap();
}

async fn search<S: Storage>(index: &Index<S>, vector: Value) -> SearchResponse {
    let request = json!({ "vector": vector, "limit": 10 });
    index.search(&serde_json::from_value(request).unwrap(), &Cancel::new()).await.unwrap()
}

fn score(metric: &str, a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    match metric {
        "dot" => (1.0 + dot(a, b)) / 2.0,
        "cosine" => (1.0 + dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()) / 2.0,
        _ => 1.0 / (1.0 + a.iter().zip(b).map(|(&x, &y)| f64::from(x - y).powi(2)).sum::<f64>()),
    }
}

/// Documents that live and their vectors.
type Docs = Vec<(usize, Vec<f32>)>;

fn id_of(id: &DocId) -> usize {
    match id {
        DocId::Int(id) => *id as usize,
        DocId::Str(id) => panic!("{id}"),
    }
}

/// Recall@10 of searches near the documents. Scores are near those of the vectors that were added: `error` is the part of
/// |query| |vector| they may differ by.
async fn recall<S: Storage>(index: &Index<S>, metric: &str, docs: &Docs, clause: &Value, error: f64) -> f64 {
    let mut rng = fastrand::Rng::with_seed(5);
    let length = |v: &[f32]| v.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
    let mut hits = 0;
    for _ in 0..15 {
        let near = &docs[rng.usize(0..docs.len())].1;
        let query: Vec<f32> = near.iter().map(|value| value + (rng.f32() - 0.5) * 0.4).collect();
        let mut all: Vec<(usize, f64)> = docs.iter().map(|(id, row)| (*id, score(metric, &query, row))).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut clause = clause.clone();
        (clause["field"], clause["value"]) = (json!("embedding"), json!(query));
        let response = search(index, clause).await;
        assert_eq!((response.total as usize, response.hits.len()), (docs.len(), 10));
        for hit in &response.hits {
            let id = id_of(&hit.id);
            let row = &docs[docs.binary_search_by_key(&id, |(id, _)| *id).expect("it lives")].1;
            let size = if metric == "dot" { length(&query) * length(row) } else { 1.0 };
            let exact = score(metric, &query, row);
            assert!((hit.score - exact).abs() <= error * size + 1e-5, "{metric}: {} for {exact}", hit.score);
            hits += usize::from(all[..10].iter().any(|(best, _)| *best == id));
        }
    }
    hits as f64 / 150.0
}

async fn assert_sound<S: Storage>(index: &Index<S>) {
    let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
    assert!(report.ok, "{:#?}", report.problems);
}

/// Builds two segments with cells and a small one, deletes, merges, reopens. `floor` is the recall of default searches,
/// `exact_floor` that of exact ones, which may differ from 1 where vectors are stored with a loss. Returns the index's bytes.
fn live_through(metric: &str, more: &Value, floor: f64, exact_floor: f64, error: f64) -> u64 {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(11);
        let storage = MemoryStorage::new();
        let field = field(metric, more);
        let index = Index::open(storage.clone(), options(&field)).await.unwrap();
        let vectors = clustered(&mut rng, 2 * CELLS + 300);
        let what = format!("{field}");
        add(&index, 0, &vectors[..CELLS]).await;
        add(&index, CELLS, &vectors[CELLS..2 * CELLS]).await;
        add(&index, 2 * CELLS, &vectors[2 * CELLS..]).await;
        let mut docs: Docs = vectors.into_iter().enumerate().collect();
        assert_sound(&index).await;
        let exact = json!({ "exact": true });
        for (clause, floor) in [(&json!({}), floor), (&exact, exact_floor)] {
            let found = recall(&index, metric, &docs, clause, error).await;
            assert!(found >= floor, "{what} {clause}: {found} in three segments");
        }
        index.delete(&(0..docs.len() as i64).step_by(5).map(DocId::Int).collect::<Vec<_>>()).await.unwrap();
        index.commit().await.unwrap();
        docs.retain(|(id, _)| id % 5 > 0);
        let merge = MergeOptions { max_segments: Some(1), memory_bytes: 16 << 20, ..MergeOptions::default() };
        assert_eq!(index.merge(merge, &no_progress, &Cancel::new()).await.unwrap().num_segments, 1);
        index.close().await.unwrap();

        let index = Index::open(storage, options(&field)).await.unwrap();
        assert_sound(&index).await;
        for (clause, floor) in [(&json!({}), floor), (&exact, exact_floor)] {
            let found = recall(&index, metric, &docs, clause, error).await;
            assert!(found >= floor, "{what} {clause}: {found} after a merge");
        }
        // A document's own vector, read back as a query.
        let like = search(&index, json!({ "field": "embedding", "like": 6 })).await;
        assert!(like.hits.iter().all(|hit| hit.id != DocId::Int(6)) && like.hits.len() == 10, "{:?}", like.hits);
        let bytes = index.info().unwrap().bytes;
        index.close().await.unwrap();
        bytes
    })
}

#[test]
fn product_quantized_codes_find_what_is_near() {
    for (metric, codes) in [("l2", json!({ "pq": 7 })), ("cosine", json!({ "pq": 6, "anisotropic": 0.4 }))] {
        live_through(metric, &json!({ "codes": codes }), 0.85, 1.0, 0.0);
    }
}

#[test]
fn half_precision_and_quantized_rows_serve_as_vectors() {
    for (metric, more, exact_floor, error) in [
        ("dot", json!({ "storage": "f16", "codes": "pq" }), 0.99, 1e-3),
        ("cosine", json!({ "rescore": "nvq" }), 0.95, 3e-3),
        ("l2", json!({ "rescore": "nvq4" }), 0.75, 0.12),
    ] {
        live_through(metric, &more, exact_floor - 0.15, exact_floor, error);
    }
}

#[test]
fn rows_take_the_bytes_they_should_and_what_they_cannot_hold_is_refused() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(2);
        let vectors = clustered(&mut rng, 1000);
        let mut bytes = Vec::new();
        for more in [json!({}), json!({ "storage": "f16" }), json!({ "rescore": "nvq" }), json!({ "rescore": "nvq4" })]
        {
            let index = Index::open(MemoryStorage::new(), options(&field("dot", &more))).await.unwrap();
            add(&index, 0, &vectors).await;
            bytes.push(index.info().unwrap().bytes);
            let docs = vec![json!({ "id": "far", "embedding": vec![70000.0; DIMS] })];
            let report = index.add(DocumentBatch::from_values(docs)).await.unwrap();
            assert_eq!(report.refused.len(), usize::from(more["storage"] == "f16"), "{more}");
            assert!(report.refused.iter().all(|refusal| refusal.reason.contains("65520")), "{:?}", report.refused);
        }
        let saved = |ix: usize| (bytes[0] - bytes[ix]) as f64 / 1000.0;
        // 24 components: 96 bytes, 48, 24 + 9 and 12 + 9.
        for (ix, expected) in [(1, 48.0), (2, 63.0), (3, 75.0)] {
            assert!((saved(ix) - expected).abs() < 1.0, "{ix}: {}", saved(ix));
        }
    });
}

/// Everything a few searches return, exact ones and others.
async fn answers<S: Storage>(index: &Index<S>, vectors: &[Vec<f32>], only_exact: bool) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    let asked = [(3, true), (17, false), (40, true), (90, false)];
    for (ix, exact) in asked.into_iter().filter(|(_, exact)| *exact || !only_exact) {
        let query: Vec<f32> = vectors[ix].iter().map(|value| value + 0.1).collect();
        let response = search(index, json!({ "field": "embedding", "value": query, "exact": exact })).await;
        all.push((response.total.to_string(), f64::from(response.hits.len() as u32)));
        all.extend(response.hits.iter().map(|hit| (hit.id.to_string(), hit.score)));
    }
    let like = search(index, json!({ "field": "embedding", "like": 4001, "exact": true })).await;
    all.extend(like.hits.iter().map(|hit| (hit.id.to_string(), hit.score)));
    all
}

#[test]
fn equal_vectors_share_rows_and_nothing_else_changes() {
    for (metric, storage) in [("cosine", "f32"), ("l2", "f16")] {
        block_on(async {
            let mut rng = fastrand::Rng::with_seed(4);
            let distinct = clustered(&mut rng, 700);
            let vectors: Vec<Vec<f32>> =
                (0..2 * CELLS).map(|ix| distinct[if ix % 3 == 0 { 0 } else { rng.usize(0..700) }].clone()).collect();
            let mut found = Vec::new();
            for dedup in [false, true] {
                let (storage, kind) = (MemoryStorage::new(), json!({ "dedup": dedup, "storage": storage }));
                let index = Index::open(storage.clone(), options(&field(metric, &kind))).await.unwrap();
                add(&index, 0, &vectors[..CELLS]).await;
                add(&index, CELLS, &vectors[CELLS..]).await;
                assert_sound(&index).await;
                let (before, built) = (answers(&index, &distinct, false).await, index.info().unwrap().bytes);
                index.delete(&(0..2 * CELLS as i64).step_by(3).map(DocId::Int).collect::<Vec<_>>()).await.unwrap();
                index.commit().await.unwrap();
                let deleted = answers(&index, &distinct, false).await;
                let merge = MergeOptions { max_segments: Some(1), memory_bytes: 4 << 20, ..MergeOptions::default() };
                index.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
                index.close().await.unwrap();
                let index = Index::open(storage, options(&field(metric, &kind))).await.unwrap();
                assert_sound(&index).await;
                // Shared rows are read in another order, so cells come out otherwise.
                let merged = (answers(&index, &distinct, true).await, index.info().unwrap().bytes);
                found.push((before, deleted, merged.0, built, merged.1));
            }
            let [plain, shared] = &found[..] else { panic!("two indexes") };
            assert_eq!((&plain.0, &plain.1, &plain.2), (&shared.0, &shared.1, &shared.2), "{metric}");
            let row = if storage == "f16" { 52 } else { 100 };
            // At most 700 rows in each segment; a map of at most 5 bytes per vector.
            let saved = (2 * CELLS as u64 - 1400) * row - 2 * CELLS as u64 * 5;
            assert!(plain.3 - shared.3 >= saved, "{metric}: {} of {}, {saved} expected", shared.3, plain.3);
            assert!(plain.4 > shared.4 + 4000 * row, "{metric}: {} of {} merged", shared.4, plain.4);
        });
    }
}

#[test]
fn several_query_vectors_are_answered_each_as_alone_where_equal_vectors_share_rows() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(14);
        let distinct = clustered(&mut rng, 900);
        let vectors: Vec<Vec<f32>> =
            (0..CELLS + 200).map(|ix| distinct[if ix % 5 == 0 { 0 } else { rng.usize(0..900) }].clone()).collect();
        // Never in memory as it stands: that would be scanned.
        let storage = CountingStorage::new(MemoryStorage::new());
        let index = Index::open(storage, options(&field("l2", &json!({ "dedup": true })))).await.unwrap();
        // A segment with cells, whose equal vectors share rows, and one without.
        add(&index, 0, &vectors[..CELLS]).await;
        add(&index, CELLS, &vectors[CELLS..]).await;
        // The first row is shared by hundreds of documents; the same query stands there twice.
        let queries = [&distinct[0], &distinct[7], &distinct[0], &distinct[450]];
        for exact in [false, true] {
            let many = json!({ "field": "embedding", "values": queries, "exact": exact });
            let together = search(&index, many).await;
            assert_eq!(together.answers.len(), queries.len());
            assert_eq!(together.stats.cells_probed == 0, exact, "{:?}", together.stats);
            for (query, answer) in queries.into_iter().zip(&together.answers) {
                let one = json!({ "field": "embedding", "value": query, "exact": exact });
                let alone = search(&index, one).await;
                assert_eq!((json!(answer.hits), answer.total), (json!(alone.hits), alone.total), "exact: {exact}");
                let equal = vectors.iter().filter(|vector| *vector == query).count().min(10);
                let first = answer.hits.iter().filter(|hit| hit.score == 1.0).count();
                assert_eq!(first, equal, "documents of a shared row come each, exact: {exact}");
            }
        }
    });
}

#[test]
fn codes_change_with_the_next_merge() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(3);
        let storage = MemoryStorage::new();
        let vectors = clustered(&mut rng, 2 * CELLS);
        let docs: Docs = vectors.iter().cloned().enumerate().collect();
        for (codes, part) in [("osq", 0), ("pq", CELLS)] {
            let index = Index::open(storage.clone(), options(&field("dot", &json!({ "codes": codes })))).await.unwrap();
            add(&index, part, &vectors[part..part + CELLS]).await;
            index.close().await.unwrap();
        }
        for codes in ["pq", "osq"] {
            let index = Index::open(storage.clone(), options(&field("dot", &json!({ "codes": codes })))).await.unwrap();
            assert_sound(&index).await;
            assert!(recall(&index, "dot", &docs, &json!({}), 0.0).await >= 0.85, "{codes}");
            let merge = MergeOptions { max_segments: Some(1), ..MergeOptions::default() };
            index.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
            assert!(recall(&index, "dot", &docs, &json!({}), 0.0).await >= 0.85, "{codes}, merged");
            index.close().await.unwrap();
        }
    });
}
