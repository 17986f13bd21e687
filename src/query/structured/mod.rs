//! Queries as JSON objects: a tree of clauses, each an object with one key.
//!
//! ```text
//! clause := { term: { field, value } }                       text is analysed; columns and ids compare values
//!         | { match: { field | fields, text, operator: "or" | "and", minShouldMatch, fuzzy, prefix } }
//!         | { phrase: { field, text, slop } }   | { phrasePrefix: { field, text, slop, maxExpansions } }
//!         | { prefix: { field, value } } | { wildcard: { field, value } } | { regex: { field, value } }
//!         | { fuzzy: { field, value, maxEdits, prefixLength, maxExpansions } }
//!         | { range: { field, gt, gte, lt, lte } } | { terms: { field, values } } | { exists: { field } }
//!         | { bool: { must, should, mustNot, filter, minShouldMatch } }     lists of clauses, or one
//!         | { disMax: { queries, tieBreaker } }
//!         | { constant: { query, score } } | { boost: { query, factor } }
//!         | { function: { query, field, decay | log1p | saturation | linear, weight, missing, boostMode } }
//!         | { moreLikeThis: { like: id, or text, fields, maxQueryTerms, minTermFreq, minDocFreq, maxDocFreq, minShouldMatch } }
//!         | { plain: "text" } | { lucene: "text" }
//!         | { all: {} } | { none: {} }
//! ```
//!
//! Every clause but `all`, `none`, `plain` and `lucene` takes a `boost`. Errors name the place:
//! `query.bool.must[2].range.field`. Nothing is guessed: an unknown key is an error.

#![forbid(unsafe_code)]

mod columns;
mod function;
mod more_like;
mod path;
mod text;

use serde_json::{Map, Value};

use crate::{
    error::Result,
    query::{BooleanQuery, ParseOptions, Parsed, Query, parse_lucene, parse_plain, work::Work},
    schema::Schema,
};

use path::{At, Object};

/// How deep clauses nest.
pub const MAX_TREE_DEPTH: usize = 32;
/// How many clauses a query has.
pub const MAX_TREE_CLAUSES: usize = 1024;

/// Names of clauses, for messages.
const CLAUSES: &str = "term, match, phrase, phrasePrefix, prefix, wildcard, regex, fuzzy, range, terms, exists, bool, \
                       disMax, constant, boost, function, moreLikeThis, plain, lucene, all, none";

/// Reads a query object.
///
/// # Errors
/// `invalid_argument` naming the place: an unknown clause, key or field, a value of another type, too deep, too many
/// clauses, terms ([`crate::query::MAX_QUERY_TERMS`]) or patterns ([`crate::query::MAX_QUERY_PATTERNS`]).
pub fn parse_tree(tree: &Map<String, Value>, schema: &Schema, options: &ParseOptions, now: f64) -> Result<Parsed> {
    let mut reader = TreeReader { schema, options, now, clauses: 0, work: Work::default(), ignored: Vec::new() };
    let query = reader.clause(tree, &At::root(), 0)?;
    Ok(Parsed { query, ignored: reader.ignored })
}

/// Reads clauses.
struct TreeReader<'a> {
    schema: &'a Schema,
    options: &'a ParseOptions,
    /// Milliseconds since 1970, for `now`.
    now: f64,
    clauses: usize,
    /// What all clauses come to.
    work: Work,
    ignored: Vec<String>,
}

impl TreeReader<'_> {
    fn query(&mut self, value: &Value, at: &At<'_>, depth: usize) -> Result<Query> {
        match value {
            Value::Object(map) => self.clause(map, at, depth),
            _ => Err(at.bad("expected a clause such as { \"match\": { \"field\": …, \"text\": … } }")),
        }
    }

    fn clause(&mut self, map: &Map<String, Value>, at: &At<'_>, depth: usize) -> Result<Query> {
        let mut entries = map.iter();
        let (Some((name, body)), None) = (entries.next(), entries.next()) else {
            return Err(at.bad(format_args!("{} keys, a clause has exactly one", map.len())));
        };
        if depth >= MAX_TREE_DEPTH {
            return Err(at.bad(format_args!("nested deeper than {MAX_TREE_DEPTH}")));
        }
        self.clauses += 1;
        if self.clauses > MAX_TREE_CLAUSES {
            return Err(at.bad(format_args!("more than {MAX_TREE_CLAUSES} clauses")));
        }
        let at = &at.key(name);
        let leaf = match name.as_str() {
            "all" => Object::new(body, at, &[]).map(|_| Query::All),
            "none" => Object::new(body, at, &[]).map(|_| Query::None),
            "plain" | "lucene" => self.parsed(name, body, at),
            "term" => self.term(body, at),
            "match" => self.matching(body, at),
            "phrase" => self.phrase(body, at),
            "phrasePrefix" => self.phrase_prefix(body, at),
            "moreLikeThis" => self.more_like_this(body, at),
            "prefix" => self.prefix(body, at),
            "wildcard" | "regex" => self.pattern(name, body, at),
            "fuzzy" => self.fuzzy(body, at),
            "range" => self.range(body, at),
            "terms" => self.terms(body, at),
            "exists" => self.exists(body, at),
            // What is inside of others was counted there.
            "bool" => return self.boolean(body, at, depth),
            "disMax" => return self.dis_max(body, at, depth),
            "constant" => {
                let object = Object::new(body, at, &["query", "score", "boost"])?;
                let score = object.number("score", 0.0)?.unwrap_or(1.0) as f32;
                let inner = self.query(object.need("query")?, &at.key("query"), depth + 1)?;
                return boosted(Query::Constant(Box::new(inner), score), &object);
            }
            "boost" => {
                let object = Object::new(body, at, &["query", "factor"])?;
                object.need("factor")?;
                let factor = object.number("factor", 0.0)?.unwrap_or(1.0) as f32;
                let inner = self.query(object.need("query")?, &at.key("query"), depth + 1)?;
                return Ok(Query::Boost(Box::new(inner), factor));
            }
            "function" => return self.function(body, at, depth),
            _ => return Err(at.bad(format_args!("unknown clause, expected one of {CLAUSES}"))),
        }?;
        self.work.add(&leaf).map_err(|what| at.bad(what))?;
        Ok(leaf)
    }

    fn parsed(&mut self, name: &str, body: &Value, at: &At<'_>) -> Result<Query> {
        let Value::String(text) = body else { return Err(at.bad("expected a text")) };
        let parsed = if name == "plain" { parse_plain(text, self.options) } else { parse_lucene(text, self.options) };
        self.ignored.extend(parsed.ignored);
        Ok(parsed.query)
    }

    fn queries(&mut self, object: &Object<'_>, key: &str, depth: usize) -> Result<Vec<Query>> {
        let (list, at) = (object.list(key, MAX_TREE_CLAUSES)?, object.at.key(key));
        let is_list = matches!(object.get(key), Some(Value::Array(_)));
        let each = list.iter().enumerate().map(|(ix, value)| {
            let place = if is_list { at.index(ix) } else { at };
            self.query(value, &place, depth + 1)
        });
        each.collect()
    }

    fn boolean(&mut self, body: &Value, at: &At<'_>, depth: usize) -> Result<Query> {
        let keys = ["must", "should", "mustNot", "filter", "minShouldMatch", "boost"];
        let object = Object::new(body, at, &keys)?;
        let must = self.queries(&object, "must", depth)?;
        let should = self.queries(&object, "should", depth)?;
        let must_not = self.queries(&object, "mustNot", depth)?;
        let filter = self.queries(&object, "filter", depth)?;
        let min_should_match = min_should_match(&object, should.len())?;
        boosted(Query::Boolean(BooleanQuery { must, should, must_not, filter, min_should_match }), &object)
    }

    fn dis_max(&mut self, body: &Value, at: &At<'_>, depth: usize) -> Result<Query> {
        let object = Object::new(body, at, &["queries", "tieBreaker", "boost"])?;
        object.need("queries")?;
        let queries = self.queries(&object, "queries", depth)?;
        let tie_breaker = object.number("tieBreaker", 0.0)?.unwrap_or(0.0) as f32;
        if tie_breaker > 1.0 {
            return Err(at.key("tieBreaker").bad("expected a number from 0 to 1"));
        }
        boosted(Query::DisMax { queries, tie_breaker }, &object)
    }
}

/// The query with the clause's `boost`.
fn boosted(query: Query, object: &Object<'_>) -> Result<Query> {
    Ok(match object.number("boost", 0.0)? {
        Some(boost) if boost != 1.0 => Query::Boost(Box::new(query), boost as f32),
        _ => query,
    })
}

/// How many of several clauses must match.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum MinShould {
    /// So many; negative: all but so many.
    Count(i64),
    /// A share in percent, rounded down; negative: all but so many.
    Share(i64),
}

impl MinShould {
    /// Reads `minShouldMatch`: a number, or a share such as `"75%"`.
    fn read(object: &Object<'_>) -> Result<Option<Self>> {
        let key = "minShouldMatch";
        let Some(found) = object.get(key) else { return Ok(None) };
        let share = |share: i64| (share.unsigned_abs() <= 100).then_some(Self::Share(share));
        let read = match found {
            Value::Number(number) => number.as_i64().map(Self::Count),
            Value::String(text) => match text.strip_suffix('%') {
                Some(number) => number.parse().ok().and_then(share),
                None => text.parse().ok().map(Self::Count),
            },
            _ => None,
        };
        match read {
            Some(read) => Ok(Some(read)),
            None => object.expected(key, "a whole number or a share such as \"75%\"", found),
        }
    }

    /// How many of `count` clauses: never more than there are.
    pub fn of(self, count: usize) -> u32 {
        let all = count as i64;
        let (Self::Count(number) | Self::Share(number)) = self;
        let size = if matches!(self, Self::Share(_)) { all * number / 100 } else { number };
        let needed = if number < 0 { all.saturating_add(size) } else { size };
        needed.clamp(0, all) as u32
    }
}

/// `minShouldMatch` of `count` clauses, 0 if it is not given.
fn min_should_match(object: &Object<'_>, count: usize) -> Result<u32> {
    Ok(MinShould::read(object)?.map_or(0, |min| min.of(count)))
}
