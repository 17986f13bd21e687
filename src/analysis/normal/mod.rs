//! Unicode normalisation: compatibility decomposition (NFKD) and canonical composition (Unicode Standard Annex #15).
//!
//! In place of the crate `unicode-normalization`: `table` holds the same facts in 40 KiB less of the compressed wasm
//! module. The tests hold every character and random strings against the crate.

#![forbid(unsafe_code)]

mod table;

use table::Table;

/// Nothing below decomposes, combines or follows another character in a composition.
const FIRST_SPECIAL: char = '\u{a0}';

/// Hangul syllables are computed: The Unicode Standard, section 3.12.
const SYLLABLES: u32 = 0xac00;
const LEADS: u32 = 0x1100;
const VOWELS: u32 = 0x1161;
/// One before the first: no tail is a tail too.
const TAILS: u32 = 0x11a7;
const NUM_LEADS: u32 = 19;
const NUM_VOWELS: u32 = 21;
const NUM_TAILS: u32 = 28;
const NUM_SYLLABLES: u32 = NUM_LEADS * NUM_VOWELS * NUM_TAILS;

/// Whether `letter` is a combining mark (general category M).
pub(crate) fn is_mark(letter: char) -> bool {
    letter >= FIRST_SPECIAL && Table::get().is_mark(letter)
}

/// The compatibility decomposition of `text`, in canonical order.
pub(super) fn decompose(text: &str) -> Vec<char> {
    let table = Table::get();
    let mut order = Order { out: Vec::with_capacity(text.len()), marks: Vec::new() };
    for letter in text.chars() {
        if letter < FIRST_SPECIAL {
            order.push(letter, 0);
            continue;
        }
        let syllable = u32::from(letter).wrapping_sub(SYLLABLES);
        if syllable < NUM_SYLLABLES {
            let (block, tail) = (syllable / NUM_TAILS, syllable % NUM_TAILS);
            order.push(at(LEADS + block / NUM_VOWELS), 0);
            order.push(at(VOWELS + block % NUM_VOWELS), 0);
            if tail > 0 {
                order.push(at(TAILS + tail), 0);
            }
            continue;
        }
        match table.decomposed(letter) {
            Some(parts) => parts.iter().for_each(|&part| order.push(part, table.class(part))),
            None => order.push(letter, table.class(letter)),
        }
    }
    order.end_marks();
    order.out
}

/// Composes `letters`, which are decomposed and in canonical order.
pub(super) fn compose(letters: &mut Vec<char>) {
    let table = Table::get();
    let (mut starter, mut kept, mut last_class) = (None, 0, 0);
    for ix in 0..letters.len() {
        let letter = letters[ix];
        let class = table.class(letter);
        if let Some(start) = starter {
            // Something between them that is no starter and combines in another place does not part them.
            let is_blocked = kept - start > 1 && last_class >= class;
            if let Some(composed) = pair(table, letters[start], letter).filter(|_| !is_blocked) {
                letters[start] = composed;
                continue;
            }
        }
        if class == 0 {
            starter = Some(kept);
        }
        last_class = class;
        letters[kept] = letter;
        kept += 1;
    }
    letters.truncate(kept);
}

fn pair(table: &Table, first: char, second: char) -> Option<char> {
    let (a, b) = (u32::from(first), u32::from(second));
    let (lead, vowel) = (a.wrapping_sub(LEADS), b.wrapping_sub(VOWELS));
    if lead < NUM_LEADS && vowel < NUM_VOWELS {
        return Some(at(SYLLABLES + (lead * NUM_VOWELS + vowel) * NUM_TAILS));
    }
    let (syllable, tail) = (a.wrapping_sub(SYLLABLES), b.wrapping_sub(TAILS));
    if syllable < NUM_SYLLABLES && syllable.is_multiple_of(NUM_TAILS) && (1..NUM_TAILS).contains(&tail) {
        return Some(at(a + tail));
    }
    table.composed(first, second)
}

/// Only for code points of Hangul, which are characters.
fn at(code_point: u32) -> char {
    char::from_u32(code_point).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Characters, the marks of each in the order of their classes.
struct Order {
    out: Vec<char>,
    /// Marks behind the last other character: class, place, character.
    marks: Vec<u64>,
}

impl Order {
    fn push(&mut self, letter: char, class: u8) {
        if class > 0 {
            self.marks.push(u64::from(class) << 56 | (self.marks.len() as u64) << 24 | u64::from(letter));
            return;
        }
        self.end_marks();
        self.out.push(letter);
    }

    fn end_marks(&mut self) {
        if self.marks.len() > 1 {
            self.marks.sort_unstable();
        }
        let letter = |mark: u64| char::from_u32(mark as u32 & 0xff_ffff).unwrap_or(char::REPLACEMENT_CHARACTER);
        self.out.extend(self.marks.drain(..).map(letter));
    }
}

#[cfg(test)]
mod tests {
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    fn nfkc(text: &str) -> String {
        let mut letters = decompose(text);
        compose(&mut letters);
        letters.into_iter().collect()
    }

    fn assert_same(text: &str) {
        assert!(decompose(text).into_iter().eq(text.nfkd()), "NFKD of {text:?}");
        assert!(nfkc(text).chars().eq(text.nfkc()), "NFKC of {text:?}");
    }

    #[test]
    fn every_character_is_as_the_reference_has_it() {
        for letter in '\0'..=char::MAX {
            assert_same(letter.encode_utf8(&mut [0; 4]));
            let class = unicode_normalization::char::canonical_combining_class(letter);
            assert_eq!(Table::get().class(letter), class, "class of {letter:?}");
            assert_eq!(is_mark(letter), unicode_normalization::char::is_combining_mark(letter), "{letter:?}");
        }
    }

    #[test]
    fn texts_are_as_the_reference_has_them() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        let is_special = |letter: &char| {
            let text = letter.to_string();
            is_mark(*letter) || text.nfd().ne(text.chars()) || text.nfkd().ne(text.chars())
        };
        let special: Vec<char> = all.iter().copied().filter(is_special).collect();
        let marks: Vec<char> = all.iter().copied().filter(|letter| is_mark(*letter)).collect();
        let common: Vec<char> =
            "aeEosnсикаωιかハ\u{3099}\u{300}\u{301}\u{308}\u{323}\u{327}\u{345}\u{1100}\u{1161}\u{11a8}가각ẛ"
                .chars()
                .collect();
        for _ in 0..100_000 {
            let text: String = (0..random.usize(0..9))
                .map(|_| {
                    let from = [&all, &special, &marks, &common, &common][random.usize(0..5)];
                    from[random.usize(0..from.len())]
                })
                .collect();
            assert_same(&text);
        }
    }

    #[test]
    fn many_marks_are_no_more_work_than_their_order() {
        let text = format!("a{}", "\u{301}\u{323}".repeat(100_000));
        assert_same(&text);
    }
}
