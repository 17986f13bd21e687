//! Searches with a text leg, alone and fused, against scoring every document by the formula.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    fixture::{Fixture, Plain, WORDS, fixture, ids},
    tests::{expected_facet, passes, random_filter, sort_docs},
};
use crate::{
    analysis::Analyzer,
    ids::DocId,
    query::request::SearchResponse,
    storage::{MemoryStorage, Storage, local::LocalStorage},
};

/// Terms of a text, as the default analyzer of the fixture's `body` gives them.
pub(super) fn terms(text: &str) -> Vec<String> {
    let analyzer = Analyzer::find("english").expect("built in");
    analyzer.tokens(text).into_iter().map(|token| token.term).collect()
}

/// The slow twin: every document as terms.
pub(super) struct Corpus {
    /// Deleted ones included: statistics count them.
    pub everyone: Vec<Vec<String>>,
    live: Vec<(DocId, Vec<String>)>,
}

impl Corpus {
    pub fn new<S: Storage>(fixture: &Fixture<S>) -> Self {
        let body = |doc: &Plain| terms(doc.json["body"].as_str().expect("every document has one"));
        Self {
            everyone: fixture.all_bodies.iter().map(|text| terms(text)).collect(),
            live: fixture.docs.iter().map(|doc| (doc.id.clone(), body(doc))).collect(),
        }
    }

    /// BM25 of every live document that has one of the words.
    fn scores(&self, query: &str) -> HashMap<DocId, f64> {
        let num_docs = self.everyone.len() as f64;
        let average = self.everyone.iter().map(Vec::len).sum::<usize>() as f64 / num_docs;
        let mut scores = HashMap::new();
        for term in terms(query) {
            let doc_freq = self.everyone.iter().filter(|words| words.contains(&term)).count() as f64;
            let idf = (1.0 + (num_docs - doc_freq + 0.5) / (doc_freq + 0.5)).ln();
            for (id, words) in &self.live {
                let freq = words.iter().filter(|word| **word == term).count() as f64;
                if freq > 0.0 {
                    let inv = 1.0 / (1.2 * (0.25 + 0.75 * words.len() as f64 / average));
                    *scores.entry(id.clone()).or_default() += idf - idf / (1.0 + freq * inv);
                }
            }
        }
        scores
    }
}

fn random_query(rng: &mut fastrand::Rng) -> String {
    let mut words: Vec<&str> = WORDS.to_vec();
    rng.shuffle(&mut words);
    words.truncate(rng.usize(1..4));
    words.join(" ")
}

fn close(a: f64, b: f64) -> bool {
    // Sums of up to three f32 scores.
    (a - b).abs() <= 1e-5 * (1.0 + b.abs())
}

#[test]
fn text_searches_agree_with_the_formula() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    for sizes in [&[40][..], &[300, 1, 120]] {
        let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", sizes);
        let corpus = Corpus::new(&fixture);
        for _ in 0..12 {
            let query = random_query(&mut rng);
            let filter = random_filter(&mut rng, 1);
            let (offset, limit) = (rng.usize(0..40), rng.usize(1..300));
            let request = json!({ "query": query, "filter": filter, "offset": offset, "limit": limit, "facets": ["tag", "draft"] });
            let what = format!("seed {seed}: {request}");
            let response = fixture.search(request);
            let scores = corpus.scores(&query);
            let matching: Vec<&Plain> =
                fixture.docs.iter().filter(|doc| scores.contains_key(&doc.id) && passes(&filter, doc)).collect();
            assert_eq!(response.total, matching.len() as u64, "{what}");
            let mut ranking: Vec<f64> = matching.iter().map(|doc| scores[&doc.id]).collect();
            ranking.sort_by(|a, b| b.total_cmp(a));
            let expected: Vec<f64> = ranking.into_iter().skip(offset).take(limit).collect();
            assert_eq!(response.hits.len(), expected.len(), "{what}");
            for (hit, expected) in response.hits.iter().zip(expected) {
                assert!(
                    close(hit.score, expected) && close(hit.score, scores[&hit.id]),
                    "{what}: {} {expected}",
                    hit.score
                );
                assert_eq!(hit.text_score.map(f64::from), Some(hit.score));
                assert!(matching.iter().any(|doc| doc.id == hit.id), "{what}");
            }
            for facet in &response.facets {
                let found: Vec<_> = facet.values.iter().map(|one| (one.value.clone(), one.count)).collect();
                assert_eq!(found, expected_facet(&matching, &facet.field, 10), "{what}");
            }
        }
    }
}

#[test]
fn sorted_text_searches_keep_scores() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", &[200, 100]);
    let corpus = Corpus::new(&fixture);
    for _ in 0..10 {
        let query = random_query(&mut rng);
        let response = fixture.search(json!({
            "query": query, "limit": 50, "sort": [{ "field": "kind", "order": "desc" }, { "field": "year" }],
        }));
        let scores = corpus.scores(&query);
        let matching = fixture.docs.iter().filter(|doc| scores.contains_key(&doc.id));
        let sorted = sort_docs(matching, &[("kind", true), ("year", false)]);
        let expected: Vec<DocId> = sorted.iter().take(50).map(|doc| doc.id.clone()).collect();
        assert_eq!(ids(&response), expected, "seed {seed}");
        assert!(response.hits.iter().all(|hit| close(hit.score, scores[&hit.id])), "seed {seed}");
        // By a coarse key, then by score.
        let response = fixture.search(json!({
            "query": query, "limit": 300, "sort": [{ "field": "draft" }, { "field": "_score" }],
        }));
        let key = |ix: usize| {
            let hit = &response.hits[ix];
            (hit.doc.get("draft").map_or(2, |draft| u8::from(draft == true)), hit.score)
        };
        assert_eq!(response.hits.len(), scores.len(), "seed {seed}");
        for ix in 1..response.hits.len() {
            let (a, b) = (key(ix - 1), key(ix));
            assert!(a.0 < b.0 || (a.0 == b.0 && a.1 >= b.1), "seed {seed}");
        }
    }
}

fn without_cost(mut response: SearchResponse) -> Value {
    response.took = 0.0;
    let mut value = serde_json::to_value(response).expect("JSON");
    value["stats"] = Value::Null;
    value
}

#[test]
fn fused_searches_are_made_of_their_legs() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", &[150, 3, 90]);
    for _ in 0..8 {
        let query = random_query(&mut rng);
        let filter = random_filter(&mut rng, 1);
        let k = [1, 5, 100][rng.usize(0..3)];
        let value: Vec<i32> = (0..3).map(|_| rng.i32(-3..4)).collect();
        let vector = json!({ "field": "embedding", "value": value, "k": k });
        let base = |more: Value| {
            let mut request = json!({ "filter": filter, "limit": 400, "facets": ["kind"] });
            more.as_object().expect("an object").iter().for_each(|(name, value)| request[name] = value.clone());
            request
        };
        let text_only = fixture.search(base(json!({ "query": query })));
        let vector_only = fixture.search(base(json!({ "vector": vector })));
        for (text, weight) in [(1.0, 0.0), (0.0, 1.0)] {
            let fuse = json!({ "weights": { "text": text, "vector": weight } });
            let extreme = fixture.search(base(json!({ "query": query, "vector": vector, "fuse": fuse })));
            let alone = if text > 0.0 { text_only.clone() } else { vector_only.clone() };
            assert_eq!(without_cost(extreme), without_cost(alone), "seed {seed}: a weight of 0 leaves the other leg");
        }
        for fuse in [json!("rrf"), json!({ "rrfK": 2 }), json!({ "weights": { "text": 0.7, "vector": 1.3 } })] {
            let request = base(json!({ "query": query, "vector": vector, "fuse": fuse, "explain": true }));
            let what = format!("seed {seed}: {request}");
            let fused = fixture.search(request.clone());
            let part = |response: &SearchResponse, id: &DocId, weight: f64| {
                let Some(ix) = response.hits.iter().position(|hit| hit.id == *id) else { return 0.0 };
                let (best, score) = (response.hits[0].score, response.hits[ix].score);
                match (&fuse["rrfK"], &fuse["weights"]) {
                    (Value::Number(k), _) => 1.0 / (k.as_f64().expect("a number") + 1.0 + ix as f64),
                    (_, Value::Object(_)) if best > 0.0 => weight * score / best,
                    (_, Value::Object(_)) => weight / (1.0 + best - score),
                    _ => 1.0 / (61.0 + ix as f64),
                }
            };
            let mut everyone: Vec<DocId> = ids(&text_only);
            everyone.extend(ids(&vector_only));
            everyone.sort();
            everyone.dedup();
            assert_eq!(fused.total as usize, everyone.len(), "{what}");
            assert_eq!(fused.hits.len(), everyone.len(), "{what}");
            for hit in &fused.hits {
                let expected = part(&text_only, &hit.id, 0.7) + part(&vector_only, &hit.id, 1.3);
                assert!(
                    (hit.score - expected).abs() < 1e-6 * (1.0 + expected.abs()),
                    "{what}: {} {expected}",
                    hit.score
                );
                assert_eq!(hit.explain.as_ref().map(|why| why.value), Some(hit.score), "{what}");
            }
            assert!(fused.hits.is_sorted_by(|a, b| a.score >= b.score), "{what}");
            let counted: u64 = fused.facets[0].values.iter().map(|one| one.count).sum();
            assert!(counted <= fused.total, "{what}");
            // Pages join to the whole.
            let mut paged = Vec::new();
            for offset in (0..everyone.len()).step_by(29) {
                let mut page = request.clone();
                page["offset"] = json!(offset);
                page["limit"] = json!(29);
                paged.extend(ids(&fixture.search(page)));
            }
            assert_eq!(paged, ids(&fused), "{what}");
        }
    }
}

#[test]
fn hits_are_highlighted_and_explained() {
    let fixture = fixture(MemoryStorage::new(), &mut fastrand::Rng::with_seed(3), "dot", &[60]);
    let response = fixture.search(json!({ "query": "apples", "highlight": ["body"], "explain": true, "limit": 100 }));
    assert!(!response.hits.is_empty());
    for hit in &response.hits {
        let text = hit.doc["body"].as_str().expect("a text");
        let units: Vec<u16> = text.encode_utf16().collect();
        let [found] = &hit.highlights[..] else { panic!("one text, one highlight: {:?}", hit.highlights) };
        assert_eq!(found.snippet, text, "a short text is shown whole");
        for &(start, end) in &found.ranges {
            let marked = String::from_utf16(&units[start as usize..end as usize]).expect("whole characters");
            assert!(marked.split(' ').all(|word| word == "apple"), "{marked}");
        }
        let why = hit.explain.as_ref().expect("asked for");
        assert!(close(why.value, hit.score), "{why:?}");
    }
    let nothing = fixture.search(json!({ "query": "zucchini" }));
    assert_eq!((nothing.total, nothing.hits.len()), (0, 0));
    let everything = fixture.search(json!({ "query": "  " }));
    assert_eq!(everything.total as usize, fixture.docs.len());
}

#[test]
fn a_cold_text_search_takes_three_waves() {
    let mut rng = fastrand::Rng::with_seed(8);
    let dir = tempfile::tempdir().expect("a directory");
    let storage = LocalStorage::new(dir.path(), Default::default());
    let fixture = fixture(storage, &mut rng, "dot", &[2000, 1500, 10]);
    let request = json!({
        "query": "apple fig", "filter": { "tag": "cherry", "year": { "gte": 1001 } }, "facets": ["kind"], "limit": 5,
    });
    let cold = fixture.search(request.clone());
    assert!(cold.total > 0 && cold.hits.len() == 5);
    assert!(cold.stats.waves <= 3, "terms, postings and columns, documents: {:?}", cold.stats);
    // Measured: 9 requests (one per segment and wave) and 163 KiB, block edges and gaps of the local profile included.
    assert!(cold.stats.requests <= 10 && cold.stats.bytes <= 200 << 10, "{:?}", cold.stats);
    let warm = fixture.search(request);
    assert_eq!((warm.stats.waves, warm.stats.requests), (0, 0));
    assert_eq!(ids(&warm), ids(&cold));
}
