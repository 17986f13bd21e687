//! Characters by number: Unicode scalar values without the gap of the surrogates, so that ranges of them have none.
//! The order of numbers is that of the characters and of their UTF-8 bytes.

/// Number of characters.
pub const NUM_CHARS: u32 = 0x11_0000 - GAP;
const GAP: u32 = 0x800;
const FIRST_SURROGATE: u32 = 0xd800;

/// The number of a character.
pub fn number(letter: char) -> u32 {
    let code = u32::from(letter);
    if code < FIRST_SURROGATE { code } else { code - GAP }
}

/// The character of a number below [`NUM_CHARS`].
pub fn letter(number: u32) -> char {
    let code = if number < FIRST_SURROGATE { number } else { number + GAP };
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The first character of `bytes` and its length; `None` if they begin with no whole character. They are not empty.
#[inline]
pub fn first(bytes: &[u8]) -> Option<(u32, usize)> {
    let &head = bytes.first()?;
    if head < 0x80 {
        return Some((u32::from(head), 1));
    }
    let len = match head {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let text = std::str::from_utf8(bytes.get(..len)?).ok()?;
    text.chars().next().map(|letter| (number(letter), len))
}

/// The first character whose UTF-8 is at or above `bytes`; [`NUM_CHARS`] if there is none.
pub fn at_or_above(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (0, NUM_CHARS);
    while low < high {
        let middle = low.midpoint(high);
        let below = letter(middle).encode_utf8(&mut [0; 4]).as_bytes() < bytes;
        if below { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_in_the_order_of_bytes() {
        let mut last = Vec::new();
        for wanted in 0..NUM_CHARS {
            let found = letter(wanted);
            assert_eq!(number(found), wanted);
            let mut bytes = [0; 4];
            let bytes = found.encode_utf8(&mut bytes).as_bytes();
            assert_eq!(first(bytes), Some((wanted, bytes.len())));
            assert!(wanted == 0 || last.as_slice() < bytes);
            last = bytes.to_vec();
        }
    }

    #[test]
    fn cut_and_foreign_bytes_are_no_character() {
        for bytes in [&b"\xe6\x97"[..], b"\x80", b"\xed\xa0\x80", b"\xc0\x80", b"\xff", b"\xf5\x80\x80\x80", b""] {
            assert_eq!(first(bytes), None, "{bytes:?}");
        }
        assert_eq!(at_or_above(b""), 0);
        assert_eq!(at_or_above(b"a"), number('a'));
        assert_eq!(at_or_above(b"\xe6\x97"), number('\u{65c0}'));
        assert_eq!(at_or_above(b"\xed\xa0"), number('\u{e000}'));
        assert_eq!(at_or_above(b"\xff"), NUM_CHARS);
    }
}
