//! Benchmarks: `rangefind-bench SUITE [--quick] [--out FILE]` prints a table and writes its rows as JSON.
//!
//! One module per suite; [`report`] is what they share. `bench/run.mjs` is the entry that `npm run bench` calls.

mod quality;
mod remote;
mod report;
mod storage;
mod text;
mod vectors;

use std::{path::PathBuf, process::ExitCode};

/// How much a suite does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// What the goals are stated for.
    Full,
    /// Less data, within two minutes.
    Quick,
}

type Suite = fn(Effort) -> Vec<report::Row>;

const SUITES: &[(&str, Suite)] = &[
    ("quality", quality::run),
    ("remote", remote::run),
    ("rescore", storage::rescore),
    ("storage", storage::run),
    ("text", text::run),
    ("text-classes", text::classes),
    ("text-profile", text::profile),
    ("text-differential", text::differential),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut name, mut effort, mut out) = (None, Effort::Full, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => effort = Effort::Quick,
            "--out" => out = arguments.next().map(PathBuf::from),
            other => name = Some(other.to_owned()),
        }
    }
    let name = name.unwrap_or_default();
    if name == "vectors-engine" {
        return vectors::serve();
    }
    let Some((name, suite)) = SUITES.iter().find(|(own, _)| *own == name) else {
        let names: Vec<_> = SUITES.iter().map(|(own, _)| *own).collect();
        eprintln!("no suite {name:?}; there are: {}", names.join(", "));
        return ExitCode::from(2);
    };
    let rows = suite(effort);
    print!("{}", report::table(&rows));
    let out = out.unwrap_or_else(|| PathBuf::from(format!("bench/results/{name}.json")));
    if let Err(error) = report::write(&rows, &out) {
        eprintln!("{}: {error}", out.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
