//! The index: commits, snapshots, the writer, merges, garbage collection and verification.
//!
//! An index is a set of immutable segments named by the highest valid commit slot. Readers hold a snapshot
//! of one commit; the single writer adds segments and overlays and publishes them by replacing one slot.
#![forbid(unsafe_code)]

mod check;
pub mod gc;
pub mod get;
pub mod lookup;
pub mod merge;
mod opener;
mod report;
mod slot;
mod snapshot;
mod tombstones;
mod writer;

pub use check::check;
pub use opener::{Found, Opener};
pub use report::{AddReport, CheckReport, CommitInfo, MergeReport, OnProgress, Phase, Problem, Progress, no_progress};
pub use slot::{BaseRef, Commit, DroppedFile, SegmentEntry, SegmentHome, Slots, tombstones_file_name};
pub use snapshot::{Snapshot, SnapshotSegment, StorageSnapshot};
pub use writer::{IndexWriter, MergeTask, WriterOptions};
