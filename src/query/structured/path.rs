//! Where in a query object something stands, and readers of its values that say so when they refuse.

use std::fmt;

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// A place in a query object: `query.bool.must[2].range.field`.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    outer: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> At<'a> {
    pub fn root() -> Self {
        Self { outer: None, step: Step::Key("query") }
    }

    pub fn key(&'a self, key: &'a str) -> Self {
        Self { outer: Some(self), step: Step::Key(key) }
    }

    pub fn index(&'a self, ix: usize) -> Self {
        Self { outer: Some(self), step: Step::Index(ix) }
    }

    pub fn bad(&self, what: impl fmt::Display) -> Error {
        Error::invalid(format!("{self}: {what}"))
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(outer) = self.outer {
            outer.fmt(f)?;
        }
        match (self.outer, self.step) {
            (None, Step::Key(key)) => f.write_str(key),
            (Some(_), Step::Key(key)) => write!(f, ".{key}"),
            (_, Step::Index(ix)) => write!(f, "[{ix}]"),
        }
    }
}

/// A value cut to what a message can show.
fn shown(value: &Value) -> String {
    const SHOWN_CHARS: usize = 60;
    value.to_string().chars().take(SHOWN_CHARS).collect()
}

/// The keys of one object, with where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object<'a> {
    pub map: &'a Map<String, Value>,
    pub at: &'a At<'a>,
}

impl<'a> Object<'a> {
    /// # Errors
    /// If `value` is no object, or has a key that is not among `known`.
    pub fn new(value: &'a Value, at: &'a At<'a>, known: &[&str]) -> Result<Self> {
        let Value::Object(map) = value else {
            return Err(at.bad(format_args!("expected an object, found {}", shown(value))));
        };
        if let Some(key) = map.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(at.bad(format_args!("unknown key {key:?}, expected {}", known.join(", "))));
        }
        Ok(Self { map, at })
    }

    /// The value of a key; null counts as absent.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub fn expected<T>(&self, key: &str, what: &str, found: &Value) -> Result<T> {
        Err(self.at.key(key).bad(format_args!("expected {what}, found {}", shown(found))))
    }

    pub fn need(&self, key: &str) -> Result<&'a Value> {
        self.get(key).ok_or_else(|| self.at.bad(format_args!("{key:?} is missing")))
    }

    pub fn text(&self, key: &str) -> Result<Option<&'a str>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(found) => self.expected(key, "a text", found),
        }
    }

    pub fn need_text(&self, key: &str) -> Result<&'a str> {
        self.need(key)?;
        Ok(self.text(key)?.unwrap_or_default())
    }

    /// A finite number of at least `least`.
    pub fn number(&self, key: &str, least: f64) -> Result<Option<f64>> {
        let Some(found) = self.get(key) else { return Ok(None) };
        match found.as_f64().filter(|number| number.is_finite() && *number >= least) {
            Some(number) => Ok(Some(number)),
            None if least == f64::NEG_INFINITY => self.expected(key, "a number", found),
            None => self.expected(key, &format!("a number of at least {least}"), found),
        }
    }

    /// A whole number in `range`.
    pub fn count(&self, key: &str, range: std::ops::RangeInclusive<u32>) -> Result<Option<u32>> {
        let Some(found) = self.get(key) else { return Ok(None) };
        match found.as_u64().and_then(|count| u32::try_from(count).ok()).filter(|count| range.contains(count)) {
            Some(count) => Ok(Some(count)),
            None => self.expected(key, &format!("a whole number from {} to {}", range.start(), range.end()), found),
        }
    }

    /// One of some words; the first of them if there is none.
    pub fn one_of<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<T> {
        let Some(text) = self.text(key)? else { return Ok(words[0].1) };
        let names = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" or ");
        let found = words.iter().find(|(word, _)| *word == text).map(|&(_, value)| value);
        found.ok_or_else(|| self.at.key(key).bad(format_args!("expected {}, found {text:?}", names())))
    }

    /// A list of at most `most` values; empty if there is none. One value may stand for a list of one.
    pub fn list(&self, key: &str, most: usize) -> Result<&'a [Value]> {
        let list = match self.get(key) {
            None => return Ok(&[]),
            Some(Value::Array(list)) => list.as_slice(),
            Some(single) => std::slice::from_ref(single),
        };
        if list.len() > most {
            return Err(self.at.key(key).bad(format_args!("{} entries, at most {most}", list.len())));
        }
        Ok(list)
    }
}
