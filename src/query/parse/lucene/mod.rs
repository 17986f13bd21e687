//! A syntax in the manner of Lucene's classic query parser.
//!
//! ```text
//! query  := clause*                       joined by AND, OR, && or ||; else as the options say
//! clause := (+ | - | ! | NOT)? (name:)? body (^boost)?
//! body   := word | wo?d* | word~edits? | /regex/ | "phrase"(~slop)? | "phrase beg*"(~slop)?
//!         | [from TO to] | {from TO to} | (query)(~count)?
//!         | (> | >= | < | <=) value       behind a name
//!         | *:* | _exists_:name | name:*
//! ```
//! `\` takes the meaning off the character behind it. As in Lucene, `a AND b` makes both clauses required, whatever
//! stands around them. `"range re*"` finds what goes on as it begins; other wildcards in quotes mean nothing. `word~` allows edits by the word's length; `(a b c)~2` finds two of the three. Ranges and comparisons
//! are conditions on columns, on text fields ranges of terms. What is not understood is searched as text or left out,
//! and said so.

mod leaves;

use crate::query::{
    BooleanQuery, Query,
    parse::{ParseColumn, ParseField, ParseOptions, Parsed, readable, words},
    request::MatchMode,
    work::Work,
};

/// Groups inside groups.
const MAX_DEPTH: usize = 32;
/// Clauses of the whole query.
const MAX_CLAUSES: usize = 1024;

/// Reads `+must -not "a phrase"~2 field:term pre* fuzz~1 /reg(ex)?/ year:[2019 TO 2021] (group)^2 AND OR NOT`. Never fails:
/// what it cannot use is reported.
pub fn parse_lucene(text: &str, options: &ParseOptions) -> Parsed {
    let (text, cut) = readable(text);
    let ignored = cut.into_iter().collect();
    let target = Target::Texts(options.default_fields.clone());
    let mut parser =
        Parser { rest: text, options, ignored, clauses: 0, work: Work::default(), target, is_named: false };
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
    /// What they come to.
    work: Work,
    /// What clauses without a name search.
    target: Target,
    /// Whether a name said so.
    is_named: bool,
}

/// What a clause looks into.
#[derive(Clone)]
enum Target {
    /// Text and keyword fields.
    Texts(Vec<ParseField>),
    /// A column that has no text: numbers, dates, ids.
    Column(ParseColumn),
    /// The names of fields: `_exists_`.
    Exists,
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
        // What is inside of groups was counted there.
        let is_group = self.rest.starts_with('(');
        let clause = self.body(depth);
        if let Some((query, _)) = clause.as_ref().filter(|_| !is_group)
            && let Err(what) = self.work.add(query)
        {
            self.ignore(format!("everything from clause {} on: {what}", self.clauses));
            self.rest = "";
            return None;
        }
        if let Some((target, is_named)) = outer {
            (self.target, self.is_named) = (target, is_named);
        }
        let (query, is_stop_word) = clause?;
        self.with_boost(query, is_stop_word)
    }

    /// Enters `name:`, and gives what to go back to.
    fn take_field(&mut self) -> Option<(Target, bool)> {
        let end = self.rest.find(|letter: char| is_special(letter) || letter == '\\')?;
        let behind = self.rest[end..].strip_prefix(':')?;
        let name = &self.rest[..end];
        let target = if name == "_exists_" { Some(Target::Exists) } else { self.find_target(name) };
        let Some(target) = target else {
            if !name.is_empty() {
                self.ignore(format!("`{name}:`, which is no field that can be searched; read as text"));
            }
            return None;
        };
        if behind.is_empty() || behind.starts_with(char::is_whitespace) {
            return None;
        }
        self.rest = behind;
        let outer = std::mem::replace(&mut self.target, target);
        Some((outer, std::mem::replace(&mut self.is_named, true)))
    }

    fn find_target(&self, name: &str) -> Option<Target> {
        let texts = self.options.named_fields.iter().chain(&self.options.default_fields);
        if let Some(field) = texts.clone().find(|field| field.name == name) {
            return Some(Target::Texts(vec![field.clone()]));
        }
        let column = self.options.columns.iter().find(|column| column.name == name)?;
        column.is_searchable().then(|| Target::Column(column.clone()))
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
        let count = if self.take("~") { self.number() } else { None };
        let matching = if count.is_some() { MatchMode::Any } else { self.options.matching };
        let mut query = combine(clauses, matching);
        if let Some(count) = count {
            match &mut query {
                Query::Boolean(boolean) if (1.0..=boolean.should.len() as f32).contains(&count) => {
                    boolean.min_should_match = count as u32;
                }
                _ => self.ignore(format!("`~{count}` behind a group without that many optional clauses")),
            }
        }
        Some(query).filter(|query| !query.is_none())
    }

    /// The digits and dots here, if they are a number.
    fn number(&mut self) -> Option<f32> {
        let end = self.rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().ok().filter(|number: &f32| number.is_finite())
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
