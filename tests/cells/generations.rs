//! What many small deletions, additions and merges leave of the recall.

use rangefind::{engine::Index, platform::block_on};
use serde_json::json;

use super::set::{CELLS, Set, add, assert_sound, clustered, delete, merge, single, store, with_graph};

const GENERATIONS: usize = 100;
/// Vectors that come and go with each: a fiftieth of all.
const EACH: usize = 90;
const DIMS: usize = 24;

#[test]
#[cfg_attr(debug_assertions, ignore = "minutes without optimisations")]
fn a_hundred_generations_cost_no_recall() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(17);
        let first = CELLS + 400;
        let mut vectors = clustered(&mut rng, first + GENERATIONS * EACH + 100, DIMS, 40);
        let queries = vectors.split_off(first + GENERATIONS * EACH);
        let mut set = Set::new("cosine", single(&vectors), queries);
        let lived = Index::open(store(), with_graph(DIMS, "cosine")).await.unwrap();
        add(&lived, 0, &set.docs[..first]).await;
        let mut living: Vec<usize> = (0..first).collect();
        for generation in 0..GENERATIONS {
            let gone: Vec<usize> = (0..EACH).map(|_| living.swap_remove(rng.usize(0..living.len()))).collect();
            set.remove(&gone);
            delete(&lived, &gone).await;
            let next = first + generation * EACH;
            living.extend(next..next + EACH);
            add(&lived, next, &set.docs[next..next + EACH]).await;
            merge(&lived, 64 << 20).await;
        }
        assert_sound(&lived).await;
        // The same vectors, added once.
        let fresh = Index::open(store(), with_graph(DIMS, "cosine")).await.unwrap();
        living.sort_unstable();
        let left = |id: usize| if living.binary_search(&id).is_ok() { set.docs[id].clone() } else { Vec::new() };
        add(&fresh, 0, &(0..vectors.len()).map(left).collect::<Vec<_>>()).await;
        for mode in ["probe", "walk"] {
            let clause = json!({ "mode": mode });
            let after = set.recall(&lived, 0..set.queries.len(), |_| true, clause.clone(), json!(null)).await;
            let at_once = set.recall(&fresh, 0..set.queries.len(), |_| true, clause, json!(null)).await;
            println!("{mode}: {after} after {GENERATIONS} generations, {at_once} built at once");
            assert!(
                after >= at_once - 0.01,
                "{mode}: {after} after {GENERATIONS} generations, {at_once} built at once"
            );
        }
    });
}
