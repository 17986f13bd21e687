//! The native engine of the suite `vectors`, driven by bench/suites/vectors.mjs: `rangefind-bench vectors-engine` reads
//! requests from standard input, a JSON object a line, and writes a line for each.
//!
//! | `op` | answer |
//! |---|---|
//! | `build` | `seconds`, `memoryBytes`, `fileBytes`, `rowBytes` |
//! | `answer` | `ids`, ten per query, -1 where there are fewer; `stats`, means over queries |
//! | `time` | `seconds` for the first `count` queries |
//! | `save` | the index as files in `folder` |
//! | `bandwidth` | `bytesPerSecond` of a loop that reads |

mod bandwidth;
mod engine;

use std::{
    io::{BufRead, Write},
    path::PathBuf,
    process::ExitCode,
};

use serde::Deserialize;
use serde_json::{Value, json};

use self::engine::Engine;

/// A request.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "camelCase", deny_unknown_fields)]
enum Ask {
    #[serde(rename_all = "camelCase")]
    Build {
        folder: PathBuf,
        dims: usize,
        metric: String,
        field: Value,
    },
    Answer {
        point: Value,
    },
    Time {
        point: Value,
        count: usize,
    },
    Save {
        folder: PathBuf,
    },
    Bandwidth,
}

/// Answers requests until standard input ends.
pub fn serve() -> ExitCode {
    let mut engine: Option<Engine> = None;
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line of text");
        let ask: Ask = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let built = || engine.as_ref().expect("build comes first");
        let answer = match ask {
            Ask::Build { folder, dims, metric, field } => {
                let (built, answer) = Engine::build(&folder, dims, &metric, &field);
                engine = Some(built);
                answer
            }
            Ask::Answer { point } => built().answer(&point),
            Ask::Time { point, count } => json!({ "seconds": built().time(&point, count) }),
            Ask::Save { folder } => json!({ "bytes": built().save(&folder) }),
            Ask::Bandwidth => json!({ "bytesPerSecond": bandwidth::measure() }),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").and_then(|()| out.flush()).expect("whoever asks listens");
    }
    ExitCode::SUCCESS
}
