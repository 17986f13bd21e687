//! The parts of a search request and its answer that speak of columns: sort keys, facets, collapsing.

#![forbid(unsafe_code)]

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;

use super::reading::read_json;

/// One sort key. Ties are broken by later keys, then by index order.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "a sort key such as { \"field\": \"year\", \"order\": \"desc\" }")]
pub struct SortKey {
    /// A column, or `_score`.
    pub field: String,
    /// Direction. Default ascending (descending for `_score`).
    #[serde(default)]
    pub order: Option<SortOrder>,
    /// Where documents without a value go, in either direction. Default last.
    #[serde(default)]
    pub missing: Missing,
}

/// Direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SortOrder {
    /// Smallest first.
    Asc,
    /// Largest first.
    Desc,
}

/// Where documents without a value go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// Before all others.
    First,
    /// Behind all others.
    #[default]
    Last,
}

/// One hit per value of a column.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CollapseClause {
    /// A keyword, number, integer, bool or date field. Of several values of a document the least counts; documents
    /// without a value stand for themselves.
    pub field: String,
    /// Further hits to return of each group, best first, at most 100. Default 0.
    #[serde(default)]
    pub inner_hits: u32,
}

/// One facet: a field name, or a field with options.
#[derive(Debug, Clone, PartialEq)]
pub enum FacetClause {
    /// The ten most frequent values.
    Field(String),
    /// With options.
    Options(FacetOptions),
}

/// What to count. `ranges`, `interval` and `prefix` exclude each other.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FacetOptions {
    /// A keyword, bool, number, integer or date field.
    pub field: String,
    /// Values to return. Default 10; of a histogram 1000, of ranges all.
    #[serde(default)]
    pub limit: Option<u32>,
    /// Count documents per range, of a number, integer or date field.
    #[serde(default)]
    pub ranges: Option<Vec<FacetRange>>,
    /// Count documents per interval of this width, or per calendar unit of a date field, in ascending order.
    #[serde(default)]
    pub interval: Option<FacetInterval>,
    /// Only keywords that begin like this.
    #[serde(default)]
    pub prefix: Option<String>,
    /// Count as if the filter had no condition on this field: how many documents there would be of each value were it
    /// chosen instead. Left out is what, at the top of the filter or in its `and`, is about this field alone. Where text
    /// and vector are both asked, the neighbours of the vector pass the whole filter all the same. Default false.
    #[serde(default)]
    pub exclude_own: bool,
}

/// Values from `from` on and below `to`; either may be left out.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FacetRange {
    /// Least value.
    #[serde(default)]
    pub from: Option<Value>,
    /// First value that is too large.
    #[serde(default)]
    pub to: Option<Value>,
    /// Name in the answer. Default `from..to`.
    #[serde(default)]
    pub key: Option<String>,
}

/// Width of a histogram's intervals. They begin at 0, or at the start of 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "a number above 0, or \"minute\", \"hour\", \"day\", \"week\", \"month\", \"quarter\" or \"year\""
)]
pub enum FacetInterval {
    /// In units of the field; milliseconds of a date.
    Width(f64),
    /// Of a date field, UTC.
    Unit(CalendarUnit),
}

/// A unit of the calendar, UTC. Weeks begin on Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum CalendarUnit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl FacetClause {
    /// From its JSON.
    ///
    /// # Errors
    /// `invalid_argument` naming the option.
    pub fn from_json(value: &Value) -> crate::Result<Self> {
        read_json("facet", &value.to_string())
    }
}

/// Written by hand, so that an error inside the options is told as what it is.
impl<'de> Deserialize<'de> for FacetClause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = FacetClause;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a field name, or { \"field\": …, \"limit\": …, \"ranges\": … }")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<FacetClause, E> {
                Ok(FacetClause::Field(name.to_owned()))
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<FacetClause, M::Error> {
                FacetOptions::deserialize(MapAccessDeserializer::new(map)).map(FacetClause::Options)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Counts of one facet: most frequent first, ties by value; of ranges in the order asked for, of a histogram ascending.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FacetResult {
    /// The field.
    pub field: String,
    /// Values and numbers of matching documents.
    pub values: Vec<FacetCount>,
}

/// One value of a facet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FacetCount {
    /// The value, in the field's JSON type, dates as ISO 8601 strings; the start of an interval; the name of a range.
    pub value: Value,
    /// Matching documents that have it.
    pub count: u64,
    /// Of a range, its least value as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// Of a range, the first value that is too large, as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn facets_are_names_or_options() {
        let parse = |value: Value| serde_json::from_value::<FacetClause>(value).map_err(|error| error.to_string());
        assert_eq!(parse(json!("tag")), Ok(FacetClause::Field("tag".into())));
        let options = FacetOptions { field: "tag".into(), limit: Some(3), exclude_own: true, ..Default::default() };
        let found = parse(json!({ "field": "tag", "limit": 3, "excludeOwn": true }));
        assert_eq!(found, Ok(FacetClause::Options(options)));
        assert!(parse(json!({ "field": "tag", "limits": 3 })).unwrap_err().contains("limits"));
        assert!(parse(json!({ "field": "day", "interval": "eon" })).unwrap_err().contains("month"));
        assert!(parse(json!(3)).unwrap_err().contains("field name"));
    }
}
