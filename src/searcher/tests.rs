//! Whole searches over several segments with deleted documents, against looking at every document.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Map, Value, json};

use super::search;
use crate::{
    bitset::BitSet,
    gpu::{GpuHost, GpuOptions},
    ids::{DocAddress, DocId, DocOrd, SegmentId, SegmentOrd},
    index::{Commit, Opener, SegmentEntry, SegmentHome, StorageSnapshot},
    platform::{Cancel, block_on},
    query::request::{SearchRequest, SearchResponse},
    schema::{DocumentBatch, Metric, Schema},
    segment::{SegmentBuilder, live_file_name, write_live},
    storage::{BlockCache, MemoryStorage, Storage, Writer, local::LocalStorage},
};

/// One live document as the slow twin sees it.
#[derive(Debug, Clone)]
struct Plain {
    address: DocAddress,
    id: DocId,
    json: Map<String, Value>,
    vectors: Vec<Vec<f32>>,
}

struct Fixture<S: Storage> {
    snapshot: StorageSnapshot<S>,
    docs: Vec<Plain>,
    metric: Metric,
}

fn schema(metric: &str) -> Value {
    json!({
        "tag": "keyword", "kind": "keyword", "year": "number", "pages": "integer", "draft": "bool", "day": "date",
        "body": "text", "embedding": { "type": "vector", "dims": 3, "metric": metric },
    })
}

const WORDS: [&str; 8] = ["apple", "banana", "cherry", "date", "elder", "fig", "grape", "hazel"];

fn random_document(rng: &mut fastrand::Rng, number: usize) -> Value {
    let mut doc = Map::new();
    let id = if rng.bool() { json!(number) } else { json!(format!("doc-{number}")) };
    doc.insert("id".into(), id);
    let some = |rng: &mut fastrand::Rng| rng.u8(0..5) > 0;
    let word = |rng: &mut fastrand::Rng| WORDS[rng.usize(0..WORDS.len())];
    if some(rng) {
        let tags: Vec<_> = (0..rng.usize(0..4)).map(|_| word(rng)).collect();
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

fn fixture<S: Storage>(storage: S, rng: &mut fastrand::Rng, metric: &str, sizes: &[usize]) -> Fixture<S> {
    let schema = Schema::from_json(&schema(metric)).expect("valid");
    let mut commit = Commit::empty().expect("randomness");
    commit.generation = 1;
    commit.schema = schema.to_json().to_string();
    let (mut docs, mut number) = (Vec::new(), 0);
    for (segment, &size) in sizes.iter().enumerate() {
        let id = SegmentId::random().expect("randomness");
        let values: Vec<Value> = (0..size).map(|ix| random_document(rng, number + ix)).collect();
        number += size;
        let mut builder = SegmentBuilder::new(&schema).expect("known analyzers");
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
    let opener = Opener { own: storage, base: None, cache: BlockCache::new(64 << 20) };
    let snapshot = block_on(opener.load(commit, None, None)).expect("just written");
    let metric = serde_json::from_value(json!(metric)).expect("a metric");
    Fixture { snapshot, docs, metric }
}

impl<S: Storage> Fixture<S> {
    fn search(&self, request: Value) -> SearchResponse {
        self.try_search(request.clone()).unwrap_or_else(|error| panic!("{request}: {error}"))
    }

    fn try_search(&self, request: Value) -> crate::Result<SearchResponse> {
        let request: SearchRequest = serde_json::from_value(request).expect("a request");
        let gpu = GpuHost::new(GpuOptions::default());
        let cancel = Cancel::new();
        let future = search(&self.snapshot, &gpu, &request, &cancel);
        block_on(is_send(future))
    }
}

fn is_send<T: Send>(future: T) -> T {
    future
}

fn ids(response: &SearchResponse) -> Vec<DocId> {
    response.hits.iter().map(|hit| hit.id.clone()).collect()
}

/// All values of a field of a document.
fn values<'a>(doc: &'a Plain, field: &str) -> &'a [Value] {
    match doc.json.get(field) {
        Some(Value::Array(list)) => list,
        Some(single) => std::slice::from_ref(single),
        None => &[],
    }
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()).expect("no NaN"),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (a, b) => panic!("{a} and {b}"),
    }
}

/// The filter language, read once more and evaluated on one document.
fn passes(filter: &Value, doc: &Plain) -> bool {
    let holds = |operator: &str, bound: &Value, value: &Value| match operator {
        "eq" => compare(value, bound).is_eq(),
        "in" => bound.as_array().expect("a list").iter().any(|one| compare(value, one).is_eq()),
        "gt" => compare(value, bound).is_gt(),
        "gte" => compare(value, bound).is_ge(),
        "lt" => compare(value, bound).is_lt(),
        "lte" => compare(value, bound).is_le(),
        other => panic!("{other}"),
    };
    fn condition(condition: &Value, field: &str, doc: &Plain, holds: &dyn Fn(&str, &Value, &Value) -> bool) -> bool {
        let values = values(doc, field);
        match condition {
            Value::Null => values.is_empty(),
            Value::Array(_) => values.iter().any(|value| holds("in", condition, value)),
            Value::Object(operators) => {
                let tests: Vec<_> =
                    operators.iter().filter(|(name, _)| !["not", "exists"].contains(&name.as_str())).collect();
                let tests_hold = tests.is_empty()
                    || values.iter().any(|value| tests.iter().all(|(name, bound)| holds(name, bound, value)));
                let exists = operators.get("exists").is_none_or(|exists| exists == !values.is_empty());
                let not = operators.get("not").is_none_or(|inner| !self::passes_condition(inner, field, doc));
                tests_hold && exists && not
            }
            single => values.iter().any(|value| holds("eq", single, value)),
        }
    }
    filter.as_object().expect("an object").iter().all(|(name, inner)| match name.as_str() {
        "and" => inner.as_array().expect("a list").iter().all(|inner| passes(inner, doc)),
        "or" => inner.as_array().expect("a list").iter().any(|inner| passes(inner, doc)),
        "not" => !passes(inner, doc),
        field => condition(inner, field, doc, &holds),
    })
}

fn passes_condition(condition: &Value, field: &str, doc: &Plain) -> bool {
    passes(&json!({ field: condition }), doc)
}

fn random_value(rng: &mut fastrand::Rng, field: &str) -> Value {
    match field {
        "tag" => json!(["apple", "cherry", "coconut", "hazel", "zebra", ""][rng.usize(0..6)]),
        "kind" => json!(format!("{}-{}", WORDS[rng.usize(0..8)], rng.u32(0..50))),
        "year" => json!(f64::from(rng.i32(1998..2012)) / 2.0),
        "pages" => json!(rng.i64(-7..17)),
        "draft" => json!(rng.bool()),
        _ => json!(rng.i64(-1..6) * 86_400_000),
    }
}

fn random_condition(rng: &mut fastrand::Rng, field: &str) -> Value {
    let value = |rng: &mut fastrand::Rng| random_value(rng, field);
    match rng.u8(0..7) {
        0 => value(rng),
        1 => Value::Array((0..rng.usize(0..4)).map(|_| value(rng)).collect()),
        2 => Value::Null,
        3 => json!({ "exists": rng.bool() }),
        4 => json!({ "not": value(rng) }),
        5 => json!({ ["gt", "gte"][rng.usize(0..2)]: value(rng), ["lt", "lte"][rng.usize(0..2)]: value(rng) }),
        _ => json!({ ["gt", "gte", "lt", "lte", "eq"][rng.usize(0..5)]: value(rng) }),
    }
}

fn random_filter(rng: &mut fastrand::Rng, depth: usize) -> Value {
    let mut filter = Map::new();
    for _ in 0..rng.usize(0..3) {
        let part = |rng: &mut fastrand::Rng| random_filter(rng, depth + 1);
        match rng.u8(0..6) {
            0 if depth < 3 => filter.insert("and".into(), (0..rng.usize(0..3)).map(|_| part(rng)).collect()),
            1 if depth < 3 => filter.insert("or".into(), (0..rng.usize(1..4)).map(|_| part(rng)).collect()),
            2 if depth < 3 => filter.insert("not".into(), part(rng)),
            _ => {
                let field = ["tag", "kind", "year", "pages", "draft", "day"][rng.usize(0..6)];
                filter.insert(field.into(), random_condition(rng, field))
            }
        };
    }
    Value::Object(filter)
}

fn sort_docs<'a>(docs: impl Iterator<Item = &'a Plain>, keys: &[(&str, bool)]) -> Vec<&'a Plain> {
    let mut docs: Vec<&Plain> = docs.collect();
    docs.sort_by(|a, b| {
        let by = |(field, descending): &(&str, bool)| {
            let first = |doc: &Plain| {
                let mut values = values(doc, field).to_vec();
                values.sort_by(compare);
                if *descending { values.pop() } else { values.into_iter().next() }
            };
            match (first(a), first(b)) {
                (Some(x), Some(y)) if *descending => compare(&y, &x),
                (Some(x), Some(y)) => compare(&x, &y),
                (x, y) => y.is_some().cmp(&x.is_some()),
            }
        };
        keys.iter().map(by).fold(Ordering::Equal, Ordering::then).then_with(|| a.address.cmp(&b.address))
    });
    docs
}

fn expected_facet(docs: &[&Plain], field: &str, limit: usize) -> Vec<(Value, u64)> {
    let mut counts: Vec<(Value, u64)> = Vec::new();
    for doc in docs {
        let distinct: BTreeSet<String> = values(doc, field).iter().map(Value::to_string).collect();
        for text in distinct {
            let value: Value = serde_json::from_str(&text).expect("JSON");
            match counts.iter_mut().find(|(of, _)| compare(of, &value).is_eq()) {
                Some((_, count)) => *count += 1,
                None => counts.push((value, 1)),
            }
        }
    }
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| compare(&a.0, &b.0)));
    counts.truncate(limit);
    counts
}

#[test]
fn filters_sort_facets_and_pages_agree_with_looking_at_every_document() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    for sizes in [&[][..], &[30], &[200, 1, 90], &[5000, 300]] {
        let fixture = fixture(MemoryStorage::new(), &mut rng, "cosine", sizes);
        for round in 0..if sizes.contains(&5000) { 6 } else { 25 } {
            let filter = random_filter(&mut rng, 0);
            let fields = ["tag", "kind", "year", "pages", "draft", "day"];
            let keys: Vec<(&str, bool)> = (0..rng.usize(0..3)).map(|_| (fields[rng.usize(0..6)], rng.bool())).collect();
            let sort: Vec<Value> = keys
                .iter()
                .map(|(field, descending)| json!({ "field": field, "order": if *descending { "desc" } else { "asc" } }))
                .collect();
            let (offset, limit) = (rng.usize(0..50), rng.usize(0..20));
            let facet_limit = rng.usize(0..8);
            let request = json!({
                "filter": filter, "sort": sort, "offset": offset, "limit": limit,
                "facets": ["tag", { "field": "kind", "limit": facet_limit }, "pages", "draft", "year"],
            });
            let response = fixture.search(request.clone());
            let what = format!("seed {seed}, {sizes:?}, round {round}: {request}");
            let matching: Vec<&Plain> = fixture.docs.iter().filter(|doc| passes(&filter, doc)).collect();
            assert_eq!(response.total, matching.len() as u64, "{what}");
            let sorted = sort_docs(matching.iter().copied(), &keys);
            let expected: Vec<DocId> = sorted.iter().skip(offset).take(limit).map(|doc| doc.id.clone()).collect();
            assert_eq!(ids(&response), expected, "{what}");
            for (hit, doc) in response.hits.iter().zip(sorted.iter().skip(offset)) {
                assert_eq!(hit.doc, doc.json, "{what}");
            }
            for facet in &response.facets {
                let limit = if facet.field == "kind" { facet_limit } else { 10 };
                let found: Vec<_> = facet.values.iter().map(|one| (one.value.clone(), one.count)).collect();
                let expected = expected_facet(&matching, &facet.field, limit);
                assert_eq!(found.len(), expected.len(), "{what}");
                for (found, expected) in found.iter().zip(&expected) {
                    assert!(compare(&found.0, &expected.0).is_eq() && found.1 == expected.1, "{what}: {}", facet.field);
                }
            }
        }
    }
}

fn score(metric: Metric, query: &[f32], vector: &[f32]) -> f64 {
    let dot: f64 = query.iter().zip(vector).map(|(a, b)| f64::from(a * b)).sum();
    let norm = |v: &[f32]| v.iter().map(|a| f64::from(a * a)).sum::<f64>().sqrt();
    match metric {
        Metric::Dot => 0.5 + dot / 2.0,
        Metric::L2 => 1.0 / (1.0 + query.iter().zip(vector).map(|(a, b)| f64::from((a - b) * (a - b))).sum::<f64>()),
        Metric::Cosine => {
            let norms = norm(query) * norm(vector);
            0.5 + if norms == 0.0 { 0.0 } else { dot / norms / 2.0 }
        }
    }
}

#[test]
fn vector_searches_agree_with_scoring_every_document() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    for metric in ["dot", "l2", "cosine"] {
        let fixture = fixture(MemoryStorage::new(), &mut rng, metric, &[150, 2, 80]);
        for _ in 0..20 {
            let filter = random_filter(&mut rng, 1);
            let query: Vec<f32> = (0..3).map(|_| rng.i32(-3..4) as f32).collect();
            let like = fixture.docs.iter().filter(|doc| !doc.vectors.is_empty()).nth(rng.usize(0..20)).expect("some");
            let by_like = rng.bool();
            let source = if by_like {
                json!({ "field": "embedding", "like": like.id })
            } else {
                json!({ "field": "embedding", "value": query })
            };
            let (offset, limit) = (rng.usize(0..30), rng.usize(1..200));
            let request =
                json!({ "vector": source, "filter": filter, "offset": offset, "limit": limit, "facets": ["draft"] });
            let what = format!("seed {seed}, {metric}: {request}");
            let response = fixture.search(request);
            let queries = if by_like { like.vectors.clone() } else { vec![query] };
            let best = |doc: &Plain| {
                let pairs = doc.vectors.iter().flat_map(|vector| queries.iter().map(move |query| (query, vector)));
                pairs.map(|(query, vector)| score(fixture.metric, query, vector)).fold(f64::MIN, f64::max)
            };
            let matching: Vec<&Plain> = fixture
                .docs
                .iter()
                .filter(|doc| !doc.vectors.is_empty() && passes(&filter, doc) && !(by_like && doc.id == like.id))
                .collect();
            assert_eq!(response.total, matching.len() as u64, "{what}");
            let mut scores: Vec<f64> = matching.iter().map(|doc| best(doc)).collect();
            scores.sort_by(|a, b| b.total_cmp(a));
            let expected: Vec<f64> = scores.into_iter().skip(offset).take(limit).collect();
            assert_eq!(response.hits.len(), expected.len(), "{what}");
            for (hit, expected) in response.hits.iter().zip(expected) {
                let doc = matching.iter().find(|doc| doc.id == hit.id).expect("a match");
                // f32 sums of three small products, a root and a division: a few units in the last place.
                let tolerance = 1e-5 * (1.0 + expected.abs());
                assert!((hit.score - expected).abs() < tolerance && (best(doc) - expected).abs() < tolerance, "{what}");
            }
            let counts = expected_facet(&matching, "draft", 10);
            let found: Vec<_> = response.facets[0].values.iter().map(|one| (one.value.clone(), one.count)).collect();
            assert_eq!(found, counts, "{what}");
        }
    }
}

#[test]
fn explain_select_and_ids() {
    let mut rng = fastrand::Rng::with_seed(4);
    let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", &[50, 50]);
    let some: Vec<&DocId> = fixture.docs.iter().map(|doc| &doc.id).step_by(7).take(5).collect();
    let response = fixture.search(json!({
        "filter": { "id": some }, "select": ["body"], "explain": true,
        "vector": { "field": "embedding", "value": [1, 0, 0] },
    }));
    let allowed: BTreeSet<&DocId> = some.iter().copied().collect();
    assert!(!response.hits.is_empty() && response.hits.iter().all(|hit| allowed.contains(&hit.id)));
    for hit in &response.hits {
        assert_eq!(hit.doc.keys().collect::<Vec<_>>(), ["body"]);
        let why = hit.explain.as_ref().expect("asked for");
        assert_eq!(why.value, hit.score);
        assert_eq!(hit.vector_score.map(f64::from), Some(hit.score));
    }
    let none = fixture.search(json!({ "filter": { "id": "nobody" } }));
    assert_eq!((none.total, none.hits.len()), (0, 0));
    let all_but = fixture.search(json!({ "filter": { "not": { "id": some } }, "limit": 0 }));
    assert_eq!(all_but.total as usize, fixture.docs.len() - some.len());
}

#[test]
fn bad_requests_are_refused_before_anything_is_read() {
    let fixture = fixture(MemoryStorage::new(), &mut fastrand::Rng::with_seed(1), "dot", &[20]);
    for (request, part) in [
        (json!({ "vector": { "field": "nothing", "value": [1] } }), "nothing"),
        (json!({ "vector": { "field": "tag", "value": [1] } }), "tag"),
        (json!({ "vector": { "field": "embedding", "value": [1] } }), "1 dimensions"),
        (json!({ "vector": { "field": "embedding" } }), "exactly one"),
        (json!({ "sort": [{ "field": "body" }] }), "body"),
        (json!({ "facets": ["body"] }), "body"),
        (json!({ "facets": ["nothing"] }), "nothing"),
        (json!({ "highlight": ["year"] }), "year"),
        (json!({ "query": "x", "fields": ["year"] }), "year"),
        (json!({ "limit": 10_001 }), "10001"),
        (json!({ "filter": { "nothing": 1 } }), "nothing"),
        (json!({ "fuse": { "weights": { "text": 0, "vector": 0 } } }), "weights"),
    ] {
        let error = fixture.try_search(request.clone()).expect_err("bad request");
        assert!(error.to_string().contains(part), "{request}: {error}");
        assert_eq!(error.kind().code(), "invalid_argument", "{request}");
    }
    let nobody = fixture.try_search(json!({ "vector": { "field": "embedding", "like": "nobody" } }));
    assert_eq!(nobody.expect_err("no such document").kind().code(), "not_found");
    let gpu = fixture.try_search(json!({ "vector": { "field": "embedding", "value": [1, 0, 0] }, "gpu": "off" }));
    assert_eq!(gpu.expect("the CPU answers").stats.compute, "cpu");
    let cancel = Cancel::new();
    cancel.cancel();
    let request = SearchRequest::default();
    let gpu = GpuHost::new(GpuOptions::default());
    let aborted = block_on(search(&fixture.snapshot, &gpu, &request, &cancel));
    assert_eq!(aborted.expect_err("cancelled").kind().code(), "aborted");
}

#[test]
fn searches_take_few_waves() {
    let mut rng = fastrand::Rng::with_seed(2);
    let dir = tempfile::tempdir().expect("a directory");
    let storage = LocalStorage::new(dir.path(), Default::default());
    let fixture = fixture(storage, &mut rng, "dot", &[3000, 2000, 1000]);
    let cold = fixture
        .search(json!({ "filter": { "year": { "gte": 1002 } }, "facets": ["kind"], "sort": [{ "field": "year" }] }));
    assert!(cold.stats.waves <= 2, "columns, then documents and keywords: {:?}", cold.stats);
    let keyword = fixture.search(json!({ "filter": { "tag": "fig" } }));
    assert!(keyword.stats.waves <= 3, "{:?}", keyword.stats);
    let warm = fixture
        .search(json!({ "filter": { "year": { "gte": 1002 } }, "facets": ["kind"], "sort": [{ "field": "year" }] }));
    assert_eq!((warm.stats.waves, warm.stats.requests), (0, 0));
    let parts: BTreeMap<_, _> = cold.facets.iter().map(|facet| (facet.field.clone(), facet.values.len())).collect();
    assert_eq!(parts, BTreeMap::from([("kind".to_owned(), 10)]));
    assert_eq!(Arc::strong_count(fixture.snapshot.schema()), 1);
}
