//! What requests may ask for in all: equal parts are one, and above the bounds a request is refused with its place.

use std::{collections::HashSet, sync::Arc};

use serde_json::{Value, json};

use super::{
    tests::{BODY, TITLE, corpus},
    *,
};
use crate::{
    analysis::Analyzer,
    bitset::BitSet,
    columns::ColumnKind,
    ids::FieldOrd,
    platform::Cancel,
    query::{
        bind::{Binder, Node},
        request::MatchMode,
    },
    schema::Schema,
    terms::TermPattern,
};

fn wildcard(text: &str) -> Query {
    Query::Pattern { field: BODY, pattern: TermPattern::Wildcard(text.to_owned()), scoring: PatternScoring::Blended }
}

fn any(should: Vec<Query>) -> Query {
    Query::Boolean(BooleanQuery { should, ..Default::default() })
}

#[test]
fn a_thousand_equal_wildcards_are_one() {
    let corpus = corpus(&mut fastrand::Rng::with_seed(3), &[200, 50], 20);
    let (filters, cancel) = ([SegmentFilter::default(), SegmentFilter::default()], Cancel::new());
    let (one, _) = corpus.plan(&wildcard("w1*2"));
    for query in [
        any(vec![wildcard("w1*2"); 1000]),
        any((0..1000).map(|_| any(vec![wildcard("w1*2"), Query::None])).collect()),
        Query::Boolean(BooleanQuery { must: vec![wildcard("w1*2"); 1000], ..Default::default() }),
    ] {
        let (many, _) = corpus.plan(&query);
        assert_eq!((many.patterns.len(), &many.root), (1, &times(&one.root, 1000.0)));
        let (one, many) = (one.top_k(5, &filters, &cancel).unwrap(), many.top_k(5, &filters, &cancel).unwrap());
        assert!(!one.is_empty());
        for (one, many) in one.iter().zip(&many) {
            assert_eq!((one.segment, one.doc), (many.segment, many.doc));
            assert!((one.score * 1000.0 - many.score).abs() < 1e-2 * many.score);
        }
    }
}

fn times(node: &Node, factor: f32) -> Node {
    match node {
        Node::Pattern { leaf, boost, scoring } => {
            Node::Pattern { leaf: *leaf, boost: boost * factor, scoring: *scoring }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn matches_of_a_pattern_are_found_once_wherever_it_stands() {
    let corpus = corpus(&mut fastrand::Rng::with_seed(4), &[300], 20);
    let best = |clause: Query| Query::DisMax { queries: vec![clause, Query::All], tie_breaker: 0.3 };
    let query = any(vec![wildcard("w*1"), best(wildcard("w*1")), best(any(vec![wildcard("w*1"), Query::All]))]);
    let (plan, _) = corpus.plan(&query);
    let filter = SegmentFilter::default();
    let run = plan.run(0, &filter).unwrap().unwrap();
    assert!(run.build(&plan.root, true).is_some());
    assert!(Arc::ptr_eq(&run.pattern_set(0), &run.pattern_set(0)));
    assert!(std::rc::Rc::ptr_eq(&run.pattern_freqs(0), &run.pattern_freqs(0)));
    let expected: BitSet = plan.matches(0, &filter).unwrap();
    assert_eq!(expected.count(), 300, "every document matches one of the others");
}

#[test]
fn blocks_of_many_terms_are_asked_for_once() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let corpus = corpus(&mut fastrand::Rng::with_seed(seed), &[600, 90], 30);
    let term = |ix: u32| Query::Term { field: [TITLE, BODY][ix as usize % 2], term: format!("w{}", ix / 2).into() };
    let query = any((0..3000).map(term).collect());
    let plan = Plan::new(&query, corpus.texts.clone()).unwrap();
    let places: HashSet<_> =
        plan.wanted().iter().map(|want| (want.segment, want.field, want.range.start, want.range.end)).collect();
    assert_eq!(places.len(), plan.wanted().len(), "none twice");
    assert!(plan.pending.len() > 2 * plan.wanted().len(), "{} terms in {} blocks", plan.pending.len(), places.len());
    let (plan, _) = corpus.plan(&query);
    let resident = Plan::new(&query, corpus.resident()).unwrap();
    let filters = [SegmentFilter::default(), SegmentFilter::default()];
    let top = |plan: &Plan| plan.top_k(50, &filters, &Cancel::new()).unwrap();
    assert_eq!(top(&plan), top(&resident));
}

#[test]
fn patterns_are_told_apart() {
    use std::ops::Bound;
    let texts = ["", "a", "ab", "b", "a*"];
    let mut patterns = vec![];
    for text in texts {
        patterns.push(TermPattern::Prefix(text.into()));
        patterns.push(TermPattern::Wildcard(text.into()));
        patterns.push(TermPattern::Regex(text.into()));
        for (edits, prefix_len) in [(0, 0), (1, 0), (1, 1), (2, 0)] {
            patterns.push(TermPattern::Fuzzy(crate::terms::FuzzyPattern {
                prefix_len,
                ..crate::terms::FuzzyPattern::new(text, edits)
            }));
        }
        for other in texts {
            let ends = |text: &str| [Bound::Included(text.into()), Bound::Excluded(text.into()), Bound::Unbounded];
            for from in ends(text) {
                patterns.extend(ends(other).map(|to| TermPattern::Range { from: from.clone(), to }));
            }
        }
    }
    let different: HashSet<TermPattern> = patterns.iter().cloned().collect();
    let clause = |pattern| Query::Pattern { field: BODY, pattern, scoring: PatternScoring::Blended };
    let mut binder = Binder::default();
    let root = binder.bind(&any(patterns.into_iter().map(clause).collect()), 1.0, true);
    assert_eq!(binder.patterns.len(), different.len());
    let Node::Boolean { should, .. } = root else { panic!("{root:?}") };
    assert_eq!(should.len(), different.len());
}

#[test]
fn plans_of_too_much_are_refused() {
    let patterns = |count: usize| any((0..count).map(|ix| wildcard(&format!("w{ix}*"))).collect());
    Plan::new(&patterns(MAX_QUERY_PATTERNS), Vec::new()).unwrap();
    for query in [
        patterns(MAX_QUERY_PATTERNS + 1),
        any((0..=MAX_QUERY_TERMS).map(|ix| Query::Term { field: BODY, term: ix.to_string().into() }).collect()),
    ] {
        let error = Plan::new(&query, Vec::new()).unwrap_err();
        assert_eq!(error.kind().code(), "invalid_argument");
        assert!(error.to_string().starts_with("query: the query "), "{error}");
    }
}

fn options() -> ParseOptions {
    let field = |ord, name: &str| ParseField {
        field: FieldOrd(ord),
        name: name.to_owned(),
        analyzer: Analyzer::find("standard").unwrap(),
        boost: 1.0,
        positions: true,
    };
    let fields = vec![field(1, "title"), field(2, "body")];
    ParseOptions {
        default_fields: fields.clone(),
        named_fields: fields,
        matching: MatchMode::Any,
        columns: vec![ParseColumn {
            field: FieldOrd(3),
            name: "year".into(),
            kind: Some(ColumnKind::Integer),
            is_id: false,
        }],
        ..ParseOptions::default()
    }
}

fn tree(tree: Value) -> crate::Result<Parsed> {
    let schema = Schema::from_json(&json!({ "title": "text", "body": "text", "year": "integer" })).unwrap();
    let Value::Object(tree) = tree else { panic!("an object") };
    parse_tree(&tree, &schema, &options(), 0.0)
}

#[test]
fn trees_of_too_much_are_refused_where_it_becomes_too_much() {
    let words = |from: usize| (0..1000).map(|ix| format!("x{}", from + ix)).collect::<Vec<_>>().join(" ");
    let clauses: Vec<Value> = (0..200).map(|ix| json!({ "plain": words(ix * 1000) })).collect();
    let error = tree(json!({ "bool": { "should": clauses } })).unwrap_err();
    assert_eq!(error.kind().code(), "invalid_argument");
    // Two fields: 32 clauses of 2,000 terms are fine.
    let expected = "query.bool.should[32].plain: the query looks up 66000 terms so far, at most 65536";
    assert!(error.to_string().contains(expected), "{error}");
    tree(json!({ "bool": { "should": clauses[..32] } })).unwrap();

    let wildcard = |ix: usize| json!({ "wildcard": { "field": "body", "value": format!("w{ix}*") } });
    let patterns: Vec<Value> = (0..1000).map(wildcard).collect();
    let error = tree(json!({ "disMax": { "queries": patterns } })).unwrap_err();
    assert!(error.to_string().contains("query.disMax.queries[256].wildcard: the query has 257 "), "{error}");
    tree(json!({ "bool": { "must": { "disMax": { "queries": vec![wildcard(1); 1000] } } } })).unwrap();
    let like = json!({ "moreLikeThis": { "text": "a b" } });
    let error = tree(json!({ "bool": { "should": vec![like; 65] } })).unwrap_err();
    assert!(error.to_string().contains("query.bool.should[64].moreLikeThis"), "{error}");
    let fuzzy =
        |ix: usize| json!({ "phrasePrefix": { "field": "body", "text": format!("a w{ix}"), "maxExpansions": 1024 } });
    let error = tree(json!({ "bool": { "should": (0..100).map(fuzzy).collect::<Vec<_>>() } })).unwrap_err();
    assert!(error.to_string().contains("query.bool.should[63].phrasePrefix"), "{error}");
}

#[test]
fn texts_of_too_much_lose_what_lies_behind_and_say_so() {
    let wildcards = |count: usize| (0..count).map(|ix| format!("w{ix}*")).collect::<Vec<_>>().join(" ");
    // Two fields.
    assert_eq!(parse_lucene(&wildcards(MAX_QUERY_PATTERNS / 2), &options()).ignored, [""; 0]);
    let parsed = parse_lucene(&format!("({})", wildcards(500)), &options());
    let said = parsed.ignored.join("; ");
    assert!(said.contains("everything from clause 130 on: the query has 258 different"), "{said}");
    Plan::new(&parsed.query, Vec::new()).unwrap();

    let mut options = options();
    let field = options.default_fields[0].clone();
    options.default_fields = (0..100).map(|ord| ParseField { field: FieldOrd(ord), ..field.clone() }).collect();
    let words = (0..1000).map(|ix| format!("x{ix}")).collect::<Vec<_>>().join(" ");
    for prefix in [false, true] {
        let parsed = parse_plain(&format!("\"a b\" -c {words}"), &ParseOptions { prefix, ..options.clone() });
        let said = parsed.ignored.join("; ");
        assert!(said.contains("words behind the first 65") && said.contains("65536"), "{said}");
        Plan::new(&parsed.query, Vec::new()).unwrap();
    }
    options.default_fields = (0..300).map(|ord| ParseField { field: FieldOrd(ord), ..field.clone() }).collect();
    let parsed = parse_plain("a wo", &ParseOptions { prefix: true, ..options });
    assert!(parsed.ignored.join("; ").starts_with("the last word behind the first 0: "), "{:?}", parsed.ignored);
    Plan::new(&parsed.query, Vec::new()).unwrap();
}
