//! Ten and a hundred nearest against brute force, with each metric, as built and as reopened: of made vectors, of the
//! demo's sentences and, where they are, of real sets:
//! `RANGEFIND_DATA=… cargo test --profile bench-fast --test cells -- --ignored sets`.

use rangefind::{engine::Index, platform::block_on};
use serde_json::json;

use super::{
    npy,
    set::{CELLS, Set, Store, add, assert_sound, clustered, merge, search, single, store, with_graph},
};

/// What a mean over some queries may be below the promise of 0.95 by chance.
const FLOOR: f64 = 0.935;
/// Documents that are added at a time.
const BATCH: usize = 20_000;
/// Queries of a set, at most.
const QUERIES: usize = 100;

/// Recalls of ten and of a hundred, the way `mode` goes.
async fn assert_recalls(index: &Index<Store>, set: &Set, mode: &str, what: &str) {
    for limit in [10, 100] {
        let (mut found, mut wanted) = (0, 0);
        for query in 0..set.queries.len() {
            let expected = set.expected(query, |_| true);
            let clause = json!({ "field": "embedding", "value": set.queries[query], "mode": mode });
            let response = search(index, json!({ "vector": clause, "limit": limit, "select": [] })).await;
            let stats = &response.stats;
            assert!(
                if mode == "walk" { stats.vectors_expanded > 0 } else { stats.cells_probed > 0 },
                "{what}: {stats:?}"
            );
            assert_eq!(response.hits.len(), limit, "{what}");
            found += set.found(query, &expected, &response.hits, limit);
            wanted += limit;
        }
        let recall = found as f64 / wanted as f64;
        println!("{what}: recall@{limit} {recall}");
        assert!(recall >= FLOOR, "{what}: recall@{limit} {recall}");
    }
}

/// Builds with each metric, asks, merges where there are several segments, reopens and asks again.
fn assert_set(name: &str, vectors: &[Vec<f32>], queries: &[Vec<f32>]) {
    let dims = vectors[0].len();
    for metric in ["cosine", "dot", "l2"] {
        block_on(async {
            let set = Set::new(metric, single(vectors), queries.to_vec());
            let storage = store();
            let index = Index::open(storage.clone(), with_graph(dims, metric)).await.unwrap();
            for first in (0..vectors.len()).step_by(BATCH) {
                add(&index, first, &set.docs[first..vectors.len().min(first + BATCH)]).await;
            }
            if vectors.len() > BATCH {
                merge(&index, 1 << 30).await;
            }
            let what = format!("{name}, {metric}");
            assert_recalls(&index, &set, "probe", &format!("{what}, probed")).await;
            index.close().await.unwrap();

            let index = Index::open(storage, with_graph(dims, metric)).await.unwrap();
            assert_sound(&index).await;
            assert_recalls(&index, &set, "probe", &format!("{what}, reopened and probed")).await;
            assert_recalls(&index, &set, "walk", &format!("{what}, reopened and walked")).await;
            index.close().await.unwrap();
        });
    }
}

#[test]
fn ten_and_a_hundred_nearest_are_found_with_each_metric() {
    let mut rng = fastrand::Rng::with_seed(31);
    let mut vectors = clustered(&mut rng, CELLS + 120, 16, 40);
    let queries = vectors.split_off(CELLS + 100);
    assert_set("made vectors", &vectors, &queries);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "minutes without optimisations")]
fn ten_and_a_hundred_nearest_sentences_are_found_with_each_metric() {
    let mut vectors = npy::rows(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("www/corpus/vectors.npy"));
    let queries = vectors.split_off(vectors.len() - QUERIES);
    assert_set("sentences of the demo", &vectors, &queries);
}

#[test]
#[ignore = "needs the data sets and minutes"]
fn ten_and_a_hundred_nearest_of_every_set_are_found_with_each_metric() {
    for (name, base, queries) in [
        ("debian_minilm", "base.npy", "queries.npy"),
        ("sift10k", "base.npy", "queries.npy"),
        ("scifact", "docs.minilm.npy", "queries.minilm.npy"),
        ("fashion_mnist", "base.npy", "queries.npy"),
        ("wordnet_minilm", "base.npy", "queries.npy"),
    ] {
        let folder = npy::data().join(name);
        let mut queries = npy::rows(&folder.join(queries));
        queries.truncate(QUERIES);
        assert_set(name, &npy::rows(&folder.join(base)), &queries);
    }
}
