//! What a search finds is what its `recall` promises: for questions near vectors and far from all, with filters of all
//! kinds, after deletions.

use rangefind::{engine::Index, platform::block_on, storage::Storage};
use serde_json::{Value, json};

use super::set::{CELLS, Set, add, assert_sound, clustered, delete, merge, options, search, side, single, store};

/// Queries of a kind; a tenth of 400 neighbours is 1.5 standard deviations of what 0.95 would give.
const EACH: usize = 40;
/// What a measured recall may be below the promise by chance.
const CHANCE: f64 = 0.015;
const DIMS: usize = 24;

/// Half of the queries near vectors, half as unlike them as they come.
fn queries(rng: &mut fastrand::Rng, vectors: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let near = (0..EACH).map(|_| vectors[rng.usize(0..vectors.len())].clone()).collect::<Vec<_>>();
    let mut all: Vec<Vec<f32>> =
        near.iter().map(|near| near.iter().map(|value| value + (rng.f32() - 0.5) * 0.4).collect()).collect();
    all.extend((0..EACH).map(|_| (0..DIMS).map(|_| rng.f32() * 2.0 - 1.0).collect::<Vec<f32>>()));
    all
}

async fn assert_recall<S: Storage>(index: &Index<S>, set: &Set, target: f64, what: &str) {
    let clause = if target == 0.95 { json!({}) } else { json!({ "recall": target }) };
    for (kind, queries) in [("near", 0..EACH), ("far", EACH..2 * EACH)] {
        let found = set.recall(index, queries, |_| true, clause.clone(), json!(null)).await;
        assert!(found >= target - CHANCE, "{what}, {kind}: {found} where {target} was asked for");
    }
}

fn tags(count: usize) -> Value {
    json!({ "tag": (0..count).map(|tag| format!("t{tag}")).collect::<Vec<_>>() })
}

#[test]
fn other_metrics_keep_the_promise_too() {
    for metric in ["dot", "l2"] {
        block_on(async {
            let mut rng = fastrand::Rng::with_seed(11);
            let vectors = clustered(&mut rng, CELLS + 300, DIMS, 40);
            let queries = queries(&mut rng, &vectors);
            let set = Set::new(metric, single(&vectors), queries);
            let index = Index::open(store(), options(DIMS, metric)).await.unwrap();
            add(&index, 0, &set.docs).await;
            for target in [0.9, 0.95, 0.99] {
                assert_recall(&index, &set, target, metric).await;
            }
        });
    }
}

#[test]
fn probes_find_the_nearest_whatever_passes_and_is_deleted() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(11);
        let storage = store();
        let index = Index::open(storage.clone(), options(DIMS, "cosine")).await.unwrap();
        let vectors = clustered(&mut rng, 2 * CELLS + 1000, DIMS, 40);
        let queries = queries(&mut rng, &vectors);
        let mut set = Set::new("cosine", single(&vectors), queries);
        for range in [0..CELLS, CELLS..2 * CELLS + 200, 2 * CELLS + 200..vectors.len()] {
            add(&index, range.start, &set.docs[range]).await;
        }
        assert_recall(&index, &set, 0.95, "three segments").await;
        merge(&index, 16 << 20).await;
        index.close().await.unwrap();

        let index = Index::open(storage, options(DIMS, "cosine")).await.unwrap();
        assert_sound(&index).await;
        let response = search(&index, json!({ "vector": { "field": "embedding", "value": vectors[3] } })).await;
        let stats = &response.stats;
        assert!(stats.cells_probed > 0 && stats.codes_scored < 6000 && stats.vectors_scored < 900, "{stats:?}");
        for target in [0.8, 0.9, 0.95, 0.99] {
            assert_recall(&index, &set, target, "merged").await;
        }
        let two = json!({ "probes": 2, "oversample": 1 });
        let few = set.recall(&index, 0..EACH, |_| true, two, json!(null)).await;
        assert!(few < 0.9, "{few} with two probes");

        // Filters: none, 1, 10 and 50 of a hundred, and those that go with the vectors.
        for percent in [0, 1, 10, 50] {
            let filter = if percent == 0 { json!({ "tag": "nowhere" }) } else { tags(percent) };
            for queries in [0..EACH / 2, EACH..EACH + EACH / 2] {
                let passes = |id: usize| id % 100 < percent;
                let found = set.recall(&index, queries.clone(), passes, json!({}), filter.clone()).await;
                assert!(percent == 0 || found >= 0.95 - CHANCE, "{percent} %: {found}");
                // So many cells and no more than it takes for ten hits: what is asked for is what is found.
                let found = set.recall(&index, queries, passes, json!({ "probes": 24 }), filter.clone()).await;
                assert!(percent == 0 || found >= 0.5, "{percent} %: {found}");
            }
        }
        let sides: Vec<&str> = set.docs.iter().map(|of_doc| side(of_doc)).collect();
        for one in ["left", "right"] {
            let passes = |id: usize| sides[id] == one;
            let found = set.recall(&index, 0..2 * EACH, passes, json!({}), json!({ "side": one })).await;
            assert!(found >= 0.95 - CHANCE, "{one}: {found}");
        }

        // All that was near a query is deleted: what is left comes nevertheless.
        for query in [0, EACH] {
            let near: Vec<usize> = set.expected(query, |_| true)[..1500].iter().map(|(id, _)| *id).collect();
            delete(&index, &near).await;
            set.remove(&near);
            let found = set.recall(&index, query..query + 1, |_| true, json!({}), json!(null)).await;
            assert!(found >= 0.9, "{found} of those left");
        }
        assert_recall(&index, &set, 0.95, "deletions").await;
    });
}
