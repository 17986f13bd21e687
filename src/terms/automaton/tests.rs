//! Patterns against naive twins, over dictionaries.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, Range},
};

use super::*;
use crate::terms::{FieldOptions, FieldTotals, TermCursor, TermIndex, TermInfo, TermsWriter};

/// A dictionary of `words`, which ascend.
fn dictionary<'a>(words: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, TermIndex) {
    let (mut terms, mut writer) = (Vec::new(), TermsWriter::new(FieldOptions::KEYWORD));
    words.into_iter().for_each(|word| writer.push(word, &TermInfo::singleton(0), &mut terms).unwrap());
    let meta = writer.finish(FieldTotals::default(), 0, &mut terms);
    (terms, TermIndex::parse(&meta).unwrap())
}

/// Terms of a dictionary that match, by leaping; and the share of its bytes that was looked at.
fn search(pattern: &TermPattern, terms: &[u8], index: &TermIndex) -> (Vec<Vec<u8>>, f64) {
    let mut matcher = TermMatcher::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    let (mut found, mut read) = (Vec::new(), 0);
    let located = index.locate_pattern(&mut matcher, 0, u64::MAX);
    assert!(!located.is_cut && located.ranges.is_sorted_by(|a, b| a.end < b.start), "{:?}", located.ranges);
    for Range { start, end } in located.ranges {
        read += end - start;
        let mut cursor = TermCursor::new(FieldOptions::KEYWORD, &terms[start as usize..end as usize]);
        while cursor.advance().unwrap() {
            if matcher.matches(cursor.term()).is_some() {
                found.push(cursor.term().to_vec());
            }
        }
    }
    (found, read as f64 / terms.len().max(1) as f64)
}

fn random_words(random: &mut fastrand::Rng, letters: &[&str], max_len: usize, count: usize) -> BTreeMap<Vec<u8>, ()> {
    let word = |random: &mut fastrand::Rng| -> String {
        (0..random.usize(0..=max_len)).map(|_| letters[random.usize(0..letters.len())]).collect()
    };
    (0..count).map(|_| (word(random).into_bytes(), ())).collect()
}

#[test]
fn prefixes_and_ranges_agree_with_an_ordered_map() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..300 {
        let count = random.usize(0..600);
        let words = random_words(&mut random, &["a", "b", "é", "日", "z"], 7, count);
        let (terms, index) = dictionary(words.keys().map(Vec::as_slice));
        let mut probe = || random_words(&mut random, &["a", "b", "é", "日", "z"], 3, 1).into_keys().next().unwrap();
        let (low, high) = (probe(), probe());
        let expected: Vec<_> = words.keys().filter(|word| word.starts_with(&low)).cloned().collect();
        assert_eq!(search(&TermPattern::Prefix(low.clone()), &terms, &index).0, expected, "{low:?}");
        for (from, to) in [
            (Bound::Included(low.clone()), Bound::Excluded(high.clone())),
            (Bound::Excluded(low.clone()), Bound::Included(high.clone())),
            (Bound::Unbounded, Bound::Included(high.clone())),
            (Bound::Included(low.clone()), Bound::Unbounded),
        ] {
            use std::ops::RangeBounds;
            let expected: Vec<_> =
                words.keys().filter(|word| (from.clone(), to.clone()).contains(*word)).cloned().collect();
            assert_eq!(search(&TermPattern::Range { from, to }, &terms, &index).0, expected, "{low:?} {high:?}");
        }
    }
}

#[test]
fn a_prefix_reads_its_blocks_alone() {
    let words: Vec<_> = (0..20_000).map(|number| format!("w{number:05}").into_bytes()).collect();
    let (terms, index) = dictionary(words.iter().map(Vec::as_slice));
    let (found, share) = search(&TermPattern::Prefix(b"w012".to_vec()), &terms, &index);
    assert_eq!(found.len(), 100);
    assert!(share < 0.01, "{share}");
    assert_eq!(search(&TermPattern::Prefix(b"x".to_vec()), &terms, &index).1, 0.0);
}

/// Wildcards by their definition.
fn wildcard(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['*', rest @ ..] => (0..=text.len()).any(|skip| wildcard(rest, &text[skip..])),
        ['\\', letter, rest @ ..] => text.first() == Some(letter) && wildcard(rest, &text[1..]),
        ['?', rest @ ..] => !text.is_empty() && wildcard(rest, &text[1..]),
        [letter, rest @ ..] => text.first() == Some(letter) && wildcard(rest, &text[1..]),
    }
}

/// Regular expressions by their definition: where a match of `self` that begins at `from` may end.
enum Naive {
    Any,
    One(char),
    Class(bool, Vec<(char, char)>),
    Chain(Vec<Naive>),
    Either(Vec<Naive>),
    Repeat(Box<Naive>, usize, Option<usize>),
}

impl Naive {
    fn ends(&self, text: &[char], from: usize) -> BTreeSet<usize> {
        let one = |fits: bool| if fits { [from + 1].into() } else { BTreeSet::new() };
        match self {
            Self::Any => one(from < text.len()),
            Self::One(letter) => one(text.get(from) == Some(letter)),
            Self::Class(negated, ranges) => one(text
                .get(from)
                .is_some_and(|letter| ranges.iter().any(|(low, high)| low <= letter && letter <= high) != *negated)),
            Self::Chain(parts) => parts.iter().fold([from].into(), |starts: BTreeSet<usize>, part| {
                starts.into_iter().flat_map(|start| part.ends(text, start)).collect()
            }),
            Self::Either(parts) => parts.iter().flat_map(|part| part.ends(text, from)).collect(),
            Self::Repeat(inner, min, max) => {
                let mut found = BTreeSet::new();
                let mut starts: BTreeSet<usize> = [from].into();
                // More rounds than characters find nothing new.
                for round in 0..=max.unwrap_or(usize::MAX).min(min + text.len() + 1) {
                    if round >= *min {
                        found.extend(starts.iter().copied());
                    }
                    starts = starts.into_iter().flat_map(|start| inner.ends(text, start)).collect();
                }
                found
            }
        }
    }

    fn write(&self, out: &mut String) {
        let list = |parts: &[Self], joint: &str, out: &mut String| {
            out.push('(');
            for (ix, part) in parts.iter().enumerate() {
                out.push_str(if ix > 0 { joint } else { "" });
                part.write(out);
            }
            out.push(')');
        };
        match self {
            Self::Any => out.push('.'),
            Self::One(letter) if letter.is_alphanumeric() => out.push(*letter),
            Self::One(letter) => out.extend(['\\', *letter]),
            Self::Class(negated, ranges) => {
                out.push_str(if *negated { "[^" } else { "[" });
                for (low, high) in ranges {
                    if low == high { out.push(*low) } else { out.extend([*low, '-', *high]) }
                }
                out.push(']');
            }
            Self::Chain(parts) => list(parts, "", out),
            Self::Either(parts) => list(parts, "|", out),
            Self::Repeat(inner, min, max) => {
                out.push('(');
                inner.write(out);
                out.push(')');
                out.push_str(&match (min, max) {
                    (0, None) => "*".to_owned(),
                    (1, None) => "+".to_owned(),
                    (0, Some(1)) => "?".to_owned(),
                    (min, None) => format!("{{{min},}}"),
                    (min, Some(max)) if min == max => format!("{{{min}}}"),
                    (min, Some(max)) => format!("{{{min},{max}}}"),
                });
            }
        }
    }

    fn random(random: &mut fastrand::Rng, depth: usize) -> Self {
        let letter = |random: &mut fastrand::Rng| ['a', 'b', 'é', '日', '.', '𝄞'][random.usize(0..6)];
        let parts = |random: &mut fastrand::Rng| -> Vec<Self> {
            (0..random.usize(0..4)).map(|_| Self::random(random, depth - 1)).collect()
        };
        match if depth == 0 { random.u8(0..5) } else { random.u8(0..11) } {
            0 => Self::Any,
            1 => {
                let mut range = || {
                    let (a, b) = (letter(random), letter(random));
                    if random.bool() { (a, a) } else { (a.min(b), a.max(b)) }
                };
                let ranges = vec![range(), range()];
                Self::Class(random.bool(), ranges)
            }
            2..=4 => Self::One(letter(random)),
            5 | 6 => Self::Chain(parts(random)),
            7 | 8 => Self::Either(std::iter::once(Self::One(letter(random))).chain(parts(random)).collect()),
            _ => {
                let min = random.usize(0..3);
                let max = random.bool().then(|| min + random.usize(0..3));
                Self::Repeat(Box::new(Self::random(random, depth - 1)), min, max)
            }
        }
    }
}

/// Optimal string alignment by its whole table.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let differ = usize::from(a[i - 1] != b[j - 1]);
                (table[i - 1][j] + 1).min(table[i][j - 1] + 1).min(table[i - 1][j - 1] + differ)
            };
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                table[i][j] = table[i][j].min(table[i - 2][j - 2] + 1);
            }
        }
    }
    table[a.len()][b.len()]
}

fn chars(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// Checks what leaping finds in a random dictionary, and `matches` in random order, against `expected`.
fn check(random: &mut fastrand::Rng, pattern: &TermPattern, letters: &[&str], expected: impl Fn(&[char]) -> bool) {
    let (max_len, count) = (random.usize(0..9), random.usize(0..500));
    let words = random_words(random, letters, max_len, count);
    let (terms, index) = dictionary(words.keys().map(Vec::as_slice));
    let fits = |word: &&Vec<u8>| expected(&chars(std::str::from_utf8(word).unwrap()));
    let wanted: Vec<_> = words.keys().filter(fits).cloned().collect();
    assert_eq!(search(pattern, &terms, &index).0, wanted, "{pattern:?}");
    let mut matcher = TermMatcher::new(pattern).unwrap();
    let all: Vec<_> = words.keys().collect();
    for _ in 0..all.len().min(100) {
        let word = all[random.usize(0..all.len())];
        assert_eq!(matcher.matches(word).is_some(), wanted.contains(word), "{pattern:?} {word:?}");
        // Leaping from anywhere passes over no match, and matching goes on behind it.
        let mut from = all[random.usize(0..all.len())].clone();
        from.truncate(random.usize(0..=from.len()));
        let next = wanted.iter().find(|word| **word >= from);
        match matcher.seek(&from) {
            Some(found) => {
                assert!(found >= from, "{pattern:?}: {found:?} below {from:?}");
                assert!(next.is_none_or(|next| *next >= found), "{pattern:?}: {found:?} passes {next:?}");
            }
            None => assert_eq!(next, None, "{pattern:?} from {from:?}"),
        }
    }
}

const LETTERS: [&str; 6] = ["a", "b", "é", "日", ".", "𝄞"];

#[test]
fn wildcards_agree_with_a_naive_matcher() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let parts = ["*", "?", "a", "b", "é", "日", "\\*", "\\a", "\\\\"];
    for _ in 0..400 {
        let pattern: String = (0..random.usize(0..7)).map(|_| parts[random.usize(0..parts.len())]).collect();
        let naive = chars(&pattern);
        let letters = ["a", "b", "é", "日", "*", "\\"];
        check(&mut random, &TermPattern::Wildcard(pattern), &letters, |text| wildcard(&naive, text));
    }
}

#[test]
fn regular_expressions_agree_with_a_naive_matcher() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..600 {
        let naive = Naive::random(&mut random, 3);
        let mut pattern = String::new();
        naive.write(&mut pattern);
        if TermMatcher::new(&TermPattern::Regex(pattern.clone())).is_err() {
            assert!(chars(&pattern).len() > MAX_PATTERN_CHARS, "{pattern}");
            continue;
        }
        check(&mut random, &TermPattern::Regex(pattern), &LETTERS, |text| naive.ends(text, 0).contains(&text.len()));
    }
}

#[test]
fn fuzzy_terms_agree_with_the_whole_table() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..400 {
        let term: String = (0..random.usize(0..8)).map(|_| LETTERS[random.usize(0..LETTERS.len())]).collect();
        let pattern = FuzzyPattern { prefix_len: random.u32(0..3), ..FuzzyPattern::new(term.clone(), random.u8(0..4)) };
        let (naive, edits) = (chars(&term), usize::from(pattern.max_edits.min(MAX_EDITS)));
        let prefix = (pattern.prefix_len as usize).min(naive.len());
        check(&mut random, &TermPattern::Fuzzy(pattern), &LETTERS, |text| {
            let distance = distance(&naive, text);
            distance <= edits
                && (distance == 0 || distance < naive.len().min(text.len()))
                && text.starts_with(&naive[..prefix])
        });
    }
}

#[test]
fn edits_are_counted() {
    for (term, near, edits) in [
        ("search", "search", Some(0)),
        ("search", "serach", Some(1)),
        ("search", "saerhc", Some(2)),
        ("search", "earch", Some(1)),
        ("search", "searches", Some(2)),
        ("search", "sreaches", None),
        ("ca", "abc", None),
        ("ab", "cd", None),
        ("a", "b", None),
        ("naïve", "naive", Some(1)),
        ("日本語", "日語本", Some(1)),
    ] {
        let mut matcher = TermMatcher::new(&TermPattern::Fuzzy(FuzzyPattern::new(term, 2))).unwrap();
        assert_eq!(matcher.matches(near.as_bytes()), edits, "{term} {near}");
    }
    assert_eq!([0, 2, 3, 5, 6, 100].map(auto_edits), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn expressions_that_are_none_say_why() {
    for (pattern, expected) in [
        ("a(b", "a `(` without its `)` at character 3"),
        ("ab)", "a `)` without its `(` at character 3"),
        ("*a", "nothing to repeat at character 1"),
        ("a|+", "nothing to repeat at character 3"),
        ("[ab", "a `[` without its `]` at character 3"),
        ("[b-a]", "a range that ends before it begins at character 4"),
        ("a{2,1}", "a repetition that ends before it begins at character 6"),
        ("a{x}", "a `{` without a number at character 2"),
        ("a{2", "a `{` without its `}` at character 3"),
        ("a{1001}", "too many repetitions"),
        ("(a{100}){100}", "too many repetitions"),
        ("((((){1000}){1000}){1000}){1000}", "too many repetitions"),
        ("a\\", "nothing behind `\\` at character 2"),
    ] {
        let error = TermMatcher::new(&TermPattern::Regex(pattern.to_owned())).expect_err(pattern);
        assert_eq!(error.to_string(), expected, "{pattern}");
    }
    for pattern in ["(".repeat(900), "a".to_owned() + &"*".repeat(900), "a".repeat(1001)] {
        assert!(TermMatcher::new(&TermPattern::Regex(pattern)).is_err());
    }
}

#[test]
fn escapes_classes_and_anchors() {
    for (pattern, yes, no) in [
        ("^ab$", "ab", "^ab$"),
        ("a\\$", "a$", "a"),
        ("a^b", "a^b", "ab"),
        ("\\d+\\.\\d", "12.5", "12x5"),
        ("[]a-]+", "a]-", "b"),
        ("[^\\d]", "x", "7"),
        ("[\\w\\-]+", "a_-", "a b"),
        ("\\S\\s\\S", "a b", "abb"),
        ("", "", "a"),
        ("a||b", "", "ab"),
        ("(a{2}){2}", "aaaa", "aaa"),
        (".{3}", "日本語", "日本"),
    ] {
        let mut matcher = TermMatcher::new(&TermPattern::Regex(pattern.to_owned())).unwrap();
        assert!(matcher.matches(yes.as_bytes()).is_some(), "{pattern} {yes}");
        assert!(matcher.matches(no.as_bytes()).is_none(), "{pattern} {no}");
    }
}

#[test]
fn bytes_that_are_no_text_match_no_automaton() {
    for pattern in [TermPattern::Wildcard("*".to_owned()), TermPattern::Fuzzy(FuzzyPattern::new("abc", 2))] {
        let mut matcher = TermMatcher::new(&pattern).unwrap();
        for term in [&b"ab\xff"[..], b"\xe6\x97", b"ab\xc3", b"ab\xff\xff"] {
            assert_eq!(matcher.matches(term), None, "{term:?}");
            let found = matcher.seek(term).expect("something is above");
            assert!(found.as_slice() > term && std::str::from_utf8(&found).is_ok(), "{found:?}");
        }
        assert!(matcher.matches(b"abc").is_some());
    }
}

/// A dictionary of 200,000 terms, a few of them long.
fn large() -> (Vec<u8>, TermIndex, usize) {
    let mut random = fastrand::Rng::with_seed(1);
    let letters: Vec<String> = ('a'..='z').map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    let mut words = random_words(&mut random, &letters, 10, 280_000);
    words.extend((1..250).map(|len| ("a".repeat(len).into_bytes(), ())));
    let (terms, index) = dictionary(words.keys().map(Vec::as_slice));
    (terms, index, words.len())
}

#[test]
fn nasty_expressions_end_and_narrow_ones_read_little() {
    let (terms, index, count) = large();
    assert!(count > 150_000, "{count}");
    let search = |pattern: &str| {
        let started = std::time::Instant::now();
        let mut matcher = TermMatcher::with_work(&TermPattern::Regex(pattern.to_owned()), 4_000_000).unwrap();
        let located = index.locate_pattern(&mut matcher, 0, u64::MAX);
        let read: u64 = located.ranges.iter().map(|range| range.end - range.start).sum();
        let mut found = 0;
        for Range { start, end } in located.ranges {
            let mut cursor = TermCursor::new(FieldOptions::KEYWORD, &terms[start as usize..end as usize]);
            while cursor.advance_key().unwrap() {
                found += usize::from(matcher.matches(cursor.term()).is_some());
            }
        }
        println!("{pattern}: {found} of {count}, {:?}, exhausted {}", started.elapsed(), matcher.is_exhausted());
        assert!(started.elapsed().as_secs() < 20, "{pattern} took {:?}", started.elapsed());
        (found, read as f64 / terms.len() as f64, matcher.is_exhausted())
    };
    assert_eq!(search("(a|aa)+$").0, 249);
    assert_eq!(search("(a*)*b").0, search("a*b").0);
    assert_eq!(search(".{1000}").0, 0);
    assert_eq!(search(".{200,249}").0, 50);
    assert_eq!(search("((a{1,9}){1,9}){1,20}").0, 249);
    assert_eq!(search(".*").0, count);
    // A state for each set of the last twenty letters: too many to make them all.
    search(".*a.{20}");
    search("(.*a.*b.*c.*){9}(.*[a-m].{9}){9}");
    assert!(!search("(.?){900}(.*z.{300}){3}").2);
    let pattern = TermPattern::Regex("(.?){900}(.*z.{300}){3}".to_owned());
    let mut matcher = TermMatcher::with_work(&pattern, 50_000).unwrap();
    let mut cursor = TermCursor::new(FieldOptions::KEYWORD, &terms);
    while cursor.advance_key().unwrap() {
        matcher.matches(cursor.term());
    }
    assert!(matcher.is_exhausted(), "what takes long stops");
    assert_eq!((matcher.matches(&[b'a'; 20]), matcher.seek(b"b")), (None, None));
    let (found, share, _) = search("quer[iy].*");
    assert!(found < 20 && share < 0.001, "{found} {share}");
    let (_, share, _) = search("[m-p]a{2}.*");
    assert!(share < 0.01, "{share}");
    let fuzzy = TermPattern::Fuzzy(FuzzyPattern::new("rangefind", 1));
    let located = index.locate_pattern(&mut TermMatcher::new(&fuzzy).unwrap(), 0, u64::MAX);
    let read: u64 = located.ranges.iter().map(|range| range.end - range.start).sum();
    assert!(read * 20 < terms.len() as u64, "{read} of {}", terms.len());
}

#[test]
fn any_text_is_an_expression_or_an_error() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let parts =
        ["a", "(", ")", "[", "]", "^", "-", "|", "*", "+", "?", "{", "}", "1", "9", ",", "\\", ".", "é", "$", "d"];
    for _ in 0..20_000 {
        let text: String = (0..random.usize(0..20)).map(|_| parts[random.usize(0..parts.len())]).collect();
        if let Ok(mut matcher) = TermMatcher::with_work(&TermPattern::Regex(text), 10_000) {
            for term in ["", "a", "é9", "aaaaaaaa"] {
                matcher.matches(term.as_bytes());
                matcher.seek(term.as_bytes());
            }
        }
    }
}
