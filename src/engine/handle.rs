//! [`Index`]: one open index.

use serde_json::{Map, Value};

use crate::{
    engine::{IndexInfo, MergeOptions, OpenOptions},
    error::{Error, ErrorKind, Result},
    ids::DocId,
    index::{AddReport, CheckReport, CommitInfo, MergeReport, OnProgress},
    platform::Cancel,
    query::request::{SearchRequest, SearchResponse},
    schema::DocumentBatch,
    storage::Storage,
};

/// One open index. Clones are the same index.
#[derive(Debug, Clone)]
pub struct Index<S: Storage> {
    storage: S,
    options: OpenOptions<S>,
}

impl<S: Storage> Index<S> {
    /// Opens or creates the index in `storage`.
    ///
    /// Two waves of requests: the commit slots, then the pinned sections of all segments together.
    ///
    /// # Errors
    /// `not_found`, `corrupt`, `unsupported_format`, `invalid_argument` if the schemas differ, and storage's own.
    pub async fn open(storage: S, options: OpenOptions<S>) -> Result<Self> {
        Ok(Self { storage, options })
    }

    fn pending(&self) -> Error {
        let _ = (&self.storage, &self.options);
        Error::new(ErrorKind::ReadOnly, "the engine is being wired")
    }

    /// Buffers documents for the next commit. One whose id is in the index, or earlier in the batch,
    /// replaces that one. A document that does not fit is refused and the others are added.
    ///
    /// # Errors
    /// `locked`, `read_only`, `quota`; `invalid_argument` if the batch as a whole makes no sense.
    pub async fn add(&self, batch: DocumentBatch) -> Result<AddReport> {
        let _ = batch;
        Err(self.pending())
    }

    /// Deletes documents at the next commit; returns how many of `ids` were there.
    ///
    /// # Errors
    /// `locked`, `read_only`, and storage's own: looking ids up reads the index.
    pub async fn delete(&self, ids: &[DocId]) -> Result<u64> {
        let _ = ids;
        Err(self.pending())
    }

    /// Makes everything since the last commit durable and visible, all or nothing, then merges if the
    /// policy says so.
    ///
    /// # Errors
    /// `quota`, `io`: the index stays at its last commit and the changes stay pending.
    pub async fn commit(&self) -> Result<CommitInfo> {
        Err(self.pending())
    }

    /// Forgets everything since the last commit.
    ///
    /// # Errors
    /// Storage's own, while removing what had been flushed.
    pub async fn rollback(&self) -> Result<()> {
        Err(self.pending())
    }

    /// Looks for a newer commit, of another tab say; returns whether there was one. Unchanged segments are
    /// shared with the old snapshot, which running searches keep.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn reopen(&self) -> Result<bool> {
        Err(self.pending())
    }

    /// Stored documents by id, in the order asked; `None` for one that is not there.
    ///
    /// # Errors
    /// `corrupt`, and storage's own.
    pub async fn get(&self, ids: &[DocId]) -> Result<Vec<Option<Map<String, Value>>>> {
        let _ = ids;
        Err(self.pending())
    }

    /// Answers a search over the last commit.
    ///
    /// # Errors
    /// `invalid_argument`, `aborted`, `corrupt`, and storage's own.
    pub async fn search(&self, request: &SearchRequest, cancel: &Cancel) -> Result<SearchResponse> {
        let _ = (request, cancel);
        Err(self.pending())
    }

    /// Commits, then merges segments. Searches, adds and deletes go on meanwhile; deletions that arrive are
    /// carried over. Cancelled or failed, it leaves nothing behind.
    ///
    /// # Errors
    /// `aborted`, `over_budget` if `memory_bytes` is too little to merge anything, `quota`, `corrupt`.
    pub async fn merge(
        &self,
        options: MergeOptions,
        progress: &dyn OnProgress,
        cancel: &Cancel,
    ) -> Result<MergeReport> {
        let _ = (options, progress, cancel);
        Err(self.pending())
    }

    /// Walks every byte and every structure of the last commit, base included, and says what is wrong where.
    ///
    /// # Errors
    /// `aborted`. Damage is reported, not returned as an error.
    pub async fn check(&self, progress: &dyn OnProgress, cancel: &Cancel) -> Result<CheckReport> {
        let _ = (progress, cancel);
        Err(self.pending())
    }

    /// State, without I/O.
    ///
    /// # Errors
    /// `closed`.
    pub fn info(&self) -> Result<IndexInfo> {
        Err(self.pending())
    }

    /// Gives the writer lock back and forgets what was not committed. Idempotent; everything else fails
    /// with `closed` afterwards.
    ///
    /// # Errors
    /// Storage's own, while removing what had been flushed.
    pub async fn close(&self) -> Result<()> {
        Err(self.pending())
    }
}
