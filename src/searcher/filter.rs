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

use std::ops::Bound;

use serde_json::{Map, Value};

use super::ask::hint;
use crate::{
    bitset::BitSet,
    columns::{ColumnKind, DictionaryBlock, DictionaryIndex, ValueRanges, value},
    error::{Error, Result},
    ids::{DocId, FieldOrd},
    schema::{FieldKind, Schema, dates},
};

/// How deep filters nest.
const MAX_DEPTH: usize = 64;
/// How many conditions a filter has; values of one list count as one.
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

/// A test of one keyword.
#[derive(Debug, Clone, PartialEq)]
pub enum KeywordTest {
    /// Equal to one of these.
    OneOf(Vec<String>),
    /// Not before this one.
    From(Bound<String>),
    /// Not after this one.
    To(Bound<String>),
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

    /// The conditions.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Documents of a segment that match, from the documents that match each leaf, in order of leaves.
    pub fn combine(&self, sets: &[BitSet], max_doc: u32) -> BitSet {
        fn of(node: &Node, sets: &[BitSet], max_doc: u32) -> BitSet {
            match node {
                Node::Leaf(ix) => sets[*ix].clone(),
                Node::Not(inner) => {
                    let mut set = of(inner, sets, max_doc);
                    set.negate();
                    set
                }
                Node::And(parts) => parts.iter().fold(BitSet::full(max_doc), |mut all, part| {
                    all.and(&of(part, sets, max_doc));
                    all
                }),
                Node::Or(parts) => parts.iter().fold(BitSet::new(max_doc), |mut any, part| {
                    any.or(&of(part, sets, max_doc));
                    any
                }),
            }
        }
        of(&self.root, sets, max_doc)
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
        if self.leaves.len() >= MAX_LEAVES {
            return Err(Error::invalid(format!("filter: more than {MAX_LEAVES} conditions")));
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
        self.condition(Column { name, ord, kind }, condition, depth)
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
        ids.sort_by_cached_key(DocId::to_term);
        ids.dedup();
        self.leaf(Leaf::Ids(ids))
    }

    fn condition(&mut self, column: Column<'_>, condition: &Value, depth: usize) -> Result<Node> {
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

    fn operators(&mut self, column: Column<'_>, operators: &Map<String, Value>, depth: usize) -> Result<Node> {
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
    fn tests(&mut self, column: Column<'_>, tests: &[(&str, &Value)]) -> Result<Node> {
        let leaf = if column.kind == ColumnKind::Keyword {
            let tests = tests.iter().map(|(operator, value)| column.keyword_test(operator, value));
            Leaf::Keywords { field: column.ord, tests: tests.collect::<Result<_>>()? }
        } else {
            let mut ranges = ValueRanges::all();
            for (operator, value) in tests {
                ranges = ranges.and(&column.ranges(operator, value)?);
            }
            Leaf::Values { field: column.ord, ranges }
        };
        self.leaf(leaf)
    }
}

fn one_or_and(mut parts: Vec<Node>) -> Node {
    if parts.len() == 1 { parts.remove(0) } else { Node::And(parts) }
}

/// A value between two others, or one itself: `Ok` if the column can hold it exactly, `Err` with its nearest
/// neighbours below and above otherwise.
type Place = Result<u64, (Option<u64>, Option<u64>)>;

#[derive(Debug, Clone, Copy)]
struct Column<'a> {
    name: &'a str,
    ord: FieldOrd,
    kind: ColumnKind,
}

impl Column<'_> {
    fn bad(&self, what: String) -> Error {
        Error::invalid(format!("filter field {:?}: {what}", self.name))
    }

    fn expected(&self, found: &Value) -> Error {
        let expected = match self.kind {
            ColumnKind::Keyword => "a string",
            ColumnKind::Number | ColumnKind::Integer => "a number",
            ColumnKind::Bool => "true or false",
            ColumnKind::Date => "an ISO 8601 date or milliseconds",
        };
        const SHOWN_CHARS: usize = 60;
        let found: String = found.to_string().chars().take(SHOWN_CHARS).collect();
        self.bad(format!("expected {expected}, found {found}"))
    }

    fn keyword_test(&self, operator: &str, value: &Value) -> Result<KeywordTest> {
        let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| self.expected(value));
        Ok(match operator {
            "in" => {
                let list = value.as_array().ok_or_else(|| self.bad("\"in\" takes a list".to_owned()))?;
                KeywordTest::OneOf(list.iter().map(text).collect::<Result<_>>()?)
            }
            "gt" => KeywordTest::From(Bound::Excluded(text(value)?)),
            "gte" => KeywordTest::From(Bound::Included(text(value)?)),
            "lt" => KeywordTest::To(Bound::Excluded(text(value)?)),
            "lte" => KeywordTest::To(Bound::Included(text(value)?)),
            _ => KeywordTest::OneOf(vec![text(value)?]),
        })
    }

    /// Where `value` is among the values of the column.
    fn place(&self, value: &Value) -> Result<Place> {
        let place = match (self.kind, value) {
            (ColumnKind::Number, Value::Number(number)) => {
                number.as_f64().filter(|number| number.is_finite()).map(|number| Ok(value::encode_number(number)))
            }
            (ColumnKind::Integer, Value::Number(number)) => Some(integer_place(number)),
            (ColumnKind::Date, Value::Number(number)) => Some(integer_place(number)),
            (ColumnKind::Date, Value::String(text)) => {
                dates::parse_iso(text).map(|millis| Ok(value::encode_integer(millis)))
            }
            (ColumnKind::Bool, Value::Bool(value)) => Some(Ok(u64::from(*value))),
            _ => None,
        };
        place.ok_or_else(|| self.expected(value))
    }

    fn ranges(&self, operator: &str, value: &Value) -> Result<ValueRanges> {
        if operator == "in" {
            let list = value.as_array().ok_or_else(|| self.bad("\"in\" takes a list".to_owned()))?;
            let points: Vec<u64> =
                list.iter().map(|value| self.place(value)).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
            return Ok(ValueRanges::new(points.into_iter().map(|point| (point, point))));
        }
        let place = self.place(value)?;
        let range = match (operator, place) {
            ("gt", Ok(point)) => point.checked_add(1).map(|start| (start, u64::MAX)),
            ("gte", Ok(point)) => Some((point, u64::MAX)),
            ("lt", Ok(point)) => point.checked_sub(1).map(|end| (0, end)),
            ("lte", Ok(point)) => Some((0, point)),
            ("gt" | "gte", Err((_, above))) => above.map(|start| (start, u64::MAX)),
            ("lt" | "lte", Err((below, _))) => below.map(|end| (0, end)),
            (_, Ok(point)) => Some((point, point)),
            (_, Err(_)) => None,
        };
        Ok(ValueRanges::new(range))
    }
}

/// Where a JSON number is among 64-bit integers.
fn integer_place(number: &serde_json::Number) -> Place {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if let Some(integer) = number.as_i64() {
        return Ok(value::encode_integer(integer));
    }
    let float = number.as_f64().unwrap_or(f64::MAX);
    if float >= TWO_TO_63 {
        return Err((Some(u64::MAX), None));
    }
    if float < -TWO_TO_63 {
        return Err((None, Some(0)));
    }
    let below = value::encode_integer(float.floor() as i64);
    if float.fract() == 0.0 { Ok(below) } else { Err((Some(below), below.checked_add(1))) }
}

impl KeywordTest {
    /// The keywords it compares with.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let (list, bound) = match self {
            Self::OneOf(list) => (list.as_slice(), None),
            Self::From(bound) | Self::To(bound) => (&[][..], Some(bound)),
        };
        let bound = bound.and_then(|bound| match bound {
            Bound::Included(value) | Bound::Excluded(value) => Some(value.as_str()),
            Bound::Unbounded => None,
        });
        list.iter().map(String::as_str).chain(bound)
    }

    /// Ordinals that pass, from where its keywords are in a segment's dictionary.
    fn ranges(&self, find: impl Fn(&str) -> Result<u32, u32>) -> ValueRanges {
        // First ordinal at or after the keyword, and first one after it.
        let at = |value: &str| u64::from(find(value).unwrap_or_else(|next| next));
        let after = |value: &str| find(value).map_or_else(u64::from, |ord| u64::from(ord) + 1);
        match self {
            Self::OneOf(list) => {
                let ords = list.iter().filter_map(|value| find(value).ok()).map(u64::from);
                ValueRanges::new(ords.map(|ord| (ord, ord)))
            }
            Self::From(Bound::Included(value)) => ValueRanges::new([(at(value), u64::MAX)]),
            Self::From(Bound::Excluded(value)) => ValueRanges::new([(after(value), u64::MAX)]),
            Self::To(Bound::Included(value)) => ValueRanges::new(after(value).checked_sub(1).map(|end| (0, end))),
            Self::To(Bound::Excluded(value)) => ValueRanges::new(at(value).checked_sub(1).map(|end| (0, end))),
            Self::From(Bound::Unbounded) | Self::To(Bound::Unbounded) => ValueRanges::all(),
        }
    }
}

/// Dictionary blocks that hold the keywords of `tests`, ascending.
pub fn dictionary_blocks(tests: &[KeywordTest], dictionary: &DictionaryIndex) -> Vec<u32> {
    let values = tests.iter().flat_map(KeywordTest::values);
    let mut blocks: Vec<u32> = values.filter_map(|value| dictionary.block_of_value(value.as_bytes())).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

/// Ordinals of a segment that pass all of `tests`; `blocks` are the decoded [`dictionary_blocks`].
pub fn keyword_ranges(tests: &[KeywordTest], dictionary: &DictionaryIndex, blocks: &[DictionaryBlock]) -> ValueRanges {
    let find = |value: &str| {
        let Some(number) = dictionary.block_of_value(value.as_bytes()) else { return Err(0) };
        let ix = blocks.binary_search_by_key(&number, |block| dictionary.block_of_ord(block.first_ord()));
        ix.map_or(Err(0), |ix| blocks[ix].find(value))
    };
    tests.iter().fold(ValueRanges::all(), |ranges, test| ranges.and(&test.ranges(find)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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

    #[test]
    fn keyword_tests_agree_with_comparing_strings() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..3000 {
            let mut words: Vec<String> = (0..rng.usize(0..6)).map(|_| rng.char('b'..='f').to_string()).collect();
            words.sort();
            words.dedup();
            let value = rng.char('a'..='g').to_string();
            let test = match rng.u8(0..5) {
                0 => KeywordTest::OneOf(vec![value.clone(), "c".to_owned()]),
                1 => KeywordTest::From(Bound::Included(value.clone())),
                2 => KeywordTest::From(Bound::Excluded(value.clone())),
                3 => KeywordTest::To(Bound::Included(value.clone())),
                _ => KeywordTest::To(Bound::Excluded(value.clone())),
            };
            let find = |value: &str| {
                words.binary_search_by(|word| word.as_str().cmp(value)).map(|ix| ix as u32).map_err(|ix| ix as u32)
            };
            let ranges = test.ranges(find);
            for (ord, word) in words.iter().enumerate() {
                let expected = match &test {
                    KeywordTest::OneOf(list) => list.contains(word),
                    KeywordTest::From(Bound::Included(value)) => word >= value,
                    KeywordTest::From(Bound::Excluded(value)) => word > value,
                    KeywordTest::To(Bound::Included(value)) => word <= value,
                    KeywordTest::To(Bound::Excluded(value)) => word < value,
                    _ => true,
                };
                assert_eq!(ranges.contains(ord as u64), expected, "seed {seed}, {test:?}, {word}");
            }
        }
    }
}
