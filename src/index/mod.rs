//! index: see ARCHITECTURE.md.
