//! What is printed: JSON or words on standard output, progress and complaints on standard error.

use std::{
    io::{IsTerminal, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rangefind::{
    engine::{Phase, Progress},
    error::{Error, ErrorKind, Result},
};
use serde::Serialize;

/// How to talk.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// One JSON value instead of words.
    pub json: bool,
    /// No progress, no remarks.
    pub quiet: bool,
}

impl Output {
    /// Prints `value` as JSON if that is asked for, else what `words` writes.
    ///
    /// # Errors
    /// If standard output is closed.
    pub fn result(
        self,
        value: &impl Serialize,
        words: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<()> {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        let written = if self.json {
            serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from).and_then(|()| writeln!(out))
        } else {
            words(&mut out)
        };
        match written.and_then(|()| out.flush()) {
            // The reader has seen enough, as in `rangefind search … | head`.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Error::with_source(ErrorKind::Io, "standard output", error)),
            Ok(()) => Ok(()),
        }
    }

    /// A remark on standard error.
    pub fn remark(self, text: impl std::fmt::Display) {
        if !self.quiet {
            say(text);
        }
    }

    /// Tells of a failure: words on standard error, and with `--json` an object on standard output.
    pub fn failed(self, error: &Error) {
        if self.json {
            print_failure(error.kind(), &error.to_string());
        }
        say(format_args!("rangefind: {error} [{}]", error.kind().code()));
    }

    /// Whether matches may be shown in bold.
    pub fn is_styled(self) -> bool {
        !self.json && std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
    }
}

/// A failure as an object on standard output.
pub fn print_failure(kind: ErrorKind, message: &str) {
    let value = serde_json::json!({ "error": { "code": kind.code(), "message": message } });
    let _ = writeln!(std::io::stdout(), "{value:#}");
}

/// A line on standard error; nothing where that is closed, which `eprintln!` would panic over.
fn say(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A bar on standard error for long work; nothing where that is no terminal.
pub struct Bar {
    bar: ProgressBar,
    phase: Mutex<Option<Phase>>,
    input: Option<Arc<AtomicU64>>,
}

impl Bar {
    /// A bar; `input` counts bytes read while documents are added, of `input_len`.
    pub fn new(output: Output, input: Option<Arc<AtomicU64>>, input_len: Option<u64>) -> Self {
        let target =
            if output.quiet || output.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(input_len, target);
        let style = ProgressStyle::with_template("{msg:28} {wide_bar} {bytes:>10} {elapsed:>5}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"));
        Self { bar, phase: Mutex::new(None), input }
    }

    /// Takes notice of progress.
    pub fn report(&self, progress: Progress) {
        let is_add = progress.phase == Phase::Add;
        {
            let mut phase = self.phase.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if *phase != Some(progress.phase) {
                *phase = Some(progress.phase);
                self.bar.set_message(words(progress.phase));
            }
        }
        match &self.input {
            Some(input) if is_add => {
                self.bar.set_message(format!("{} documents", count(progress.done)));
                self.bar.set_position(input.load(Ordering::Relaxed));
            }
            _ => {
                if progress.total > 0 {
                    self.bar.set_length(progress.total);
                }
                self.bar.set_position(progress.done);
            }
        }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::Add => "adding documents",
        Phase::Flush => "writing a segment",
        Phase::Reorder => "finding an order",
        Phase::MergeText => "merging postings",
        Phase::MergeColumns => "merging columns",
        Phase::MergeDocs => "merging documents",
        Phase::MergeVectors => "merging vectors",
        Phase::Commit => "committing",
        Phase::Check => "checking",
    }
}

/// `7376` as `7,376`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (ix, digit) in digits.chars().enumerate() {
        if ix > 0 && (digits.len() - ix).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 document`, `2 documents`.
pub fn plural(value: u64, word: &str) -> String {
    format!("{} {word}{}", count(value), if value == 1 { "" } else { "s" })
}

/// Bytes in decimal units: `24.1 MB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if value < 1000 {
        return format!("{value} B");
    }
    let mut amount = value as f64 / 1000.0;
    let mut unit = 0;
    while amount >= 999.95 && unit + 1 < UNITS.len() {
        amount /= 1000.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

/// Milliseconds: `0.42 ms`, `18 ms`, `3.1 s`.
pub fn millis(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{:.1} s", value / 1000.0),
        value if value >= 10.0 => format!("{value:.0} ms"),
        value => format!("{value:.2} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [bytes(999), bytes(1500), bytes(999_960), bytes(24_100_000)],
            ["999 B", "1.5 kB", "1.0 MB", "24.1 MB"]
        );
        assert_eq!([millis(0.421), millis(18.2), millis(3100.0)], ["0.42 ms", "18 ms", "3.1 s"]);
        assert_eq!([plural(1, "hit"), plural(2, "hit")], ["1 hit", "2 hits"]);
    }
}
