//! Schema and documents: what an index holds, and what a caller hands in.
//!
//! [`Schema`] is given as JSON ([`Schema::from_json`]) or inferred from a first batch ([`Schema::infer`]).
//! A [`DocumentBatch`] turns into checked [`Document`]s or, row by row, into [`Refusal`]s.

mod batch;
mod check;
pub mod dates;
mod document;
mod fields;
mod infer;
mod json;
#[cfg(test)]
mod tests;

pub use batch::{DocumentBatch, Documents, FieldVectors, Refusal, RefusalCode};
pub use check::{MAX_DOCUMENT_BYTES, MAX_ID_BYTES, MAX_JSON_DEPTH, MAX_KEYWORD_BYTES};
pub use document::{Document, FieldValue};
pub use fields::{
    DEFAULT_DEGREE, Field, FieldKind, MAX_DEGREE, Metric, Schema, TextOptions, VectorCodes, VectorOptions,
    VectorStorage,
};
pub use infer::{INFER_ROWS, MIN_INFERRED_DIMS};
pub use json::{MAX_DIMS, MAX_FIELDS, MAX_NAME_BYTES};
