//! Text: postings and queries beside tantivy, with the same tokens, one segment and one thread each, in one run.
//!
//! First every query of every class is answered by both engines and compared ([`differential`]); only then is
//! anything timed. The data lie in `$RANGEFIND_DATA`, or in `../shared/data` beside the repository.

mod ask;
mod codecs;
mod columns;
mod corpus;
mod differential;
mod engines;
mod measure;
mod tasks;

use std::{env, fs, io};

use serde::Serialize;

use crate::{Effort, report::Row};
use ask::Ask;
use corpus::Corpus;
use differential::Compared;
use engines::{Mode, Ours, Peer};
use measure::Measured;
use tasks::{Class, Drawer};

/// Generated queries of several levels in the comparison.
const NESTED: usize = 2000;

struct Bench {
    collections: &'static [&'static str],
    corpus: Corpus,
    ours: Ours,
    peer: Peer,
    classes: Vec<Class>,
}

impl Bench {
    fn prepare(effort: Effort) -> Self {
        let names = if effort == Effort::Quick { corpus::SMALL } else { corpus::WHOLE };
        let corpus = Corpus::load(names);
        let (ours, peer) = (Ours::build(&corpus), Peer::build(&corpus));
        let classes = tasks::classes(&corpus, effort);
        Self { collections: names, corpus, ours, peer, classes }
    }

    /// Times of the classes that are meant.
    fn measured(&self, effort: Effort) -> Vec<Measured> {
        let classes = self.classes.iter().filter(|class| is_meant(&class.name));
        let mut measured: Vec<Measured> =
            classes.flat_map(|class| measure::measure(&self.ours, &self.peer, class, effort)).collect();
        measured.extend(columns::measure(&self.corpus, &self.peer, is_meant, effort));
        measured
    }

    /// How many queries both answer alike; the note has the first that they do not.
    fn compare(&self) -> Vec<Row> {
        assert!(self.corpus.len() >= 100_000, "{} documents", self.corpus.len());
        let mut drawer = Drawer::new(&self.corpus, 0);
        let nested: Vec<_> = (0..NESTED).map(|_| drawer.nested(3)).collect();
        let asks = self.classes.iter().flat_map(|class| &class.asks).chain(&nested);
        let Compared { counts, scores, skipped, different, first } =
            differential::compare(&self.ours, &self.peer, asks);
        let docs = self.corpus.len();
        let note = format!(
            "counts of {docs} documents, and for {scores} queries scores of the ten best to 1e-4; not comparable {skipped}{}",
            first.map(|first| format!("; {different} differ, the first {first}")).unwrap_or_default()
        );
        let alike = (counts - different) as f64;
        vec![
            Row::larger_is_better("differential-tantivy", alike, "queries", "asked", counts as f64)
                .goal(1.0)
                .note(note),
        ]
    }
}

/// Compares answers and measures nothing.
///
/// # Panics
/// If the engines answer a query differently.
pub fn differential(effort: Effort) -> Vec<Row> {
    let rows = Bench::prepare(effort).compare();
    rows.iter().for_each(|row| assert_eq!(row.met, Some(true), "{}", row.note));
    rows
}

/// Whether a class is to be measured. For work on some kinds of queries `$TEXT_CLASS` has parts of names, with commas
/// between them.
fn is_meant(class: &str) -> bool {
    env::var("TEXT_CLASS").unwrap_or_default().split(',').any(|part| class.contains(part))
}

/// Measures classes and neither compares answers nor anything else: for work on some kinds of queries.
pub fn classes(effort: Effort) -> Vec<Row> {
    let bench = Bench::prepare(effort);
    bench.measured(effort).iter().map(Measured::row).collect()
}

/// Runs our side of the classes over and over, `$TEXT_MODE` alone if that is given, for a profiler to look at.
pub fn profile(effort: Effort) -> Vec<Row> {
    let names = if effort == Effort::Quick { corpus::SMALL } else { corpus::WHOLE };
    let corpus = Corpus::load(names);
    let mode = env::var("TEXT_MODE").ok();
    let mut rows = columns::profile(&corpus, is_meant, effort);
    let ours = Ours::build(&corpus);
    for class in tasks::classes(&corpus, effort).iter().filter(|class| is_meant(&class.name)) {
        rows.extend(measure::alone(&ours, class, |name| mode.as_ref().is_none_or(|mode| mode == name)));
    }
    rows
}

/// Compares, then measures every class.
pub fn run(effort: Effort) -> Vec<Row> {
    let mut bench = Bench::prepare(effort);
    bench.classes.retain(|class| is_meant(&class.name));
    let mut rows = bench.compare();
    let measured = bench.measured(effort);
    export(&bench, &measured).unwrap_or_else(|error| panic!("queries for the package: {error}"));
    let mean = geometric_mean(measured.iter().map(Measured::ratio));
    rows.push(
        Row::larger_is_better("native-vs-tantivy", mean, "x", "equal", 1.0)
            .goal(1.5)
            .note(format!("geometric mean over {} classes and modes of the ratio of mean times", measured.len())),
    );
    rows.extend(measured.iter().map(Measured::row));
    let (ours, peer) = (&bench.ours, &bench.peer);
    let [terms, index, postings, norms] = ours.bytes;
    let bytes = ours.bytes.iter().sum::<u64>() as f64;
    rows.push(
        Row::smaller_is_better("index-size-vs-tantivy", bytes / 1e6, "MB", "tantivy", peer.bytes as f64 / 1e6)
            .goal(1.0)
            .note(format!(
                "text field with positions, not stored, {} documents, {} tokens; dictionary {terms}, its index {index}, postings {postings}, norms {norms} bytes",
                bench.corpus.len(), bench.corpus.num_tokens()
            )),
    );
    let seconds = [ours.text_time, peer.text_time].map(|time| time.as_secs_f64());
    rows.push(
        Row::smaller_is_better("index-time-vs-tantivy", seconds[0], "s", "tantivy", seconds[1])
            .goal(1.0)
            .note("text field alone, from strings to a finished segment, the same analyzer in both"),
    );
    rows.extend(codecs::beside(&bench.corpus, &bench.ours, &bench.classes, effort));
    rows
}

/// A class for those who measure the package, with what the peer took.
#[derive(Serialize)]
struct Exported<'a> {
    name: &'a str,
    queries: Vec<String>,
    /// How many documents each query finds.
    counts: Vec<Option<u64>>,
    /// Times of both in each mode.
    measured: Vec<&'a Measured>,
}

#[derive(Serialize)]
struct Export<'a> {
    docs: usize,
    collections: &'a [&'a str],
    index_seconds: f64,
    index_bytes: u64,
    classes: Vec<Exported<'a>>,
}

/// Writes the classes in the package's syntax where `$TEXT_QUERIES` says, if it says so.
fn export(bench: &Bench, measured: &[Measured]) -> io::Result<()> {
    let Some(path) = env::var_os("TEXT_QUERIES") else { return Ok(()) };
    let mut classes = Vec::new();
    for class in &bench.classes {
        let spelled = class.asks.iter().filter_map(|ask| Some((ask.syntax()?, ask)));
        let (queries, asks): (Vec<String>, Vec<&Ask>) = spelled.unzip();
        let counts = asks.iter().map(|ask| bench.ours.run(&ask.ours(), Mode::Count).count).collect();
        let measured = measured.iter().filter(|one| one.class == class.name).collect();
        if !queries.is_empty() {
            classes.push(Exported { name: &class.name, queries, counts, measured });
        }
    }
    let export = Export {
        docs: bench.corpus.len(),
        collections: bench.collections,
        index_seconds: bench.peer.text_time.as_secs_f64(),
        index_bytes: bench.peer.bytes,
        classes,
    };
    fs::write(path, serde_json::to_string(&export)?)
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}
