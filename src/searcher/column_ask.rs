//! Sort keys, facets and collapsing of a request, checked against the schema.

#![forbid(unsafe_code)]

use serde_json::Value;

use super::{ask::column, histogram::Interval};
use crate::{
    columns::{ColumnKind, ValueRanges},
    error::{Error, Result},
    ids::FieldOrd,
    query::{
        ColumnField, ColumnTest, KeywordTest,
        request::{CollapseClause, FacetClause, FacetInterval, FacetOptions, FacetRange, Missing, SortKey, SortOrder},
    },
    schema::Schema,
};

const DEFAULT_FACET_LIMIT: u32 = 10;
const DEFAULT_HISTOGRAM_LIMIT: u32 = 1000;
/// Facets of a search at most: each is a pass over the values of the matching documents.
pub const MAX_FACETS: usize = 256;
/// Ranges of one facet at most: each is a pass over the values.
const MAX_RANGES: usize = 1000;
/// Ranges of all facets together at most.
const MAX_ALL_RANGES: usize = 4096;
/// Sort keys at most.
const MAX_SORT_KEYS: usize = 16;
/// Further hits of a group at most.
const MAX_INNER_HITS: u32 = 100;
/// Pseudo field of [`SortKey`].
const SCORE: &str = "_score";

/// One sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResolvedKey {
    /// `None`: the score.
    pub column: Option<(FieldOrd, ColumnKind)>,
    pub descending: bool,
    pub missing_first: bool,
}

impl ResolvedKey {
    /// Whether values are ordinals, which mean something inside one segment only.
    pub fn is_keyword(&self) -> bool {
        matches!(self.column, Some((_, ColumnKind::Keyword)))
    }
}

/// One facet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FacetAsk {
    pub field: FieldOrd,
    pub name: String,
    pub kind: ColumnKind,
    pub counted: Counted,
    /// Leave out the filter's own conditions on the field.
    pub exclude_own: bool,
}

/// What a facet counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Counted {
    /// The most frequent values; of keywords those that pass all tests.
    Values { limit: usize, tests: Vec<KeywordTest> },
    /// Documents per range.
    Ranges(Vec<RangeAsk>),
    /// Documents per interval.
    Histogram { interval: Interval, limit: usize },
}

/// One range of a facet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RangeAsk {
    pub ranges: ValueRanges,
    pub label: Value,
    pub from: Option<Value>,
    pub to: Option<Value>,
}

/// One hit per value.
#[derive(Debug, Clone, Copy)]
pub(super) struct CollapseAsk {
    pub field: FieldOrd,
    pub kind: ColumnKind,
    pub inner_hits: usize,
}

/// Checks the sort keys.
pub(super) fn sort_keys(keys: &[SortKey], schema: &Schema) -> Result<Vec<ResolvedKey>> {
    if keys.len() > MAX_SORT_KEYS {
        return Err(Error::invalid(format!("sort: {} keys, at most {MAX_SORT_KEYS}", keys.len())));
    }
    let resolve = |key: &SortKey| {
        let missing_first = key.missing == Missing::First;
        if key.field == SCORE {
            let descending = key.order != Some(SortOrder::Asc);
            return Ok(ResolvedKey { column: None, descending, missing_first });
        }
        let column = column("sort", &key.field, schema)?;
        Ok(ResolvedKey { column: Some(column), descending: key.order == Some(SortOrder::Desc), missing_first })
    };
    keys.iter().map(resolve).collect()
}

/// The facets of a request: different ones, and which of them each of its clauses is.
#[derive(Debug, Default)]
pub(super) struct FacetAsks {
    pub different: Vec<FacetAsk>,
    /// Positions in `different`.
    pub places: Vec<usize>,
}

/// Checks the facets. Equal ones are counted once.
pub(super) fn facet_asks(facets: &[FacetClause], schema: &Schema) -> Result<FacetAsks> {
    if facets.len() > MAX_FACETS {
        return Err(Error::invalid(format!("facets: {} entries, at most {MAX_FACETS}", facets.len())));
    }
    let (mut asks, mut num_ranges) = (FacetAsks::default(), 0);
    for (ix, facet) in facets.iter().enumerate() {
        let ask = facet_ask(ix, facet, schema)?;
        let known = asks.different.iter().position(|known| *known == ask);
        asks.places.push(known.unwrap_or(asks.different.len()));
        if known.is_some() {
            continue;
        }
        num_ranges += if let Counted::Ranges(ranges) = &ask.counted { ranges.len() } else { 0 };
        if num_ranges > MAX_ALL_RANGES {
            let what = format!("facets[{ix}]: {num_ranges} ranges of all facets so far, at most {MAX_ALL_RANGES}");
            return Err(Error::invalid(what));
        }
        asks.different.push(ask);
    }
    Ok(asks)
}

fn facet_ask(ix: usize, facet: &FacetClause, schema: &Schema) -> Result<FacetAsk> {
    let plain;
    let options = match facet {
        FacetClause::Field(name) => {
            plain = FacetOptions { field: name.clone(), ..FacetOptions::default() };
            &plain
        }
        FacetClause::Options(options) => options,
    };
    let (field, kind) = column("facet", &options.field, schema)?;
    let bad = |what: String| Error::invalid(format!("facets[{ix}], field {:?}: {what}", options.field));
    let limit = |default: u32| options.limit.unwrap_or(default) as usize;
    let counted = match (&options.ranges, options.interval, &options.prefix) {
        (None, None, None) => Counted::Values { limit: limit(DEFAULT_FACET_LIMIT), tests: Vec::new() },
        (Some(ranges), None, None) => {
            if !matches!(kind, ColumnKind::Number | ColumnKind::Integer | ColumnKind::Date) {
                return Err(bad("ranges are of number, integer and date fields".to_owned()));
            }
            if ranges.len() > MAX_RANGES {
                return Err(bad(format!("{} ranges, at most {MAX_RANGES}", ranges.len())));
            }
            let ranges = ranges.iter().enumerate().map(|(at, range)| {
                let place = format!("facets[{ix}].ranges[{at}],");
                range_ask(ColumnField { place: &place, name: &options.field, ord: field, kind }, range)
            });
            let mut ranges: Vec<RangeAsk> = ranges.collect::<Result<_>>()?;
            ranges.truncate(limit(u32::MAX));
            Counted::Ranges(ranges)
        }
        (None, Some(interval), None) => {
            let interval = match (interval, kind) {
                (FacetInterval::Unit(unit), ColumnKind::Date) => Interval::Unit(unit),
                (FacetInterval::Unit(_), _) => {
                    return Err(bad("intervals of the calendar are of date fields".to_owned()));
                }
                (FacetInterval::Width(width), ColumnKind::Number) if width.is_finite() && width > 0.0 => {
                    Interval::Float(width)
                }
                (FacetInterval::Width(width), ColumnKind::Integer | ColumnKind::Date)
                    if width >= 1.0 && width.fract() == 0.0 && width < i64::MAX as f64 =>
                {
                    Interval::Whole(width as i64)
                }
                (FacetInterval::Width(width), ColumnKind::Number) => {
                    return Err(bad(format!("interval {width} is not above 0")));
                }
                (FacetInterval::Width(width), ColumnKind::Integer | ColumnKind::Date) => {
                    return Err(bad(format!("interval {width} is not a whole number from 1")));
                }
                _ => return Err(bad("intervals are of number, integer and date fields".to_owned())),
            };
            Counted::Histogram { interval, limit: limit(DEFAULT_HISTOGRAM_LIMIT) }
        }
        (None, None, Some(prefix)) => {
            if kind != ColumnKind::Keyword {
                return Err(bad("a prefix is of keyword fields".to_owned()));
            }
            Counted::Values { limit: limit(DEFAULT_FACET_LIMIT), tests: KeywordTest::with_prefix(prefix) }
        }
        _ => return Err(bad("\"ranges\", \"interval\" and \"prefix\" exclude each other".to_owned())),
    };
    Ok(FacetAsk { field, name: options.field.clone(), kind, counted, exclude_own: options.exclude_own })
}

fn range_ask(column: ColumnField<'_>, range: &FacetRange) -> Result<RangeAsk> {
    let bounds = [("gte", &range.from), ("lt", &range.to)];
    let tests: Vec<(&str, &Value)> = bounds
        .iter()
        .filter_map(|(operator, bound)| bound.as_ref().filter(|bound| !bound.is_null()).map(|bound| (*operator, bound)))
        .collect();
    let ColumnTest::Values(ranges) = column.tests(&tests)? else {
        return Err(column.bad("it has no order".to_owned()));
    };
    let text = |bound: &Option<Value>| match bound {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let label = range.key.clone().unwrap_or_else(|| format!("{}..{}", text(&range.from), text(&range.to)));
    Ok(RangeAsk { ranges, label: Value::from(label), from: range.from.clone(), to: range.to.clone() })
}

/// Checks the collapse clause.
pub(super) fn collapse_ask(clause: &CollapseClause, schema: &Schema) -> Result<CollapseAsk> {
    let (field, kind) = column("collapse", &clause.field, schema)?;
    if clause.inner_hits > MAX_INNER_HITS {
        let what = format!("collapse: innerHits {}, at most {MAX_INNER_HITS}", clause.inner_hits);
        return Err(Error::invalid(what));
    }
    Ok(CollapseAsk { field, kind, inner_hits: clause.inner_hits as usize })
}
