//! Any text is a query in either syntax, and its highlighter marks ranges inside any text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::{
    analysis::Analyzer,
    columns::ColumnKind,
    ids::FieldOrd,
    query::{
        ParseColumn, ParseField, ParseOptions, Plan, parse_lucene, parse_plain,
        request::{Fuzziness, MatchMode},
    },
};

fuzz_target!(|text: &str| {
    let analyzer = Analyzer::find("english").expect("a built-in name");
    let field = ParseField {
        field: FieldOrd(1),
        name: "body".to_owned(),
        analyzer: analyzer.clone(),
        boost: 1.0,
        positions: true,
    };
    let column =
        |ord, name: &str, kind| ParseColumn { field: FieldOrd(ord), name: name.to_owned(), kind, is_id: ord == 0 };
    for matching in [MatchMode::Any, MatchMode::All] {
        for (prefix, fuzzy) in [(false, Fuzziness::Edits(0)), (true, Fuzziness::Auto)] {
            let options = ParseOptions {
                default_fields: vec![field.clone()],
                named_fields: vec![field.clone()],
                matching,
                prefix,
                fuzzy,
                fuzzy_prefix_len: 1,
                columns: vec![
                    column(0, "id", None),
                    column(1, "body", None),
                    column(2, "n", Some(ColumnKind::Integer)),
                    column(3, "d", Some(ColumnKind::Date)),
                ],
                ..ParseOptions::default()
            };
            let queries = [parse_plain(text, &options).query, parse_lucene(text, &options).query];
            for query in &queries {
                Plan::new(query, Vec::new()).expect("what a parser gives can be searched for");
                for range in query.highlighter(FieldOrd(1)).mark(&analyzer, text) {
                    assert!(text.get(range).is_some());
                }
            }
        }
    }
});
