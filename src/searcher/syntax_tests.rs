//! The query syntax and typing errors from a request to its hits.

use serde_json::{Value, json};

use super::fixture::{Fixture, fixture, ids};
use crate::{ids::DocId, query::request::SearchRequest, storage::MemoryStorage};

fn found(fixture: &Fixture<MemoryStorage>, request: Value) -> Vec<DocId> {
    let mut request = request;
    request["limit"] = json!(1000);
    let response = fixture.search(request.clone());
    assert_eq!(response.ignored, [""; 0], "{request}");
    let mut ids = ids(&response);
    assert_eq!(response.total as usize, ids.len(), "{request}");
    ids.sort();
    ids
}

#[test]
fn conditions_of_the_syntax_find_what_filters_do() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let fixture = fixture(MemoryStorage::new(), &mut fastrand::Rng::with_seed(seed), "dot", &[150, 40, 1]);
    for (text, filter) in [
        ("year:[1001 TO 1003.5}", json!({ "year": { "gte": 1001, "lt": 1003.5 } })),
        ("year:1002", json!({ "year": 1002 })),
        ("pages:>=5", json!({ "pages": { "gte": 5 } })),
        ("pages:(<0 OR >10)", json!({ "or": [{ "pages": { "lt": 0 } }, { "pages": { "gt": 10 } }] })),
        ("tag:[b TO d}", json!({ "tag": { "gte": "b", "lt": "d" } })),
        ("tag:*rr*", json!({ "tag": "cherry" })),
        ("tag:/(ap|gra).*/", json!({ "tag": ["apple", "grape"] })),
        ("tag:aple~1", json!({ "tag": "apple" })),
        ("_exists_:day", json!({ "day": { "exists": true } })),
        ("*:* -_exists_:draft", json!({ "draft": null })),
        ("+draft:false -kind:*", json!({ "draft": false, "kind": null })),
        ("day:1970-01-02", json!({ "day": "1970-01-02" })),
        ("day:[* TO 1970-01-03]", json!({ "day": { "lt": "1970-01-04" } })),
        ("id:(3 7 doc-5)", json!({ "id": [3, 7, "3", "7", "doc-5"] })),
    ] {
        let expected = found(&fixture, json!({ "filter": filter }));
        assert_eq!(found(&fixture, json!({ "query": text, "syntax": "lucene" })), expected, "{text}");
    }
}

#[test]
fn patterns_and_errors_find_mark_and_explain() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let fixture = fixture(MemoryStorage::new(), &mut fastrand::Rng::with_seed(seed), "dot", &[200, 60]);
    let lucene = |text: &str| json!({ "query": text, "syntax": "lucene" });
    for (request, words) in [
        (lucene("a?pl*"), &["apple"][..]),
        (lucene("/ba.*|[f-g].*/"), &["banana", "fig", "grape"]),
        (lucene("haezl~ elder~1"), &["hazel", "elder"]),
        (lucene("body:[c TO e}"), &["cherry", "date"]),
        (json!({ "query": "bannana", "fuzzy": "auto" }), &["banana"]),
        (json!({ "query": "bannana", "fuzzy": 1 }), &["banana"]),
        (json!({ "query": "aplpe", "fuzzy": 2, "fuzzyPrefixLength": 0 }), &["apple"]),
        (json!({ "query": "banana", "fuzzy": "auto", "prefix": true }), &["banana"]),
        (json!({ "query": "bannana" }), &[]),
        (json!({ "query": "pbanana", "fuzzy": 1 }), &[]),
    ] {
        let has = |text: &Value| text.as_str().is_some_and(|text| text.split(' ').any(|word| words.contains(&word)));
        let mut expected: Vec<DocId> =
            fixture.docs.iter().filter(|doc| has(&doc.json["body"])).map(|doc| doc.id.clone()).collect();
        expected.sort();
        assert_eq!(found(&fixture, request.clone()), expected, "{request}");
        let mut request = request;
        (request["highlight"], request["explain"]) = (json!(["body"]), json!(true));
        for hit in &fixture.search(request.clone()).hits {
            let text = hit.doc["body"].as_str().expect("a text");
            let [marks] = &hit.highlights[..] else { panic!("{request}: {:?}", hit.highlights) };
            for &(start, end) in &marks.ranges {
                let marked = &text[start as usize..end as usize];
                assert!(marked.split(' ').all(|word| words.contains(&word)), "{request}: {marked}");
            }
            assert_eq!(hit.explain.as_ref().map(|why| why.value), Some(hit.score), "{request}");
        }
    }
    let without = found(&fixture, json!({ "query": "banana -fig" }));
    let has = |doc: &str, word: &str| doc.split(' ').any(|found| found == word);
    let expected = fixture.docs.iter().filter(|doc| {
        let text = doc.json["body"].as_str().expect("a text");
        has(text, "banana") && !has(text, "fig")
    });
    assert_eq!(without.len(), expected.count());
}

#[test]
fn what_cannot_be_used_is_said() {
    let fixture = fixture(MemoryStorage::new(), &mut fastrand::Rng::with_seed(1), "dot", &[20]);
    for (text, expected) in [
        ("apple year:soon", "`year:soon`: not a value that field can have"),
        ("apple /a(b/", "`/a(b/`: a `(` without its `)` at character 3"),
        ("apple ~ ", "`~`"),
        ("[a TO", "`[a TO`, a range without its end"),
        ("/(a{99}){99}/", "`/(a{99}){99}/`: too many repetitions"),
    ] {
        let response = fixture.search(json!({ "query": text, "syntax": "lucene" }));
        assert_eq!(response.ignored, [expected], "{text}");
    }
    for bad in [json!(3), json!("much"), json!(-1), json!(0.5)] {
        let request: Result<SearchRequest, _> = serde_json::from_value(json!({ "query": "a", "fuzzy": bad }));
        assert_eq!(
            request.expect_err("refused").to_string(),
            format!("fuzzy: expected 0, 1, 2 or \"auto\", found {bad}")
        );
    }
}
