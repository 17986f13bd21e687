//! What people type into a search box.

use crate::{
    analysis::is_mark,
    query::{
        BooleanQuery, Query,
        parse::{
            MAX_WORDS, ParseField, ParseOptions, Parsed,
            fuzzy::tolerant,
            readable,
            words::{self, Piece},
        },
        request::MatchMode,
        work::Work,
    },
};

/// Reads what people type into a search box: every character is text, except that `"double quotes"` make a phrase,
/// which must match, and `-word` or `-"a phrase"` leaves out what has it. Of the other words one is enough, or all must match, as the options say. Stop words are left out
/// unless there is nothing else. Where the last word is a prefix, so is that of a phrase without its second quote yet. A `-` counts between a space and a letter, where there is something else to look for.
/// Never fails; text without any word gives [`Query::None`]. Of very long text the beginning
/// is searched for, and the rest reported as ignored.
pub fn parse_plain(text: &str, options: &ParseOptions) -> Parsed {
    let (text, cut) = readable(text);
    let mut ignored: Vec<String> = cut.into_iter().collect();
    let query = read(text, options, &mut ignored);
    Parsed { query, ignored }
}

fn read(text: &str, options: &ParseOptions, ignored: &mut Vec<String>) -> Query {
    let fields = &options.default_fields;
    let (mut phrases, mut excluded) = (Vec::new(), Vec::new());
    let mut pieces: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('"') {
        let Some((quoted, after)) = behind.split_once('"') else { break };
        let minus =
            before.strip_suffix('-').filter(|before| before.is_empty() || before.ends_with(char::is_whitespace));
        pieces.extend(words::pieces(minus.unwrap_or(before), fields));
        let phrase = words::phrase(quoted, fields, 0);
        if minus.is_some() {
            excluded.extend(phrase)
        } else {
            phrases.extend(phrase)
        }
        rest = after;
    }
    if let Some((before, phrase)) = begun_phrase(rest, options).filter(|_| ignored.is_empty()) {
        phrases.push(phrase);
        rest = before;
    }
    pieces.extend(words::pieces(rest, fields));
    // What is still being typed: the end of the text, if a word is there.
    let is_typing = options.prefix && !rest.is_empty() && !rest.ends_with(char::is_whitespace);
    let typed = pieces.pop_if(|piece| is_typing && !is_exclusion(piece)).map(split_typed);
    if let Some((done, _)) = typed.filter(|(done, _)| !done.is_empty()) {
        pieces.push(done);
    }
    let typed: Vec<_> =
        typed.map_or(Vec::new(), |(_, word)| fields.iter().filter_map(|field| typing(word, field, options)).collect());
    let has_word = |piece: &&str| !is_exclusion(piece) && piece.contains(char::is_alphanumeric);
    if !phrases.is_empty() || !typed.is_empty() || pieces.iter().any(has_word) {
        let out = pieces.extract_if(.., |piece| is_exclusion(piece));
        excluded.extend(out.filter_map(|piece| Piece::new(&piece[1..], fields).whole(true)));
    } else {
        phrases.append(&mut excluded);
    }
    if excluded.len() > MAX_WORDS {
        ignored.push(format!("what is left out behind the first {MAX_WORDS}"));
        excluded.truncate(MAX_WORDS);
    }
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
    let mut typed: Vec<_> = Some(typed).filter(|typed| !typed.is_empty()).map(words::best).into_iter().collect();
    let mut each: Vec<_> = match options.matching {
        MatchMode::Any => pieces.into_iter().flat_map(|piece| piece.each_word(keep_stop_words)).collect(),
        MatchMode::All => pieces.into_iter().filter_map(|piece| piece.whole(keep_stop_words)).collect(),
    };
    each = each.into_iter().map(|query| tolerant(query, options)).collect();
    // With many fields there may be more than a query may ask for.
    let mut work = Work::default();
    for (queries, what) in
        [(&mut typed, "the last word"), (&mut phrases, "phrases"), (&mut each, "words"), (&mut excluded, "exclusions")]
    {
        let mut excess = None;
        let fits = |query: &&Query| work.add(query).map_err(|why| excess = Some(why)).is_ok();
        let kept = queries.iter().take_while(fits).count();
        if let Some(why) = excess {
            ignored.push(format!("{what} behind the first {kept}: {why}"));
            queries.truncate(kept);
        }
    }
    each.extend(typed);
    let query = match options.matching {
        MatchMode::Any => {
            if phrases.is_empty() {
                words::any(each)
            } else if each.is_empty() {
                words::all(phrases)
            } else {
                Query::Boolean(BooleanQuery { must: phrases, should: each, ..BooleanQuery::default() })
            }
        }
        MatchMode::All => {
            phrases.extend(each);
            words::all(phrases)
        }
    };
    match query {
        query if excluded.is_empty() => query,
        Query::None => Query::None,
        Query::Boolean(boolean) => Query::Boolean(BooleanQuery { must_not: excluded, ..boolean }),
        query => Query::Boolean(BooleanQuery { must: vec![query], must_not: excluded, ..BooleanQuery::default() }),
    }
}

/// A phrase that is still being typed (`"range re`), and the text in front of it. A quote behind a letter or digit is a
/// mark of inches.
fn begun_phrase<'t>(text: &'t str, options: &ParseOptions) -> Option<(&'t str, Query)> {
    let (before, begun) = text.split_once('"').filter(|_| options.prefix)?;
    if !(before.is_empty() || before.ends_with(char::is_whitespace)) {
        return None;
    }
    let phrase = if begun.ends_with(char::is_whitespace) {
        words::phrase(begun, &options.default_fields, 0)
    } else {
        words::phrase_prefix(begun, &options.default_fields, 0, words::DEFAULT_EXPANSIONS)
    };
    Some((before, phrase?))
}

/// `-word`: not `-5`, nor a lone dash.
fn is_exclusion(piece: &str) -> bool {
    piece.strip_prefix('-').is_some_and(|word| word.starts_with(char::is_alphabetic))
}

/// The last word in one field: as the beginning of others, or with errors as it stands.
fn typing(word: &str, field: &ParseField, options: &ParseOptions) -> Option<Query> {
    let typed = words::typed(word, field)?;
    let exact = words::phrase(word, std::slice::from_ref(field), 0);
    let near = exact.clone().map(|query| tolerant(query, options)).filter(|near| exact.as_ref() != Some(near));
    Some(match near {
        Some(near) => Query::DisMax { queries: vec![typed, near], tie_breaker: 0.0 },
        None => typed,
    })
}

/// Parts the last piece into what is finished and the word at its end (`foo-ba` is `foo-` and `ba`).
fn split_typed(piece: &str) -> (&str, &str) {
    // Combining marks belong to the letter before them.
    let is_joint = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '\'' | '’' | '_' | '.' | ',');
    match piece.char_indices().rev().find(|(_, letter)| is_joint(*letter) && !is_mark(*letter)) {
        Some((at, letter)) => piece.split_at(at + letter.len_utf8()),
        None => ("", piece),
    }
}
