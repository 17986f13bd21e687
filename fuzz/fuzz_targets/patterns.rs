//! Any pattern is refused or ends, over any terms; leaping passes over no match.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::terms::{FuzzyPattern, TermMatcher, TermPattern};

fuzz_target!(|data: (u8, &str, Vec<Vec<u8>>)| {
    let (kind, text, mut terms) = data;
    let pattern = match kind % 4 {
        0 => TermPattern::Wildcard(text.to_owned()),
        1 => TermPattern::Fuzzy(FuzzyPattern {
            prefix_len: u32::from(kind >> 4),
            ..FuzzyPattern::new(text, kind >> 2 & 3)
        }),
        _ => TermPattern::Regex(text.to_owned()),
    };
    let Ok(mut matcher) = TermMatcher::with_work(&pattern, 1_000_000) else { return };
    terms.sort();
    let matching: Vec<_> = terms.iter().filter(|term| matcher.matches(term).is_some()).collect();
    for from in &terms {
        let next = matching.iter().find(|term| *term >= &from);
        match matcher.seek(from) {
            Some(found) => assert!(&found >= from && next.is_none_or(|next| **next >= found)),
            None => assert!(next.is_none() || matcher.is_exhausted()),
        }
    }
});
