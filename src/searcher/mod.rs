//! searcher: see ARCHITECTURE.md.
