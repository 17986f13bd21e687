//! The machine stops at every write of a build, commits and a merge, with every kind of damage to what was not
//! flushed; single writes and reads fail; the storage fills up. Nothing committed is ever lost.
#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeMap;

use rangefind::{
    engine::{Cancel, DocumentBatch, Index, MergeOptions, OpenOptions, no_progress},
    error::{Error, ErrorKind},
    ids::DocId,
    platform::block_on,
    schema::Schema,
    storage::{
        Storage,
        testing::{Damage, Faults, FaultyStorage},
    },
};
use serde_json::{Value, json};

/// Title by id: what the index should hold.
type Model = BTreeMap<i64, String>;

fn options() -> OpenOptions<FaultyStorage> {
    let schema = json!({ "title": "text", "tag": "keyword", "year": "integer",
        "embedding": { "type": "vector", "dims": 2 } });
    OpenOptions {
        schema: Some(Schema::from_json(&schema).unwrap()),
        // Every few documents become a segment.
        memory_bytes: 600_000,
        auto_merge: false,
        grace_millis: 0,
        ..OpenOptions::default()
    }
}

fn doc(id: i64, title: &str) -> Value {
    json!({ "id": id, "title": title, "tag": format!("t{}", id % 3), "year": id, "embedding": [id as f32, 1.0],
        "rest": "x".repeat(300) })
}

/// The model after each commit, and the one a commit under way when the work stopped would have made.
#[derive(Default)]
struct Story {
    committed: Model,
    attempted: Model,
}

/// Build, commit, replace and delete, commit, merge, add, commit. Stops at the first error.
async fn work(storage: &FaultyStorage, story: &mut Story) -> Result<(), Error> {
    let index = Index::open(storage.clone(), options()).await?;
    let add = |story: &mut Story, range: std::ops::Range<i64>, title: &str| {
        story.attempted.extend(range.clone().map(|id| (id, title.to_owned())));
        DocumentBatch::from_values(range.map(|id| doc(id, title)).collect())
    };
    let batch = add(story, 0..12, "first");
    index.add(batch).await?;
    let batch = add(story, 10..20, "second");
    index.add(batch).await?;
    index.commit().await?;
    story.committed = story.attempted.clone();
    let batch = add(story, 5..8, "third");
    index.add(batch).await?;
    story.attempted.retain(|id, _| *id != 0 && *id != 6);
    index.delete(&[DocId::from(0), DocId::from(6)]).await?;
    index.commit().await?;
    story.committed = story.attempted.clone();
    index
        .merge(
            MergeOptions { max_segments: Some(1), memory_bytes: 8 << 20, ..MergeOptions::default() },
            &no_progress,
            &Cancel::new(),
        )
        .await?;
    let batch = add(story, 30..33, "fourth");
    index.add(batch).await?;
    index.commit().await?;
    story.committed = story.attempted.clone();
    index.close().await
}

async fn content(index: &Index<FaultyStorage>) -> Result<Model, Error> {
    let ids: Vec<DocId> = (0..40).map(DocId::from).collect();
    let found = index.get(&ids).await?;
    let titled = (0..40).zip(found).filter_map(|(id, doc)| Some((id, doc?["title"].as_str()?.to_owned())));
    Ok(titled.collect())
}

/// Opens what is left, finds one of the two models, and goes on working with it.
async fn assert_survived(storage: FaultyStorage, story: &Story, what: &str) {
    let index = Index::open(storage.clone(), options()).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = content(&index).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(found == story.committed || found == story.attempted, "{what}: {found:?}\nnot {:?}", story.committed);
    let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
    assert!(report.ok, "{what}: {:#?}", report.problems);
    let batch = DocumentBatch::from_values(vec![doc(39, "after")]);
    index.add(batch).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    index.commit().await.unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut expected = found;
    expected.insert(39, "after".to_owned());
    assert_eq!(content(&index).await.unwrap(), expected, "{what}");
    let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
    assert!(report.ok, "{what}: {:#?}", report.problems);
    assert!(report.leftovers.iter().all(|name| name.starts_with("interrupted")), "{what}: {:?}", report.leftovers);
    index.close().await.unwrap();
}

#[test]
fn a_crash_at_any_write_loses_nothing_committed() {
    block_on(async {
        let storage = FaultyStorage::new();
        let mut story = Story::default();
        work(&storage, &mut story).await.unwrap();
        let writes = storage.writes();
        assert!(writes > 40, "{writes} writes are too few to mean anything");
        let mut cases = 0;
        for write in 1..=writes {
            let storage = FaultyStorage::new();
            storage.set_faults(Faults { crash_at_write: Some(write), ..Faults::default() });
            let mut story = Story::default();
            let stopped = work(&storage, &mut story).await;
            assert!(storage.has_crashed(), "write {write}: {stopped:?}");
            for damage in Damage::ALL {
                let what = format!("crash at write {write}, {damage:?}");
                assert_survived(storage.reopen(damage, write), &story, &what).await;
                cases += 1;
            }
        }
        println!("{cases} crashes survived");
    });
}

#[test]
fn a_write_that_fails_once_can_be_tried_again() {
    block_on(async {
        let storage = FaultyStorage::new();
        work(&storage, &mut Story::default()).await.unwrap();
        for write in 1..=storage.writes() {
            for faults in [
                Faults { fail_write: Some(write), ..Faults::default() },
                Faults { short_write: Some(write), ..Faults::default() },
            ] {
                let storage = FaultyStorage::new();
                storage.set_faults(faults);
                let mut story = Story::default();
                // A removal that fails is no error of the work.
                let _ = work(&storage, &mut story).await;
                storage.set_faults(Faults::default());
                assert_survived(storage, &story, &format!("{faults:?}")).await;
            }
        }
    });
}

#[test]
fn a_read_that_fails_once_loses_nothing_committed() {
    block_on(async {
        let storage = FaultyStorage::new();
        work(&storage, &mut Story::default()).await.unwrap();
        for read in 1..=storage.reads() {
            let storage = FaultyStorage::new();
            storage.set_faults(Faults { fail_read: Some(read), ..Faults::default() });
            let mut story = Story::default();
            let _ = work(&storage, &mut story).await;
            storage.set_faults(Faults::default());
            assert_survived(storage, &story, &format!("read {read} fails")).await;
        }
    });
}

#[test]
fn a_full_storage_loses_nothing_committed() {
    block_on(async {
        let storage = FaultyStorage::new();
        work(&storage, &mut Story::default()).await.unwrap();
        let entries = storage.list().await.unwrap();
        let most: u64 = 3 * entries.iter().map(|entry| entry.len).sum::<u64>();
        let mut full = 0;
        for step in 0..60 {
            let storage = FaultyStorage::new();
            let quota = most * step / 60;
            storage.set_faults(Faults { quota_bytes: Some(quota), ..Faults::default() });
            let mut story = Story::default();
            if let Err(error) = work(&storage, &mut story).await {
                assert_eq!(error.kind(), ErrorKind::Quota, "{error}");
                full += 1;
            }
            storage.set_faults(Faults::default());
            assert_survived(storage, &story, &format!("quota of {quota} bytes")).await;
        }
        assert!(full > 10, "the quota was met {full} times only");
    });
}

#[test]
fn a_damaged_slot_falls_back_to_the_commit_before() {
    block_on(async {
        let storage = FaultyStorage::new();
        let keep = OpenOptions { grace_millis: 60_000, ..options() };
        let index = Index::open(storage.clone(), keep).await.unwrap();
        for title in ["one", "two"] {
            index.add(DocumentBatch::from_values(vec![doc(1, title)])).await.unwrap();
            index.commit().await.unwrap();
        }
        index.close().await.unwrap();
        // The empty first commit was 1, so the newest is 3, in slot A.
        assert!(storage.damage("commit-a.rf", Damage::Zeroed, 0));
        let index = Index::open(storage.clone(), options()).await.unwrap();
        assert_eq!(content(&index).await.unwrap(), BTreeMap::from([(1, "one".to_owned())]));
        assert!(storage.damage("commit-b.rf", Damage::Halved, 0));
        assert_eq!(Index::open(storage.clone(), options()).await.err().unwrap().kind(), ErrorKind::Corrupt);
    });
}

#[test]
fn an_index_without_its_commits_is_not_written_over() {
    block_on(async {
        let storage = FaultyStorage::new();
        work(&storage, &mut Story::default()).await.unwrap();
        let before = storage.list().await.unwrap().len();
        for slot in ["commit-a.rf", "commit-b.rf"] {
            storage.damage(slot, Damage::Deleted, 0);
        }
        let index = Index::open(storage.clone(), options()).await.unwrap();
        let refused = index.add(DocumentBatch::from_values(vec![doc(1, "x")])).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
        assert_eq!(storage.list().await.unwrap().len(), before - 2);
    });
}
