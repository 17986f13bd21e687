//! The engine as a caller sees it: documents in, commits, reopening, replacing, deleting, rolling back.
#![cfg(not(target_arch = "wasm32"))]

use rangefind::{
    analysis::CustomAnalyzers,
    engine::{Cancel, DocumentBatch, Index, MergeOptions, OpenMode, OpenOptions, no_progress},
    error::ErrorKind,
    ids::DocId,
    index::{IndexWriter, Opener, WriterOptions},
    platform::block_on,
    schema::Schema,
    storage::{BlockCache, MemoryStorage, Storage},
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

/// A search that names every field by what it is.
fn search_of_all_fields() -> rangefind::engine::SearchRequest {
    serde_json::from_value(json!({ "query": "number", "fields": ["title"], "highlight": ["title"], "facets": ["tag"],
        "filter": { "year": { "gte": 2000 } }, "sort": [{ "field": "year" }],
        "vector": { "field": "embedding", "value": [1.0, 2.0] } }))
    .unwrap()
}

#[test]
fn fields_of_a_new_schema_can_be_searched_before_the_first_commit() {
    block_on(async {
        let index = Index::open(MemoryStorage::new(), options()).await.unwrap();
        let found = index.search(&search_of_all_fields(), &Cancel::new()).await.unwrap();
        assert_eq!((found.total, found.hits.len()), (0, 0));
        assert_eq!(found.facets.len(), 1);
        index.add(batch(vec![doc(1, "number one")])).await.unwrap();
        index.search(&search_of_all_fields(), &Cancel::new()).await.unwrap();
        index.commit().await.unwrap();
        assert_eq!(index.search(&search_of_all_fields(), &Cancel::new()).await.unwrap().total, 1);
    });
}

#[test]
fn fields_added_to_the_schema_can_be_searched_before_the_next_commit() {
    block_on(async {
        let storage = MemoryStorage::new();
        let short = Schema::from_json(&json!({ "title": "text" })).unwrap();
        let old = OpenOptions { schema: Some(short), ..options() };
        let index = Index::open(storage.clone(), old).await.unwrap();
        index.add(batch(vec![json!({ "id": 1, "title": "number one" })])).await.unwrap();
        index.commit().await.unwrap();
        index.close().await.unwrap();

        let index = Index::open(storage, options()).await.unwrap();
        let mut request = search_of_all_fields();
        assert_eq!(index.search(&request, &Cancel::new()).await.unwrap().total, 0, "no document has a year yet");
        request.filter = None;
        let found = index.search(&request, &Cancel::new()).await.unwrap();
        assert_eq!((found.total, found.hits.len()), (1, 1));
        index.add(batch(vec![doc(2, "number two")])).await.unwrap();
        index.commit().await.unwrap();
        assert_eq!(index.search(&request, &Cancel::new()).await.unwrap().total, 2);
    });
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

#[test]
fn deletes_and_rollbacks_take_effect_at_the_commit() {
    block_on(async {
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), options()).await.unwrap();
        index.add(batch((0..10).map(|id| doc(id, "a")).collect())).await.unwrap();
        index.commit().await.unwrap();
        assert_eq!(index.delete(&[1, 2, 77].map(DocId::from)).await.unwrap(), 2);
        assert_eq!(index.delete(&[2, 2, 3].map(DocId::from)).await.unwrap(), 1, "2 is gone already");
        index.add(batch(vec![doc(50, "new")])).await.unwrap();
        assert_eq!(index.delete(&[DocId::from(50)]).await.unwrap(), 1, "pending documents can be deleted");
        assert_eq!(titles(&index, &[1, 2, 3, 4]).await, vec![Some("a".to_owned()); 4], "not committed yet");
        index.rollback().await.unwrap();
        assert!(!index.commit().await.unwrap().changed);
        index.delete(&[DocId::from(1)]).await.unwrap();
        index.add(batch(vec![doc(1, "again"), doc(2, "b")])).await.unwrap();
        assert_eq!(index.commit().await.unwrap().num_docs, 10);
        assert_eq!(titles(&index, &[1, 2]).await, ["again", "b"].map(|t| Some(t.to_owned())));
        assert_sound(&index).await;
        // All documents of a segment go: so does the segment.
        index.delete(&(0..10).map(DocId::from).collect::<Vec<_>>()).await.unwrap();
        let commit = index.commit().await.unwrap();
        assert_eq!((commit.num_docs, commit.num_segments), (0, 0));
        assert_sound(&index).await;
    });
}

#[test]
fn string_and_integer_ids_are_different_documents() {
    block_on(async {
        let index = Index::open(MemoryStorage::new(), options()).await.unwrap();
        index
            .add(batch(vec![json!({ "id": 7, "title": "int" }), json!({ "id": "7", "title": "text" })]))
            .await
            .unwrap();
        assert_eq!(index.commit().await.unwrap().num_docs, 2);
        let found = index.get(&[DocId::from("7"), DocId::from(7)]).await.unwrap();
        let titles: Vec<_> = found.iter().map(|doc| doc.as_ref().unwrap()["title"].as_str().unwrap()).collect();
        assert_eq!(titles, ["text", "int"]);
    });
}

#[test]
fn documents_that_do_not_fit_are_refused_and_the_rest_is_added() {
    block_on(async {
        let index = Index::open(MemoryStorage::new(), options()).await.unwrap();
        let bad = json!({ "id": 2, "title": "x", "embedding": [1.0, 2.0, 3.0] });
        let report = index.add(batch(vec![doc(1, "a"), bad, doc(3, "a")])).await.unwrap();
        assert_eq!(report.added, 2);
        let [refusal] = report.refused.as_slice() else { panic!("{report:?}") };
        assert_eq!(
            (refusal.row, refusal.field.as_deref(), refusal.id.clone()),
            (1, Some("embedding"), Some(DocId::from(2)))
        );
        assert_eq!(index.commit().await.unwrap().num_docs, 2);
    });
}

#[test]
fn a_schema_is_inferred_recorded_and_extended() {
    block_on(async {
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), OpenOptions::default()).await.unwrap();
        assert!(index.info().unwrap().schema.is_null());
        index
            .add(batch(vec![json!({ "id": 1, "title": "A text of some words, not a keyword", "year": 1999 })]))
            .await
            .unwrap();
        index.commit().await.unwrap();
        index.close().await.unwrap();
        let more = Schema::from_json(&json!({ "tag": "keyword" })).unwrap();
        let options = OpenOptions { schema: Some(more), ..OpenOptions::default() };
        let index = Index::open(storage.clone(), options).await.unwrap();
        index.add(batch(vec![json!({ "id": 2, "title": "two", "tag": "x" })])).await.unwrap();
        index.commit().await.unwrap();
        let names: Vec<_> = index.info().unwrap().fields.into_iter().map(|field| (field.name, field.kind)).collect();
        assert_eq!(names[0], ("id".to_owned(), "id".to_owned()));
        assert_eq!(names.last().unwrap(), &("tag".to_owned(), "keyword".to_owned()));
        // The older segment lacks the new field; a merge gives it one.
        assert_sound(&index).await;
        index.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap();
        assert_sound(&index).await;
        index.close().await.unwrap();
        let other = Schema::from_json(&json!({ "year": "keyword" })).unwrap();
        let options = OpenOptions { schema: Some(other), ..OpenOptions::default() };
        assert_eq!(Index::open(storage, options).await.err().unwrap().kind(), ErrorKind::InvalidArgument);
    });
}

#[test]
fn a_snapshot_sees_one_commit_and_reopening_the_next() {
    block_on(async {
        let storage = MemoryStorage::new();
        let writer = Index::open(storage.clone(), options()).await.unwrap();
        writer.add(batch(vec![doc(1, "old"), doc(2, "old")])).await.unwrap();
        writer.commit().await.unwrap();
        let reader = Index::open(storage.clone(), options()).await.unwrap();
        writer.add(batch(vec![doc(1, "new"), doc(3, "new")])).await.unwrap();
        writer.delete(&[DocId::from(2)]).await.unwrap();
        writer.commit().await.unwrap();
        writer.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap();
        assert_eq!(titles(&reader, &[1, 2, 3]).await, [Some("old".into()), Some("old".into()), None]);
        assert!(reader.reopen().await.unwrap());
        assert!(!reader.reopen().await.unwrap());
        assert_eq!(titles(&reader, &[1, 2, 3]).await, [Some("new".into()), None, Some("new".into())]);
    });
}

#[test]
fn the_second_writer_is_told_and_takes_over_later() {
    block_on(async {
        let storage = MemoryStorage::new();
        let impatient = || OpenOptions { writer_wait_millis: 10, ..options() };
        let first = Index::open(storage.clone(), impatient()).await.unwrap();
        let second = Index::open(storage.clone(), impatient()).await.unwrap();
        first.add(batch(vec![doc(1, "first")])).await.unwrap();
        assert_eq!(second.add(batch(vec![doc(2, "second")])).await.unwrap_err().kind(), ErrorKind::Locked);
        first.commit().await.unwrap();
        first.close().await.unwrap();
        second.add(batch(vec![doc(2, "second")])).await.unwrap();
        assert_eq!(second.commit().await.unwrap().num_docs, 2, "what the first one committed is kept");
        assert_sound(&second).await;
    });
}

#[test]
fn writers_that_release_after_commits_alternate() {
    block_on(async {
        let storage = MemoryStorage::new();
        let polite = || OpenOptions { release_after_commit: true, writer_wait_millis: 10, ..options() };
        let one = Index::open(storage.clone(), polite()).await.unwrap();
        let two = Index::open(storage.clone(), polite()).await.unwrap();
        for round in 0..5 {
            one.add(batch(vec![doc(round, "one")])).await.unwrap();
            one.commit().await.unwrap();
            two.add(batch(vec![doc(round, "two"), doc(100 + round, "two")])).await.unwrap();
            two.commit().await.unwrap();
        }
        assert!(one.reopen().await.unwrap());
        assert_eq!(one.info().unwrap().num_docs, 10);
        assert_eq!(titles(&one, &[0, 4, 104]).await, vec![Some("two".to_owned()); 3]);
        assert_sound(&one).await;
    });
}

#[test]
fn dropped_files_go_after_their_grace_and_not_before() {
    block_on(async {
        let storage = MemoryStorage::new();
        let names = || async {
            let entries = storage.list().await.unwrap();
            entries.into_iter().filter(|entry| entry.name.ends_with(".seg")).count()
        };
        let graceful = OpenOptions { grace_millis: 100_000, ..options() };
        let index = Index::open(storage.clone(), graceful).await.unwrap();
        for id in 0..3 {
            index.add(batch(vec![doc(id, "a")])).await.unwrap();
            index.commit().await.unwrap();
        }
        index.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap();
        assert_eq!(names().await, 4, "readers of the commit before may still come");
        assert!(index.check(&no_progress, &Cancel::new()).await.unwrap().leftovers.is_empty());
        index.close().await.unwrap();
        let hasty = OpenOptions { grace_millis: 0, ..options() };
        let index = Index::open(storage.clone(), hasty).await.unwrap();
        index.add(batch(vec![doc(9, "a")])).await.unwrap();
        index.commit().await.unwrap();
        assert_eq!(names().await, 2);
        // A file of another name is nobody's business.
        storage.insert("notes.txt", &b"mine"[..]);
        storage.insert(format!("{}.seg", "0".repeat(32)), &b"left by a crash"[..]);
        index.close().await.unwrap();
        let index = Index::open(storage.clone(), options()).await.unwrap();
        assert_eq!(index.check(&no_progress, &Cancel::new()).await.unwrap().leftovers.len(), 1);
        index.delete(&[DocId::from(9)]).await.unwrap();
        assert_eq!(names().await, 2);
        assert!(storage.get("notes.txt").is_some());
    });
}

#[test]
fn a_private_index_overlays_a_read_only_base() {
    block_on(async {
        let (base, own) = (MemoryStorage::new(), MemoryStorage::new());
        let public = Index::open(base.clone(), options()).await.unwrap();
        public.add(batch((0..10).map(|id| doc(id, "public")).collect())).await.unwrap();
        public.commit().await.unwrap();
        let before = base.list().await.unwrap();
        let over = || OpenOptions { base: Some(base.clone()), auto_merge: false, ..OpenOptions::default() };
        let mine = Index::open(own.clone(), over()).await.unwrap();
        assert_eq!(mine.info().unwrap().num_docs, 10, "found without writing anything");
        assert!(own.list().await.unwrap().is_empty());
        mine.add(batch(vec![doc(3, "mine"), doc(20, "mine")])).await.unwrap();
        assert_eq!(mine.delete(&[DocId::from(4)]).await.unwrap(), 1);
        assert_eq!(mine.commit().await.unwrap().num_docs, 10);
        let expected = [Some("mine".to_owned()), None, Some("mine".to_owned()), Some("public".to_owned())];
        assert_eq!(titles(&mine, &[3, 4, 20, 5]).await, expected);
        assert_sound(&mine).await;
        assert_eq!(base.list().await.unwrap(), before, "the base is not written to");
        // The base moves on: what it changes is seen, what is hidden stays hidden.
        public.add(batch(vec![doc(3, "newer"), doc(4, "newer"), doc(5, "newer"), doc(20, "newer")])).await.unwrap();
        public.commit().await.unwrap();
        public.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap();
        assert!(mine.reopen().await.unwrap() || mine.info().unwrap().num_docs == 10);
        mine.close().await.unwrap();
        let mine = Index::open(own.clone(), over()).await.unwrap();
        let expected = [Some("mine".to_owned()), None, Some("mine".to_owned()), Some("newer".to_owned())];
        assert_eq!(titles(&mine, &[3, 4, 20, 5]).await, expected);
        assert_sound(&mine).await;
        mine.add(batch(vec![doc(21, "mine")])).await.unwrap();
        mine.commit().await.unwrap();
        assert_eq!(titles(&mine, &[3, 4, 20, 5]).await, expected);
        mine.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap();
        assert_eq!(titles(&mine, &[3, 4, 20, 5]).await, expected);
        assert_eq!(mine.info().unwrap().segments.len(), 2, "the base's and one of its own");
        assert_sound(&mine).await;
        mine.close().await.unwrap();
        let alone = Index::open(own.clone(), OpenOptions { base: None, ..over() }).await.err().unwrap();
        assert_eq!(alone.kind(), ErrorKind::InvalidArgument, "{alone}");
        let stranger = MemoryStorage::new();
        let other = Index::open(stranger.clone(), options()).await.unwrap();
        other.add(batch(vec![doc(1, "other")])).await.unwrap();
        other.commit().await.unwrap();
        let swapped = Index::open(own, OpenOptions { base: Some(stranger), ..over() }).await.err().unwrap();
        assert_eq!(swapped.kind(), ErrorKind::InvalidArgument, "{swapped}");
    });
}

#[test]
fn files_of_a_snapshot_in_use_stay_whatever_the_grace() {
    block_on(async {
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), options()).await.unwrap();
        for id in 0..3 {
            index.add(batch(vec![doc(id, "a")])).await.unwrap();
            index.commit().await.unwrap();
        }
        index.close().await.unwrap();
        let opener = Opener {
            own: storage.clone(),
            base: None,
            cache: BlockCache::new(0),
            analyzers: CustomAnalyzers::default(),
        };
        let hasty = WriterOptions { memory_bytes: 1 << 20, grace_millis: 0, wait_millis: 0, codec: None };
        let mut writer = IndexWriter::acquire(opener, hasty, None, None).await.unwrap();
        let held = writer.snapshot().clone();
        let ids: Vec<DocId> = (0..2).map(DocId::from).collect();
        writer.delete(&ids).await.unwrap();
        writer.commit().await.unwrap();
        writer.collect_garbage().await;
        let there = || held.commit().files().all(|name| storage.get(&name).is_some());
        assert!(there(), "a search may still read them");
        drop(writer);
        assert!(there());
        let names: Vec<String> = held.commit().files().collect();
        drop(held);
        let opener = Opener {
            own: storage.clone(),
            base: None,
            cache: BlockCache::new(0),
            analyzers: CustomAnalyzers::default(),
        };
        let mut writer = IndexWriter::acquire(opener, hasty, None, None).await.unwrap();
        writer.collect_garbage().await;
        let left = names.iter().filter(|name| storage.get(name).is_some()).count();
        assert_eq!(left, 1, "two of three segments are gone");
    });
}

#[test]
fn of_two_who_create_an_index_at_once_one_is_told() {
    block_on(async {
        let storage = MemoryStorage::new();
        let create = || OpenOptions { mode: OpenMode::Create, ..options() };
        let first = Index::open(storage.clone(), create()).await.unwrap();
        let second = Index::open(storage.clone(), create()).await.unwrap();
        first.add(batch(vec![doc(1, "first")])).await.unwrap();
        first.commit().await.unwrap();
        first.add(batch(vec![doc(2, "first")])).await.unwrap();
        first.commit().await.unwrap();
        first.close().await.unwrap();
        let refused = second.add(batch(vec![doc(1, "second")])).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        let index = Index::open(storage, options()).await.unwrap();
        assert_eq!(titles(&index, &[1, 2]).await, vec![Some("first".to_owned()); 2]);
    });
}
