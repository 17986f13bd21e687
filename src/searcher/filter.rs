//! Filters: from JSON to conditions on columns, and from columns to documents.
//!
//! ```text
//! filter    := { field: condition, …, "and": [filter, …], "or": [filter, …], "not": filter }     all must hold
//! condition := value                      equal
//!            | [value, …]                 equal to one of them
//!            | null                       the document has no value
//!            | { "eq", "in", "gt", "gte", "lt", "lte": bounds on one and the same value;
//!                "exists": true | false; "not": condition }
//! ```
//!
//! A document with several values matches if one of them fulfils all bounds. `not` and `exists: false` match
//! documents without values. Dates are ISO 8601 strings or milliseconds and mean an instant: `"2024"` is
//! 2024-01-01T00:00Z. The id field takes values and lists.

#![forbid(unsafe_code)]

use serde_json::{Map, Value};

use super::ask::hint;
use crate::{
    bitset::BitSet,
    columns::{ColumnKind, ValueRanges},
    error::{Error, Result},
    ids::{DocId, FieldOrd},
    query::{ColumnField, ColumnTest, KeywordTest},
    schema::{FieldKind, Schema},
    topk::order,
};

/// How deep filters nest.
const MAX_DEPTH: usize = 64;
/// How many different conditions a filter has; values of one list count as one.
const MAX_LEAVES: usize = 1024;

/// A parsed filter. Leaves are numbered: [`Self::leaves`].
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    root: Node,
    leaves: Vec<Leaf>,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Leaf(usize),
}

/// One condition on one field.
#[derive(Debug, Clone, PartialEq)]
pub enum Leaf {
    /// On a column whose values are numbers that mean the same in every segment, or on whether there is a value.
    Values {
        /// The field.
        field: FieldOrd,
        /// Values that match.
        ranges: ValueRanges,
    },
    /// On a keyword column: all tests must hold for one value.
    Keywords {
        /// The field.
        field: FieldOrd,
        /// The tests.
        tests: Vec<KeywordTest>,
    },
    /// Documents with one of these ids, ascending by term.
    Ids(Vec<DocId>),
}

impl Filter {
    /// Reads a filter and checks it against the schema.
    ///
    /// # Errors
    /// `invalid_argument` naming the field: unknown, without a column, or compared with a value of another type.
    pub fn parse(value: &Value, schema: &Schema) -> Result<Self> {
        let mut parser = Parser { schema, leaves: Vec::new() };
        let root = parser.filter(value, 0)?;
        Ok(Self { root, leaves: parser.leaves })
    }

    /// The condition, if there is a single one, on values.
    pub fn as_range(&self) -> Option<(FieldOrd, &ValueRanges)> {
        match (&self.root, &self.leaves[..]) {
            (Node::Leaf(0), [Leaf::Values { field, ranges }]) => Some((*field, ranges)),
            _ => None,
        }
    }

    /// The conditions.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Documents of a segment that match, from the documents that match each leaf, in order of leaves.
    pub fn combine(&self, sets: &[BitSet], max_doc: u32) -> BitSet {
        self.combine_without(None, sets, max_doc)
    }

    /// The same without what, at the top of the filter or in its `and`, is about field `own` alone.
    pub fn combine_without(&self, own: Option<FieldOrd>, sets: &[BitSet], max_doc: u32) -> BitSet {
        self.documents(&self.root, own, sets, max_doc).unwrap_or_else(|| BitSet::full(max_doc))
    }

    /// Whether every condition of a node is on `field`.
    fn is_on(&self, node: &Node, field: FieldOrd) -> bool {
        match node {
            Node::Leaf(ix) => self.leaves[*ix].field() == field,
            Node::Not(inner) => self.is_on(inner, field),
            Node::And(_) => false,
            Node::Or(parts) => !parts.is_empty() && parts.iter().all(|part| self.is_on(part, field)),
        }
    }

    /// Documents of a node; `None` for one that is left out.
    fn documents(&self, node: &Node, own: Option<FieldOrd>, sets: &[BitSet], max_doc: u32) -> Option<BitSet> {
        if own.is_some_and(|field| self.is_on(node, field)) {
            return None;
        }
        Some(match node {
            Node::Leaf(ix) => sets[*ix].clone(),
            Node::Not(inner) => {
                let mut set = self.documents(inner, None, sets, max_doc)?;
                set.negate();
                set
            }
            Node::And(parts) => {
                let parts = parts.iter().filter_map(|part| self.documents(part, own, sets, max_doc));
                parts.fold(BitSet::full(max_doc), |mut all, part| {
                    all.and(&part);
                    all
                })
            }
            Node::Or(parts) => {
                let parts = parts.iter().filter_map(|part| self.documents(part, None, sets, max_doc));
                parts.fold(BitSet::new(max_doc), |mut any, part| {
                    any.or(&part);
                    any
                })
            }
        })
    }
}

impl Leaf {
    /// The field; that of the id for ids.
    fn field(&self) -> FieldOrd {
        match self {
            Self::Values { field, .. } | Self::Keywords { field, .. } => *field,
            Self::Ids(_) => FieldOrd(0),
        }
    }
}

struct Parser<'a> {
    schema: &'a Schema,
    leaves: Vec<Leaf>,
}

impl Parser<'_> {
    fn filter(&mut self, value: &Value, depth: usize) -> Result<Node> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("filter: nested deeper than {MAX_DEPTH}")));
        }
        let Value::Object(map) = value else {
            return Err(Error::invalid("filter: expected an object of field names and conditions"));
        };
        let mut parts = Vec::with_capacity(map.len());
        for (name, value) in map {
            parts.push(match name.as_str() {
                "and" => Node::And(self.list(name, value, depth)?),
                "or" => Node::Or(self.list(name, value, depth)?),
                "not" => Node::Not(Box::new(self.filter(value, depth + 1)?)),
                _ => self.field(name, value, depth + 1)?,
            });
        }
        Ok(one_or_and(parts))
    }

    fn list(&mut self, name: &str, value: &Value, depth: usize) -> Result<Vec<Node>> {
        let Value::Array(list) = value else {
            return Err(Error::invalid(format!("filter: {name:?} takes a list of filters")));
        };
        list.iter().map(|value| self.filter(value, depth + 1)).collect()
    }

    fn leaf(&mut self, leaf: Leaf) -> Result<Node> {
        if let Some(known) = self.leaves.iter().position(|known| *known == leaf) {
            return Ok(Node::Leaf(known));
        }
        if self.leaves.len() >= MAX_LEAVES {
            return Err(Error::invalid(format!("filter: more than {MAX_LEAVES} different conditions")));
        }
        self.leaves.push(leaf);
        Ok(Node::Leaf(self.leaves.len() - 1))
    }

    fn field(&mut self, name: &str, condition: &Value, depth: usize) -> Result<Node> {
        let bad = |what: String| Error::invalid(format!("filter field {name:?}: {what}"));
        let (ord, field) = self.schema.find(name).ok_or_else(|| bad("there is no such field".to_owned()))?;
        if field.kind == FieldKind::Id {
            return self.ids(condition);
        }
        let kind = ColumnKind::of(&field.kind)
            .ok_or_else(|| bad(format!("a {} field has no column{}", field.kind.name(), hint(&field.kind))))?;
        self.condition(ColumnField { place: "filter", name, ord, kind }, condition, depth)
    }

    fn ids(&mut self, condition: &Value) -> Result<Node> {
        let list = match condition {
            Value::Array(list) => list.as_slice(),
            single => std::slice::from_ref(single),
        };
        let id = |value: &Value| match value {
            Value::String(text) if !text.is_empty() => Some(DocId::Str(text.clone())),
            Value::Number(number) => number.as_i64().map(DocId::Int),
            _ => None,
        };
        let ids: Option<Vec<DocId>> = list.iter().map(id).collect();
        let mut ids = ids.ok_or_else(|| Error::invalid("filter field \"id\": expected ids, strings or integers"))?;
        order::by(&mut ids, DocId::cmp);
        ids.dedup();
        self.leaf(Leaf::Ids(ids))
    }

    fn condition(&mut self, column: ColumnField<'_>, condition: &Value, depth: usize) -> Result<Node> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("filter: nested deeper than {MAX_DEPTH}")));
        }
        match condition {
            Value::Null => {
                let any = self.leaf(Leaf::Values { field: column.ord, ranges: ValueRanges::all() })?;
                Ok(Node::Not(Box::new(any)))
            }
            Value::Object(operators) => self.operators(column, operators, depth),
            Value::Array(list) => self.tests(column, &[("in", &Value::Array(list.clone()))]),
            single => self.tests(column, &[("eq", single)]),
        }
    }

    fn operators(&mut self, column: ColumnField<'_>, operators: &Map<String, Value>, depth: usize) -> Result<Node> {
        let (mut parts, mut tests) = (Vec::new(), Vec::new());
        for (operator, value) in operators {
            match operator.as_str() {
                "exists" => {
                    let Value::Bool(exists) = value else {
                        return Err(column.bad("\"exists\" is true or false".to_owned()));
                    };
                    let any = self.leaf(Leaf::Values { field: column.ord, ranges: ValueRanges::all() })?;
                    parts.push(if *exists { any } else { Node::Not(Box::new(any)) });
                }
                "not" => parts.push(Node::Not(Box::new(self.condition(column, value, depth + 1)?))),
                "eq" if value.is_null() => parts.push(self.condition(column, value, depth + 1)?),
                "eq" | "in" | "gt" | "gte" | "lt" | "lte" => tests.push((operator.as_str(), value)),
                _ => {
                    let known = "eq, in, gt, gte, lt, lte, exists, not";
                    return Err(column.bad(format!("unknown operator {operator:?}, expected {known}")));
                }
            }
        }
        if !tests.is_empty() {
            parts.push(self.tests(column, &tests)?);
        }
        Ok(one_or_and(parts))
    }

    /// Tests that must all hold for one value of the column.
    fn tests(&mut self, column: ColumnField<'_>, tests: &[(&str, &Value)]) -> Result<Node> {
        let leaf = match column.tests(tests)? {
            ColumnTest::Keywords(tests) => Leaf::Keywords { field: column.ord, tests },
            ColumnTest::Values(ranges) => Leaf::Values { field: column.ord, ranges },
            ColumnTest::Ids(_) | ColumnTest::Exists => return Err(column.bad("no such test".to_owned())),
        };
        self.leaf(leaf)
    }
}

/// Which of `ids` are among `wanted`. Both ascend by term and have each id once, and `ids` has all that are wanted.
pub(super) fn among(ids: &[DocId], wanted: &[DocId]) -> Vec<bool> {
    let mut wanted = wanted.iter().peekable();
    ids.iter().map(|id| wanted.next_if(|next| *next == id).is_some()).collect()
}

fn one_or_and(mut parts: Vec<Node>) -> Node {
    if parts.len() == 1 { parts.remove(0) } else { Node::And(parts) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::columns::value;

    fn schema() -> Schema {
        Schema::from_json(&json!({
            "tag": "keyword", "year": "number", "pages": "integer", "draft": "bool", "day": "date", "body": "text",
        }))
        .expect("valid")
    }

    fn parse(value: Value) -> Result<Filter> {
        Filter::parse(&value, &schema())
    }

    fn ranges(value: Value) -> ValueRanges {
        match parse(value).expect("valid").leaves() {
            [Leaf::Values { ranges, .. }] => ranges.clone(),
            leaves => panic!("{leaves:?}"),
        }
    }

    #[test]
    fn errors_name_the_field_and_what_is_expected() {
        for (filter, parts) in [
            (json!({ "yeer": 1 }), ["yeer", "no such field"]),
            (json!({ "body": "x" }), ["body", "text field"]),
            (json!({ "year": "2020" }), ["year", "expected a number, found \"2020\""]),
            (json!({ "year": { "gte": null } }), ["year", "expected a number, found null"]),
            (json!({ "year": { "from": 1 } }), ["year", "unknown operator \"from\""]),
            (json!({ "tag": 3 }), ["tag", "expected a string"]),
            (json!({ "tag": { "in": "a" } }), ["tag", "takes a list"]),
            (json!({ "draft": "yes" }), ["draft", "true or false"]),
            (json!({ "day": "yesterday" }), ["day", "ISO 8601"]),
            (json!({ "tag": { "exists": 1 } }), ["tag", "exists"]),
            (json!({ "and": {} }), ["and", "list"]),
            (json!([1]), ["filter", "object"]),
            (json!({ "id": true }), ["id", "strings or integers"]),
        ] {
            let error = parse(filter.clone()).expect_err("bad filter");
            assert_eq!(error.kind().code(), "invalid_argument");
            assert!(parts.iter().all(|part| error.to_string().contains(part)), "{filter}: {error}");
        }
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({ "not": deep });
        }
        assert!(parse(deep).expect_err("deep").to_string().contains("deeper"));
    }

    #[test]
    fn bounds_become_ranges() {
        let at = |number: i64| value::encode_integer(number);
        assert_eq!(ranges(json!({ "pages": { "gt": 3, "lte": 7 } })), ValueRanges::new([(at(4), at(7))]));
        assert_eq!(ranges(json!({ "pages": { "gte": 2.5, "lt": 7.5 } })), ValueRanges::new([(at(3), at(7))]));
        assert_eq!(ranges(json!({ "pages": [1, 2, 9, 9.5] })), ValueRanges::new([(at(1), at(2)), (at(9), at(9))]));
        assert_eq!(ranges(json!({ "pages": { "gte": 1e30 } })), ValueRanges::none());
        assert_eq!(ranges(json!({ "pages": { "lt": 1e30 } })), ValueRanges::all());
        assert_eq!(ranges(json!({ "pages": { "gt": -1e30 } })), ValueRanges::all());
        assert_eq!(ranges(json!({ "pages": { "gt": i64::MAX } })), ValueRanges::none());
        assert_eq!(ranges(json!({ "pages": { "eq": 9.5 } })), ValueRanges::none());
        assert_eq!(ranges(json!({ "pages": 9_223_372_036_854_775_808u64 })), ValueRanges::none());
        assert_eq!(ranges(json!({ "draft": true })), ValueRanges::new([(1, 1)]));
        assert_eq!(ranges(json!({ "day": { "gte": "1970-01-01" } })), ValueRanges::new([(at(0), u64::MAX)]));
        let number = value::encode_number;
        assert_eq!(ranges(json!({ "year": { "gt": 1 } })), ValueRanges::new([(number(1.0) + 1, u64::MAX)]));
    }

    #[test]
    fn trees_combine_sets() {
        let filter = parse(json!({
            "or": [{ "draft": true }, { "not": { "year": 5 } }], "pages": 1, "tag": { "exists": false },
        }))
        .expect("valid");
        assert_eq!(filter.leaves().len(), 4);
        // Leaves in the order of the keys: or(draft, year), pages, tag.
        let set = |docs: &[u32]| {
            let mut set = BitSet::new(8);
            docs.iter().for_each(|&doc| {
                set.insert(doc);
            });
            set
        };
        let sets = [set(&[1, 2]), set(&[2, 3, 4]), set(&[1, 2, 3, 5, 6]), set(&[6])];
        assert_eq!(filter.combine(&sets, 8), set(&[1, 2, 5]));
        assert_eq!(parse(json!({})).expect("valid").combine(&[], 3), BitSet::full(3));
        assert_eq!(parse(json!({ "or": [] })).expect("valid").combine(&[], 3), BitSet::new(3));
        assert_eq!(parse(json!({ "tag": null })).expect("valid").combine(&[set(&[1])], 8).count(), 7);
    }
}
