//! Times of both engines, query by query, in turns.

use std::{hint::black_box, time::Instant};

use serde::Serialize;

use super::{
    ask::Ask,
    engines::{Mode, Ours, Peer},
    tasks::Class,
};
use crate::{
    Effort,
    report::{Row, percentile},
};

/// What a class takes, in microseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Times {
    pub mean: f64,
    pub median: f64,
    pub p99: f64,
}

impl Times {
    fn of(micros: &[f64]) -> Self {
        let mean = micros.iter().sum::<f64>() / micros.len() as f64;
        Self { mean, median: percentile(micros, 50.0), p99: percentile(micros, 99.0) }
    }
}

/// One class in one mode.
#[derive(Debug, Clone, Serialize)]
pub struct Measured {
    pub class: String,
    pub mode: String,
    pub queries: usize,
    pub ours: Times,
    pub peer: Times,
}

impl Measured {
    /// How many times faster we are, by the mean.
    pub fn ratio(&self) -> f64 {
        self.peer.mean / self.ours.mean
    }

    /// As a row; the plain class name stands for the ten best, luceneutil's own measure.
    pub fn row(&self) -> Row {
        let key = match self.mode.as_str() {
            "top10" | "search" => format!("native-vs-tantivy-{}", self.class),
            mode => format!("native-vs-tantivy-{}-{mode}", self.class),
        };
        let note = format!(
            "{} queries, {}; median {:.1} and {:.1}, p99 {:.1} and {:.1}",
            self.queries, self.mode, self.ours.median, self.peer.median, self.ours.p99, self.peer.p99
        );
        Row::smaller_is_better(&key, self.ours.mean, "us", "tantivy", self.peer.mean).goal(1.0).note(note)
    }
}

/// Rounds over a class; each query counts with its median.
fn rounds(effort: Effort) -> usize {
    if effort == Effort::Quick { 3 } else { 7 }
}

/// A class in one mode, about to be measured.
pub struct Timed {
    pub class: String,
    pub mode: String,
    pub queries: usize,
}

impl Timed {
    /// Runs the queries of both in turns.
    pub fn run(self, ours: impl Fn(usize), peer: impl Fn(usize), effort: Effort) -> Measured {
        let mut times = vec![(Vec::new(), Vec::new()); self.queries];
        for _ in 0..rounds(effort) {
            for (ix, (mine, theirs)) in times.iter_mut().enumerate() {
                mine.push(micros(|| ours(ix)));
                theirs.push(micros(|| peer(ix)));
            }
        }
        let median = |times: &Vec<f64>| percentile(times, 50.0);
        let mine: Vec<f64> = times.iter().map(|(mine, _)| median(mine)).collect();
        let theirs: Vec<f64> = times.iter().map(|(_, theirs)| median(theirs)).collect();
        let Self { class, mode, queries } = self;
        Measured { class, mode, queries, ours: Times::of(&mine), peer: Times::of(&theirs) }
    }
}

/// Measures a class in each of its modes.
pub fn measure(ours: &Ours, peer: &Peer, class: &Class, effort: Effort) -> Vec<Measured> {
    let queries: Vec<_> = class.asks.iter().map(|ask| (ask.ours(), ask.peers(peer.fields))).collect();
    let of_mode = |&mode: &Mode| {
        let mine = |ix: usize| {
            black_box(ours.run(&queries[ix].0, mode));
        };
        let theirs = |ix: usize| {
            black_box(peer.run(queries[ix].1.as_ref(), mode));
        };
        Timed { class: class.name.clone(), mode: mode.name(), queries: queries.len() }.run(mine, theirs, effort)
    };
    class.modes.iter().map(of_mode).collect()
}

/// How long each class and mode runs for a profiler.
const PROFILE_SECONDS: f64 = 6.0;

/// Mean time of ours alone, in the modes whose names are meant.
pub fn alone(ours: &Ours, class: &Class, is_meant: impl Fn(&str) -> bool) -> Vec<Row> {
    let queries: Vec<_> = class.asks.iter().map(Ask::ours).collect();
    let modes = class.modes.iter().filter(|mode| is_meant(&mode.name()));
    let run = |mode: Mode| {
        let round = || queries.iter().for_each(|query| drop(black_box(ours.run(query, mode))));
        over_and_over(&format!("{}-{}", class.name, mode.name()), queries.len(), round)
    };
    modes.map(|&mode| run(mode)).collect()
}

/// Mean time of the queries of a round.
pub fn over_and_over(name: &str, queries: usize, round: impl Fn()) -> Row {
    eprintln!("running {name} in process {}", std::process::id());
    let (started, mut rounds) = (Instant::now(), 0);
    while started.elapsed().as_secs_f64() < PROFILE_SECONDS {
        round();
        rounds += 1;
    }
    let mean = started.elapsed().as_secs_f64() * 1e6 / (rounds * queries.max(1)) as f64;
    Row::smaller_is_better(&format!("alone-{name}"), mean, "us", "none", mean)
}

fn micros<T>(work: impl FnOnce() -> T) -> f64 {
    let started = Instant::now();
    black_box(work());
    started.elapsed().as_secs_f64() * 1e6
}
