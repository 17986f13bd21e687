//! Documents as callers hand them in: JSON text or values, with vectors beside them as flat arrays.
//!
//! Rows are parsed and checked one at a time, so that a batch needs little more memory than its text, and a
//! row that does not fit is refused alone.

#![forbid(unsafe_code)]

use std::ops::Range;

use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    Document, FieldKind, Schema,
    check::{self, Misfit, misfit},
};
use crate::{
    error::{Error, ErrorKind, Result},
    ids::{DocId, FieldOrd},
    platform,
};

/// Documents to add.
#[derive(Debug, Clone, Default)]
pub struct DocumentBatch {
    rows: Rows,
    vectors: Vec<FieldVectors>,
}

/// Vectors of one field for a whole batch, one array.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldVectors {
    /// The vector field.
    pub field: String,
    /// Components, `[number of vectors x dims]`, documents in batch order.
    pub values: Vec<f32>,
    /// Vectors of each document; one each if `None`.
    pub counts: Option<Vec<u32>>,
}

/// Why a document was refused, to branch on. Serialised in snake case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// The row is no JSON, or no UTF-8.
    BadJson,
    /// The row is JSON and no object.
    NotAnObject,
    /// Nested deeper than [`check::MAX_JSON_DEPTH`].
    TooDeep,
    /// The id is neither a string nor an integer, or empty or too long.
    BadId,
    /// A value of another type than the field's.
    WrongType,
    /// A document or keyword above its limit.
    TooLong,
    /// A vector of another dimension than the field's.
    WrongDims,
    /// A vector with NaN, infinity or something else than numbers.
    NotFinite,
    /// A custom analyzer failed on it, or is not there.
    AnalyzerFailed,
}

/// A document that was not added. The others of its batch were.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// Position in the batch, from 0; empty lines are not counted.
    pub row: u64,
    /// Its id, as far as it could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<DocId>,
    /// The field that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Why, in words.
    pub reason: String,
    /// Why, to branch on.
    pub code: RefusalCode,
}

#[derive(Debug, Clone)]
enum Rows {
    /// Ranges of one text.
    Text {
        text: String,
        rows: Vec<Range<usize>>,
        /// Rows whose bytes were no UTF-8, ascending. They are refused.
        not_utf8: Vec<usize>,
    },
    Values(Vec<Value>),
}

impl Default for Rows {
    fn default() -> Self {
        Self::Values(Vec::new())
    }
}

impl DocumentBatch {
    /// Documents as JSON values, objects all of them.
    pub fn from_values(values: Vec<Value>) -> Self {
        Self { rows: Rows::Values(values), vectors: Vec::new() }
    }

    /// Documents as text: a JSON array, or one JSON object per line (NDJSON). A text whose first character is
    /// `[` is an array. In NDJSON a broken line is refused alone; lines with only white space are skipped.
    ///
    /// # Errors
    /// `invalid_argument` if the text is an array and broken as a whole.
    pub fn from_text(text: impl Into<String>) -> Result<Self> {
        let mut text = text.into();
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        let start_of = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
        let rows: Vec<Range<usize>> = if text.trim_start().starts_with('[') {
            let parts: Vec<&RawValue> = serde_json::from_str(&text)
                .map_err(|error| Error::with_source(ErrorKind::InvalidArgument, "documents as a JSON array", error))?;
            parts.iter().map(|part| start_of(part.get())..start_of(part.get()) + part.get().len()).collect()
        } else {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.map(|line| start_of(line)..start_of(line) + line.len()).collect()
        };
        Ok(Self { rows: Rows::Text { text, rows, not_utf8: Vec::new() }, vectors: Vec::new() })
    }

    /// As [`Self::from_text`], of bytes from outside. In NDJSON a line that is no UTF-8 is refused alone.
    ///
    /// # Errors
    /// `invalid_argument` if the text is an array and broken as a whole, or no UTF-8.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Self::from_text(text),
            Err(error) => error.into_bytes(),
        };
        let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        if start.trim_ascii_start().starts_with(b"[") {
            return Err(Error::invalid("documents as a JSON array: the text is not UTF-8"));
        }
        let (mut text, mut rows, mut not_utf8) = (String::with_capacity(bytes.len()), Vec::new(), Vec::new());
        for line in start.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line.trim_ascii());
            if line.trim().is_empty() {
                continue;
            }
            if matches!(line, std::borrow::Cow::Owned(_)) {
                not_utf8.push(rows.len());
            }
            let from = text.len();
            text.push_str(&line);
            rows.push(from..text.len());
        }
        Ok(Self { rows: Rows::Text { text, rows, not_utf8 }, vectors: Vec::new() })
    }

    /// Adds the vectors of one field.
    #[must_use]
    pub fn with_vectors(mut self, vectors: FieldVectors) -> Self {
        self.vectors.push(vectors);
        self
    }

    /// Documents, fitting or not.
    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::Text { rows, .. } => rows.len(),
            Rows::Values(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory held, roughly for values.
    pub fn memory_bytes(&self) -> usize {
        let rows = match &self.rows {
            Rows::Text { text, rows, .. } => text.capacity() + rows.capacity() * size_of::<Range<usize>>(),
            Rows::Values(values) => values.capacity() * size_of::<Value>(),
        };
        rows + self.vectors.iter().map(|vectors| vectors.values.capacity() * 4).sum::<usize>()
    }

    pub(super) fn vectors(&self) -> &[FieldVectors] {
        &self.vectors
    }

    /// The first `count` rows that are objects.
    pub(super) fn sample(&self, count: usize) -> impl Iterator<Item = Map<String, Value>> + '_ {
        let count = count.min(self.len());
        (0..count).filter_map(|row| match &self.rows {
            Rows::Text { text, rows, .. } => serde_json::from_str(&text[rows[row].clone()]).ok(),
            Rows::Values(values) => values[row].as_object().cloned(),
        })
    }

    /// Checks the batch as a whole and then yields, row by row, documents or refusals. A document without an
    /// id gets one: 26 characters that sort by time, unique across indexes.
    ///
    /// # Errors
    /// `invalid_argument` if vectors are for a field that is none, come twice, or do not add up;
    /// then nothing of the batch is used.
    pub fn into_documents(self, schema: &Schema) -> Result<Documents<'_>> {
        let num_rows = self.len();
        let mut flat = Vec::with_capacity(self.vectors.len());
        for vectors in self.vectors {
            let bad = |what: String| Error::invalid(format!("vectors of field {:?}: {what}", vectors.field));
            let (ord, dims) = match schema.find(&vectors.field) {
                Some((ord, field)) => match &field.kind {
                    FieldKind::Vector(options) => (ord, options.dims),
                    other => return Err(bad(format!("the field is {}", other.name()))),
                },
                None => return Err(bad("there is no such field".to_owned())),
            };
            if flat.iter().any(|cursor: &FlatCursor| cursor.field == ord) {
                return Err(bad("given twice".to_owned()));
            }
            if vectors.counts.as_ref().is_some_and(|counts| counts.len() != num_rows) {
                return Err(bad(format!("counts are not one for each of {num_rows} documents")));
            }
            let total: u64 = match &vectors.counts {
                Some(counts) => counts.iter().map(|&count| u64::from(count)).sum(),
                None => num_rows as u64,
            };
            if total.checked_mul(u64::from(dims)) != Some(vectors.values.len() as u64) {
                let have = vectors.values.len();
                return Err(bad(format!("{have} numbers for {total} vectors of {dims} dimensions")));
            }
            flat.push(FlatCursor { field: ord, dims: dims as usize, vectors, at: 0 });
        }
        Ok(Documents { schema, rows: self.rows, num_rows, row: 0, flat, ids: None })
    }
}

#[derive(Debug)]
struct FlatCursor {
    field: FieldOrd,
    dims: usize,
    vectors: FieldVectors,
    at: usize,
}

/// Documents and refusals of one batch, in row order.
#[derive(Debug)]
pub struct Documents<'s> {
    schema: &'s Schema,
    rows: Rows,
    num_rows: usize,
    row: usize,
    flat: Vec<FlatCursor>,
    ids: Option<IdMaker>,
}

impl Documents<'_> {
    fn check(
        &mut self,
        row: usize,
        flat: &[(FieldOrd, Range<usize>)],
        id: &mut Option<DocId>,
    ) -> Result<Document, Misfit> {
        let not_an_object = |value: &Value| {
            misfit(RefusalCode::NotAnObject, None, format!("expected an object, found {}", check::type_name(value)))
        };
        let bad_json = |error: serde_json::Error| misfit(RefusalCode::BadJson, None, error.to_string());
        let (map, raw) = match &mut self.rows {
            Rows::Text { not_utf8, .. } if not_utf8.binary_search(&row).is_ok() => {
                return Err(misfit(RefusalCode::BadJson, None, "the text is not UTF-8"));
            }
            Rows::Text { text, rows, .. } => {
                let raw = &text[rows[row].clone()];
                match serde_json::from_str(raw).map_err(bad_json)? {
                    Value::Object(map) => (map, Some(raw)),
                    other => return Err(not_an_object(&other)),
                }
            }
            Rows::Values(values) => match values[row].take() {
                Value::Object(map) => (map, None),
                other => return Err(not_an_object(&other)),
            },
        };
        if raw.is_none() && check::is_too_deep(&map) {
            let reason = format!("nested deeper than {}", check::MAX_JSON_DEPTH);
            return Err(misfit(RefusalCode::TooDeep, None, reason));
        }
        *id = check::document_id(&map)?;
        let doc_id = match id {
            Some(id) => id.clone(),
            None => {
                let made = match &mut self.ids {
                    Some(ids) => Ok(ids.next_id()),
                    none => IdMaker::new().map(|ids| none.insert(ids).next_id()),
                };
                made.map_err(|error| misfit(RefusalCode::BadId, Some("id"), error.to_string()))?
            }
        };
        let vectors: Vec<check::FlatVectors> = flat
            .iter()
            .filter_map(|(field, range)| {
                let cursor = self.flat.iter().find(|cursor| cursor.field == *field)?;
                Some((*field, cursor.vectors.values.get(range.clone())?))
            })
            .collect();
        check::document(self.schema, doc_id, map, raw, &vectors)
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Document, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.row >= self.num_rows {
            return None;
        }
        let row = self.row;
        self.row += 1;
        // The cursors move on whether the row fits or not.
        let flat: Vec<_> = self
            .flat
            .iter_mut()
            .map(|cursor| {
                let count = cursor.vectors.counts.as_ref().map_or(1, |counts| counts[row]) as usize;
                let start = cursor.at;
                cursor.at += count * cursor.dims;
                (cursor.field, start..cursor.at)
            })
            .collect();
        let mut id = None;
        let result = self.check(row, &flat, &mut id);
        Some(result.map_err(|misfit| Refusal {
            row: row as u64,
            id,
            field: misfit.field,
            reason: misfit.reason,
            code: misfit.code,
        }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rest = self.num_rows - self.row;
        (rest, Some(rest))
    }
}

/// Makes ids of 48 bits of time and 80 random bits, counted up within a batch, in Crockford's base 32:
/// the layout of a ULID, in lower case.
#[derive(Debug)]
struct IdMaker(u128);

impl IdMaker {
    fn new() -> Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| Error::new(ErrorKind::Io, format!("randomness: {error}")))?;
        let low = u128::from_le_bytes(random) & ((1 << 80) - 1);
        Ok(Self(u128::from(platform::unix_millis()) << 80 | low))
    }

    fn next_id(&mut self) -> DocId {
        const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        const CHARS: u32 = 26;
        let value = self.0;
        self.0 = self.0.wrapping_add(1);
        let id = (0..CHARS).rev().map(|ix| char::from(ALPHABET[(value >> (5 * ix)) as usize % 32]));
        DocId::Str(id.collect())
    }
}
