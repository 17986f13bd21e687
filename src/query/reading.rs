//! JSON of a caller's, read into a type of ours; what does not fit is told by its place and in plain words.
//!
//! Serde says what is wrong, in words about Rust types, and not where in the value. That is looked for only then: a
//! part without which the rest would be read is to blame, and the same within that part.

#![forbid(unsafe_code)]

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// Longest list whose entries are tried one by one.
const MAX_TRIED: usize = 256;
/// Characters of a value in a message.
const SHOWN_CHARS: usize = 60;

/// A value of ours from JSON text. `what` it is begins the message of an error.
///
/// # Errors
/// `invalid_argument`: `search: vector.k: expected a whole number, found "5"`.
pub fn read_json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let fails = |text: &str| serde_json::from_str::<T>(text).err().map(|error| told(&error));
        refusal(what, text, told(&error), &fails)
    })
}

/// The message without the position in a text that the caller may never have seen.
fn told(error: &serde_json::Error) -> String {
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    message.strip_suffix(&position).map_or(message.clone(), str::to_owned)
}

/// Says what is wrong with a text and fails again for parts of it.
type Fails<'a> = &'a dyn Fn(&str) -> Option<String>;

#[cold]
fn refusal(what: &str, text: &str, message: String, fails: Fails) -> Error {
    let Ok(mut root) = serde_json::from_str::<Value>(text) else {
        return Error::invalid(format!("{what}: not JSON: {message}"));
    };
    let mut path = Vec::new();
    let message = blame(&mut root, &mut path, fails).unwrap_or(message);
    let found = path.iter().try_fold(&root, |value, step| step.of(value));
    let message = in_words(&message, &mut path, found);
    let place = path.iter().map(Step::to_string).collect::<String>();
    let place = place.trim_start_matches('.');
    match message.strip_prefix(place).is_some_and(|rest| rest.starts_with(": ")) || place.is_empty() {
        true => Error::invalid(format!("{what}: {message}")),
        false => Error::invalid(format!("{what}: {place}: {message}")),
    }
}

/// From a value to a part of it.
enum Step {
    Key(String),
    Index(usize),
}

impl Step {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Key(key) => value.get(key),
            Self::Index(ix) => value.get(ix),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, ".{key}"),
            Self::Index(ix) => write!(f, "[{ix}]"),
        }
    }
}

/// Goes down to the smallest part that is to blame, and returns what is wrong with it.
fn blame(root: &mut Value, path: &mut Vec<Step>, fails: Fails) -> Option<String> {
    let mut message = None;
    loop {
        let here = path.iter().try_fold(&*root, |value, step| step.of(value))?.clone();
        let mut tried = |part: Value| {
            let whole = std::mem::replace(at(root, path)?, part);
            let failed = fails(&root.to_string());
            *at(root, path)? = whole;
            Some(failed)
        };
        let step = match &here {
            Value::Object(map) => {
                let without = |key: &str| {
                    let mut rest = map.clone();
                    rest.shift_remove(key);
                    Value::Object(rest)
                };
                let alone = |key: &str| Value::Object(Map::from_iter([(key.to_owned(), map[key].clone())]));
                let mends = map.keys().find(|key| tried(without(key)) == Some(None));
                let breaks = || {
                    map.keys().find(|key| {
                        let failed = tried(alone(key)).flatten();
                        failed.is_some_and(|message| !message.starts_with("missing field"))
                    })
                };
                mends.or_else(breaks).map(|key| Step::Key(key.clone()))
            }
            Value::Array(list) if list.len() <= MAX_TRIED => {
                let breaks = |ix: &usize| tried(Value::Array(vec![list[*ix].clone()])).flatten().is_some();
                (0..list.len()).find(breaks).map(Step::Index)
            }
            _ => None,
        };
        let Some(step) = step else { return message };
        path.push(step);
        // With what is beside it left out, this is what is wrong.
        message = Some(fails(&only(root, path).to_string())?);
    }
}

fn at<'v>(root: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(root, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(ix) => value.get_mut(ix),
    })
}

/// The root with what is on the path; of lists, with the one entry.
fn only(root: &Value, path: &[Step]) -> Value {
    let Some((step, rest)) = path.split_first() else { return root.clone() };
    let Some(child) = step.of(root).map(|child| only(child, rest)) else { return root.clone() };
    match (step, root) {
        (Step::Index(_), _) => Value::Array(vec![child]),
        (Step::Key(key), Value::Object(map)) => {
            let mut map = map.clone();
            map.insert(key.clone(), child);
            Value::Object(map)
        }
        _ => root.clone(),
    }
}

/// What serde says, without Rust's names of types. An unknown key is told at the object that has it.
fn in_words(message: &str, path: &mut Vec<Step>, found: Option<&Value>) -> String {
    let shown = || found.map(|value| value.to_string().chars().take(SHOWN_CHARS).collect::<String>());
    if let Some((key, expected)) = message.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, ")) {
        if matches!(path.last(), Some(Step::Key(last)) if last == key) {
            path.pop();
        }
        let names = expected.replace("expected one of ", "").replace("expected ", "").replace('`', "");
        return format!("unknown key {key:?}, expected {names}");
    }
    if let Some(key) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return format!("{key:?} is missing");
    }
    if let Some((_, expected)) = message.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", ")) {
        let names = expected.replace("expected one of ", "").replace("expected ", "").replace('`', "\"");
        return format!("expected {names}, found {}", shown().unwrap_or_default());
    }
    let Some((_, expected)) = message.strip_prefix("invalid ").and_then(|rest| rest.rsplit_once(", expected ")) else {
        return message.to_owned();
    };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    format!("expected {expected}, found {}", shown().unwrap_or_else(|| "something else".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::request::SearchRequest;

    fn refused(text: &str) -> String {
        let error = read_json::<SearchRequest>("search", text).expect_err(text);
        assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
        error.to_string()
    }

    #[test]
    fn the_option_and_what_it_takes_are_named() {
        for (text, message) in [
            (r#"{"query":"a","limit":"5"}"#, r#"search: limit: expected a whole number of at least 0, found "5""#),
            (r#"{"limit":-1}"#, "search: limit: expected a whole number of at least 0, found -1"),
            (r#"{"limit":1.5}"#, "search: limit: expected a whole number of at least 0, found 1.5"),
            (r#"{"prefix":"yes"}"#, r#"search: prefix: expected true or false, found "yes""#),
            (r#"{"fields":"title"}"#, r#"search: fields: expected a list, found "title""#),
            (r#"{"fields":["a",3,"b"]}"#, "search: fields[1]: expected a text, found 3"),
            (r#"{"match":"some"}"#, r#"search: match: expected "any" or "all", found "some""#),
            (
                r#"{"vector":{"field":"e","k":"5"}}"#,
                r#"search: vector.k: expected a whole number of at least 0, found "5""#,
            ),
            (r#"{"vector":{"field":"e","value":"x"}}"#, r#"search: vector.value: expected a list, found "x""#),
            (r#"{"vector":{"field":"e","value":[1,"x"]}}"#, r#"search: vector.value[1]: expected a number, found "x""#),
            (r#"{"sort":[{"field":"a"},{"order":"desc"}]}"#, r#"search: sort[1]: "field" is missing"#),
            (
                r#"{"sort":[{"field":"a","order":"up"}]}"#,
                r#"search: sort[0].order: expected "asc" or "desc", found "up""#,
            ),
            (
                r#"{"facets":[{"field":"a","ranges":[{"from":1,"too":2}]}]}"#,
                r#"search: facets[0].ranges[0]: unknown key "too", expected from, to, key"#,
            ),
            (r#"{"fuzzy":3}"#, r#"search: fuzzy: expected 0, 1, 2 or "auto", found 3"#),
            ("[1]", "search: "),
            ("{", "search: not JSON: "),
        ] {
            assert!(refused(text).starts_with(message), "{text}: {}", refused(text));
        }
        let unknown = refused(r#"{"query":"a","limt":5}"#);
        assert!(unknown.starts_with(r#"search: unknown key "limt", expected query, syntax, "#), "{unknown}");
        assert!(!unknown.contains('`'), "{unknown}");
    }

    #[test]
    fn of_two_mistakes_one_is_told() {
        assert!(refused(r#"{"limit":"5","offset":"x"}"#).contains("found \""));
        assert!(refused(r#"{"vector":{"field":"e","k":"5","recall":"x"}}"#).starts_with("search: vector."));
    }

    #[test]
    fn requests_that_are_read_are_not_changed() {
        let request: SearchRequest = read_json("search", r#"{"query":"a","limit":5}"#).expect("read");
        assert_eq!((request.limit, request.offset), (Some(5), 0));
    }
}
