//! Schemas as JSON: what callers write, what a commit records, and whether a schema fits an existing index.

#![forbid(unsafe_code)]

use serde_json::{Map, Value, json};

use super::{
    DEFAULT_DEGREE, Field, FieldKind, MAX_DEGREE, Metric, Schema, TextOptions, VectorCodes, VectorOptions,
    VectorStorage,
};
use crate::{
    analysis::AnalyzerSpec,
    error::{Error, Result},
};

/// Fields a schema may have, the id field included: ordinals are 16 bits.
pub const MAX_FIELDS: usize = 65_535;
/// Components a vector may have.
pub const MAX_DIMS: u32 = 4096;
/// Cosine of near queries, of product quantizers.
const MAX_ANISOTROPIC: f32 = 0.99;
/// Length of a field name, UTF-8.
pub const MAX_NAME_BYTES: usize = 256;

/// Names with a meaning of their own in filters and documents. Names that start with `_` are reserved too.
const RESERVED_NAMES: [&str; 4] = ["id", "and", "or", "not"];
const KINDS: &str = "text, keyword, number, integer, bool, date, vector or json";

/// Whether a field may be called `name`.
pub(super) fn is_valid_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && !name.starts_with('_')
        && !name.chars().any(char::is_control)
        && !RESERVED_NAMES.contains(&name)
}

impl FieldKind {
    /// The name of the kind in JSON; `id` for the id field.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Text(_) => "text",
            Self::Keyword => "keyword",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Bool => "bool",
            Self::Date => "date",
            Self::Vector(_) => "vector",
            Self::Json => "json",
        }
    }

    /// Whether it has a column: can be filtered, sorted and counted by.
    pub fn has_column(&self) -> bool {
        matches!(self, Self::Keyword | Self::Number | Self::Integer | Self::Bool | Self::Date)
    }

    fn from_json(name: &str, value: &Value) -> Result<Self> {
        let bad = |what: String| Error::invalid(format!("schema field {name:?}: {what}"));
        let empty = Map::new();
        let (kind, options) = match value {
            Value::String(kind) => (kind.as_str(), &empty),
            Value::Object(options) => match options.get("type").and_then(Value::as_str) {
                Some(kind) => (kind, options),
                None => return Err(bad(format!("needs a \"type\": {KINDS}"))),
            },
            _ => return Err(bad(format!("expected {KINDS}, or an object with a \"type\""))),
        };
        let known: &[&str] = match kind {
            "text" => &["analyzer", "boost", "positions"],
            "vector" => &["dims", "metric", "codes", "storage", "rescore", "dedup", "graph"],
            "keyword" | "number" | "integer" | "bool" | "date" | "json" => &[],
            _ => return Err(bad(format!("unknown type {kind:?}, expected {KINDS}"))),
        };
        if let Some(option) =
            options.keys().find(|key| *key != "type" && *key != "name" && !known.contains(&key.as_str()))
        {
            return Err(bad(format!("{kind} has no option {option:?}")));
        }
        Ok(match kind {
            "text" => Self::Text(text_options(options, bad)?),
            "vector" => Self::Vector(vector_options(options, bad)?),
            "keyword" => Self::Keyword,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "bool" => Self::Bool,
            "date" => Self::Date,
            _ => Self::Json,
        })
    }

    pub(super) fn to_json(&self) -> Map<String, Value> {
        let value = match self {
            Self::Text(text) => json!({
                "type": "text", "analyzer": text.analyzer.to_json(), "boost": text.boost, "positions": text.positions,
            }),
            Self::Vector(vector) => {
                let mut value = json!({ "type": "vector", "dims": vector.dims, "metric": vector.metric });
                // What is as by default is left out: older readers know these schemas.
                match vector.codes {
                    VectorCodes::Osq => {}
                    VectorCodes::Pq { subspaces, anisotropic: 0.0 } => value["codes"] = json!({ "pq": subspaces }),
                    VectorCodes::Pq { subspaces, anisotropic } => {
                        value["codes"] = json!({ "pq": subspaces, "anisotropic": anisotropic });
                    }
                }
                if vector.dedup {
                    value["dedup"] = json!(true);
                }
                match vector.storage {
                    VectorStorage::F32 => {}
                    VectorStorage::F16 => value["storage"] = json!("f16"),
                    VectorStorage::Nvq8 => value["rescore"] = json!("nvq"),
                    VectorStorage::Nvq4 => value["rescore"] = json!("nvq4"),
                }
                match vector.graph {
                    None => {}
                    Some(DEFAULT_DEGREE) => value["graph"] = json!(true),
                    Some(degree) => value["graph"] = json!({ "degree": degree }),
                }
                value
            }
            plain => json!({ "type": plain.name() }),
        };
        match value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    fn validate(&self) -> Result<(), String> {
        match self {
            Self::Text(text) if !(text.boost.is_finite() && text.boost > 0.0) => {
                Err(format!("boost {} is not a positive number", text.boost))
            }
            Self::Text(text)
                if text.analyzer.name().is_some_and(|name| name.is_empty() || name.len() > MAX_NAME_BYTES) =>
            {
                Err("analyzer has no usable name".to_owned())
            }
            Self::Vector(vector) if !(1..=MAX_DIMS).contains(&vector.dims) => {
                Err(format!("{} dimensions, 1 to {MAX_DIMS} are possible", vector.dims))
            }
            Self::Vector(VectorOptions { graph: Some(degree), .. }) if !(1..=MAX_DEGREE).contains(degree) => {
                Err(format!("a graph of {degree} neighbours a vector, 1 to {MAX_DEGREE} are possible"))
            }
            Self::Vector(VectorOptions { dims, codes: VectorCodes::Pq { subspaces, anisotropic }, .. }) => {
                if !(1..=*dims).contains(&u32::from(*subspaces)) {
                    return Err(format!("codes of {subspaces} bytes for {dims} dimensions"));
                }
                let is_cosine = (0.0..=MAX_ANISOTROPIC).contains(anisotropic);
                if is_cosine {
                    Ok(())
                } else {
                    Err(format!("anisotropic {anisotropic}, 0 to {MAX_ANISOTROPIC} are possible"))
                }
            }
            _ => Ok(()),
        }
    }
}

fn text_options(options: &Map<String, Value>, bad: impl Fn(String) -> Error) -> Result<TextOptions> {
    let mut text = TextOptions::default();
    if let Some(value) = options.get("analyzer") {
        text.analyzer = AnalyzerSpec::from_json(value).map_err(|error| bad(error.to_string()))?;
    }
    if let Some(value) = options.get("boost") {
        text.boost = value.as_f64().ok_or_else(|| bad("boost is not a number".to_owned()))? as f32;
    }
    if let Some(value) = options.get("positions") {
        text.positions = value.as_bool().ok_or_else(|| bad("positions is not true or false".to_owned()))?;
    }
    Ok(text)
}

fn vector_options(options: &Map<String, Value>, bad: impl Fn(String) -> Error) -> Result<VectorOptions> {
    let dims = options.get("dims").and_then(Value::as_u64).and_then(|dims| u32::try_from(dims).ok());
    let dims = dims.ok_or_else(|| bad(format!("vector needs \"dims\", 1 to {MAX_DIMS}")))?;
    let metric = match options.get("metric").map(|metric| metric.as_str().unwrap_or_default()) {
        None | Some("cosine") => Metric::Cosine,
        Some("dot") => Metric::Dot,
        Some("l2") => Metric::L2,
        Some(_) => return Err(bad("metric is cosine, dot or l2".to_owned())),
    };
    let codes = match options.get("codes") {
        Some(value) => vector_codes(dims, value).ok_or_else(|| {
            bad("codes are \"osq\", \"pq\" or { \"pq\": bytes of a code, \"anisotropic\": cosine }".to_owned())
        })?,
        None => VectorCodes::default(),
    };
    let name = |option| options.get(option).map(|value| value.as_str().unwrap_or_default());
    let storage = match (name("storage"), name("rescore")) {
        (None | Some("f32"), None | Some("full")) => VectorStorage::F32,
        (Some("f16"), None | Some("full")) => VectorStorage::F16,
        (None, Some("nvq")) => VectorStorage::Nvq8,
        (None, Some("nvq4")) => VectorStorage::Nvq4,
        (Some("f32" | "f16"), Some("nvq" | "nvq4")) => {
            return Err(bad("rescore \"nvq\" drops what storage would keep: give one of them".to_owned()));
        }
        (_, None | Some("full" | "nvq" | "nvq4")) => return Err(bad("storage is f32 or f16".to_owned())),
        _ => return Err(bad("rescore is full, nvq or nvq4".to_owned())),
    };
    let dedup = options.get("dedup").map_or(Some(false), Value::as_bool);
    let dedup = dedup.ok_or_else(|| bad("dedup is not true or false".to_owned()))?;
    let graph = match options.get("graph") {
        None | Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) => Some(DEFAULT_DEGREE),
        Some(value) => {
            let map = value.as_object().filter(|map| map.keys().all(|key| key == "degree"));
            let degree = map.and_then(|map| map.get("degree")).and_then(Value::as_u64);
            let degree = degree.and_then(|degree| u16::try_from(degree).ok());
            Some(
                degree
                    .ok_or_else(|| bad("graph is true, false or { \"degree\": neighbours of a vector }".to_owned()))?,
            )
        }
    };
    Ok(VectorOptions { codes, storage, dedup, graph, ..VectorOptions::new(dims, metric) })
}

fn vector_codes(dims: u32, value: &Value) -> Option<VectorCodes> {
    match value {
        Value::String(name) if name == "osq" => Some(VectorCodes::Osq),
        Value::String(name) if name == "pq" => Some(VectorCodes::pq(dims)),
        Value::Object(map) => {
            let known = |key: &String| key == "pq" || key == "anisotropic";
            let subspaces = u16::try_from(map.get("pq")?.as_u64()?).ok().filter(|_| map.keys().all(known))?;
            let anisotropic = map.get("anisotropic").map_or(Some(0.0), Value::as_f64)? as f32;
            Some(VectorCodes::Pq { subspaces, anisotropic })
        }
        _ => None,
    }
}

impl Schema {
    /// Reads `{ "title": { "type": "text", "boost": 2 }, "tag": "keyword" }`, or the same as a list of
    /// `{ "name": …, "type": … }`, which keeps its order. The id field may be listed as `{ "name": "id", "type": "id" }`.
    ///
    /// # Errors
    /// `invalid_argument` naming the field: unknown type or option, bad or reserved name, dimensions out of bounds.
    pub fn from_json(value: &Value) -> Result<Self> {
        let mut fields = Vec::new();
        let mut push = |name: &str, value: &Value| -> Result<()> {
            if name == "id" && value.get("type").and_then(Value::as_str) == Some("id") {
                return Ok(());
            }
            fields.push(Field { name: name.to_owned(), kind: FieldKind::from_json(name, value)? });
            Ok(())
        };
        match value {
            Value::Object(map) => map.iter().try_for_each(|(name, value)| push(name, value))?,
            Value::Array(list) => list.iter().try_for_each(|value| {
                let name = value.get("name").and_then(Value::as_str);
                push(name.ok_or_else(|| Error::invalid("schema: a field without a \"name\""))?, value)
            })?,
            _ => return Err(Error::invalid("schema: expected an object of field names and types")),
        }
        let schema = Self::new(fields);
        schema.validate()?;
        Ok(schema)
    }

    /// The schema as a list in field order, without the id field. [`Self::from_json`] reads it back as it was.
    pub fn to_json(&self) -> Value {
        let fields = self.fields().filter(|(_, field)| field.kind != FieldKind::Id).map(|(_, field)| {
            let mut map = field.kind.to_json();
            map.insert("name".to_owned(), Value::String(field.name.clone()));
            Value::Object(map)
        });
        Value::Array(fields.collect())
    }

    /// The schema as an object by field name, the shape callers write.
    pub fn to_json_object(&self) -> Value {
        let fields = self.fields().filter(|(_, field)| field.kind != FieldKind::Id);
        Value::Object(fields.map(|(_, field)| (field.name.clone(), Value::Object(field.kind.to_json()))).collect())
    }

    /// Checks names, options and the number of fields. What [`Self::from_json`] gives has passed.
    ///
    /// # Errors
    /// `invalid_argument` naming the field.
    pub fn validate(&self) -> Result<()> {
        let mut names = std::collections::BTreeSet::new();
        let count = self.fields().count();
        if count > MAX_FIELDS {
            return Err(Error::invalid(format!("schema: {count} fields, at most {MAX_FIELDS} are possible")));
        }
        for (ord, field) in self.fields() {
            let bad = |what: &str| Error::invalid(format!("schema field {:?}: {what}", field.name));
            let is_id = ord.0 == 0;
            if is_id != (field.kind == FieldKind::Id) || (is_id && field.name != "id") {
                return Err(bad("the id field is the first and only the first"));
            }
            if !is_id && !is_valid_name(&field.name) {
                return Err(bad(
                    "a name has 1 to 256 bytes, no control characters, no leading _, and is not id, and, or, not",
                ));
            }
            if !names.insert(&field.name) {
                return Err(bad("named twice"));
            }
            field.kind.validate().map_err(|what| bad(&what))?;
        }
        Ok(())
    }

    /// This schema of an existing index, opened with `wanted`: fields keep their places, new ones are added
    /// behind, fields that `wanted` leaves out stay, and a text field's boost becomes the wanted one, since
    /// it acts at query time only; so do the codes and the graph of vectors, which segments have each of their own kind. Equal to `self`
    /// where nothing changes.
    ///
    /// # Errors
    /// `invalid_argument` naming the field whose type or indexing differs: that takes a new index.
    pub fn extended(&self, wanted: &Self) -> Result<Self> {
        wanted.validate()?;
        let mut fields: Vec<Field> = self.fields().skip(1).map(|(_, field)| field.clone()).collect();
        for (_, field) in wanted.fields().skip(1) {
            let Some(have) = fields.iter_mut().find(|have| have.name == field.name) else {
                fields.push(field.clone());
                continue;
            };
            if let (FieldKind::Text(have), FieldKind::Text(want)) = (&mut have.kind, &field.kind) {
                have.boost = want.boost;
            }
            if let (FieldKind::Vector(have), FieldKind::Vector(want)) = (&mut have.kind, &field.kind) {
                (have.codes, have.dedup, have.graph) = (want.codes, want.dedup, want.graph);
            }
            if have.kind != field.kind {
                let (have, want) = (Value::Object(have.kind.to_json()), Value::Object(field.kind.to_json()));
                return Err(Error::invalid(format!(
                    "schema field {:?} is {have} in the index, not {want}: build a new index to change it",
                    field.name
                )));
            }
        }
        let schema = Self::new(fields);
        schema.validate()?;
        Ok(schema)
    }
}
