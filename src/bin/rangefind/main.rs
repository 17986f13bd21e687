//! The native command line: build, search, merge, check and describe indexes, and serve them over byte ranges.
//!
//! Exit status: 0 done and nothing wrong; 1 failed, `check` found problems, or `build` could use no document at all;
//! 2 the command line makes no sense.
//! Results go to standard output, progress and complaints to standard error; `--json` makes results one JSON value.
#![forbid(unsafe_code)]

mod args;
mod build;
mod documents;
mod npy;
mod output;
mod place;
mod search;
mod serve;
mod upkeep;

use std::process::ExitCode;

use clap::Parser;
use rangefind::{error::Result, platform::block_on};

use args::{Cli, Command};

/// What a command found, where it did not fail.
pub enum Verdict {
    /// Everything as it should be.
    Fine,
    /// `check` found damage, or no document fitted.
    Problems,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = output::Output { json: cli.json, quiet: cli.quiet };
    match run(cli.command, output) {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Problems) => ExitCode::from(1),
        Err(error) => {
            output.failed(&error);
            ExitCode::from(1)
        }
    }
}

fn run(command: Command, output: output::Output) -> Result<Verdict> {
    match command {
        Command::Build(args) => block_on(build::run(args, output)),
        Command::Search(args) => block_on(search::run(*args, output)),
        Command::Merge(args) => block_on(upkeep::merge(args, output)),
        Command::Check(args) => block_on(upkeep::check(args, output)),
        Command::Info(args) => block_on(upkeep::info(args, output)),
        Command::Serve(args) => serve::run(args, output),
    }
}
