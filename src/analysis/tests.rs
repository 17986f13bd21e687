//! What analyzers give, in golden values and properties.

use serde_json::{Value, json};

use super::*;

fn terms(name: &str, text: &str) -> Vec<String> {
    Analyzer::find(name).unwrap().tokens(text).into_iter().map(|token| token.term).collect()
}

#[test]
fn stems_and_folds_english() {
    assert_eq!(terms("english", "Running dogs' naïve fiancée's"), ["run", "dog", "naiv", "fiance"]);
    assert_eq!(terms("standard", "Running dogs' naïve"), ["running", "dogs", "naive"]);
    assert_eq!(terms("keyword", "As It Is"), ["As It Is"]);
    assert_eq!(terms("lowercase", "As Ít Is"), ["as it is"]);
    assert_eq!(terms("english", "don’t can't 3.14 1,000 a.b"), ["don't", "can't", "3.14", "1,000", "a.b"]);
}

#[test]
fn bigrams_cover_scripts_without_spaces() {
    assert_eq!(terms("english", "日本語です"), ["日本", "本語", "語で", "です"]);
    assert_eq!(terms("english", "北京 2008 奥运会"), ["北京", "2008", "奥运", "运会"]);
    assert_eq!(terms("english", "한국어 검색"), ["한국", "국어", "검색"]);
    assert_eq!(terms("english", "カタカナ"), ["カタ", "タカ", "カナ"]);
    assert!(terms("english", "ภาษาไทย").len() > 3);
    let lone = Analyzer::find("english").unwrap().tokens("中");
    assert!(lone[0].is_lone_ideograph);
}

#[test]
fn names_find_themselves() {
    let names: Vec<_> = Analyzer::names().collect();
    assert_eq!((names.len(), names[0]), (38, "english"));
    for name in names {
        assert_eq!(Analyzer::find(name).unwrap().name(), name);
    }
    for (tag, name) in [("de", "german"), ("pt-BR", "portuguese"), ("EN_us", "english"), ("ja", "standard")] {
        assert_eq!(Analyzer::find(tag).unwrap().name(), name);
    }
    assert_eq!(Analyzer::find("klingon"), None);
    assert_eq!(Analyzer::find("xx"), None);
}

#[test]
fn long_words_take_a_position_and_give_no_term() {
    let text = format!("a {} b", "x".repeat(MAX_WORD_BYTES + 1));
    let tokens = Analyzer::find("standard").unwrap().tokens(&text);
    let found: Vec<_> = tokens.iter().map(|token| (token.term.as_str(), token.position)).collect();
    assert_eq!(found, [("a", 0), ("b", 2)]);
}

/// Analyzer, text, terms; `!` behind a stop word.
const GOLDEN: [(&str, &str, &str); 31] = [
    (
        "german",
        "Häusern aufeinanderfolgenden Straßen strassen Bücher die",
        "haus aufeinanderfolg strass strass buch die!",
    ),
    ("french", "L'amitié d’hommes continuellement chevaux qu'il les", "amiti homm continuel cheval il! les!"),
    ("italian", "dell'acqua l'Italia abbandonata nell'uomo", "acqua ital abbandon uom"),
    ("catalan", "l'home d'aigua cançons", "hom aigu cancon"),
    ("spanish", "niños caminando rápidamente de", "nin camin rapid de!"),
    ("portuguese", "nações quilométricas boataria", "naco quilometr boat"),
    ("dutch", "lichamelijkheden opglimpen", "lichamelijk opglimp"),
    ("swedish", "jaktkarlarne klostergården", "jaktkarl klostergard"),
    ("norwegian", "opplysningskontorer", "opplysningskontor"),
    ("danish", "indtagelse undersøgelser", "indtag undersog"),
    ("finnish", "edeltäjiinsä taloissa", "edeltaj talo"),
    ("hungarian", "megsemmisítették", "megsemmisitette"),
    ("romanian", "abruptelor copiilor", "abrupt cop"),
    ("russian", "Ёлка ёлки важнейшими страны и", "елк елк важн стран и!"),
    ("greek", "Ὀδυσσεύς ανθρώπων ΔΙΚΑΙΏΜΑΤΑ δικαιώματα ΟΔΟΣ οδός", "οδυσσε ανθρωπ δικαιωμ δικαιωμ οδ οδ"),
    ("turkish", "Türkiye'nin İSTANBUL'DA ISPARTA kitaplarımızdan", "turki istanbul ispar kitap"),
    ("arabic", "الكتاب المدرسة مدرسه إلى ٣", "كتاب مدرس مدرس الي! 3"),
    ("persian", "کتاب‌ها می‌خواهم كتابها ۱۲", "كتاب خواه كتاب 12"),
    ("hindi", "लड़कियों लडकियाँ किताबें १२", "लडक लडक किताब 12"),
    ("nepali", "नेपालीहरू", "नेपालि"),
    ("tamil", "மரங்கள்", "மரங்"),
    ("polish", "kobietami ludzi", "kobiet ludz"),
    ("czech", "městech lidé", "mest lid"),
    ("estonian", "raamatutes", "raama"),
    ("lithuanian", "knygose žmonės", "knyg zmon"),
    ("irish", "d'fhear bhfuil an", "fear fuil an!"),
    ("indonesian", "membaca kebersamaan yang", "baca sama yang!"),
    ("basque", "etxeetan", "etxe"),
    ("armenian", "մարդկանց", "մարդկ"),
    ("vietnamese", "Quyền Con Người", "quyền con người"),
    ("english", "running the dogs", "run the! dog"),
];

#[test]
fn each_language_has_its_golden_terms() {
    for (name, text, expected) in GOLDEN {
        let mark = |token: OwnedToken| token.term + if token.is_stop_word { "!" } else { "" };
        let found: Vec<_> = Analyzer::find(name).unwrap().tokens(text).into_iter().map(mark).collect();
        assert_eq!(found.join(" "), expected, "{name}");
    }
    // Decomposed letters and compatibility forms are the same words.
    assert_eq!(terms("german", "Ha\u{308}user ＨÄＵＳＥＲ"), ["haus", "haus"]);
    assert_eq!(terms("french", "ﬁnale"), terms("french", "finale"));
}

#[test]
fn marks_point_at_the_word_without_its_article() {
    let text = "l'Homme d’Istanbul";
    let tokens = Analyzer::find("french").unwrap().tokens(text);
    let marked: Vec<_> = tokens.iter().map(|token| &text[token.start as usize..token.end as usize]).collect();
    assert_eq!(marked, ["Homme", "Istanbul"]);
    let text = "İstanbul'da";
    let token = &Analyzer::find("turkish").unwrap().tokens(text)[0];
    assert_eq!(&text[token.start as usize..token.end as usize], "İstanbul");
}

fn pipeline(definition: Value) -> Analyzer {
    AnalyzerSpec::from_json(&definition).unwrap().analyzer().unwrap()
}

fn terms_of(analyzer: &Analyzer, text: &str) -> Vec<String> {
    analyzer.tokens(text).into_iter().map(|token| token.term).collect()
}

#[test]
fn pipelines_do_what_they_say_in_order() {
    let analyzer = pipeline(json!({ "tokenizer": "whitespace", "filters": ["nfkc", "lowercase", { "stop": ["der"] },
        { "length": { "min": 2, "max": 6 } }] }));
    assert_eq!(terms_of(&analyzer, "Der ＡＢＣ-Ä x zu-lange"), ["der", "abc-ä"]);
    assert!(analyzer.tokens("Der")[0].is_stop_word);
    let analyzer = pipeline(json!({ "filters": [{ "elision": "it" }, "apostrophe", { "lowercase": "tr" }] }));
    assert_eq!(terms_of(&analyzer, "l'Arte IĞDIR'da"), ["arte", "ığdır"]);
    let analyzer = pipeline(json!({ "tokenizer": "keyword", "filters": ["fold", { "spelling": "arabic" }] }));
    assert_eq!(terms_of(&analyzer, "Ab مدرسة"), ["ab مدرسه"]);
    let grams = pipeline(json!({ "tokenizer": { "type": "edgeNgram", "min": 2, "max": 3 }, "filters": ["fold"] }));
    assert_eq!(terms_of(&grams, "Äbcd e"), ["ab", "abc", "abcd", "e"]);
    let grams = pipeline(json!({ "tokenizer": { "type": "ngram", "min": 2, "max": 2 } }));
    assert_eq!(terms_of(&grams, "aaab"), ["aa", "ab"]);
    let query: Vec<_> = grams.query_words("aaab")[0].alternatives[0].iter().map(|token| token.term.clone()).collect();
    assert_eq!(query, ["aa", "ab"]);
}

#[test]
fn senseless_definitions_are_refused_by_what_is_wrong() {
    let rules = |rules: Value| json!({ "filters": [{ "synonyms": rules }] });
    let many: Vec<_> = (0..10_001).map(|ix| format!("a{ix}, b{ix}")).collect();
    for (definition, word) in [
        (json!(3), "expected a name"),
        (json!({ "tokeniser": "standard" }), "tokeniser"),
        (json!({ "tokenizer": "icu" }), "icu"),
        (json!({ "tokenizer": { "type": "standard", "min": 1 } }), "min"),
        (json!({ "tokenizer": { "type": "edgeNgram", "min": 0 } }), "0 to 12"),
        (json!({ "tokenizer": { "type": "edgeNgram", "max": 1000 } }), "1000"),
        (json!({ "tokenizer": { "type": "ngram", "min": 1, "max": 32 } }), "lengths"),
        (json!({ "tokenizer": { "type": "ngram", "min": -1 } }), "number"),
        (json!({ "filters": "fold" }), "list"),
        (json!({ "filters": ["folded"] }), "folded"),
        (json!({ "filters": [{ "stem": "klingon" }] }), "klingon"),
        (json!({ "filters": [{ "stop": "tamil" }] }), "tamil"),
        (json!({ "filters": [{ "stop": [1] }] }), "strings"),
        (json!({ "filters": [{ "stem": "de", "stop": "de" }] }), "unknown filter"),
        (json!({ "filters": [{ "elision": "german" }] }), "german"),
        (json!({ "filters": [{ "length": { "min": 5, "max": 2 } }] }), "5 to 2"),
        (rules(json!(["alone"])), "alone"),
        (rules(json!(["a, ,"])), "each side"),
        (rules(json!(["a => "])), "each side"),
        (rules(json!(["a b c d e f g h i, j"])), "each side"),
        (rules(json!(many)), "10000"),
        (rules(json!({ "rules": ["a, b"], "at": "noon" })), "query"),
        (json!({ "tokenizer": "code", "filters": [{ "synonyms": ["a, b"] }] }), "synonyms do not go"),
    ] {
        let error = AnalyzerSpec::from_json(&definition).unwrap_err().to_string();
        assert!(error.contains(word), "{definition}: {error}");
    }
    let unknown = AnalyzerSpec::from_json(&json!("mine")).unwrap();
    assert_eq!(unknown.analyzer(), Err(AnalyzerError::Unknown { name: "mine".to_owned() }));
}

#[test]
fn definitions_come_back_as_they_were() {
    for definition in [
        json!("german"),
        json!("mine"),
        json!({ "tokenizer": "code", "filters": [] }),
        json!({ "tokenizer": { "type": "ngram", "min": 2, "max": 3 }, "filters": ["fold", { "stem": "german" },
            { "stop": ["a"] }, { "length": { "min": 0, "max": 9 } }] }),
        json!({ "tokenizer": "standard", "filters": [{ "synonyms": { "rules": ["a, b"], "at": "query" } }] }),
    ] {
        let spec = AnalyzerSpec::from_json(&definition).unwrap();
        assert_eq!(spec.to_json(), &definition);
        assert_eq!(AnalyzerSpec::from_json(spec.to_json()).unwrap(), spec);
    }
    let short = AnalyzerSpec::from_json(&json!({ "filters": [{ "synonyms": ["a, b"] }] })).unwrap();
    assert_eq!(short.to_json()["filters"][0]["synonyms"]["at"], "query");
}

/// A text of letters of all scripts that an analyzer knows, and a few that none knows.
fn random_text(random: &mut fastrand::Rng) -> String {
    const RANGES: [(u32, u32); 18] = [
        (0x20, 0x7f),
        (0x41, 0x7b),
        (0x61, 0x7b),
        (0xa0, 0x250),
        (0x300, 0x370),
        (0x370, 0x400),
        (0x400, 0x460),
        (0x530, 0x590),
        (0x600, 0x700),
        (0x900, 0x980),
        (0xb80, 0xc00),
        (0xe00, 0xe80),
        (0x1000, 0x1060),
        (0x1100, 0x1200),
        (0x1e00, 0x2000),
        (0x3040, 0x3100),
        (0x4e00, 0x4f00),
        (0xff00, 0xffa0),
    ];
    let (start, end) = RANGES[random.usize(0..RANGES.len())];
    let letter = |random: &mut fastrand::Rng| match random.u8(0..16) {
        0 => Some(random.char(..)),
        1 => Some([' ', '\'', '’', '_', '-', '.', '\u{200c}'][random.usize(0..7)]),
        2 => {
            let (start, end) = RANGES[random.usize(0..RANGES.len())];
            char::from_u32(random.u32(start..end))
        }
        _ => char::from_u32(random.u32(start..end)),
    };
    (0..random.usize(0..40)).filter_map(|_| letter(random)).collect()
}

/// All built-in analyzers, and pipelines that they are not.
fn all_analyzers() -> Vec<Analyzer> {
    let more = [
        json!({ "tokenizer": { "type": "ngram", "min": 1, "max": 4 }, "filters": ["nfkc", "lowercase"] }),
        json!({ "tokenizer": { "type": "edgeNgram", "min": 3, "max": 3 }, "filters": ["fold", { "stem": "en" }] }),
        json!({ "filters": ["fold", { "synonyms": { "rules": ["a, b c, d", "e => f g", "a b => c"], "at": "index" } }] }),
        json!({ "filters": ["fold", { "synonyms": ["a, b c, d", "e => f g", "a b => c"] }] }),
    ];
    Analyzer::names().filter_map(Analyzer::find).chain(more.map(pipeline)).collect()
}

#[test]
fn tokens_lie_in_their_text_and_come_of_it() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let analyzers = all_analyzers();
    for _ in 0..150 {
        let text = random_text(&mut random);
        for analyzer in &analyzers {
            let mut last = 0;
            analyzer.analyze(&text, |token| {
                let word = text.get(token.start as usize..token.end as usize);
                assert!(word.is_some_and(|word| !word.is_empty()), "{} {text:?} {token:?}", analyzer.name());
                assert!(!token.term.is_empty() && token.term.len() <= MAX_TERM_BYTES);
                assert!(token.position >= last, "{} {text:?}", analyzer.name());
                last = token.position;
                if let (true, Some(word)) = (analyzer.is_wordwise(), word) {
                    // What is marked is what was indexed.
                    let mut normalizer = Normalizer::new(analyzer);
                    assert_eq!(normalizer.term(word).map(|found| found.0), Some(token.term), "{}", analyzer.name());
                }
            });
            let mut last = 0;
            for word in analyzer.query_words(&text) {
                assert!(text.get(word.start as usize..word.end as usize).is_some_and(|word| !word.is_empty()));
                assert!(!word.alternatives.is_empty() && word.alternatives.iter().all(|tokens| !tokens.is_empty()));
                assert!(word.position >= last);
                last = word.position;
            }
            analyzer.completions(&text);
            analyzer.prefix(&text);
        }
    }
}

#[test]
fn words_one_by_one_give_the_tokens_of_the_text() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let analyzers: Vec<_> = all_analyzers().into_iter().filter(Analyzer::is_wordwise).collect();
    assert!(analyzers.len() > 30);
    for _ in 0..100 {
        let text = random_text(&mut random);
        for analyzer in &analyzers {
            let mut normalizer = Normalizer::new(analyzer);
            let mut fast: Vec<(String, u32)> = Vec::new();
            analyzer.words(&text, |word, position| {
                fast.extend(normalizer.term(word).map(|(term, _)| (term.to_owned(), position)));
            });
            let slow: Vec<_> = analyzer.tokens(&text).into_iter().map(|token| (token.term, token.position)).collect();
            assert_eq!(fast, slow, "{} {text:?}", analyzer.name());
        }
    }
}

#[test]
fn what_was_written_is_found_by_its_own_words() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let analyzers = all_analyzers();
    for _ in 0..100 {
        let text = random_text(&mut random);
        for analyzer in &analyzers {
            let indexed = terms_of(analyzer, &text);
            for word in analyzer.query_words(&text).iter().filter(|word| !word.is_extra) {
                let is_found = |token: &OwnedToken| match token.is_lone_ideograph {
                    true => indexed.iter().any(|term| term.starts_with(&token.term)),
                    false => indexed.contains(&token.term),
                };
                let found = word.alternatives.iter().any(|tokens| tokens.iter().all(is_found));
                // A rule that replaces a word in queries expects the other one in texts.
                let is_replaced = analyzer.has_synonyms() && analyzer.is_wordwise();
                assert!(found || is_replaced, "{} {text:?} {word:?}", analyzer.name());
            }
        }
    }
}

#[test]
fn any_json_is_a_definition_or_refused() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let words = [
        "tokenizer",
        "filters",
        "type",
        "min",
        "max",
        "synonyms",
        "rules",
        "at",
        "stop",
        "stem",
        "length",
        "ngram",
        "edgeNgram",
        "fold",
        "de",
        "a, b",
        "a => b",
        "index",
    ];
    fn value(random: &mut fastrand::Rng, words: &[&str], depth: u32) -> Value {
        let word = |random: &mut fastrand::Rng| words[random.usize(0..words.len())];
        match random.u8(0..if depth > 3 { 3 } else { 6 }) {
            0 => json!(random.i32(-2..40)),
            1 | 2 => json!(word(random)),
            3 => Value::Array((0..random.usize(0..4)).map(|_| value(random, words, depth + 1)).collect()),
            _ => {
                let entries =
                    (0..random.usize(0..4)).map(|_| (word(random).to_owned(), value(random, words, depth + 1)));
                Value::Object(entries.collect())
            }
        }
    }
    for _ in 0..3_000 {
        let definition =
            json!({ "tokenizer": value(&mut random, &words, 2), "filters": [value(&mut random, &words, 0)] });
        if let Ok(spec) = AnalyzerSpec::from_json(&definition) {
            assert_eq!(AnalyzerSpec::from_json(spec.to_json()).unwrap(), spec);
            spec.analyzer().unwrap().tokens("a b Wörter");
        }
    }
}
