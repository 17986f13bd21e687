//! segment: see ARCHITECTURE.md.
