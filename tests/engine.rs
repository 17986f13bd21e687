//! The engine as a caller sees it: documents in, commits, reopening, replacing, deleting, rolling back.

use rangefind::{
    engine::{Cancel, DocumentBatch, Index, MergeOptions, OpenMode, OpenOptions, no_progress},
    error::ErrorKind,
    ids::DocId,
    platform::block_on,
    schema::Schema,
    storage::MemoryStorage,
};
use serde_json::{Value, json};

fn schema() -> Schema {
    let json = json!({ "title": "text", "tag": "keyword", "year": "integer",
        "embedding": { "type": "vector", "dims": 2, "metric": "dot" } });
    Schema::from_json(&json).unwrap()
}

fn options() -> OpenOptions<MemoryStorage> {
    OpenOptions { schema: Some(schema()), auto_merge: false, ..OpenOptions::default() }
}

fn doc(id: i64, title: &str) -> Value {
    json!({ "id": id, "title": title, "tag": ["a", format!("t{}", id % 3)], "year": 2000 + id % 20,
        "embedding": [id as f32, 1.0] })
}

fn batch(docs: Vec<Value>) -> DocumentBatch {
    DocumentBatch::from_values(docs)
}

async fn titles(index: &Index<MemoryStorage>, ids: &[i64]) -> Vec<Option<String>> {
    let ids: Vec<DocId> = ids.iter().map(|id| DocId::from(*id)).collect();
    let found = index.get(&ids).await.unwrap();
    found.into_iter().map(|doc| doc.map(|doc| doc["title"].as_str().unwrap().to_owned())).collect()
}

async fn assert_sound(index: &Index<MemoryStorage>) {
    let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
    assert!(report.ok, "{:#?}", report.problems);
    assert_eq!(report.docs, index.info().unwrap().num_docs);
    assert!(report.leftovers.is_empty(), "{:?}", report.leftovers);
}

#[test]
fn what_was_committed_is_there_after_reopening() {
    block_on(async {
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), options()).await.unwrap();
        let report = index.add(batch((0..100).map(|id| doc(id, &format!("number {id}"))).collect())).await.unwrap();
        assert_eq!(report.added, 100);
        assert_eq!(titles(&index, &[7]).await, [None], "not committed yet");
        let commit = index.commit().await.unwrap();
        assert!(commit.changed);
        assert_eq!(commit.num_docs, 100);
        assert!(!index.commit().await.unwrap().changed);
        assert_eq!(titles(&index, &[7, 100, 99]).await, [Some("number 7".into()), None, Some("number 99".into())]);
        assert_sound(&index).await;
        index.close().await.unwrap();
        assert_eq!(index.commit().await.unwrap_err().kind(), ErrorKind::Closed);
        let options = OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() };
        let again = Index::open(storage, options).await.unwrap();
        assert_eq!(titles(&again, &[7]).await, [Some("number 7".into())]);
        assert_eq!(again.info().unwrap().num_docs, 100);
        assert_eq!(again.delete(&[DocId::from(7)]).await.unwrap_err().kind(), ErrorKind::ReadOnly);
    });
}

#[test]
fn a_later_document_replaces_one_of_the_same_id_everywhere() {
    block_on(async {
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), options()).await.unwrap();
        // In one batch, across batches, across flushes, across commits.
        index.add(batch(vec![doc(1, "a"), doc(2, "a"), doc(1, "b")])).await.unwrap();
        index.add(batch(vec![doc(2, "b"), doc(3, "a")])).await.unwrap();
        assert_eq!(index.commit().await.unwrap().num_docs, 3);
        assert_eq!(titles(&index, &[1, 2, 3]).await, ["b", "b", "a"].map(|t| Some(t.to_owned())));
        index.add(batch(vec![doc(3, "b"), doc(4, "a")])).await.unwrap();
        assert_eq!(titles(&index, &[3]).await, [Some("a".to_owned())], "readers see the last commit");
        assert_eq!(index.commit().await.unwrap().num_docs, 4);
        assert_eq!(titles(&index, &[1, 2, 3, 4]).await, ["b", "b", "b", "a"].map(|t| Some(t.to_owned())));
        assert_sound(&index).await;
        let merged = index.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap();
        assert_eq!((merged.num_segments, merged.docs, merged.dropped_docs), (1, 4, 3));
        assert_eq!(titles(&index, &[1, 2, 3, 4]).await, ["b", "b", "b", "a"].map(|t| Some(t.to_owned())));
        assert_sound(&index).await;
    });
}
