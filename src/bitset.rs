//! bitset: see ARCHITECTURE.md.
