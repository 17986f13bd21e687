//! Schema and documents: what an index holds, and what a caller hands in.

mod document;
mod fields;

pub use document::{Document, FieldValue};
pub use fields::{Field, FieldKind, Metric, Schema, TextOptions, VectorOptions};
