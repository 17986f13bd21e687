//! distance: see ARCHITECTURE.md.
