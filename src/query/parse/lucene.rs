//! A syntax in the manner of Lucene's classic query parser.
//!
//! ```text
//! query  := clause*                       joined by AND, OR, && or ||; else as the options say
//! clause := (+ | - | ! | NOT)? (name:)? (word | word* | "phrase"(~slop)? | (query)) (^boost)?
//! ```
//! `\` takes the meaning off the character behind it; `*:*` is every document. As in Lucene, `a AND b` makes both
//! clauses required, whatever stands around them. What is not understood is searched as text or left out, and said so.

use crate::query::{
    BooleanQuery, Query,
    parse::{
        ParseField, ParseOptions, Parsed, readable,
        words::{self, Piece},
    },
    request::MatchMode,
};

/// Groups inside groups.
const MAX_DEPTH: usize = 32;
/// Clauses of the whole query.
const MAX_CLAUSES: usize = 1024;

/// Reads `+must -not "a phrase"~2 field:term pre* (group)^2 AND OR NOT`. Never fails: what it cannot use is reported.
pub fn parse_lucene(text: &str, options: &ParseOptions) -> Parsed {
    let (text, cut) = readable(text);
    let ignored = cut.into_iter().collect();
    let mut parser = Parser { rest: text, options, ignored, clauses: 0, fields: options.default_fields.clone() };
    let mut clauses = parser.clauses(0);
    while !parser.rest.is_empty() {
        // Only a closing parenthesis stops at the top.
        parser.ignore("a `)` without its `(`");
        parser.rest = &parser.rest[1..];
        clauses.extend(parser.clauses(0));
    }
    let query = combine(clauses, options.matching);
    Parsed { query, ignored: parser.ignored }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occur {
    Must,
    Should,
    MustNot,
}

struct Clause {
    query: Query,
    occur: Option<Occur>,
    is_stop_word: bool,
}

struct Parser<'a> {
    rest: &'a str,
    options: &'a ParseOptions,
    ignored: Vec<String>,
    clauses: usize,
    /// Fields that clauses without a name search.
    fields: Vec<ParseField>,
}

fn combine(mut clauses: Vec<Clause>, matching: MatchMode) -> Query {
    let content = |clause: &Clause| !clause.is_stop_word && clause.occur != Some(Occur::MustNot);
    if clauses.iter().any(content) {
        clauses.retain(|clause| !clause.is_stop_word);
    }
    let mut boolean = BooleanQuery::default();
    for clause in clauses {
        let default = if matching == MatchMode::All { Occur::Must } else { Occur::Should };
        match clause.occur.unwrap_or(default) {
            Occur::Must => boolean.must.push(clause.query),
            Occur::Should => boolean.should.push(clause.query),
            Occur::MustNot => boolean.must_not.push(clause.query),
        }
    }
    match (boolean.must.len(), boolean.should.len(), boolean.must_not.len()) {
        (0, 0, 0) => Query::None,
        (1, 0, 0) => boolean.must.remove(0),
        (0, 1, 0) => boolean.should.remove(0),
        _ => Query::Boolean(boolean),
    }
}

fn is_special(letter: char) -> bool {
    matches!(letter, '(' | ')' | '"' | '[' | ']' | '{' | '}' | '^' | '~' | ':') || letter.is_whitespace()
}

impl<'a> Parser<'a> {
    fn ignore(&mut self, what: impl Into<String>) {
        let what = what.into();
        if self.ignored.len() < 64 && !self.ignored.contains(&what) {
            self.ignored.push(what);
        }
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        let taken = self.rest.strip_prefix(token);
        self.rest = taken.unwrap_or(self.rest);
        taken.is_some()
    }

    /// A word operator: the word, followed by a space, a parenthesis, a quote or the end.
    fn take_word(&mut self, word: &str) -> bool {
        let behind = self.rest.strip_prefix(word);
        let Some(behind) =
            behind.filter(|rest| rest.is_empty() || rest.starts_with(|next: char| is_special(next) && next != ':'))
        else {
            return false;
        };
        self.rest = behind;
        true
    }

    /// Clauses up to the end or an unmatched `)`, which is left.
    fn clauses(&mut self, depth: usize) -> Vec<Clause> {
        let mut clauses: Vec<Clause> = Vec::new();
        // What an AND or OR in front of the next clause makes of it.
        let mut joined = None;
        loop {
            self.skip_spaces();
            if self.rest.is_empty() || self.rest.starts_with(')') {
                if joined.is_some() {
                    self.ignore("an operator without a clause behind it");
                }
                return clauses;
            }
            if self.take_word("AND") || self.take("&&") {
                joined = self.join(&mut clauses, joined, Occur::Must);
                continue;
            }
            if self.take_word("OR") || self.take("||") {
                joined = self.join(&mut clauses, joined, Occur::Should);
                continue;
            }
            let mut occur = joined.take();
            if self.take_word("NOT") || self.take("-") || self.take("!") {
                occur = Some(Occur::MustNot);
            } else if self.take("+") {
                occur = Some(Occur::Must);
            }
            self.skip_spaces();
            if self.rest.is_empty() || self.rest.starts_with(')') {
                self.ignore("an operator without a clause behind it");
                return clauses;
            }
            let Some(mut clause) = self.clause(depth) else { continue };
            clause.occur = occur;
            clauses.push(clause);
        }
    }

    fn join(&mut self, clauses: &mut [Clause], joined: Option<Occur>, occur: Occur) -> Option<Occur> {
        match clauses.last_mut() {
            Some(last) if joined.is_none() => {
                if last.occur.is_none() || (occur == Occur::Must && last.occur == Some(Occur::Should)) {
                    last.occur = Some(occur);
                }
                Some(occur)
            }
            _ => {
                self.ignore("an operator without a clause in front of it");
                joined
            }
        }
    }

    fn clause(&mut self, depth: usize) -> Option<Clause> {
        self.clauses += 1;
        if self.clauses > MAX_CLAUSES {
            self.ignore(format!("everything behind clause {MAX_CLAUSES}"));
            self.rest = "";
            return None;
        }
        if self.take("*:*") {
            return self.with_boost(Query::All, false);
        }
        let outer = self.take_field();
        let clause = self.body(depth);
        if let Some(fields) = outer {
            self.fields = fields;
        }
        let (query, is_stop_word) = clause?;
        self.with_boost(query, is_stop_word)
    }

    /// Enters `name:`, and gives the fields to go back to.
    fn take_field(&mut self) -> Option<Vec<ParseField>> {
        let end = self.rest.find(|letter: char| is_special(letter) || letter == '\\')?;
        let behind = self.rest[end..].strip_prefix(':')?;
        let name = &self.rest[..end];
        let field =
            self.options.named_fields.iter().chain(&self.options.default_fields).find(|field| field.name == name);
        if let Some(field) = field.filter(|_| !behind.is_empty() && !behind.starts_with(char::is_whitespace)) {
            let field = field.clone();
            self.rest = behind;
            return Some(std::mem::replace(&mut self.fields, vec![field]));
        }
        if field.is_none() && !name.is_empty() {
            self.ignore(format!("`{name}:`, which is no field that can be searched; read as text"));
        }
        None
    }

    fn body(&mut self, depth: usize) -> Option<(Query, bool)> {
        if self.take("(") {
            return self.group(depth).map(|query| (query, false));
        }
        if let Some(behind) = self.rest.strip_prefix('"') {
            return self.quoted(behind).map(|query| (query, false));
        }
        if self.rest.starts_with(['[', '{']) {
            let end = self.rest.find([']', '}']).map_or(self.rest.len(), |end| end + 1);
            self.ignore(format!("`{}`: use a filter for ranges", &self.rest[..end]));
            self.rest = &self.rest[end..];
            return None;
        }
        self.word()
    }

    fn group(&mut self, depth: usize) -> Option<Query> {
        if depth >= MAX_DEPTH {
            self.ignore(format!("groups deeper than {MAX_DEPTH}"));
            self.rest = "";
            return None;
        }
        let clauses = self.clauses(depth + 1);
        if !self.take(")") {
            self.ignore("a `(` without its `)`");
        }
        Some(combine(clauses, self.options.matching)).filter(|query| !query.is_none())
    }

    fn quoted(&mut self, behind: &'a str) -> Option<Query> {
        let (text, rest) = behind.split_once('"').unwrap_or_else(|| {
            self.ignore("a `\"` without its pair");
            (behind, "")
        });
        self.rest = rest;
        let mut slop = 0;
        if self.take("~") {
            slop = self.number().map_or(0, |number| number.clamp(0.0, 10_000.0) as u32);
        }
        words::phrase(text, &self.fields, slop)
    }

    /// The digits and dots here, if they are a number.
    fn number(&mut self) -> Option<f32> {
        let end = self.rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().ok().filter(|number: &f32| number.is_finite())
    }

    fn word(&mut self) -> Option<(Query, bool)> {
        let (text, is_prefix) = self.take_text();
        if text.is_empty() {
            // A character that means nothing here; passing over it makes sure that parsing ends.
            if let Some(letter) = self.rest.chars().next() {
                self.ignore(format!("`{letter}`"));
                self.rest = &self.rest[letter.len_utf8()..];
            }
            return None;
        }
        if self.rest.starts_with('~') {
            self.rest = &self.rest[1..];
            self.number();
            self.ignore(format!("`~` behind `{text}`: searched as written"));
        }
        if is_prefix {
            let prefix = |field: &ParseField| {
                words::boosted(Query::prefix(field.field, field.analyzer.prefix(&text)), field.boost)
            };
            return Some((words::best(self.fields.iter().map(prefix).collect()), false));
        }
        let piece = Piece::new(&text, &self.fields);
        let is_stop_word = piece.is_all_stop_words();
        // Several words in one piece (`range-request`, a run of ideographs) belong together.
        let query = words::phrase(&text, &self.fields, 0)?;
        Some((query, is_stop_word))
    }

    /// Text up to the next special character, escapes taken off, and whether a `*` ended it.
    fn take_text(&mut self) -> (String, bool) {
        let (mut text, mut at, mut wildcard) = (String::new(), 0, None);
        let mut letters = self.rest.char_indices();
        while let Some((ix, letter)) = letters.next() {
            at = ix;
            match letter {
                '\\' => {
                    if let Some((_, escaped)) = letters.next() {
                        text.push(escaped);
                    }
                }
                '*' | '?' => {
                    wildcard.get_or_insert((text.len(), letter));
                }
                // A colon inside text (`12:30`, an unknown field) is text.
                ':' if !text.is_empty() => text.push(' '),
                letter if is_special(letter) => break,
                letter => text.push(letter),
            }
            at = self.rest.len() - letters.as_str().len();
        }
        self.rest = &self.rest[at..];
        match wildcard {
            Some((end, '*')) if end == text.len() && !text.is_empty() => return (text, true),
            Some(_) => self.ignore(format!("`*` or `?` other than at the end of a word, beside `{text}`")),
            None => {}
        }
        (text, false)
    }

    fn with_boost(&mut self, query: Query, is_stop_word: bool) -> Option<Clause> {
        let mut query = query;
        if self.take("^") {
            match self.number() {
                Some(boost) => query = words::boosted(query, boost),
                None => self.ignore("a `^` without a number"),
            }
        }
        Some(Clause { query, occur: None, is_stop_word })
    }
}
