//! Parsers against what people type.

use super::*;
use crate::query::{BooleanQuery, ColumnQuery, PhraseQuery, Plan};

fn field(ord: u16, name: &str, analyzer: &str) -> ParseField {
    let analyzer = Analyzer::find(analyzer).unwrap();
    ParseField { field: FieldOrd(ord), name: name.to_owned(), analyzer, boost: 1.0, positions: true }
}

fn columns() -> Vec<ParseColumn> {
    let column =
        |ord, name: &str, kind| ParseColumn { field: FieldOrd(ord), name: name.to_owned(), kind, is_id: ord == 0 };
    vec![
        column(0, "id", None),
        column(1, "body", None),
        column(2, "tag", Some(ColumnKind::Keyword)),
        column(4, "year", Some(ColumnKind::Integer)),
        column(5, "day", Some(ColumnKind::Date)),
        column(6, "draft", Some(ColumnKind::Bool)),
        column(7, "rank", Some(ColumnKind::Number)),
    ]
}

fn options(matching: MatchMode, prefix: bool) -> ParseOptions {
    let body = field(1, "body", "english");
    let tag = ParseField { positions: false, ..field(2, "tag", "keyword") };
    let columns = columns();
    ParseOptions {
        default_fields: vec![body.clone()],
        named_fields: vec![body, tag],
        matching,
        prefix,
        columns,
        ..ParseOptions::default()
    }
}

/// A query in a short form.
fn show(query: &Query) -> String {
    let list = |queries: &[Query], sign: &str| -> Vec<String> {
        queries.iter().map(|query| format!("{sign}{}", show(query))).collect()
    };
    match query {
        Query::All => "*".into(),
        Query::None => "nothing".into(),
        Query::Term { field, term } => format!("{}:{}", field.0, String::from_utf8_lossy(term)),
        Query::Phrase(PhraseQuery { field, terms, slop }) => {
            let terms: Vec<_> =
                terms.iter().map(|(place, term)| format!("{place}={}", String::from_utf8_lossy(term))).collect();
            format!("{}:\"{}\"~{slop}", field.0, terms.join(" "))
        }
        Query::Pattern { field, pattern, .. } => format!("{}:{pattern}", field.0),
        Query::Boolean(BooleanQuery { must, should, must_not, filter, min_should_match }) => {
            let parts = [list(must, "+"), list(should, ""), list(must_not, "-"), list(filter, "#")].concat();
            let count = if *min_should_match > 0 { format!("/{min_should_match}") } else { String::new() };
            format!("({}){count}", parts.join(" "))
        }
        Query::DisMax { queries, .. } => format!("<{}>", list(queries, "").join(" ")),
        Query::Boost(query, factor) => format!("{}^{factor}", show(query)),
        Query::Constant(query, score) => format!("{}={score}", show(query)),
        Query::PhrasePrefix(query) => {
            let (place, begun) = &query.last;
            let phrase = show(&Query::Phrase(query.phrase.clone()));
            phrase.replace("\"~", &format!(" {place}={}*\"~", String::from_utf8_lossy(begun)))
        }
        Query::MoreLike(_) => format!("{query:?}"),
        Query::Function(function) => format!("{function:?}"),
        Query::Column(column) => format!("{column:?}"),
        Query::Filter(set) => format!("#{set}"),
    }
}

fn plain(text: &str, matching: MatchMode, prefix: bool) -> String {
    show(&parse_plain(text, &options(matching, prefix)).query)
}

#[test]
fn plain_text_is_words_and_phrases() {
    let any = |text| plain(text, MatchMode::Any, false);
    assert_eq!(any("Range requests"), "(1:rang 1:request)");
    assert_eq!(any("the cat"), "1:cat");
    assert_eq!(any("to be or not to be"), "(1:to 1:be 1:or 1:not 1:to 1:be)");
    assert_eq!(any("\"to be\" cat"), "(+1:\"0=to 1=be\"~0 1:cat)");
    assert_eq!(any("5\" screen"), "(1:5 1:screen)");
    assert_eq!(any("foo-bar +x (y)"), "(1:foo 1:bar 1:x 1:y)");
    assert_eq!(any("日本語"), "(1:日本 1:本語)");
    assert_eq!(any("中"), "1:中*");
    assert_eq!(any("  \"\" --- "), "nothing");
    assert_eq!(plain("the range-requests", MatchMode::All, false), "(+1:rang +1:request)");
}

#[test]
fn the_last_word_may_be_a_prefix() {
    let typed = |text| plain(text, MatchMode::All, true);
    assert_eq!(typed("cache ran"), "(+1:cach +1:ran*)");
    assert_eq!(typed("cache ran "), "(+1:cach +1:ran)");
    assert_eq!(typed("runnin"), "<1:runnin* 1:run>");
    assert_eq!(typed("foo-ba"), "(+1:foo +1:ba*)");
    assert_eq!(typed("\"range re\""), "1:\"0=rang 1=re\"~0");
}

#[test]
fn a_phrase_without_its_second_quote_is_being_typed() {
    let typed = |text| plain(text, MatchMode::Any, true);
    assert_eq!(typed("\"range re"), "1:\"0=rang 1=re*\"~0");
    assert_eq!(typed("cache \"range re"), "(+1:\"0=rang 1=re*\"~0 1:cach)");
    // Its completions may be stemmed to what does not begin with it.
    assert_eq!(typed("\"was runnin"), "<1:\"0=was 1=runnin*\"~0 1:\"0=was 1=run\"~0>");
    assert_eq!(typed("\"range re "), "1:\"0=rang 1=re\"~0");
    assert_eq!(typed("\"ran"), "1:ran*");
    assert_eq!(typed("\"a b\" \"range re"), "(+1:\"0=a 1=b\"~0 +1:\"0=rang 1=re*\"~0)");
    assert_eq!(typed("5\" scr"), "(1:5 1:scr*)");
    assert_eq!(typed("cache \""), "1:cach");
    assert_eq!(plain("\"range re", MatchMode::Any, false), "(1:rang 1:re)");
}

#[test]
fn fields_line_up_word_by_word() {
    let mut options = options(MatchMode::All, false);
    options.default_fields.push(ParseField { boost: 2.0, ..field(3, "title", "standard") });
    assert_eq!(show(&parse_plain("running dogs", &options).query), "(+<1:run 3:running^2> +<1:dog 3:dogs^2>)");
}

fn lucene(text: &str) -> (String, usize) {
    let parsed = parse_lucene(text, &options(MatchMode::Any, false));
    (show(&parsed.query), parsed.ignored.len())
}

#[test]
fn syntax_reads_operators_groups_and_fields() {
    for (text, expected) in [
        ("+griffith +observatory", "(+1:griffith +1:observatori)"),
        ("griffith observatory", "(1:griffith 1:observatori)"),
        ("\"griffith observatory\"~2", "1:\"0=griffith 1=observatori\"~2"),
        ("wasm -java", "(1:wasm -1:java)"),
        ("a1 AND b1 OR c1", "(+1:a1 +1:b1 1:c1)"),
        ("a1 && (b1 || c1)^2", "(+1:a1 +(1:b1 1:c1)^2)"),
        ("NOT java", "(-1:java)"),
        ("tag:Rust body:(range request)", "(2:Rust (1:rang 1:request))"),
        ("pre* x^0.5", "(1:pre* 1:x^0.5)"),
        ("*:* -x", "(* -1:x)"),
        ("a\\+b \\(x\\)", "(1:\"0=a 1=b\"~0 1:x)"),
        ("the cat", "1:cat"),
        ("the", "1:the"),
        ("", "nothing"),
    ] {
        assert_eq!(lucene(text), (expected.to_owned(), 0), "{text}");
    }
}

#[test]
fn syntax_reads_patterns_of_terms() {
    for (text, expected) in [
        ("Te?t* w*d", "(1:te?t* 1:w*d)"),
        ("Crème*", "1:creme*"),
        ("tag:a\\*b*", "2:a*b*"),
        ("tag:a\\*b*c", "2:a\\*b*c"),
        ("/Colou?r(s|ed)/^2", "1:/colou?r(s|ed)/^2"),
        ("tag:/A\\/b/", "2:/A/b/"),
        ("/usr/bin", "1:\"0=usr 1=bin\"~0"),
        ("fuzz~ ab~ running~1 longer~0.5 x~0", "(1:fuzz~1 1:ab 1:run~1 1:longer~2 1:x)"),
        ("body:serach~2^0.5", "1:serach~2^0.5"),
        ("body:[Apple TO pear} {* TO b]", "(1:[apple TO pear} 1:[* TO b])"),
        ("\"a \\\"b\\\" c\"", "1:\"0=a 1=b 2=c\"~0"),
        ("\"a1 Be*\"", "1:\"0=a1 1=be*\"~0"),
        ("\"a1 b1 Be*\"~3^2", "1:\"0=a1 1=b1 2=be*\"~3^2"),
        ("\"be*\" x", "(1:be* 1:x)"),
        ("tag:\"a b*\"", "2:a b*"),
        ("\"a1 b\\*\"", "1:\"0=a1 1=b\"~0"),
        ("(a1 b1 c1)~2", "(1:a1 1:b1 1:c1)/2"),
        ("*", "*"),
    ] {
        assert_eq!(lucene(text), (expected.to_owned(), 0), "{text}");
    }
}

#[test]
fn syntax_reads_conditions_on_columns() {
    let ranges = |name: &str, tests: &[(&str, &str)]| {
        let column = columns().into_iter().find(|column| column.name == name).unwrap();
        show(&Query::Column(ColumnQuery { field: column.field, test: column.test(tests).unwrap() }))
    };
    for (text, expected) in [
        ("year:[2019 TO 2021]", ranges("year", &[("gte", "2019"), ("lte", "2021")])),
        ("year:{2019 TO *]", ranges("year", &[("gt", "2019")])),
        ("year:[* TO 5}", ranges("year", &[("lt", "5")])),
        ("year:>=10", ranges("year", &[("gte", "10")])),
        ("year:<-10", ranges("year", &[("lt", "-10")])),
        ("year:2020", ranges("year", &[("eq", "2020")])),
        ("rank:>0.5^2", ranges("rank", &[("gt", "0.5")]) + "^2"),
        ("day:2020-02", ranges("day", &[("gte", "2020-02"), ("lt", "2020-03")])),
        ("day:<=2020-02-03T10:00:00Z", ranges("day", &[("lte", "2020-02-03T10:00:00Z")])),
        ("day:[\"2019\" TO 2020-05-01]", ranges("day", &[("gte", "2019"), ("lte", "2020-05-01")])),
        ("draft:true", ranges("draft", &[("eq", "true")])),
        ("tag:[a TO c}", ranges("tag", &[("gte", "a"), ("lt", "c")])),
        ("tag:>=\"a b\"", ranges("tag", &[("gte", "a b")])),
        ("id:17", ranges("id", &[("eq", "17")])),
        ("id:\"a b\"", ranges("id", &[("eq", "a b")])),
        (
            "year:(2019 OR 2020)",
            format!("({} {})", ranges("year", &[("eq", "2019")]), ranges("year", &[("eq", "2020")])),
        ),
    ] {
        assert_eq!(lucene(text), (expected, 0), "{text}");
    }
    for text in ["_exists_:year", "year:*", "year:[* TO *]"] {
        let exists = Query::Column(ColumnQuery { field: FieldOrd(4), test: ColumnTest::Exists });
        assert_eq!(lucene(text), (show(&exists), 0), "{text}");
    }
    let exists = Query::Column(ColumnQuery { field: FieldOrd(1), test: ColumnTest::Exists });
    assert_eq!(lucene("body:*").0, show(&exists));
}

#[test]
fn plain_words_are_left_out_behind_a_minus() {
    let any = |text| plain(text, MatchMode::Any, false);
    assert_eq!(any("wasm -java"), "(+1:wasm -1:java)");
    assert_eq!(any("range requests -java -\"to be\""), "(1:rang 1:request -1:\"0=to 1=be\"~0 -1:java)");
    assert_eq!(any("-range-requests http"), "(+1:http -(+1:rang +1:request))");
    assert_eq!(any("-java"), "1:java");
    assert_eq!(any("-\"a b\""), "1:\"0=a 1=b\"~0");
    assert_eq!(any("well-known -5 - x"), "(1:well 1:known 1:5 1:x)");
    assert_eq!(plain("cache -ran", MatchMode::All, true), "(+1:cach -1:ran)");
}

#[test]
fn plain_words_may_have_typing_errors() {
    let tolerant = |text, matching, prefix| {
        let options = ParseOptions { fuzzy: Fuzziness::Auto, fuzzy_prefix_len: 1, ..options(matching, prefix) };
        show(&parse_plain(text, &options).query)
    };
    assert_eq!(tolerant("serach ab 2019 -java", MatchMode::Any, false), "(1:serach~2 1:ab 1:2019 -1:java)");
    assert_eq!(tolerant("\"exact phrase\" wrods", MatchMode::All, false), "(+1:\"0=exact 1=phrase\"~0 +1:wrod~1)");
    assert_eq!(tolerant("cache serac", MatchMode::All, true), "(+1:cach~1 +<1:serac* 1:serac~1>)");
}

#[test]
fn syntax_reports_what_it_ignores() {
    for text in [
        "(a1",
        "a1)",
        "\"a1 b1",
        "AND a1",
        "a1 AND",
        "a1^",
        "[2019 TO 2021 a1",
        "[2019 2021] a1",
        "[ TO 5]",
        "range-request~",
        "fuzz~3",
        "fu*z~1",
        "/a(b/",
        "\"a b *\"",
        "\"a b**\"",
        "\"a* b\"",
        "\"*\"",
        "(a1 b1)~3",
        "year:abc",
        "year:[a TO b]",
        "year:>",
        "id:[1 TO 2]",
        "_exists_:nofield",
        "_exists_:>4",
        "draft:maybe",
        "nofield:x",
        "+",
        "a1 -",
        "((((",
        ")",
        "^2",
    ] {
        let (_, ignored) = lucene(text);
        assert!(ignored > 0, "{text}");
    }
    assert_eq!(lucene("nofield:x").0, "1:\"0=nofield 1=x\"~0");
    assert_eq!(lucene("(a1").0, "1:a1");
    assert_eq!(lucene("a1) b1").0, "(1:a1 1:b1)");
}

#[test]
fn anything_parses() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let parts = [
        "a",
        "the",
        "AND",
        "OR",
        "NOT",
        " ",
        " ",
        "(",
        ")",
        "\"",
        "~",
        "^",
        "2",
        ":",
        "tag:",
        "*",
        "?",
        "\\",
        "+",
        "-",
        "[",
        "]",
        "{",
        "}",
        " TO ",
        "/",
        ">=",
        "<",
        "year:",
        "day:",
        "_exists_:",
        "2019-02",
        "b*",
        "中",
        "é",
        "\u{301}",
    ];
    for _ in 0..5_000 {
        let text: String = (0..random.usize(0..30)).map(|_| parts[random.usize(0..parts.len())]).collect();
        for matching in [MatchMode::Any, MatchMode::All] {
            let fuzzy = [Fuzziness::Edits(0), Fuzziness::Edits(1), Fuzziness::Auto][random.usize(0..3)];
            let options = ParseOptions { fuzzy, ..options(matching, random.bool()) };
            let (plain, lucene) = (parse_plain(&text, &options), parse_lucene(&text, &options));
            assert!(lucene.ignored.len() <= 64);
            // What a parser gives can be searched for.
            for query in [plain.query, lucene.query] {
                Plan::new(&query, Vec::new()).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            }
        }
    }
    let deep = "(".repeat(100_000);
    assert!(!parse_lucene(&deep, &options(MatchMode::Any, false)).ignored.is_empty());
    let long = "a ".repeat(100_000);
    assert!(!parse_lucene(&long, &options(MatchMode::Any, false)).ignored.is_empty());
}

#[test]
fn a_pasted_book_is_read_in_part_and_said_so() {
    use super::{MAX_QUERY_BYTES, MAX_WORDS};
    let words = |query: &Query| match query {
        Query::Boolean(boolean) => boolean.should.len() + boolean.must.len(),
        other => panic!("{other:?}"),
    };
    for matching in [MatchMode::Any, MatchMode::All] {
        let plain = options(matching, false);
        let short = parse_plain(&"dog cat ".repeat(MAX_WORDS / 2), &plain);
        assert_eq!((words(&short.query), short.ignored.len()), (MAX_WORDS, 0));
        let long = parse_plain(&"dog cat ".repeat(MAX_WORDS), &plain);
        assert_eq!((words(&long.query), long.ignored), (MAX_WORDS, vec!["everything behind word 1024".to_owned()]));
    }
    // A run without spaces, cut inside of it; letters of three bytes never cut in the middle.
    let run = parse_plain(&"山水火".repeat(1 << 20), &options(MatchMode::Any, false));
    assert_eq!((words(&run.query), run.ignored.len()), (MAX_WORDS, 2));
    let phrase = format!("\"{}\"", "dog cat ".repeat(1 << 20));
    assert_eq!(parse_plain(&phrase, &options(MatchMode::Any, true)).ignored.len(), 2);
    let ignored = parse_lucene(&phrase, &options(MatchMode::Any, false)).ignored;
    assert!(ignored.contains(&format!("everything behind byte {MAX_QUERY_BYTES}")), "{ignored:?}");
}
