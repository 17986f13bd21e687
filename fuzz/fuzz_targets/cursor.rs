//! Cursors from hostile text: parsed or refused, and what is parsed is written as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::searcher::Cursor;

fuzz_target!(|text: &str| {
    if let Ok(cursor) = Cursor::parse(text) {
        assert_eq!(Cursor::parse(&cursor.to_text()).expect("just written"), cursor);
    }
});
