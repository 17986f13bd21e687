//! Edit distance, character by character.
//!
//! A row holds the distances of what was read to the beginnings of the pattern; of it only the band of lengths that
//! differ by at most the allowed edits. Row `i`, column `j`:
//!
//! ```text
//! d[i][j] = min(d[i-1][j] + 1, d[i][j-1] + 1, d[i-1][j-1] + (letters differ),
//!               d[i-2][j-2] + 1 where the last two letters are swapped)
//! ```
//! Optimal string alignment, as Lucene's automata with transpositions (Schulz and Mihov, "Fast string correction with
//! Levenshtein automata", 2002) accept. A row without a distance in bounds is dead: no later one is better.

use super::{
    chars::{self, NUM_CHARS},
    pattern::{FuzzyPattern, MAX_EDITS},
};

/// Cells of a row: lengths from `max_edits` shorter to `max_edits` longer.
const BAND: usize = 2 * MAX_EDITS as usize + 1;
/// No character: differs from all.
const OTHER: u32 = u32::MAX;

/// Edits that a word of `num_chars` characters is allowed where nothing is said: none below 3, 1 up to 5, then 2, as in
/// Elasticsearch.
pub fn auto_edits(num_chars: usize) -> u8 {
    match num_chars {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    }
}

#[derive(Debug, Clone, Copy)]
struct Row {
    /// Distance to the first `depth - max_edits + ix` letters of the pattern; above `max_edits` where none is in bounds.
    cells: [u8; BAND],
    /// The character that led here.
    letter: u32,
}

/// The rows along one term.
#[derive(Debug, Clone)]
pub(super) struct Fuzzy {
    pattern: Vec<u32>,
    /// The pattern's characters, ascending.
    alphabet: Vec<u32>,
    max_edits: u8,
    /// Characters at the beginning that must be equal.
    prefix_len: usize,
    /// Row before the first character, behind the first, …
    stack: Vec<Row>,
}

impl Fuzzy {
    pub fn new(pattern: &FuzzyPattern) -> Self {
        let max_edits = pattern.max_edits.min(MAX_EDITS);
        let pattern_chars: Vec<u32> = pattern.term.chars().map(chars::number).collect();
        let mut alphabet = pattern_chars.clone();
        alphabet.sort_unstable();
        alphabet.dedup();
        let mut cells = [u8::MAX; BAND];
        for (ix, cell) in cells.iter_mut().enumerate() {
            if let Some(column) = ix.checked_sub(usize::from(max_edits)).filter(|&column| column <= pattern_chars.len())
            {
                *cell = column as u8;
            }
        }
        let prefix_len = (pattern.prefix_len as usize).min(pattern_chars.len());
        let stack = vec![Row { cells, letter: OTHER }];
        Self { pattern: pattern_chars, alphabet, max_edits, prefix_len, stack }
    }

    /// Length of the pattern, characters.
    pub fn num_chars(&self) -> usize {
        self.pattern.len()
    }

    /// The row behind `letter`; `None` if it is dead.
    fn step(&self, letter: u32) -> Option<Row> {
        let row = self.stack.len();
        if row <= self.prefix_len && self.pattern[row - 1] != letter {
            return None;
        }
        let (above, edits) = (&self.stack[row - 1], usize::from(self.max_edits));
        // Two rows up, where a swap may begin behind the prefix.
        let swapped = row.checked_sub(2).filter(|&row| row >= self.prefix_len).map(|row| &self.stack[row].cells);
        let mut cells = [u8::MAX; BAND];
        let mut best = u8::MAX;
        for ix in 0..=2 * edits {
            let Some(column) = (row + ix).checked_sub(edits).filter(|&column| column <= self.pattern.len()) else {
                continue;
            };
            let mut cell = u8::MAX;
            if ix < 2 * edits {
                cell = above.cells[ix + 1].saturating_add(1);
            }
            if ix > 0 {
                cell = cell.min(cells[ix - 1].saturating_add(1));
            }
            if column > 0 {
                let here = self.pattern[column - 1];
                cell = cell.min(above.cells[ix].saturating_add(u8::from(here != letter)));
                if let Some(swapped) = swapped
                    && column > 1
                    && here == above.letter
                    && self.pattern[column - 2] == letter
                {
                    cell = cell.min(swapped[ix].saturating_add(1));
                }
            }
            cells[ix] = cell;
            best = best.min(cell);
        }
        (best <= self.max_edits).then_some(Row { cells, letter })
    }

    /// Goes on by a character; false, and nothing changed, if nothing matches then.
    pub fn push(&mut self, letter: u32) -> bool {
        let row = self.step(letter);
        self.stack.extend(row);
        row.is_some()
    }

    /// Goes back to the first `depth` characters.
    pub fn truncate(&mut self, depth: usize) {
        self.stack.truncate(depth + 1);
    }

    /// The distance of what was read to the pattern, if it is in bounds.
    pub fn distance(&self) -> Option<u8> {
        let (rows, edits) = (self.stack.len() - 1, usize::from(self.max_edits));
        let ix = (self.pattern.len() + edits).checked_sub(rows).filter(|&ix| ix <= 2 * edits)?;
        self.stack.last().map(|row| row.cells[ix]).filter(|&distance| distance <= self.max_edits)
    }

    /// The first character at or above `from` that leads on.
    pub fn next_live(&self, from: u32) -> Option<u32> {
        if from >= NUM_CHARS {
            return None;
        }
        if self.step(OTHER).is_some() {
            return Some(from);
        }
        let start = self.alphabet.partition_point(|&letter| letter < from);
        self.alphabet[start..].iter().copied().find(|&letter| self.step(letter).is_some())
    }
}
