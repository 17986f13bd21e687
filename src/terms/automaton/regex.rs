//! Regular expressions and wildcards, read into a tree.
//!
//! ```text
//! either := chain ('|' chain)*
//! chain  := (atom ('?' | '*' | '+' | '{' n '}' | '{' n ',' m? '}')*)*
//! atom   := '.' | '(' either ')' | '[' '^'? class ']' | '\' character | character
//! ```
//! Depth and length are bounded, so that no pattern overflows the stack.

use std::iter::Peekable;

use super::{
    chars::{self, NUM_CHARS},
    pattern::{MAX_PATTERN_CHARS, PatternError},
};

/// Groups and repetitions inside each other.
const MAX_DEPTH: usize = 50;
/// Largest number of repetitions.
pub(super) const MAX_REPEAT: u32 = 1000;

/// Ranges of character numbers, first and last, ascending and apart.
pub(super) type Set = Vec<(u32, u32)>;

/// What terms look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tree {
    Set(Set),
    Chain(Vec<Tree>),
    Either(Vec<Tree>),
    /// So often at least, and at most.
    Repeat(Box<Tree>, u32, Option<u32>),
}

fn any() -> Tree {
    Tree::Set(vec![(0, NUM_CHARS - 1)])
}

fn one(letter: char) -> Tree {
    Tree::Set(vec![(chars::number(letter), chars::number(letter))])
}

/// Reads a wildcard pattern.
pub(super) fn parse_wildcard(pattern: &str) -> Result<Tree, PatternError> {
    let mut parts = Vec::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if parts.len() >= MAX_PATTERN_CHARS {
            return Err(PatternError::TooLong);
        }
        parts.push(match letter {
            '*' => Tree::Repeat(Box::new(any()), 0, None),
            '?' => any(),
            '\\' => one(letters.next().unwrap_or('\\')),
            letter => one(letter),
        });
    }
    Ok(Tree::Chain(parts))
}

/// Reads a regular expression.
pub(super) fn parse_regex(pattern: &str) -> Result<Tree, PatternError> {
    if pattern.chars().nth(MAX_PATTERN_CHARS).is_some() {
        return Err(PatternError::TooLong);
    }
    let mut parser = Parser { letters: pattern.chars().peekable(), at: 0 };
    if parser.letters.peek() == Some(&'^') {
        parser.next();
    }
    let tree = parser.either(0)?;
    match parser.letters.peek() {
        None => Ok(tree),
        Some(_) => Err(parser.wrong("a `)` without its `(`", 1)),
    }
}

struct Parser<'a> {
    letters: Peekable<std::str::Chars<'a>>,
    /// Characters read.
    at: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.letters.next();
        self.at += usize::from(letter.is_some());
        letter
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.letters.next_if_eq(&wanted).is_some();
        self.at += usize::from(found);
        found
    }

    /// An error at the character `ahead` of what was read.
    fn wrong(&self, what: &'static str, ahead: usize) -> PatternError {
        PatternError::Syntax { what, at: self.at + ahead }
    }

    fn either(&mut self, depth: usize) -> Result<Tree, PatternError> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("groups too deep", 0));
        }
        let mut parts = vec![self.chain(depth)?];
        while self.take('|') {
            parts.push(self.chain(depth)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Tree::Either(parts) })
    }

    fn chain(&mut self, depth: usize) -> Result<Tree, PatternError> {
        let mut parts = Vec::new();
        while let Some(&letter) = self.letters.peek() {
            if matches!(letter, '|' | ')') {
                break;
            }
            self.next();
            if letter == '$' && depth == 0 && self.letters.peek().is_none() {
                break;
            }
            let mut atom = self.atom(letter, depth)?;
            let mut repetitions = 0;
            while let Some((min, max)) = self.repetition()? {
                repetitions += 1;
                if depth + repetitions > MAX_DEPTH {
                    return Err(self.wrong("repetitions too deep", 0));
                }
                atom = Tree::Repeat(Box::new(atom), min, max);
            }
            parts.push(atom);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Tree::Chain(parts) })
    }

    fn atom(&mut self, letter: char, depth: usize) -> Result<Tree, PatternError> {
        Ok(match letter {
            '.' => any(),
            '(' => {
                let inner = self.either(depth + 1)?;
                if !self.take(')') {
                    return Err(self.wrong("a `(` without its `)`", 0));
                }
                inner
            }
            '[' => Tree::Set(self.class()?),
            '\\' => {
                let escaped = self.next().ok_or_else(|| self.wrong("nothing behind `\\`", 0))?;
                Tree::Set(escape(escaped))
            }
            '?' | '*' | '+' => return Err(self.wrong("nothing to repeat", 0)),
            letter => one(letter),
        })
    }

    fn repetition(&mut self) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        Ok(Some(match self.letters.peek() {
            Some('?') => {
                self.next();
                (0, Some(1))
            }
            Some('*') => {
                self.next();
                (0, None)
            }
            Some('+') => {
                self.next();
                (1, None)
            }
            Some('{') => {
                self.next();
                let min = self.number()?.ok_or_else(|| self.wrong("a `{` without a number", 0))?;
                let max = if self.take(',') { self.number()? } else { Some(min) };
                if !self.take('}') {
                    return Err(self.wrong("a `{` without its `}`", 0));
                }
                if max.is_some_and(|max| max < min) {
                    return Err(self.wrong("a repetition that ends before it begins", 0));
                }
                (min, max)
            }
            _ => return Ok(None),
        }))
    }

    fn number(&mut self) -> Result<Option<u32>, PatternError> {
        let mut number = None;
        while let Some(digit) = self.letters.peek().and_then(|letter| letter.to_digit(10)) {
            self.next();
            let larger = number.unwrap_or(0) * 10 + digit;
            if larger > MAX_REPEAT {
                return Err(PatternError::TooLarge);
            }
            number = Some(larger);
        }
        Ok(number)
    }

    /// The rest of a class, behind its `[`.
    fn class(&mut self) -> Result<Set, PatternError> {
        let negated = self.take('^');
        let mut set = Set::new();
        loop {
            let letter = self.next().ok_or_else(|| self.wrong("a `[` without its `]`", 0))?;
            if letter == ']' && !set.is_empty() {
                break;
            }
            let first = if letter == '\\' {
                let escaped = self.next().ok_or_else(|| self.wrong("nothing behind `\\`", 0))?;
                escape(escaped)
            } else {
                vec![(chars::number(letter), chars::number(letter))]
            };
            let is_range = self.letters.peek() == Some(&'-') && {
                let mut ahead = self.letters.clone();
                ahead.next();
                ahead.peek().is_some_and(|&letter| letter != ']')
            };
            if !is_range {
                set.extend(first);
                continue;
            }
            self.next();
            let letter = self.next().ok_or_else(|| self.wrong("a `[` without its `]`", 0))?;
            let last =
                if letter == '\\' { escape(self.next().unwrap_or('\\')) } else { vec![(chars::number(letter), 0)] };
            match (first.as_slice(), last.as_slice()) {
                (&[(from, _)], &[(to, _)]) if from <= to => set.push((from, to)),
                _ => return Err(self.wrong("a range that ends before it begins", 0)),
            }
        }
        let set = in_order(set);
        let set = if negated { negate(&set) } else { set };
        if set.is_empty() { Err(self.wrong("a class without characters", 0)) } else { Ok(set) }
    }
}

/// What `\` and a character mean.
fn escape(letter: char) -> Set {
    let ascii = |ranges: &[(char, char)]| {
        in_order(ranges.iter().map(|&(from, to)| (chars::number(from), chars::number(to))).collect())
    };
    match letter {
        'd' => ascii(&[('0', '9')]),
        'D' => negate(&escape('d')),
        'w' => ascii(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
        'W' => negate(&escape('w')),
        's' => ascii(&[('\t', '\r'), (' ', ' ')]),
        'S' => negate(&escape('s')),
        'n' => ascii(&[('\n', '\n')]),
        't' => ascii(&[('\t', '\t')]),
        'r' => ascii(&[('\r', '\r')]),
        letter => ascii(&[(letter, letter)]),
    }
}

fn in_order(mut set: Set) -> Set {
    set.sort_unstable();
    let mut merged: Set = Vec::with_capacity(set.len());
    for (from, to) in set {
        match merged.last_mut() {
            Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// All other characters.
fn negate(set: &Set) -> Set {
    let (mut rest, mut next) = (Set::new(), 0);
    for &(from, to) in set {
        if next < from {
            rest.push((next, from - 1));
        }
        next = to + 1;
    }
    if next < NUM_CHARS {
        rest.push((next, NUM_CHARS - 1));
    }
    rest
}
