//! Clauses on columns: ranges, values, whether there is one.

use serde_json::Value;

use crate::{
    columns::ColumnKind,
    error::Result,
    ids::DocId,
    query::{ColumnField, ColumnQuery, ColumnTest, Query, parse::words},
    schema::FieldKind,
    topk::order,
};

use super::{
    TreeReader, boosted,
    path::{At, Object},
};

/// Values of one `terms`.
const MAX_VALUES: usize = 65_536;
const BOUNDS: [&str; 4] = ["gt", "gte", "lt", "lte"];

impl TreeReader<'_> {
    pub(super) fn range(&mut self, body: &Value, at: &At<'_>) -> Result<Query> {
        let object = Object::new(body, at, &["field", "gt", "gte", "lt", "lte", "boost"])?;
        let name = object.need_text("field")?;
        let place = at.to_string();
        let column = self.column(name, &place, &at.key("field"))?;
        let tests: Vec<_> = BOUNDS.iter().filter_map(|&bound| Some((bound, object.get(bound)?))).collect();
        if tests.is_empty() {
            return Err(at.bad("one of gt, gte, lt and lte is needed"));
        }
        let test = column.tests(&tests)?;
        boosted(Query::Column(ColumnQuery { field: column.ord, test }), &object)
    }

    pub(super) fn terms(&mut self, body: &Value, at: &At<'_>) -> Result<Query> {
        let object = Object::new(body, at, &["field", "values", "boost"])?;
        let (name, _) = (object.need_text("field")?, object.need("values")?);
        let values = object.list("values", MAX_VALUES)?;
        let is_text = |kind: &FieldKind| matches!(kind, FieldKind::Text(_));
        if self.schema.find(name).is_some_and(|(_, field)| is_text(&field.kind)) {
            let field = self.text_field(name, &at.key("field"))?;
            let mut queries = Vec::with_capacity(values.len());
            for (ix, value) in values.iter().enumerate() {
                let Value::String(text) = value else { return Err(at.key("values").index(ix).bad("expected a text")) };
                queries.extend(words::phrase(text, std::slice::from_ref(&field), 0));
            }
            return boosted(words::any(queries), &object);
        }
        let query = self.equal(name, values, &object, "values")?;
        boosted(query, &object)
    }

    pub(super) fn exists(&mut self, body: &Value, at: &At<'_>) -> Result<Query> {
        let object = Object::new(body, at, &["field", "boost"])?;
        let name = object.need_text("field")?;
        let here = at.key("field");
        let (field, found) =
            self.schema.find(name).ok_or_else(|| here.bad(format_args!("there is no field {name:?}")))?;
        if found.kind == FieldKind::Json {
            return Err(here.bad(format_args!("{name:?} is a json field, which is stored and not searchable")));
        }
        boosted(Query::Column(ColumnQuery { field, test: ColumnTest::Exists }), &object)
    }

    /// Documents with one of some values in a column, or one of some ids.
    pub(super) fn equal(&self, name: &str, values: &[Value], object: &Object<'_>, key: &str) -> Result<Query> {
        let at = object.at;
        if let Some((field, _)) = self.schema.find(name).filter(|(_, field)| field.kind == FieldKind::Id) {
            let id = |(ix, value): (usize, &Value)| match value {
                Value::String(text) if !text.is_empty() => Ok(DocId::Str(text.clone())),
                Value::Number(number) if number.is_i64() => Ok(DocId::Int(number.as_i64().unwrap_or(0))),
                _ => Err(at.key(key).index(ix).bad("expected an id, a text or an integer")),
            };
            let mut ids = values.iter().enumerate().map(id).collect::<Result<Vec<_>>>()?;
            order::by(&mut ids, DocId::cmp);
            ids.dedup();
            return Ok(Query::Column(ColumnQuery { field, test: ColumnTest::Ids(ids) }));
        }
        let place = at.to_string();
        let column = self.column(name, &place, &at.key("field"))?;
        let list = Value::Array(values.to_vec());
        Ok(Query::Column(ColumnQuery { field: column.ord, test: column.tests(&[("in", &list)])? }))
    }

    pub(super) fn column<'n>(&self, name: &'n str, place: &'n str, at: &At<'_>) -> Result<ColumnField<'n>> {
        let (ord, field) = self.schema.find(name).ok_or_else(|| at.bad(format_args!("there is no field {name:?}")))?;
        let kind = ColumnKind::of(&field.kind);
        let kind =
            kind.ok_or_else(|| at.bad(format_args!("{name:?} is a {} field, it has no column", field.kind.name())))?;
        Ok(ColumnField { place, name, ord, kind })
    }
}
