//! Field kinds and their options, in the JSON shape that callers write:
//! `{ "title": { "type": "text", "boost": 2 }, "tag": "keyword" }`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    analysis::{AnalyzerSpec, CustomAnalyzers},
    ids::FieldOrd,
};

/// The fields of an index, in [`FieldOrd`] order. Field 0 is the reserved id field `id`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schema {
    fields: Vec<Field>,
}

/// One named field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Name in documents and queries.
    pub name: String,
    /// What it holds and how it is indexed.
    pub kind: FieldKind,
}

/// What a field holds.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// The caller's document id.
    Id,
    /// Analysed text, searchable by words and phrases.
    Text(TextOptions),
    /// Exact strings: filters, sort, facets.
    Keyword,
    /// 64-bit float.
    Number,
    /// 64-bit signed integer.
    Integer,
    /// True or false.
    Bool,
    /// Milliseconds since 1970-01-01 UTC; documents give a number or an ISO 8601 string.
    Date,
    /// One or several vectors per document; the best one counts.
    Vector(VectorOptions),
    /// Stored with the document and not searchable.
    Json,
}

/// How text is indexed.
#[derive(Debug, Clone, PartialEq)]
pub struct TextOptions {
    /// The analyzer, recorded in the index by its name or as a whole. Default `english`.
    pub analyzer: AnalyzerSpec,
    /// Factor on the field's score. Default 1.
    pub boost: f32,
    /// Keep positions, which phrases need. Default true.
    pub positions: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { analyzer: AnalyzerSpec::default(), boost: 1.0, positions: true }
    }
}

/// How vectors are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Cosine similarity s, score (1 + s) / 2. A zero vector has similarity 0 to everything.
    Cosine,
    /// Dot product s, score (1 + s) / 2; not clamped, so scores may be negative or above 1.
    Dot,
    /// Squared Euclidean distance d², score 1 / (1 + d²).
    L2,
}

impl Metric {
    /// Number of the metric in files.
    pub const fn code(self) -> u8 {
        match self {
            Self::Cosine => 0,
            Self::Dot => 1,
            Self::L2 => 2,
        }
    }

    /// The metric that files call `code`.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Cosine, Self::Dot, Self::L2].into_iter().find(|metric| metric.code() == code)
    }
}

/// How the vectors near a query are estimated, where a segment has so many that they lie in cells.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum VectorCodes {
    /// A few bits of each component: quick to make and to score. The default.
    #[default]
    Osq,
    /// Product quantization: a byte for each of so many groups of components.
    Pq {
        /// Bytes of a code, 1 to the number of components.
        subspaces: u16,
        /// Cosine from which on a query is near: errors along a vector then count more than those across it. 0: all
        /// errors count alike.
        anisotropic: f32,
    },
}

impl VectorCodes {
    /// Product quantization with a byte for 8 components of `dims`.
    pub fn pq(dims: u32) -> Self {
        Self::Pq { subspaces: dims.div_ceil(8) as u16, anisotropic: 0.0 }
    }
}

/// How vectors are stored: what they are scored by in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VectorStorage {
    /// As they came, 4 bytes per component. The default.
    #[default]
    F32,
    /// 2 bytes per component, rounded to the nearest half-precision float; components below 65,520.
    F16,
    /// About 1 byte per component, on levels that fit each vector: full precision is dropped.
    Nvq8,
    /// About half a byte per component.
    Nvq4,
}

impl VectorStorage {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::F32, Self::F16, Self::Nvq8, Self::Nvq4];

    /// Number of the form in files.
    pub const fn code(self) -> u8 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Nvq8 => 2,
            Self::Nvq4 => 3,
        }
    }

    /// The form that files call `code`.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|storage| storage.code() == code)
    }

    /// Magnitude that components must stay below.
    pub const fn limit(self) -> f32 {
        match self {
            Self::F16 => HALF_LIMIT,
            _ => f32::INFINITY,
        }
    }
}

/// Where half-precision floats end: what is larger would round to infinity.
const HALF_LIMIT: f32 = 65520.0;

/// A vector field.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorOptions {
    /// Number of components, 1–4096.
    pub dims: u32,
    /// How vectors are compared. Default cosine.
    pub metric: Metric,
    /// How they are estimated. Acts on segments that are written from then on.
    pub codes: VectorCodes,
    /// How they are stored.
    pub storage: VectorStorage,
    /// Whether equal vectors share a row in segments with cells. Acts on segments that are written from then on.
    pub dedup: bool,
    /// Neighbours of a vector at most, 1 to 256, in a graph over the vectors of each segment that has cells; `None`, the
    /// default: no graph. Acts on segments that are written from then on.
    pub graph: Option<u16>,
}

/// Neighbours of a vector where a graph names no number.
pub const DEFAULT_DEGREE: u16 = 32;
/// Neighbours a vector may have.
pub const MAX_DEGREE: u16 = 256;

impl VectorOptions {
    /// Vectors of `dims` components, all else as by default.
    pub fn new(dims: u32, metric: Metric) -> Self {
        let (codes, storage) = (VectorCodes::default(), VectorStorage::default());
        Self { dims, metric, codes, storage, dedup: false, graph: None }
    }

    /// Whether rows of both are of one form, so that they can be copied.
    pub fn has_rows_of(&self, other: &Self) -> bool {
        (self.dims, self.metric, self.storage) == (other.dims, other.metric, other.storage)
    }
}

impl Schema {
    /// Builds a schema from fields in order; the reserved id field is put in front.
    pub fn new(fields: impl IntoIterator<Item = Field>) -> Self {
        let id = Field { name: "id".to_owned(), kind: FieldKind::Id };
        Self { fields: std::iter::once(id).chain(fields).collect() }
    }

    /// All fields, the id field first.
    pub fn fields(&self) -> impl Iterator<Item = (FieldOrd, &Field)> {
        self.fields.iter().enumerate().map(|(ord, field)| (FieldOrd(ord as u16), field))
    }

    /// The field at `ord`.
    pub fn field(&self, ord: FieldOrd) -> Option<&Field> {
        self.fields.get(usize::from(ord.0))
    }

    /// Looks names of analyzers that are not built in up among the caller's.
    pub fn bind(&mut self, custom: &CustomAnalyzers) {
        for field in &mut self.fields {
            if let FieldKind::Text(options) = &mut field.kind {
                options.analyzer.bind(custom);
            }
        }
    }

    /// The first difference from `other`, in words; empty if there is none.
    pub fn difference(&self, other: &Self) -> String {
        let theirs = |field: &Field| other.find(&field.name).map(|(_, theirs)| theirs.kind.clone());
        for field in &self.fields {
            match theirs(field) {
                None => return format!("only the first has the field {:?}", field.name),
                Some(kind) if kind != field.kind => {
                    let shown = |kind: &FieldKind| Value::Object(kind.to_json());
                    return format!("field {:?} is {} and {}", field.name, shown(&field.kind), shown(&kind));
                }
                Some(_) => {}
            }
        }
        if let Some(field) = other.fields.iter().find(|field| self.find(&field.name).is_none()) {
            return format!("only the second has the field {:?}", field.name);
        }
        let place = |(ord, (one, two)): (usize, (&Field, &Field))| {
            (one.name != two.name).then(|| {
                let (one, two) = (&one.name, &two.name);
                format!(
                    "they have the same fields in another order, field {ord} is {one:?} and {two:?}: build one of them \
                     anew with the schema of the other"
                )
            })
        };
        self.fields.iter().zip(&other.fields).enumerate().find_map(place).unwrap_or_default()
    }

    /// The field called `name`.
    pub fn find(&self, name: &str) -> Option<(FieldOrd, &Field)> {
        self.fields().find(|(_, field)| field.name == name)
    }
}
