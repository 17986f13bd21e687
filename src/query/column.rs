//! Conditions on columns: what a query's column leaves ask, how they are read, and what the searcher hands in for them.
//!
//! A leaf is decided per segment. What its column's metadata says (bounds of each block of 4096 documents) is enough for
//! blocks that lie inside or outside a condition; of the others the packed bytes are at hand, and
//! the scorer opens those that candidates are in.

#![forbid(unsafe_code)]

use std::{ops::Bound, sync::Arc};

use bytes::Bytes;
use serde_json::Value;

use crate::{
    bitset::BitSet,
    columns::{ColumnError, ColumnKind, ColumnMeta, DictionaryBlock, DictionaryIndex, PackedBlock, ValueRanges, value},
    error::{Error, Result},
    ids::{DocId, FieldOrd},
    schema::dates,
};

/// Documents whose value of a field fulfils a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnQuery {
    /// The field.
    pub field: FieldOrd,
    /// The condition.
    pub test: ColumnTest,
}

/// A condition on the values of one field; of several values one is enough.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnTest {
    /// The value is in one of these ranges: numbers, integers, bools, dates.
    Values(ValueRanges),
    /// The keyword passes all tests.
    Keywords(Vec<KeywordTest>),
    /// The document has one of these ids, ascending by term.
    Ids(Vec<DocId>),
    /// There is a value: in a column, a text with a word in it, a vector.
    Exists,
}

/// A column leaf of a plan: what [`ColumnInput`] is needed for.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnLeaf {
    /// The condition.
    pub query: ColumnQuery,
    /// Whether the values themselves are asked for, not only whether they fulfil the condition.
    pub values: bool,
}

/// What a column leaf is in one segment.
#[derive(Debug, Clone)]
pub enum ColumnInput {
    /// The documents, known already.
    Set(Arc<BitSet>),
    /// Documents with a value in these ranges.
    Values {
        /// Values that match, in this segment's numbers.
        ranges: ValueRanges,
        /// Where they are.
        column: Arc<ColumnBytes>,
    },
}

/// The packed values of one column of one segment.
#[derive(Debug, Clone)]
pub struct ColumnBytes {
    /// Metadata.
    pub meta: Arc<ColumnMeta>,
    /// Bytes of each block; empty where the metadata decides.
    pub blocks: Vec<Bytes>,
}

impl ColumnBytes {
    /// The values of a block.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn open(&self, block: u32) -> Result<PackedBlock, ColumnError> {
        self.meta.open_block(block, self.blocks.get(block as usize).cloned().unwrap_or_default())
    }
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

/// A value between two others, or one itself: `Ok` if the column can hold it exactly, `Err` with its nearest
/// neighbours below and above otherwise.
type Place = Result<u64, (Option<u64>, Option<u64>)>;

/// A column that conditions are read for.
#[derive(Debug, Clone, Copy)]
pub struct ColumnField<'a> {
    /// Where the condition stands, in words: `filter`, or a path such as `query.bool.must[2].range`.
    pub place: &'a str,
    /// Name of the field.
    pub name: &'a str,
    /// The field.
    pub ord: FieldOrd,
    /// What its column holds.
    pub kind: ColumnKind,
}

impl ColumnField<'_> {
    /// An error about this field.
    pub fn bad(&self, what: String) -> Error {
        Error::invalid(format!("{} field {:?}: {what}", self.place, self.name))
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
    fn locate(&self, value: &Value) -> Result<Place> {
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

    /// Tests that must all hold for one value: operators `eq`, `in`, `gt`, `gte`, `lt`, `lte` with their values.
    ///
    /// # Errors
    /// `invalid_argument` if a value is of another type than the column.
    pub fn tests(&self, tests: &[(&str, &Value)]) -> Result<ColumnTest> {
        if self.kind == ColumnKind::Keyword {
            let tests = tests.iter().map(|(operator, value)| self.keyword_test(operator, value));
            return Ok(ColumnTest::Keywords(tests.collect::<Result<_>>()?));
        }
        let mut ranges = ValueRanges::all();
        for (operator, value) in tests {
            ranges = ranges.and(&self.ranges(operator, value)?);
        }
        Ok(ColumnTest::Values(ranges))
    }

    /// The same with values as text, as a query syntax has them: numbers, `true`, dates. A date without a time is all of
    /// its day, month or year: `lte` 2021 is up to its end. `None` if a value does not suit the column.
    pub fn text_tests(&self, tests: &[(&str, &str)]) -> Option<ColumnTest> {
        let value = |text: &str| match self.kind {
            ColumnKind::Keyword | ColumnKind::Date => Value::from(text),
            ColumnKind::Bool => text.parse::<bool>().map_or(Value::Null, Value::from),
            ColumnKind::Number | ColumnKind::Integer => match text.parse::<i64>() {
                Ok(integer) => Value::from(integer),
                Err(_) => text.parse::<f64>().map_or(Value::Null, Value::from),
            },
        };
        let mut values: Vec<(&str, Value)> = Vec::with_capacity(tests.len() + 1);
        for &(operator, text) in tests {
            let end = (self.kind == ColumnKind::Date).then(|| end_of_date(text)).flatten().map(Value::from);
            match (operator, end) {
                ("lte", Some(end)) => values.push(("lt", end)),
                ("gt", Some(end)) => values.push(("gte", end)),
                ("eq", Some(end)) => values.extend([("gte", value(text)), ("lt", end)]),
                _ => values.push((operator, value(text))),
            }
        }
        let tests: Vec<_> = values.iter().map(|(operator, value)| (*operator, value)).collect();
        self.tests(&tests).ok()
    }

    fn ranges(&self, operator: &str, value: &Value) -> Result<ValueRanges> {
        if operator == "in" {
            let list = value.as_array().ok_or_else(|| self.bad("\"in\" takes a list".to_owned()))?;
            let points: Vec<u64> = list
                .iter()
                .map(|value| self.locate(value))
                .collect::<Result<Vec<_>>>()?
                .into_iter()
                .flatten()
                .collect();
            return Ok(ValueRanges::new(points.into_iter().map(|point| (point, point))));
        }
        let place = self.locate(value)?;
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

/// First instant behind a date that names a day, a month or a year.
fn end_of_date(text: &str) -> Option<i64> {
    const DAY_MILLIS: i64 = 86_400_000;
    let start = dates::parse_iso(text)?;
    // Long enough to be in the next month or year, which its first days are cut to.
    let shown_chars = text.len();
    let days = match shown_chars {
        4 => 366,
        7 => 31,
        10 => return Some(start + DAY_MILLIS),
        _ => return None,
    };
    let later = dates::format_iso(start + days * DAY_MILLIS);
    dates::parse_iso(later.get(..shown_chars)?)
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
    /// The tests of keywords that begin with `prefix`.
    pub fn with_prefix(prefix: &str) -> Vec<Self> {
        let mut tests = vec![Self::From(Bound::Included(prefix.to_owned()))];
        tests.extend(after_prefix(prefix).map(|end| Self::To(Bound::Excluded(end))));
        tests
    }

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

/// The first string behind all that begin with `prefix`; `None` if there is none.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        let next = match last {
            // Surrogates are no characters.
            '\u{d7ff}' => Some('\u{e000}'),
            _ => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
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
    use super::*;

    #[test]
    fn dates_of_a_syntax_are_whole_days_months_and_years() {
        let day = ColumnField { place: "query", name: "day", ord: FieldOrd(1), kind: ColumnKind::Date };
        let at = |text: &str| value::encode_integer(dates::parse_iso(text).unwrap());
        for (tests, from, to) in [
            (&[("gte", "2019"), ("lte", "2021")][..], "2019", Some("2022")),
            (&[("gt", "2019-12")], "2020-01", None),
            (&[("eq", "2020-02-29")], "2020-02-29", Some("2020-03-01")),
            (&[("gte", "2020"), ("lt", "2021")], "2020", Some("2021")),
        ] {
            let end = to.map_or(u64::MAX, |to| at(to) - 1);
            let expected = ColumnTest::Values(ValueRanges::new([(at(from), end)]));
            assert_eq!(day.text_tests(tests), Some(expected), "{tests:?}");
        }
        assert_eq!(day.text_tests(&[("gte", "soon")]), None);
        let pages = ColumnField { kind: ColumnKind::Integer, ..day };
        let expected = ValueRanges::new([(value::encode_integer(3), value::encode_integer(7))]);
        assert_eq!(pages.text_tests(&[("gt", "2"), ("lte", "7.5")]), Some(ColumnTest::Values(expected)));
        assert_eq!(pages.text_tests(&[("eq", "true")]), None);
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
