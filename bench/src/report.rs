//! Rows of a benchmark: as a table for people, as JSON for the next run to compare with.

use std::{fmt::Write, fs, io, path::Path};

use serde::Serialize;

/// One measured thing beside what it is compared with.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Stable name.
    pub key: String,
    /// Our value, a median or percentile as the key says.
    pub ours: f64,
    /// Unit of both values.
    pub unit: String,
    /// What it is compared with.
    pub peer: String,
    /// Its value; absent where nothing is compared.
    pub peer_value: Option<f64>,
    /// How many times better we are: larger is better.
    pub ratio: Option<f64>,
    /// The least ratio that is good enough; absent where none is set.
    pub goal: Option<f64>,
    /// Whether the goal is met; absent without a goal.
    pub met: Option<bool>,
    /// How it was measured.
    pub note: String,
}

impl Row {
    /// A row where smaller values are better, as with times.
    pub fn smaller_is_better(key: &str, ours: f64, unit: &str, peer: &str, peer_value: f64) -> Self {
        Self::new(key, ours, unit, peer, peer_value, peer_value / ours)
    }

    /// A row where larger values are better, as with rates.
    pub fn larger_is_better(key: &str, ours: f64, unit: &str, peer: &str, peer_value: f64) -> Self {
        Self::new(key, ours, unit, peer, peer_value, ours / peer_value)
    }

    fn new(key: &str, ours: f64, unit: &str, peer: &str, peer_value: f64, ratio: f64) -> Self {
        Self {
            key: key.to_owned(),
            ours,
            unit: unit.to_owned(),
            peer: peer.to_owned(),
            peer_value: Some(peer_value),
            ratio: ratio.is_finite().then_some(ratio),
            goal: None,
            met: None,
            note: String::new(),
        }
    }

    /// Sets the least ratio that is good enough.
    pub fn goal(mut self, goal: f64) -> Self {
        self.goal = Some(goal);
        self.met = Some(self.ratio.is_some_and(|ratio| ratio >= goal));
        self
    }

    /// Says how it was measured.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

/// The value at `percentile` of 100, by nearest rank.
///
/// # Panics
/// If there are no values: a percentile of nothing proves nothing.
pub fn percentile(values: &[f64], percentile: f64) -> f64 {
    assert!(!values.is_empty(), "no values were measured");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (percentile / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// The rows, aligned, with notes below.
pub fn table(rows: &[Row]) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), short);
    let cells = rows.iter().map(|row| {
        let met = match row.met {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        };
        let value = |value: Option<f64>| format!("{} {}", number(value), row.unit);
        [
            row.key.clone(),
            value(Some(row.ours)),
            row.peer.clone(),
            value(row.peer_value),
            number(row.ratio),
            number(row.goal),
            met.to_owned(),
        ]
    });
    let head = ["key", "ours", "peer", "its value", "ratio", "goal", "met"].map(str::to_owned);
    let lines: Vec<[String; 7]> = std::iter::once(head).chain(cells).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let padded = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let padded: Vec<String> = padded.collect();
        let _ = writeln!(text, "{}", padded.join("  ").trim_end());
    }
    for row in rows.iter().filter(|row| !row.note.is_empty()) {
        let _ = writeln!(text, "  {}: {}", row.key, row.note);
    }
    text
}

fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Writes the rows as a JSON list.
pub fn write(rows: &[Row], path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, serde_json::to_string_pretty(rows)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(
            (percentile(&values, 50.0), percentile(&values, 99.0), percentile(&values, 100.0)),
            (50.0, 99.0, 100.0)
        );
        assert_eq!(percentile(&[7.0], 1.0), 7.0);
    }

    #[test]
    fn a_goal_is_met_or_not() {
        let row = || Row::smaller_is_better("k", 2.0, "ms", "p", 30.0);
        assert_eq!(row().goal(15.0).met, Some(true));
        assert_eq!(row().goal(15.1).met, Some(false));
        assert_eq!(
            Row::smaller_is_better("k", 0.0, "ms", "p", 0.0).goal(1.0).met,
            Some(false),
            "no number meets no goal"
        );
    }
}
