//! What people type into a search box.

use crate::query::{
    BooleanQuery, Query,
    parse::{
        MAX_WORDS, ParseOptions, Parsed, readable,
        words::{self, Piece},
    },
    request::MatchMode,
};

/// Reads what people type into a search box: every character is text, except that `"double quotes"` make a phrase,
/// which must match. Of the other words one is enough, or all must match, as the options say. Stop words are left out
/// unless there is nothing else. Never fails; text without any word gives [`Query::None`]. Of very long text the beginning
/// is searched for, and the rest reported as ignored.
pub fn parse_plain(text: &str, options: &ParseOptions) -> Parsed {
    let (text, cut) = readable(text);
    let mut ignored: Vec<String> = cut.into_iter().collect();
    let query = read(text, options, &mut ignored);
    Parsed { query, ignored }
}

fn read(text: &str, options: &ParseOptions, ignored: &mut Vec<String>) -> Query {
    let fields = &options.default_fields;
    let mut phrases = Vec::new();
    let mut pieces: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('"') {
        let Some((quoted, after)) = behind.split_once('"') else { break };
        pieces.extend(words::pieces(before, fields));
        phrases.extend(words::phrase(quoted, fields, 0));
        rest = after;
    }
    pieces.extend(words::pieces(rest, fields));
    // What is still being typed: the end of the text, if a word is there.
    let typed = (options.prefix && !rest.ends_with(char::is_whitespace) && !rest.is_empty()).then(|| pieces.pop());
    let typed = typed.flatten().map(split_typed);
    if let Some((done, _)) = typed.filter(|(done, _)| !done.is_empty()) {
        pieces.push(done);
    }
    let typed: Vec<_> =
        typed.map_or(Vec::new(), |(_, word)| fields.iter().filter_map(|field| words::typed(word, field)).collect());
    let (mut room, mut used) = (MAX_WORDS, Vec::new());
    for piece in pieces {
        let mut piece = Piece::new(piece, fields);
        if piece.num_words() > room {
            piece.truncate(room);
            ignored.push(format!("everything behind word {MAX_WORDS}"));
            used.push(piece);
            break;
        }
        room -= piece.num_words();
        used.push(piece);
    }
    let pieces = used;
    let keep_stop_words = phrases.is_empty() && typed.is_empty() && pieces.iter().all(Piece::is_all_stop_words);
    let typed = (!typed.is_empty()).then(|| words::best(typed));
    match options.matching {
        MatchMode::Any => {
            let mut each: Vec<_> = pieces.into_iter().flat_map(|piece| piece.each_word(keep_stop_words)).collect();
            each.extend(typed);
            if phrases.is_empty() {
                return words::any(each);
            }
            if each.is_empty() {
                return words::all(phrases);
            }
            Query::Boolean(BooleanQuery { must: phrases, should: each, ..BooleanQuery::default() })
        }
        MatchMode::All => {
            phrases.extend(pieces.into_iter().filter_map(|piece| piece.whole(keep_stop_words)));
            phrases.extend(typed);
            words::all(phrases)
        }
    }
}

/// Parts the last piece into what is finished and the word at its end (`foo-ba` is `foo-` and `ba`).
fn split_typed(piece: &str) -> (&str, &str) {
    let is_joint = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '\'' | '’' | '_' | '.' | ',');
    match piece.char_indices().rev().find(|(_, letter)| is_joint(*letter) && !is_mark(*letter)) {
        Some((at, letter)) => piece.split_at(at + letter.len_utf8()),
        None => ("", piece),
    }
}

/// Combining marks belong to the letter before them.
fn is_mark(letter: char) -> bool {
    unicode_normalization::char::is_combining_mark(letter)
}
