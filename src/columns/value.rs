//! Values as ordered 64-bit numbers, and back.

#![forbid(unsafe_code)]

use serde_json::Value;

use crate::schema::{FieldKind, dates};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Ordinals into the segment's dictionary of strings.
    Keyword,
    /// Floats.
    Number,
    /// Integers.
    Integer,
    /// False, true.
    Bool,
    /// Milliseconds since 1970.
    Date,
}

impl ColumnKind {
    /// The column of a field kind; `None` for fields without one.
    pub fn of(kind: &FieldKind) -> Option<Self> {
        Some(match kind {
            FieldKind::Keyword => Self::Keyword,
            FieldKind::Number => Self::Number,
            FieldKind::Integer => Self::Integer,
            FieldKind::Bool => Self::Bool,
            FieldKind::Date => Self::Date,
            FieldKind::Id | FieldKind::Text(_) | FieldKind::Vector(_) | FieldKind::Json => return None,
        })
    }

    pub(super) fn number(self) -> u8 {
        match self {
            Self::Keyword => 0,
            Self::Number => 1,
            Self::Integer => 2,
            Self::Bool => 3,
            Self::Date => 4,
        }
    }

    pub(super) fn from_number(number: u8) -> Option<Self> {
        [Self::Keyword, Self::Number, Self::Integer, Self::Bool, Self::Date]
            .into_iter()
            .find(|kind| kind.number() == number)
    }

    /// A value as JSON: numbers as numbers, bools as bools, dates as ISO 8601 strings; a keyword's ordinal is
    /// not its value, so keywords give null.
    pub fn to_json(self, value: u64) -> Value {
        match self {
            Self::Keyword => Value::Null,
            Self::Number => number_to_json(decode_number(value)),
            Self::Integer => Value::from(decode_integer(value)),
            Self::Bool => Value::from(value != 0),
            Self::Date => Value::from(dates::format_iso(decode_integer(value))),
        }
    }
}

/// A whole float becomes a JSON integer: 2020, not 2020.0.
fn number_to_json(number: f64) -> Value {
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= MAX_EXACT_INTEGER {
        return Value::from(number as i64);
    }
    Value::from(number)
}

const SIGN: u64 = 1 << 63;

/// An integer as an ordered number.
pub fn encode_integer(value: i64) -> u64 {
    value as u64 ^ SIGN
}

/// Inverse of [`encode_integer`].
pub fn decode_integer(value: u64) -> i64 {
    (value ^ SIGN) as i64
}

/// A float as an ordered number; both zeros are one value. NaN has no place: documents and filters refuse it.
pub fn encode_number(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits & SIGN != 0 { !bits } else { bits | SIGN }
}

/// Inverse of [`encode_number`].
pub fn decode_number(value: u64) -> f64 {
    f64::from_bits(if value & SIGN != 0 { value ^ SIGN } else { !value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_value_are_kept() {
        let numbers = [f64::NEG_INFINITY, -1e300, -1.5, -1.0, -1e-310, 0.0, 1e-310, 1.0, 1.5, 2020.0, f64::INFINITY];
        assert!(numbers.windows(2).all(|pair| encode_number(pair[0]) < encode_number(pair[1])));
        assert!(numbers.iter().all(|&number| decode_number(encode_number(number)) == number));
        assert_eq!(encode_number(-0.0), encode_number(0.0));
        let integers = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(integers.windows(2).all(|pair| encode_integer(pair[0]) < encode_integer(pair[1])));
        assert!(integers.iter().all(|&integer| decode_integer(encode_integer(integer)) == integer));
    }

    #[test]
    fn json_values_look_like_the_documents() {
        assert_eq!(ColumnKind::Number.to_json(encode_number(2020.0)).to_string(), "2020");
        assert_eq!(ColumnKind::Number.to_json(encode_number(0.5)).to_string(), "0.5");
        assert_eq!(ColumnKind::Date.to_json(encode_integer(0)).to_string(), "\"1970-01-01T00:00:00.000Z\"");
        assert_eq!(ColumnKind::Bool.to_json(1).to_string(), "true");
    }
}
