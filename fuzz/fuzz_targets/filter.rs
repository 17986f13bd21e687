//! Filters from hostile JSON: parsed or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::{bitset::BitSet, schema::Schema, searcher::Filter};

fuzz_target!(|text: &str| {
    let schema = serde_json::json!({
        "k": "keyword", "n": "number", "i": "integer", "b": "bool", "d": "date", "t": "text",
    });
    let schema = Schema::from_json(&schema).expect("valid");
    let Ok(value) = serde_json::from_str(text) else { return };
    if let Ok(filter) = Filter::parse(&value, &schema) {
        let sets = vec![BitSet::full(10); filter.leaves().len()];
        assert!(filter.combine(&sets, 10).count() <= 10);
    }
});
