//! Query trees in JSON against looking at every document.

use std::{cell::RefCell, collections::HashMap};

use serde_json::{Value, json};

use super::{
    fixture::{Fixture, Plain, WORDS, fixture},
    tests::passes,
    text_tests::{Corpus, terms},
};
use crate::{
    ids::DocId,
    storage::{MemoryStorage, Storage},
};

/// The slow twin: what a clause says of a document, in double precision.
struct Twin {
    corpus: Corpus,
    average: f64,
    idfs: RefCell<HashMap<String, f64>>,
}

impl Twin {
    fn new<S: Storage>(fixture: &Fixture<S>) -> Self {
        let corpus = Corpus::new(fixture);
        let average = corpus.everyone.iter().map(Vec::len).sum::<usize>() as f64 / corpus.everyone.len() as f64;
        Self { corpus, average, idfs: RefCell::default() }
    }

    fn idf(&self, term: &str) -> f64 {
        if let Some(&idf) = self.idfs.borrow().get(term) {
            return idf;
        }
        let all = self.corpus.everyone.len() as f64;
        let found = self.corpus.everyone.iter().filter(|words| words.iter().any(|word| word == term)).count() as f64;
        let idf = (1.0 + (all - found + 0.5) / (found + 0.5)).ln();
        self.idfs.borrow_mut().insert(term.to_owned(), idf);
        idf
    }

    fn bm25(&self, weight: f64, freq: f64, len: usize) -> Option<f64> {
        let factor = 1.0 / (1.2 * (0.25 + 0.75 * len as f64 / self.average));
        (freq > 0.0).then(|| weight - weight / (1.0 + freq * factor))
    }

    fn words(&self, words: &[String], text: &str, all: bool, min: usize) -> Option<f64> {
        let asked = terms(text);
        let score = |term: &String| {
            let freq = words.iter().filter(|word| *word == term).count() as f64;
            self.bm25(self.idf(term), freq, words.len())
        };
        let scores: Vec<f64> = asked.iter().filter_map(score).collect();
        let needed = if all { asked.len() } else { min.clamp(1, asked.len()) };
        (scores.len() >= needed).then(|| scores.iter().sum())
    }

    fn phrase(&self, words: &[String], text: &str) -> Option<f64> {
        let asked = terms(text);
        let freq = words.windows(asked.len()).filter(|window| *window == asked).count() as f64;
        self.bm25(asked.iter().map(|term| self.idf(term)).sum(), freq, words.len())
    }

    /// The score, if it matches.
    fn of(&self, clause: &Value, doc: &Plain) -> Option<f64> {
        let (name, body) = clause.as_object().expect("a clause").iter().next().expect("one key");
        let words = terms(doc.json["body"].as_str().expect("a text"));
        let text = |key: &str| body[key].as_str().expect("a text");
        let boost = body.get("boost").map_or(1.0, |boost| boost.as_f64().expect("a number"));
        let one = |holds: bool| holds.then_some(1.0);
        let score = match name.as_str() {
            "all" => Some(1.0),
            "none" => None,
            "match" => {
                let min = body.get("minShouldMatch").map_or(0, |min| min.as_u64().expect("a count") as usize);
                self.words(&words, text("text"), body["operator"] == "and", min)
            }
            "phrase" => self.phrase(&words, text("text")),
            "plain" => self.words(&words, body.as_str().expect("a text"), false, 0),
            "term" if body["field"] == "body" => self.words(&words, text("value"), true, 0),
            "term" => one(passes(&json!({ text("field"): body["value"] }), doc)),
            "terms" => one(passes(&json!({ text("field"): { "in": body["values"] } }), doc)),
            "exists" => one(match text("field") {
                "embedding" => !doc.vectors.is_empty(),
                "body" => !words.is_empty(),
                field => passes(&json!({ field: { "exists": true } }), doc),
            }),
            "range" => {
                let mut tests = body.as_object().expect("an object").clone();
                tests.remove("field");
                tests.remove("boost");
                one(passes(&json!({ text("field"): tests }), doc))
            }
            "constant" => self.of(&body["query"], doc).map(|_| body["score"].as_f64().expect("a number")),
            "boost" => self.of(&body["query"], doc).map(|score| score * body["factor"].as_f64().expect("a number")),
            "disMax" => {
                let scores: Vec<f64> = list(&body["queries"]).filter_map(|clause| self.of(clause, doc)).collect();
                let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let rest = scores.iter().sum::<f64>() - best;
                (!scores.is_empty()).then(|| best + body["tieBreaker"].as_f64().expect("a number") * rest)
            }
            "bool" => {
                let all = |key: &str| list(&body[key]).map(|clause| self.of(clause, doc)).collect::<Vec<_>>();
                let (must, should, must_not, filter) = (all("must"), all("should"), all("mustNot"), all("filter"));
                let positive = !must.is_empty() || !filter.is_empty();
                let min = body["minShouldMatch"].as_u64().unwrap_or(0) as usize;
                let needed = match min.min(should.len()) {
                    0 if positive || should.is_empty() && !must_not.is_empty() => 0,
                    0 => 1,
                    min => min,
                };
                let holds = must.iter().chain(&filter).all(Option::is_some)
                    && must_not.iter().all(Option::is_none)
                    && should.iter().flatten().count() >= needed;
                holds.then(|| must.iter().chain(&should).flatten().sum())
            }
            "function" => self.of(&body["query"], doc).map(|score| self.function(score, body, doc)),
            other => panic!("{other}"),
        };
        score.map(|score| score * boost)
    }

    fn function(&self, score: f64, body: &Value, doc: &Plain) -> f64 {
        let values = match doc.json.get(body["field"].as_str().expect("a field")) {
            Some(Value::Array(list)) => list.clone(),
            Some(single) => vec![single.clone()],
            None => Vec::new(),
        };
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| f64::from(u8::from(*value == true)));
        let of = |value: f64| {
            if let Some(decay) = body.get("decay") {
                let at = |key: &str| decay[key].as_f64().expect("a number");
                let distance = ((value - at("origin")).abs() - at("offset")).max(0.0) / at("scale");
                match decay["shape"].as_str() {
                    Some("gauss") => at("decay").powf(distance * distance),
                    Some("linear") => (1.0 - (1.0 - at("decay")) * distance).max(0.0),
                    _ => at("decay").powf(distance),
                }
            } else if let Some(saturation) = body.get("saturation") {
                value.max(0.0) / (value.max(0.0) + saturation["pivot"].as_f64().expect("a number"))
            } else if body.get("log1p").is_some() {
                value.max(0.0).ln_1p()
            } else {
                value.max(0.0)
            }
        };
        let weight = body["weight"].as_f64().expect("a number");
        let mode = body["boostMode"].as_str().expect("a mode");
        let missing = body.get("missing").map_or(if mode == "multiply" { 1.0 } else { 0.0 }, number);
        let result = values.iter().map(|value| of(number(value)) * weight).reduce(f64::max).unwrap_or(missing);
        match mode {
            "multiply" => score * result,
            "sum" => score + result,
            _ => result,
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn words(rng: &mut fastrand::Rng, most: usize) -> String {
    let mut words = WORDS.to_vec();
    rng.shuffle(&mut words);
    words.truncate(rng.usize(1..=most));
    words.join(" ")
}

fn random_clause(rng: &mut fastrand::Rng, depth: usize) -> Value {
    let inner = |rng: &mut fastrand::Rng| random_clause(rng, depth.saturating_sub(1));
    let some = |rng: &mut fastrand::Rng, most: usize| (0..rng.usize(0..=most)).map(|_| inner(rng)).collect::<Vec<_>>();
    match if depth == 0 { rng.u8(0..10) } else { rng.u8(0..26) } {
        0 => json!({ "match": { "field": "body", "text": words(rng, 4), "minShouldMatch": rng.u32(0..3) } }),
        1 => json!({ "match": { "field": "body", "text": words(rng, 3), "operator": "and", "boost": 2.5 } }),
        2 => json!({ "phrase": { "field": "body", "text": words(rng, 2) } }),
        3 => json!({ "term": { "field": "body", "value": WORDS[rng.usize(0..8)] } }),
        4 => {
            json!({ "range": { "field": "year", "gte": f64::from(rng.i32(1998..2012)) / 2.0, "lt": 1003, "boost": 0.5 } })
        }
        5 => json!({ "range": { "field": "tag", "gt": WORDS[rng.usize(0..8)] } }),
        6 => json!({ "terms": { "field": "pages", "values": [rng.i64(-7..17), rng.i64(-7..17), 3] } }),
        7 => json!({ "term": { "field": "draft", "value": rng.bool() } }),
        8 => {
            let field = ["embedding", "body", "kind", "day"][rng.usize(0..4)];
            json!({ "exists": { "field": field } })
        }
        9 => json!({ "term": { "field": "kind", "value": format!("{}-{}", WORDS[rng.usize(0..8)], rng.u32(0..40)) } }),
        10 => json!({ "constant": { "query": inner(rng), "score": rng.f64() } }),
        11 => json!({ "boost": { "query": inner(rng), "factor": rng.f64() * 3.0 } }),
        12 => json!({ "disMax": { "queries": some(rng, 3), "tieBreaker": rng.f64() } }),
        13 | 14 => {
            let mode = ["multiply", "sum", "replace"][rng.usize(0..3)];
            let mut body = json!({ "query": inner(rng), "weight": 1.5, "boostMode": mode });
            let (field, function, how) = match rng.u8(0..4) {
                0 => (
                    "day",
                    "decay",
                    json!({ "origin": 172_800_000, "scale": 86_400_000, "offset": 3600e3, "decay": 0.3 }),
                ),
                1 => {
                    ("pages", "decay", json!({ "shape": "gauss", "origin": 4, "scale": 3, "offset": 1, "decay": 0.5 }))
                }
                2 => ("year", "saturation", json!({ "pivot": 1000 })),
                _ => (["pages", "draft"][rng.usize(0..2)], ["log1p", "linear"][rng.usize(0..2)], json!({})),
            };
            (body["field"], body[function]) = (json!(field), how);
            if rng.bool() {
                body["missing"] = json!(0.25);
            }
            json!({ "function": body })
        }
        _ => json!({ "bool": {
            "must": some(rng, 2), "should": some(rng, 4), "mustNot": some(rng, 1), "filter": some(rng, 1),
            "minShouldMatch": rng.u32(0..3),
        } }),
    }
}

/// A term on a keyword field scores by BM25 on the keyword; the twin knows only whether it matches.
fn has_keyword_term(clause: &Value) -> bool {
    clause.to_string().contains("\"field\":\"kind\",\"value\"")
}

#[test]
fn trees_agree_with_looking_at_every_document() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for (sizes, rounds) in [(&[60][..], 25), (&[300, 1, 120], 25), (&[4_300], 3)] {
        let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", sizes);
        let twin = Twin::new(&fixture);
        for round in 0..rounds {
            let clause = random_clause(&mut rng, 2 + round % 2);
            let what = format!("seed {seed}: {clause}");
            let expected: HashMap<DocId, f64> =
                fixture.docs.iter().filter_map(|doc| Some((doc.id.clone(), twin.of(&clause, doc)?))).collect();
            let all = fixture.search(json!({ "query": clause, "limit": 10_000 }));
            assert_eq!((all.total as usize, all.hits.len()), (expected.len(), expected.len()), "{what}");
            if !has_keyword_term(&clause) {
                for hit in &all.hits {
                    let score = *expected.get(&hit.id).unwrap_or_else(|| panic!("{what}: {}", hit.id));
                    assert!((hit.score - score).abs() <= 1e-4 * (1.0 + score.abs()), "{what}: {} {score}", hit.score);
                }
            }
            let few = fixture.search(json!({ "query": clause, "limit": 7, "explain": true, "facets": ["draft"] }));
            assert_eq!(few.total, all.total, "{what}");
            for (hit, same) in few.hits.iter().zip(&all.hits) {
                assert_eq!((&hit.id, hit.score), (&same.id, same.score), "{what}");
                let explain = hit.explain.as_ref().expect("asked for");
                assert_eq!(explain.value, hit.score, "{what}: {explain:?}");
            }
        }
    }
}

#[test]
fn errors_name_the_place() {
    let mut rng = fastrand::Rng::with_seed(1);
    let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", &[5]);
    let nested = |clause: Value| json!({ "bool": { "must": [{ "all": {} }, { "all": {} }, clause] } });
    for (clause, expected) in [
        (
            json!({ "range": { "field": "yeer", "gte": 1 } }),
            "query.bool.must[2].range.field: there is no field \"yeer\"",
        ),
        (json!({ "range": { "field": "body", "gte": 1 } }), "query.bool.must[2].range.field: \"body\" is a text field"),
        (
            json!({ "range": { "field": "year", "gte": "x" } }),
            "query.bool.must[2].range field \"year\": expected a number",
        ),
        (json!({ "range": { "field": "year" } }), "query.bool.must[2].range: one of gt"),
        (json!({ "match": { "field": "body" } }), "query.bool.must[2].match: \"text\" is missing"),
        (json!({ "match": { "field": "year", "text": "a" } }), "match.field: \"year\" is a number field"),
        (json!({ "match": { "field": "body", "text": "a", "fuzzy": 3 } }), "match.fuzzy: expected 0, 1, 2"),
        (
            json!({ "match": { "field": "body", "text": "a", "minShouldMatch": "x%" } }),
            "match.minShouldMatch: expected",
        ),
        (json!({ "wat": {} }), "query.bool.must[2].wat: unknown clause"),
        (json!({ "all": { "x": 1 } }), "query.bool.must[2].all: unknown key \"x\""),
        (json!({ "term": {}, "match": {} }), "query.bool.must[2]: 2 keys"),
        (json!({ "boost": { "query": { "all": {} }, "factor": -1 } }), "boost.factor: expected a number of at least 0"),
        (json!({ "regex": { "field": "body", "value": "(" } }), "query.bool.must[2].regex.value: "),
        (json!({ "function": { "field": "kind", "log1p": {} } }), "function.field: \"kind\" is a keyword field"),
        (json!({ "function": { "field": "year" } }), "query.bool.must[2].function: exactly one of"),
        (
            json!({ "function": { "field": "day", "decay": { "scale": "3 years" } } }),
            "decay.scale: expected milliseconds",
        ),
        (json!({ "terms": { "field": "id", "values": [true] } }), "query.bool.must[2].terms.values[0]: expected an id"),
        (json!({ "bool": { "must": [3] } }), "query.bool.must[2].bool.must[0]: expected a clause"),
    ] {
        let error = fixture.try_search(json!({ "query": nested(clause.clone()) })).expect_err("refused");
        assert_eq!(error.kind().code(), "invalid_argument");
        assert!(error.to_string().contains(expected), "{clause}: {error}");
    }
    let mut deep = json!({ "all": {} });
    for _ in 0..40 {
        deep = json!({ "constant": { "query": deep } });
    }
    assert!(fixture.try_search(json!({ "query": deep })).expect_err("deep").to_string().contains("deeper than 32"));
    let wide = json!({ "bool": { "should": vec![json!({ "all": {} }); 1024] } });
    assert!(fixture.try_search(json!({ "query": wide })).expect_err("wide").to_string().contains("more than 1024"));
}

#[test]
fn exclusions_alone_match_the_rest_even_where_they_exclude_nothing() {
    let mut rng = fastrand::Rng::with_seed(5);
    let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", &[40, 20]);
    let not = |clause: Value| json!({ "bool": { "mustNot": [clause] } });
    let nowhere = [
        json!({ "query": "-zzz", "syntax": "lucene" }),
        json!({ "query": not(json!({ "term": { "field": "body", "value": "zzz" } })) }),
        json!({ "query": not(json!({ "terms": { "field": "pages", "values": [] } })) }),
        json!({ "query": not(json!({ "range": { "field": "year", "gte": 5, "lt": 3 } })) }),
        json!({ "query": not(json!({ "none": {} })) }),
    ];
    for request in nowhere {
        assert_eq!(fixture.search(request.clone()).total as usize, fixture.docs.len(), "{request}");
    }
    let in_one = json!({ "query": not(json!({ "term": { "field": "id", "value": fixture.docs[0].id } })) });
    assert_eq!(fixture.search(in_one).total as usize, fixture.docs.len() - 1);
    assert_eq!(fixture.search(json!({ "query": { "bool": {} } })).total, 0);
}

#[test]
fn syntaxes_ids_and_highlights_work_inside_trees() {
    let mut rng = fastrand::Rng::with_seed(3);
    let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", &[80, 20]);
    let plain = fixture.search(json!({ "query": "+apple -fig", "syntax": "lucene", "limit": 100 }));
    let tree = fixture.search(json!({ "query": { "lucene": "+apple -fig" }, "limit": 100, "highlight": ["body"] }));
    assert!(plain.total > 0 && plain.total == tree.total);
    assert!(tree.hits.iter().all(|hit| !hit.highlights.is_empty()));
    let id = &plain.hits[0].id;
    let clause =
        json!({ "bool": { "must": { "plain": "apple" }, "mustNot": { "term": { "field": "id", "value": id } } } });
    assert_eq!(fixture.search(json!({ "query": clause })).total + 1, fixture.search(json!({ "query": "apple" })).total);
    let fuzzy = json!({ "match": { "field": "body", "text": "aple bananna", "operator": "and", "fuzzy": "auto" } });
    let exact = json!({ "match": { "field": "body", "text": "apple banana", "operator": "and" } });
    let (fuzzy, exact) = (fixture.search(json!({ "query": fuzzy })), fixture.search(json!({ "query": exact })));
    assert!(exact.total > 0 && fuzzy.total >= exact.total);
    for (name, value) in [("prefix", "app"), ("wildcard", "A?p*"), ("regex", "app(le|l)"), ("fuzzy", "aplle")] {
        let found = fixture.search(json!({ "query": { name: { "field": "body", "value": value } } }));
        assert_eq!(found.total, fixture.search(json!({ "query": "apple" })).total, "{name}");
    }
}

#[test]
fn documents_like_another_are_those_with_its_terms() {
    let mut rng = fastrand::Rng::with_seed(11);
    let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", &[90, 40]);
    for doc in fixture.docs.iter().take(12) {
        let text = doc.json["body"].as_str().expect("a text");
        let more = json!({ "like": doc.id, "fields": ["body"], "minDocFreq": 1, "minShouldMatch": 1 });
        let found = fixture.search(json!({ "query": { "moreLikeThis": more }, "limit": 200, "explain": true }));
        let distinct: std::collections::BTreeSet<&str> = text.split(' ').collect();
        let text = distinct.into_iter().collect::<Vec<_>>().join(" ");
        let expected = fixture.search(json!({ "limit": 200, "query": { "bool": {
            "must": { "match": { "field": "body", "text": text } },
            "mustNot": { "term": { "field": "id", "value": doc.id } },
        } } }));
        assert_eq!(found.total, expected.total);
        assert!(found.hits.iter().all(|hit| hit.id != doc.id));
        for (a, b) in found.hits.iter().zip(&expected.hits) {
            assert!((a.score - b.score).abs() < 1e-5 && a.explain.as_ref().is_some_and(|why| why.value == a.score));
        }
    }
    let text = json!({ "text": "apple apple banana", "fields": ["body"], "maxQueryTerms": 1, "minDocFreq": 1 });
    let one = fixture.search(json!({ "query": { "moreLikeThis": text } }));
    assert_eq!(one.total, fixture.search(json!({ "query": "apple" })).total, "the more frequent term");
    let rare = json!({ "text": "apple", "fields": ["body"], "maxDocFreq": 1 });
    assert_eq!(fixture.search(json!({ "query": { "moreLikeThis": rare } })).total, 0);
    let absent = json!({ "query": { "moreLikeThis": { "like": "nobody" } } });
    assert_eq!(fixture.try_search(absent).expect_err("absent").kind().code(), "not_found");
    let both = json!({ "query": { "moreLikeThis": { "like": 1, "text": "x" } } });
    assert!(fixture.try_search(both).expect_err("both").to_string().contains("query.moreLikeThis: either"));
}

#[test]
fn phrases_may_end_in_a_word_that_is_being_typed() {
    let mut rng = fastrand::Rng::with_seed(12);
    let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", &[150, 60]);
    let total = |clause: Value| fixture.search(json!({ "query": clause, "highlight": ["body"] })).total;
    let phrase = |text: &str| total(json!({ "phrase": { "field": "body", "text": text } }));
    let begun = |text: &str| total(json!({ "phrasePrefix": { "field": "body", "text": text } }));
    assert!(begun("apple ban") > 0);
    assert_eq!(begun("apple ban"), phrase("apple banana"));
    assert_eq!(begun("apple banana "), phrase("apple banana"));
    assert_eq!(begun("appl"), phrase("apple"));
    // Words that begin alike: grape; hazel; both ends of one phrase are counted once.
    let union = json!({ "bool": { "should": [
        { "phrase": { "field": "body", "text": "cherry elder" } }, { "phrase": { "field": "body", "text": "cherry elder" } },
    ] } });
    assert_eq!(begun("cherry e"), total(union));
    assert_eq!(begun("cherry zz"), 0);
}

#[test]
fn damaged_trees_are_refused_and_never_panic() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let fixture = fixture(MemoryStorage::new(), &mut rng, "dot", &[6]);
    const PARTS: [&str; 12] =
        ["null", "-1", "1e400", "{}", "[]", "\"\"", "true", "\"now\"", "1e308", "\"-200%\"", "[[1]]", "{\"all\":{}}"];
    let mut refused = 0;
    for _ in 0..400 {
        let mut text = random_clause(&mut rng, 2).to_string();
        for _ in 0..rng.usize(1..4) {
            let values: Vec<usize> = text.match_indices(':').map(|(at, _)| at + 1).collect();
            let Some(&from) = values.get(rng.usize(0..values.len().max(1))) else { break };
            let to = text[from..].find([',', '}', ']']).map_or(text.len(), |len| from + len);
            text.replace_range(from..to, PARTS[rng.usize(0..PARTS.len())]);
        }
        let Ok(clause) = serde_json::from_str::<Value>(&text) else { continue };
        if let Err(error) = fixture.try_search(json!({ "query": clause })) {
            assert_eq!(error.kind().code(), "invalid_argument", "seed {seed}: {text}: {error}");
            assert!(error.to_string().starts_with("query"), "seed {seed}: {text}: {error}");
            refused += 1;
        }
    }
    assert!(refused > 0);
}
