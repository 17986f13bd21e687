//! Marks in stored texts: byte ranges become UTF-16 ranges, and a part of the text is cut out around them.

#![forbid(unsafe_code)]

use std::ops::Range;

use crate::query::request::FieldHighlight;

/// Longest snippet, characters.
pub const SNIPPET_CHARS: usize = 200;
/// Characters of context before the first match of a snippet.
const LEAD_CHARS: usize = 40;
/// Matches looked at as a possible start of the snippet.
const MAX_STARTS: usize = 1000;

/// The highlight of one text; `None` if nothing in it is marked. `ranges` are bytes, ascending, not overlapping,
/// on character boundaries.
pub fn highlight(field: &str, value_ix: u32, text: &str, ranges: &[Range<usize>]) -> Option<FieldHighlight> {
    if ranges.is_empty() {
        return None;
    }
    let part = best_part(text, ranges);
    let inside: Vec<Range<usize>> = ranges
        .iter()
        .filter(|range| range.start >= part.start && range.end <= part.end)
        .map(|range| range.start - part.start..range.end - part.start)
        .collect();
    let snippet = &text[part];
    Some(FieldHighlight {
        field: field.to_owned(),
        value_ix,
        ranges: to_utf16(text, ranges),
        snippet: snippet.to_owned(),
        snippet_ranges: to_utf16(snippet, &inside),
    })
}

/// Byte ranges, ascending and not overlapping, as ranges of UTF-16 code units.
pub fn to_utf16(text: &str, ranges: &[Range<usize>]) -> Vec<(u32, u32)> {
    let (mut byte, mut units) = (0, 0u32);
    let mut move_to = |to: usize| {
        units += text[byte..to].encode_utf16().count() as u32;
        byte = to;
        units
    };
    ranges.iter().map(|range| (move_to(range.start), move_to(range.end))).collect()
}

/// The part of the text with the most matches; the first of several such. The whole text if it is short.
fn best_part(text: &str, ranges: &[Range<usize>]) -> Range<usize> {
    if forward(text, 0, SNIPPET_CHARS) == text.len() {
        return 0..text.len();
    }
    let mut best = (0, 0..0);
    for (ix, range) in ranges.iter().enumerate().take(MAX_STARTS) {
        let start = word_start(text, backward(text, range.start, LEAD_CHARS), range.start);
        let mut end = forward(text, start, SNIPPET_CHARS);
        let matches = ranges[ix..].iter().take_while(|range| range.end <= end).count();
        if matches > best.0 || best.1.is_empty() {
            if end == text.len() {
                // Use the room: begin earlier where the text ends early.
                let earlier = backward(text, end, SNIPPET_CHARS);
                best = (matches, word_start(text, earlier, range.start)..end);
                continue;
            }
            let last_match = ranges[ix..ix + matches].last().map_or(range.end.min(end), |range| range.end);
            end = word_end(text, last_match, end);
            best = (matches, start..end);
        }
    }
    best.1
}

/// `count` characters after `from`, or the end.
fn forward(text: &str, from: usize, count: usize) -> usize {
    text[from..].char_indices().nth(count).map_or(text.len(), |(at, _)| from + at)
}

/// `count` characters before `from`, or the start.
fn backward(text: &str, from: usize, count: usize) -> usize {
    text[..from].char_indices().rev().take(count).last().map_or(from, |(at, _)| at)
}

/// First word start in `from..to`, `to` if there is no space between: a snippet begins with a whole word.
fn word_start(text: &str, from: usize, to: usize) -> usize {
    let begins_word = text[..from].chars().next_back().is_none_or(char::is_whitespace);
    if begins_word {
        return from;
    }
    // Text without spaces is cut anywhere.
    text[from..to]
        .char_indices()
        .find(|(_, char)| char.is_whitespace())
        .map_or(from, |(at, char)| from + at + char.len_utf8())
}

/// Last word end in `from..to`.
fn word_end(text: &str, from: usize, to: usize) -> usize {
    if text[to..].chars().next().is_none_or(char::is_whitespace) {
        return to;
    }
    text[from..to].char_indices().rev().find(|(_, char)| char.is_whitespace()).map_or(to, |(at, _)| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_all(text: &str, word: &str) -> Vec<Range<usize>> {
        text.match_indices(word).map(|(at, word)| at..at + word.len()).collect()
    }

    #[test]
    fn offsets_count_utf16_units() {
        let text = "𝄞é a 𝄞x a";
        let found = highlight("body", 2, text, &find_all(text, "a")).expect("marked");
        assert_eq!(found.ranges, [(4, 5), (10, 11)]);
        assert_eq!(
            (found.snippet.as_str(), found.snippet_ranges.clone(), found.value_ix),
            (text, found.ranges.clone(), 2)
        );
        assert_eq!(highlight("body", 0, text, &[]), None);
    }

    #[test]
    fn the_snippet_is_where_most_matches_are() {
        let filler = "lorem ipsum dolor sit amet ".repeat(40);
        let text = format!("{filler}needle {filler}needle needle needle {filler}needle");
        let found = highlight("body", 0, &text, &find_all(&text, "needle")).expect("marked");
        assert_eq!((found.ranges.len(), found.snippet_ranges.len()), (5, 3));
        assert!(found.snippet.chars().count() <= SNIPPET_CHARS);
        assert!(!found.snippet.starts_with(' ') && found.snippet.contains("needle needle needle"));
        let first = text.find(&found.snippet).expect("a part of the text");
        assert!(text[..first].ends_with(' '), "begins with a whole word");
    }

    #[test]
    fn snippets_are_parts_of_any_text() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..2000 {
            let text: String =
                (0..rng.usize(0..700)).map(|_| ['a', 'b', ' ', '日', '𝄞', '\n', 'é'][rng.usize(0..7)]).collect();
            let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let mut cuts: Vec<usize> = (0..rng.usize(0..8) * 2).map(|_| starts[rng.usize(0..starts.len())]).collect();
            cuts.sort_unstable();
            let ranges: Vec<Range<usize>> =
                cuts.chunks(2).map(|pair| pair[0]..pair[1]).filter(|range| !range.is_empty()).collect();
            let Some(found) = highlight("f", 0, &text, &ranges) else {
                assert!(ranges.is_empty());
                continue;
            };
            let units: Vec<u16> = text.encode_utf16().collect();
            for (&(start, end), range) in found.ranges.iter().zip(&ranges) {
                let marked = String::from_utf16(&units[start as usize..end as usize]).expect("whole characters");
                assert_eq!(marked, text[range.clone()], "seed {seed}");
            }
            assert!(text.contains(&found.snippet) && found.snippet.chars().count() <= SNIPPET_CHARS, "seed {seed}");
            let units: Vec<u16> = found.snippet.encode_utf16().collect();
            for &(start, end) in &found.snippet_ranges {
                assert!(String::from_utf16(&units[start as usize..end as usize]).is_ok(), "seed {seed}");
            }
            let fits = ranges.iter().any(|range| text[range.clone()].chars().count() + LEAD_CHARS <= SNIPPET_CHARS);
            assert!(!fits || !found.snippet_ranges.is_empty(), "seed {seed}: no match in the snippet");
        }
    }
}
