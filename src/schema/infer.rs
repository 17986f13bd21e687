//! A schema guessed from the first documents, for callers who give none.
//!
//! The rule, over the first [`INFER_ROWS`] rows, nulls and empty lists left out:
//!
//! | all values of a field are | kind |
//! |---|---|
//! | dates with at least a day, ISO 8601 strings | date |
//! | strings | text, default analyzer |
//! | lists of strings, or lists and single strings mixed | keyword |
//! | numbers, or lists of numbers | number |
//! | lists of at least [`MIN_INFERRED_DIMS`] numbers, all of one length | vector, cosine |
//! | bools | bool |
//! | anything else | json: stored, not searchable |
//!
//! Vectors handed in beside the documents make a vector field each. A field whose name is reserved is left
//! out, which stores it with the document all the same. To have single strings as keywords, give a schema.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    DocumentBatch, Field, FieldKind, Metric, Schema, TextOptions, VectorOptions, dates,
    json::{MAX_DIMS, MAX_FIELDS, is_valid_name},
};
use crate::error::{Error, Result};

/// Rows looked at.
pub const INFER_ROWS: usize = 1000;
/// Shortest list of numbers taken for a vector.
pub const MIN_INFERRED_DIMS: usize = 8;

/// What was seen of one field.
#[derive(Debug, Default)]
struct Seen {
    dates: usize,
    strings: usize,
    string_lists: usize,
    numbers: usize,
    number_lists: usize,
    bools: usize,
    others: usize,
    /// Length of the number lists, while it is one.
    list_len: Option<usize>,
    lists_differ: bool,
}

impl Seen {
    fn look_at(&mut self, value: &Value) {
        match value {
            Value::Null => {}
            Value::Bool(_) => self.bools += 1,
            Value::Number(_) => self.numbers += 1,
            Value::String(text) if dates::is_full_date(text) => self.dates += 1,
            Value::String(_) => self.strings += 1,
            Value::Array(list) if list.is_empty() => {}
            Value::Array(list) if list.iter().all(Value::is_string) => self.string_lists += 1,
            Value::Array(list) if list.iter().all(Value::is_number) => {
                self.number_lists += 1;
                self.lists_differ |= self.list_len.is_some_and(|len| len != list.len());
                self.list_len = Some(list.len());
            }
            Value::Array(list) if list.iter().all(is_number_list) => {
                // Several vectors of one document.
                self.number_lists += 1;
                for vector in list.iter().filter_map(Value::as_array) {
                    self.lists_differ |= self.list_len.is_some_and(|len| len != vector.len());
                    self.list_len = Some(vector.len());
                }
                self.others += usize::from(self.lists_differ);
            }
            Value::Array(_) | Value::Object(_) => self.others += 1,
        }
    }

    /// `None` where nothing but nulls was seen.
    fn kind(&self) -> Option<FieldKind> {
        let text = self.dates + self.strings;
        let total = text + self.string_lists + self.numbers + self.number_lists + self.bools + self.others;
        let dims = self.list_len.filter(|len| !self.lists_differ && *len >= MIN_INFERRED_DIMS);
        Some(match total {
            0 => return None,
            all if all == self.dates => FieldKind::Date,
            all if all == text => FieldKind::Text(TextOptions::default()),
            all if all == text + self.string_lists => FieldKind::Keyword,
            all if all == self.number_lists && dims.is_some_and(|dims| dims <= MAX_DIMS as usize) => {
                let dims = dims.unwrap_or_default() as u32;
                FieldKind::Vector(VectorOptions::new(dims, Metric::Cosine))
            }
            all if all == self.numbers + self.number_lists => FieldKind::Number,
            all if all == self.bools => FieldKind::Bool,
            _ => FieldKind::Json,
        })
    }
}

fn is_number_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_number))
}

impl Schema {
    /// Guesses a schema from the first documents of a batch, by the rule of this module.
    ///
    /// # Errors
    /// `invalid_argument` if vectors beside the documents do not divide into vectors of one length.
    ///
    /// # Examples
    /// ```
    /// use rangefind::schema::{DocumentBatch, FieldKind, Schema};
    /// let batch = DocumentBatch::from_text(r#"{"id":1,"title":"A day","tags":["x"],"year":2024}"#)?;
    /// let schema = Schema::infer(&batch)?;
    /// assert!(matches!(schema.find("title").unwrap().1.kind, FieldKind::Text(_)));
    /// assert_eq!(schema.find("tags").unwrap().1.kind, FieldKind::Keyword);
    /// assert_eq!(schema.find("year").unwrap().1.kind, FieldKind::Number);
    /// # Ok::<(), rangefind::Error>(())
    /// ```
    pub fn infer(batch: &DocumentBatch) -> Result<Self> {
        let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
        for map in batch.sample(INFER_ROWS) {
            for (name, value) in map.iter().filter(|(name, _)| is_valid_name(name)) {
                match seen.get_mut(name) {
                    Some(seen) => seen.look_at(value),
                    None => seen.entry(name.clone()).or_default().look_at(value),
                }
            }
        }
        let mut fields: Vec<Field> = Vec::new();
        for vectors in batch.vectors() {
            let bad = |what: String| Error::invalid(format!("vectors of field {:?}: {what}", vectors.field));
            let total: usize = match &vectors.counts {
                Some(counts) => counts.iter().map(|&count| count as usize).sum(),
                None => batch.len(),
            };
            let len = vectors.values.len();
            if total == 0 && len == 0 {
                continue;
            }
            if total == 0 || !len.is_multiple_of(total) || len / total == 0 || len / total > MAX_DIMS as usize {
                return Err(bad(format!("{len} numbers are not {total} vectors of 1 to {MAX_DIMS} dimensions")));
            }
            let kind = FieldKind::Vector(VectorOptions::new((len / total) as u32, Metric::Cosine));
            seen.remove(&vectors.field);
            fields.push(Field { name: vectors.field.clone(), kind });
        }
        let room = MAX_FIELDS.saturating_sub(fields.len() + 1);
        let kinds = seen.into_iter().filter_map(|(name, seen)| seen.kind().map(|kind| Field { name, kind }));
        fields.extend(kinds.take(room));
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        let schema = Self::new(fields);
        schema.validate()?;
        Ok(schema)
    }
}
