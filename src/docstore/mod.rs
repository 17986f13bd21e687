//! docstore: see ARCHITECTURE.md.
