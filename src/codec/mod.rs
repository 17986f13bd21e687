//! codec: see ARCHITECTURE.md.
