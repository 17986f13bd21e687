//! Any text has tokens that lie inside it, in order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::analysis::{Analyzer, fold};

fuzz_target!(|text: &str| {
    for name in Analyzer::names() {
        let analyzer = Analyzer::find(name).expect("a built-in name");
        let mut last = 0;
        analyzer.analyze(text, |token| {
            assert!(!token.term.is_empty() && token.position >= last);
            assert!(text.get(token.start as usize..token.end as usize).is_some_and(|word| !word.is_empty()));
            last = token.position;
        });
        analyzer.completions(text);
    }
    let once = fold(text).into_owned();
    assert_eq!(fold(&once), once);
});
