//! The wasm module of the npm package.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use wasm_bindgen_cli_support::Bindgen;

use crate::Failure;

/// How much time to spend on optimisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// What is published: fat LTO and wasm-opt.
    Release,
    /// Quick builds while working on the tests.
    Dev,
}

impl Mode {
    fn profile(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "wasm-dev",
        }
    }

    fn features(self) -> &'static str {
        match self {
            Self::Release => "webgpu",
            // With a query that panics, for the tests of the package.
            Self::Dev => "webgpu,crash-test",
        }
    }
}

/// Name of the module and its glue in `dist/wasm/`.
const OUT_NAME: &str = "rangefind";

/// Data stays in one piece: split around its zeros it is 3 % shorter and, compressed by brotli, 4 % longer.
const KEEP_DATA: &str = "--skip-pass=memory-packing";

/// Builds the module into `dist/wasm/` below `root`.
///
/// # Errors
/// If a tool is missing or fails; its own output says why.
pub fn build(root: &Path, mode: Mode) -> Result<(), Failure> {
    let module = compile(root, mode)?;
    let out = root.join("dist/wasm");
    let stamp_path = root.join("target").join("xtask-build.stamp");
    let stamp = format!("{mode:?} {:016x} {}", checksum(&fs::read(&module)?), env!("CARGO_PKG_VERSION"));
    let finished = out.join(format!("{OUT_NAME}_bg.wasm"));
    if finished.exists() && fs::read_to_string(&stamp_path).is_ok_and(|last| last == stamp) {
        return Ok(());
    }

    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(&out)?;
    Bindgen::new()
        .input_path(&module)
        .out_name(OUT_NAME)
        .web(true)
        .map_err(|error| error.to_string())?
        .typescript(true)
        .remove_producers_section(mode == Mode::Release)
        .generate(&out)
        .map_err(|error| format!("wasm-bindgen: {error:#}"))?;
    if mode == Mode::Release {
        optimise(root, &finished)?;
    }
    fs::write(&stamp_path, stamp)?;
    println!("dist/wasm/{OUT_NAME}_bg.wasm: {} KiB ({})", fs::metadata(&finished)?.len() / 1024, mode.profile());
    Ok(())
}

/// Runs cargo; returns the path of the raw module.
fn compile(root: &Path, mode: Mode) -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(
        "cargo build",
        Command::new(cargo)
            .args(["build", "--quiet", "--lib", "--target", "wasm32-unknown-unknown", "--features", mode.features()])
            .args(["--profile", mode.profile()])
            // The alias that started this process is for the host; its choices must not leak into the module.
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .current_dir(root),
    )?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("wasm32-unknown-unknown").join(mode.profile()).join("rangefind.wasm"))
}

/// Shrinks `module` in place with the wasm-opt of the npm package `binaryen`.
fn optimise(root: &Path, module: &Path) -> Result<(), Failure> {
    let tool = root.join("node_modules/binaryen/bin/wasm-opt");
    if !tool.exists() {
        return Err(format!("{} is missing: run `npm ci` first", tool.display()).into());
    }
    let started = Instant::now();
    let small = module.with_extension("opt");
    // The tool is JavaScript with a shebang; naming node works on every system.
    run("wasm-opt", Command::new("node").arg(&tool).arg("-O3").arg(KEEP_DATA).arg(module).arg("-o").arg(&small))?;
    fs::rename(&small, module)?;
    println!("wasm-opt: {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn run(what: &str, command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| format!("{what}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{what}: {status}").into()) }
}

/// FNV-1a, 64 bits: tells an unchanged module, nothing more.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
