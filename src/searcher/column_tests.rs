//! Sorting, paging, collapsing and facets over several segments, against looking at every document.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    fixture::{Fixture, Plain, WORDS, fixture, ids},
    tests::{compare, passes, random_filter, sort_docs, values},
};
use crate::{
    error::ErrorKind,
    ids::DocId,
    schema::dates,
    storage::{MemoryStorage, Storage},
};

const FIELDS: [&str; 6] = ["tag", "kind", "year", "pages", "draft", "day"];

/// The order of a request, documents without a value first where it says so.
fn ordered<'a>(docs: Vec<&'a Plain>, keys: &[(&str, bool, bool)]) -> Vec<&'a Plain> {
    // By the last key first: stable sorts, each with the twin that puts missing values last.
    let mut docs = sort_docs(docs.into_iter(), &[]);
    for &(field, descending, first) in keys.iter().rev() {
        let by_place: BTreeMap<_, usize> = docs.iter().enumerate().map(|(ix, doc)| (doc.address, ix)).collect();
        docs = sort_docs(docs.into_iter(), &[(field, descending)]);
        // The twin breaks ties by address: put runs of equal values back into the order they came in.
        let value = |doc: &Plain| {
            let mut values = values(doc, field).to_vec();
            values.sort_by(compare);
            if descending { values.pop() } else { values.into_iter().next() }
        };
        docs.chunk_by_mut(|a, b| match (value(a), value(b)) {
            (Some(a), Some(b)) => compare(&a, &b).is_eq(),
            (a, b) => a.is_none() && b.is_none(),
        })
        .for_each(|run| run.sort_by_key(|doc| by_place[&doc.address]));
        if first {
            docs.sort_by_key(|doc| value(doc).is_some());
        }
    }
    docs
}

fn random_keys(rng: &mut fastrand::Rng) -> Vec<(&'static str, bool, bool)> {
    (0..rng.usize(0..4)).map(|_| (FIELDS[rng.usize(0..6)], rng.bool(), rng.bool())).collect()
}

fn sort_of(keys: &[(&str, bool, bool)]) -> Value {
    let key = |&(field, descending, first): &(&str, bool, bool)| {
        let (order, missing) = (["asc", "desc"][usize::from(descending)], ["last", "first"][usize::from(first)]);
        json!({ "field": field, "order": order, "missing": missing })
    };
    keys.iter().map(key).collect()
}

fn with(mut request: Value, more: Value) -> Value {
    if let (Value::Object(request), Value::Object(more)) = (&mut request, more) {
        request.extend(more);
    }
    request
}

/// All ids of a search, page after page.
fn all_pages<S: Storage>(fixture: &Fixture<S>, request: &Value, rng: &mut fastrand::Rng) -> Vec<DocId> {
    let mut found: Vec<DocId> = Vec::new();
    let mut cursor = None;
    loop {
        let more = json!({ "limit": rng.usize(1..40), "after": cursor });
        let page = fixture.search(with(request.clone(), more));
        assert_eq!(page.cursor.is_none(), page.hits.is_empty());
        if page.hits.is_empty() {
            return found;
        }
        found.extend(ids(&page));
        cursor = page.cursor;
    }
}

#[test]
fn orders_agree_with_sorting_every_document() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for sizes in [&[30][..], &[200, 1, 90], &[9000], &[5000, 300]] {
        let fixture = fixture(MemoryStorage::new(), &mut rng, "cosine", sizes);
        for round in 0..if sizes[0] >= 5000 { 6 } else { 15 } {
            let filter = if rng.bool() { json!({}) } else { random_filter(&mut rng, 0) };
            let keys = random_keys(&mut rng);
            let (offset, limit) = (rng.usize(0..50), rng.usize(0..20));
            let request = json!({ "filter": filter, "sort": sort_of(&keys), "offset": offset, "limit": limit });
            let matching: Vec<&Plain> = fixture.docs.iter().filter(|doc| passes(&filter, doc)).collect();
            let expected = ordered(matching, &keys).into_iter().skip(offset).take(limit);
            let expected: Vec<DocId> = expected.map(|doc| doc.id.clone()).collect();
            assert_eq!(ids(&fixture.search(request.clone())), expected, "seed {seed}, round {round}: {request}");
        }
    }
}

#[test]
fn pages_behind_cursors_are_one_list() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for sizes in [&[120][..], &[150, 1, 90], &[4500, 60]] {
        let fixture = fixture(MemoryStorage::new(), &mut rng, "cosine", sizes);
        for _ in 0..12 {
            let keys = random_keys(&mut rng);
            let mut request = json!({ "filter": random_filter(&mut rng, 1), "sort": sort_of(&keys), "select": [] });
            let is_large = sizes[0] > 1000;
            if is_large {
                request["filter"] = json!({ "kind": { "lt": "c" } });
            }
            let what = rng.u8(0..6);
            if what & 1 == 1 {
                request["query"] = json!(WORDS[rng.usize(0..8)]);
            }
            if what & 2 == 2 {
                request["vector"] = json!({ "field": "embedding", "value": [1, 2, 0] });
            }
            if what >= 4 {
                let field = FIELDS[rng.usize(0..6)];
                request["collapse"] = json!({ "field": field, "innerHits": rng.u8(0..3) });
            }
            if what & 1 == 1 && rng.bool() {
                request["sort"].as_array_mut().expect("a list").push(json!({ "field": "_score" }));
            }
            let has_vector = what & 2 == 2;
            if has_vector {
                request["vector"]["k"] = json!(200);
            }
            let whole = ids(&fixture.search(with(request.clone(), json!({ "limit": 10_000 }))));
            assert_eq!(all_pages(&fixture, &request, &mut rng), whole, "seed {seed}, {sizes:?}: {request}");
        }
    }
}

#[test]
fn a_cursor_of_something_else_is_refused() {
    let mut rng = fastrand::Rng::with_seed(5);
    let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", &[50, 40]);
    let by_year = json!({ "sort": [{ "field": "year" }], "limit": 3 });
    let cursor = fixture.search(by_year.clone()).cursor.expect("hits");
    for request in [
        json!({ "after": cursor }),
        json!({ "after": cursor, "sort": [{ "field": "year", "order": "desc" }] }),
        json!({ "after": cursor, "sort": [{ "field": "year" }, { "field": "tag" }] }),
        json!({ "after": cursor, "sort": [{ "field": "year" }], "offset": 1 }),
        json!({ "after": cursor, "sort": [{ "field": "year" }], "collapse": { "field": "tag" } }),
        json!({ "after": cursor, "query": "apple" }),
        json!({ "after": "deadbeef" }),
    ] {
        let error = fixture.try_search(request.clone()).expect_err("another search");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{request}: {error}");
        assert!(error.to_string().contains("after"), "{error}");
    }
    let scored = fixture.search(json!({ "query": "apple", "limit": 2 })).cursor.expect("hits");
    let other = fixture.try_search(json!({ "query": "zzz", "after": scored })).expect_err("another query");
    assert_eq!(other.kind(), ErrorKind::InvalidArgument);
}

/// What a document collapses to.
fn group_of(doc: &Plain, field: &str) -> Option<Value> {
    let mut values = values(doc, field).to_vec();
    values.sort_by(compare);
    values.into_iter().next()
}

#[test]
fn collapsing_agrees_with_grouping_the_whole_list() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for sizes in [&[100][..], &[150, 1, 90], &[4500, 300]] {
        let fixture = fixture(MemoryStorage::new(), &mut rng, "cosine", sizes);
        for _ in 0..10 {
            let field = FIELDS[rng.usize(0..6)];
            let keys = random_keys(&mut rng);
            let mut request = json!({ "filter": random_filter(&mut rng, 1), "sort": sort_of(&keys) });
            if rng.bool() {
                request["query"] = json!("apple fig");
            }
            let whole = ids(&fixture.search(with(request.clone(), json!({ "limit": 10_000, "select": [] }))));
            let total = whole.len() as u64;
            let mut groups: Vec<(Option<Value>, Vec<DocId>)> = Vec::new();
            for id in whole {
                let doc = fixture.docs.iter().find(|doc| doc.id == id).expect("a document");
                let value = group_of(doc, field);
                let same = |group: &&mut (Option<Value>, Vec<DocId>)| match (&group.0, &value) {
                    (Some(a), Some(b)) => compare(a, b).is_eq(),
                    _ => false,
                };
                match groups.iter_mut().find(same) {
                    Some(group) => group.1.push(id),
                    None => groups.push((value, vec![id])),
                }
            }
            let (offset, limit, inner) = (rng.usize(0..5), rng.usize(0..9), rng.usize(0..3));
            let more = json!({ "offset": offset, "limit": limit, "collapse": { "field": field, "innerHits": inner } });
            let request = with(request, more);
            let response = fixture.search(request.clone());
            assert_eq!(response.total, total, "seed {seed}: {request}");
            let expected: Vec<_> = groups.iter().skip(offset).take(limit).collect();
            assert_eq!(response.hits.len(), expected.len(), "seed {seed}: {request}");
            for (hit, (value, ids)) in response.hits.iter().zip(expected) {
                assert_eq!(hit.id, ids[0], "seed {seed}: {request}");
                let found: Vec<&DocId> = hit.inner.iter().map(|hit| &hit.id).collect();
                let others: Vec<&DocId> = ids.iter().skip(1).take(inner).collect();
                assert_eq!(found, others, "seed {seed}: {request}");
                let equal = match (&hit.group, value) {
                    (Some(_), Some(millis)) if field == "day" => {
                        let text = hit.group.as_ref().and_then(Value::as_str).expect("a date");
                        dates::parse_iso(text) == millis.as_i64()
                    }
                    (Some(a), Some(b)) => compare(a, b).is_eq(),
                    (a, b) => a.is_none() && b.is_none(),
                };
                assert!(equal, "seed {seed}: {request}: {:?} for {value:?}", hit.group);
            }
        }
    }
}

#[test]
fn facets_with_options_agree_with_counting() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for sizes in [&[30][..], &[200, 1, 90], &[9000]] {
        let fixture = fixture(MemoryStorage::new(), &mut rng, "cosine", sizes);
        for _ in 0..8 {
            let filter = random_filter(&mut rng, 0);
            let (a, b) = (rng.i32(-6..10), rng.i32(-3..16));
            let day = 86_400_000i64;
            let request = json!({ "filter": filter, "limit": 0, "facets": [
                { "field": "pages", "ranges": [{ "to": a }, { "from": a, "to": b }, { "from": b, "key": "more" }] },
                { "field": "day", "ranges": [{ "from": "1970-01-02", "to": "1970-01-04" }, {}] },
                { "field": "year", "interval": 1.5 },
                { "field": "pages", "interval": 4, "limit": 3 },
                { "field": "day", "interval": "week" },
                { "field": "kind", "prefix": "cherry-1", "limit": 5 },
                { "field": "tag", "prefix": "" },
            ] });
            let response = fixture.search(request.clone());
            let docs: Vec<&Plain> = fixture.docs.iter().filter(|doc| passes(&filter, doc)).collect();
            let what = format!("seed {seed}: {request}");
            let count = |field: &str, test: &dyn Fn(f64) -> bool| {
                let has =
                    |doc: &&&Plain| values(doc, field).iter().any(|value| test(value.as_f64().expect("a number")));
                docs.iter().filter(has).count() as u64
            };
            let counts = |ix: usize| response.facets[ix].values.iter().map(|one| one.count).collect::<Vec<_>>();
            let (a, b) = (f64::from(a), f64::from(b));
            let expected =
                [count("pages", &|v| v < a), count("pages", &|v| v >= a && v < b), count("pages", &|v| v >= b)];
            assert_eq!(counts(0), expected, "{what}");
            assert_eq!(response.facets[0].values[2].value, json!("more"));
            let days = |v: f64| v >= day as f64 && v < 3.0 * day as f64;
            assert_eq!(counts(1), [count("day", &days), count("day", &|_| true)], "{what}");
            let histogram = |field: &str, start: &dyn Fn(f64) -> f64| {
                let mut found: BTreeMap<i64, u64> = BTreeMap::new();
                for doc in &docs {
                    let mut starts: Vec<i64> = values(doc, field)
                        .iter()
                        .map(|v| (start(v.as_f64().expect("a number")) * 2.0) as i64)
                        .collect();
                    starts.sort_unstable();
                    starts.dedup();
                    starts.into_iter().for_each(|start| *found.entry(start).or_default() += 1);
                }
                found.into_iter().map(|(start, count)| (start as f64 / 2.0, count)).collect::<Vec<_>>()
            };
            let numbers = |ix: usize| {
                let values = response.facets[ix].values.iter();
                values.map(|one| (one.value.as_f64().expect("a number"), one.count)).collect::<Vec<_>>()
            };
            assert_eq!(numbers(2), histogram("year", &|v| (v / 1.5).floor() * 1.5), "{what}");
            let mut pages = histogram("pages", &|v| (v / 4.0).floor() * 4.0);
            pages.truncate(3);
            assert_eq!(numbers(3), pages, "{what}");
            let weeks = histogram("day", &|v| if v < 4.0 * day as f64 { -3.0 } else { 4.0 });
            assert_eq!(counts(4), weeks.iter().map(|week| week.1).collect::<Vec<_>>(), "{what}");
            for (ix, field, prefix, limit) in [(5, "kind", "cherry-1", 5), (6, "tag", "", 10)] {
                let mut expected = super::tests::expected_facet(&docs, field, usize::MAX);
                expected.retain(|(value, _)| value.as_str().expect("a keyword").starts_with(prefix));
                expected.truncate(limit);
                let found: Vec<_> =
                    response.facets[ix].values.iter().map(|one| (one.value.clone(), one.count)).collect();
                assert_eq!(found, expected, "{what}");
            }
        }
    }
}

#[test]
fn own_conditions_can_be_left_out_of_a_facet() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let fixture = fixture(MemoryStorage::new(), &mut rng, "cosine", &[200, 100]);
    for _ in 0..20 {
        let (tag, year) = (WORDS[rng.usize(0..8)], f64::from(rng.i32(2000..2010)) / 2.0);
        let rest = random_filter(&mut rng, 3);
        let filter =
            json!({ "tag": [tag, "fig"], "and": [{ "year": { "gte": year } }, { "not": { "tag": "date" } }, rest] });
        let mut request = json!({
            "filter": filter, "limit": 0,
            "facets": [{ "field": "tag", "excludeOwn": true, "limit": 50 }, "tag", { "field": "year", "excludeOwn": true, "limit": 50 }],
        });
        if rng.bool() {
            request["query"] = json!("apple");
        }
        let finds = |doc: &Plain| {
            request.get("query").is_none()
                || doc.json["body"].as_str().expect("a text").split(' ').any(|w| w == "apple")
        };
        let rest_passes = |doc: &Plain, field: &str| {
            let Value::Object(mut map) = rest.clone() else { panic!("an object") };
            if !field.is_empty() {
                map.retain(|name, _| name != field);
            }
            passes(&Value::Object(map), doc)
        };
        let tag_passes = |doc: &Plain| passes(&json!({ "tag": [tag, "fig"], "not": { "tag": "date" } }), doc);
        let year_passes = |doc: &Plain| passes(&json!({ "year": { "gte": year } }), doc);
        let of = |test: &dyn Fn(&Plain) -> bool, field| {
            let docs: Vec<&Plain> = fixture.docs.iter().filter(|doc| finds(doc) && test(doc)).collect();
            super::tests::expected_facet(&docs, field, 50)
        };
        let response = fixture.search(request.clone());
        let found = |ix: usize| {
            let values = response.facets[ix].values.iter();
            values.map(|one| (one.value.clone(), one.count)).collect::<Vec<_>>()
        };
        let same = |a: Vec<(Value, u64)>, b: Vec<(Value, u64)>| {
            a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| compare(&a.0, &b.0).is_eq() && a.1 == b.1)
        };
        let what = format!("seed {seed}: {request}");
        assert!(same(found(0), of(&|doc| year_passes(doc) && rest_passes(doc, "tag"), "tag")), "{what}");
        let mut plain = of(&|doc| year_passes(doc) && tag_passes(doc) && rest_passes(doc, ""), "tag");
        plain.truncate(10);
        assert!(same(found(1), plain), "{what}");
        assert!(same(found(2), of(&|doc| tag_passes(doc) && rest_passes(doc, "year"), "year")), "{what}");
    }
}

#[test]
fn bad_column_requests_name_their_place() {
    let fixture = fixture(MemoryStorage::new(), &mut fastrand::Rng::with_seed(1), "dot", &[20]);
    for (request, part) in [
        (json!({ "facets": ["tag", { "field": "tag", "interval": 3 }] }), "facets[1]"),
        (json!({ "facets": [{ "field": "pages", "interval": 0.5 }] }), "whole number"),
        (json!({ "facets": [{ "field": "year", "interval": "day" }] }), "calendar"),
        (json!({ "facets": [{ "field": "year", "interval": -1 }] }), "interval -1"),
        (json!({ "facets": [{ "field": "year", "prefix": "1" }] }), "prefix"),
        (json!({ "facets": [{ "field": "year", "prefix": "1", "interval": 3 }] }), "exclude each other"),
        (json!({ "facets": [{ "field": "tag", "ranges": [] }] }), "ranges"),
        (json!({ "facets": [{ "field": "year", "ranges": [{}, { "from": "x" }] }] }), "facets[0].ranges[1]"),
        (json!({ "collapse": { "field": "body" } }), "collapse"),
        (json!({ "collapse": { "field": "tag", "innerHits": 1000 } }), "innerHits 1000"),
        (json!({ "sort": vec![json!({ "field": "year" }); 17] }), "17 keys"),
    ] {
        let error = fixture.try_search(request.clone()).expect_err("bad request");
        assert!(error.to_string().contains(part), "{request}: {error}");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{request}");
    }
}
