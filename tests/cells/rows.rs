//! Rows in cell order belong to their documents, whatever happens to a segment.

use rangefind::{engine::Index, ids::DocId, platform::block_on};
use serde_json::json;

use super::set::{CELLS, Set, add, assert_sound, clustered, delete, id_of, merge, options, search, single, store};

/// The exact search agrees with brute force, whatever the order of rows.
async fn assert_exact<S: rangefind::storage::Storage>(index: &Index<S>, set: &Set) {
    for query in 0..set.queries.len() {
        let tag = (query % 2 == 1).then_some(query * 7 % 100);
        let expected = set.expected(query, |id| tag.is_none_or(|tag| id % 100 == tag));
        let filter = tag.map_or(json!(null), |tag| json!({ "tag": format!("t{tag}") }));
        let clause = json!({ "field": "embedding", "value": set.queries[query], "exact": true });
        let response = search(index, json!({ "vector": clause, "limit": 10, "filter": filter })).await;
        assert_eq!(response.total as usize, expected.len());
        assert_eq!(response.hits.len(), expected.len().min(10));
        for (hit, (_, score)) in response.hits.iter().zip(&expected) {
            assert!((hit.score - score).abs() < 1e-4 * score.abs().max(1.0), "{} for {score}", hit.score);
        }
    }
}

#[test]
fn rows_keep_their_documents_through_builds_deletes_merges_and_reopening() {
    for (metric, several) in [("cosine", false), ("l2", true)] {
        block_on(async {
            let mut rng = fastrand::Rng::with_seed(7);
            let storage = store();
            let index = Index::open(storage.clone(), options(8, metric)).await.unwrap();
            // One segment without cells, two with them.
            let counts = [500, CELLS + 500, CELLS + 100];
            let vectors = clustered(&mut rng, counts.iter().sum(), 8, 12);
            let docs: Vec<Vec<Vec<f32>>> = match several {
                false => single(&vectors),
                true => (0..vectors.len()).map(|ix| vectors[ix..vectors.len().min(ix + ix % 4)].to_vec()).collect(),
            };
            let queries = (0..4).map(|_| (0..8).map(|_| rng.f32() * 2.0 - 1.0).collect()).collect();
            let mut set = Set::new(metric, docs, queries);
            let mut next = 0;
            for count in counts {
                add(&index, next, &set.docs[next..next + count]).await;
                next += count;
            }
            assert_sound(&index).await;
            assert_exact(&index, &set).await;
            let gone: Vec<usize> = (0..next).filter(|id| id % 7 == 0).collect();
            delete(&index, &gone).await;
            set.remove(&gone);
            assert_exact(&index, &set).await;
            merge(&index, 2 << 20).await;
            assert_sound(&index).await;
            assert_exact(&index, &set).await;
            index.close().await.unwrap();

            // Few are left: rows come back into document order.
            let index = Index::open(storage, options(8, metric)).await.unwrap();
            assert_exact(&index, &set).await;
            let gone: Vec<usize> = (0..next).filter(|id| id % 7 > 0 && id % 9 > 0).collect();
            delete(&index, &gone).await;
            set.remove(&gone);
            merge(&index, 4 << 20).await;
            assert_sound(&index).await;
            assert_exact(&index, &set).await;
        });
    }
}

#[test]
fn degenerate_vectors_are_found() {
    type Maker = fn(usize) -> Vec<f32>;
    let sets: [(Maker, &[&str]); 4] = [
        (|_| vec![0.5; 6], &["l2"]),
        (|_| vec![0.0; 6], &["cosine"]),
        (|id| vec![if id % 2 == 0 { 1.0 } else { 0.0 }; 6], &["dot"]),
        (|id| (0..6).map(|at| if at == id % 6 { 1e15 } else { (id % 50) as f32 * 1e-3 }).collect(), &["cosine", "l2"]),
    ];
    for (set, metrics) in sets {
        for metric in metrics {
            block_on(async {
                let index = Index::open(store(), options(6, metric)).await.unwrap();
                let vectors: Vec<Vec<f32>> = (0..CELLS + 50).map(set).collect();
                add(&index, 0, &single(&vectors)).await;
                assert_sound(&index).await;
                for probes in [json!(1), json!(null)] {
                    let clause = json!({ "field": "embedding", "value": vec![1.0; 6], "probes": probes });
                    let response = search(&index, json!({ "vector": clause, "limit": 200 })).await;
                    assert_eq!((response.total, response.hits.len()), ((CELLS + 50) as u64, 200), "{metric}");
                    assert!(response.hits.iter().all(|hit| hit.score.is_finite()), "{metric}");
                }
                let like = json!({ "vector": { "field": "embedding", "like": 7 }, "limit": 5 });
                let response = search(&index, like).await;
                assert!(response.hits.len() == 5 && response.hits.iter().all(|hit| hit.id != DocId::Int(7)));
            });
        }
    }
}

#[test]
fn vectors_whose_products_leave_the_range_do_no_harm() {
    type Maker = fn(usize) -> f32;
    let lengths: [Maker; 4] =
        [|_| 1e19, |id| if id % 1000 == 3 { 1e30 } else { 1.0 }, |id| if id == 7 { 3e38 } else { 1.0 }, |_| 1e37];
    for (case, length) in lengths.into_iter().enumerate() {
        for metric in ["l2", "dot", "cosine"] {
            block_on(async {
                let mut rng = fastrand::Rng::with_seed(case as u64);
                let index = Index::open(store(), options(40, metric)).await.unwrap();
                let mut vector = |id: usize| (0..40).map(|_| (rng.f32() - 0.5) * length(id)).collect::<Vec<f32>>();
                let vectors: Vec<Vec<f32>> = (0..CELLS + 50).map(&mut vector).collect();
                add(&index, 0, &single(&vectors[..3000])).await;
                add(&index, 3000, &single(&vectors[3000..])).await;
                merge(&index, 64 << 20).await;
                assert_sound(&index).await;
                for clause in [json!({}), json!({ "probes": 3 }), json!({ "exact": true })] {
                    let mut clause = clause;
                    (clause["field"], clause["value"]) = (json!("embedding"), json!(vectors[5]));
                    let response = search(&index, json!({ "vector": clause, "limit": 20 })).await;
                    assert_eq!(response.hits.len(), 20, "{metric} {case}");
                    assert!(response.hits.iter().all(|hit| hit.score.is_finite()), "{metric} {case}");
                }
            });
        }
    }
}

#[test]
fn the_best_vector_of_a_document_counts_and_a_document_can_be_the_question() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(3);
        let index = Index::open(store(), options(16, "l2")).await.unwrap();
        let vectors = clustered(&mut rng, CELLS + 500, 16, 25);
        let docs: Vec<Vec<Vec<f32>>> = vectors.chunks(3).map(<[Vec<f32>]>::to_vec).collect();
        let mut queries: Vec<Vec<f32>> =
            (0..20).map(|ix| vectors[ix * 91].iter().map(|value| value + (rng.f32() - 0.5) * 0.4).collect()).collect();
        // The vectors of one document, each a query of its own.
        queries.extend(docs[5].iter().cloned());
        let set = Set::new("l2", docs, queries);
        add(&index, 0, &set.docs).await;
        let found = set.recall(&index, 0..20, |_| true, json!({}), json!(null)).await;
        assert!(found >= 0.95, "{found}");

        // "Like" asks with all of them, and counts for each document the best pair.
        let mut best: Vec<(usize, f64)> = (20..23).flat_map(|query| set.expected(query, |id| id != 5)).collect();
        best.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        best.dedup_by_key(|one| one.0);
        best.sort_by(|a, b| b.1.total_cmp(&a.1));
        let clause = json!({ "field": "embedding", "like": 5 });
        let response = search(&index, json!({ "vector": clause, "limit": 10, "select": [] })).await;
        assert!(response.stats.cells_probed > 0 && response.hits.iter().all(|hit| id_of(&hit.id) != 5));
        let hits = response.hits.iter().filter(|hit| hit.score >= best[9].1 - 1e-5).count();
        assert!(hits >= 9, "{hits} of 10");
    });
}

/// As few and as many components as there may be, in cells and in a segment without.
fn assert_dims(dims: usize, counts: [usize; 2]) {
    for metric in ["cosine", "dot", "l2"] {
        block_on(async {
            let mut rng = fastrand::Rng::with_seed(41);
            let vectors = clustered(&mut rng, counts.iter().sum(), dims, 12);
            let queries = (0..4).map(|ix| vectors[ix * 11].iter().map(|v| v + (rng.f32() - 0.5) * 0.3).collect());
            let set = Set::new(metric, single(&vectors), queries.collect());
            let storage = store();
            let index = Index::open(storage.clone(), options(dims, metric)).await.unwrap();
            add(&index, 0, &set.docs[..counts[0]]).await;
            add(&index, counts[0], &set.docs[counts[0]..]).await;
            assert_exact(&index, &set).await;
            index.close().await.unwrap();
            let index = Index::open(storage, options(dims, metric)).await.unwrap();
            assert_sound(&index).await;
            assert_exact(&index, &set).await;
            let found = set.recall(&index, 0..4, |_| true, json!({}), json!(null)).await;
            assert!(found >= 0.9, "{dims} components, {metric}: {found}");
        });
    }
}

#[test]
fn one_component_is_enough() {
    assert_dims(1, [CELLS, 100]);
}

#[test]
fn vectors_have_up_to_4096_components() {
    assert_dims(4096, [60, 50]);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "minutes without optimisations")]
fn cells_hold_vectors_of_4096_components() {
    assert_dims(4096, [CELLS, 50]);
}
