//! What callers may do by mistake or on purpose: analyzers that answer nonsense, merges of next to nothing and with
//! next to no memory, cursors of another search, deletion of all that was near.
#![cfg(not(target_arch = "wasm32"))]

use std::{collections::HashSet, sync::Arc};

use rangefind::{
    ErrorKind,
    analysis::{CustomAnalyzer, CustomAnalyzers, CustomToken},
    engine::{Cancel, DocumentBatch, FieldVectors, Index, MergeOptions, OpenOptions, SearchRequest, no_progress},
    ids::DocId,
    platform::block_on,
    query::request::SearchResponse,
    schema::Schema,
    storage::{MemoryStorage, Storage},
};
use serde_json::{Value, json};

async fn search(index: &Index<MemoryStorage>, request: Value) -> rangefind::Result<SearchResponse> {
    index.search(&serde_json::from_value::<SearchRequest>(request).unwrap(), &Cancel::new()).await
}

async fn assert_sound(index: &Index<MemoryStorage>) {
    let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
    assert!(report.ok && report.leftovers.is_empty(), "{:#?} {:?}", report.problems, report.leftovers);
}

/// Does what a text says, or makes something up.
#[derive(Debug)]
struct Nonsense;

fn token(term: impl Into<String>, position: u32, start: u32, end: u32) -> CustomToken {
    CustomToken { term: term.into(), position, start, end }
}

impl CustomAnalyzer for Nonsense {
    fn analyze(&self, text: &str) -> Result<Vec<CustomToken>, String> {
        let end = text.len() as u32;
        let many = |count: u32, place: fn(u32) -> u32| -> Vec<CustomToken> {
            (0..count).map(|ix| token(format!("t{ix}"), place(ix), 0, end)).collect()
        };
        Ok(match text {
            "beyond" => vec![token("a", 0, end, end + 1)],
            "huge" => vec![token("a", 0, u32::MAX - 1, u32::MAX)],
            "turned" => vec![token("a", 0, 3, 1)],
            "insideé" => vec![token("a", 0, 0, end - 1)],
            "empty" => vec![token("", 0, 0, 1)],
            "long" => vec![token("x".repeat(40_000), 0, 0, 1)],
            "far" => vec![token("a", u32::MAX, 0, 1)],
            "down" => vec![token("c", 2, 0, 1), token("b", 1, 0, 1), token("a", 0, 0, 1), token("b", 1, 0, 1)],
            "none" => Vec::new(),
            "apart" => vec![token("a", 0, 0, 1), token("b", (1 << 28) - 1, 0, 1)],
            "odd" => vec![token("\0", 0, 0, 1), token("\u{ffff}\u{10ffff}", 1, 0, 1), token(" ", 2, 0, 0)],
            // What is as many times the number and no square of it: a million in one place took hours.
            "together" => many(5_000, |_| 7),
            "crowd" => many(250_000, |ix| ix),
            other => CustomToken::in_order(other, other.split(' ').map(str::to_owned)),
        })
    }
}

const REFUSED: [&str; 7] = ["beyond", "huge", "turned", "insideé", "empty", "long", "far"];
const TAKEN: [&str; 6] = ["down", "none", "apart", "odd", "together", "crowd"];

#[test]
fn analyzers_that_answer_nonsense_are_refused_or_taken_at_their_word() {
    block_on(async {
        let schema = json!({ "text": { "type": "text", "analyzer": "nonsense" }, "n": "integer" });
        let mut analyzers = CustomAnalyzers::default();
        analyzers.insert("nonsense", Arc::new(Nonsense)).unwrap();
        let schema = Some(Schema::from_json(&schema).unwrap());
        let options = OpenOptions { schema, analyzers, auto_merge: false, grace_millis: 0, ..OpenOptions::default() };
        let index = Index::open(MemoryStorage::new(), options).await.unwrap();
        let texts: Vec<&str> = REFUSED.into_iter().chain(TAKEN).chain(["a b c"]).collect();
        let rows = |texts: &[&str]| texts.iter().map(|text| json!({ "id": text, "text": text, "n": 1 })).collect();
        let report = index.add(DocumentBatch::from_values(rows(&texts))).await.unwrap();
        assert_eq!(
            report.refused.iter().map(|one| one.row).collect::<Vec<_>>(),
            (0..REFUSED.len() as u64).collect::<Vec<_>>()
        );
        index.commit().await.unwrap();
        // Several values, whose positions go on behind each other: as far as positions go, and not farther.
        let doc = json!({ "id": "values", "text": vec!["apart"; 20] });
        assert_eq!(index.add(DocumentBatch::from_values(vec![doc])).await.unwrap().refused, []);
        index.commit().await.unwrap();
        assert_sound(&index).await;
        index.merge(MergeOptions::default(), &no_progress, &Cancel::new()).await.unwrap();
        assert_sound(&index).await;

        let found = |response: SearchResponse| -> HashSet<String> {
            response.hits.iter().map(|hit| hit.id.to_string()).collect()
        };
        let of = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<HashSet<_>>();
        let term = |term: &str| json!({ "query": { "lucene": format!("text:{term}") }, "highlight": ["text"] });
        assert_eq!(found(search(&index, term("b")).await.unwrap()), of(&["down", "apart", "a b c", "values"]));
        assert_eq!(found(search(&index, term("t249999")).await.unwrap()), of(&["crowd"]));
        assert_eq!(found(search(&index, term("t4999")).await.unwrap()), of(&["crowd", "together"]));
        assert_eq!(found(search(&index, json!({ "query": "\"a b c\"" })).await.unwrap()), of(&["down", "a b c"]));
        assert_eq!(found(search(&index, json!({ "query": "\"t1 t2\"" })).await.unwrap()), of(&["crowd"]));
        // As a query each is answered, cut and said so, or refused; never a panic, never for ever.
        for text in &texts {
            let quoted = format!("\"{text}\"");
            let requests = [
                json!({ "query": text, "highlight": ["text"] }),
                json!({ "query": text, "match": "all", "prefix": true, "highlight": ["text"] }),
                json!({ "query": quoted, "highlight": ["text"] }),
                json!({ "query": format!("{quoted}~3"), "syntax": "lucene" }),
                json!({ "query": { "match": { "field": "text", "text": text, "operator": "and", "fuzzy": 1 } } }),
                json!({ "query": { "phrasePrefix": { "field": "text", "text": text } } }),
                json!({ "query": { "moreLikeThis": { "text": text, "minDocFreq": 1 } }, "limit": 3 }),
            ];
            // So many words take a while to make.
            let step = if *text == "crowd" { 7 } else { 1 };
            for request in requests.into_iter().step_by(step) {
                match search(&index, request.clone()).await {
                    Ok(response) => assert!(!REFUSED.contains(text), "{request}: {:?}", response.total),
                    Err(error) => {
                        let is_bad = REFUSED.contains(text) || ["together", "crowd"].contains(text);
                        assert!(is_bad && error.kind() == ErrorKind::InvalidArgument, "{request}: {error}");
                    }
                }
            }
        }
    });
}

fn schema() -> Schema {
    let schema = json!({ "body": "text", "tag": "keyword", "n": "integer",
        "embedding": { "type": "vector", "dims": 8, "metric": "l2" } });
    Schema::from_json(&schema).unwrap()
}

fn options() -> OpenOptions<MemoryStorage> {
    OpenOptions { schema: Some(schema()), auto_merge: false, grace_millis: 0, ..OpenOptions::default() }
}

/// Documents `ids`, committed.
async fn add(index: &Index<MemoryStorage>, ids: std::ops::Range<usize>, rng: &mut fastrand::Rng) -> Vec<Vec<f32>> {
    let docs = ids.clone().map(|id| {
        let words: Vec<String> = (0..8).map(|_| format!("w{}", rng.u32(0..200))).collect();
        json!({ "id": id, "body": words.join(" "), "tag": format!("t{}", id % 9), "n": id })
    });
    let docs = docs.collect();
    let vectors: Vec<Vec<f32>> = ids.map(|_| (0..8).map(|_| rng.f32()).collect()).collect();
    let values = vectors.iter().flatten().copied().collect();
    let field = FieldVectors { field: "embedding".to_owned(), values, counts: None };
    index.add(DocumentBatch::from_values(docs).with_vectors(field)).await.unwrap();
    index.commit().await.unwrap();
    vectors
}

#[test]
fn next_to_nothing_is_reordered() {
    block_on(async {
        let merge = MergeOptions { reorder: true, ..MergeOptions::default() };
        for (segments, delete) in [(0, false), (1, false), (1, true), (2, false), (3, true)] {
            let index = Index::open(MemoryStorage::new(), options()).await.unwrap();
            let mut rng = fastrand::Rng::with_seed(5);
            for segment in 0..segments {
                add(&index, segment..segment + 1, &mut rng).await;
            }
            if delete {
                index.delete(&(0..segments as i64).map(DocId::Int).collect::<Vec<_>>()).await.unwrap();
                index.commit().await.unwrap();
            }
            for _ in 0..2 {
                index.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
                assert_sound(&index).await;
                let left = if delete { 0 } else { segments as u64 };
                assert_eq!(index.info().unwrap().num_docs, left, "{segments} segments");
                for request in [
                    json!({}),
                    json!({ "query": "w1 w2", "facets": ["tag"], "sort": [{ "field": "n" }] }),
                    json!({ "vector": { "field": "embedding", "value": [0, 0, 0, 0, 0, 0, 0, 1] } }),
                ] {
                    let response = search(&index, request.clone()).await.unwrap();
                    assert!(request["query"].is_string() || response.total == left, "{request}: {}", response.total);
                }
            }
            add(&index, 10..30, &mut rng).await;
            index.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
            assert_sound(&index).await;
        }
    });
}

#[test]
fn whatever_the_budget_a_merge_is_done_or_nothing_happened() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(6);
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), options()).await.unwrap();
        // With cells, without, and deleted altogether.
        add(&index, 0..4200, &mut rng).await;
        add(&index, 4200..4400, &mut rng).await;
        add(&index, 4400..4450, &mut rng).await;
        index.delete(&(4400..4450).chain([3, 77]).map(DocId::Int).collect::<Vec<_>>()).await.unwrap();
        index.commit().await.unwrap();
        let ask = json!({ "query": "w1 w2 w3", "facets": ["tag"], "limit": 50 });
        let answer = |response: SearchResponse| {
            let scores: Vec<u64> = response.hits.iter().map(|hit| hit.score.to_bits()).collect();
            (response.total, response.facets, scores.len())
        };
        let before = answer(search(&index, ask.clone()).await.unwrap());
        let (mut refused, mut done) = (0, 0);
        for reorder in [true, false] {
            for memory_bytes in [0, 1, 4 << 10, 200 << 10, 400 << 10, 700 << 10, 1 << 20, 1_200_000, 1_500_000, 2 << 20]
            {
                let names = storage.list().await.unwrap();
                let merge = MergeOptions { max_segments: Some(1), memory_bytes, reorder, ..MergeOptions::default() };
                match index.merge(merge, &no_progress, &Cancel::new()).await {
                    Ok(report) => {
                        assert!(report.peak_memory_bytes <= memory_bytes, "{report:?}");
                        done += 1;
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::OverBudget, "{error}");
                        assert_eq!(storage.list().await.unwrap(), names, "{memory_bytes}");
                        refused += 1;
                    }
                }
                assert_eq!(answer(search(&index, ask.clone()).await.unwrap()).0, before.0, "{memory_bytes}");
            }
            assert_sound(&index).await;
        }
        assert!(refused > 5 && done > 3, "{refused} refused, {done} done");
        let after = answer(search(&index, ask.clone()).await.unwrap());
        assert_eq!((after.0, after.1, after.2), before);
    });
}

#[test]
fn cursors_of_other_searches_and_indexes_are_refused_or_go_on() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(7);
        let [one, other] =
            [options(), options()].map(|options| block_on(Index::open(MemoryStorage::new(), options)).unwrap());
        add(&one, 0..300, &mut rng).await;
        add(&one, 300..340, &mut rng).await;
        add(&other, 0..20, &mut rng).await;
        let near = json!({ "field": "embedding", "value": [0.1, 0.9, 0.5, 0, 0, 1, 0, 0] });
        let requests = [
            json!({}),
            json!({ "query": "w1 w2 w3 w4" }),
            json!({ "sort": [{ "field": "n", "order": "desc" }] }),
            json!({ "sort": [{ "field": "tag" }, { "field": "_score" }], "query": "w1 w2 w3 w4 w5" }),
            json!({ "sort": [{ "field": "tag" }] }),
            json!({ "vector": near }),
            json!({ "vector": near, "query": "w1 w2" }),
            json!({ "query": "w1 w2 w3 w4", "collapse": { "field": "tag" } }),
        ];
        let mut cursors = Vec::new();
        for request in &requests {
            let mut request = request.clone();
            request["limit"] = json!(3);
            cursors.push(search(&one, request).await.unwrap().cursor.unwrap());
        }
        let (mut refused, mut answered) = (0, 0);
        for index in [&one, &other] {
            for request in &requests {
                for cursor in &cursors {
                    let mut request = request.clone();
                    request["after"] = json!(cursor);
                    match search(index, request.clone()).await {
                        Ok(response) => {
                            answered += 1;
                            assert!(response.hits.len() <= 10);
                        }
                        Err(error) => {
                            let known = [ErrorKind::InvalidArgument, ErrorKind::IndexChanged].contains(&error.kind());
                            assert!(known, "{request}: {error}");
                            refused += 1;
                        }
                    }
                }
            }
        }
        assert!(answered >= requests.len() && refused > 80, "{answered} answered, {refused} refused");
    });
}

#[test]
fn what_is_left_comes_when_all_that_was_near_is_deleted() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(8);
        let index = Index::open(MemoryStorage::new(), options()).await.unwrap();
        let vectors = add(&index, 0..5000, &mut rng).await;
        let query = vectors[11].clone();
        let distance = |id: usize| vectors[id].iter().zip(&query).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
        let mut by_distance: Vec<usize> = (0..vectors.len()).collect();
        by_distance.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        for (from, to) in [(0, 1500), (1500, 4900), (4900, 4995), (4995, 5000)] {
            let near = by_distance[from..to].iter().map(|&id| DocId::Int(id as i64)).collect::<Vec<_>>();
            index.delete(&near).await.unwrap();
            index.commit().await.unwrap();
            let left: HashSet<String> = by_distance[to..].iter().take(10).map(ToString::to_string).collect();
            let gone: HashSet<String> = by_distance[..to].iter().map(ToString::to_string).collect();
            for exact in [false, true] {
                let near = json!({ "field": "embedding", "value": query, "exact": exact });
                let response = search(&index, json!({ "vector": near, "limit": 10 })).await.unwrap();
                assert_eq!((response.hits.len(), response.total), (left.len(), (5000 - to) as u64));
                let found: HashSet<String> = response.hits.iter().map(|hit| hit.id.to_string()).collect();
                assert!(found.is_disjoint(&gone));
                assert!(!exact || found == left, "without the {to} nearest");
            }
        }
    });
}
