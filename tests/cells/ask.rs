//! Ways to ask: several vectors at a time, by a least score, page after page.

use rangefind::{engine::Index, error::ErrorKind, platform::block_on};
use serde_json::{Value, json};

use super::set::{CELLS, Set, Store, add, clustered, id_of, options, search, single, store};

const DIMS: usize = 12;

async fn built(metric: &str) -> (Index<Store>, Set) {
    let mut rng = fastrand::Rng::with_seed(23);
    let vectors = clustered(&mut rng, CELLS + 400, DIMS, 30);
    let queries = (0..8).map(|ix| vectors[ix * 501].iter().map(|v| v + (rng.f32() - 0.5) * 0.3).collect()).collect();
    let set = Set::new(metric, single(&vectors), queries);
    let index = Index::open(store(), options(DIMS, metric)).await.unwrap();
    // One segment with cells, one without.
    add(&index, 0, &set.docs[..CELLS]).await;
    add(&index, CELLS, &set.docs[CELLS..]).await;
    (index, set)
}

fn clause(value: Value) -> Value {
    let mut clause = value;
    clause["field"] = json!("embedding");
    clause
}

#[test]
fn several_query_vectors_are_answered_each_as_alone_in_common_waves() {
    block_on(async {
        let (index, set) = built("cosine").await;
        for (filter, extra) in [(json!(null), json!({})), (json!({ "tag": "t3" }), json!({ "minScore": 0.6 }))] {
            let mut many = clause(extra.clone());
            many["values"] = json!(set.queries);
            let request = json!({ "vector": many, "limit": 5, "offset": 2, "filter": filter, "select": ["id", "tag"] });
            let response = search(&index, request).await;
            assert_eq!((response.answers.len(), response.hits.len()), (set.queries.len(), 0));
            let mut cells = 0;
            for (query, answer) in set.queries.iter().zip(&response.answers) {
                let mut one = clause(extra.clone());
                one["value"] = json!(query);
                let request =
                    json!({ "vector": one, "limit": 5, "offset": 2, "filter": filter, "select": ["id", "tag"] });
                let alone = search(&index, request).await;
                assert_eq!(json!(answer.hits), json!(alone.hits));
                assert_eq!(answer.total, alone.total);
                cells += alone.stats.cells_probed;
            }
            assert_eq!(response.stats.cells_probed, cells);
        }
        index.close().await.unwrap();
    });
}

#[test]
fn what_does_not_go_with_several_vectors_is_refused() {
    block_on(async {
        let (index, set) = built("cosine").await;
        let values = json!(&set.queries[..2]);
        let beside = [
            json!({ "query": "words" }),
            json!({ "sort": [{ "field": "tag" }] }),
            json!({ "facets": [{ "field": "tag" }] }),
            json!({ "collapse": { "field": "tag" } }),
        ];
        let mut requests: Vec<Value> = beside.to_vec();
        requests.iter_mut().for_each(|request| request["vector"] = clause(json!({ "values": values })));
        requests.push(json!({ "vector": clause(json!({ "values": [] })) }));
        requests.push(json!({ "vector": clause(json!({ "values": [[1.0]] })) }));
        requests.push(json!({ "vector": clause(json!({ "values": values, "value": set.queries[0] })) }));
        for request in requests {
            let parsed = serde_json::from_value(request.clone()).unwrap();
            let refused = index.search(&parsed, &Default::default()).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{request}: {refused}");
        }
    });
}

#[test]
fn a_least_score_bounds_what_is_found() {
    for metric in ["cosine", "dot", "l2"] {
        block_on(async {
            let (index, set) = built(metric).await;
            let (mut hits, mut wanted) = (0, 0);
            for query in 0..set.queries.len() {
                let all = set.expected(query, |_| true);
                for rank in [0, 7, 60] {
                    // Between two scores, so that rounding decides nothing.
                    let least = (all[rank].1 + all[rank + 1].1) / 2.0;
                    let mut ask = clause(json!({ "value": set.queries[query], "minScore": least, "k": 500 }));
                    let response = search(&index, json!({ "vector": ask, "limit": 100, "select": [] })).await;
                    assert!(response.hits.iter().all(|hit| hit.score >= least - 1e-6), "{metric} {rank}");
                    assert!(response.hits.len() <= rank + 1 && response.total as usize == response.hits.len());
                    set.found(query, &all, &response.hits, 10);
                    (hits, wanted) = (hits + response.hits.len(), wanted + rank + 1);
                    ask["exact"] = json!(true);
                    let facets = json!([{ "field": "side" }]);
                    let request = json!({ "vector": ask, "limit": 3, "select": [], "facets": facets });
                    let exact = search(&index, request).await;
                    assert_eq!((exact.total as usize, exact.hits.len()), (rank + 1, 3.min(rank + 1)), "{metric}");
                    let counted: u64 = exact.facets[0].values.iter().map(|value| value.count).sum();
                    assert_eq!(counted, exact.total);
                }
                // Higher than any.
                let ask = clause(json!({ "value": set.queries[query], "minScore": 1e9 }));
                let response = search(&index, json!({ "vector": ask })).await;
                assert_eq!((response.total, response.hits.len()), (0, 0));
            }
            let recall = hits as f64 / wanted as f64;
            assert!(recall >= 0.94, "{metric}: {recall}");
        });
    }
}

#[test]
fn pages_go_on_where_the_last_one_ended() {
    block_on(async {
        let (index, set) = built("l2").await;
        for query in 0..4 {
            let ask = clause(json!({ "value": set.queries[query], "k": 90 }));
            let whole = search(&index, json!({ "vector": ask, "limit": 60, "select": [] })).await;
            let (mut paged, mut after) = (Vec::new(), json!(null));
            for _ in 0..3 {
                let request = json!({ "vector": ask, "limit": 20, "after": after, "select": [] });
                let page = search(&index, request).await;
                assert_eq!(page.hits.len(), 20);
                after = json!(page.cursor);
                paged.extend(page.hits);
            }
            let mut ids: Vec<usize> = paged.iter().map(|hit| id_of(&hit.id)).collect();
            assert!(paged.is_sorted_by(|a, b| a.score >= b.score));
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), 60, "no hit twice");
            let same = whole.hits.iter().filter(|hit| ids.binary_search(&id_of(&hit.id)).is_ok()).count();
            assert!(same >= 57, "{same} of 60 as in one page");
        }
    });
}
