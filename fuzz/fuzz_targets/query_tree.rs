//! Any JSON object as a query tree: an error or a query, and never a panic.
#![no_main]
use libfuzzer_sys::fuzz_target;
use rangefind::{
    query::{ParseOptions, parse_tree},
    schema::Schema,
};
use serde_json::{Map, Value, json};

fuzz_target!(|data: &[u8]| {
    let Ok(tree) = serde_json::from_slice::<Map<String, Value>>(data) else { return };
    let schema = json!({ "tag": "keyword", "year": "number", "pages": "integer", "draft": "bool", "day": "date" });
    let schema = Schema::from_json(&schema).expect("valid");
    let _ = parse_tree(&tree, &schema, &ParseOptions::default(), 1.8e12);
});
