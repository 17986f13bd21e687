//! Batches of documents and schemas from hostile text: every row is a document or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::schema::{DocumentBatch, Schema};

fuzz_target!(|text: &str| {
    if let Ok(value) = serde_json::from_str(text) {
        if let Ok(schema) = Schema::from_json(&value) {
            assert_eq!(Schema::from_json(&schema.to_json()).expect("own output"), schema);
        }
    }
    let Ok(batch) = DocumentBatch::from_text(text) else { return };
    let rows = batch.len();
    let Ok(schema) = Schema::infer(&batch) else { return };
    let results = batch.into_documents(&schema).expect("no vectors beside it");
    assert_eq!(results.count(), rows);
});
