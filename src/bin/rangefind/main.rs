//! The native command line: build, search, merge, check and describe indexes, and serve them over byte ranges.
//!
//! Exit status: 0 done and nothing wrong; 1 failed, `check` found problems, or `build` could use no document at all;
//! 2 the command line makes no sense, whether that is seen from it alone or from the index it is about.
//! Results go to standard output, progress and complaints to standard error; `--json` makes results one JSON value.
#![forbid(unsafe_code)]

mod args;
mod build;
mod documents;
mod leftovers;
mod npy;
mod output;
mod place;
mod search;
mod serve;
mod upkeep;

use std::process::ExitCode;

use clap::Parser;
use rangefind::{
    error::{Error, ErrorKind},
    platform::block_on,
};

use args::{Cli, Command};

/// What a command found, where it did not fail.
pub enum Verdict {
    /// Everything as it should be.
    Fine,
    /// `check` found damage, or no document fitted.
    Problems,
}

/// Why a command did nothing, or not all of it.
pub enum Failure {
    /// What was asked makes no sense.
    Usage(Error),
    /// It did not work.
    Failed(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A failure that is the command line's, as far as it speaks of arguments.
pub fn as_usage(error: Error) -> Failure {
    if error.kind() == ErrorKind::InvalidArgument { Failure::Usage(error) } else { Failure::Failed(error) }
}

/// What a command comes to.
pub type Outcome = Result<Verdict, Failure>;

/// Status of wrong usage, clap's own.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let output = output::Output { json: cli.json, quiet: cli.quiet };
    match run(cli.command, output) {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Problems) => ExitCode::from(1),
        Err(Failure::Failed(error)) => {
            output.failed(&error);
            ExitCode::from(1)
        }
        Err(Failure::Usage(error)) => {
            output.failed(&error);
            ExitCode::from(USAGE)
        }
    }
}

/// Help and version, or what is wrong with the command line: in words, and with `--json` as an object too.
fn refuse(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
        let text = error.to_string();
        // Without the usage and the tips behind it.
        let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
        let message = lines.join(" ");
        output::print_failure(ErrorKind::InvalidArgument, message.strip_prefix("error: ").unwrap_or(&message));
    }
    // Whoever closed the stream does not want to read it.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
}

fn run(command: Command, output: output::Output) -> Outcome {
    match command {
        Command::Build(args) => block_on(build::run(args, output)),
        Command::Search(args) => block_on(search::run(*args, output)),
        Command::Merge(args) => block_on(upkeep::merge(args, output)),
        Command::Check(args) => block_on(upkeep::check(args, output)),
        Command::Info(args) => block_on(upkeep::info(args, output)),
        Command::Serve(args) => serve::run(args, output),
    }
}
