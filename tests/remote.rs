//! What opening and reading cost in requests, bytes and waves, and that they stay within their budgets.
#![cfg(not(target_arch = "wasm32"))]

use rangefind::{
    engine::{Cancel, DocumentBatch, Index, OpenMode, OpenOptions, SearchRequest},
    ids::DocId,
    platform::block_on,
    schema::Schema,
    storage::{MemoryStorage, testing::CountingStorage},
};
use serde_json::json;

const SEGMENTS: i64 = 5;
const DOCS: i64 = 200;

/// Five segments of 200 documents, two of them with overlays.
async fn sample() -> MemoryStorage {
    let storage = MemoryStorage::new();
    let schema = json!({ "title": "text", "tag": "keyword", "embedding": { "type": "vector", "dims": 8 } });
    let options = OpenOptions {
        schema: Some(Schema::from_json(&schema).unwrap()),
        auto_merge: false,
        grace_millis: 0,
        ..OpenOptions::default()
    };
    let index = Index::open(storage.clone(), options).await.unwrap();
    for segment in 0..SEGMENTS {
        let docs = (0..DOCS).map(|nth| {
            let id = segment * DOCS + nth;
            json!({ "id": id, "title": format!("document number {id} of segment {segment}"), "tag": format!("t{}", id % 7),
                "embedding": vec![id as f32; 8] })
        });
        index.add(DocumentBatch::from_values(docs.collect())).await.unwrap();
        index.commit().await.unwrap();
    }
    index.delete(&[DocId::from(3), DocId::from(DOCS + 3)]).await.unwrap();
    index.commit().await.unwrap();
    index.close().await.unwrap();
    storage
}

fn read_only() -> OpenOptions<CountingStorage<MemoryStorage>> {
    OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() }
}

#[test]
fn opening_takes_two_waves_and_reads_metadata_alone() {
    block_on(async {
        let storage = sample().await;
        let counting = CountingStorage::new(storage);
        let index = Index::open(counting.clone(), read_only()).await.unwrap();
        let total = counting.total();
        assert_eq!(counting.waves(), 2, "{}", counting.report());
        // Both slots, the pinned sections of each segment in one piece, two overlays.
        assert_eq!(total.requests, 2 + SEGMENTS as u64 + 2, "{}", counting.report());
        let info = index.info().unwrap();
        let slots = counting.of("commit-a.rf").bytes + counting.of("commit-b.rf").bytes;
        let overlays = 2 * rangefind::segment::live_file_len(DOCS as u32);
        // Between pinned sections lie at most seven bytes of padding.
        let padding = SEGMENTS as u64 * 7 * 10;
        assert!(total.bytes <= slots + overlays + info.pinned_bytes + padding, "{}", counting.report());
        assert!(slots < 5 * 2048, "{slots} bytes of slots");
        assert_eq!(info.num_docs, (SEGMENTS * DOCS) as u64 - 2);
    });
}

#[test]
fn getting_documents_takes_two_waves_and_nothing_the_second_time() {
    block_on(async {
        let counting = CountingStorage::new(sample().await);
        let index = Index::open(counting.clone(), read_only()).await.unwrap();
        counting.reset();
        let ids = [1, 250, 450, 990].map(DocId::from);
        let found = index.get(&ids).await.unwrap();
        assert!(found.iter().all(Option::is_some));
        assert_eq!(counting.waves(), 2, "{}", counting.report());
        assert!(counting.total().requests <= 2 * SEGMENTS as u64, "{}", counting.report());
        counting.reset();
        index.get(&ids).await.unwrap();
        assert_eq!(counting.total().requests, 0, "{}", counting.report());
        let cache = index.info().unwrap().cache;
        assert!(cache.requests > 0 && cache.hits > 0, "{cache:?}");
    });
}

#[test]
fn reopening_reads_slots_and_what_is_new() {
    block_on(async {
        let storage = sample().await;
        let counting = CountingStorage::new(storage.clone());
        let index = Index::open(counting.clone(), read_only()).await.unwrap();
        counting.reset();
        assert!(!index.reopen().await.unwrap());
        assert_eq!((counting.waves(), counting.total().requests), (1, 2));
        let writer = Index::open(storage, OpenOptions { auto_merge: false, ..OpenOptions::default() }).await.unwrap();
        writer.add(DocumentBatch::from_values(vec![json!({ "id": 5000, "title": "new" })])).await.unwrap();
        writer.commit().await.unwrap();
        counting.reset();
        assert!(index.reopen().await.unwrap());
        assert_eq!(counting.waves(), 2, "{}", counting.report());
        // Slots, the new segment, and the two overlays: segments that were open are shared.
        assert_eq!(counting.opened(), 3, "{}", counting.report());
        assert!(index.get(&[DocId::from(5000)]).await.unwrap()[0].is_some());
    });
}

#[test]
fn a_cold_query_takes_three_waves_and_a_warm_one_none() {
    block_on(async {
        let counting = CountingStorage::new(sample().await);
        let index = Index::open(counting.clone(), read_only()).await.unwrap();
        let request = json!({ "query": "document 250", "match": "all", "filter": { "tag": ["t1", "t5"] }, "limit": 5 });
        let request: SearchRequest = serde_json::from_value(request).unwrap();
        counting.reset();
        let cold = index.search(&request, &Cancel::new()).await.unwrap();
        assert_eq!((cold.total, &cold.hits[0].id), (1, &DocId::from(250)));
        assert!(cold.stats.waves <= 3 && counting.waves() <= 3, "{:?}\n{}", cold.stats, counting.report());
        // What the answer says it cost is what the storage saw.
        assert_eq!((cold.stats.requests, cold.stats.bytes), (counting.total().requests, counting.total().bytes));
        assert!(cold.stats.bytes <= index.info().unwrap().bytes, "{:?}", cold.stats);
        counting.reset();
        let warm = index.search(&request, &Cancel::new()).await.unwrap();
        assert_eq!((warm.stats.requests, warm.stats.waves, counting.total().requests), (0, 0, 0));
        assert_eq!(warm.total, cold.total);
    });
}
