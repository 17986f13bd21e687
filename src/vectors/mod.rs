//! vectors: see ARCHITECTURE.md.
