//! ISO 8601 dates to and from milliseconds since 1970-01-01 UTC, in the proleptic Gregorian calendar.

#![forbid(unsafe_code)]

/// Largest distance from 1970 that a date may have, milliseconds: what JavaScript's `Date` can hold.
pub const MAX_MILLIS: i64 = 8_640_000_000_000_000;

const DAY_MILLIS: i64 = 86_400_000;

/// Milliseconds of an ISO 8601 date: `2024`, `2024-05`, `2024-05-31`, `2024-05-31T08:30`, with seconds, a
/// fraction of any length (cut to milliseconds), and `Z`, `+02:00`, `+0200` or `+02` as offset. Without an offset
/// it is UTC; a space may stand for the `T`; years outside 0000–9999 have a sign and six digits. `None` if it is none.
pub fn parse_iso(text: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let sign = take_sign(&mut rest);
    let year = sign.unwrap_or(1) * take_digits(&mut rest, if sign.is_some() { 6 } else { 4 })?;
    let mut month = 1;
    let mut day = 1;
    if take(&mut rest, b'-') {
        month = take_digits(&mut rest, 2)?;
        if take(&mut rest, b'-') {
            day = take_digits(&mut rest, 2)?;
        }
    }
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let mut millis = days_from_civil(year, month, day) * DAY_MILLIS;
    if !rest.is_empty() {
        if !(take(&mut rest, b'T') || take(&mut rest, b't') || take(&mut rest, b' ')) {
            return None;
        }
        millis += take_time(&mut rest)?;
        millis -= take_offset(&mut rest)?;
    }
    (rest.is_empty() && millis.abs() <= MAX_MILLIS).then_some(millis)
}

/// Whether `text` is a date with at least a full day, as [`parse_iso`] reads it: a bare year is too likely a number.
pub fn is_full_date(text: &str) -> bool {
    text.len() >= 10 && parse_iso(text).is_some()
}

fn take(rest: &mut &[u8], byte: u8) -> bool {
    match rest.split_first() {
        Some((&first, after)) if first == byte => {
            *rest = after;
            true
        }
        _ => false,
    }
}

fn take_sign(rest: &mut &[u8]) -> Option<i64> {
    if take(rest, b'+') {
        Some(1)
    } else if take(rest, b'-') {
        Some(-1)
    } else {
        None
    }
}

fn take_digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (digits, after) = rest.split_at_checked(count)?;
    *rest = after;
    digits.iter().try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0')))
}

fn take_time(rest: &mut &[u8]) -> Option<i64> {
    let hour = take_digits(rest, 2)?;
    if !take(rest, b':') {
        return None;
    }
    let minute = take_digits(rest, 2)?;
    let (mut second, mut fraction) = (0, 0);
    if take(rest, b':') {
        second = take_digits(rest, 2)?;
        if take(rest, b'.') || take(rest, b',') {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            fraction =
                (0..3).fold(0, |value, ix| value * 10 + if ix < digits { i64::from(rest[ix] - b'0') } else { 0 });
            *rest = &rest[digits..];
        }
    }
    let is_midnight_after = hour == 24 && minute == 0 && second == 0 && fraction == 0;
    if (hour > 23 && !is_midnight_after) || minute > 59 || second > 59 {
        return None;
    }
    Some(((hour * 60 + minute) * 60 + second) * 1000 + fraction)
}

fn take_offset(rest: &mut &[u8]) -> Option<i64> {
    if rest.is_empty() || take(rest, b'Z') || take(rest, b'z') {
        return Some(0);
    }
    let sign = take_sign(rest)?;
    let hours = take_digits(rest, 2)?;
    let minutes = if take(rest, b':') || !rest.is_empty() { take_digits(rest, 2)? } else { 0 };
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes) * 60_000)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01. Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Inverse of [`days_from_civil`]; `civil_from_days` of the same source.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// The start of the run of `count` months that an instant is in; runs begin with a year, `count` divides 12.
pub fn start_of_months(millis: i64, count: i64) -> i64 {
    let (year, month, _) = civil_from_days(millis.div_euclid(DAY_MILLIS));
    days_from_civil(year, month - (month - 1) % count, 1).saturating_mul(DAY_MILLIS)
}

/// `2024-05-31T08:30:00.000Z`, as JavaScript's `toISOString` writes it.
pub fn format_iso(millis: i64) -> String {
    let (days, within) = (millis.div_euclid(DAY_MILLIS), millis.rem_euclid(DAY_MILLIS));
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (within / 3_600_000, within / 60_000 % 60, within / 1000 % 60);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        year if year < 0 => format!("-{:06}", -year),
        year => format!("+{year:06}"),
    };
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", within % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_usual_forms() {
        for (text, millis) in [
            ("1970-01-01", 0),
            ("1970", 0),
            ("1970-02", 31 * DAY_MILLIS),
            ("2000-02-29", 951_782_400_000),
            ("2024-05-31T08:30:15.123Z", 1_717_144_215_123),
            ("2024-05-31T08:30:15.1239999Z", 1_717_144_215_123),
            ("2024-05-31 08:30:15,1Z", 1_717_144_215_100),
            ("2024-05-31T10:30:15.123+02:00", 1_717_144_215_123),
            ("2024-05-31T06:00:15.123-0230", 1_717_144_215_123),
            ("2024-05-31T10:30:15.123+02", 1_717_144_215_123),
            ("2024-05-31T24:00", 1_717_200_000_000),
            ("1969-12-31T23:59:59.999Z", -1),
            ("-271821-04-20T00:00:00Z", -MAX_MILLIS),
            ("+275760-09-13T00:00:00.000Z", MAX_MILLIS),
        ] {
            assert_eq!(parse_iso(text), Some(millis), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_date() {
        for text in [
            "",
            "x",
            "20",
            "2024-",
            "2024-13",
            "2024-00",
            "2023-02-29",
            "2024-04-31",
            "2024-05-31T",
            "2024-05-31T25:00",
            "2024-05-31T24:01",
            "2024-05-31T08",
            "2024-05-31T08:60",
            "2024-05-31T08:30:15.",
            "2024-05-31T08:30Zx",
            "2024-05-31T08:30+1",
            "2024-5-3",
            "２０２４-01-01",
            "+275760-09-13T00:00:00.001Z",
            "2024/05/31",
            "20240531",
        ] {
            assert_eq!(parse_iso(text), None, "{text}");
        }
        assert!(!is_full_date("2024") && !is_full_date("2024-05") && is_full_date("2024-05-31"));
    }

    #[test]
    fn writing_and_reading_are_inverse() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..3000 {
            let millis = rng.i64(-MAX_MILLIS..=MAX_MILLIS);
            assert_eq!(parse_iso(&format_iso(millis)), Some(millis), "seed {seed}, {}", format_iso(millis));
        }
        assert_eq!(format_iso(1_717_144_215_123), "2024-05-31T08:30:15.123Z");
    }

    #[test]
    fn random_bytes_never_panic() {
        const ALPHABET: [char; 12] = ['0', '1', '2', '9', '-', '+', ':', '.', 'T', 'Z', ' ', 'é'];
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..20_000 {
            let text: String = (0..rng.usize(0..30)).map(|_| *rng.choice(&ALPHABET).unwrap()).collect();
            if let Some(millis) = parse_iso(&text) {
                assert!(millis.abs() <= MAX_MILLIS);
            }
        }
    }
}
