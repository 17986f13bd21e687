//! One index in memory, built from a file of rows, asked with a file of queries.

use std::{fs, hint::black_box, path::Path, time::Instant};

use rangefind::{
    engine::{Cancel, DocumentBatch, FieldVectors, Index, OpenOptions},
    ids::DocId,
    platform::block_on,
    query::request::SearchRequest,
    schema::Schema,
    storage::{MemoryStorage, Storage},
};
use serde_json::{Value, json};

/// Documents of a batch.
const BATCH: usize = 2_000;
/// Everything is one segment.
const MEMORY_BYTES: u64 = 4 << 30;
/// Hits that are asked for.
const K: usize = 10;

pub struct Engine {
    storage: MemoryStorage,
    index: Index<MemoryStorage>,
    queries: Vec<Vec<f32>>,
}

/// Rows of a file, `[n x dims]` little-endian.
fn floats(path: &Path) -> Vec<f32> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    bytes.as_chunks::<4>().0.iter().map(|&value| f32::from_le_bytes(value)).collect()
}

/// Bytes of memory that this process holds; 0 where the system does not say.
fn resident_bytes() -> u64 {
    let pages = || fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse::<u64>().ok();
    pages().unwrap_or(0) * 4096
}

impl Engine {
    /// Builds the index of `folder`; what it took goes with it. `field` holds options of the vector field.
    pub fn build(folder: &Path, dims: usize, metric: &str, field: &Value) -> (Self, Value) {
        let queries = floats(&folder.join("queries.f32")).chunks_exact(dims).map(<[f32]>::to_vec).collect();
        let base = floats(&folder.join("base.f32"));
        let before = resident_bytes().saturating_sub(base.len() as u64 * 4);
        let row_bytes = base.len() * 4;
        let mut schema = field.clone();
        schema["type"] = json!("vector");
        schema["dims"] = json!(dims);
        schema["metric"] = json!(metric);
        let schema = Schema::from_json(&json!({ "v": schema })).expect("a schema");
        let options = OpenOptions { schema: Some(schema), memory_bytes: MEMORY_BYTES, ..OpenOptions::default() };
        let storage = MemoryStorage::new();
        let started = Instant::now();
        let index = block_on(async {
            let index = Index::open(storage.clone(), options).await.expect("a new index");
            for (ix, values) in base.chunks(BATCH * dims).enumerate() {
                let docs = (0..values.len() / dims).map(|doc| json!({ "id": ix * BATCH + doc })).collect();
                let vectors = FieldVectors { field: "v".to_owned(), values: values.to_vec(), counts: None };
                index.add(DocumentBatch::from_values(docs).with_vectors(vectors)).await.expect("room");
            }
            index.commit().await.expect("room");
            index
        });
        let seconds = started.elapsed().as_secs_f64();
        drop(base);
        let info = index.info().expect("just built");
        assert_eq!(info.segments.len(), 1, "everything is one segment");
        let answer = json!({
            "seconds": seconds,
            "memoryBytes": resident_bytes().saturating_sub(before),
            "fileBytes": info.bytes,
            "pinnedBytes": info.pinned_bytes,
            "rowBytes": row_bytes,
        });
        (Self { storage, index, queries }, answer)
    }

    /// Requests for the first `count` queries, with the clause's options in `point`.
    fn requests(&self, point: &Value, count: usize) -> Vec<SearchRequest> {
        let request = |query: &Vec<f32>| {
            let mut clause = point.clone();
            clause["field"] = json!("v");
            clause["value"] = json!(query);
            serde_json::from_value(json!({ "vector": clause, "limit": K, "select": [] })).expect("a request")
        };
        self.queries.iter().take(count).map(request).collect()
    }

    /// What each query finds, and what it looked at.
    pub fn answer(&self, point: &Value) -> Value {
        let (mut ids, mut looked) = (Vec::new(), [0u64; 4]);
        for request in &self.requests(point, self.queries.len()) {
            let response = block_on(self.index.search(request, &Cancel::new())).expect("an answer");
            let mut of_query: Vec<i64> = response.hits.iter().map(|hit| id_of(&hit.id)).collect();
            of_query.resize(K, -1);
            ids.extend(of_query);
            let stats = &response.stats;
            let of_query = [stats.cells_probed, stats.codes_scored, stats.vectors_scored, stats.vectors_expanded];
            looked.iter_mut().zip(of_query).for_each(|(sum, one)| *sum += one);
        }
        let [cells, codes, rows, expanded] = looked.map(|sum| sum as f64 / self.queries.len() as f64);
        json!({ "ids": ids, "stats": { "cells": cells, "codes": codes, "rows": rows, "expanded": expanded } })
    }

    /// Seconds for the first `count` queries, one after another.
    pub fn time(&self, point: &Value, count: usize) -> f64 {
        let requests = self.requests(point, count);
        let started = Instant::now();
        for request in &requests {
            black_box(block_on(self.index.search(request, &Cancel::new())).expect("an answer"));
        }
        started.elapsed().as_secs_f64()
    }

    /// Writes the index into an empty folder; returns its bytes.
    pub fn save(&self, folder: &Path) -> u64 {
        fs::create_dir_all(folder).expect("a folder");
        let files = block_on(self.storage.list()).expect("a list");
        let write = |name: &str| {
            let bytes = self.storage.get(name).expect("it was listed");
            fs::write(folder.join(name), &bytes).expect("room on the disk");
            bytes.len() as u64
        };
        files.iter().map(|file| write(&file.name)).sum()
    }
}

/// The number that a document goes by.
fn id_of(id: &DocId) -> i64 {
    match id {
        DocId::Int(id) => *id,
        DocId::Str(id) => panic!("{id} is no number"),
    }
}
