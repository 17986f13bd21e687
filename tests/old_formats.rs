//! Indexes that older versions wrote stay in `tests/data` and open for ever, or fail with the right code.
//!
//! `WRITE_SAMPLE=tests/data/v2 cargo test --test old_formats writes_a_sample -- --ignored` makes a new one, when a
//! format gets a new version. Existing samples are never made anew.

#![cfg(not(target_arch = "wasm32"))]

use std::{fs, path::Path};

use rangefind::{
    engine::{Cancel, DocumentBatch, Index, MergeOptions, OpenOptions, SearchRequest, no_progress},
    ids::DocId,
    platform::block_on,
    schema::Schema,
    storage::{MemoryStorage, Storage},
};
use serde_json::{Value, json};

const DOCS: i64 = 60;

fn doc(id: i64) -> Value {
    json!({ "id": if id % 10 == 9 { json!(format!("s{id}")) } else { json!(id) },
        "title": format!("Sample document {id}"), "body": ["A range of words.", format!("Request number {}", id % 7)],
        "tag": [format!("t{}", id % 3), "all"], "price": id as f64 / 4.0, "year": 1990 + id, "done": id % 2 == 0,
        "day": "2024-02-29", "embedding": [id as f32, 1.0, -1.0], "more": { "nested": [id] } })
}

async fn write(storage: MemoryStorage) {
    let schema = json!({ "title": { "type": "text", "boost": 2 }, "body": "text", "tag": "keyword", "price": "number",
        "year": "integer", "done": "bool", "day": "date", "embedding": { "type": "vector", "dims": 3, "metric": "l2" },
        "more": "json" });
    let schema = Some(Schema::from_json(&schema).unwrap());
    let options = OpenOptions { schema, auto_merge: false, grace_millis: 0, ..OpenOptions::default() };
    let index = Index::open(storage, options).await.unwrap();
    for half in [0..DOCS / 2, DOCS / 2..DOCS] {
        index.add(DocumentBatch::from_values(half.map(doc).collect())).await.unwrap();
        index.commit().await.unwrap();
    }
    index.delete(&[DocId::from(3), DocId::from("s39")]).await.unwrap();
    index.commit().await.unwrap();
    index.close().await.unwrap();
}

#[test]
#[ignore = "writes a new sample"]
fn writes_a_sample() {
    let directory = std::env::var("WRITE_SAMPLE").expect("WRITE_SAMPLE names a new directory");
    fs::create_dir(&directory).expect("a directory that is not there yet");
    block_on(async {
        let storage = MemoryStorage::new();
        write(storage.clone()).await;
        for entry in storage.list().await.unwrap() {
            fs::write(Path::new(&directory).join(&entry.name), storage.get(&entry.name).unwrap()).unwrap();
        }
    });
}

async fn assert_readable(storage: MemoryStorage, what: &str) {
    let options = OpenOptions { auto_merge: false, ..OpenOptions::default() };
    let index = Index::open(storage, options).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    for merged in [false, true] {
        let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
        assert!(report.ok && report.docs == DOCS as u64 - 2, "{what}: {report:#?}");
        let ask = async |request: Value| {
            let request: SearchRequest = serde_json::from_value(request).unwrap();
            let response = index.search(&request, &Cancel::new()).await.unwrap();
            (response.total, response.hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>())
        };
        let (total, hits) = ask(json!({ "query": "\"request number\" 3", "match": "all", "limit": 2 })).await;
        assert_eq!((total, hits.len()), (8, 2), "{what}");
        let filter = json!({ "tag": "t1", "year": { "lt": 2000 }, "price": { "gte": 1 } });
        let (_, hits) = ask(json!({ "filter": filter, "sort": [{ "field": "year", "order": "desc" }] })).await;
        assert_eq!(hits, [7, 4].map(DocId::from), "{what}");
        let near = json!({ "field": "embedding", "value": [29.2, 1.0, -1.0] });
        let (_, hits) = ask(json!({ "vector": near, "gpu": "off", "limit": 2 })).await;
        assert_eq!(hits, [DocId::from("s29"), DocId::from(30)], "{what}");
        // Ids alone: from the documents where a segment is older than their section.
        let whole = json!({ "query": "sample", "limit": 100 });
        let mut bare = whole.clone();
        bare["select"] = json!([]);
        let (whole, bare) = (ask(whole).await, ask(bare).await);
        assert!(whole == bare && bare.1.len() == DOCS as usize - 2, "{what}: {whole:?}, ids alone {bare:?}");
        let found = index.get(&[DocId::from(5), DocId::from(3)]).await.unwrap();
        assert_eq!(found[0].as_ref().unwrap()["more"], json!({ "nested": [5] }), "{what}");
        assert!(found[1].is_none(), "{what}");
        if !merged {
            index.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap();
        }
    }
}

#[test]
fn every_old_sample_is_read_and_merged() {
    block_on(async {
        let fresh = MemoryStorage::new();
        write(fresh.clone()).await;
        assert_readable(fresh, "written just now").await;
        let mut samples = 0;
        for version in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")).unwrap() {
            let directory = version.unwrap().path();
            // `v1`, `v2`, …; other data have names of their own.
            let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.strip_prefix('v').is_none_or(|version| version.parse::<u32>().is_err()) {
                continue;
            }
            let storage = MemoryStorage::new();
            for file in fs::read_dir(&directory).unwrap() {
                let path = file.unwrap().path();
                storage.insert(path.file_name().unwrap().to_str().unwrap(), fs::read(&path).unwrap());
            }
            assert_readable(storage, &directory.display().to_string()).await;
            samples += 1;
        }
        assert!(samples > 0, "there is no sample in tests/data");
    });
}
