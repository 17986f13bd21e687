//! One JSON object against the schema: a [`Document`] or the first reason why not.

#![forbid(unsafe_code)]

use serde_json::{Map, Value};

use super::{Document, Field, FieldKind, FieldValue, RefusalCode, Schema, dates};
use crate::{
    analysis::AnalyzerError,
    ids::{DocId, FieldOrd},
};

/// Longest string id, bytes.
pub const MAX_ID_BYTES: usize = 1024;
/// Longest keyword, bytes.
pub const MAX_KEYWORD_BYTES: usize = 32_766;
/// Longest document, bytes of JSON without its vectors.
pub const MAX_DOCUMENT_BYTES: usize = 16 << 20;
/// Deepest nesting of a document.
pub const MAX_JSON_DEPTH: usize = 128;

/// Integers are exact in a double up to here.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Why a value does not fit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Misfit {
    pub code: RefusalCode,
    pub field: Option<String>,
    pub reason: String,
}

pub(super) fn misfit(code: RefusalCode, field: Option<&str>, reason: impl Into<String>) -> Misfit {
    Misfit { code, field: field.map(str::to_owned), reason: reason.into() }
}

/// What a JSON value is, in words.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a bool",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The document's id; `None` if it has none.
pub(super) fn document_id(map: &Map<String, Value>) -> Result<Option<DocId>, Misfit> {
    let bad = |reason: String| misfit(RefusalCode::BadId, Some("id"), reason);
    match map.get("id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) if id.is_empty() => Err(bad("the id is an empty string".to_owned())),
        Some(Value::String(id)) if id.len() > MAX_ID_BYTES => {
            Err(bad(format!("the id has {} bytes, at most {MAX_ID_BYTES} are possible", id.len())))
        }
        Some(Value::String(id)) => Ok(Some(DocId::Str(id.clone()))),
        Some(Value::Number(number)) => integer(number)
            .map(|id| Some(DocId::Int(id)))
            .ok_or_else(|| bad(format!("the id {number} is no 64-bit integer"))),
        Some(other) => Err(bad(format!("the id is {}, not a string or an integer", type_name(other)))),
    }
}

/// The number as an integer, if it is one exactly.
fn integer(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let value = number.as_f64()?;
        (value.fract() == 0.0 && value.abs() <= MAX_EXACT_INTEGER).then_some(value as i64)
    })
}

/// Nesting depth of a value, without recursion; counting stops beyond [`MAX_JSON_DEPTH`].
pub(super) fn is_too_deep(map: &Map<String, Value>) -> bool {
    let mut open: Vec<(&Value, usize)> = map.values().map(|value| (value, 1)).collect();
    while let Some((value, depth)) = open.pop() {
        if depth > MAX_JSON_DEPTH {
            return true;
        }
        match value {
            Value::Array(list) => open.extend(list.iter().map(|value| (value, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    false
}

/// Vectors of one document that came beside the JSON.
pub(super) type FlatVectors<'a> = (FieldOrd, &'a [f32]);

/// Checks every field of `map`. `raw` is the JSON text it was parsed from, kept as it is where it has no vectors.
pub(super) fn document(
    schema: &Schema,
    id: DocId,
    mut map: Map<String, Value>,
    raw: Option<&str>,
    flat: &[FlatVectors<'_>],
) -> Result<Document, Misfit> {
    let mut fields = Vec::new();
    let mut has_inline_vectors = false;
    for (ord, field) in schema.fields() {
        let flat = flat.iter().find(|(of, values)| *of == ord && !values.is_empty()).map(|(_, values)| *values);
        let inline = if matches!(field.kind, FieldKind::Vector(_)) {
            let inline = map.remove(&field.name);
            has_inline_vectors |= inline.is_some();
            inline.filter(|value| !value.is_null())
        } else {
            None
        };
        let value = match (&field.kind, flat, inline) {
            (FieldKind::Vector(_), Some(_), Some(_)) => {
                let reason = "vectors came both in the document and beside it";
                return Err(misfit(RefusalCode::WrongType, Some(&field.name), reason));
            }
            (FieldKind::Vector(options), Some(values), None) => {
                if let Some(at) = values.iter().position(|component| !component.is_finite()) {
                    let reason = format!("component {at} is {}, not a finite number", values[at]);
                    return Err(misfit(RefusalCode::NotFinite, Some(&field.name), reason));
                }
                within(field, options.storage.limit(), values)?;
                Some(FieldValue::Vector(values.to_vec()))
            }
            (FieldKind::Vector(options), None, Some(value)) => {
                let value = vectors(field, options.dims as usize, &value)?;
                if let Some(FieldValue::Vector(values)) = &value {
                    within(field, options.storage.limit(), values)?;
                }
                value
            }
            (FieldKind::Id | FieldKind::Json | FieldKind::Vector(_), ..) => None,
            _ => map.get(&field.name).filter(|value| !value.is_null()).map_or(Ok(None), |value| plain(field, value))?,
        };
        fields.extend(value.map(|value| (ord, value)));
    }
    let stored = match raw {
        Some(raw) if !has_inline_vectors => raw.to_owned(),
        _ => serde_json::to_string(&map).map_err(|error| misfit(RefusalCode::BadJson, None, error.to_string()))?,
    };
    if stored.len() > MAX_DOCUMENT_BYTES {
        let reason = format!("{} bytes of JSON, at most {MAX_DOCUMENT_BYTES} are possible", stored.len());
        return Err(misfit(RefusalCode::TooLong, None, reason));
    }
    Ok(Document { id, fields, stored })
}

/// One value or a list of values of a field that is no vector; `None` for an empty list.
fn plain(field: &Field, value: &Value) -> Result<Option<FieldValue>, Misfit> {
    let single = std::slice::from_ref(value);
    let values = match value {
        Value::Array(list) => list.as_slice(),
        _ => single,
    };
    if values.is_empty() {
        return Ok(None);
    }
    Ok(Some(match field.kind {
        FieldKind::Text(ref options) => {
            let texts = each(field, values, "text", |value| value.as_str().map(str::to_owned))?;
            let failed =
                |error: AnalyzerError| misfit(RefusalCode::AnalyzerFailed, Some(&field.name), error.to_string());
            let analyzer = options.analyzer.analyzer().map_err(failed)?;
            if analyzer.is_custom() {
                let tokens = texts.iter().map(|text| analyzer.try_tokens(text));
                FieldValue::Tokens(tokens.collect::<Result<_, _>>().map_err(failed)?)
            } else {
                FieldValue::Text(texts)
            }
        }
        FieldKind::Keyword => {
            let words = each(field, values, "a string", |value| value.as_str().map(str::to_owned))?;
            if let Some(long) = words.iter().find(|word| word.len() > MAX_KEYWORD_BYTES) {
                let reason = format!("a keyword of {} bytes, at most {MAX_KEYWORD_BYTES} are possible", long.len());
                return Err(misfit(RefusalCode::TooLong, Some(&field.name), reason));
            }
            FieldValue::Keyword(words)
        }
        FieldKind::Number => FieldValue::Number(each(field, values, "a number", |value| {
            value.as_f64().filter(|number| number.is_finite())
        })?),
        FieldKind::Integer => FieldValue::Integer(each(field, values, "a 64-bit integer", |value| match value {
            Value::Number(number) => integer(number),
            _ => None,
        })?),
        FieldKind::Date => {
            FieldValue::Date(each(field, values, "an ISO 8601 date or milliseconds", |value| match value {
                Value::String(text) => dates::parse_iso(text),
                Value::Number(number) => integer(number).filter(|millis| millis.abs() <= dates::MAX_MILLIS),
                _ => None,
            })?)
        }
        FieldKind::Bool => match value.as_bool() {
            Some(value) => FieldValue::Bool(value),
            None => return Err(wrong_type(field, "true or false", value)),
        },
        FieldKind::Id | FieldKind::Json | FieldKind::Vector(_) => return Ok(None),
    }))
}

fn each<T>(
    field: &Field,
    values: &[Value],
    expected: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, Misfit> {
    values.iter().map(|value| read(value).ok_or_else(|| wrong_type(field, expected, value))).collect()
}

fn wrong_type(field: &Field, expected: &str, found: &Value) -> Misfit {
    const SHOWN_CHARS: usize = 40;
    let shown = match found {
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() <= SHOWN_CHARS => format!("the string {text:?}"),
        Value::Bool(value) => value.to_string(),
        other => type_name(other).to_owned(),
    };
    misfit(RefusalCode::WrongType, Some(&field.name), format!("expected {expected}, found {shown}"))
}

/// Refuses components that the form they are stored in cannot hold.
fn within(field: &Field, limit: f32, values: &[f32]) -> Result<(), Misfit> {
    match values.iter().position(|component| component.abs() >= limit) {
        Some(at) => {
            let reason = format!("component {at} is {}, stored as f16 it must be below {limit}", values[at]);
            Err(misfit(RefusalCode::NotFinite, Some(&field.name), reason))
        }
        None => Ok(()),
    }
}

/// One vector as a list of numbers, or a list of such lists.
fn vectors(field: &Field, dims: usize, value: &Value) -> Result<Option<FieldValue>, Misfit> {
    let Value::Array(list) = value else { return Err(wrong_type(field, "an array of numbers", value)) };
    let several: Vec<&Vec<Value>> = match list.first() {
        None => return Ok(None),
        Some(Value::Array(_)) => list
            .iter()
            .map(|value| value.as_array().ok_or_else(|| wrong_type(field, "an array of numbers", value)))
            .collect::<Result<_, _>>()?,
        Some(_) => vec![list],
    };
    let mut components = Vec::with_capacity(several.len() * dims);
    for vector in several {
        if vector.len() != dims {
            let reason = format!("a vector of {} dimensions, the field has {dims}", vector.len());
            return Err(misfit(RefusalCode::WrongDims, Some(&field.name), reason));
        }
        for (at, component) in vector.iter().enumerate() {
            let Some(number) = component.as_f64() else {
                let reason = format!("component {at} is {}, not a number", type_name(component));
                return Err(misfit(RefusalCode::NotFinite, Some(&field.name), reason));
            };
            if !(number as f32).is_finite() {
                let reason = format!("component {at} is {number}, beyond a 32-bit float");
                return Err(misfit(RefusalCode::NotFinite, Some(&field.name), reason));
            }
            components.push(number as f32);
        }
    }
    Ok(Some(FieldValue::Vector(components)))
}
