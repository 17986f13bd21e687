//! Vector fields with cells: what is built, merged, reopened and damaged, against brute force.
#![cfg(not(target_arch = "wasm32"))]

use std::collections::HashMap;

use rangefind::{
    engine::{Cancel, DocumentBatch, FieldVectors, Index, MergeOptions, OpenMode, OpenOptions, no_progress},
    ids::DocId,
    platform::block_on,
    schema::Schema,
    storage::{MemoryStorage, Storage, testing::CountingStorage},
};
use serde_json::{Value, json};

/// Vectors a segment needs for cells.
const CELLS: usize = 4096;

fn options<S>(dims: usize, metric: &str) -> OpenOptions<S> {
    let schema = json!({ "tag": "keyword", "side": "keyword", "embedding": { "type": "vector", "dims": dims, "metric": metric } });
    OpenOptions {
        schema: Some(Schema::from_json(&schema).unwrap()),
        auto_merge: false,
        grace_millis: 0,
        ..OpenOptions::default()
    }
}

/// Vectors around some centers, of different lengths.
fn clustered(rng: &mut fastrand::Rng, len: usize, dims: usize, clusters: usize) -> Vec<Vec<f32>> {
    let mut noise = |scale: f32| (0..dims).map(|_| (rng.f32() - 0.5) * scale).collect::<Vec<_>>();
    let centers: Vec<Vec<f32>> = (0..clusters).map(|_| noise(2.0)).collect();
    let noises: Vec<Vec<f32>> = (0..len).map(|_| noise(1.2)).collect();
    let vector = |noise: &Vec<f32>, rng: &mut fastrand::Rng| {
        let (center, length) = (&centers[rng.usize(0..clusters)], 0.5 + rng.f32());
        center.iter().zip(noise).map(|(c, n)| (c + n) * length).collect()
    };
    noises.iter().map(|noise| vector(noise, rng)).collect()
}

/// Documents `ids`, each with its vectors.
async fn add<S: Storage>(index: &Index<S>, first: usize, vectors: &[Vec<Vec<f32>>]) {
    let side = |of_doc: &Vec<Vec<f32>>| if of_doc.first().is_some_and(|row| row[0] > 0.3) { "right" } else { "left" };
    let doc = |(id, of_doc)| json!({ "id": id, "tag": format!("t{}", id % 100), "side": side(of_doc) });
    let docs = (first..).zip(vectors).map(doc).collect();
    let values = vectors.iter().flatten().flatten().copied().collect();
    let counts = vectors.iter().map(|of_doc| of_doc.len() as u32).collect();
    let vectors = FieldVectors { field: "embedding".to_owned(), values, counts: Some(counts) };
    let report = index.add(DocumentBatch::from_values(docs).with_vectors(vectors)).await.unwrap();
    assert_eq!(report.refused, vec![]);
    index.commit().await.unwrap();
}

fn single(vectors: &[Vec<f32>]) -> Vec<Vec<Vec<f32>>> {
    vectors.iter().map(|vector| vec![vector.clone()]).collect()
}

fn score(metric: &str, a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    match metric {
        "dot" => (1.0 + dot(a, b)) / 2.0,
        "cosine" => {
            let norms = (dot(a, a) * dot(b, b)).sqrt();
            (1.0 + if norms > 0.0 { dot(a, b) / norms } else { 0.0 }) / 2.0
        }
        _ => 1.0 / (1.0 + a.iter().zip(b).map(|(&x, &y)| f64::from(x - y).powi(2)).sum::<f64>()),
    }
}

/// Documents by their best vector, best first.
fn brute_force(metric: &str, query: &[f32], docs: &HashMap<usize, Vec<Vec<f32>>>) -> Vec<(usize, f64)> {
    let best = |of_doc: &Vec<Vec<f32>>| of_doc.iter().map(|row| score(metric, query, row)).fold(f64::MIN, f64::max);
    let with_vector = docs.iter().filter(|(_, of_doc)| !of_doc.is_empty());
    let mut all: Vec<(usize, f64)> = with_vector.map(|(&id, of_doc)| (id, best(of_doc))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all
}

async fn search<S: Storage>(index: &Index<S>, request: Value) -> rangefind::query::request::SearchResponse {
    index.search(&serde_json::from_value(request).unwrap(), &Cancel::new()).await.unwrap()
}

async fn assert_sound<S: Storage>(index: &Index<S>) {
    let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
    assert!(report.ok, "{:#?}", report.problems);
    assert!(report.leftovers.is_empty(), "{:?}", report.leftovers);
}

async fn merge<S: Storage>(index: &Index<S>, memory_bytes: u64) {
    let options = MergeOptions { max_segments: Some(1), memory_bytes, ..MergeOptions::default() };
    let report = index.merge(options, &no_progress, &Cancel::new()).await.unwrap();
    assert_eq!(report.num_segments, 1);
    assert!(report.peak_memory_bytes <= memory_bytes, "{report:?}");
}

/// The exact search agrees with brute force, whatever the order of rows.
async fn assert_exact<S: Storage>(index: &Index<S>, metric: &str, docs: &HashMap<usize, Vec<Vec<f32>>>, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let dims = docs.values().flatten().next().unwrap().len();
    for round in 0..6 {
        let query: Vec<f32> = (0..dims).map(|_| rng.f32() * 2.0 - 1.0).collect();
        let tag = (round % 2 == 1).then(|| rng.usize(0..100));
        let passing: HashMap<usize, Vec<Vec<f32>>> = docs
            .iter()
            .filter(|(id, _)| tag.is_none_or(|tag| *id % 100 == tag))
            .map(|(&id, rows)| (id, rows.clone()))
            .collect();
        let filter = tag.map_or(json!(null), |tag| json!({ "tag": format!("t{tag}") }));
        let expected = brute_force(metric, &query, &passing);
        let clause = json!({ "field": "embedding", "value": query, "exact": true });
        let response = search(index, json!({ "vector": clause, "limit": 10, "filter": filter })).await;
        assert_eq!(response.total as usize, expected.len());
        assert_eq!(response.hits.len(), expected.len().min(10));
        for (hit, (_, score)) in response.hits.iter().zip(&expected) {
            assert!((hit.score - score).abs() < 1e-4 * score.abs().max(1.0), "{} for {score}", hit.score);
        }
    }
}

#[test]
fn rows_in_cell_order_keep_their_documents_through_builds_deletes_merges_and_reopening() {
    for (metric, several) in [("cosine", false), ("dot", true), ("l2", true)] {
        block_on(async {
            let mut rng = fastrand::Rng::with_seed(7);
            let storage = MemoryStorage::new();
            let index = Index::open(storage.clone(), options(8, metric)).await.unwrap();
            let mut docs = HashMap::new();
            let mut next = 0;
            // One segment without cells, two with them.
            for count in [500, CELLS + 500, CELLS + 100] {
                let vectors = clustered(&mut rng, count, 8, 12);
                let vectors: Vec<Vec<Vec<f32>>> = match several {
                    false => single(&vectors),
                    true => (0..count).map(|ix| vectors[ix..count.min(ix + ix % 4)].to_vec()).collect(),
                };
                add(&index, next, &vectors).await;
                docs.extend((next..).zip(vectors));
                next += count;
            }
            assert_sound(&index).await;
            assert_exact(&index, metric, &docs, 1).await;
            let deleted: Vec<usize> = (0..next).filter(|id| id % 7 == 0).collect();
            index.delete(&deleted.iter().map(|&id| DocId::Int(id as i64)).collect::<Vec<_>>()).await.unwrap();
            index.commit().await.unwrap();
            docs.retain(|id, _| id % 7 != 0);
            assert_exact(&index, metric, &docs, 2).await;
            merge(&index, 2 << 20).await;
            assert_sound(&index).await;
            assert_exact(&index, metric, &docs, 3).await;
            index.close().await.unwrap();

            // Few are left: rows come back into document order.
            let index = Index::open(storage, options(8, metric)).await.unwrap();
            assert_exact(&index, metric, &docs, 4).await;
            let deleted: Vec<DocId> = docs.keys().filter(|id| **id % 9 > 0).map(|&id| DocId::Int(id as i64)).collect();
            index.delete(&deleted).await.unwrap();
            index.commit().await.unwrap();
            docs.retain(|id, _| id % 9 == 0);
            merge(&index, 4 << 20).await;
            assert_sound(&index).await;
            assert_exact(&index, metric, &docs, 5).await;
        });
    }
}

/// Recall@10 over some queries near the documents, with every answer as long as it can be.
async fn recall<S: Storage>(
    index: &Index<S>,
    metric: &str,
    docs: &HashMap<usize, Vec<Vec<f32>>>,
    passes: impl Fn(usize, &[Vec<f32>]) -> bool,
    clause: Value,
    filter: Value,
) -> f64 {
    let mut rng = fastrand::Rng::with_seed(5);
    let mut ids: Vec<usize> = docs.keys().copied().collect();
    ids.sort_unstable();
    let passing: HashMap<usize, Vec<Vec<f32>>> =
        docs.iter().filter(|(id, rows)| passes(**id, rows)).map(|(&id, rows)| (id, rows.clone())).collect();
    let (mut hits, mut wanted) = (0, 0);
    for _ in 0..20 {
        let near = &docs[&ids[rng.usize(0..ids.len())]];
        let query: Vec<f32> = near[0].iter().map(|value| value + (rng.f32() - 0.5) * 0.4).collect();
        let expected = brute_force(metric, &query, &passing);
        let mut clause = clause.clone();
        clause["field"] = json!("embedding");
        clause["value"] = json!(query);
        let response = search(index, json!({ "vector": clause, "limit": 10, "filter": filter })).await;
        assert_eq!((response.total as usize, response.hits.len()), (expected.len(), expected.len().min(10)));
        assert!(response.hits.is_sorted_by(|a, b| a.score >= b.score));
        let worst = expected.get(9).or(expected.last()).map_or(0.0, |(_, score)| *score);
        wanted += expected.len().min(10);
        hits += response.hits.iter().filter(|hit| hit.score >= worst - 1e-5 * worst.abs()).count();
        for hit in &response.hits {
            let DocId::Int(id) = hit.id else { panic!("{}", hit.id) };
            let exact = brute_force(metric, &query, &HashMap::from([(id as usize, passing[&(id as usize)].clone())]));
            let several = passing[&(id as usize)].len() > 1;
            let difference = hit.score - exact[0].1;
            assert!(difference < 1e-4 * exact[0].1.abs().max(1.0) && (several || difference > -1e-3), "{hit:?}");
        }
    }
    hits as f64 / wanted.max(1) as f64
}

fn tags(count: usize) -> Value {
    json!({ "tag": (0..count).map(|tag| format!("t{tag}")).collect::<Vec<_>>() })
}

#[test]
fn probes_find_the_nearest_whatever_passes_and_is_deleted() {
    for metric in ["cosine", "dot", "l2"] {
        block_on(async {
            let mut rng = fastrand::Rng::with_seed(11);
            let storage = MemoryStorage::new();
            let index = Index::open(storage.clone(), options(24, metric)).await.unwrap();
            let vectors = clustered(&mut rng, 2 * CELLS + 1000, 24, 40);
            let docs: HashMap<usize, Vec<Vec<f32>>> = (0..).zip(single(&vectors)).collect();
            for (first, part) in [(0, &vectors[..CELLS]), (CELLS, &vectors[CELLS..2 * CELLS + 200])] {
                add(&index, first, &single(part)).await;
            }
            add(&index, 2 * CELLS + 200, &single(&vectors[2 * CELLS + 200..])).await;
            let all = |_: usize, _: &[Vec<f32>]| true;
            let found = recall(&index, metric, &docs, all, json!({}), json!(null)).await;
            assert!(found >= 0.88, "{metric}: {found} in three segments");
            merge(&index, 16 << 20).await;
            index.close().await.unwrap();

            let index = Index::open(storage, options(24, metric)).await.unwrap();
            assert_sound(&index).await;
            let response = search(&index, json!({ "vector": { "field": "embedding", "value": vectors[3] } })).await;
            let (stats, hits) = (&response.stats, &response.hits);
            assert!(stats.cells_probed > 0 && stats.codes_scored < 6000 && stats.vectors_scored < 900, "{stats:?}");
            assert!(metric == "dot" || hits[0].id == DocId::Int(3), "{:?}", hits[0]);
            let found = recall(&index, metric, &docs, all, json!({}), json!(null)).await;
            assert!(found >= 0.88, "{metric}: {found} after a merge");
            let found = recall(&index, metric, &docs, all, json!({ "recall": 0.99 }), json!(null)).await;
            assert!(found >= 0.95, "{metric}: {found} where 0.99 was asked for");
            let few = recall(&index, metric, &docs, all, json!({ "probes": 2, "oversample": 1 }), json!(null)).await;
            assert!(few < found, "{metric}: {few} with two probes, {found} by calibration");

            // Filters: none, 1, 10 and 50 of a hundred, and those that go with the vectors.
            for (percent, floor) in [(0, 1.0), (1, 0.75), (10, 0.8), (50, 0.85)] {
                let passes = |id: usize, _: &[Vec<f32>]| id % 100 < percent;
                for clause in [json!({}), json!({ "probes": 24 })] {
                    let filter = if percent == 0 { json!({ "tag": "nowhere" }) } else { tags(percent) };
                    let found = recall(&index, metric, &docs, passes, clause.clone(), filter).await;
                    // So many cells and no more than it takes for ten hits: what is asked for is what is found.
                    let floor = if clause["probes"].is_null() { floor } else { 0.5 };
                    assert!(percent == 0 || found >= floor, "{metric}, {percent} %, {clause}: {found}");
                }
            }
            for side in ["left", "right"] {
                let passes = |_: usize, rows: &[Vec<f32>]| (rows[0][0] > 0.3) == (side == "right");
                let found = recall(&index, metric, &docs, passes, json!({}), json!({ "side": side })).await;
                assert!(found >= 0.85, "{metric}, {side}: {found}");
            }

            // All that was near the query is deleted: what is left comes nevertheless.
            let near: Vec<usize> = brute_force(metric, &vectors[9], &docs)[..400].iter().map(|(id, _)| *id).collect();
            index.delete(&near.iter().map(|&id| DocId::Int(id as i64)).collect::<Vec<_>>()).await.unwrap();
            index.commit().await.unwrap();
            let mut left = docs.clone();
            left.retain(|id, _| !near.contains(id));
            let expected = brute_force(metric, &vectors[9], &left);
            let clause = json!({ "field": "embedding", "value": vectors[9] });
            let response = search(&index, json!({ "vector": clause, "limit": 10 })).await;
            assert_eq!(response.hits.len(), 10);
            let hits = response.hits.iter().filter(|hit| hit.score >= expected[9].1 - 1e-5).count();
            assert!(hits >= 6, "{metric}: {hits} of 10");
        });
    }
}

#[test]
fn degenerate_vectors_are_found() {
    let sets: [fn(usize) -> Vec<f32>; 4] = [
        |_| vec![0.5; 6],
        |_| vec![0.0; 6],
        |id| vec![if id % 2 == 0 { 1.0 } else { 0.0 }; 6],
        |id| (0..6).map(|at| if at == id % 6 { 1e15 } else { (id % 50) as f32 * 1e-3 }).collect(),
    ];
    for set in sets {
        for metric in ["cosine", "dot", "l2"] {
            block_on(async {
                let storage = MemoryStorage::new();
                let index = Index::open(storage, options(6, metric)).await.unwrap();
                let vectors: Vec<Vec<f32>> = (0..CELLS + 50).map(set).collect();
                add(&index, 0, &single(&vectors)).await;
                assert_sound(&index).await;
                let clause = json!({ "field": "embedding", "value": vec![1.0; 6], "probes": 1 });
                let response = search(&index, json!({ "vector": clause, "limit": 200 })).await;
                assert_eq!((response.total, response.hits.len()), ((CELLS + 50) as u64, 200), "{metric}");
                assert!(response.hits.iter().all(|hit| hit.score.is_finite()), "{metric}");
                let like = json!({ "vector": { "field": "embedding", "like": 7 }, "limit": 5 });
                let response = search(&index, like).await;
                assert!(response.hits.len() == 5 && response.hits.iter().all(|hit| hit.id != DocId::Int(7)));
            });
        }
    }
}

#[test]
fn the_best_vector_of_a_document_counts() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(3);
        let index = Index::open(MemoryStorage::new(), options(16, "l2")).await.unwrap();
        let vectors = clustered(&mut rng, 3 * CELLS, 16, 25);
        let of_docs: Vec<Vec<Vec<f32>>> = vectors.chunks(3).map(<[Vec<f32>]>::to_vec).collect();
        add(&index, 0, &of_docs).await;
        assert_sound(&index).await;
        let docs: HashMap<usize, Vec<Vec<f32>>> = (0..).zip(of_docs).collect();
        let all = |_: usize, _: &[Vec<f32>]| true;
        let found = recall(&index, "l2", &docs, all, json!({}), json!(null)).await;
        assert!(found >= 0.9, "{found}");
        let response = search(&index, json!({ "vector": { "field": "embedding", "like": 5 }, "limit": 3 })).await;
        assert_eq!(response.hits.len(), 3);
    });
}

#[test]
fn a_cold_query_reads_codes_in_one_wave_and_the_rows_of_its_shortlist_in_another() {
    block_on(async {
        const DIMS: usize = 64;
        let mut rng = fastrand::Rng::with_seed(17);
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), options(DIMS, "cosine")).await.unwrap();
        let vectors = clustered(&mut rng, 3 * CELLS, DIMS, 60);
        add(&index, 0, &single(&vectors)).await;
        index.close().await.unwrap();

        let counting = CountingStorage::new(storage);
        let read_only = OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() };
        let index = Index::open(counting.clone(), read_only).await.unwrap();
        let raw = (vectors.len() * DIMS * 4) as u64;
        assert!(counting.waves() <= 2 && counting.total().bytes < raw / 10, "{}", counting.report());
        counting.reset();
        let clause = json!({ "field": "embedding", "value": vectors[77], "probes": 24, "oversample": 5 });
        // Without hits no row is read in full.
        search(&index, json!({ "vector": clause, "limit": 0 })).await;
        assert_eq!(counting.total().bytes, 0, "{}", counting.report());
        let response = search(&index, json!({ "vector": clause, "limit": 10, "select": [] })).await;
        let stats = &response.stats;
        // Codes, rows, documents: centers are pinned.
        assert!(stats.waves <= 3, "{stats:?}");
        assert_eq!((stats.cells_probed, stats.vectors_scored), (24, 50), "{stats:?}");
        assert_eq!(response.hits[0].id, DocId::Int(77));
        // Of full precision at most what the shortlist lies in, blocks of the cache and gaps between near ones included.
        let codes = stats.codes_scored * (DIMS as u64 / 2 + 20) * 4;
        assert!(stats.bytes < codes + raw / 3 + 10 * (64 << 10), "{stats:?} of {raw}");
        let again = search(&index, json!({ "vector": clause, "limit": 10, "select": [] })).await;
        assert_eq!((again.stats.waves, again.stats.bytes), (0, 0), "{:?}", again.stats);
    });
}
