//! What Unicode says of each character: decomposition, class, composition, whether it is a mark.
//!
//! `unicode.bin` is written by the test `write_table` from the crate `unicode-normalization`, and is six columns of
//! LEB128 numbers, packed one behind the other after their six lengths in bytes (u32, little-endian):
//!
//! | column | what |
//! |---|---|
//! | 0 | for each character with a compatibility decomposition: code point, minus that of the one before |
//! | 1 | how many characters it becomes |
//! | 2 | the first of them, minus that of the entry before, zigzag |
//! | 3 | the others |
//! | 4 | for each run of characters of one class and kind: length, then class × 2 + 1 if they are marks |
//! | 5 | for each composition: composed character minus the last, zigzag; first part minus the last, zigzag; second part |

#![forbid(unsafe_code)]

use std::sync::OnceLock;

static BYTES: &[u8] = include_bytes!("unicode.bin");

/// Code points of a page have their entries side by side.
const PAGE_BITS: u32 = 6;
const NUM_COLUMNS: usize = 6;

/// The unpacked table. About 120 KiB, made at the first text that is not ASCII.
pub(super) struct Table {
    /// Entries of the page, as the end of the entries of all pages up to it.
    page_ends: Vec<u16>,
    /// Code point of each entry, ascending, and where its characters end.
    entries: Vec<(u32, u16)>,
    parts: Vec<char>,
    /// First code point of each run, and its class × 2 + 1 if they are marks. Ascending; the first is 0.
    runs: Vec<(u32, u16)>,
    /// Both parts in one number, ascending, and the composed character.
    pairs: Vec<(u64, char)>,
}

impl Table {
    pub fn get() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| Self::unpack(BYTES))
    }

    /// The compatibility decomposition of `letter` where it has one, Hangul apart.
    pub fn decomposed(&self, letter: char) -> Option<&[char]> {
        let code = u32::from(letter);
        let page = (code >> PAGE_BITS) as usize;
        let end = *self.page_ends.get(page)?;
        let start = page.checked_sub(1).map_or(0, |before| self.page_ends[before]);
        let entries = &self.entries[usize::from(start)..usize::from(end)];
        let ix = usize::from(start) + entries.binary_search_by_key(&code, |entry| entry.0).ok()?;
        let from = ix.checked_sub(1).map_or(0, |before| self.entries[before].1);
        Some(&self.parts[usize::from(from)..usize::from(self.entries[ix].1)])
    }

    /// Canonical combining class; 0 is no mark that moves.
    pub fn class(&self, letter: char) -> u8 {
        // The first mark is the combining grave accent; ideographs and syllables have none.
        if letter < '\u{300}' || ('\u{3100}'..'\u{a000}').contains(&letter) { 0 } else { (self.run(letter) >> 1) as u8 }
    }

    pub fn is_mark(&self, letter: char) -> bool {
        self.run(letter) & 1 == 1
    }

    fn run(&self, letter: char) -> u16 {
        let behind = self.runs.partition_point(|run| run.0 <= u32::from(letter));
        self.runs[behind - 1].1
    }

    /// What `first` and `second` compose to, Hangul apart.
    pub fn composed(&self, first: char, second: char) -> Option<char> {
        // All second parts are marks or vowel signs.
        if second < '\u{300}' {
            return None;
        }
        let ix = self.pairs.binary_search_by_key(&key(first, second), |pair| pair.0).ok()?;
        Some(self.pairs[ix].1)
    }

    fn unpack(bytes: &'static [u8]) -> Self {
        let (lengths, mut rest) = bytes.split_at(NUM_COLUMNS * 4);
        let mut columns = [Column(&[]); NUM_COLUMNS];
        for (column, len) in columns.iter_mut().zip(lengths.chunks_exact(4)) {
            let len = u32::from_le_bytes([len[0], len[1], len[2], len[3]]);
            (column.0, rest) = rest.split_at(len as usize);
        }
        let [mut codes, mut counts, mut firsts, mut others, mut runs, mut pairs] = columns;
        let mut table =
            Self { page_ends: Vec::new(), entries: Vec::new(), parts: Vec::new(), runs: Vec::new(), pairs: Vec::new() };
        let (mut code, mut first) = (0, 0);
        while !codes.0.is_empty() {
            code += codes.next();
            first = moved(first, firsts.next());
            table.parts.push(letter(first));
            table.parts.extend((1..counts.next()).map(|_| letter(others.next())));
            table.page_ends.resize((code >> PAGE_BITS) as usize, table.entries.len() as u16);
            table.entries.push((code, table.parts.len() as u16));
        }
        table.page_ends.push(table.entries.len() as u16);
        let mut start = 0;
        while !runs.0.is_empty() {
            let len = runs.next();
            table.runs.push((start, runs.next() as u16));
            start += len;
        }
        let (mut composed, mut first) = (0, 0);
        while !pairs.0.is_empty() {
            composed = moved(composed, pairs.next());
            first = moved(first, pairs.next());
            table.pairs.push((key(letter(first), letter(pairs.next())), letter(composed)));
        }
        table.pairs.sort_unstable();
        table
    }
}

fn key(first: char, second: char) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// Our own bytes hold characters only; the tests read all of them.
fn letter(code: u32) -> char {
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn moved(from: u32, zigzag: u32) -> u32 {
    from.wrapping_add(zigzag >> 1 ^ (zigzag & 1).wrapping_neg())
}

/// The rest of a column.
#[derive(Clone, Copy)]
struct Column(&'static [u8]);

impl Column {
    fn next(&mut self) -> u32 {
        let (mut value, mut shift) = (0, 0);
        while let Some((&byte, rest)) = self.0.split_first() {
            self.0 = rest;
            value |= u32::from(byte & 127) << shift;
            if byte < 128 {
                break;
            }
            shift += 7;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use unicode_normalization::{
        UnicodeNormalization,
        char::{canonical_combining_class, is_combining_mark},
    };

    use super::*;

    fn put(column: &mut Vec<u8>, mut value: u32) {
        while value >= 128 {
            column.push(value as u8 | 128);
            value >>= 7;
        }
        column.push(value as u8);
    }

    fn put_move(column: &mut Vec<u8>, last: &mut u32, value: u32) {
        let step = value.wrapping_sub(*last) as i32;
        put(column, (step << 1 ^ step >> 31) as u32);
        *last = value;
    }

    fn packed() -> Vec<u8> {
        let mut columns = [const { Vec::new() }; NUM_COLUMNS];
        let (mut last_code, mut last_first, mut last_composed, mut last_part) = (0, 0, 0, 0);
        let (mut run, mut run_len) = (0, 0);
        for code in 0..=u32::from(char::MAX) {
            let of_letter = char::from_u32(code).map_or(0, |letter| {
                u32::from(canonical_combining_class(letter)) * 2 + u32::from(is_combining_mark(letter))
            });
            if of_letter != run {
                put(&mut columns[4], run_len);
                put(&mut columns[4], run);
                (run, run_len) = (of_letter, 0);
            }
            run_len += 1;
            let Some(letter) = char::from_u32(code).filter(|letter| !('가'..='힣').contains(letter)) else {
                continue;
            };
            let text = letter.to_string();
            let parts: Vec<char> = text.nfkd().collect();
            if parts != [letter] {
                put(&mut columns[0], code - last_code);
                last_code = code;
                put(&mut columns[1], parts.len() as u32);
                put_move(&mut columns[2], &mut last_first, parts[0].into());
                parts[1..].iter().for_each(|&part| put(&mut columns[3], part.into()));
            }
            let mut parts: Vec<char> = text.nfd().collect();
            if parts.len() > 1 && text.nfc().eq([letter]) {
                let second = parts.pop().expect("two");
                let first: Vec<char> = parts.into_iter().nfc().collect();
                assert_eq!(first.len(), 1, "{letter:?} has one first part");
                put_move(&mut columns[5], &mut last_composed, code);
                put_move(&mut columns[5], &mut last_part, first[0].into());
                put(&mut columns[5], second.into());
            }
        }
        put(&mut columns[4], run_len);
        put(&mut columns[4], run);
        let lengths = columns.iter().flat_map(|column| (column.len() as u32).to_le_bytes());
        lengths.chain(columns.iter().flatten().copied()).collect()
    }

    #[test]
    fn the_table_is_what_the_reference_says() {
        let is_same = packed() == BYTES;
        assert!(is_same, "cargo test --lib write_table -- --ignored writes the table of another Unicode version");
    }

    #[test]
    #[ignore = "writes src/analysis/normal/unicode.bin"]
    fn write_table() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/analysis/normal/unicode.bin"), packed())
            .expect("written");
    }
}
