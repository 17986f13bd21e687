//! An index that lived through flushes, replacements, deletions, commits and merges answers every search as one
//! that was built from its final documents at once.
#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeMap;

use rangefind::{
    engine::{Cancel, DocumentBatch, Index, MergeOptions, OpenOptions, SearchRequest, no_progress},
    ids::DocId,
    platform::block_on,
    schema::Schema,
    storage::MemoryStorage,
};
use serde_json::{Value, json};

const WORDS: [&str; 12] = [
    "range", "find", "search", "engine", "browser", "storage", "vector", "merge", "segment", "commit", "query", "index",
];
const DIMS: usize = 4;

fn options(memory_bytes: u64, auto_merge: bool) -> OpenOptions<MemoryStorage> {
    let schema = json!({ "title": { "type": "text", "boost": 2 }, "body": "text", "tag": "keyword", "year": "integer",
        "price": "number", "done": "bool", "embedding": { "type": "vector", "dims": DIMS } });
    let schema = Some(Schema::from_json(&schema).unwrap());
    OpenOptions { schema, memory_bytes, auto_merge, ..OpenOptions::default() }
}

fn words(random: &mut fastrand::Rng, count: std::ops::Range<usize>) -> String {
    let picked: Vec<&str> = (0..random.usize(count)).map(|_| WORDS[random.usize(..WORDS.len())]).collect();
    picked.join(" ")
}

fn random_doc(random: &mut fastrand::Rng, id: i64) -> Value {
    let mut doc =
        json!({ "id": id, "title": words(random, 1..4), "body": words(random, 0..30), "year": random.i64(1990..2010) });
    let more = doc.as_object_mut().unwrap();
    if random.bool() {
        let tags: Vec<String> = (0..random.usize(1..3)).map(|_| format!("t{}", random.u8(..4))).collect();
        more.insert("tag".into(), json!(tags));
    }
    if random.u8(..4) > 0 {
        more.insert("price".into(), json!(f64::from(random.i32(-50..50)) / 4.0));
        more.insert("done".into(), json!(random.bool()));
    }
    if random.u8(..5) > 0 {
        let vectors: Vec<Vec<f32>> =
            (0..random.usize(1..3)).map(|_| (0..DIMS).map(|_| f32::from(random.i8(-9..9))).collect()).collect();
        more.insert("embedding".into(), if vectors.len() == 1 { json!(vectors[0]) } else { json!(vectors) });
    }
    doc
}

fn requests(random: &mut fastrand::Rng) -> Vec<Value> {
    let vector: Vec<f32> = (0..DIMS).map(|_| f32::from(random.i8(-9..9))).collect();
    let (one, two) = (WORDS[random.usize(..WORDS.len())], WORDS[random.usize(..WORDS.len())]);
    vec![
        json!({ "query": one }),
        json!({ "query": format!("{one} {two}"), "match": "all", "facets": ["tag", "year"] }),
        json!({ "query": format!("\"{one} {two}\"") }),
        json!({ "query": &one[..3], "prefix": true, "highlight": ["body"] }),
        json!({ "query": format!("+{one} -{two} title:{two}"), "syntax": "lucene" }),
        json!({ "query": format!("{one} {two}"), "filter": { "year": { "gte": 1995, "lt": 2005 }, "tag": ["t1", "t2"] } }),
        json!({ "sort": [{ "field": "price", "order": "desc" }, { "field": "year" }], "filter": { "done": true } }),
        json!({ "vector": { "field": "embedding", "value": vector, "k": 400 }, "gpu": "off", "filter": { "year": { "gte": 1995 } } }),
        json!({ "query": one, "vector": { "field": "embedding", "value": vector, "k": 400 }, "gpu": "off" }),
    ]
}

/// What of an answer must be equal: hits with their scores, in an order that does not depend on where documents
/// lie; total and facets.
async fn answer(index: &Index<MemoryStorage>, request: &Value) -> Value {
    let mut request = request.clone();
    request["limit"] = json!(400);
    let request: SearchRequest = serde_json::from_value(request).unwrap();
    let response = index.search(&request, &Cancel::new()).await.unwrap();
    let mut hits: Vec<(i64, Value)> = response
        .hits
        .iter()
        .map(|hit| {
            let DocId::Int(id) = hit.id else { panic!("{hit:?}") };
            // The fused score ranks ties by place, which differs.
            let legs =
                json!({ "text": hit.text_score, "vector": hit.vector_score, "doc": hit.doc, "marks": hit.highlights });
            (id, legs)
        })
        .collect();
    hits.sort_by_key(|(id, _)| *id);
    json!({ "hits": hits, "total": response.total, "facets": response.facets })
}

#[test]
fn a_life_of_changes_ends_like_a_rebuild() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    block_on(async {
        for round in 0..4 {
            let (mut model, storage) = (BTreeMap::new(), MemoryStorage::new());
            let memory = if random.bool() { 700_000 } else { 64 << 20 };
            let index = Index::open(storage.clone(), options(memory, random.bool())).await.unwrap();
            for _ in 0..random.usize(8..20) {
                match random.u8(..8) {
                    0..4 => {
                        let docs: Vec<Value> = (0..random.usize(1..40))
                            .map(|_| {
                                let id = random.i64(..200);
                                let doc = random_doc(&mut random, id);
                                model.insert(id, doc.clone());
                                doc
                            })
                            .collect();
                        let report = index.add(DocumentBatch::from_values(docs)).await.unwrap();
                        assert!(report.refused.is_empty(), "{:?}", report.refused);
                    }
                    4 | 5 => {
                        let ids: Vec<i64> = (0..random.usize(1..20)).map(|_| random.i64(..200)).collect();
                        let mut there = 0;
                        ids.iter().for_each(|id| there += u64::from(model.remove(id).is_some()));
                        let ids: Vec<DocId> = ids.into_iter().map(DocId::from).collect();
                        assert_eq!(index.delete(&ids).await.unwrap(), there, "seed {seed}");
                    }
                    6 => drop(index.commit().await.unwrap()),
                    _ => {
                        let max_segments = Some(random.u32(1..4));
                        let merge = MergeOptions { max_segments, reorder: random.bool(), ..MergeOptions::default() };
                        index.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
                    }
                }
            }
            index.commit().await.unwrap();
            let merge = MergeOptions { reorder: random.bool(), ..MergeOptions::default() };
            index.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
            let rebuilt = Index::open(MemoryStorage::new(), options(64 << 20, false)).await.unwrap();
            rebuilt.add(DocumentBatch::from_values(model.values().cloned().collect())).await.unwrap();
            rebuilt.commit().await.unwrap();
            assert_eq!(index.info().unwrap().num_docs, model.len() as u64, "seed {seed}");
            for request in (0..6).flat_map(|_| requests(&mut random)).collect::<Vec<_>>() {
                let (ours, theirs) = (answer(&index, &request).await, answer(&rebuilt, &request).await);
                assert_eq!(ours, theirs, "seed {seed}, round {round}: {request}");
            }
            let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
            assert!(report.ok, "seed {seed}: {:#?}", report.problems);
        }
    });
}

#[test]
fn a_merge_changes_no_answer_where_nothing_was_deleted() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    block_on(async {
        let index = Index::open(MemoryStorage::new(), options(64 << 20, false)).await.unwrap();
        for segment in 0..6 {
            let docs = (0..40).map(|nth| random_doc(&mut random, segment * 40 + nth)).collect();
            index.add(DocumentBatch::from_values(docs)).await.unwrap();
            index.commit().await.unwrap();
        }
        let requests: Vec<Value> = (0..6).flat_map(|_| requests(&mut random)).collect();
        let mut before = Vec::new();
        for request in &requests {
            let request: SearchRequest = serde_json::from_value(request.clone()).unwrap();
            before.push(index.search(&request, &Cancel::new()).await.unwrap());
        }
        for (max_segments, reorder) in [(3, false), (1, false), (1, true)] {
            let merge = MergeOptions { max_segments: Some(max_segments), reorder, ..MergeOptions::default() };
            index.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
        }
        for (request, before) in requests.iter().zip(before) {
            let request: SearchRequest = serde_json::from_value(request.clone()).unwrap();
            let after = index.search(&request, &Cancel::new()).await.unwrap();
            let key = |response: &rangefind::engine::SearchResponse| {
                let mut hits: Vec<_> = response.hits.iter().map(|hit| (hit.score.to_bits(), hit.id.clone())).collect();
                // Equal scores are ordered by place; the last of them may fall off the page.
                let last = hits.last().map(|(score, _)| *score);
                hits.retain(|(score, _)| Some(*score) != last);
                hits.sort();
                hits
            };
            if request.sort.is_empty() && request.vector.is_none() {
                assert_eq!(key(&after), key(&before), "seed {seed}: {request:?}");
            }
            assert_eq!((after.total, &after.facets), (before.total, &before.facets), "seed {seed}: {request:?}");
        }
    });
}
