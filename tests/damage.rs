//! Damaged bytes anywhere give an error of the right kind, from opening, reading or checking: never a panic, a
//! wrong answer or a huge allocation.
#![cfg(not(target_arch = "wasm32"))]

use rangefind::{
    analysis::CustomAnalyzers,
    engine::{Cancel, DocumentBatch, Index, MergeOptions, OpenOptions, SearchRequest, no_progress},
    error::ErrorKind,
    ids::DocId,
    index::Opener,
    platform::block_on,
    schema::Schema,
    storage::{BlockCache, MemoryStorage, Storage},
};
use serde_json::json;

fn options() -> OpenOptions<MemoryStorage> {
    OpenOptions { auto_merge: false, ..OpenOptions::default() }
}

async fn sample() -> MemoryStorage {
    let storage = MemoryStorage::new();
    let schema = json!({ "title": "text", "tag": "keyword", "price": "number", "year": "integer", "done": "bool",
        "day": "date", "embedding": { "type": "vector", "dims": 4 } });
    let open = OpenOptions { schema: Some(Schema::from_json(&schema).unwrap()), ..options() };
    let index = Index::open(storage.clone(), open).await.unwrap();
    for segment in 0..2i64 {
        let docs = (0..150).map(|nth| {
            let id = segment * 150 + nth;
            json!({ "id": id, "title": format!("some words and number {id} again {}", id % 5), "tag": format!("t{}", id % 7),
                "price": id as f64 / 3.0, "year": 1900 + id, "done": id % 2 == 0, "day": id * 86_400_000,
                "embedding": [id as f32, 1.0, 2.0, 3.0] })
        });
        index.add(DocumentBatch::from_values(docs.collect())).await.unwrap();
        index.commit().await.unwrap();
    }
    index.delete(&[DocId::from(3)]).await.unwrap();
    index.commit().await.unwrap();
    index.close().await.unwrap();
    storage
}

async fn copy_of(storage: &MemoryStorage) -> MemoryStorage {
    let copy = MemoryStorage::new();
    for entry in storage.list().await.unwrap() {
        copy.insert(entry.name.clone(), storage.get(&entry.name).unwrap());
    }
    copy
}

/// Everything a caller may do; errors must be of kinds that damage explains.
async fn use_it(storage: &MemoryStorage, what: &str) -> Vec<ErrorKind> {
    let mut kinds = Vec::new();
    let index = match Index::open(storage.clone(), options()).await {
        Ok(index) => index,
        Err(error) => return vec![error.kind()],
    };
    let ids: Vec<DocId> = (0..310).map(DocId::from).collect();
    kinds.extend(index.get(&ids).await.err().map(|error| error.kind()));
    for request in [
        json!({ "query": "some words", "facets": ["tag", "year"], "sort": [{ "field": "price" }] }),
        json!({ "query": "\"number 7\"", "filter": { "year": { "gte": 1950 }, "done": true, "tag": ["t1", "t2"] } }),
        json!({ "vector": { "field": "embedding", "value": [1, 2, 3, 4] }, "gpu": "off" }),
    ] {
        let request: SearchRequest = serde_json::from_value(request).unwrap();
        kinds.extend(index.search(&request, &Cancel::new()).await.err().map(|error| error.kind()));
    }
    let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
    if !report.ok {
        kinds.push(ErrorKind::Corrupt);
    }
    for kind in &kinds {
        assert!(
            matches!(kind, ErrorKind::Corrupt | ErrorKind::UnsupportedFormat | ErrorKind::NotFound),
            "{what}: {kind:?}"
        );
    }
    // What was found by use is found by the check too.
    assert!(kinds.is_empty() || !report.ok, "{what}: {kinds:?}, and the check finds nothing");
    kinds
}

#[test]
fn a_sound_index_has_no_problems() {
    block_on(async {
        assert!(use_it(&sample().await, "untouched").await.is_empty());
    });
}

#[test]
fn random_damage_to_any_file_is_found_by_the_check() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    block_on(async {
        let storage = sample().await;
        let names: Vec<String> = storage.list().await.unwrap().into_iter().map(|entry| entry.name).collect();
        for round in 0..120 {
            let damaged = copy_of(&storage).await;
            let name = &names[random.usize(..names.len())];
            let mut bytes = storage.get(name).unwrap().to_vec();
            let at = random.usize(..bytes.len());
            let what = format!("seed {seed}, round {round}: {name} at {at}");
            match random.u8(..3) {
                0 => bytes[at] ^= 1 << random.u8(..8),
                1 => bytes.truncate(at),
                _ => {
                    let end = bytes.len().min(at + 64);
                    bytes[at..end].iter_mut().for_each(|byte| *byte = random.u8(..));
                }
            }
            let changed = storage.get(name).unwrap() != bytes;
            damaged.insert(name.clone(), bytes);
            let kinds = use_it(&damaged, &what).await;
            // A damaged slot may be the older one, or leave the index at the commit before.
            assert!(
                !kinds.is_empty() || !changed || name.starts_with("commit") || is_padding(&storage, name, at).await,
                "{what}"
            );
        }
    });
}

/// Whether the byte lies between sections behind the chunked part, where nothing is stored or verified.
async fn is_padding(storage: &MemoryStorage, name: &str, at: usize) -> bool {
    let opener =
        Opener { own: storage.clone(), base: None, cache: BlockCache::new(0), analyzers: CustomAnalyzers::default() };
    let commit = opener.read_slots().await.unwrap().own.newest.unwrap();
    let Some(toc) =
        commit.segments.iter().find(|entry| entry.id.file_name() == name).and_then(|entry| entry.toc.as_ref())
    else {
        return false;
    };
    let at = at as u64;
    let last = toc.sections.last().unwrap().range().end;
    at >= toc.chunked_end && at < last && !toc.sections.iter().any(|section| section.range().contains(&at))
}

#[test]
fn the_check_names_file_section_and_offset() {
    block_on(async {
        let storage = sample().await;
        let name = storage.list().await.unwrap().into_iter().find(|entry| entry.name.ends_with(".seg")).unwrap().name;
        let mut bytes = storage.get(&name).unwrap().to_vec();
        bytes[100] ^= 1;
        storage.insert(name.clone(), bytes);
        let index = Index::open(storage, options()).await.unwrap();
        let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
        let problem = &report.problems[0];
        assert_eq!((problem.file.as_str(), problem.offset, problem.code.as_str()), (name.as_str(), Some(0), "corrupt"));
        assert!(problem.section.as_deref().unwrap().contains("of id"), "{problem:?}");
        // A merge of it refuses, and leaves the index as it is.
        let refused = index.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Corrupt);
        assert_eq!(index.info().unwrap().segments.len(), 2);
    });
}
