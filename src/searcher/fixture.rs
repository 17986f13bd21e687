//! A small index of several segments with deleted documents, and its documents as the slow twins see them.

use serde_json::{Map, Value, json};

use super::search;
use crate::{
    analysis::CustomAnalyzers,
    bitset::BitSet,
    codec::PostingsCodec,
    gpu::{GpuHost, GpuOptions},
    ids::{DocAddress, DocId, DocOrd, SegmentId, SegmentOrd},
    index::{Commit, Opener, SegmentEntry, SegmentHome, StorageSnapshot},
    platform::{Cancel, block_on},
    query::request::{SearchRequest, SearchResponse},
    schema::{DocumentBatch, Metric, Schema},
    segment::{SegmentBuilder, live_file_name, write_live},
    storage::{BlockCache, Storage, Writer},
};

/// One live document as the slow twin sees it.
#[derive(Debug, Clone)]
pub(super) struct Plain {
    pub address: DocAddress,
    pub id: DocId,
    pub json: Map<String, Value>,
    pub vectors: Vec<Vec<f32>>,
}

pub(super) struct Fixture<S: Storage> {
    pub snapshot: StorageSnapshot<S>,
    pub docs: Vec<Plain>,
    pub metric: Metric,
    /// Texts of all documents, deleted ones included: statistics count them.
    pub all_bodies: Vec<String>,
}

pub(super) fn schema(metric: &str) -> Value {
    json!({
        "tag": "keyword", "kind": "keyword", "year": "number", "pages": "integer", "draft": "bool", "day": "date",
        "body": "text", "embedding": { "type": "vector", "dims": 3, "metric": metric },
    })
}

pub(super) const WORDS: [&str; 8] = ["apple", "banana", "cherry", "date", "elder", "fig", "grape", "hazel"];

fn random_document(rng: &mut fastrand::Rng, number: usize) -> Value {
    let mut doc = Map::new();
    let id = if rng.bool() { json!(number) } else { json!(format!("doc-{number}")) };
    doc.insert("id".into(), id);
    let some = |rng: &mut fastrand::Rng| rng.u8(0..5) > 0;
    let word = |rng: &mut fastrand::Rng| WORDS[rng.usize(0..WORDS.len())];
    if some(rng) {
        let odd = |rng: &mut fastrand::Rng| ["", "日本"].get(rng.usize(0..12)).copied();
        let tags: Vec<_> = (0..rng.usize(0..4)).map(|_| odd(rng).unwrap_or_else(|| word(rng))).collect();
        doc.insert("tag".into(), json!(tags));
    }
    if some(rng) {
        doc.insert("kind".into(), json!(format!("{}-{}", word(rng), rng.u32(0..40))));
    }
    if some(rng) {
        doc.insert("year".into(), json!(f64::from(rng.i32(2000..2010)) / 2.0));
    }
    if some(rng) {
        let pages: Vec<_> = (0..rng.usize(1..3)).map(|_| rng.i64(-5..15)).collect();
        doc.insert("pages".into(), json!(pages));
    }
    if some(rng) {
        doc.insert("draft".into(), json!(rng.bool()));
    }
    if some(rng) {
        doc.insert("day".into(), json!(rng.i64(0..5) * 86_400_000));
    }
    let words: Vec<_> = (0..rng.usize(1..12)).map(|_| word(rng)).collect();
    doc.insert("body".into(), json!(words.join(" ")));
    if some(rng) {
        let vector = |rng: &mut fastrand::Rng| (0..3).map(|_| rng.i32(-3..4)).collect::<Vec<_>>();
        let vectors: Vec<_> = (0..rng.usize(1..3)).map(|_| vector(rng)).collect();
        doc.insert("embedding".into(), json!(vectors));
    }
    Value::Object(doc)
}

async fn write_file<S: Storage>(storage: &S, name: &str, bytes: Vec<u8>) {
    let mut writer = storage.create(name).await.expect("a new file");
    writer.append(bytes.into()).await.expect("room");
    writer.finish().await.expect("room");
}

pub(super) fn fixture<S: Storage>(storage: S, rng: &mut fastrand::Rng, metric: &str, sizes: &[usize]) -> Fixture<S> {
    let schema = Schema::from_json(&schema(metric)).expect("valid");
    let mut commit = Commit::empty().expect("randomness");
    commit.generation = 1;
    commit.schema = schema.to_json().to_string();
    let (mut docs, mut number, mut all_bodies) = (Vec::new(), 0, Vec::new());
    for (segment, &size) in sizes.iter().enumerate() {
        let id = SegmentId::random().expect("randomness");
        let values: Vec<Value> = (0..size).map(|ix| random_document(rng, number + ix)).collect();
        number += size;
        all_bodies.extend(values.iter().map(|value| value["body"].as_str().expect("a text").to_owned()));
        let mut builder = SegmentBuilder::new(&schema, PostingsCodec::default()).expect("known analyzers");
        let batch = DocumentBatch::from_values(values.clone());
        for document in batch.into_documents(&schema).expect("adds up") {
            builder.add(&document.expect("fits")).expect("room");
        }
        let built = block_on(builder.write(&storage, id)).expect("room");
        let mut live = BitSet::full(size as u32);
        let keep = [100, 60][rng.usize(0..2)];
        (0..size as u32).filter(|_| rng.u8(0..100) >= keep).for_each(|doc| {
            live.remove(doc);
        });
        let overlay = u64::from(live.count() < size as u32) * (segment as u64 + 1);
        if overlay > 0 {
            block_on(write_file(&storage, &live_file_name(id, overlay), write_live(id, overlay, &live)));
        }
        commit.segments.push(SegmentEntry {
            id,
            home: SegmentHome::Own,
            max_doc: size as u32,
            num_docs: live.count(),
            overlay,
            toc: Some(built.toc),
        });
        for (doc, value) in values.into_iter().enumerate().filter(|(doc, _)| live.contains(*doc as u32)) {
            let Value::Object(mut json) = value else { panic!("an object") };
            let vectors = json.remove("embedding").map(|vectors| serde_json::from_value(vectors).expect("lists"));
            let address = DocAddress { segment: SegmentOrd(segment as u32), doc: DocOrd(doc as u32) };
            let id = serde_json::from_value(json["id"].clone()).expect("an id");
            docs.push(Plain { address, id, json, vectors: vectors.unwrap_or_default() });
        }
    }
    commit.next_overlay = 100;
    let opener =
        Opener { own: storage, base: None, cache: BlockCache::new(64 << 20), analyzers: CustomAnalyzers::default() };
    let snapshot = block_on(opener.load(commit, None, None)).expect("just written");
    let metric = serde_json::from_value(json!(metric)).expect("a metric");
    Fixture { snapshot, docs, metric, all_bodies }
}

impl<S: Storage> Fixture<S> {
    pub fn search(&self, request: Value) -> SearchResponse {
        self.try_search(request.clone()).unwrap_or_else(|error| panic!("{request}: {error}"))
    }

    pub fn try_search(&self, request: Value) -> crate::Result<SearchResponse> {
        let request: SearchRequest = serde_json::from_value(request).expect("a request");
        let gpu = GpuHost::new(GpuOptions::default());
        let cancel = Cancel::new();
        let future = search(&self.snapshot, &gpu, &request, &cancel);
        block_on(is_send(future))
    }
}

pub(super) fn is_send<T: Send>(future: T) -> T {
    future
}

pub(super) fn ids(response: &SearchResponse) -> Vec<DocId> {
    response.hits.iter().map(|hit| hit.id.clone()).collect()
}
