//! Damaged dictionaries: an error or an answer, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::{
    codec::checksum,
    terms::{FieldOptions, TermCursor, TermIndex, find},
};

fuzz_target!(|data: &[u8]| {
    let Some((&kind, bytes)) = data.split_first() else { return };
    if kind & 1 == 0 {
        // A right checksum, so that the parser is reached.
        let mut sealed = bytes.to_vec();
        checksum::seal(&mut sealed, 0);
        if let Ok(index) = TermIndex::parse(&sealed) {
            let _ = (index.locate(b"range"), index.locate(b"zz"));
        }
        return;
    }
    let options = [FieldOptions::TEXT, FieldOptions::KEYWORD][usize::from(kind >> 1 & 1)];
    let _ = find(options, bytes, b"range");
    let mut cursor = TermCursor::new(options, bytes);
    while let Ok(true) = cursor.advance() {}
});
