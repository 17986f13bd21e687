//! [`Index`]: one open index.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use futures_util::lock::{Mutex as AsyncMutex, MutexGuard as AsyncGuard};
use serde_json::{Map, Value};

use crate::{
    engine::{IndexInfo, MergeOptions, OpenMode, OpenOptions, info},
    error::{Error, ErrorKind, Result},
    gpu::{GpuHost, GpuOptions},
    ids::DocId,
    index::{
        AddReport, CheckReport, Commit, CommitInfo, IndexWriter, MergeReport, OnProgress, Opener, StorageSnapshot,
        WriterOptions, get::get_documents,
    },
    platform::Cancel,
    query::request::{SearchRequest, SearchResponse, SearchStats},
    schema::{DocumentBatch, FieldKind},
    searcher,
    storage::{BlockCache, IoCounts, IoTrace, Storage},
};

/// How often a commit of another writer may get between reading the slots and opening the files.
const OPEN_TRIES: u32 = 3;

/// One open index. Clones are the same index.
#[derive(Clone)]
pub struct Index<S: Storage>(pub(super) Arc<Inner<S>>);

pub(super) struct Inner<S: Storage> {
    pub(super) opener: Opener<S>,
    pub(super) options: OpenOptions<S>,
    snapshot: Mutex<Arc<StorageSnapshot<S>>>,
    writer: AsyncMutex<Option<IndexWriter<S>>>,
    /// Held by the merge under way: one at a time.
    pub(super) merge_turn: AsyncMutex<()>,
    gpu: GpuHost,
    closed: AtomicBool,
    pending_docs: AtomicU64,
    pending_bytes: AtomicU64,
    io: Mutex<IoCounts>,
}

/// The writer, which exists.
pub(super) struct WriterGuard<'a, S: Storage>(AsyncGuard<'a, Option<IndexWriter<S>>>, &'a Inner<S>);

impl<S: Storage> WriterGuard<'_, S> {
    pub(super) fn get(&mut self) -> &mut IndexWriter<S> {
        self.0.as_mut().expect("made when the guard was")
    }

    /// Shows readers the writer's last commit, and `info` what is pending.
    pub(super) fn show(&mut self) {
        let inner = self.1;
        let writer = self.get();
        *inner.snapshot() = Arc::clone(writer.snapshot());
        let (docs, bytes) = writer.pending();
        inner.pending_docs.store(docs, Ordering::Relaxed);
        inner.pending_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Gives the writer lock back if nothing needs it.
    fn release(&mut self) {
        if self.get().pending() == (0, 0) && !self.get().is_merging() {
            *self.0 = None;
        }
    }
}

impl<S: Storage> Inner<S> {
    pub(super) fn snapshot(&self) -> MutexGuard<'_, Arc<StorageSnapshot<S>>> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The snapshot that searches read, by the schema that the handle was opened with: the commit records that
    /// schema only once something is written.
    fn snapshot_as_wanted(&self) -> Arc<StorageSnapshot<S>> {
        let snapshot = Arc::clone(&self.snapshot());
        let Some(wanted) = &self.options.schema else { return snapshot };
        match snapshot.schema().extended(wanted) {
            Ok(schema) if schema != **snapshot.schema() => Arc::new(snapshot.with_schema(Arc::new(schema))),
            // Another writer may have committed a schema that this one does not fit any more.
            _ => snapshot,
        }
    }

    fn io(&self) -> MutexGuard<'_, IoCounts> {
        self.io.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Closed, "the index was closed"));
        }
        Ok(())
    }

    /// The writer; becomes it if it is not yet.
    pub(super) async fn writer(&self) -> Result<WriterGuard<'_, S>> {
        self.check_open()?;
        if self.options.mode == OpenMode::ReadOnly {
            return Err(Error::new(ErrorKind::ReadOnly, "the index was opened for reading only"));
        }
        let mut guard = self.writer.lock().await;
        self.check_open()?;
        if guard.is_none() {
            let options = WriterOptions {
                memory_bytes: self.options.memory_bytes,
                grace_millis: self.options.grace_millis,
                wait_millis: self.options.writer_wait_millis,
                codec: self.options.codec,
            };
            let current = Arc::clone(&self.snapshot());
            let schema = self.options.schema.as_ref();
            let writer = IndexWriter::acquire(self.opener.clone(), options, Some(&current), schema).await?;
            // Two who create the same index at once: the second has waited for the first.
            let is_late = current.commit().is_pristine() && !writer.snapshot().commit().is_pristine();
            if self.options.mode == OpenMode::Create && is_late {
                return Err(exists_already(&self.opener));
            }
            *guard = Some(writer);
        }
        let mut guard = WriterGuard(guard, self);
        guard.show();
        Ok(guard)
    }

    fn count_io(&self, stats: &SearchStats) {
        let mut sum = self.io();
        sum.requests += stats.requests;
        sum.bytes += stats.bytes;
        sum.cache_hits += stats.cache_hits;
        sum.cache_misses += stats.cache_misses;
        sum.waves += u64::from(stats.waves);
    }
}

impl<S: Storage> Index<S> {
    /// Opens or creates the index in `storage`.
    ///
    /// # Examples
    /// ```
    /// use rangefind::{
    ///     engine::{Cancel, DocumentBatch, Index, OpenOptions, Schema, SearchRequest},
    ///     storage::MemoryStorage,
    /// };
    /// use serde_json::json;
    ///
    /// # rangefind::platform::block_on(async {
    /// let schema = Schema::from_json(&json!({ "title": "text", "year": "integer" }))?;
    /// let options = OpenOptions { schema: Some(schema), ..OpenOptions::default() };
    /// let index = Index::open(MemoryStorage::new(), options).await?;
    /// let docs = vec![
    ///     json!({ "id": 1, "title": "Range requests", "year": 2014 }),
    ///     json!({ "id": 2, "title": "Private file systems", "year": 2023 }),
    /// ];
    /// let report = index.add(DocumentBatch::from_values(docs)).await?;
    /// assert_eq!((report.added, report.refused.len()), (2, 0));
    /// index.commit().await?;
    /// let request = SearchRequest { query: Some("requests for a range".into()), ..SearchRequest::default() };
    /// let response = index.search(&request, &Cancel::new()).await?;
    /// assert_eq!(response.hits[0].id, 1.into());
    /// index.close().await?;
    /// # Ok::<(), rangefind::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// Two waves of requests: the commit slots, then the pinned sections of all segments together.
    ///
    /// # Errors
    /// `not_found`, `corrupt`, `unsupported_format`, `invalid_argument` if the schemas differ, and storage's own.
    pub async fn open(storage: S, mut options: OpenOptions<S>) -> Result<Self> {
        if let Some(schema) = &mut options.schema {
            schema.validate()?;
            schema.bind(&options.analyzers);
        }
        let cache = BlockCache::new(options.cache_bytes);
        let (base, analyzers) = (options.base.clone(), options.analyzers.clone());
        let opener = Opener { own: storage, base, cache, analyzers };
        let snapshot = load_newest(&opener, options.mode, None).await?;
        if let (Some(wanted), true) = (&options.schema, snapshot.schema().fields().count() > 1) {
            snapshot.schema().extended(wanted)?;
        }
        let gpu = GpuHost::new(GpuOptions { budget_bytes: options.gpu_bytes });
        Ok(Self(Arc::new(Inner {
            opener,
            options,
            snapshot: Mutex::new(Arc::new(snapshot)),
            writer: AsyncMutex::new(None),
            merge_turn: AsyncMutex::new(()),
            gpu,
            closed: AtomicBool::new(false),
            pending_docs: AtomicU64::new(0),
            pending_bytes: AtomicU64::new(0),
            io: Mutex::new(IoCounts::default()),
        })))
    }

    /// That every analyzer which the schema names is there: without one, documents with its field are refused and
    /// text searches fail.
    ///
    /// # Errors
    /// `invalid_argument` naming the first that is not.
    pub fn check_analyzers(&self) -> Result<()> {
        let snapshot = self.0.snapshot_as_wanted();
        for (_, field) in snapshot.schema().fields() {
            if let FieldKind::Text(options) = &field.kind {
                let analyzer = options.analyzer.analyzer();
                analyzer.map_err(|error| Error::invalid(format!("field {:?}: {error}", field.name)))?;
            }
        }
        Ok(())
    }

    /// Buffers documents for the next commit. One whose id is in the index, or earlier in the batch,
    /// replaces that one. A document that does not fit is refused and the others are added.
    ///
    /// # Errors
    /// `locked`, `read_only`; `invalid_argument` if the batch as a whole makes no sense: nothing of it is used.
    /// `quota`, `io`: everything since the last commit is forgotten, as by [`Self::rollback`].
    pub async fn add(&self, batch: DocumentBatch) -> Result<AddReport> {
        let mut writer = self.0.writer().await?;
        let report = writer.get().add(batch).await;
        writer.show();
        report
    }

    /// Deletes documents at the next commit; returns how many of `ids` were there.
    ///
    /// # Errors
    /// `locked`, `read_only`, and storage's own: looking ids up reads the index.
    pub async fn delete(&self, ids: &[DocId]) -> Result<u64> {
        let mut writer = self.0.writer().await?;
        let deleted = writer.get().delete(ids).await;
        writer.show();
        deleted
    }

    /// Makes everything since the last commit durable and visible, all or nothing, then merges if the
    /// policy says so. A merge that fails changes nothing: [`CommitInfo::merge_error`] tells.
    ///
    /// # Errors
    /// `quota`, `io`: the index stays at its last commit. If buffered documents could not be written, the changes
    /// are forgotten, as by [`Self::rollback`]; else they stay pending and the commit can be tried again.
    pub async fn commit(&self) -> Result<CommitInfo> {
        let mut info = self.commit_only().await?;
        if self.0.options.auto_merge && info.changed {
            info.merge_error = self.auto_merge().await.err().map(|error| error.to_string());
            let snapshot = Arc::clone(&self.0.snapshot());
            info.generation = snapshot.generation();
            info.num_segments = snapshot.segments().len() as u32;
        }
        if self.0.options.release_after_commit {
            let guard = self.0.writer.lock().await;
            if guard.is_some() {
                WriterGuard(guard, &self.0).release();
            }
        }
        Ok(info)
    }

    /// Commits without merging.
    pub(super) async fn commit_only(&self) -> Result<CommitInfo> {
        let mut writer = self.0.writer().await?;
        let info = writer.get().commit().await;
        writer.show();
        writer.get().collect_garbage().await;
        info
    }

    /// Forgets everything since the last commit.
    ///
    /// # Errors
    /// Storage's own, while removing what had been flushed.
    pub async fn rollback(&self) -> Result<()> {
        self.0.check_open()?;
        let guard = self.0.writer.lock().await;
        if guard.is_none() {
            return Ok(());
        }
        let mut writer = WriterGuard(guard, &self.0);
        let result = writer.get().rollback().await;
        writer.show();
        result
    }

    /// Looks for a newer commit, of another tab say; returns whether there was one. Unchanged segments are
    /// shared with the old snapshot, which running searches keep. With uncommitted documents of its own a handle
    /// stays at its commit.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn reopen(&self) -> Result<bool> {
        self.0.check_open()?;
        // While this handle is the writer, nobody else commits; only a base can have changed.
        let mut guard = self.0.writer.lock().await;
        if let Some(writer) = guard.as_ref() {
            if self.0.opener.base.is_none() || writer.pending() != (0, 0) || writer.is_merging() {
                return Ok(false);
            }
            *guard = None;
        }
        let current = Arc::clone(&self.0.snapshot());
        let newest = load_newest(&self.0.opener, OpenMode::Open, Some(&current)).await;
        let newest = match newest {
            // Nobody has written to it yet.
            Err(error) if error.kind() == ErrorKind::NotFound && current.generation() == 0 => return Ok(false),
            newest => newest?,
        };
        let is_newer =
            newest.generation() > current.generation() || newest.base_generation() != current.base_generation();
        if is_newer {
            *self.0.snapshot() = Arc::new(newest);
        }
        Ok(is_newer)
    }

    /// Stored documents by id, in the order asked; `None` for one that is not there.
    ///
    /// # Errors
    /// `corrupt`, and storage's own.
    pub async fn get(&self, ids: &[DocId]) -> Result<Vec<Option<Map<String, Value>>>> {
        self.0.check_open()?;
        let snapshot = Arc::clone(&self.0.snapshot());
        let trace = Arc::new(IoTrace::new());
        let found = get_documents(snapshot.traced(&trace).segments(), ids).await;
        let counts = trace.counts();
        self.0.count_io(&SearchStats {
            requests: counts.requests,
            bytes: counts.bytes,
            cache_hits: counts.cache_hits,
            cache_misses: counts.cache_misses,
            ..SearchStats::default()
        });
        let found = match found {
            Ok(found) => found,
            Err(error) => return Err(self.explain_missing(error, snapshot.generation()).await),
        };
        found
            .into_iter()
            .map(|document| {
                let Some(document) = document else { return Ok(None) };
                let json = serde_json::from_str(&document.json);
                json.map(Some).map_err(|error| Error::corrupt(format!("stored document {}", document.id), error))
            })
            .collect()
    }

    /// Answers a search over the last commit. Fields of the schema that it was opened with are there from the
    /// start, without values until documents that have them are committed.
    ///
    /// # Errors
    /// `invalid_argument`, `aborted`, `corrupt`, and storage's own; `index_changed` if another writer removed
    /// files of this snapshot after their grace.
    pub async fn search(&self, request: &SearchRequest, cancel: &Cancel) -> Result<SearchResponse> {
        self.0.check_open()?;
        let snapshot = self.0.snapshot_as_wanted();
        match searcher::search(&snapshot, &self.0.gpu, request, cancel).await {
            Ok(response) => {
                self.0.count_io(&response.stats);
                Ok(response)
            }
            Err(error) => Err(self.explain_missing(error, snapshot.generation()).await),
        }
    }

    /// A missing file may mean that the snapshot is old: says so then.
    async fn explain_missing(&self, error: Error, generation: u64) -> Error {
        if error.kind() != ErrorKind::NotFound {
            return error;
        }
        match self.0.opener.read_slots().await {
            Ok(found) if found.own.newest.as_ref().is_some_and(|newest| newest.generation > generation) => {
                let what = "a newer commit has replaced files of this snapshot: reopen the index";
                Error::with_source(ErrorKind::IndexChanged, what, error)
            }
            _ => error,
        }
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
        self.run_merges(options, progress, cancel).await
    }

    /// Walks every byte and every structure of the last commit, base included, and says what is wrong where.
    ///
    /// # Errors
    /// `aborted`. Damage is reported, not returned as an error.
    pub async fn check(&self, progress: &dyn OnProgress, cancel: &Cancel) -> Result<CheckReport> {
        self.0.check_open()?;
        crate::index::check(&self.0.opener, progress, cancel).await
    }

    /// State, without I/O.
    ///
    /// # Errors
    /// `closed`.
    pub fn info(&self) -> Result<IndexInfo> {
        self.0.check_open()?;
        let snapshot = Arc::clone(&self.0.snapshot());
        let pending = (self.0.pending_docs.load(Ordering::Relaxed), self.0.pending_bytes.load(Ordering::Relaxed));
        let io = *self.0.io();
        Ok(info::describe(&self.0.opener, &snapshot, self.0.options.mode == OpenMode::ReadOnly, pending, io))
    }

    /// Gives the writer lock back and forgets what was not committed. Idempotent; everything else fails
    /// with `closed` afterwards.
    ///
    /// # Errors
    /// Storage's own, while removing what had been flushed.
    pub async fn close(&self) -> Result<()> {
        self.0.closed.store(true, Ordering::Relaxed);
        let writer = self.0.writer.lock().await.take();
        match writer {
            Some(mut writer) => writer.rollback().await,
            None => Ok(()),
        }
    }
}

fn exists_already<S: Storage>(opener: &Opener<S>) -> Error {
    Error::invalid(format!("there is an index in {} already", opener.own.label()))
}

/// Opens the newest commit, trying again if another writer commits in between.
pub(super) async fn load_newest<S: Storage>(
    opener: &Opener<S>,
    mode: OpenMode,
    previous: Option<&StorageSnapshot<S>>,
) -> Result<StorageSnapshot<S>> {
    let mut seen = None;
    for attempt in 1.. {
        let found = opener.read_slots().await?;
        let commit = match found.own.newest {
            Some(commit) if mode == OpenMode::Create && !commit.is_pristine() => {
                return Err(exists_already(opener));
            }
            Some(commit) => commit,
            None if opener.base.is_none() && matches!(mode, OpenMode::Open | OpenMode::ReadOnly) => {
                return Err(match found.own.damaged {
                    Some(error) => error,
                    None => Error::new(ErrorKind::NotFound, format!("no index in {}", opener.own.label())),
                });
            }
            None => Commit::empty()?,
        };
        let generation = commit.generation;
        if let Some(previous) = previous.filter(|previous| {
            previous.generation() == generation
                && previous.base_generation() == found.base.as_ref().map(|base| base.generation)
        }) {
            return Ok(previous.clone());
        }
        match opener.load(commit, found.base.as_ref(), previous).await {
            Err(error) if error.kind() == ErrorKind::NotFound && attempt < OPEN_TRIES && seen != Some(generation) => {
                seen = Some(generation);
            }
            loaded => return loaded,
        }
    }
    unreachable!("the loop returns at the last attempt")
}
