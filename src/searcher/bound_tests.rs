//! Requests with the same thing many times over, and with more than a request may have.

use serde_json::{Value, json};

use super::{ask::Ask, fixture::fixture};
use crate::{query::request::SearchRequest, schema::Schema, storage::MemoryStorage};

fn ask(request: Value) -> crate::Result<Ask> {
    let schema = Schema::from_json(&super::fixture::schema("dot")).expect("valid");
    let request: SearchRequest = serde_json::from_value(request).expect("a request");
    Ask::new(&request, &schema)
}

#[test]
fn equal_facets_are_counted_once_and_answered_each() {
    let fixture = fixture(MemoryStorage::new(), &mut fastrand::Rng::with_seed(1), "dot", &[80, 20]);
    let years = json!({ "field": "year", "ranges": [{ "to": 1003 }, { "from": 1003 }] });
    let mut facets = vec![json!("tag"), years.clone()];
    facets.extend(vec![json!({ "field": "tag" }); 100]);
    facets.extend([years, json!({ "field": "tag", "limit": 2 })]);
    assert_eq!(ask(json!({ "facets": facets })).unwrap().facets.len(), 3);
    let response = fixture.search(json!({ "facets": facets }));
    assert_eq!(response.facets.len(), facets.len());
    for (ix, facet) in response.facets.iter().enumerate() {
        let alone = fixture.search(json!({ "facets": [facets[ix]] }));
        assert_eq!(*facet, alone.facets[0], "facet {ix}");
    }
}

#[test]
fn names_that_stand_there_twice_count_once() {
    let request = json!({
        "query": "apple", "fields": vec!["body"; 500], "highlight": vec!["body"; 500],
        "filter": { "or": vec![json!({ "year": 1001 }); 5000] },
    });
    let asked = ask(request).unwrap();
    let once = ask(json!({ "query": "apple", "fields": ["body"] })).unwrap();
    assert_eq!(asked.query, once.query);
    assert_eq!((asked.highlights.len(), asked.filter.unwrap().leaves().len()), (1, 1));
}

#[test]
fn what_is_too_much_is_refused_and_named() {
    let ranges = json!({ "field": "year", "ranges": (0..900).map(|ix| json!({ "to": ix })).collect::<Vec<_>>() });
    let wide = |limit: u32| {
        let mut ranges = ranges.clone();
        ranges["limit"] = json!(limit);
        ranges
    };
    for (request, said) in [
        (json!({ "facets": vec!["tag"; 5000] }), "facets: 5000 entries, at most 256"),
        (
            json!({ "facets": (890..900).map(wide).collect::<Vec<_>>() }),
            "facets[4]: 4460 ranges of all facets so far, at most 4096",
        ),
        (json!({ "query": "apple", "highlight": vec!["body"; 5000] }), "highlight: 5000 names, at most 1024"),
        (json!({ "query": "apple", "fields": vec!["body"; 5000] }), "fields: 5000 names, at most 1024"),
        (
            json!({ "filter": { "or": (0..2000).map(|ix| json!({ "year": ix })).collect::<Vec<_>>() } }),
            "more than 1024 different conditions",
        ),
    ] {
        let error = ask(request).expect_err(said);
        assert_eq!(error.kind().code(), "invalid_argument");
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn documents_of_many_ids_are_found() {
    let fixture = fixture(MemoryStorage::new(), &mut fastrand::Rng::with_seed(2), "dot", &[60, 30]);
    let ids: Vec<_> = fixture.docs.iter().step_by(2).map(|doc| json!(doc.id)).collect();
    let many: Vec<_> = ids.iter().cloned().chain((0..3000).map(|ix| json!(format!("absent-{ix}")))).collect();
    for request in [
        json!({ "filter": { "id": many }, "limit": 1000 }),
        json!({ "query": { "terms": { "field": "id", "values": many } }, "limit": 1000 }),
        json!({ "filter": { "or": [{ "id": many[..5] }, { "id": many }] }, "limit": 1000 }),
    ] {
        let response = fixture.search(request);
        let found: std::collections::HashSet<_> = response.hits.iter().map(|hit| hit.id.clone()).collect();
        let expected = fixture.docs.iter().step_by(2).map(|doc| doc.id.clone()).collect();
        assert_eq!(found, expected);
    }
}
