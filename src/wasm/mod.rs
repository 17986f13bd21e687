//! wasm: see ARCHITECTURE.md.
