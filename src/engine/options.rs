//! Options and their defaults.

use crate::{analysis::CustomAnalyzers, codec::PostingsCodec, gpu::GpuOptions, schema::Schema};

/// What to do if the index is there already, or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpenMode {
    /// It must not exist.
    Create,
    /// Open it, or start an empty one.
    #[default]
    OpenOrCreate,
    /// It must exist.
    Open,
    /// It must exist; writes are refused with `read_only`. The only mode of an HTTP storage.
    ReadOnly,
}

/// How to open an index.
#[derive(Debug, Clone)]
pub struct OpenOptions<S> {
    /// Default [`OpenMode::OpenOrCreate`].
    pub mode: OpenMode,
    /// Fields of a new index. Without it they are inferred from the first batch. Given for an existing
    /// index it must be equal to the recorded one, or `invalid_argument`.
    pub schema: Option<Schema>,
    /// How new segments encode postings, merged ones too, from the next commit on. Default: as the index has it;
    /// [`PostingsCodec::Fast`] for a new one.
    pub codec: Option<PostingsCodec>,
    /// Documents are buffered up to this many bytes, then written as a segment. Default 64 MiB.
    pub memory_bytes: u64,
    /// Budget of the block cache. Default 64 MiB.
    pub cache_bytes: u64,
    /// Budget of buffers on the GPU. Default 256 MiB.
    pub gpu_bytes: u64,
    /// How long the first write waits for another writer to end. Default 1000.
    pub writer_wait_millis: u32,
    /// Give the writer lock back after every commit, so that another tab can write in between. Default false.
    pub release_after_commit: bool,
    /// Merge after commits as the tiered policy says. Default true.
    pub auto_merge: bool,
    /// Files that a commit drops stay this long for readers of older snapshots, in other tabs too.
    /// Default 60,000. Files of the two newest commits always stay.
    pub grace_millis: u64,
    /// A read-only index underneath: its documents are found too; replacing or deleting one is recorded in
    /// `storage` alone. Default none.
    pub base: Option<S>,
    /// Analyzers of the caller's own, which the schema names. Without one that it names, documents of that field
    /// are refused and text searches fail; everything else works. Default none.
    pub analyzers: CustomAnalyzers,
}

/// 64 MiB: a browser tab has room for it beside a page, and segments come out large enough to search well.
const DEFAULT_MEMORY_BYTES: u64 = 64 << 20;

impl<S> Default for OpenOptions<S> {
    fn default() -> Self {
        Self {
            mode: OpenMode::default(),
            schema: None,
            codec: None,
            memory_bytes: DEFAULT_MEMORY_BYTES,
            cache_bytes: DEFAULT_MEMORY_BYTES,
            gpu_bytes: GpuOptions::default().budget_bytes,
            writer_wait_millis: 1000,
            release_after_commit: false,
            auto_merge: true,
            grace_millis: 60_000,
            base: None,
            analyzers: CustomAnalyzers::default(),
        }
    }
}

/// How to merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeOptions {
    /// Merge the segments that are there at the start until at most this many are left; deletions vanish. `None` does what the tiered policy
    /// would do. Default `Some(1)`.
    pub max_segments: Option<u32>,
    /// Buffers of the merge stay within this many bytes. Default 64 MiB.
    pub memory_bytes: u64,
    /// The index's codec of postings from now on; a forced merge encodes segments of another one again. Default: as
    /// the index has it, and where several become a new one, as the first has it.
    pub codec: Option<PostingsCodec>,
    /// Put the documents of each new segment into an order in which those with the same words are near each other
    /// (recursive graph bisection): smaller and faster for text, and takes longer. Segments that were there alone are
    /// written again too. Among equal scores hits then come in that order. Default false.
    pub reorder: bool,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self { max_segments: Some(1), memory_bytes: DEFAULT_MEMORY_BYTES, codec: None, reorder: false }
    }
}

/// How [`super::build`] makes an index.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Fields; inferred from the first batch without it.
    pub schema: Option<Schema>,
    /// How postings are encoded. Default [`PostingsCodec::Fast`].
    pub codec: PostingsCodec,
    /// Budget of the document buffer and of the final merge. Default 64 MiB.
    pub memory_bytes: u64,
    /// Merge to at most this many segments at the end. Default `Some(1)`.
    pub max_segments: Option<u32>,
    /// Analyzers of the caller's own, which the schema names. Default none.
    pub analyzers: CustomAnalyzers,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            schema: None,
            codec: PostingsCodec::default(),
            memory_bytes: DEFAULT_MEMORY_BYTES,
            max_segments: Some(1),
            analyzers: CustomAnalyzers::default(),
        }
    }
}
