//! Vectors of codes that a second cell lists too: found once, whatever is deleted, passes, or is merged.

use rangefind::{engine::Index, platform::block_on};
use serde_json::json;

use super::set::{CELLS, Set, add, assert_sound, clustered, delete, id_of, merge, options, search, single, store};

/// Of codes of two bits.
const DIMS: usize = 96;
const QUERIES: usize = 24;

#[test]
fn second_cells_find_what_first_cells_miss_and_repeat_nothing() {
    block_on(async {
        for metric in ["cosine", "l2"] {
            let mut rng = fastrand::Rng::with_seed(31);
            let vectors = clustered(&mut rng, CELLS + 1500, DIMS, 60);
            let near = |rng: &mut fastrand::Rng| -> Vec<f32> {
                vectors[rng.usize(0..vectors.len())].iter().map(|value| value + (rng.f32() - 0.5) * 0.5).collect()
            };
            let queries = (0..QUERIES).map(|_| near(&mut rng)).collect();
            let mut set = Set::new(metric, single(&vectors), queries);
            let storage = store();
            let index = Index::open(storage.clone(), options(DIMS, metric)).await.unwrap();
            add(&index, 0, &set.docs[..CELLS]).await;
            assert_sound(&index).await;
            add(&index, CELLS, &set.docs[CELLS..]).await;
            let gone: Vec<usize> = (0..vectors.len()).step_by(7).collect();
            delete(&index, &gone).await;
            set.remove(&gone);
            merge(&index, 24 << 20).await;
            assert_sound(&index).await;

            for target in [0.9, 0.95, 0.99] {
                let found = set.recall(&index, 0..QUERIES, |_| true, json!({ "recall": target }), json!(null)).await;
                assert!(found >= target - 0.015, "{metric}: {found} where {target} was asked for");
            }
            let passes = |id: usize| id % 100 < 5;
            let tags: Vec<String> = (0..5).map(|tag| format!("t{tag}")).collect();
            let found = set.recall(&index, 0..QUERIES, passes, json!({}), json!({ "tag": tags })).await;
            assert!(found >= 0.935, "{metric}: {found} of those that pass");

            // Every cell: every vector once, though the codes hold most of them twice.
            let clause =
                json!({ "field": "embedding", "value": set.queries[0], "probes": 1_000_000, "k": vectors.len() });
            let response = search(&index, json!({ "vector": clause, "limit": vectors.len(), "select": [] })).await;
            let mut ids: Vec<usize> = response.hits.iter().map(|hit| id_of(&hit.id)).collect();
            let left = vectors.len() - gone.len();
            // Their codes were scored for each cell that lists them.
            let scored = response.stats.codes_scored as usize;
            assert!(scored > left && scored <= 2 * left, "{metric}: {scored} of {left}");
            assert_eq!(ids.len(), left, "{metric}");
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), left);
        }
    });
}

#[test]
fn equal_vectors_do_not_crowd_one_second_cell() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(32);
        let mut vectors = clustered(&mut rng, CELLS, DIMS, 8);
        let same = vectors[0].clone();
        vectors[..3000].fill(same.clone());
        let set = Set::new("cosine", single(&vectors), vec![vectors[3500].clone(), same]);
        let index = Index::open(store(), options(DIMS, "cosine")).await.unwrap();
        add(&index, 0, &set.docs).await;
        merge(&index, 24 << 20).await;
        assert_sound(&index).await;
        let found = set.recall(&index, 0..2, |_| true, json!({}), json!(null)).await;
        assert!(found >= 0.95, "{found}");
    });
}

#[test]
fn documents_of_several_vectors_are_counted_once() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(33);
        let vectors = clustered(&mut rng, 2 * CELLS, DIMS, 40);
        let docs: Vec<Vec<Vec<f32>>> = vectors.chunks(2).map(<[Vec<f32>]>::to_vec).collect();
        let queries = (0..QUERIES).map(|ix| vectors[ix * 300].clone()).collect();
        let set = Set::new("cosine", docs, queries);
        let index = Index::open(store(), options(DIMS, "cosine")).await.unwrap();
        add(&index, 0, &set.docs).await;
        assert_sound(&index).await;
        let found = set.recall(&index, 0..QUERIES, |_| true, json!({}), json!(null)).await;
        assert!(found >= 0.935, "{found}");
        for query in &set.queries {
            let clause = json!({ "field": "embedding", "value": query });
            let response = search(&index, json!({ "vector": clause, "limit": 10, "select": [] })).await;
            let mut ids: Vec<usize> = response.hits.iter().map(|hit| id_of(&hit.id)).collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), 10);
        }
    });
}
