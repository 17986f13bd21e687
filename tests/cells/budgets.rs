//! What a cold query over a network costs on large sets. Minutes of building, so only where it is asked for:
//! `cargo test --profile bench-fast --test cells -- --ignored --nocapture budgets`.

use rangefind::{
    engine::{Index, OpenMode, OpenOptions},
    platform::block_on,
    storage::{
        MemoryStorage, ReadProfile,
        testing::{LatencyStorage, Link, VirtualClock},
    },
};
use serde_json::json;

use super::{
    npy,
    set::{CELLS, Set, add, clustered, merge, options, search, single},
};

const DIMS: usize = 384;
const BATCH: usize = 20_000;
/// 30 ms and 50 Mbit/s, as a browser would use it over HTTP/1.1.
const LINK: Link = Link { round_trip_micros: 30_000, bytes_per_second: 6.25e6, in_flight: ReadProfile::HTTP.in_flight };

/// What a measured recall may be below what was asked for.
const CHANCE: f64 = 0.01;

/// Means over cold queries, each of an index that was just opened.
#[derive(Debug, Default)]
struct Cost {
    recall: f64,
    waves: f64,
    most_waves: u32,
    requests: f64,
    kib: f64,
    millis: f64,
    cells: f64,
    rows: f64,
    open_kib: f64,
}

async fn built(vectors: &[Vec<f32>]) -> MemoryStorage {
    built_with(vectors, "cosine").await
}

async fn built_with(vectors: &[Vec<f32>], metric: &str) -> MemoryStorage {
    let storage = MemoryStorage::new();
    let index = Index::open(storage.clone(), options(vectors[0].len(), metric)).await.unwrap();
    for first in (0..vectors.len()).step_by(BATCH) {
        add(&index, first, &single(&vectors[first..vectors.len().min(first + BATCH)])).await;
    }
    merge(&index, 512 << 20).await;
    index.close().await.unwrap();
    storage
}

fn cost(storage: &MemoryStorage, set: &Set, clause: &serde_json::Value) -> Cost {
    let profile = ReadProfile::HTTP;
    let mut cost = Cost::default();
    let count = set.queries.len() as f64;
    for query in 0..set.queries.len() {
        let clock = VirtualClock::new(LINK);
        let far = LatencyStorage::new(storage.clone(), clock.clone(), profile);
        clock.clone().run(async {
            let options = OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() };
            let index = Index::open(far, options).await.unwrap();
            let (opened, started) = (clock.stats().bytes, clock.now_micros());
            let mut clause = clause.clone();
            clause["field"] = json!("embedding");
            clause["value"] = json!(set.queries[query]);
            let response = search(&index, json!({ "vector": clause, "limit": 10, "select": [] })).await;
            let (stats, expected) = (&response.stats, set.expected(query, |_| true));
            cost.recall += set.found(query, &expected, &response.hits, 10) as f64 / 10.0 / count;
            cost.waves += f64::from(stats.waves) / count;
            cost.most_waves = cost.most_waves.max(stats.waves);
            cost.requests += stats.requests as f64 / count;
            cost.kib += stats.bytes as f64 / 1024.0 / count;
            cost.millis += (clock.now_micros() - started) / 1000.0 / count;
            cost.cells += stats.cells_probed as f64 / count;
            cost.rows += stats.vectors_scored as f64 / count;
            cost.open_kib += opened as f64 / 1024.0 / count;
        });
    }
    cost
}

fn report(what: &str, vectors: Vec<Vec<f32>>, queries: Vec<Vec<f32>>) -> Cost {
    let storage = block_on(built(&vectors));
    let set = Set::new("cosine", single(&vectors), queries);
    let by_default = cost(&storage, &set, &json!({}));
    println!("{what}: {by_default:.3?}");
    for (recall, times) in [(0.9, 1.25), (0.99, 6.0)] {
        let cost = cost(&storage, &set, &json!({ "recall": recall }));
        println!("{what} at {recall}: {cost:.3?}");
        assert_asked_for(&cost, recall, &by_default, times);
    }
    by_default
}

/// A recall that is asked for is reached, in no more waves, and for so many times what the default costs at most.
fn assert_asked_for(cost: &Cost, recall: f64, by_default: &Cost, times: f64) {
    assert!(cost.recall >= recall - CHANCE && cost.most_waves <= 3, "{recall}: {cost:?}");
    assert!(cost.kib <= times * by_default.kib, "{recall}: {cost:?}, by default {by_default:?}");
    assert!(cost.requests <= times * by_default.requests, "{recall}: {cost:?}, by default {by_default:?}");
}

fn assert_budget(cost: &Cost) {
    assert!(cost.recall >= 0.93 && cost.open_kib <= 4096.0, "{cost:?}");
    assert!(cost.most_waves <= 3 && cost.kib <= 512.0, "{cost:?}");
}

#[test]
fn a_recall_asked_for_takes_no_more_waves_and_not_much_more_than_the_default() {
    let seed = 23;
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut vectors = clustered(&mut rng, CELLS + 1020, 64, 60);
    let queries = vectors.split_off(vectors.len() - 20);
    let storage = block_on(built(&vectors));
    let set = Set::new("cosine", single(&vectors), queries);
    let by_default = cost(&storage, &set, &json!({}));
    for (recall, times) in [(0.8, 1.0), (0.9, 1.25), (0.99, 3.0)] {
        println!("seed {seed}");
        assert_asked_for(&cost(&storage, &set, &json!({ "recall": recall })), recall, &by_default, times);
    }
}

#[test]
fn a_recall_asked_for_far_away_holds_with_filters_and_dot_products() {
    let mut rng = fastrand::Rng::with_seed(24);
    for metric in ["dot", "cosine"] {
        let mut vectors = clustered(&mut rng, 2 * CELLS + 20, 128, 300);
        let queries = vectors.split_off(vectors.len() - 20);
        let storage = block_on(built_with(&vectors, metric));
        let set = Set::new(metric, single(&vectors), queries);
        let clock = VirtualClock::new(LINK);
        let far = LatencyStorage::new(storage.clone(), clock.clone(), ReadProfile::HTTP);
        clock.run(async {
            let options = OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() };
            let index = Index::open(far, options).await.unwrap();
            for (percent, recall) in [(100, 0.9), (50, 0.9), (10, 0.9), (10, 0.95)] {
                let tags: Vec<String> = (0..percent).map(|tag| format!("t{tag}")).collect();
                let filter = if percent == 100 { json!(null) } else { json!({ "tag": tags }) };
                let passes = |id: usize| id % 100 < percent;
                let found = set.recall(&index, 0..20, passes, json!({ "recall": recall }), filter).await;
                assert!(found >= recall - CHANCE, "{metric}, {percent} %: {found} where {recall} was asked for");
            }
        });
    }
}

#[test]
#[ignore = "needs the wordnet_minilm data set and minutes"]
fn budgets_of_99k_sentences() {
    let rows = |name| npy::rows(&npy::data().join("wordnet_minilm").join(name));
    let queries = rows("queries.npy").into_iter().step_by(20).chain(rows("textqueries.npy").into_iter().step_by(6));
    assert_budget(&report("wordnet_minilm", rows("base.npy"), queries.collect()));
}

#[test]
#[ignore = "needs minutes"]
fn budgets_of_200k_synthetic_vectors() {
    let mut rng = fastrand::Rng::with_seed(99);
    let mut vectors = clustered(&mut rng, 200_100, DIMS, 4000);
    let queries = vectors.split_off(200_000);
    assert_budget(&report("synthetic", vectors, queries));
}
