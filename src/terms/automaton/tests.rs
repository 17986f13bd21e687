//! Patterns against naive twins, over dictionaries.

use std::{
    collections::BTreeMap,
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
    let mut matcher = TermMatcher::new(pattern);
    let (mut found, mut read) = (Vec::new(), 0);
    let located = index.locate_pattern(&mut matcher, 0, u64::MAX);
    assert!(!located.is_cut && located.ranges.is_sorted_by(|a, b| a.end < b.start), "{:?}", located.ranges);
    for Range { start, end } in located.ranges {
        read += end - start;
        let mut cursor = TermCursor::new(FieldOptions::KEYWORD, &terms[start as usize..end as usize]);
        while cursor.advance().unwrap() {
            if matcher.matches(cursor.term()) {
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
