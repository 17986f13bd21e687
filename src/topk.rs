//! topk: see ARCHITECTURE.md.
