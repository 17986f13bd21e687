//! Words of a text: UAX #29 word boundaries, with bigrams in runs of scripts that are written without spaces.
//!
//! ASCII text takes a path of its own, which a test holds against the full rules.

use unicode_segmentation::UnicodeSegmentation;

/// What a word is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    /// A word between spaces or punctuation.
    Spaced,
    /// Two neighbours in a run of Han, Kana, Hangul or Thai.
    Bigram,
    /// A run of one such character.
    LoneIdeograph,
}

/// Bytes of a word in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub start: u32,
    pub end: u32,
    pub kind: WordKind,
}

/// Gives the words of `text`, which is shorter than 4 GiB, to `sink`.
pub(super) fn words(text: &str, mut sink: impl FnMut(Word)) {
    // Words do not cross ASCII spaces: only the pieces that need it take the full rules.
    let bytes = text.as_bytes();
    let (mut start, mut at) = (0, 0);
    while start < bytes.len() {
        // A run of ASCII up to the last space in front of something else.
        at = bytes[at..].iter().position(|byte| !byte.is_ascii()).map_or(bytes.len(), |ix| at + ix);
        let ascii_end = match at == bytes.len() {
            true => at,
            false => bytes[start..at].iter().rposition(|byte| *byte == b' ').map_or(start, |ix| start + ix),
        };
        ascii_words(&bytes[start..ascii_end], |word| sink(moved(word, start)));
        start = ascii_end;
        if start == bytes.len() {
            return;
        }
        // Then everything up to the next space.
        let end = bytes[at..].iter().position(|byte| *byte == b' ').map_or(bytes.len(), |ix| at + ix);
        unicode_words(&text[start..end], |word| sink(moved(word, start)));
        (start, at) = (end, end);
    }
}

/// As [`words`], compiled once: for everything but indexing.
pub(super) fn words_dyn(text: &str, sink: &mut dyn FnMut(Word)) {
    words(text, sink);
}

fn moved(word: Word, by: usize) -> Word {
    Word { start: word.start + by as u32, end: word.end + by as u32, ..word }
}

/// What the word rules make of an ASCII character.
const OTHER: u8 = 0;
const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const UNDERSCORE: u8 = 3;
/// Between letters: `:`.
const MID_LETTER: u8 = 4;
/// Between digits: `,` `;`.
const MID_NUMBER: u8 = 5;
/// Between either: `.` `'`.
const MID_BOTH: u8 = 6;

const CLASSES: [u8; 256] = {
    let mut classes = [OTHER; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'A'..=b'Z' | b'a'..=b'z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b':' => MID_LETTER,
            b',' | b';' => MID_NUMBER,
            b'.' | b'\'' => MID_BOTH,
            _ => OTHER,
        };
        byte += 1;
    }
    classes
};

/// Rules WB5–WB13b for ASCII; only segments with a letter or digit are words.
fn ascii_words(text: &[u8], mut sink: impl FnMut(Word)) {
    let class = |ix: usize| text.get(ix).map_or(OTHER, |&byte| CLASSES[usize::from(byte)]);
    let mut ix = 0;
    while ix < text.len() {
        if !matches!(class(ix), LETTER | DIGIT | UNDERSCORE) {
            ix += 1;
            continue;
        }
        let (start, mut has_word) = (ix, false);
        loop {
            let here = class(ix);
            has_word |= here != UNDERSCORE;
            let next = class(ix + 1);
            ix += match next {
                LETTER | DIGIT | UNDERSCORE => 1,
                MID_LETTER if here == LETTER && class(ix + 2) == LETTER => 2,
                MID_NUMBER if here == DIGIT && class(ix + 2) == DIGIT => 2,
                MID_BOTH if (here == LETTER || here == DIGIT) && class(ix + 2) == here => 2,
                _ => break,
            };
        }
        ix += 1;
        if has_word {
            sink(Word { start: start as u32, end: ix as u32, kind: WordKind::Spaced });
        }
    }
}

fn unicode_words(text: &str, mut sink: impl FnMut(Word)) {
    let mut run = Run::default();
    for (start, word) in text.unicode_word_indices() {
        if !word.chars().any(is_unspaced) {
            run.end(&mut sink);
            sink(Word { start: start as u32, end: (start + word.len()) as u32, kind: WordKind::Spaced });
            continue;
        }
        // A segment may mix scripts (Katakana joined to Latin by an underscore): spaced parts stay words.
        let mut spaced: Option<usize> = None;
        for (offset, letter) in word.char_indices() {
            let at = start + offset;
            if is_unspaced(letter) {
                if let Some(from) = spaced.take() {
                    run.end(&mut sink);
                    sink(Word { start: from as u32, end: at as u32, kind: WordKind::Spaced });
                }
                run.push(at, at + letter.len_utf8(), &mut sink);
            } else if run.end_at == at && is_joined_mark(letter) && spaced.is_none() {
                run.extend(at + letter.len_utf8());
            } else {
                spaced.get_or_insert(at);
            }
        }
        if let Some(from) = spaced {
            run.end(&mut sink);
            if word[from - start..].chars().any(char::is_alphanumeric) {
                sink(Word { start: from as u32, end: (start + word.len()) as u32, kind: WordKind::Spaced });
            }
        }
    }
    run.end(&mut sink);
}

/// Neighbouring characters of a script without spaces.
#[derive(Default)]
struct Run {
    /// The last character and the one before, as starts.
    last: Option<usize>,
    before: Option<usize>,
    end_at: usize,
}

impl Run {
    fn push(&mut self, start: usize, end: usize, sink: &mut impl FnMut(Word)) {
        if self.end_at != start {
            self.end(sink);
        }
        self.emit(sink);
        self.before = self.last;
        self.last = Some(start);
        self.end_at = end;
    }

    /// Adds a mark to the last character.
    fn extend(&mut self, end: usize) {
        self.end_at = end;
    }

    /// Gives the bigram of the last two characters, now that marks cannot follow any more.
    fn emit(&mut self, sink: &mut impl FnMut(Word)) {
        if let (Some(before), Some(_)) = (self.before, self.last) {
            sink(Word { start: before as u32, end: self.end_at as u32, kind: WordKind::Bigram });
        }
    }

    fn end(&mut self, sink: &mut impl FnMut(Word)) {
        self.emit(sink);
        if let (None, Some(last)) = (self.before, self.last) {
            sink(Word { start: last as u32, end: self.end_at as u32, kind: WordKind::LoneIdeograph });
        }
        *self = Self::default();
    }
}

/// Letters of scripts written without spaces: Han, Kana, Hangul, Thai, Lao, Khmer, Burmese.
pub(super) fn is_unspaced(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0e01..=0x0e30 | 0x0e32..=0x0e33 | 0x0e40..=0x0e46 | 0x0e81..=0x0eb0 | 0x0eb2..=0x0eb3 | 0x0ebd..=0x0ec6
        | 0x1000..=0x102a | 0x103f | 0x1050..=0x1055 | 0x1780..=0x17b3
        | 0x1100..=0x115f | 0x3005..=0x3007 | 0x3041..=0x3096 | 0x309d..=0x309f | 0x30a1..=0x30ff | 0x3105..=0x312f
        | 0x3131..=0x318e | 0x31a0..=0x31bf | 0x31f0..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xa960..=0xa97f
        | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xff66..=0xff9d | 0xffa0..=0xffdc
        | 0x1aff0..=0x1b16f | 0x20000..=0x3ffff)
}

/// Marks that belong to the character before them in those scripts; so do the voicing marks of half-width Kana, and
/// vowels and final consonants of Hangul syllables that are written apart.
fn is_joined_mark(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0e31 | 0x0e34..=0x0e3a | 0x0e47..=0x0e4e | 0x0eb1 | 0x0eb4..=0x0ebc | 0x0ec8..=0x0ece
        | 0x102b..=0x103e | 0x1056..=0x1059 | 0x1160..=0x11ff | 0x17b4..=0x17d3 | 0x3099..=0x309a | 0xd7b0..=0xd7ff
        | 0xff9e..=0xff9f | 0xfe00..=0xfe0f | 0xe0100..=0xe01ef
        | 0x200d)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(run: impl FnOnce(&mut dyn FnMut(Word))) -> Vec<Word> {
        let mut words = Vec::new();
        run(&mut |word| words.push(word));
        words
    }

    #[test]
    fn ascii_path_agrees_with_the_full_rules() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let alphabet = b"ab1 2_.',:;-/\"\n\r\x00~Z";
        for _ in 0..20_000 {
            let text: String =
                (0..random.usize(0..14)).map(|_| char::from(alphabet[random.usize(0..alphabet.len())])).collect();
            let fast = collect(|sink| ascii_words(text.as_bytes(), sink));
            let full = collect(|sink| unicode_words(&text, sink));
            assert_eq!(fast, full, "{text:?}");
        }
    }

    #[test]
    fn cutting_at_spaces_agrees_with_the_full_rules() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let alphabet: Vec<char> = "ab1'. :_ é\u{301}\u{200d}日本カ_한 กิ\u{a0}\n🇩🇪👍ß".chars().collect();
        for _ in 0..20_000 {
            let text: String = (0..random.usize(0..16)).map(|_| alphabet[random.usize(0..alphabet.len())]).collect();
            // The full rules hang a mark on a space before it, and may call both a word; here the space stays outside.
            if [" \u{301}", " \u{200d}", " \u{e34}"].iter().any(|odd| text.contains(odd)) {
                continue;
            }
            let cut = collect(|sink| words(&text, sink));
            let full = collect(|sink| unicode_words(&text, sink));
            assert_eq!(cut, full, "{text:?}");
        }
    }

    #[test]
    fn marks_stay_with_their_letter() {
        let thai = "กินข้าว";
        let words = collect(|sink| words(thai, sink));
        let parts: Vec<_> = words.iter().map(|word| &thai[word.start as usize..word.end as usize]).collect();
        assert_eq!(parts, ["กิน", "นข้", "ข้า", "าว"]);
    }

    #[test]
    fn spelled_out_syllables_are_cut_as_their_short_forms() {
        for (long, short) in [("ﾊﾞﾝﾊﾞﾝ", "バンバン"), ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}", "한국")]
        {
            let count = |text: &str| collect(|sink| words(text, sink)).len();
            assert_eq!(count(long), count(short), "{long}");
        }
    }
}
