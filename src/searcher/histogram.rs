//! Intervals of histograms: to which one a value belongs.

#![forbid(unsafe_code)]

use crate::{
    columns::value::{decode_integer, decode_number, encode_integer, encode_number},
    query::request::CalendarUnit,
    schema::dates,
};

/// Intervals of one width, or of the calendar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Interval {
    /// Of floats; above 0.
    Float(f64),
    /// Of integers and instants; at least 1.
    Whole(i64),
    /// Of instants.
    Unit(CalendarUnit),
}

const MINUTE_MILLIS: i64 = 60_000;
const DAY_MILLIS: i64 = 24 * 60 * MINUTE_MILLIS;
/// 1969-12-29, a Monday.
const MONDAY_MILLIS: i64 = -3 * DAY_MILLIS;

impl Interval {
    /// Start of the interval that a column's value is in, as a column's value.
    pub fn start_of(self, value: u64) -> u64 {
        match self {
            Self::Float(width) => {
                let value = decode_number(value);
                let start = (value / width).floor() * width;
                encode_number(if start.is_finite() { start } else { value })
            }
            Self::Whole(width) => encode_integer(floor_to(decode_integer(value), width, 0)),
            Self::Unit(unit) => {
                let millis = decode_integer(value);
                encode_integer(match unit {
                    CalendarUnit::Minute => floor_to(millis, MINUTE_MILLIS, 0),
                    CalendarUnit::Hour => floor_to(millis, 60 * MINUTE_MILLIS, 0),
                    CalendarUnit::Day => floor_to(millis, DAY_MILLIS, 0),
                    CalendarUnit::Week => floor_to(millis, 7 * DAY_MILLIS, MONDAY_MILLIS),
                    CalendarUnit::Month => dates::start_of_months(millis, 1),
                    CalendarUnit::Quarter => dates::start_of_months(millis, 3),
                    CalendarUnit::Year => dates::start_of_months(millis, 12),
                })
            }
        }
    }
}

/// The greatest `origin + n * width` that is at most `value`; `value` itself where that is no i64.
fn floor_to(value: i64, width: i64, origin: i64) -> i64 {
    let start = i128::from(value) - (i128::from(value) - i128::from(origin)).rem_euclid(i128::from(width));
    i64::try_from(start).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_to_the_interval_they_are_in() {
        let whole = |value, width| decode_integer(Interval::Whole(width).start_of(encode_integer(value)));
        assert_eq!([whole(7, 5), whole(-1, 5), whole(-5, 5), whole(i64::MIN, 7)], [5, -5, -5, i64::MIN]);
        let float = |value, width| decode_number(Interval::Float(width).start_of(encode_number(value)));
        assert_eq!([float(0.7, 0.5), float(-0.1, 0.5), float(1e300, 1e-300)], [0.5, -0.5, 1e300]);
        let date = |unit, text: &str| {
            let millis = dates::parse_iso(text).expect("a date");
            dates::format_iso(decode_integer(Interval::Unit(unit).start_of(encode_integer(millis))))
        };
        assert_eq!(date(CalendarUnit::Week, "2026-11-30T17:00"), "2026-11-30T00:00:00.000Z");
        assert_eq!(date(CalendarUnit::Week, "2026-11-29T17:00"), "2026-11-23T00:00:00.000Z");
        assert_eq!(date(CalendarUnit::Month, "2024-02-29T23:59"), "2024-02-01T00:00:00.000Z");
        assert_eq!(date(CalendarUnit::Quarter, "2024-06-30"), "2024-04-01T00:00:00.000Z");
        assert_eq!(date(CalendarUnit::Year, "1969-12-31"), "1969-01-01T00:00:00.000Z");
        assert_eq!(date(CalendarUnit::Hour, "1969-12-31T23:59"), "1969-12-31T23:00:00.000Z");
    }
}
