//! Any header is a well-formed part of a file or none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::storage::http::response::ContentRange;

fuzz_target!(|text: &str| {
    if let Some(found) = ContentRange::parse(text) {
        assert!(found.range.start < found.range.end);
        assert!(found.total.is_none_or(|total| found.range.end <= total));
    }
});
