//! Clauses whose score is a function of a column.

use serde_json::Value;

use crate::{
    columns::ColumnKind,
    error::Result,
    query::{BoostMode, DecayShape, FunctionQuery, Query, ScoreFunction},
    schema::dates,
};

use super::{
    TreeReader, boosted,
    path::{At, Object},
};

const FUNCTIONS: [&str; 4] = ["decay", "log1p", "saturation", "linear"];

impl TreeReader<'_> {
    pub(super) fn function(&mut self, body: &Value, at: &At<'_>, depth: usize) -> Result<Query> {
        let keys =
            ["query", "field", "decay", "log1p", "saturation", "linear", "weight", "missing", "boostMode", "boost"];
        let object = Object::new(body, at, &keys)?;
        let name = object.need_text("field")?;
        let column = self.column(name, "", &at.key("field"))?;
        if column.kind == ColumnKind::Keyword {
            return Err(at.key("field").bad(format_args!("{name:?} is a keyword field, a number or date is needed")));
        }
        let given: Vec<_> = FUNCTIONS.into_iter().filter(|key| object.get(key).is_some()).collect();
        let [function] = given[..] else {
            return Err(at.bad(format_args!("exactly one of {} is needed", FUNCTIONS.join(", "))));
        };
        let (inner, place) = (object.need(function)?, at.key(function));
        let function = match function {
            "decay" => self.decay(inner, &place, column.kind)?,
            "saturation" => {
                let inner = Object::new(inner, &place, &["pivot"])?;
                inner.need("pivot")?;
                let pivot = inner.number("pivot", 0.0)?.unwrap_or(0.0);
                if pivot == 0.0 {
                    return Err(place.key("pivot").bad("expected a number above 0"));
                }
                ScoreFunction::Saturation { pivot }
            }
            name => {
                let factor = Object::new(inner, &place, &["factor"])?.number("factor", 0.0)?.unwrap_or(1.0);
                if name == "log1p" { ScoreFunction::Log1p { factor } } else { ScoreFunction::Linear { factor } }
            }
        };
        let mode = object.one_of(
            "boostMode",
            &[("multiply", BoostMode::Multiply), ("sum", BoostMode::Sum), ("replace", BoostMode::Replace)],
        )?;
        let weight = object.number("weight", 0.0)?.unwrap_or(1.0);
        let missing = object.number("missing", 0.0)?;
        let query = match object.get("query") {
            Some(query) => self.query(query, &at.key("query"), depth + 1)?,
            None => Query::All,
        };
        let query = Box::new(query);
        let function = FunctionQuery { query, field: column.ord, kind: column.kind, function, weight, missing, mode };
        boosted(Query::Function(function), &object)
    }

    fn decay(&self, body: &Value, at: &At<'_>, kind: ColumnKind) -> Result<ScoreFunction> {
        let object = Object::new(body, at, &["shape", "origin", "scale", "offset", "decay"])?;
        let shape = object.one_of(
            "shape",
            &[("exp", DecayShape::Exponential), ("gauss", DecayShape::Gaussian), ("linear", DecayShape::Linear)],
        )?;
        let is_date = kind == ColumnKind::Date;
        let origin = match object.get("origin") {
            None if is_date => self.now,
            Some(Value::String(text)) if is_date && text == "now" => self.now,
            Some(Value::String(text)) if is_date => match dates::parse_iso(text) {
                Some(millis) => millis as f64,
                None => {
                    return object.expected(
                        "origin",
                        "\"now\", an ISO 8601 date or milliseconds",
                        &Value::from(text.as_str()),
                    );
                }
            },
            _ => {
                object.need("origin")?;
                object.number("origin", f64::NEG_INFINITY)?.unwrap_or(0.0)
            }
        };
        object.need("scale")?;
        let scale = distance(&object, "scale", is_date)?.unwrap_or(0.0);
        if scale <= 0.0 {
            return Err(at.key("scale").bad("expected more than 0"));
        }
        let offset = distance(&object, "offset", is_date)?.unwrap_or(0.0);
        let decay = object.number("decay", 0.0)?.unwrap_or(0.5);
        if decay <= 0.0 || decay >= 1.0 {
            return Err(at.key("decay").bad("expected a number between 0 and 1"));
        }
        Ok(ScoreFunction::Decay { shape, origin, scale, offset, decay })
    }
}

/// A distance between values: a number, or for dates also `"10d"`, `"12h"`, `"30m"`, `"20s"`, `"4w"`.
fn distance(object: &Object<'_>, key: &str, is_date: bool) -> Result<Option<f64>> {
    const UNITS: [(char, f64); 5] = [('w', 604_800e3), ('d', 86_400e3), ('h', 3_600e3), ('m', 60e3), ('s', 1e3)];
    let Some(found @ Value::String(text)) = object.get(key).filter(|_| is_date) else { return object.number(key, 0.0) };
    let unit = UNITS.iter().find_map(|&(unit, millis)| Some((text.strip_suffix(unit)?, millis)));
    let millis = unit.and_then(|(number, millis)| Some(number.parse::<f64>().ok()? * millis));
    match millis.filter(|millis| millis.is_finite() && *millis >= 0.0) {
        Some(millis) => Ok(Some(millis)),
        None => object.expected(key, "milliseconds or a time such as \"10d\", \"12h\", \"30m\"", found),
    }
}
