//! Any text is a query in either syntax, and its highlighter marks ranges inside any text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::{
    analysis::Analyzer,
    ids::FieldOrd,
    query::{ParseField, ParseOptions, parse_lucene, parse_plain, request::MatchMode},
};

fuzz_target!(|text: &str| {
    let analyzer = Analyzer::find("english").expect("a built-in name");
    let field = ParseField { field: FieldOrd(1), name: "body".to_owned(), analyzer, boost: 1.0, positions: true };
    for matching in [MatchMode::Any, MatchMode::All] {
        for prefix in [false, true] {
            let default_fields = vec![field.clone()];
            let options = ParseOptions { named_fields: default_fields.clone(), default_fields, matching, prefix };
            let queries = [parse_plain(text, &options), parse_lucene(text, &options).query];
            for range in queries.iter().flat_map(|query| query.highlighter(FieldOrd(1)).mark(analyzer, text)) {
                assert!(text.get(range).is_some());
            }
        }
    }
});
