//! The public API: open an index over a storage, add, delete, commit, search, merge, check.
//!
//! [`Index`] is a cheap handle; clones are the same index. Reads see the last commit, writes are buffered
//! until [`Index::commit`]. [`build`], [`merge`] and [`check`] do a whole job in one call. Everything is generic over
//! [`crate::storage::Storage`]; the adapters use one enum of all backends.
#![forbid(unsafe_code)]

mod handle;
mod info;
mod merging;
mod one_call;
mod options;

pub use handle::Index;
pub use info::{CacheInfo, FieldInfo, IndexInfo, SegmentInfo};
pub use one_call::{BuildReport, build, check, merge};
pub use options::{BuildOptions, MergeOptions, OpenMode, OpenOptions};

pub use crate::{
    analysis::{AnalyzerSpec, CustomAnalyzer, CustomAnalyzers, CustomToken},
    codec::PostingsCodec,
    index::{
        AddReport, CheckReport, CommitInfo, MergeReport, OnProgress, Phase, Problem, Progress, SegmentHome, no_progress,
    },
    platform::Cancel,
    query::request::{SearchRequest, SearchResponse},
    schema::{DocumentBatch, FieldVectors, Refusal, Schema},
};
