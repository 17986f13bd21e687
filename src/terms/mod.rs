//! terms: see ARCHITECTURE.md.
