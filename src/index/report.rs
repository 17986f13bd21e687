//! What long work tells while it runs and when it is done: serde types in camelCase, shared by the command
//! line's `--json` and the TypeScript face.

use serde::{Deserialize, Serialize};

use crate::{platform::MaybeSync, schema::Refusal};

/// How far long work has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// What is going on.
    pub phase: Phase,
    /// Units done, of `total`. The unit is documents for building, bytes for everything else.
    pub done: u64,
    /// Units in all; 0 while unknown.
    pub total: u64,
}

/// A stage of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Documents are being added.
    Add,
    /// A segment is being written from memory.
    Flush,
    /// An order is being found in which similar documents are near each other.
    Reorder,
    /// Terms and postings are being merged.
    MergeText,
    /// Columns and norms are being merged.
    MergeColumns,
    /// Stored documents are being merged.
    MergeDocs,
    /// Vectors are being merged.
    MergeVectors,
    /// The new state is being made durable.
    Commit,
    /// Checksums and structures are being verified.
    Check,
}

/// Hears of progress: any `Fn(Progress)`. Called often; keep it cheap.
pub trait OnProgress: MaybeSync {
    /// Takes notice.
    fn report(&self, progress: Progress);
}

impl<F: Fn(Progress) + MaybeSync> OnProgress for F {
    fn report(&self, progress: Progress) {
        self(progress);
    }
}

/// Listener for who does not care.
pub fn no_progress(_: Progress) {}

/// What became of a batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AddReport {
    /// Documents buffered.
    pub added: u64,
    /// Documents that do not fit, in row order.
    pub refused: Vec<Refusal>,
}

/// What a commit made durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitInfo {
    /// Number of the commit, ascending.
    pub generation: u64,
    /// Live documents of the whole index.
    pub num_docs: u64,
    /// Segments of the whole index.
    pub num_segments: u32,
    /// Whether anything had changed; without changes no commit is written.
    pub changed: bool,
    /// Why the merge that was due after it failed. The commit stands, and the merge is tried again after the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_error: Option<String>,
}

/// What a merge did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeReport {
    /// Segments that went into new ones.
    pub merged_segments: u32,
    /// Segments that came out.
    pub new_segments: u32,
    /// Segments of the index afterwards.
    pub num_segments: u32,
    /// Live documents that were rewritten.
    pub docs: u64,
    /// Deleted documents that are gone.
    pub dropped_docs: u64,
    /// Bytes read from the sources.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Most bytes of buffers held at a time, as the driver accounts for them.
    pub peak_memory_bytes: u64,
    /// Milliseconds.
    pub took: f64,
}

/// Verdict on a whole index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// Whether nothing is wrong.
    pub ok: bool,
    /// Generation that was checked.
    pub generation: u64,
    /// Segments walked.
    pub segments: u32,
    /// Live documents found.
    pub docs: u64,
    /// Bytes read and verified.
    pub bytes: u64,
    /// Everything that is wrong, in file order, at most [`CheckReport::MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// Files that no commit references: leftovers the next writer collects. Not an error.
    pub leftovers: Vec<String>,
}

impl CheckReport {
    /// Problems beyond this many are not listed: the index is beyond repair anyway.
    pub const MAX_PROBLEMS: usize = 100;
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// File it was found in.
    pub file: String,
    /// Section and field, as `postings of title`, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Bytes from the start of the file, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Stable error code: `corrupt`, `not_found`, …
    pub code: String,
    /// What is wrong, in words.
    pub message: String,
}
