//! postings: see ARCHITECTURE.md.
