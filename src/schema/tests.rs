//! Schemas and batches: round trips, refusals that leave the rest alone, hostile input.

use serde_json::{Value, json};

use super::*;
use crate::ids::{DocId, FieldOrd};

fn schema() -> Schema {
    Schema::from_json(&json!({
        "title": { "type": "text", "boost": 2 }, "tag": "keyword", "year": "number", "pages": "integer",
        "draft": "bool", "day": "date", "meta": "json", "embedding": { "type": "vector", "dims": 2 },
    }))
    .expect("valid")
}

fn check(batch: DocumentBatch) -> (Vec<Document>, Vec<Refusal>) {
    let (mut documents, mut refused) = (Vec::new(), Vec::new());
    for result in batch.into_documents(&schema()).expect("adds up") {
        match result {
            Ok(document) => documents.push(document),
            Err(refusal) => refused.push(refusal),
        }
    }
    (documents, refused)
}

fn refusal(document: Value) -> Refusal {
    let (documents, mut refused) = check(DocumentBatch::from_values(vec![document.clone()]));
    assert!(documents.is_empty(), "{document} was taken");
    refused.remove(0)
}

#[test]
fn schema_round_trips_in_order() {
    let list = json!([{ "name": "z", "type": "text" }, { "name": "a", "type": "vector", "dims": 3, "metric": "l2" }]);
    let schema = Schema::from_json(&list).expect("valid");
    let names: Vec<_> = schema.fields().map(|(_, field)| field.name.as_str()).collect();
    assert_eq!(names, ["id", "z", "a"]);
    assert_eq!(Schema::from_json(&schema.to_json()).expect("own output"), schema);
    let again = Schema::from_json(&super::tests::schema().to_json_object()).expect("own output");
    assert_eq!(again, super::tests::schema());
}

#[test]
fn bad_schemas_name_the_field() {
    for (bad, part) in [
        (json!({ "a": "txt" }), "unknown type \"txt\""),
        (json!({ "a": { "type": "keyword", "boost": 2 } }), "no option \"boost\""),
        (json!({ "a": { "boost": 2 } }), "needs a \"type\""),
        (json!({ "a": 3 }), "expected text"),
        (json!({ "a": "vector" }), "needs \"dims\""),
        (json!({ "a": { "type": "vector", "dims": 0 } }), "0 dimensions"),
        (json!({ "a": { "type": "vector", "dims": 4097 } }), "4097 dimensions"),
        (json!({ "a": { "type": "vector", "dims": 3, "metric": "manhattan" } }), "metric"),
        (json!({ "a": { "type": "text", "boost": -1 } }), "boost"),
        (json!({ "id": "keyword" }), "\"id\""),
        (json!({ "_score": "number" }), "\"_score\""),
        (json!({ "": "number" }), "\"\""),
        (json!({ "not": "number" }), "\"not\""),
        (json!([{ "name": "a", "type": "bool" }, { "name": "a", "type": "bool" }]), "twice"),
        (json!([{ "type": "bool" }]), "without a \"name\""),
        (json!(3), "expected an object"),
    ] {
        let error = Schema::from_json(&bad).expect_err("bad schema");
        assert!(error.to_string().contains(part), "{bad}: {error}");
        assert_eq!(error.kind().code(), "invalid_argument");
    }
}

#[test]
fn a_schema_grows_and_never_changes_a_field() {
    let old = Schema::from_json(&json!({ "a": "text", "b": "keyword" })).expect("valid");
    let new = Schema::from_json(&json!({ "c": "bool", "a": { "type": "text", "boost": 3 } })).expect("valid");
    let grown = old.extended(&new).expect("fits");
    let names: Vec<_> = grown.fields().map(|(_, field)| field.name.as_str()).collect();
    assert_eq!(names, ["id", "a", "b", "c"]);
    assert!(matches!(&grown.field(FieldOrd(1)).expect("a").kind, FieldKind::Text(text) if text.boost == 3.0));
    let other = Schema::from_json(&json!({ "b": "number" })).expect("valid");
    assert!(old.extended(&other).expect_err("changed").to_string().contains("\"b\""));
}

#[test]
fn values_reach_their_fields() {
    let (documents, refused) = check(DocumentBatch::from_values(vec![json!({
        "id": 7, "title": ["one", "two"], "tag": "x", "year": [1, 2.5], "pages": 3.0, "draft": true,
        "day": ["1970-01-01T00:00:01Z", 5], "meta": { "deep": [1] }, "embedding": [1, 0.5], "other": null,
    })]));
    assert_eq!(refused, []);
    let document = &documents[0];
    assert_eq!(document.id, DocId::Int(7));
    let field = |name: &str| {
        let (ord, _) = schema().find(name).map(|(ord, field)| (ord, field.name.clone())).expect("exists");
        document.fields.iter().find(|(of, _)| *of == ord).map(|(_, value)| value.clone())
    };
    assert_eq!(field("title"), Some(FieldValue::Text(vec!["one".into(), "two".into()])));
    assert_eq!(field("tag"), Some(FieldValue::Keyword(vec!["x".into()])));
    assert_eq!(field("year"), Some(FieldValue::Number(vec![1.0, 2.5])));
    assert_eq!(field("pages"), Some(FieldValue::Integer(vec![3])));
    assert_eq!(field("draft"), Some(FieldValue::Bool(true)));
    assert_eq!(field("day"), Some(FieldValue::Date(vec![1000, 5])));
    assert_eq!(field("embedding"), Some(FieldValue::Vector(vec![1.0, 0.5])));
    assert_eq!(field("meta"), None);
    assert!(document.fields.is_sorted_by_key(|(ord, _)| *ord));
    let stored: Value = serde_json::from_str(&document.stored).expect("JSON");
    assert_eq!(stored["meta"], json!({ "deep": [1] }));
    assert!(stored.get("embedding").is_none() && stored.get("other").is_some());
}

#[test]
fn misfits_say_row_field_and_reason() {
    for (document, field, code) in [
        (json!({ "title": 3 }), Some("title"), RefusalCode::WrongType),
        (json!({ "title": ["a", null] }), Some("title"), RefusalCode::WrongType),
        (json!({ "tag": [["a"]] }), Some("tag"), RefusalCode::WrongType),
        (json!({ "tag": "x".repeat(MAX_KEYWORD_BYTES + 1) }), Some("tag"), RefusalCode::TooLong),
        (json!({ "year": "2020" }), Some("year"), RefusalCode::WrongType),
        (json!({ "pages": 1.5 }), Some("pages"), RefusalCode::WrongType),
        (json!({ "pages": 1e300 }), Some("pages"), RefusalCode::WrongType),
        (json!({ "draft": [true] }), Some("draft"), RefusalCode::WrongType),
        (json!({ "day": "yesterday" }), Some("day"), RefusalCode::WrongType),
        (json!({ "day": 9e15 }), Some("day"), RefusalCode::WrongType),
        (json!({ "embedding": [1] }), Some("embedding"), RefusalCode::WrongDims),
        (json!({ "embedding": [1, null] }), Some("embedding"), RefusalCode::NotFinite),
        (json!({ "embedding": [1, 1e300] }), Some("embedding"), RefusalCode::NotFinite),
        (json!({ "embedding": [[1, 2], 3] }), Some("embedding"), RefusalCode::WrongType),
        (json!({ "embedding": "x" }), Some("embedding"), RefusalCode::WrongType),
        (json!({ "id": "" }), Some("id"), RefusalCode::BadId),
        (json!({ "id": 1.5 }), Some("id"), RefusalCode::BadId),
        (json!({ "id": [1] }), Some("id"), RefusalCode::BadId),
        (json!({ "id": "x".repeat(MAX_ID_BYTES + 1) }), Some("id"), RefusalCode::BadId),
        (json!(3), None, RefusalCode::NotAnObject),
    ] {
        let refusal = refusal(document.clone());
        assert_eq!((refusal.field.as_deref(), refusal.code), (field, code), "{}", refusal.reason);
    }
    let named = refusal(json!({ "id": "k", "year": false }));
    assert_eq!(named.id, Some(DocId::from("k")));
    assert_eq!(serde_json::to_value(&named).expect("JSON")["code"], "wrong_type");
}

#[test]
fn a_bad_row_leaves_the_others_alone() {
    let text = "\u{feff}{\"id\":1,\"embedding\":[1,2]}\n\n{\"id\":2,\n  {\"id\": 3, \"year\": \"x\"}  \r\n{\"id\":4}\nnull\n{\"title\":\"\\ud800\"}";
    let (documents, refused) = check(DocumentBatch::from_text(text).expect("lines"));
    let ids: Vec<_> = documents.iter().map(|document| document.id.clone()).collect();
    assert_eq!(ids, [DocId::Int(1), DocId::Int(4)]);
    let rows: Vec<_> = refused.iter().map(|refusal| (refusal.row, refusal.code)).collect();
    use RefusalCode::{BadJson, NotAnObject, WrongType};
    assert_eq!(rows, [(1, BadJson), (2, WrongType), (4, NotAnObject), (5, BadJson)]);
    assert_eq!(documents[1].stored, "{\"id\":4}");
}

#[test]
fn an_array_is_split_without_copying_rows() {
    let (documents, refused) =
        check(DocumentBatch::from_text(" [ {\"id\":1}, 5 ,{ \"id\" : \"b\" } ] ").expect("array"));
    assert_eq!((documents.len(), refused.len()), (2, 1));
    assert_eq!(documents[1].stored, "{ \"id\" : \"b\" }");
    assert!(DocumentBatch::from_text("[{\"id\":1},").is_err());
    assert!(DocumentBatch::from_text("").expect("no rows").is_empty());
}

#[test]
fn flat_vectors_go_to_their_rows() {
    let rows = "{\"id\":1}\n{\"id\":2,\"year\":\"bad\"}\n{\"id\":3}\n{\"id\":4,\"embedding\":[9,9]}\n{\"id\":5}";
    let vectors = FieldVectors {
        field: "embedding".into(),
        values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, f32::NAN, 0.0],
        counts: Some(vec![1, 1, 2, 0, 1]),
    };
    let (documents, refused) = check(DocumentBatch::from_text(rows).expect("lines").with_vectors(vectors));
    let vector = |ix: usize| documents[ix].fields.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>();
    assert_eq!(vector(0), [FieldValue::Vector(vec![1.0, 2.0])]);
    assert_eq!(vector(1), [FieldValue::Vector(vec![5.0, 6.0, 7.0, 8.0])]);
    assert_eq!(vector(2), [FieldValue::Vector(vec![9.0, 9.0])]);
    let codes: Vec<_> = refused.iter().map(|refusal| (refusal.row, refusal.code)).collect();
    assert_eq!(codes, [(1, RefusalCode::WrongType), (4, RefusalCode::NotFinite)]);
}

#[test]
fn vectors_that_do_not_add_up_refuse_the_batch() {
    let batch = || DocumentBatch::from_values(vec![json!({}), json!({})]);
    let flat = |field: &str, len: usize, counts: Option<Vec<u32>>| FieldVectors {
        field: field.into(),
        values: vec![0.5; len],
        counts,
    };
    for vectors in [
        flat("embedding", 3, None),
        flat("embedding", 4, Some(vec![1])),
        flat("embedding", 4, Some(vec![u32::MAX, u32::MAX])),
        flat("title", 4, None),
        flat("nothing", 4, None),
    ] {
        assert!(batch().with_vectors(vectors).into_documents(&schema()).is_err());
    }
    let twice = batch().with_vectors(flat("embedding", 4, None)).with_vectors(flat("embedding", 4, None));
    assert!(twice.into_documents(&schema()).is_err());
}

#[test]
fn made_up_ids_are_distinct_and_sorted() {
    let (documents, _) = check(DocumentBatch::from_values(vec![json!({}); 300]));
    let ids: Vec<_> = documents.iter().map(|document| document.id.to_string()).collect();
    assert!(ids.iter().all(|id| id.len() == 26));
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
}

#[test]
fn schema_is_inferred_by_the_rule() {
    let embedding: Vec<f32> = (0..8).map(|number| number as f32).collect();
    let rows = vec![
        json!({ "id": 1, "t": "some words", "k": ["a"], "n": 1, "d": "2024-01-02", "b": true, "v": embedding, "o": {}, "ns": [1] }),
        json!({ "id": 2, "t": "2024-01-02", "k": "b", "n": 2.5, "d": null, "b": false, "v": [embedding], "o": 3, "ns": [1, 2] }),
        json!({ "_x": 1, "not": 2, "empty": [], "mixed": "a" }),
        json!({ "mixed": 1 }),
        json!(5),
    ];
    let batch = DocumentBatch::from_values(rows).with_vectors(FieldVectors {
        field: "flat".into(),
        values: vec![0.0; 20],
        counts: None,
    });
    let schema = Schema::infer(&batch).expect("inferred");
    let kinds: Vec<_> = schema.fields().map(|(_, field)| (field.name.as_str(), field.kind.name())).collect();
    assert_eq!(
        kinds,
        [
            ("id", "id"),
            ("b", "bool"),
            ("d", "date"),
            ("flat", "vector"),
            ("k", "keyword"),
            ("mixed", "json"),
            ("n", "number"),
            ("ns", "number"),
            ("o", "json"),
            ("t", "text"),
            ("v", "vector"),
        ]
    );
    assert!(matches!(&schema.find("v").expect("v").1.kind, FieldKind::Vector(vector) if vector.dims == 8));
    assert!(matches!(&schema.find("flat").expect("flat").1.kind, FieldKind::Vector(vector) if vector.dims == 4));
}

#[test]
fn hostile_json_is_refused_row_by_row() {
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!("{deep}\n{{\"id\":1}}\n{{\"title\":\"{}\"}}", "x".repeat(MAX_DOCUMENT_BYTES));
    let (documents, refused) = check(DocumentBatch::from_text(text).expect("lines"));
    assert_eq!(documents.len(), 1);
    let codes: Vec<_> = refused.iter().map(|refusal| refusal.code).collect();
    assert_eq!(codes, [RefusalCode::BadJson, RefusalCode::TooLong]);
    let (_, refused) = check(DocumentBatch::from_text(format!("[{deep}]")).expect("array"));
    assert_eq!(refused[0].code, RefusalCode::BadJson);
    let mut value = json!(1);
    for _ in 0..MAX_JSON_DEPTH + 5 {
        value = json!([value]);
    }
    assert_eq!(refusal(json!({ "a": value })).code, RefusalCode::TooDeep);
}

#[test]
fn random_text_never_panics() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        "id",
        "title",
        "embedding",
        ":",
        ",",
        "1",
        "e9",
        "null",
        "\n",
        " ",
        "\\u",
        "é",
        "true",
    ];
    for _ in 0..5000 {
        let text: String = (0..rng.usize(0..25)).map(|_| pieces[rng.usize(0..pieces.len())]).collect();
        if let Ok(batch) = DocumentBatch::from_text(text) {
            let rows = batch.len();
            let (documents, refused) = check(batch.clone());
            assert_eq!(documents.len() + refused.len(), rows, "seed {seed}");
            let _ = Schema::infer(&batch);
        }
    }
}

#[test]
fn bytes_that_are_no_utf8_are_refused_line_by_line() {
    let schema = Schema::from_json(&json!({ "t": "text" })).unwrap();
    let bytes =
        b"\xef\xbb\xbf\n{\"id\":1,\"t\":\"a\"}\r\n\n{\"id\":2,\"t\":\"\xff\"}\n{\"id\":3,\"t\":\"\xc3\xa9\"}".to_vec();
    let batch = DocumentBatch::from_bytes(bytes).unwrap();
    assert_eq!(batch.len(), 3);
    let rows: Vec<_> = batch.into_documents(&schema).unwrap().collect();
    assert_eq!(rows[0].as_ref().unwrap().id, DocId::from(1));
    let refusal = rows[1].as_ref().unwrap_err();
    assert_eq!((refusal.row, refusal.code), (1, RefusalCode::BadJson));
    assert!(rows[2].as_ref().unwrap().stored.contains('é'));
    assert!(DocumentBatch::from_bytes(b"[\"\xff\"]".to_vec()).is_err());
    assert_eq!(DocumentBatch::from_bytes(b"{}\n{}\n".to_vec()).unwrap().len(), 2);
}

#[test]
fn options_of_vectors_come_back_as_they_were_written() {
    let field = |options: &str| {
        let schema = format!(r#"{{"v": {{"type": "vector", "dims": 20{options}}}}}"#);
        Schema::from_json(&serde_json::from_str(&schema).expect("JSON"))
    };
    let known = [
        ("", ""),
        (r#", "codes": "osq", "storage": "f32", "rescore": "full""#, ""),
        (r#", "codes": "pq""#, r#", "codes": {"pq": 3}"#),
        (r#", "codes": {"pq": 20, "anisotropic": 0.25}"#, r#", "codes": {"pq": 20, "anisotropic": 0.25}"#),
        (r#", "storage": "f16", "rescore": "full""#, r#", "storage": "f16""#),
        (r#", "rescore": "nvq""#, r#", "rescore": "nvq""#),
        (r#", "dedup": true"#, r#", "dedup": true, "codes": "osq""#),
        (r#", "dedup": false"#, ""),
        (r#", "rescore": "nvq4", "codes": {"pq": 1}"#, r#", "rescore": "nvq4", "codes": {"pq": 1}"#),
    ];
    for (given, kept) in known {
        let (given, kept) = (field(given).expect("known options"), field(kept).expect("known options"));
        assert_eq!(given, kept);
        assert_eq!(Schema::from_json(&given.to_json()).expect("its own JSON"), given);
    }
    for unknown in [
        r#", "codes": "hnsw""#,
        r#", "codes": {"pq": 0}"#,
        r#", "codes": {"pq": 21}"#,
        r#", "codes": {"pq": 2, "anisotropic": 1}"#,
        r#", "codes": {"pq": 2, "anisotropic": -0.1}"#,
        r#", "codes": {"pq": 2, "bits": 4}"#,
        r#", "codes": {"anisotropic": 0.2}"#,
        r#", "storage": "f64""#,
        r#", "storage": 16"#,
        r#", "dedup": "yes""#,
        r#", "rescore": "pq""#,
        r#", "storage": "f16", "rescore": "nvq""#,
    ] {
        assert!(field(unknown).is_err(), "{unknown}");
    }
    // Codes follow the wanted schema, stored rows cannot.
    let (plain, pq, half) = (field("").unwrap(), field(r#", "codes": "pq""#).unwrap(), field(r#", "storage": "f16""#));
    assert_eq!(plain.extended(&pq).expect("codes may change"), pq);
    assert!(plain.extended(&half.unwrap()).is_err());
}
