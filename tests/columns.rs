//! Columns of an index that is not in memory: what a sort, a range and a facet read; cursors through commits and merges.
#![cfg(not(target_arch = "wasm32"))]

use rangefind::{
    ErrorKind,
    engine::{
        Cancel, DocumentBatch, Index, MergeOptions, OpenMode, OpenOptions, SearchRequest, SearchResponse, no_progress,
    },
    ids::DocId,
    platform::block_on,
    schema::Schema,
    storage::{MemoryStorage, Storage, local::LocalStorage},
};
use serde_json::{Value, json};

fn schema() -> Schema {
    Schema::from_json(&json!({ "rising": "integer", "random": "integer", "word": "keyword", "body": "text" })).unwrap()
}

async fn search<S: Storage>(index: &Index<S>, request: Value) -> rangefind::Result<SearchResponse> {
    let request: SearchRequest = serde_json::from_value(request).unwrap();
    index.search(&request, &Cancel::new()).await
}

fn ids(response: &SearchResponse) -> Vec<DocId> {
    response.hits.iter().map(|hit| hit.id.clone()).collect()
}

/// 20 blocks of documents whose columns are too long to be read whole in passing.
const NUM_DOCS: u32 = 80_000;

#[test]
fn large_columns_are_read_where_they_matter() {
    let dir = tempfile::tempdir().unwrap();
    let storage = || LocalStorage::new(dir.path(), Default::default());
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(5);
        let options = OpenOptions { schema: Some(schema()), auto_merge: false, ..OpenOptions::default() };
        let index = Index::open(storage(), options).await.unwrap();
        let mut docs: Vec<(i64, i64)> = Vec::new();
        for start in (0..NUM_DOCS).step_by(10_000) {
            let part: Vec<Value> = (start..start + 10_000)
                .map(|id| {
                    let (rising, random) = (i64::from(id) * 7, rng.i64(0..1 << 40));
                    docs.push((rising, random));
                    json!({ "id": id, "rising": rising, "random": random })
                })
                .collect();
            index.add(DocumentBatch::from_values(part)).await.unwrap();
        }
        index.commit().await.unwrap();
        index.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap();
        index.close().await.unwrap();
        let cold = || async {
            let options = OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() };
            Index::open(storage(), options).await.unwrap()
        };
        let sizes = cold().await.info().unwrap();
        let column = |name: &str| sizes.fields.iter().find(|field| field.name == name).unwrap().bytes;
        assert!(column("rising") > 128 << 10 && column("random") > 3 * (128 << 10), "{sizes:?}");

        for (order, best) in [("asc", 0), ("desc", NUM_DOCS - 1)] {
            let found =
                search(&cold().await, json!({ "sort": [{ "field": "rising", "order": order }] })).await.unwrap();
            assert_eq!(found.hits[0].id, DocId::from(i64::from(best)));
            let stats = &found.stats;
            assert!(stats.bytes < column("rising") / 2 && stats.waves <= 2, "{order}: {stats:?}");
        }
        let found = search(&cold().await, json!({ "sort": [{ "field": "random" }], "limit": 3, "select": [] })).await;
        let stats = found.unwrap().stats;
        assert!(stats.waves <= 4, "blocks in growing rounds, then documents: {stats:?}");

        let some = json!({ "rising": { "gte": 70_000, "lt": 70_070 } });
        let found = search(&cold().await, json!({ "filter": some, "limit": 0 })).await.unwrap();
        assert_eq!(found.total, 10);
        assert!(found.stats.bytes < 48 << 10 && found.stats.waves <= 1, "{:?}", found.stats);
        let facet = json!({ "field": "random", "ranges": [{ "to": 1u64 << 39 }, { "from": 1u64 << 39 }] });
        let found = search(&cold().await, json!({ "filter": some, "limit": 0, "facets": [facet] })).await.unwrap();
        let low = docs[10_000..10_010].iter().filter(|(_, random)| *random < 1 << 39).count() as u64;
        assert_eq!(found.facets[0].values.iter().map(|one| one.count).collect::<Vec<_>>(), [low, 10 - low]);
        assert!(found.stats.bytes < 96 << 10 && found.stats.waves <= 2, "{:?}", found.stats);
        // Values in no order: points tell where few of them are.
        let mut sorted: Vec<i64> = docs.iter().map(|(_, random)| *random).collect();
        sorted.sort_unstable();
        let few = json!({ "random": { "gte": sorted[5000], "lte": sorted[5019] } });
        let found = search(&cold().await, json!({ "filter": few, "limit": 0 })).await.unwrap();
        assert_eq!(found.total, 20);
        assert!(found.stats.bytes < column("random") / 16 && found.stats.waves <= 1, "{:?}", found.stats);
        let found = search(&cold().await, json!({ "filter": few, "limit": 20, "select": [] })).await.unwrap();
        let mut hits: Vec<i64> = found.hits.iter().map(|hit| serde_json::from_value(json!(hit.id)).unwrap()).collect();
        hits.sort_unstable();
        let twin = (0..).zip(&docs).filter(|(_, doc)| (sorted[5000]..=sorted[5019]).contains(&doc.1));
        assert_eq!(hits, twin.map(|(id, _)| id).collect::<Vec<i64>>());
        // Half of all: only the ends are read to count them.
        let half = json!({ "random": { "gte": sorted[20_000], "lt": sorted[60_000] } });
        let found = search(&cold().await, json!({ "filter": half, "limit": 0 })).await.unwrap();
        assert_eq!(found.total, 40_000);
        assert!(found.stats.bytes < column("random") / 16 && found.stats.waves <= 1, "{:?}", found.stats);
        let report = cold().await.check(&no_progress, &Cancel::new()).await.unwrap();
        assert!(report.ok, "{:?}", report.problems);
        let all = search(&cold().await, json!({ "filter": { "rising": { "gte": 0 } }, "limit": 0 })).await.unwrap();
        assert_eq!((all.total, all.stats.requests), (u64::from(NUM_DOCS), 0), "bounds tell");
    });
}

#[test]
fn cursors_go_on_in_later_commits_or_say_why_not() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    block_on(async {
        let options = OpenOptions { schema: Some(schema()), auto_merge: false, ..OpenOptions::default() };
        let index = Index::open(MemoryStorage::new(), options).await.unwrap();
        let mut number = 0;
        let mut docs = |rng: &mut fastrand::Rng, count: usize| -> DocumentBatch {
            let doc = |_| {
                number += 1;
                let word = ["apple", "fig", "date", "grape"][rng.usize(0..4)];
                json!({ "id": number, "random": rng.i64(0..20), "word": format!("{word}{}", rng.u8(0..9)), "body": word })
            };
            DocumentBatch::from_values((0..count).map(doc).collect())
        };
        index.add(docs(&mut rng, 120)).await.unwrap();
        index.commit().await.unwrap();
        let orders = [
            json!([{ "field": "random" }]),
            json!([{ "field": "word", "order": "desc" }, { "field": "random" }]),
            json!([]),
        ];
        let mut cursors = Vec::new();
        for sort in &orders {
            let page = search(&index, json!({ "sort": sort, "limit": 25 })).await.unwrap();
            cursors.push((page.cursor.clone().unwrap(), page.hits.last().unwrap().id.clone()));
        }
        let scored = search(&index, json!({ "query": "apple", "limit": 5 })).await.unwrap().cursor.unwrap();
        index.add(docs(&mut rng, 80)).await.unwrap();
        let gone: Vec<DocId> = (0..10).map(|_| DocId::from(rng.i64(1..120))).collect();
        let lasts: Vec<DocId> = cursors.iter().map(|(_, last)| last.clone()).collect();
        index.delete(&gone.into_iter().filter(|id| !lasts.contains(id)).collect::<Vec<_>>()).await.unwrap();
        index.commit().await.unwrap();
        for (sort, (cursor, last)) in orders.iter().zip(&cursors) {
            let whole = ids(&search(&index, json!({ "sort": sort, "limit": 1000 })).await.unwrap());
            let at = whole.iter().position(|id| id == last).expect("it is still there");
            let rest = search(&index, json!({ "sort": sort, "limit": 1000, "after": cursor })).await.unwrap();
            assert_eq!(ids(&rest), whole[at + 1..], "seed {seed}: {sort}");
        }
        let error = search(&index, json!({ "query": "apple", "after": scored })).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IndexChanged, "{error}");
        index.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap();
        for (sort, (cursor, _)) in orders.iter().zip(&cursors) {
            let error = search(&index, json!({ "sort": sort, "after": cursor })).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::IndexChanged, "{error}");
            assert!(error.to_string().contains("start again"), "{error}");
        }
    });
}
