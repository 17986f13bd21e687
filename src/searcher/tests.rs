//! Whole searches over several segments with deleted documents, against looking at every document.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Map, Value, json};

use super::{
    fixture::{Plain, WORDS, fixture, ids},
    search,
};
use crate::{
    gpu::{GpuHost, GpuOptions},
    ids::DocId,
    platform::{Cancel, block_on},
    query::request::SearchRequest,
    schema::Metric,
    storage::{MemoryStorage, local::LocalStorage},
};

/// All values of a field of a document.
pub(super) fn values<'a>(doc: &'a Plain, field: &str) -> &'a [Value] {
    match doc.json.get(field) {
        Some(Value::Array(list)) => list,
        Some(single) => std::slice::from_ref(single),
        None => &[],
    }
}

pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()).expect("no NaN"),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (a, b) => panic!("{a} and {b}"),
    }
}

/// The filter language, read once more and evaluated on one document.
pub(super) fn passes(filter: &Value, doc: &Plain) -> bool {
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

pub(super) fn random_filter(rng: &mut fastrand::Rng, depth: usize) -> Value {
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

pub(super) fn sort_docs<'a>(docs: impl Iterator<Item = &'a Plain>, keys: &[(&str, bool)]) -> Vec<&'a Plain> {
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

pub(super) fn expected_facet(docs: &[&Plain], field: &str, limit: usize) -> Vec<(Value, u64)> {
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
        for round in 0..if sizes.contains(&5000) { 4 } else { 15 } {
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

pub(super) fn score(metric: Metric, query: &[f32], vector: &[f32]) -> f64 {
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
        for _ in 0..10 {
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
