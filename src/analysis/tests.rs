//! What analyzers give, in golden values and properties.

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
    for name in Analyzer::names() {
        assert_eq!(Analyzer::find(name).unwrap().name(), name);
    }
    assert_eq!(Analyzer::find("klingon"), None);
}

#[test]
fn long_words_take_a_position_and_give_no_term() {
    let text = format!("a {} b", "x".repeat(MAX_WORD_BYTES + 1));
    let tokens = Analyzer::find("standard").unwrap().tokens(&text);
    let found: Vec<_> = tokens.iter().map(|token| (token.term.as_str(), token.position)).collect();
    assert_eq!(found, [("a", 0), ("b", 2)]);
}

#[test]
fn offsets_cut_the_words_out_of_any_text() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let ranges = [0x20..0x7f, 0xa0..0x250, 0x300..0x370, 0x600..0x700, 0xe00..0xe80, 0x3040..0x3100, 0x4e00..0x4f00];
    for _ in 0..2_000 {
        let text: String = (0..random.usize(0..40))
            .filter_map(|_| {
                if random.u8(0..10) == 0 {
                    return Some(random.char(..));
                }
                let range = ranges[random.usize(0..ranges.len())].clone();
                char::from_u32(random.u32(range))
            })
            .collect();
        for name in Analyzer::names() {
            let mut last = 0;
            Analyzer::find(name).unwrap().analyze(&text, |token| {
                assert!(token.start < token.end && !token.term.is_empty());
                assert!(text.get(token.start as usize..token.end as usize).is_some());
                assert!(token.position >= last);
                last = token.position;
            });
        }
    }
}
