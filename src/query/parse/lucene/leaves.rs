//! What a single clause looks for: words, phrases, patterns of terms, conditions on columns.

use std::ops::Bound;

use super::{Parser, Target, is_special};
use crate::query::{
    ColumnQuery, ColumnTest, PatternScoring, Query,
    parse::{
        MAX_SLOP, ParseField, fuzzy,
        words::{self, Piece},
    },
    request::Fuzziness,
};
use crate::terms::{FuzzyPattern, MAX_EDITS, TermMatcher, TermPattern};

/// A character, and whether a `\` took its meaning off.
type Letter = (char, bool);

fn text_of(letters: &[Letter]) -> String {
    letters.iter().map(|(letter, _)| letter).collect()
}

fn is_wildcard(&(letter, is_plain): &Letter) -> bool {
    !is_plain && matches!(letter, '*' | '?')
}

/// What stands in quotes.
struct Quoted {
    text: String,
    /// Whether it ends with a word that is only begun: `"foo ba*"`.
    is_begun: bool,
    /// Whether there are wildcards that mean nothing.
    has_wildcards: bool,
}

/// One end of a range.
#[derive(Clone, Copy)]
struct End<'a> {
    /// `None`: open.
    value: Option<&'a str>,
    is_included: bool,
}

impl<'a> Parser<'a> {
    /// What stands behind signs and names: a query, and whether it is nothing but stop words.
    pub(super) fn body(&mut self, depth: usize) -> Option<(Query, bool)> {
        if self.take("(") {
            return self.group(depth).map(|query| (query, false));
        }
        if self.rest.starts_with('"') {
            return self.quoted().map(|query| (query, false));
        }
        if self.rest.starts_with(['[', '{']) {
            return self.range().map(|query| (query, false));
        }
        if self.is_named
            && let Some((operator, sign)) = [(">=", "gte"), (">", "gt"), ("<=", "lte"), ("<", "lt")]
                .into_iter()
                .find_map(|(sign, name)| self.rest.starts_with(sign).then_some((name, sign)))
        {
            self.rest = &self.rest[sign.len()..];
            return self.comparison(operator, sign).map(|query| (query, false));
        }
        match &self.target {
            Target::Texts(fields) => {
                let fields = fields.clone();
                if let Some(query) = self.regex(&fields) {
                    return query.map(|query| (query, false));
                }
                self.word(&fields)
            }
            Target::Column(_) | Target::Exists => {
                let value = self.value()?;
                self.equal(&value).map(|query| (query, false))
            }
        }
    }

    /// The quoted text here, escapes taken off.
    fn take_quoted(&mut self) -> Quoted {
        let mut letters = self.rest[1..].char_indices();
        let (mut text, mut num_wildcards, mut is_star) = (String::new(), 0, false);
        let mut end = None;
        while let Some((at, letter)) = letters.next() {
            if letter == '"' {
                end = Some(at + 2);
                break;
            }
            is_star = letter == '*';
            match letter {
                '\\' => text.extend(letters.next().map(|(_, escaped)| escaped)),
                letter => {
                    num_wildcards += usize::from(matches!(letter, '*' | '?'));
                    text.push(letter);
                }
            }
        }
        if end.is_none() {
            self.ignore("a `\"` without its pair");
        }
        self.rest = &self.rest[end.unwrap_or(self.rest.len())..];
        let word = text.strip_suffix('*').unwrap_or(&text);
        let is_begun = is_star && !word.ends_with(|last: char| last.is_whitespace() || matches!(last, '*' | '?'));
        let is_begun = is_begun && !word.is_empty();
        Quoted { text, is_begun, has_wildcards: num_wildcards > usize::from(is_begun) }
    }

    fn quoted(&mut self) -> Option<Query> {
        let Quoted { text, is_begun, has_wildcards } = self.take_quoted();
        let mut slop = 0;
        if self.take("~") {
            slop = self.number().map_or(0, |number| number.clamp(0.0, MAX_SLOP as f32) as u32);
        }
        match &self.target {
            Target::Texts(fields) => {
                let query = if is_begun {
                    let text = text.strip_suffix('*').unwrap_or(&text);
                    words::phrase_prefix(text, fields, slop, words::DEFAULT_EXPANSIONS)
                } else {
                    words::phrase(&text, fields, slop)
                };
                if has_wildcards {
                    self.ignore(format!("`*` and `?` inside of \"{text}\", where they are no wildcards"));
                }
                query
            }
            Target::Column(_) | Target::Exists => self.equal(&text),
        }
    }

    /// A value of a column: up to the next space or parenthesis, or quoted.
    fn value(&mut self) -> Option<String> {
        if self.rest.starts_with('"') {
            return Some(self.take_quoted().text);
        }
        let mut text = String::new();
        let mut letters = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => text.extend(letters.next().map(|(_, escaped)| escaped)),
                letter if letter.is_whitespace() || matches!(letter, '(' | ')' | '^' | '"' | '[' | ']' | '{' | '}') => {
                    end = at;
                    break;
                }
                letter => text.push(letter),
            }
        }
        if end == 0 {
            // A character that means nothing here; passing over it makes sure that parsing ends.
            if let Some(letter) = self.rest.chars().next() {
                self.ignore(format!("`{letter}`"));
                end = letter.len_utf8();
            }
        }
        self.rest = &self.rest[end..];
        (!text.is_empty()).then_some(text)
    }

    /// Documents whose column has a value, or any (`*`); of `_exists_`, whose field of that name has one.
    fn equal(&mut self, text: &str) -> Option<Query> {
        let column = match &self.target {
            Target::Column(column) => column.clone(),
            _ => {
                let known = self.options.columns.iter().find(|column| column.name == text);
                let field = known.map(|column| column.field);
                if field.is_none() {
                    self.ignore(format!("`_exists_:{text}`: there is no such field"));
                }
                return Some(Query::Column(ColumnQuery { field: field?, test: ColumnTest::Exists }));
            }
        };
        let test = if text == "*" { Some(ColumnTest::Exists) } else { column.test(&[("eq", text)]) };
        self.condition(test.map(|test| ColumnQuery { field: column.field, test }), &column.name, text)
    }

    fn condition(&mut self, query: Option<ColumnQuery>, name: &str, text: &str) -> Option<Query> {
        if query.is_none() {
            self.ignore(format!("`{name}:{text}`: not a value that field can have"));
        }
        query.map(Query::Column)
    }

    /// `>=10` and the like, behind the sign.
    fn comparison(&mut self, operator: &'static str, sign: &str) -> Option<Query> {
        let Some(value) = self.value() else {
            self.ignore(format!("`{sign}` without a value"));
            return None;
        };
        let end = Some(End { value: Some(&value), is_included: operator.ends_with('e') });
        let (from, to) = if operator.starts_with('g') { (end, None) } else { (None, end) };
        let open = End { value: None, is_included: true };
        self.between(from.unwrap_or(open), to.unwrap_or(open), &format!("{sign}{value}"))
    }

    /// `[from TO to]` or `{from TO to}`, mixed as one likes.
    fn range(&mut self) -> Option<Query> {
        let is_from_included = self.rest.starts_with('[');
        let mut is_quoted = false;
        let end = self.rest.char_indices().skip(1).find(|&(_, letter)| {
            is_quoted ^= letter == '"';
            !is_quoted && matches!(letter, ']' | '}')
        });
        let Some((end, close)) = end else {
            self.ignore(format!("`{}`, a range without its end", self.rest));
            self.rest = "";
            return None;
        };
        let (written, inside) = (&self.rest[..=end], &self.rest[1..end]);
        self.rest = &self.rest[end + 1..];
        let parts = inside.split_once(" TO ");
        let Some((from, to)) = parts
            .map(|(from, to)| (unquoted(from), unquoted(to)))
            .filter(|(from, to)| !from.is_some_and(str::is_empty) && !to.is_some_and(str::is_empty))
        else {
            self.ignore(format!("`{written}`: a range is `[from TO to]`"));
            return None;
        };
        let from = End { value: from, is_included: is_from_included };
        self.between(from, End { value: to, is_included: close == ']' }, written)
    }

    fn between(&mut self, from: End<'_>, to: End<'_>, written: &str) -> Option<Query> {
        let column = match &self.target {
            Target::Column(column) => Some(column.clone()),
            Target::Texts(fields) => match &fields[..] {
                [field] => self
                    .options
                    .columns
                    .iter()
                    .find(|column| column.field == field.field && column.kind.is_some())
                    .cloned(),
                _ => None,
            },
            Target::Exists => {
                self.ignore(format!("`_exists_:{written}`: a field name is needed"));
                return None;
            }
        };
        if let Some(column) = column {
            let operator = |end: End<'_>, included, excluded| if end.is_included { included } else { excluded };
            let tests = from.value.map(|value| (operator(from, "gte", "gt"), value)).into_iter();
            let tests: Vec<_> = tests.chain(to.value.map(|value| (operator(to, "lte", "lt"), value))).collect();
            let test = if tests.is_empty() { Some(ColumnTest::Exists) } else { column.test(&tests) };
            return self.condition(test.map(|test| ColumnQuery { field: column.field, test }), &column.name, written);
        }
        let Target::Texts(fields) = &self.target else { return None };
        let bound = |field: &ParseField, end: End<'_>| match end.value.map(|value| field.analyzer.prefix(value)) {
            Some(term) if end.is_included => Bound::Included(term.into_bytes()),
            Some(term) => Bound::Excluded(term.into_bytes()),
            None => Bound::Unbounded,
        };
        let one = |field: &ParseField| {
            pattern(
                field,
                TermPattern::Range { from: bound(field, from), to: bound(field, to) },
                PatternScoring::Constant,
            )
        };
        Some(words::best(fields.iter().map(one).collect())).filter(|query| !query.is_none())
    }

    /// `/regex/`, if one is here: closed, and nothing sticks to it (`/usr/bin` is text).
    fn regex(&mut self, fields: &[ParseField]) -> Option<Option<Query>> {
        let inside = self.rest.strip_prefix('/')?;
        let mut is_escaped = false;
        let end = inside.char_indices().find(|&(_, letter)| {
            let is_end = letter == '/' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            is_end
        });
        let (end, _) = end?;
        let behind = &inside[end + 1..];
        if end == 0
            || !(behind.is_empty() || behind.starts_with(|next: char| next.is_whitespace() || ")^".contains(next)))
        {
            return None;
        }
        self.rest = behind;
        let text = inside[..end].replace("\\/", "/");
        let mut queries = Vec::new();
        for field in fields {
            let regex = TermPattern::Regex(fuzzy::fold_regex(&text, &|part| field.analyzer.prefix(part)));
            if let Err(error) = TermMatcher::with_work(&regex, 0) {
                self.ignore(format!("`/{text}/`: {error}"));
                return Some(None);
            }
            queries.push(pattern(field, regex, PatternScoring::Blended));
        }
        Some(Some(words::best(queries)).filter(|query| !query.is_none()))
    }

    fn word(&mut self, fields: &[ParseField]) -> Option<(Query, bool)> {
        let letters = self.take_letters();
        if letters.is_empty() {
            // A character that means nothing here; passing over it makes sure that parsing ends.
            if let Some(letter) = self.rest.chars().next() {
                self.ignore(format!("`{letter}`"));
                self.rest = &self.rest[letter.len_utf8()..];
            }
            return None;
        }
        let text = text_of(&letters);
        let edits = self.take("~").then(|| self.number());
        if letters.iter().any(is_wildcard) {
            if edits.is_some() {
                self.ignore(format!("`~` behind `{text}`, which has wildcards"));
            }
            return self.wildcard(&letters, fields).map(|query| (query, false));
        }
        if let Some(edits) = edits {
            return self.fuzzy(&text, edits, fields).map(|query| (query, false));
        }
        let is_stop_word = Piece::new(&text, fields).is_all_stop_words();
        // Several words in one piece (`range-request`, a run of ideographs) belong together.
        let query = words::phrase(&text, fields, 0)?;
        Some((query, is_stop_word))
    }

    /// Characters up to the next special one.
    fn take_letters(&mut self) -> Vec<Letter> {
        let (mut found, mut end) = (Vec::new(), 0);
        let mut letters = self.rest.char_indices();
        while let Some((_, letter)) = letters.next() {
            match letter {
                '\\' => found.extend(letters.next().map(|(_, escaped)| (escaped, true))),
                // A colon inside text (`12:30`, an unknown field) is text.
                ':' if !found.is_empty() => found.push((' ', true)),
                letter if is_special(letter) => break,
                letter => found.push((letter, false)),
            }
            end = self.rest.len() - letters.as_str().len();
        }
        self.rest = &self.rest[end..];
        found
    }

    fn wildcard(&mut self, letters: &[Letter], fields: &[ParseField]) -> Option<Query> {
        let first = letters.iter().position(is_wildcard)?;
        if letters.iter().all(|letter| is_wildcard(letter) && letter.0 == '*') {
            // Anything: every document, or those that have the field.
            if !self.is_named {
                return Some(Query::All);
            }
            let exists =
                |field: &ParseField| Query::Column(ColumnQuery { field: field.field, test: ColumnTest::Exists });
            return Some(words::best(fields.iter().map(exists).collect())).filter(|query| !query.is_none());
        }
        let mut queries = Vec::new();
        for field in fields {
            let fold = |letters: &[Letter]| field.analyzer.prefix(&text_of(letters));
            let found = if first + 1 == letters.len() && letters[first].0 == '*' {
                TermPattern::Prefix(fold(&letters[..first]).into_bytes())
            } else {
                let mut text = String::new();
                for part in letters.chunk_by(|a, b| is_wildcard(a) == is_wildcard(b)) {
                    if is_wildcard(&part[0]) {
                        text.push_str(&text_of(part));
                        continue;
                    }
                    for letter in fold(part).chars() {
                        text.extend(matches!(letter, '*' | '?' | '\\').then_some('\\'));
                        text.push(letter);
                    }
                }
                TermPattern::Wildcard(text)
            };
            if let Err(error) = TermMatcher::with_work(&found, 0) {
                self.ignore(format!("`{}`: {error}", text_of(letters)));
                return None;
            }
            queries.push(pattern(field, found, PatternScoring::Blended));
        }
        Some(words::best(queries)).filter(|query| !query.is_none())
    }

    /// `text~edits`; edits below 1 are a similarity, as in old Lucene.
    fn fuzzy(&mut self, text: &str, edits: Option<f32>, fields: &[ParseField]) -> Option<Query> {
        if let Some(edits) = edits.filter(|&edits| edits > f32::from(MAX_EDITS)) {
            self.ignore(format!("`{text}~{edits}`: at most {MAX_EDITS} edits are allowed for"));
        }
        let mut queries = Vec::new();
        for field in fields {
            let tokens = field.analyzer.tokens(text);
            let [token] = &tokens[..] else {
                if !tokens.is_empty() {
                    self.ignore(format!("`~` behind `{text}`, which is several words"));
                }
                queries.extend(words::phrase(text, std::slice::from_ref(field), 0));
                continue;
            };
            let num_chars = token.term.chars().count();
            let max_edits = match edits {
                None => Fuzziness::Auto.edits(num_chars),
                Some(edits) if edits > 0.0 && edits < 1.0 => ((1.0 - edits) * num_chars as f32) as u8,
                Some(edits) => edits as u8,
            };
            if max_edits == 0 {
                queries.push(words::term(field, token));
                continue;
            }
            let found = FuzzyPattern::new(token.term.as_str(), max_edits.min(MAX_EDITS));
            queries.push(pattern(field, TermPattern::Fuzzy(found), PatternScoring::Blended));
        }
        Some(words::best(queries)).filter(|query| !query.is_none())
    }
}

fn pattern(field: &ParseField, pattern: TermPattern, scoring: PatternScoring) -> Query {
    words::boosted(Query::Pattern { field: field.field, pattern, scoring }, field.boost)
}

/// An end of a range without its quotes; `None` if it is open.
fn unquoted(end: &str) -> Option<&str> {
    let end = end.trim();
    if end == "*" {
        return None;
    }
    Some(end.strip_prefix('"').and_then(|end| end.strip_suffix('"')).unwrap_or(end))
}
