//! Merges: what they keep, what they drop, how they end.
#![cfg(not(target_arch = "wasm32"))]

use std::{future::poll_fn, task::Poll};

use futures_util::{future::join, stream};
use rangefind::{
    engine::{
        self, BuildOptions, Cancel, DocumentBatch, Index, MergeOptions, OpenMode, OpenOptions, Progress, no_progress,
    },
    error::ErrorKind,
    ids::DocId,
    platform::block_on,
    schema::Schema,
    storage::{MemoryStorage, Storage, testing::CountingStorage},
};
use serde_json::{Value, json};

fn schema() -> Schema {
    let json = json!({ "title": "text", "tag": "keyword", "year": "integer",
        "embedding": { "type": "vector", "dims": 16 } });
    Schema::from_json(&json).unwrap()
}

fn options<S>() -> OpenOptions<S> {
    OpenOptions { schema: Some(schema()), auto_merge: false, grace_millis: 0, ..OpenOptions::default() }
}

fn doc(id: i64, title: &str) -> Value {
    json!({ "id": id, "title": format!("{title} number {id} of many"), "tag": format!("t{}", id % 5), "year": id % 30,
        "embedding": vec![id as f32; 16] })
}

fn docs(ids: std::ops::Range<i64>, title: &str) -> DocumentBatch {
    DocumentBatch::from_values(ids.map(|id| doc(id, title)).collect())
}

/// An index of `segments` segments of 100 documents.
async fn sample<S: Storage>(storage: S, segments: i64) -> Index<S> {
    let index = Index::open(storage, options()).await.unwrap();
    for segment in 0..segments {
        index.add(docs(segment * 100..segment * 100 + 100, "first")).await.unwrap();
        index.commit().await.unwrap();
    }
    index
}

async fn assert_sound<S: Storage>(index: &Index<S>) {
    let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
    assert!(report.ok, "{:#?}", report.problems);
    assert_eq!(report.docs, index.info().unwrap().num_docs);
    assert!(report.leftovers.is_empty(), "{:?}", report.leftovers);
}

async fn has<S: Storage>(index: &Index<S>, ids: &[i64]) -> Vec<bool> {
    let ids: Vec<DocId> = ids.iter().map(|id| DocId::from(*id)).collect();
    index.get(&ids).await.unwrap().iter().map(Option::is_some).collect()
}

fn force(max_segments: u32) -> MergeOptions {
    MergeOptions { max_segments: Some(max_segments), ..MergeOptions::default() }
}

/// Lets the other futures of a join go on once.
async fn next_turn() {
    let mut waited = false;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[test]
fn a_cancelled_merge_leaves_nothing() {
    block_on(async {
        let storage = MemoryStorage::new();
        let index = sample(storage.clone(), 4).await;
        index.close().await.unwrap();
        let before = storage.list().await.unwrap();
        let mut finished = false;
        // The flag is set one turn of the merge later each time.
        for stop_at in 1..100_000 {
            let cancel = Cancel::new();
            let index = Index::open(CountingStorage::new(storage.clone()), options()).await.unwrap();
            let merge = index.merge(force(1), &no_progress, &cancel);
            let canceller = async {
                for _ in 0..stop_at {
                    next_turn().await;
                }
                cancel.cancel();
            };
            let (merged, ()) = join(merge, canceller).await;
            match merged {
                Ok(report) => {
                    assert_eq!(report.num_segments, 1);
                    assert_sound(&index).await;
                    finished = true;
                    break;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Aborted, "{error}"),
            }
            assert_eq!(storage.list().await.unwrap(), before, "stopped at {stop_at}");
            assert_sound(&index).await;
            index.close().await.unwrap();
        }
        assert!(finished);
    });
}

#[test]
fn deletions_that_arrive_during_a_merge_are_carried_over() {
    block_on(async {
        let counting = CountingStorage::new(MemoryStorage::new());
        let index = sample(counting.clone(), 4).await;
        index.delete(&[DocId::from(5)]).await.unwrap();
        let cancel = Cancel::new();
        let merge = index.merge(force(1), &no_progress, &cancel);
        let meanwhile = async {
            let start = index.info().unwrap().generation;
            // Committed during the merge, replaced during the merge, and deleted but not committed.
            index.delete(&[DocId::from(7), DocId::from(107)]).await.unwrap();
            index.add(docs(300..302, "second")).await.unwrap();
            index.commit().await.unwrap();
            index.delete(&[DocId::from(8)]).await.unwrap();
            index.add(docs(900..901, "pending")).await.unwrap();
            assert_eq!(index.info().unwrap().segments.len(), 5, "the merge was faster than its deletions");
            assert!(index.info().unwrap().generation > start);
        };
        let (report, ()) = join(merge, meanwhile).await;
        let report = report.unwrap();
        assert_eq!((report.merged_segments, report.docs), (4, 399));
        assert_eq!(
            has(&index, &[5, 7, 107, 8, 300, 301, 302, 900]).await,
            [false, false, false, true, true, true, true, false]
        );
        assert_sound(&index).await;
        index.commit().await.unwrap();
        assert_eq!(has(&index, &[5, 7, 107, 8, 300, 900]).await, [false, false, false, false, true, true]);
        let found = index.get(&[DocId::from(300)]).await.unwrap();
        assert!(found[0].as_ref().unwrap()["title"].as_str().unwrap().starts_with("second"));
        assert_sound(&index).await;
        index.merge(force(1), &no_progress, &Cancel::new()).await.unwrap();
        assert_eq!(index.info().unwrap().num_deleted, 0);
        assert_sound(&index).await;
    });
}

#[test]
fn a_merge_of_documents_that_are_all_deleted_meanwhile_leaves_no_segment() {
    block_on(async {
        let counting = CountingStorage::new(MemoryStorage::new());
        let index = sample(counting.clone(), 2).await;
        let cancel = Cancel::new();
        let merge = index.merge(force(1), &no_progress, &cancel);
        let meanwhile = async {
            index.delete(&(0..200).map(DocId::from).collect::<Vec<_>>()).await.unwrap();
            index.commit().await.unwrap();
        };
        let (report, ()) = join(merge, meanwhile).await;
        report.unwrap();
        assert_eq!((index.info().unwrap().num_docs, index.info().unwrap().segments.len()), (0, 0));
        assert_sound(&index).await;
    });
}

#[test]
fn the_policy_keeps_the_number_of_segments_low() {
    block_on(async {
        let storage = MemoryStorage::new();
        let index = Index::open(storage, OpenOptions { auto_merge: true, ..options() }).await.unwrap();
        for round in 0..30 {
            index.add(docs(round * 10..round * 10 + 10, "a")).await.unwrap();
            let commit = index.commit().await.unwrap();
            assert_eq!(commit.num_docs, (round as u64 + 1) * 10);
            assert!(commit.num_segments <= 9, "{commit:?}");
        }
        assert_sound(&index).await;
    });
}

#[test]
fn a_budget_makes_rounds_and_one_that_cannot_be_met_is_refused() {
    block_on(async {
        let storage = MemoryStorage::new();
        let index = sample(storage.clone(), 12).await;
        let tiny = MergeOptions { max_segments: Some(1), memory_bytes: 1 << 20, ..MergeOptions::default() };
        let refused = index.merge(tiny, &no_progress, &Cancel::new()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::OverBudget, "{refused}");
        assert_eq!(index.info().unwrap().segments.len(), 12);
        let small =
            MergeOptions { max_segments: Some(1), memory_bytes: (1 << 20) + (600 << 10), ..MergeOptions::default() };
        let phases = std::sync::Mutex::new(std::collections::HashSet::new());
        let progress = |progress: Progress| {
            assert!(progress.done <= progress.total, "{progress:?}");
            phases.lock().unwrap().insert(progress.phase);
        };
        let report = index.merge(small, &progress, &Cancel::new()).await.unwrap();
        assert!(report.new_segments > 1 && report.num_segments == 1, "{report:?}");
        assert!(report.peak_memory_bytes <= small.memory_bytes, "{report:?}");
        assert!(phases.lock().unwrap().contains(&engine::Phase::Commit));
        let info = index.info().unwrap();
        assert_eq!((info.segments.len(), info.num_docs), (1, 1200));
        let files = storage.list().await.unwrap().into_iter().filter(|entry| entry.name.ends_with(".seg")).count();
        assert_eq!(files, 1, "without a grace, what was merged is gone");
        assert_sound(&index).await;
    });
}

#[test]
fn several_indexes_become_one_and_the_later_source_wins() {
    block_on(async {
        let (one, two, three) = (MemoryStorage::new(), MemoryStorage::new(), MemoryStorage::new());
        sample(one.clone(), 3).await.close().await.unwrap();
        let index = Index::open(two.clone(), options()).await.unwrap();
        index.add(docs(250..350, "second")).await.unwrap();
        index.commit().await.unwrap();
        index.delete(&[DocId::from(260)]).await.unwrap();
        index.commit().await.unwrap();
        index.close().await.unwrap();
        let sources = [one.clone(), two.clone()];
        let report = engine::merge(&sources, three.clone(), force(1), &no_progress, &Cancel::new()).await.unwrap();
        // 260 was deleted in the second source only: the first one's is found again.
        assert_eq!((report.docs, report.num_segments), (350, 1));
        let merged = Index::open(three.clone(), OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() })
            .await
            .unwrap();
        let found = merged.get(&[249, 250, 260, 349].map(DocId::from)).await.unwrap();
        let titles: Vec<_> =
            found.iter().map(|doc| doc.as_ref().unwrap()["title"].as_str().unwrap()[..5].to_owned()).collect();
        assert_eq!(titles, ["first", "secon", "first", "secon"]);
        assert_sound(&merged).await;
        let again = engine::merge(&sources, three, force(1), &no_progress, &Cancel::new()).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::InvalidArgument, "{again}");
        let other = Schema::from_json(&json!({ "title": "keyword" })).unwrap();
        let four = MemoryStorage::new();
        let index = Index::open(four.clone(), OpenOptions { schema: Some(other), ..options() }).await.unwrap();
        index.add(DocumentBatch::from_values(vec![json!({ "title": "x" })])).await.unwrap();
        index.commit().await.unwrap();
        let unlike = engine::merge(&[one, four], MemoryStorage::new(), force(1), &no_progress, &Cancel::new()).await;
        assert_eq!(unlike.unwrap_err().kind(), ErrorKind::InvalidArgument);
    });
}

#[test]
fn a_build_in_one_call_is_a_finished_index() {
    block_on(async {
        let storage = MemoryStorage::new();
        let batches = stream::iter((0..5).map(|nth| {
            let mut values: Vec<Value> = (nth * 50..nth * 50 + 50).map(|id| doc(id, "a")).collect();
            values.push(json!({ "id": [] }));
            Ok(DocumentBatch::from_values(values))
        }));
        let options = BuildOptions { schema: Some(schema()), memory_bytes: 4 << 20, ..BuildOptions::default() };
        let report = engine::build(storage.clone(), batches, options, &no_progress, &Cancel::new()).await.unwrap();
        assert_eq!((report.num_docs, report.num_segments), (250, 1));
        let rows: Vec<u64> = report.refused.iter().map(|refusal| refusal.row).collect();
        assert_eq!(rows, [50, 101, 152, 203, 254]);
        let open = OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() };
        assert_sound(&Index::open(storage.clone(), open).await.unwrap()).await;
        let segments = storage.list().await.unwrap().into_iter().filter(|entry| entry.name.ends_with(".seg"));
        assert_eq!(segments.count(), 1);
        let again =
            engine::build(storage, stream::iter(Vec::new()), BuildOptions::default(), &no_progress, &Cancel::new())
                .await;
        assert_eq!(again.unwrap_err().kind(), ErrorKind::InvalidArgument);
        // A build that fails leaves room for another.
        let storage = MemoryStorage::new();
        let failing = stream::iter(vec![Ok(docs(0..10, "a")), Err(rangefind::Error::invalid("the caller gives up"))]);
        let options = BuildOptions { schema: Some(schema()), ..BuildOptions::default() };
        assert!(engine::build(storage.clone(), failing, options.clone(), &no_progress, &Cancel::new()).await.is_err());
        let batches = stream::iter(vec![Ok(docs(0..10, "a"))]);
        let report = engine::build(storage, batches, options, &no_progress, &Cancel::new()).await.unwrap();
        assert_eq!(report.num_docs, 10);
    });
}
