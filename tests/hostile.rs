//! Requests of every kind with odd values in odd places: each is answered or refused with `invalid_argument`, never by a
//! panic; what is answered holds together, and is the same whatever the index lived through.
#![cfg(not(target_arch = "wasm32"))]

use std::time::Instant;

use rangefind::{
    ErrorKind,
    codec::PostingsCodec,
    engine::{Cancel, DocumentBatch, Index, MergeOptions, OpenOptions, SearchRequest, SearchResponse, no_progress},
    ids::DocId,
    platform::block_on,
    query::request::Explanation,
    schema::Schema,
    storage::MemoryStorage,
};
use serde_json::{Value, json};

const WORDS: [&str; 24] = [
    "range",
    "find",
    "ranges",
    "finder",
    "the",
    "of",
    "a",
    "é",
    "e\u{301}",
    "日本語",
    "東京都に",
    "한국어",
    "ไทยคำ",
    "𝄞",
    "👩‍👩‍👧",
    "straße",
    "ﬁnd",
    "İstanbul",
    "camelCaseName",
    "snake_case",
    "a\u{300}\u{301}\u{302}b",
    "x1y2",
    "\u{200d}",
    "שלום",
];

fn schema() -> Schema {
    Schema::from_json(&json!({
        "title": { "type": "text", "boost": 2 }, "body": "text",
        "flat": { "type": "text", "positions": false },
        "code": { "type": "text", "analyzer": "code" },
        "grams": { "type": "text", "analyzer": { "tokenizer": { "type": "ngram", "min": 1, "max": 3 }, "filters": ["lowercase"] } },
        "tag": "keyword", "year": "integer", "price": "number", "day": "date", "done": "bool",
        "embedding": { "type": "vector", "dims": 3, "metric": "l2" }, "extra": "json",
    }))
    .unwrap()
}

fn one<T: Clone>(rng: &mut fastrand::Rng, list: &[T]) -> T {
    list[rng.usize(0..list.len())].clone()
}

fn text(rng: &mut fastrand::Rng, most: usize) -> String {
    let separators = [" ", " ", " ", "\n", ", ", "-", ""];
    (0..rng.usize(0..=most)).map(|_| [rng.choice(WORDS).unwrap(), *rng.choice(&separators).unwrap()].concat()).collect()
}

fn integer(rng: &mut fastrand::Rng) -> i64 {
    match rng.u8(0..8) {
        0 => i64::MIN,
        1 => i64::MAX,
        2 => rng.i64(..),
        _ => rng.i64(-3..9),
    }
}

fn number(rng: &mut fastrand::Rng) -> f64 {
    match rng.u8(0..9) {
        0 => f64::MAX,
        1 => f64::MIN,
        2 => 5e-324,
        3 => -0.0,
        _ => f64::from(rng.i32(-9..9)) / 2.0,
    }
}

/// Milliseconds that dates can be.
fn day(rng: &mut fastrand::Rng) -> i64 {
    match rng.u8(0..8) {
        0 => -62_135_596_800_000,
        1 => 253_402_300_799_999,
        _ => rng.i64(-9..9) * 86_400_000,
    }
}

fn document(rng: &mut fastrand::Rng, id: i64) -> Value {
    let mut doc = json!({ "id": id });
    for (field, most) in [("title", 3), ("body", 20), ("flat", 5), ("code", 4), ("grams", 2)] {
        if rng.u8(0..5) > 0 {
            doc[field] =
                if rng.u8(0..4) == 0 { json!([text(rng, most), text(rng, most)]) } else { json!(text(rng, most)) };
        }
    }
    let mut more = |field: &str, value: &mut dyn FnMut(&mut fastrand::Rng) -> Value| match rng.u8(0..4) {
        0 => {}
        1 => doc[field] = (0..rng.usize(0..4)).map(|_| value(rng)).collect(),
        _ => doc[field] = value(rng),
    };
    more("tag", &mut |rng| json!(one(rng, &["", "x", "日", "zz", "range", "a b"])));
    more("year", &mut |rng| json!(integer(rng)));
    more("price", &mut |rng| json!(number(rng)));
    more("day", &mut |rng| json!(day(rng)));
    if rng.bool() {
        doc["done"] = json!(rng.bool());
        doc["embedding"] = json!([rng.i8(-4..4), rng.i8(-4..4), rng.i8(-4..4)]);
    }
    doc
}

/// A value that nobody asks with.
fn odd(rng: &mut fastrand::Rng) -> Value {
    match rng.u8(0..22) {
        0 => json!(null),
        1 => json!(-1),
        2 => json!(1e300),
        3 => json!(f64::MAX),
        4 => json!(u64::MAX),
        5 => json!(i64::MIN),
        6 => json!(1e-320),
        7 => json!(""),
        8 => json!([]),
        9 => json!({}),
        10 => json!(true),
        11 => json!("-100%"),
        12 => json!("200%"),
        13 => json!("2021-13-45"),
        14 => json!("\u{0}\u{ffff}"),
        15 => json!(0),
        16 => json!(4_294_967_295u32),
        17 => json!(["range", 3, null]),
        18 => json!(text(rng, 5)),
        19 => json!("-50%"),
        20 => json!(0.5),
        _ => json!("x".repeat(rng.usize(0..70_000))),
    }
}

fn field(rng: &mut fastrand::Rng) -> &'static str {
    const FIELDS: [&str; 12] =
        ["title", "body", "flat", "code", "grams", "tag", "year", "price", "day", "done", "embedding", "id"];
    FIELDS[if rng.u8(0..3) > 0 { rng.usize(0..6) } else { rng.usize(0..FIELDS.len()) }]
}

fn garbage(rng: &mut fastrand::Rng) -> String {
    const PIECES: [&str; 44] = [
        "+",
        "-",
        "\"",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        " TO ",
        "*",
        "?",
        "~",
        "~1",
        "~2",
        "^",
        "^2",
        "^1e39",
        "/",
        "/(a|b)*/",
        "\\",
        ":",
        "title:",
        "year:",
        "price:>=",
        "day:<",
        "_exists_:",
        " AND ",
        " OR ",
        " NOT ",
        " && ",
        "!",
        "[9 TO 1]",
        "[* TO *]",
        "?*?*?*",
        "*",
        "range",
        "fi*",
        "日本",
        "👩‍👩‍👧",
        "nosuch:x",
        "~99999999999",
        "\"a b\"~4294967296",
        "/.*.*.*x{9}/",
    ];
    (0..rng.usize(1..14))
        .map(|_| if rng.u8(0..4) == 0 { WORDS[rng.usize(0..WORDS.len())] } else { PIECES[rng.usize(0..PIECES.len())] })
        .collect()
}

fn clause(rng: &mut fastrand::Rng, depth: usize) -> Value {
    let inner = |rng: &mut fastrand::Rng| clause(rng, depth.saturating_sub(1));
    let some = |rng: &mut fastrand::Rng, most: usize| (0..rng.usize(0..=most)).map(|_| inner(rng)).collect::<Vec<_>>();
    let word = |rng: &mut fastrand::Rng| WORDS[rng.usize(0..WORDS.len())];
    match if depth == 0 { rng.u8(0..16) } else { rng.u8(0..30) } {
        0 => {
            json!({ "match": { "field": field(rng), "text": text(rng, 4), "minShouldMatch": one(rng, &["-1", "150%", "50%", "-30%", "3"]) } })
        }
        1 => json!({ "match": { "text": text(rng, 4), "operator": "and", "fuzzy": "auto", "boost": rng.f64() * 3.0 } }),
        2 => json!({ "phrase": { "field": field(rng), "text": text(rng, 4), "slop": one(rng, &[0, 1, 3, 10_000]) } }),
        3 => {
            json!({ "phrasePrefix": { "field": field(rng), "text": text(rng, 3), "slop": rng.u32(0..3), "maxExpansions": rng.u32(1..5) } })
        }
        4 => {
            json!({ "prefix": { "field": field(rng), "value": word(rng).chars().take(rng.usize(0..3)).collect::<String>() } })
        }
        5 => {
            json!({ "wildcard": { "field": field(rng), "value": one(rng, &["*", "?*?*?*", "", "f?n*", "*e\u{301}*", "?", "**??**"]) } })
        }
        6 => {
            json!({ "regex": { "field": field(rng), "value": one(rng, &[".*", "(a|b|c)*f.{0,9}", "", "[", "r(a|an)*.*s?", ".{2,3}", "(((a{9}){9}){9}){9}"]) } })
        }
        7 => {
            json!({ "fuzzy": { "field": field(rng), "value": word(rng), "maxEdits": rng.u32(0..3), "prefixLength": rng.u32(0..4) } })
        }
        8 => json!({ "range": { "field": field(rng), "gte": integer(rng), "lt": integer(rng) } }),
        9 => json!({ "range": { "field": one(rng, &["price", "day"]), "gt": number(rng), "lte": number(rng) } }),
        10 => json!({ "terms": { "field": "year", "values": [integer(rng), integer(rng)] } }),
        11 => json!({ "exists": { "field": field(rng) } }),
        12 => {
            json!({ "moreLikeThis": { "like": rng.i64(-1..60), "minDocFreq": rng.u32(0..3), "maxQueryTerms": rng.u32(1..40), "minShouldMatch": one(rng, &["-1", "30%", "0"]) } })
        }
        13 => json!({ "lucene": garbage(rng) }),
        14 => json!({ "plain": garbage(rng) }),
        15 => {
            let values = [json!(word(rng)), json!(1), json!(true)];
            json!({ "term": { "field": field(rng), "value": one(rng, &values) } })
        }
        16 => json!({ "constant": { "query": inner(rng), "score": rng.f64() } }),
        17 => json!({ "boost": { "query": inner(rng), "factor": one(rng, &[0.0, 1e-30, 0.5, 3e38, 1e9]) } }),
        18 => json!({ "disMax": { "queries": some(rng, 3), "tieBreaker": rng.f64() } }),
        19..23 => {
            let (field, how) = match rng.u8(0..4) {
                0 => ("day", json!({ "decay": { "scale": "1d", "origin": day(rng), "shape": "gauss" } })),
                1 => ("price", json!({ "linear": { "factor": one(rng, &[0.0, 1.0, 1e300]) } })),
                2 => ("year", json!({ "log1p": {} })),
                _ => ("year", json!({ "saturation": { "pivot": 1e-300 } })),
            };
            let mut body = how;
            body["field"] = json!(field);
            body["query"] = inner(rng);
            body["weight"] = json!(one(rng, &[0.0, 1.0, 1e38, 1e300]));
            body["boostMode"] = json!(one(rng, &["multiply", "sum", "replace"]));
            json!({ "function": body })
        }
        _ => {
            json!({ "bool": { "must": some(rng, 2), "should": some(rng, 4), "mustNot": some(rng, 1), "filter": some(rng, 1),
            "minShouldMatch": one(rng, &[json!(0), json!(2), json!(-1), json!("200%"), json!("60%")]) } })
        }
    }
}

fn request(rng: &mut fastrand::Rng) -> Value {
    let depth = rng.usize(0..4);
    let mut request = match rng.u8(0..6) {
        0 => json!({ "query": garbage(rng), "syntax": "lucene" }),
        1 => {
            json!({ "query": garbage(rng), "prefix": rng.bool(), "fuzzy": rng.u8(0..3), "match": one(rng, &["any", "all"]) })
        }
        2 => json!({}),
        _ => json!({ "query": clause(rng, depth) }),
    };
    let more = request.as_object_mut().unwrap();
    let mut add = |key: &str, value: Value| more.insert(key.to_owned(), value);
    if rng.u8(0..3) == 0 {
        let key = one(rng, &["year", "price", "tag", "day", "done"]);
        add(
            "sort",
            json!([{ "field": key, "order": one(rng, &["asc", "desc"]), "missing": one(rng, &["first", "last"]) }]),
        );
    }
    if rng.u8(0..3) == 0 {
        let facet = match rng.u8(0..6) {
            0 => json!({ "field": "year", "interval": one(rng, &[1i64, 3, 1 << 40]), "limit": rng.u32(0..20) }),
            1 => json!({ "field": "price", "interval": one(rng, &[1e-300, 1.0, 1e308]) }),
            2 => json!({ "field": "day", "interval": one(rng, &["minute", "month", "year", "week"]) }),
            3 => {
                json!({ "field": "price", "ranges": [{ "from": 3, "to": -3 }, { "from": -1, "to": 2 }, { "to": 1e308 }, {}] })
            }
            4 => json!({ "field": "tag", "prefix": "" }),
            _ => json!("tag"),
        };
        add("facets", json!([facet]));
    }
    if rng.u8(0..5) == 0 {
        add("collapse", json!({ "field": one(rng, &["tag", "year", "price", "done"]), "innerHits": rng.u32(0..3) }));
    }
    if rng.u8(0..5) == 0 {
        add("filter", json!({ "year": { "gte": integer(rng) }, "or": [{ "done": true }, { "tag": ["x", ""] }] }));
    }
    if rng.u8(0..6) == 0 {
        add("vector", json!({ "field": "embedding", "value": [1, 2, rng.i8(..)], "k": rng.u32(1..80) }));
    }
    request
}

/// Puts an odd value, or an odd key, somewhere.
fn spoil(rng: &mut fastrand::Rng, value: &mut Value) {
    match value {
        Value::Object(map) if !map.is_empty() && rng.u8(0..6) > 0 => {
            let nth = rng.usize(0..map.len());
            spoil(rng, map.values_mut().nth(nth).unwrap());
        }
        Value::Array(list) if !list.is_empty() && rng.u8(0..6) > 0 => {
            let nth = rng.usize(0..list.len());
            spoil(rng, &mut list[nth]);
        }
        Value::Object(map) if rng.bool() => drop(map.insert("odd".into(), odd(rng))),
        other => *other = odd(rng),
    }
}

fn agrees(node: &Explanation) -> bool {
    node.value.is_finite() && node.details.iter().all(agrees)
}

fn assert_sound(response: &SearchResponse, request: &Value, what: &str) {
    let by_score = request.get("sort").is_none();
    for pair in response.hits.windows(2) {
        assert!(!by_score || pair[0].score >= pair[1].score, "{what}: {} before {}", pair[0].score, pair[1].score);
    }
    assert!(
        response.total >= response.hits.len() as u64 || request.get("vector").is_some(),
        "{what}: {}",
        response.total
    );
    for hit in response.hits.iter().flat_map(|hit| std::iter::once(hit).chain(&hit.inner)) {
        assert!(hit.score.is_finite(), "{what}: {} of {}", hit.score, hit.id);
        if let Some(explain) = &hit.explain {
            let near = (explain.value - hit.score).abs() <= 1e-4 * (1.0 + hit.score.abs());
            assert!(near && agrees(explain), "{what}: {} is explained as {explain:#?}", hit.score);
        }
        for one in &hit.highlights {
            let texts = match &hit.doc[&one.field] {
                Value::Array(list) => list[one.value_ix as usize].clone(),
                single => single.clone(),
            };
            for (text, ranges) in [(texts.as_str().unwrap(), &one.ranges), (&one.snippet, &one.snippet_ranges)] {
                let units: Vec<u16> = text.encode_utf16().collect();
                let mut last = 0;
                for &(start, end) in ranges {
                    assert!(
                        last <= start && start < end && end as usize <= units.len(),
                        "{what}: {ranges:?} of {text:?}"
                    );
                    String::from_utf16(&units[start as usize..end as usize]).expect("whole characters");
                    last = end;
                }
            }
        }
    }
}

async fn ask(index: &Index<MemoryStorage>, request: &Value, what: &str) -> Option<SearchResponse> {
    let parsed: SearchRequest = serde_json::from_value(request.clone()).ok()?;
    let start = Instant::now();
    let answer = index.search(&parsed, &Cancel::new()).await;
    assert!(start.elapsed().as_secs() < 10, "{what}: took {:?}", start.elapsed());
    match answer {
        Ok(response) => {
            assert_sound(&response, request, what);
            Some(response)
        }
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::NotFound), "{what}: {error}");
            None
        }
    }
}

fn ids(response: &SearchResponse) -> Vec<DocId> {
    response.hits.iter().map(|hit| hit.id.clone()).collect()
}

/// An index that saw everything, and one that was built at once from what is left.
async fn two(rng: &mut fastrand::Rng, count: i64) -> [Index<MemoryStorage>; 2] {
    let options = || OpenOptions { schema: Some(schema()), auto_merge: false, ..OpenOptions::default() };
    let storage = MemoryStorage::new();
    let mut docs: Vec<Value> = Vec::new();
    for (part, codec) in [PostingsCodec::Fast, PostingsCodec::Compact, PostingsCodec::Fast].into_iter().enumerate() {
        let open = OpenOptions { codec: Some(codec), ..options() };
        let index = Index::open(storage.clone(), open).await.unwrap();
        let first = part as i64 * count / 3;
        let added: Vec<Value> = (first..first + count / 3).map(|id| document(rng, id)).collect();
        docs.extend(added.iter().cloned());
        index.add(DocumentBatch::from_values(added)).await.unwrap();
        index.commit().await.unwrap();
        let gone: Vec<DocId> = (0..count / 8).map(|_| DocId::from(rng.i64(0..first + count / 3))).collect();
        index.delete(&gone).await.unwrap();
        docs.retain(|doc| !gone.contains(&DocId::from(doc["id"].as_i64().unwrap())));
        index.commit().await.unwrap();
        if part == 1 && rng.bool() {
            let merge = MergeOptions { reorder: rng.bool(), memory_bytes: 2 << 20, codec: None, max_segments: Some(1) };
            index.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
        }
        index.close().await.unwrap();
    }
    let lived = Index::open(storage, options()).await.unwrap();
    let merge = MergeOptions {
        reorder: rng.bool(),
        memory_bytes: 2 << 20,
        codec: Some(PostingsCodec::Compact),
        max_segments: Some(1),
    };
    lived.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
    let report = lived.check(&no_progress, &Cancel::new()).await.unwrap();
    assert!(report.ok, "{:?}", report.problems);
    let fresh = Index::open(MemoryStorage::new(), options()).await.unwrap();
    fresh.add(DocumentBatch::from_values(docs)).await.unwrap();
    fresh.commit().await.unwrap();
    assert_eq!(lived.info().unwrap().num_docs, fresh.info().unwrap().num_docs);
    [lived, fresh]
}

#[test]
fn odd_requests_are_answered_or_refused() {
    let seed = std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let rounds = std::env::var("ROUNDS").map_or(120, |rounds| rounds.parse().unwrap());
    block_on(async {
        let [lived, fresh] = two(&mut rng, 90).await;
        let mut answered = 0;
        for _ in 0..rounds {
            let mut request = request(&mut rng);
            if rng.u8(0..3) == 0 {
                spoil(&mut rng, &mut request);
            }
            if !request.is_object() {
                continue;
            }
            let shown: String = request.to_string().chars().take(3000).collect();
            let what = format!("seed {seed}: {shown}");
            let mut all = request.clone();
            all["limit"] = json!(200);
            all["select"] = json!([]);
            let Some(whole) = ask(&fresh, &all, &what).await else { continue };
            answered += 1;
            if request.get("collapse").is_none() && request.get("vector").is_none() && request.get("offset").is_none() {
                assert_eq!(whole.hits.len() as u64, whole.total, "{what}: hits and total");
            }
            // Explained, marked, and the same in front as the whole.
            let mut few = request.clone();
            few["limit"] = json!(5);
            few["explain"] = json!(true);
            few["highlight"] = json!(["title", "body", "flat", "code", "grams", "tag"]);
            let head = ask(&fresh, &few, &what).await.unwrap_or_else(|| panic!("{what}: refused with explain"));
            if request.get("vector").is_none() {
                assert_eq!(ids(&head), ids(&whole)[..whole.hits.len().min(5)], "{what}");
                assert_eq!((head.total, &head.facets), (whole.total, &whole.facets), "{what}");
            }
            // Pages make the whole.
            let (mut pages, mut after) = (Vec::new(), None);
            few.as_object_mut().unwrap().remove("explain");
            few.as_object_mut().unwrap().remove("highlight");
            few["limit"] = json!(17);
            while request.get("vector").is_none() && request.get("offset").is_none() {
                if let Some(after) = &after {
                    few["after"] = json!(after);
                }
                let page = ask(&fresh, &few, &what).await.unwrap_or_else(|| panic!("{what}: no next page"));
                pages.extend(ids(&page));
                after = page.cursor;
                if after.is_none() || page.hits.is_empty() {
                    assert_eq!(pages, ids(&whole), "{what}");
                    break;
                }
            }
            // The other index says the same, but for the order of equals.
            let other = ask(&lived, &all, &what).await.unwrap_or_else(|| panic!("{what}: refused by the other"));
            if request.get("vector").is_none() {
                assert_eq!((other.total, &other.facets), (whole.total, &whole.facets), "{what}");
                if request.get("collapse").is_none() {
                    let sorted = |response: &SearchResponse| {
                        let mut hits: Vec<(String, f64)> =
                            response.hits.iter().map(|hit| (hit.id.to_string(), hit.score)).collect();
                        hits.sort_by(|a, b| a.0.cmp(&b.0));
                        hits
                    };
                    for (a, b) in sorted(&whole).iter().zip(&sorted(&other)) {
                        assert!(a.0 == b.0 && (a.1 - b.1).abs() <= 1e-4 * (1.0 + a.1.abs()), "{what}: {a:?} {b:?}");
                    }
                }
            }
        }
        assert!(answered > rounds / 4, "seed {seed}: {answered} of {rounds}");
    });
}
