//! [`IndexWriter`]: the only one who changes an index. Buffers documents, flushes segments, commits.
//!
//! Invariants:
//! 1. It holds the storage's writer lock from [`IndexWriter::acquire`] to its end.
//! 2. `segments` are those of the last commit (each with its committed and its current live documents) and, behind
//!    them, those flushed since. Ids are unique among all current live documents and the buffer.
//! 3. Nothing that the last commit references is changed or removed; files made since it are in `fresh`.

mod buffer;
mod commit;
mod merging;

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Weak},
};

pub use merging::MergeTask;

use super::{
    gc,
    opener::{Opener, read_whole},
    slot::{BaseRef, Commit, DroppedFile, SegmentHome, Slots, tombstones_file_name},
    snapshot::StorageSnapshot,
    tombstones,
};
use crate::{
    bitset::BitSet,
    codec::PostingsCodec,
    error::{Error, ErrorKind, Result},
    ids::SegmentId,
    schema::Schema,
    segment::{OpenSegment, SearchFile, SegmentBuilder},
    storage::Storage,
};

/// Budgets of a writer.
#[derive(Debug, Clone, Copy)]
pub struct WriterOptions {
    /// Documents are buffered up to this many bytes.
    pub memory_bytes: u64,
    /// Dropped files stay this long; see [`gc`].
    pub grace_millis: u64,
    /// How long to wait for another writer.
    pub wait_millis: u32,
    /// The index's codec from the next commit on; `None` leaves it.
    pub codec: Option<PostingsCodec>,
}

/// Which documents of a segment are live.
#[derive(Debug, Clone)]
struct LiveState {
    live: Option<Arc<BitSet>>,
    num_docs: u32,
}

/// One segment as the writer sees it.
#[derive(Clone)]
struct WriterSegment<S: Storage> {
    segment: OpenSegment<SearchFile<S::File>>,
    home: SegmentHome,
    /// Number of the overlay file that holds `committed`; 0 for none.
    overlay: u64,
    /// As of the last commit; `None` for a segment flushed since.
    committed: Option<LiveState>,
    current: LiveState,
    /// Whether `current` is not in a file.
    dirty: bool,
}

/// The writer of an index.
pub struct IndexWriter<S: Storage> {
    opener: Opener<S>,
    options: WriterOptions,
    _lock: S::Lock,
    schema: Option<Arc<Schema>>,
    schema_dirty: bool,
    /// Of new segments, merged ones too; the next commit records it.
    codec: PostingsCodec,
    builder: Option<SegmentBuilder>,
    segments: Vec<WriterSegment<S>>,
    /// Hashes of the ids in segments flushed since the last commit: a bulk build need not look ids up in them.
    fresh_ids: HashSet<u64>,
    /// Names of files made since the last commit.
    fresh: Vec<String>,
    /// Id terms hidden in the base, sorted.
    hidden: BTreeSet<Vec<u8>>,
    hidden_dirty: bool,
    commit: Arc<Commit>,
    previous: Option<Arc<Commit>>,
    dropped: Vec<DroppedFile>,
    next_generation: u64,
    next_overlay: u64,
    snapshot: Arc<StorageSnapshot<S>>,
    /// Snapshots that may still be read in this program.
    readers: Vec<Weak<StorageSnapshot<S>>>,
    /// Segments that running merges read. The mark ends with the merge, however it ends.
    merging: Vec<(SegmentId, Weak<()>)>,
    /// Set when it is not known whether the last commit happened.
    lost: bool,
}

impl<S: Storage> IndexWriter<S> {
    /// Becomes the writer: takes the lock, looks at the slots anew, removes what an interrupted writer left and,
    /// in a storage without an index, makes the first, empty commit. `current` shares its open segments;
    /// `wanted` extends the recorded schema at the next commit.
    ///
    /// # Errors
    /// `locked`, `read_only`; `corrupt` also where there are segments and no commit; `invalid_argument` if
    /// `wanted` contradicts the recorded schema.
    pub async fn acquire(
        opener: Opener<S>,
        options: WriterOptions,
        current: Option<&Arc<StorageSnapshot<S>>>,
        wanted: Option<&Schema>,
    ) -> Result<Self> {
        let lock = opener.own.lock_writer(options.wait_millis).await?;
        let found = opener.read_slots().await?;
        let names: Vec<String> = opener.own.list().await?.into_iter().map(|entry| entry.name).collect();
        let Slots { newest, previous, damaged } = found.own;
        let mut commit = match newest {
            Some(commit) => commit,
            None => first_commit(&names, damaged)?,
        };
        if commit.is_pristine() {
            commit.base = found.base.as_ref().map(base_ref);
        }
        let base_generation = found.base.as_ref().map(|base| base.generation);
        let is_current =
            |have: &&Arc<StorageSnapshot<S>>| **have.commit() == commit && have.base_generation() == base_generation;
        let snapshot = match current.filter(is_current) {
            Some(current) => Arc::clone(current),
            None => {
                let previous = current.map(Arc::as_ref);
                Arc::new(opener.load(commit.clone(), found.base.as_ref(), previous).await?)
            }
        };
        let known: Vec<&Commit> = std::iter::once(&commit).chain(previous.as_ref()).collect();
        // What cannot be removed now is tried again by the next writer.
        let _ = gc::remove_all(&opener.own, &gc::leftovers(&names, &known)).await;
        let highest = names.iter().filter_map(|name| gc::overlay_number(name)).max().unwrap_or(0);
        let mut this = Self {
            options,
            _lock: lock,
            schema: None,
            schema_dirty: false,
            codec: commit.codec,
            builder: None,
            segments: Vec::new(),
            fresh_ids: HashSet::new(),
            fresh: Vec::new(),
            hidden: read_hidden(&opener.own, &commit).await?,
            hidden_dirty: false,
            previous: previous.map(Arc::new),
            dropped: commit.dropped.clone(),
            next_generation: commit.generation + 1,
            next_overlay: commit.next_overlay.max(highest + 1),
            commit: Arc::new(commit),
            readers: current.map(Arc::downgrade).into_iter().collect(),
            merging: Vec::new(),
            lost: false,
            snapshot,
            opener,
        };
        this.reset();
        this.extend_schema(wanted)?;
        if this.commit.generation == 0 {
            this.publish_first().await?;
        }
        Ok(this)
    }

    /// Takes the state of the last commit.
    fn reset(&mut self) {
        let is_known = !self.commit.schema.is_empty() || self.opener.base.is_some();
        self.schema = is_known.then(|| Arc::clone(self.snapshot.schema()));
        self.schema_dirty = false;
        self.codec = self.options.codec.unwrap_or(self.commit.codec);
        self.builder = None;
        self.fresh_ids.clear();
        let recorded: HashSet<SegmentId> = self.commit.segments.iter().map(|entry| entry.id).collect();
        self.segments = self
            .snapshot
            .segments()
            .iter()
            .map(|one| {
                let state = LiveState { live: one.live.clone(), num_docs: one.num_docs };
                // What is hidden in a base segment that is new was looked up, and is in no overlay yet.
                let dirty =
                    !recorded.contains(&one.segment.id()) && one.home == SegmentHome::Base && one.live.is_some();
                WriterSegment {
                    segment: one.segment.clone(),
                    home: one.home,
                    overlay: one.overlay,
                    committed: Some(state.clone()),
                    current: state,
                    dirty,
                }
            })
            .collect();
    }

    /// Adds the fields of `wanted` to the schema.
    ///
    /// # Errors
    /// `invalid_argument` if they contradict it.
    pub fn extend_schema(&mut self, wanted: Option<&Schema>) -> Result<()> {
        let Some(wanted) = wanted else { return Ok(()) };
        let extended = match &self.schema {
            Some(have) => have.extended(wanted)?,
            None => wanted.clone(),
        };
        if self.schema.as_deref() != Some(&extended) {
            self.schema = Some(Arc::new(extended));
            self.schema_dirty = true;
        }
        Ok(())
    }

    /// Encodes new segments, merged ones too, with `codec`; the next commit records it.
    pub fn set_codec(&mut self, codec: PostingsCodec) {
        self.options.codec = Some(codec);
        self.codec = codec;
    }

    /// The schema that documents are checked against; `None` before the first batch of an index that infers it.
    pub fn schema(&self) -> Option<&Arc<Schema>> {
        self.schema.as_ref()
    }

    /// The last commit, open for reading.
    pub fn snapshot(&self) -> &Arc<StorageSnapshot<S>> {
        &self.snapshot
    }

    /// Live documents added since the last commit, and the bytes of those still in memory.
    pub fn pending(&self) -> (u64, u64) {
        let fresh = self.segments.iter().filter(|one| one.committed.is_none());
        let flushed: u64 = fresh.map(|one| u64::from(one.current.num_docs)).sum();
        let buffered = self.builder.as_ref().map_or(0, |builder| u64::from(builder.num_docs()));
        (flushed + buffered, self.builder.as_ref().map_or(0, |builder| builder.memory_bytes() as u64))
    }

    /// Whether a merge of it is under way.
    pub fn is_merging(&self) -> bool {
        self.merging.iter().any(|(_, mark)| mark.strong_count() > 0)
    }

    fn check_usable(&self) -> Result<()> {
        if self.lost {
            return Err(Error::new(
                ErrorKind::Closed,
                "it is not known whether the last commit happened: open the index again",
            ));
        }
        Ok(())
    }

    /// Forgets everything since the last commit and removes its files.
    ///
    /// # Errors
    /// Storage's own, while removing files; what is left is collected by the next writer.
    pub async fn rollback(&mut self) -> Result<()> {
        self.reset();
        let fresh = std::mem::take(&mut self.fresh);
        if self.hidden_dirty {
            self.hidden = read_hidden(&self.opener.own, &self.commit).await?;
            self.hidden_dirty = false;
        }
        if self.lost {
            // The files may belong to a commit.
            return Ok(());
        }
        gc::remove_all(&self.opener.own, &fresh).await
    }
}

/// The state before the first commit.
fn first_commit(names: &[String], damaged: Option<Error>) -> Result<Commit> {
    // The first commit is made before the first segment: segments without one were committed once.
    if names.iter().any(|name| gc::is_index_file(name)) {
        let what = "there are segments and no commit: the index is damaged, and nothing will be written over it";
        return Err(damaged.map_or_else(|| Error::new(ErrorKind::Corrupt, what), |error| Error::corrupt(what, error)));
    }
    Commit::empty()
}

fn base_ref(base: &Commit) -> BaseRef {
    BaseRef { index_id: base.index_id, generation: base.generation, tombstones: 0, tombstones_len: 0 }
}

async fn read_hidden<S: Storage>(storage: &S, commit: &Commit) -> Result<BTreeSet<Vec<u8>>> {
    let Some(base) = commit.base.as_ref().filter(|base| base.tombstones != 0) else { return Ok(BTreeSet::new()) };
    let name = tombstones_file_name(base.tombstones);
    let bytes = read_whole(storage, &name, base.tombstones_len).await?;
    Ok(tombstones::parse(&bytes, &name)?.into_iter().collect())
}
