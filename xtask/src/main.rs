//! Build steps that need wasm-bindgen, with its version pinned by this workspace's lock file.
//!
//! `cargo xtask build [--dev]` writes the wasm module and its JavaScript glue to `dist/wasm/`:
//! cargo (wasm32, feature `webgpu`) → wasm-bindgen (`--target web`) → wasm-opt. `--dev` takes the quick
//! profile `wasm-dev` and leaves wasm-opt out. Nothing is redone for an unchanged module.

mod build;

use std::{env, path::Path, process::ExitCode};

/// Anything that stops a build; printed, never inspected.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository");
    let result = match args.as_slice() {
        ["build"] => build::build(root, build::Mode::Release),
        ["build", "--dev"] => build::build(root, build::Mode::Dev),
        _ => Err("usage: cargo xtask build [--dev]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
