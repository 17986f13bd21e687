//! Texts in many languages find what a reader types, without any option and with the analyzer of the language; parts of
//! words, identifiers, synonyms and the caller's own analyzers do through the engine.
#![cfg(not(target_arch = "wasm32"))]

use std::{collections::BTreeMap, sync::Arc};

use rangefind::{
    analysis::{CustomAnalyzer, CustomAnalyzers, CustomToken},
    engine::{Cancel, DocumentBatch, Index, OpenMode, OpenOptions, Schema, SearchRequest, no_progress},
    error::ErrorKind,
    platform::block_on,
    query::request::MatchMode,
    schema::RefusalCode,
    storage::MemoryStorage,
};
use serde_json::{Value, json};

/// Articles of the Universal Declaration of Human Rights: `tests/data/languages/README.md`.
fn articles() -> BTreeMap<String, Vec<Value>> {
    let mut by_language: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in include_str!("data/languages/udhr.jsonl").lines() {
        let doc: Value = serde_json::from_str(line).unwrap();
        by_language.entry(doc["lang"].as_str().unwrap().to_owned()).or_default().push(doc);
    }
    assert_eq!(by_language.len(), 17);
    by_language
}

fn index(schema: &Value, docs: Vec<Value>) -> Index<MemoryStorage> {
    let schema = Schema::from_json(schema).unwrap();
    let options = OpenOptions { schema: Some(schema), ..OpenOptions::default() };
    block_on(async {
        let index = Index::open(MemoryStorage::new(), options).await.unwrap();
        let report = index.add(DocumentBatch::from_values(docs)).await.unwrap();
        assert!(report.refused.is_empty(), "{:?}", report.refused);
        index.commit().await.unwrap();
        let check = index.check(&no_progress, &Cancel::new()).await.unwrap();
        assert!(check.ok, "{:?}", check.problems);
        index
    })
}

fn search(index: &Index<MemoryStorage>, request: SearchRequest) -> Vec<String> {
    let found = block_on(index.search(&request, &Cancel::new())).unwrap();
    found.hits.iter().map(|hit| hit.id.to_string()).collect()
}

fn ask(query: &str) -> SearchRequest {
    SearchRequest { query: Some(query.into()), ..SearchRequest::default() }
}

/// Language, what a reader types, the article that is meant (its number and one, as in the ids).
const ASKED: [(&str, &str, u32); 40] = [
    ("zh-Hans", "教育", 27),
    ("zh-Hans", "酷刑", 6),
    ("zh-Hans", "宗教自由", 19),
    ("zh-Hant", "教育", 27),
    ("zh-Hant", "婚姻", 17),
    ("ja", "教育", 27),
    ("ja", "拷問", 6),
    ("ja", "婚姻", 17),
    ("ko", "교육", 27),
    ("ko", "고문", 6),
    ("ko", "종교", 19),
    ("th", "การศึกษา", 27),
    ("th", "ทรมาน", 6),
    ("th", "ครอบครัว", 17),
    ("lo", "ສຶກສາ", 27),
    ("lo", "ທໍລະມານ", 6),
    ("km", "ការអប់រំ", 27),
    ("km", "ទារុណកម្ម", 6),
    ("my", "ပညာသင်", 27),
    ("my", "နှိပ်စက်", 6),
    ("ar", "التعليم", 27),
    ("ar", "الزواج", 17),
    ("hi", "शिक्षा", 27),
    ("hi", "विवाह", 17),
    ("de", "Bildung", 27),
    ("de", "folter", 6),
    ("de", "Ehe", 17),
    ("fr", "inhumains", 6),
    ("fr", "torture", 6),
    ("tr", "öğrenim", 27),
    ("tr", "evlilik", 17),
    ("ru", "образование", 27),
    ("el", "εκπαιδευση", 27),
    ("el", "ΒΑΣΑΝΙΣΤΗΡΙΑ", 6),
    ("vi", "giáo dục", 27),
    ("vi", "giao duc", 27),
    ("vi", "tra tấn", 6),
    ("es", "educacion", 27),
    ("es", "tortura torturas", 6),
    ("es", "religión", 19),
];

#[test]
fn readers_find_what_they_type_by_default() {
    let docs: Vec<Value> = articles().into_values().flatten().collect();
    // All languages in one field of one index, as a site may have them.
    let mixed = index(&json!({ "lang": "keyword", "text": "text" }), docs);
    for (language, query, article) in ASKED {
        let filter = Some(json!({ "lang": language }));
        let found = search(&mixed, SearchRequest { filter, ..ask(query) });
        assert_eq!(found.first(), Some(&format!("{language}-{article}")), "{query}: {found:?}");
    }
}

#[test]
fn languages_find_other_forms_of_a_word() {
    let articles = articles();
    for (language, query, article) in [
        ("de", "grausame Strafen", 6),
        ("de", "heiraten", 17),
        ("fr", "education", 27),
        ("fr", "une peine cruelle", 6),
        ("es", "cruel trato", 6),
        ("ru", "пытка", 6),
        ("ru", "бесплатный", 27),
        ("el", "απάνθρωπες ποινές", 6),
        ("tr", "ceza", 6),
        ("ar", "تعليم", 27),
        ("ar", "تعذيب", 6),
        ("hi", "विवाहों", 17),
        ("zh-Hans", "教育权利", 27),
        ("vi", "giáo dục", 27),
    ] {
        let schema = json!({ "lang": "keyword", "text": { "type": "text", "analyzer": language } });
        let one = index(&schema, articles[language].clone());
        let found = search(&one, ask(query));
        assert_eq!(found.first(), Some(&format!("{language}-{article}")), "{query}: {found:?}");
    }
}

#[test]
fn scripts_may_be_mixed_in_one_text() {
    let docs = vec![
        json!({ "id": "a", "text": "Rustで書かれた検索エンジン rangefind は速い" }),
        json!({ "id": "b", "text": "认证系统使用JWT令牌, 검색 엔진 Türkiye" }),
        json!({ "id": "c", "text": "ระบบค้นหา search ﾊﾞﾝｺｸ" }),
    ];
    let index = index(&json!({ "text": "text" }), docs);
    for (query, id) in [
        ("検索", "a"),
        ("rust", "a"),
        ("认证", "b"),
        ("令牌", "b"),
        ("jwt", "b"),
        ("엔진", "b"),
        ("turkiye", "b"),
        ("ค้นหา", "c"),
        ("バンコク", "c"),
        ("\"使用JWT\"", "b"),
    ] {
        assert_eq!(search(&index, ask(query)), [id], "{query}");
    }
}

#[test]
fn parts_of_words_are_found_as_they_are_typed() {
    let schema = json!({
        "name": { "type": "text", "analyzer": "edgeNgram" },
        "inner": { "type": "text", "analyzer": { "tokenizer": { "type": "ngram", "min": 3, "max": 3 }, "filters": ["fold"] } },
    });
    let docs = vec![
        json!({ "id": "a", "name": "Internationalization", "inner": "Internationalization" }),
        json!({ "id": "b", "name": "Internet Café", "inner": "Internet Café" }),
        json!({ "id": "c", "name": "Interior", "inner": "Interior" }),
    ];
    let index = index(&schema, docs);
    let of = |field: &str, query: &str| {
        let matching = MatchMode::All;
        let mut ids = search(&index, SearchRequest { fields: Some(vec![field.to_owned()]), matching, ..ask(query) });
        ids.sort();
        ids.concat()
    };
    assert_eq!(of("name", "inter"), "abc");
    assert_eq!(of("name", "internet"), "b");
    assert_eq!(of("name", "caf inter"), "b");
    assert_eq!(of("name", "internationalizat"), "a");
    assert_eq!(of("name", "\"internet caf\""), "b");
    assert_eq!(of("name", "net"), "");
    assert_eq!(of("inner", "terna"), "a");
    assert_eq!(of("inner", "terne"), "b");
    assert_eq!(of("inner", "rior"), "c");
    // Shorter than the parts: a beginning of them.
    assert_eq!(of("inner", "af"), "b");
    let highlight = vec!["name".to_owned()];
    let fields = Some(vec!["name".to_owned()]);
    let request = SearchRequest { highlight, fields, ..ask("interne") };
    let found = block_on(index.search(&request, &Cancel::new())).unwrap();
    let marks = &found.hits[0].highlights;
    assert_eq!(marks[0].ranges, [(0, 7)], "what was typed is marked");
}

#[test]
fn identifiers_are_found_by_their_parts_and_whole() {
    let docs = vec![
        json!({ "id": "a", "text": "fn getUserName(id: u64) in src/users/name.rs" }),
        json!({ "id": "b", "text": "get_user_name; user of a name" }),
        json!({ "id": "c", "text": "name the user" }),
    ];
    let index = index(&json!({ "text": { "type": "text", "analyzer": "code" } }), docs);
    let of = |query: &str| {
        let mut ids = search(&index, SearchRequest { matching: MatchMode::All, ..ask(query) });
        ids.sort();
        ids.concat()
    };
    assert_eq!(of("getusername"), "ab");
    assert_eq!(of("get-user-name"), "ab");
    assert_eq!(of("\"user name\""), "ab");
    assert_eq!(of("name user"), "abc");
    assert_eq!(of("src/users/name.rs"), "a");
    let any = search(&index, ask("getUserName"));
    assert_eq!(any.len(), 3);
    assert_eq!(any[2], "c", "whole identifiers come first");
}

#[test]
fn synonyms_stand_for_each_other_in_queries_or_in_the_index() {
    for at in ["query", "index"] {
        let rules = ["ny, new york, big apple", "car, automobile", "colour => color"];
        let filters = json!(["fold", { "stem": "en" }, { "synonyms": { "rules": rules, "at": at } }]);
        let schema = json!({ "text": { "type": "text", "analyzer": { "tokenizer": "standard", "filters": filters } } });
        let docs = vec![
            json!({ "id": "a", "text": "Cars in New York today" }),
            json!({ "id": "b", "text": "An automobile in NY today" }),
            json!({ "id": "c", "text": "new car, old york, color" }),
        ];
        let index = index(&schema, docs);
        let of = |query: &str| {
            let mut ids = search(&index, SearchRequest { matching: MatchMode::All, ..ask(query) });
            ids.sort();
            ids.concat()
        };
        assert_eq!(of("ny"), "ab", "{at}");
        assert_eq!(of("new york"), if at == "query" { "ab" } else { "abc" }, "{at}");
        assert_eq!(of("big apple"), "ab", "{at}");
        assert_eq!(of("automobiles"), "abc", "{at}");
        assert_eq!(of("colours"), "c", "{at}");
        assert_eq!(of("\"in ny\""), "ab", "{at}");
        assert_eq!(of("\"in new york\""), "ab", "{at}");
        assert_eq!(of("ny car"), "ab", "{at}");
    }
}

/// Terms are the words between commas.
#[derive(Debug)]
struct Commas;

impl CustomAnalyzer for Commas {
    fn analyze(&self, text: &str) -> Result<Vec<CustomToken>, String> {
        if text.contains("poison") {
            return Err("poison".to_owned());
        }
        if text.contains("nonsense") {
            return Ok(vec![CustomToken { term: "x".to_owned(), position: 0, start: 5, end: 1 }]);
        }
        Ok(CustomToken::in_order(text, text.split(',').map(|word| word.trim().to_lowercase())))
    }
}

#[test]
fn custom_analyzers_are_recorded_by_name_and_refuse_what_they_cannot_read() {
    block_on(async {
        let storage = MemoryStorage::new();
        let schema = Schema::from_json(&json!({ "text": { "type": "text", "analyzer": "commas" }, "tag": "keyword" }));
        let mut analyzers = CustomAnalyzers::default();
        analyzers.insert("commas", Arc::new(Commas)).unwrap();
        assert!(analyzers.insert("german", Arc::new(Commas)).is_err());
        let schema = Some(schema.unwrap());
        let options = OpenOptions { schema, analyzers: analyzers.clone(), ..OpenOptions::default() };
        let index = Index::open(storage.clone(), options).await.unwrap();
        let docs = ["Red Wine, white wine", "poison", "nonsense!", "white wine", ""];
        let rows = docs.iter().enumerate().map(|(id, text)| json!({ "id": id, "text": text, "tag": "t" }));
        let report = index.add(DocumentBatch::from_values(rows.collect())).await.unwrap();
        // An empty text has an empty term.
        let refused: Vec<_> = report.refused.iter().map(|refusal| (refusal.row, refusal.code)).collect();
        let failed = RefusalCode::AnalyzerFailed;
        assert_eq!(refused, [(1, failed), (2, failed), (4, failed)]);
        assert!(report.refused[0].reason.contains("commas"), "{}", report.refused[0].reason);
        index.commit().await.unwrap();
        let highlight = vec!["text".to_owned()];
        let request = SearchRequest { highlight, ..ask("\"RED wine\"") };
        let found = index.search(&request, &Cancel::new()).await.unwrap();
        assert_eq!((found.total, found.hits[0].id.to_string()), (1, "0".to_owned()));
        assert_eq!(found.hits[0].highlights[0].ranges, [(0, 8)]);
        assert_eq!(index.search(&ask("\"white wine\""), &Cancel::new()).await.unwrap().total, 2);
        let error = index.search(&ask("poison"), &Cancel::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("poison"), "{error}");
        index.close().await.unwrap();

        // Without it, what needs no analyzer works, and what needs it says which one is missing.
        let bare = Index::open(storage.clone(), OpenOptions::default()).await.unwrap();
        assert_eq!(bare.search(&SearchRequest::default(), &Cancel::new()).await.unwrap().total, 2);
        let error = bare.search(&ask("wine"), &Cancel::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("\"commas\""), "{error}");
        let report = bare.add(DocumentBatch::from_values(vec![json!({ "text": "a" }), json!({ "tag": "b" })])).await;
        let error = report.unwrap_err();
        assert!(error.to_string().contains("\"commas\""), "{error}");
        bare.close().await.unwrap();
        let options = OpenOptions { mode: OpenMode::ReadOnly, analyzers, ..OpenOptions::default() };
        let again = Index::open(storage, options).await.unwrap();
        assert_eq!(again.search(&ask("\"white wine\""), &Cancel::new()).await.unwrap().total, 2);
    });
}

#[test]
fn definitions_are_recorded_whole_and_compared() {
    block_on(async {
        let storage = MemoryStorage::new();
        let with = |analyzer: Value| {
            let schema = Schema::from_json(&json!({ "text": { "type": "text", "analyzer": analyzer } })).unwrap();
            OpenOptions { schema: Some(schema), ..OpenOptions::default() }
        };
        let pipeline = json!({ "tokenizer": "edgeNgram", "filters": ["fold", { "length": { "max": 30 } }] });
        let index = Index::open(storage.clone(), with(pipeline.clone())).await.unwrap();
        index.add(DocumentBatch::from_values(vec![json!({ "id": 1, "text": "Straße" })])).await.unwrap();
        index.commit().await.unwrap();
        index.close().await.unwrap();
        let again = Index::open(storage.clone(), OpenOptions::default()).await.unwrap();
        assert_eq!(again.search(&ask("stras"), &Cancel::new()).await.unwrap().total, 1);
        again.close().await.unwrap();
        Index::open(storage.clone(), with(pipeline)).await.unwrap().close().await.unwrap();
        let other = with(json!({ "tokenizer": { "type": "edgeNgram", "max": 5 }, "filters": ["fold"] }));
        assert_eq!(Index::open(storage, other).await.err().unwrap().kind(), ErrorKind::InvalidArgument);
        // A tag and the name it means are the same.
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), with(json!("de-AT"))).await.unwrap();
        index.add(DocumentBatch::from_values(vec![json!({ "id": 1, "text": "Häuser" })])).await.unwrap();
        index.commit().await.unwrap();
        index.close().await.unwrap();
        let index = Index::open(storage, with(json!("german"))).await.unwrap();
        assert_eq!(index.search(&ask("haus"), &Cancel::new()).await.unwrap().total, 1);
    });
}
