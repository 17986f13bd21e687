//! Merging into another order of documents changes no answer, whatever the index holds.
#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeMap;

use rangefind::{
    engine::{Cancel, DocumentBatch, Index, MergeOptions, OpenOptions, SearchRequest, no_progress},
    ids::DocId,
    platform::block_on,
    query::request::Hit,
    schema::Schema,
    storage::MemoryStorage,
};
use serde_json::{Value, json};

/// Enough for vectors to lie in cells.
const NUM_DOCS: usize = 2600;
const TOPICS: usize = 6;

fn random_doc(rng: &mut fastrand::Rng, id: usize) -> Value {
    let topic = rng.usize(..TOPICS);
    let words: Vec<String> = (0..rng.usize(5..25)).map(|_| format!("w{}", topic * 30 + rng.usize(..40))).collect();
    let mut center = [0f32; 8];
    center[topic] = 3.0;
    let vectors: Vec<Vec<f32>> =
        (0..rng.usize(1..4)).map(|_| center.iter().map(|part| part + rng.f32() - 0.5).collect()).collect();
    json!({ "id": id, "body": words.join(" "), "topic": format!("t{topic}"), "n": rng.i64(0..500), "embedding": vectors })
}

/// Scores of the hits above the last score, whose ties may fall off the page, with the ids or, collapsed, the groups:
/// of equally good documents the first in order stands for its group. Total and facets beside them.
async fn answer(index: &Index<MemoryStorage>, request: &Value) -> (Vec<(u64, String)>, u64, String) {
    let request: SearchRequest = serde_json::from_value(request.clone()).unwrap();
    let response = index.search(&request, &Cancel::new()).await.unwrap();
    let name = |hit: &Hit| hit.group.as_ref().map_or_else(|| hit.id.to_string(), Value::to_string);
    let mut hits: Vec<_> = response.hits.iter().map(|hit| (hit.score.to_bits(), name(hit))).collect();
    if request.sort.is_empty() {
        let last = hits.last().map(|(score, _)| *score);
        hits.retain(|(score, _)| Some(*score) != last);
        hits.sort();
    }
    (hits, response.total, format!("{:?}", response.facets))
}

#[test]
fn no_answer_changes_and_documents_of_a_topic_come_together() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    block_on(async {
        let schema = json!({ "body": "text", "topic": "keyword", "n": "integer",
            "embedding": { "type": "vector", "dims": 8, "metric": "l2" } });
        let schema = Some(Schema::from_json(&schema).unwrap());
        let options = OpenOptions { schema, auto_merge: false, grace_millis: 0, ..OpenOptions::default() };
        let index = Index::open(MemoryStorage::new(), options).await.unwrap();
        let docs: Vec<Value> = (0..NUM_DOCS).map(|id| random_doc(&mut rng, id)).collect();
        for part in docs.chunks(NUM_DOCS / 2) {
            index.add(DocumentBatch::from_values(part.to_vec())).await.unwrap();
            index.commit().await.unwrap();
        }
        index.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap();
        let mut requests = Vec::new();
        for _ in 0..12 {
            let (one, two) = (rng.usize(..200), rng.usize(..200));
            requests.extend([
                json!({ "query": format!("w{one} w{two}"), "facets": ["topic", { "field": "n", "interval": 50 }] }),
                json!({ "query": format!("\"w{one} w{two}\"") }),
                json!({ "query": format!("w{one}"), "filter": { "n": { "gte": two } } }),
                json!({ "collapse": { "field": "topic" }, "query": format!("w{one}") }),
            ]);
        }
        let mut before = Vec::new();
        for request in &requests {
            before.push(answer(&index, request).await);
        }
        let order = |hits: Vec<DocId>| -> usize {
            let topic: BTreeMap<String, &str> =
                docs.iter().map(|doc| (doc["id"].to_string(), doc["topic"].as_str().unwrap())).collect();
            hits.windows(2).filter(|pair| topic[&pair[0].to_string()] != topic[&pair[1].to_string()]).count()
        };
        let in_order = || async {
            let request = serde_json::from_value(json!({ "limit": 10_000, "select": [] })).unwrap();
            let all = index.search(&request, &Cancel::new()).await.unwrap();
            all.hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>()
        };
        let changes_before = order(in_order().await);
        let merge = MergeOptions { reorder: true, ..MergeOptions::default() };
        let report = index.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
        assert_eq!((report.merged_segments, report.num_segments), (1, 1));
        assert!(report.peak_memory_bytes <= merge.memory_bytes);
        let changes = order(in_order().await);
        assert!(changes * 5 < changes_before, "seed {seed}: {changes} changes of topic, {changes_before} before");
        for (request, before) in requests.iter().zip(&before) {
            assert_eq!(answer(&index, request).await, *before, "seed {seed}: {request}");
        }
        // Each document's own vector finds it, and no other with the same score is nearer.
        for doc in docs.iter().step_by(150) {
            let request = json!({ "vector": { "field": "embedding", "value": doc["embedding"][0], "exact": true }, "limit": 1, "select": [] });
            let request: SearchRequest = serde_json::from_value(request).unwrap();
            let found = index.search(&request, &Cancel::new()).await.unwrap();
            assert_eq!(serde_json::to_value(&found.hits[0].id).unwrap(), doc["id"], "seed {seed}");
        }
        let checked = index.check(&no_progress, &Cancel::new()).await.unwrap();
        assert!(checked.ok, "seed {seed}: {:?}", checked.problems);
        // What is deleted while or after it stays deleted.
        index.delete(&[DocId::from(7), DocId::from(1200)]).await.unwrap();
        index.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
        assert_eq!(index.info().unwrap().num_docs, NUM_DOCS as u64 - 2);
        let checked = index.check(&no_progress, &Cancel::new()).await.unwrap();
        assert!(checked.ok, "seed {seed}: {:?}", checked.problems);
    });
}
