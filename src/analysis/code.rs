//! Identifiers in code and in names of files: `getUserName`, `http_server`, `src/index/mod.rs`, `utf8`.
//!
//! The parts are words, one after another: `get` `user` `name`. An identifier of several parts is a term of its own
//! too, written together (`getusername`, so that `get_user_name` and `get-user-name` are the same), at the position of its first
//! part; so is a path or dotted name, as it is written.

use std::borrow::Cow;

use crate::analysis::{
    MAX_WORD_BYTES, is_mark,
    segment::{self, WordKind},
};

/// One piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    pub text: Cow<'t, str>,
    pub start: usize,
    pub end: usize,
    pub position: u32,
    /// Whether it is a whole whose parts are pieces too.
    pub is_whole: bool,
    pub is_lone_ideograph: bool,
}

/// Gives the pieces of `text` to `sink`, in order of position.
pub(super) fn pieces<'t>(text: &'t str, sink: &mut dyn FnMut(Piece<'t>)) {
    let mut position = 0;
    let mut at = 0;
    while let Some(compound) = next_compound(text, at) {
        at = compound.end;
        give(text, &compound, &mut position, sink);
    }
}

/// Identifiers with one joint between each two.
struct Compound {
    identifiers: Vec<(usize, usize)>,
    end: usize,
    /// Whether all joints are hyphens.
    is_hyphenated: bool,
}

fn is_identifier(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$' || is_mark(letter)
}

/// End of the identifier that starts at `from`.
fn identifier_end(text: &str, from: usize) -> usize {
    text[from..].find(|letter| !is_identifier(letter)).map_or(text.len(), |len| from + len)
}

/// The joint at `at`, if an identifier follows it.
fn joint_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let len = match rest.as_bytes().first()? {
        b':' if rest.starts_with("::") => 2,
        b'-' if rest.starts_with("->") => 2,
        b'.' | b'/' | b'\\' | b'-' | b':' | b'#' | b'@' => 1,
        _ => return None,
    };
    rest[len..].chars().next().filter(|letter| is_identifier(*letter)).map(|_| at + len)
}

fn next_compound(text: &str, from: usize) -> Option<Compound> {
    let start = from + text[from..].find(is_identifier)?;
    let mut end = identifier_end(text, start);
    let mut compound = Compound { identifiers: vec![(start, end)], end, is_hyphenated: true };
    while let Some(next) = joint_end(text, end) {
        compound.is_hyphenated &= &text[end..next] == "-";
        end = identifier_end(text, next);
        compound.identifiers.push((next, end));
    }
    compound.end = end;
    Some(compound)
}

fn give<'t>(text: &'t str, compound: &Compound, position: &mut u32, sink: &mut dyn FnMut(Piece<'t>)) {
    let parts: Vec<Vec<Part>> = compound.identifiers.iter().map(|&(start, end)| parts(text, start, end)).collect();
    let (Some(&(start, _)), end) = (compound.identifiers.first(), compound.end) else { return };
    let whole = |text: Cow<'t, str>, start, end, position| Piece {
        text,
        start,
        end,
        position,
        is_whole: true,
        is_lone_ideograph: false,
    };
    if compound.identifiers.len() > 1 && end - start <= MAX_WORD_BYTES {
        let text = match compound.is_hyphenated {
            true => Cow::Owned(parts.iter().flatten().map(|part| &text[part.start..part.end]).collect()),
            false => Cow::Borrowed(&text[start..end]),
        };
        if !text.is_empty() {
            sink(whole(text, start, end, *position));
        }
    }
    for (&(start, end), parts) in compound.identifiers.iter().zip(&parts) {
        // Bigrams have no whole; something encoded gives nothing and takes a position.
        if end - start > MAX_WORD_BYTES && parts.iter().all(|part| part.kind == WordKind::Spaced) {
            *position = position.saturating_add(1);
            continue;
        }
        if parts.len() > 1 && end - start <= MAX_WORD_BYTES && parts.iter().all(|part| part.kind == WordKind::Spaced) {
            let joined = parts.iter().map(|part| &text[part.start..part.end]).collect();
            sink(whole(Cow::Owned(joined), start, end, *position));
        }
        for part in parts {
            sink(Piece {
                text: Cow::Borrowed(&text[part.start..part.end]),
                start: part.start,
                end: part.end,
                position: *position,
                is_whole: false,
                is_lone_ideograph: part.kind == WordKind::LoneIdeograph,
            });
            *position = position.saturating_add(1);
        }
    }
}

struct Part {
    start: usize,
    end: usize,
    kind: WordKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Separator,
    Upper,
    /// Lower case, or of a script without cases.
    Lower,
    Digit,
    /// Goes with what is before it.
    Mark,
}

fn class(letter: char) -> Class {
    match letter {
        '_' | '$' => Class::Separator,
        _ if letter.is_numeric() => Class::Digit,
        _ if letter.is_uppercase() => Class::Upper,
        _ if letter.is_alphabetic() => Class::Lower,
        _ => Class::Mark,
    }
}

/// Parts of one identifier.
fn parts(text: &str, start: usize, end: usize) -> Vec<Part> {
    let identifier = &text[start..end];
    let mut parts = Vec::new();
    if identifier.chars().any(segment::is_unspaced) {
        segment::words_dyn(identifier, &mut |word| {
            parts.push(Part { start: start + word.start as usize, end: start + word.end as usize, kind: word.kind });
        });
        return parts;
    }
    let letters: Vec<(usize, Class)> = identifier.char_indices().map(|(at, letter)| (at, class(letter))).collect();
    let mut from: Option<usize> = None;
    let mut before = Class::Separator;
    let mut push = |from: Option<usize>, to: usize| {
        parts.extend(from.map(|from| Part { start: start + from, end: start + to, kind: WordKind::Spaced }));
    };
    for (ix, &(at, here)) in letters.iter().enumerate() {
        let next = letters[ix + 1..].iter().map(|(_, class)| *class).find(|class| *class != Class::Mark);
        let is_boundary = match (before, here) {
            (_, Class::Mark) => false,
            (Class::Lower, Class::Upper) => true,
            // The last capital of `HTTPServer` begins a word.
            (Class::Upper, Class::Upper) => next == Some(Class::Lower),
            (Class::Digit, other) => other != Class::Digit,
            (other, Class::Digit) => other != Class::Digit,
            _ => false,
        };
        if here == Class::Separator {
            push(from.take(), at);
        } else if is_boundary {
            push(from.replace(at), at);
        } else {
            from.get_or_insert(at);
        }
        if here != Class::Mark {
            before = here;
        }
    }
    push(from, identifier.len());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<(String, u32)> {
        let mut found = Vec::new();
        pieces(text, &mut |piece| found.push((piece.text.into_owned(), piece.position)));
        found
    }

    fn plain(text: &str) -> String {
        let cut = cut(text);
        cut.iter().map(|(text, position)| format!("{text}:{position}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn identifiers_give_their_parts_and_themselves() {
        assert_eq!(plain("getUserName()"), "getUserName:0 get:0 User:1 Name:2");
        assert_eq!(plain("HTTPServer2 x"), "HTTPServer2:0 HTTP:0 Server:1 2:2 x:3");
        assert_eq!(plain("__init__ MAX_LEN"), "init:0 MAXLEN:1 MAX:1 LEN:2");
        assert_eq!(plain("user-name"), "username:0 user:0 name:1");
        assert_eq!(plain("src/mod.rs;"), "src/mod.rs:0 src:0 mod:1 rs:2");
        assert_eq!(plain("a::bC"), "a::bC:0 a:0 bC:1 b:1 C:2");
        assert_eq!(plain("end. Next - one"), "end:0 Next:1 one:2");
        assert_eq!(plain("検索Engine"), "検索:0 Engine:1");
        assert_eq!(plain("a\u{301}B"), "a\u{301}B:0 a\u{301}:0 B:1");
        assert_eq!(plain("_ $ -"), "");
        assert_eq!(plain(&format!("{}1 b", "x".repeat(300))), "b:1");
    }
}
