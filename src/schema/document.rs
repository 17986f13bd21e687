//! A document that fits its schema, ready to be indexed.

use crate::{
    analysis::OwnedToken,
    ids::{DocId, FieldOrd},
};

/// One checked document.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The caller's id, or one made up for a document without.
    pub id: DocId,
    /// Values of indexed fields, ascending by field; absent ones are left out.
    pub fields: Vec<(FieldOrd, FieldValue)>,
    /// What a hit gives back: the document as JSON text, without its vectors.
    pub stored: String,
}

/// Values of one field; several make it multi-valued.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// Texts; a gap of 100 positions keeps phrases from crossing from one to the next.
    Text(Vec<String>),
    /// The tokens of each text, where a custom analyzer makes them: it may fail, and then the document is refused.
    Tokens(Vec<Vec<OwnedToken>>),
    /// Exact strings.
    Keyword(Vec<String>),
    /// Floats, no NaN.
    Number(Vec<f64>),
    /// Integers.
    Integer(Vec<i64>),
    /// One truth value.
    Bool(bool),
    /// Milliseconds since 1970-01-01 UTC.
    Date(Vec<i64>),
    /// Vectors one after another, `[count x dims]`, all finite.
    Vector(Vec<f32>),
}
