//! columns: see ARCHITECTURE.md.
