//! Clauses on words: terms, words of a text, phrases, patterns of terms.

use serde_json::Value;

use crate::{
    error::Result,
    query::{
        BooleanQuery, ParseField, PatternScoring, Query,
        parse::{
            near_terms,
            words::{self, Piece},
        },
        request::Fuzziness,
    },
    schema::FieldKind,
    terms::{FuzzyPattern, TermMatcher, TermPattern},
};

use super::{
    TreeReader, boosted, min_should_match,
    path::{At, Object},
};

/// Words of one `match`.
const MAX_MATCH_WORDS: usize = 1024;
/// Farthest that words of a phrase may be from their places.
const MAX_SLOP: u32 = 10_000;

impl TreeReader<'_> {
    /// A text or keyword field.
    pub(super) fn text_field(&self, name: &str, at: &At<'_>) -> Result<ParseField> {
        let known = self.options.named_fields.iter().chain(&self.options.default_fields);
        if let Some(field) = known.clone().find(|field| field.name == name) {
            return Ok(field.clone());
        }
        match self.schema.find(name) {
            None => Err(at.bad(format_args!("there is no field {name:?}"))),
            Some((_, field)) => Err(at.bad(format_args!("{name:?} is a {} field, it has no words", field.kind.name()))),
        }
    }

    /// The fields of `field` or `fields`; those of the request if neither is given.
    pub(super) fn text_fields(&self, object: &Object<'_>) -> Result<Vec<ParseField>> {
        match (object.text("field")?, object.get("fields")) {
            (Some(_), Some(_)) => Err(object.at.bad("either \"field\" or \"fields\"")),
            (Some(name), None) => Ok(vec![self.text_field(name, &object.at.key("field"))?]),
            (None, None) => Ok(self.options.default_fields.clone()),
            (None, Some(_)) => {
                let (list, at) =
                    (object.list("fields", self.options.named_fields.len().max(1))?, object.at.key("fields"));
                let field = |(ix, name): (usize, &Value)| match name {
                    Value::String(name) => self.text_field(name, &at.index(ix)),
                    _ => Err(at.index(ix).bad("expected a field name")),
                };
                list.iter().enumerate().map(field).collect()
            }
        }
    }

    pub(super) fn term(&mut self, body: &Value, at: &At<'_>) -> Result<Query> {
        let object = Object::new(body, at, &["field", "value", "boost"])?;
        let (name, value) = (object.need_text("field")?, object.need("value")?);
        let is_text = |kind: &FieldKind| matches!(kind, FieldKind::Text(_) | FieldKind::Keyword);
        if self.schema.find(name).is_some_and(|(_, field)| !is_text(&field.kind)) {
            let query = self.equal(name, std::slice::from_ref(value), &object, "value")?;
            return boosted(query, &object);
        }
        let (field, text) = (self.text_field(name, &at.key("field"))?, object.need_text("value")?);
        boosted(words::phrase(text, &[field], 0).unwrap_or(Query::None), &object)
    }

    pub(super) fn matching(&mut self, body: &Value, at: &At<'_>) -> Result<Query> {
        let keys = ["field", "fields", "text", "operator", "minShouldMatch", "fuzzy", "boost"];
        let object = Object::new(body, at, &keys)?;
        let (fields, text) = (self.text_fields(&object)?, object.need_text("text")?);
        let all = object.one_of("operator", &[("or", false), ("and", true)])?;
        let edits = edits(&object, "fuzzy", Fuzziness::default())?;
        let pieces: Vec<Piece> =
            words::pieces(text, &fields).into_iter().map(|piece| Piece::new(piece, &fields)).collect();
        let num_words: usize = pieces.iter().map(Piece::num_words).sum();
        if num_words > MAX_MATCH_WORDS {
            return Err(at.key("text").bad(format_args!("{num_words} words, at most {MAX_MATCH_WORDS}")));
        }
        let keep_stop_words = pieces.iter().all(Piece::is_all_stop_words);
        let tolerant = |query| near_terms(query, &|term| FuzzyPattern::new(term, max_edits(edits, term)));
        let query = if all {
            let each = pieces.into_iter().filter_map(|piece| piece.whole(keep_stop_words));
            words::all(each.map(tolerant).collect())
        } else {
            let each = pieces.into_iter().flat_map(|piece| piece.each_word(keep_stop_words));
            let should: Vec<_> = each.map(tolerant).collect();
            let min_should_match = min_should_match(&object, should.len())?;
            match should.len() {
                0 | 1 => words::any(should),
                _ => Query::Boolean(BooleanQuery { should, min_should_match, ..BooleanQuery::default() }),
            }
        };
        boosted(query, &object)
    }

    pub(super) fn phrase(&mut self, body: &Value, at: &At<'_>) -> Result<Query> {
        let object = Object::new(body, at, &["field", "fields", "text", "slop", "boost"])?;
        let (fields, text) = (self.text_fields(&object)?, object.need_text("text")?);
        let slop = object.count("slop", 0..=MAX_SLOP)?.unwrap_or(0);
        boosted(words::phrase(text, &fields, slop).unwrap_or(Query::None), &object)
    }

    pub(super) fn phrase_prefix(&mut self, body: &Value, at: &At<'_>) -> Result<Query> {
        let object = Object::new(body, at, &["field", "fields", "text", "slop", "maxExpansions", "boost"])?;
        let (fields, text) = (self.text_fields(&object)?, object.need_text("text")?);
        let slop = object.count("slop", 0..=MAX_SLOP)?.unwrap_or(0);
        let max_expansions = object.count("maxExpansions", 1..=1024)?.unwrap_or(words::DEFAULT_EXPANSIONS);
        if text.ends_with(char::is_whitespace) {
            // The last word is finished.
            return boosted(words::phrase(text, &fields, slop).unwrap_or(Query::None), &object);
        }
        boosted(words::phrase_prefix(text, &fields, slop, max_expansions).unwrap_or(Query::None), &object)
    }

    pub(super) fn prefix(&mut self, body: &Value, at: &At<'_>) -> Result<Query> {
        let object = Object::new(body, at, &["field", "value", "boost"])?;
        let field = self.text_field(object.need_text("field")?, &at.key("field"))?;
        let prefix = field.analyzer.prefix(object.need_text("value")?);
        boosted(words::boosted(Query::prefix(field.field, prefix), field.boost), &object)
    }

    /// `wildcard` and `regex`.
    pub(super) fn pattern(&mut self, name: &str, body: &Value, at: &At<'_>) -> Result<Query> {
        let object = Object::new(body, at, &["field", "value", "boost"])?;
        let field = self.text_field(object.need_text("field")?, &at.key("field"))?;
        let text = object.need_text("value")?;
        // Terms are folded, so wildcards are; a regular expression says for itself what it means.
        let pattern = match name {
            "wildcard" => TermPattern::Wildcard(field.analyzer.prefix(text)),
            _ => TermPattern::Regex(text.to_owned()),
        };
        TermMatcher::new(&pattern).map_err(|error| at.key("value").bad(error))?;
        let query = Query::Pattern { field: field.field, pattern, scoring: PatternScoring::Blended };
        boosted(words::boosted(query, field.boost), &object)
    }

    pub(super) fn fuzzy(&mut self, body: &Value, at: &At<'_>) -> Result<Query> {
        let object = Object::new(body, at, &["field", "value", "maxEdits", "prefixLength", "maxExpansions", "boost"])?;
        let field = self.text_field(object.need_text("field")?, &at.key("field"))?;
        let edits = edits(&object, "maxEdits", Fuzziness::Auto)?;
        let prefix_len = object.count("prefixLength", 0..=255)?.unwrap_or(0);
        let max_expansions = object.count("maxExpansions", 1..=1024)?.unwrap_or(FuzzyPattern::DEFAULT_EXPANSIONS);
        let tokens = field.analyzer.tokens(object.need_text("value")?).into_iter();
        let each = tokens.map(|token| {
            let max_edits = max_edits(edits, &token.term);
            let pattern = FuzzyPattern { term: token.term, max_edits, prefix_len, max_expansions };
            let pattern = TermPattern::Fuzzy(pattern);
            Query::Pattern { field: field.field, pattern, scoring: PatternScoring::Blended }
        });
        boosted(words::boosted(words::all(each.collect()), field.boost), &object)
    }
}

/// `0`, `1`, `2` or `"auto"`.
fn edits(object: &Object<'_>, key: &str, default: Fuzziness) -> Result<Fuzziness> {
    match object.get(key) {
        None => Ok(default),
        Some(found) => Fuzziness::of(found).map_or_else(|| object.expected(key, "0, 1, 2 or \"auto\"", found), Ok),
    }
}

fn max_edits(edits: Fuzziness, term: &str) -> u8 {
    edits.edits(term.chars().count())
}
