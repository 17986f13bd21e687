//! quant: see ARCHITECTURE.md.
