//! Any text has tokens that lie inside it, in order, by every built-in analyzer; any JSON is a definition or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::analysis::{Analyzer, AnalyzerSpec, fold};

fuzz_target!(|text: &str| {
    Analyzer::names().filter_map(Analyzer::find).for_each(|analyzer| check(&analyzer, text));
    let once = fold(text).into_owned();
    assert_eq!(fold(&once), once);
    // A definition, and behind it what it is tried on.
    let (definition, rest) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(definition) = serde_json::from_str(definition) else { return };
    let Ok(spec) = AnalyzerSpec::from_json(&definition) else { return };
    assert_eq!(AnalyzerSpec::from_json(spec.to_json()).expect("read once before"), spec);
    if let Ok(analyzer) = spec.analyzer() {
        check(&analyzer, rest);
    }
});

fn check(analyzer: &Analyzer, text: &str) {
    let mut last = 0;
    analyzer.analyze(text, |token| {
        assert!(!token.term.is_empty() && token.position >= last);
        assert!(text.get(token.start as usize..token.end as usize).is_some_and(|word| !word.is_empty()));
        last = token.position;
    });
    for word in analyzer.query_words(text) {
        assert!(text.get(word.start as usize..word.end as usize).is_some());
        assert!(word.alternatives.iter().all(|tokens| !tokens.is_empty()));
    }
    analyzer.completions(text);
    analyzer.prefix(text);
}
