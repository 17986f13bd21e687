//! The cargo runner of wasm32 tests: wasm-bindgen's own test runner as a pinned library.
//!
//! `.cargo/config.toml` names it; `cargo test --target wasm32-unknown-unknown` reaches it. Browsers are found
//! through `CHROMEDRIVER` or `GECKODRIVER`, their flags in `webdriver.json`. `npm test` sets `NO_HEADLESS` and
//! opens the page itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    match wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure:?}");
            ExitCode::FAILURE
        }
    }
}
