//! What text queries of frequent words cost on an index of 120,000 documents behind a link: waves, requests and bytes,
//! beside what reading whole lists costs, with the same answers.
#![cfg(not(target_arch = "wasm32"))]

use std::collections::HashSet;

use rangefind::{
    engine::{Cancel, DocumentBatch, Index, OpenMode, OpenOptions, SearchRequest, SearchResponse},
    platform::block_on,
    query::request::TotalRelation,
    schema::Schema,
    storage::{
        MemoryStorage, ReadProfile,
        testing::{LatencyStorage, Link, LinkStats, VirtualClock},
    },
};
use serde_json::{Value, json};

const DOCS: u32 = 120_000;
const BATCH_DOCS: u32 = 20_000;
/// Documents in a row that are about the same word, as where texts were added source by source.
const STRETCH_DOCS: u32 = 3_000;
const TOPICS: u32 = 40;

/// HTTP/2 and above: requests share a connection and cost next to nothing, so that gaps are left out. The default, meant
/// for six connections, reads lists of this size whole.
const MULTIPLEXED: ReadProfile =
    ReadProfile { block_bytes: 4 << 10, gap_bytes: 4 << 10, in_flight: 64, ..ReadProfile::HTTP };

/// `w0` to `w39` are each the topic of a stretch, several times in each of its documents; everywhere else a word comes
/// once, `w0` in a third of the documents, `w2000` in a few. `needle` is in four documents.
async fn sample(num_docs: u32) -> MemoryStorage {
    let storage = MemoryStorage::new();
    let schema = json!({ "text": "text" });
    let options = OpenOptions {
        schema: Some(Schema::from_json(&schema).unwrap()),
        memory_bytes: 256 << 20,
        auto_merge: false,
        ..OpenOptions::default()
    };
    let index = Index::open(storage.clone(), options).await.unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    for first in (0..num_docs).step_by(BATCH_DOCS as usize) {
        let docs = (first..num_docs.min(first + BATCH_DOCS)).map(|id| {
            let mut text = String::new();
            let topic = id / STRETCH_DOCS % TOPICS;
            let mut words = HashSet::new();
            for _ in 0..random.u32(5..9) {
                // A power law: rank r comes about as often as 1 / (r + 1).
                let word = 2_000f64.powf(random.f64()) as u32 - 1;
                if random.u32(..3) == 0 {
                    text.push_str(&format!("w{topic} "));
                } else if words.insert(word) {
                    text.push_str(&format!("w{word} "));
                }
            }
            if id % (DOCS / 4) == 17 {
                text.push_str("w0 w3 needle w1 ");
            }
            json!({ "id": id, "text": text })
        });
        index.add(DocumentBatch::from_values(docs.collect())).await.unwrap();
    }
    index.commit().await.unwrap();
    index.close().await.unwrap();
    storage
}

/// One search of an index that was just opened, what went over the link, and the milliseconds that took.
fn cold(storage: &MemoryStorage, profile: ReadProfile, request: &Value) -> (SearchResponse, LinkStats, f64) {
    let clock = VirtualClock::new(Link { in_flight: profile.in_flight, ..Link::REMOTE });
    let far = LatencyStorage::new(storage.clone(), clock.clone(), profile);
    clock.clone().run(async {
        let index = Index::open(far, OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() }).await.unwrap();
        let (before, started) = (clock.stats(), clock.now_micros());
        let request: SearchRequest = serde_json::from_value(request.clone()).unwrap();
        let response = index.search(&request, &Cancel::new()).await.unwrap();
        let after = clock.stats();
        let cost = LinkStats {
            requests: after.requests - before.requests,
            bytes: after.bytes - before.bytes,
            waves: after.waves - before.waves,
            max_in_flight: after.max_in_flight,
        };
        assert_eq!((response.stats.requests, response.stats.bytes), (cost.requests, cost.bytes));
        (response, cost, (clock.now_micros() - started) / 1000.0)
    })
}

fn with(request: &Value, key: &str, value: Value) -> Value {
    let mut request = request.clone();
    request[key] = value;
    request
}

/// At most so many waves, requests and KiB.
type Budget = (u64, u64, u64);

fn check(storage: &MemoryStorage, profile: ReadProfile, (what, request, budget): &(&str, Value, Budget)) {
    // Sorting by score among other keys looks at every match, and so reads all of its lists.
    let whole = with(request, "sort", json!([{ "field": "_score" }]));
    let (found, cost, millis) = cold(storage, profile, request);
    let (counted, exact_cost, _) = cold(storage, profile, &with(request, "total", json!("exact")));
    let (all, whole_cost, whole_millis) = cold(storage, profile, &whole);
    println!(
        "{what}: {} waves, {} requests, {} KiB, {millis:.0} ms; exact total {} KiB; whole lists {} waves, {} requests, \
         {} KiB, {whole_millis:.0} ms; total {} ({:?}) of {}",
        cost.waves,
        cost.requests,
        cost.bytes >> 10,
        exact_cost.bytes >> 10,
        whole_cost.waves,
        whole_cost.requests,
        whole_cost.bytes >> 10,
        found.total,
        found.total_relation,
        all.total,
    );
    let hits =
        |response: &SearchResponse| response.hits.iter().map(|hit| (hit.id.clone(), hit.score)).collect::<Vec<_>>();
    assert_eq!(hits(&found), hits(&all), "{what}");
    assert_eq!(hits(&counted), hits(&all), "{what}");
    assert_eq!((counted.total, counted.total_relation), (all.total, TotalRelation::Exact), "{what}");
    assert!(found.total <= all.total, "{what}");
    assert!(found.total_relation == TotalRelation::AtLeast || found.total == all.total, "{what}");
    let &(waves, requests, kib) = budget;
    assert!(cost.waves <= waves && cost.requests <= requests && cost.bytes >> 10 <= kib, "{what}: {cost:?}");
}

/// Words that no dictionary has are known from its index, which is in memory.
#[test]
fn words_that_are_nowhere_cost_nothing() {
    let storage = block_on(sample(400));
    for query in ["aardvark", "zebra zoo", "+zebra +w0", "zeb*"] {
        let (none, cost, _) = cold(&storage, MULTIPLEXED, &json!({ "query": query, "syntax": "lucene" }));
        assert_eq!((none.total, none.total_relation), (0, TotalRelation::Exact), "{query}");
        if query != "+zebra +w0" {
            assert_eq!((cost.waves, cost.requests), (0, 0), "{query}");
        }
        assert!(cost.requests <= 1, "{query}: the dictionary alone");
    }
}

#[test]
fn frequent_words_cost_what_can_still_win() {
    let storage = block_on(sample(DOCS));
    for case in [
        ("one frequent word", json!({ "query": "w0" }), (4, 8, 92)),
        ("either of two", json!({ "query": "w2 w3" }), (4, 13, 140)),
        ("both of two", json!({ "query": "w2 w3", "match": "all" }), (4, 13, 140)),
        ("any of four", json!({ "query": "w1 w2 w3 w4" }), (5, 27, 312)),
        ("a rare and a frequent one", json!({ "query": "needle w0" }), (4, 14, 136)),
        ("both, one rare", json!({ "query": "needle w0", "match": "all" }), (4, 13, 92)),
        ("a phrase", json!({ "query": "\"w2 w3\"" }), (3, 13, 288)),
        ("a phrase with a rare word", json!({ "query": "\"w3 needle w1\"" }), (4, 16, 140)),
    ] {
        check(&storage, MULTIPLEXED, &case);
    }
}
