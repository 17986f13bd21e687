//! analysis: see ARCHITECTURE.md.
