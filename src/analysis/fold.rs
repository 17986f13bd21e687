//! Case and diacritics: `Crème` and `creme` are one term.
//!
//! Compatibility decomposition (NFKD), marks of alphabets taken off, lowercase, composed again (NFC). Marks that
//! make another letter stay: Japanese voicing, vowel signs of Indic scripts and Thai.

use std::borrow::Cow;

use crate::analysis::normal;

/// `text` without case and diacritics. Idempotent.
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    fold_into(text, &mut out);
    Cow::Owned(out)
}

/// The same into `out`, which is cleared first.
pub(super) fn fold_into(text: &str, out: &mut String) {
    out.clear();
    if text.is_ascii() {
        out.push_str(text);
        out.make_ascii_lowercase();
        return;
    }
    let letters = normal::decompose(text);
    for letter in letters.into_iter().filter(|&letter| !is_stripped(letter)).flat_map(char::to_lowercase) {
        match plain(letter) {
            Some(plain) => out.push_str(plain),
            None => out.push(letter),
        }
    }
    if !out.is_ascii() {
        // Lowercasing may leave a mark of its own (capital I with a dot).
        let mut letters = normal::decompose(out);
        letters.retain(|&letter| !is_stripped(letter));
        normal::compose(&mut letters);
        out.clear();
        out.extend(letters);
    }
}

/// Marks without which the same word is meant: Latin, Greek, Cyrillic, Hebrew, Arabic; and what is invisible.
fn is_stripped(letter: char) -> bool {
    matches!(u32::from(letter),
        0x300..=0x36f | 0x483..=0x489 | 0x591..=0x5bd | 0x5bf | 0x5c1..=0x5c2 | 0x5c4..=0x5c5 | 0x5c7
        | 0x610..=0x61a | 0x640 | 0x64b..=0x65f | 0x670 | 0x6d6..=0x6dc | 0x6df..=0x6e4 | 0x6e7..=0x6e8 | 0x6ea..=0x6ed
        | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20f0 | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f
        | 0xad | 0x200b..=0x200f | 0x2060 | 0xfeff)
}

/// Letters that decompose to nothing simpler and are still written in plain ones.
fn plain(letter: char) -> Option<&'static str> {
    Some(match letter {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ð' | 'đ' => "d",
        'þ' => "th",
        'ħ' => "h",
        'ı' => "i",
        'ł' => "l",
        'ŋ' => "n",
        'ŧ' => "t",
        'ς' => "σ",
        '’' | '‘' | 'ʼ' | '＇' => "'",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_alphabets_and_keeps_other_scripts() {
        for (text, folded) in [
            ("Crème Brûlée", "creme brulee"),
            ("Straße", "strasse"),
            ("ŁÓDŹ", "lodz"),
            ("İstanbul", "istanbul"),
            ("Ὀδυσσεύς", "οδυσσευσ"),
            ("Ёлка", "елка"),
            ("ﬁne ＡＢＣ", "fine abc"),
            ("がぎ", "がぎ"),
            ("한국어", "한국어"),
            ("हिन्दी", "हिन्दी"),
            ("ภาษาไทย", "ภาษาไทย"),
            ("مُحَمَّد", "محمد"),
            ("don’t", "don't"),
        ] {
            assert_eq!(fold(text), folded);
        }
    }

    #[test]
    fn folding_twice_changes_nothing() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..20_000 {
            let text: String = (0..random.usize(0..4)).map(|_| random.char(..)).collect();
            let once = fold(&text).into_owned();
            assert_eq!(fold(&once), once, "{text:?}");
        }
    }
}
