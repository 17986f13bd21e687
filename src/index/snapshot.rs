//! [`Snapshot`]: one commit, open for reading. Immutable; segments are shared with the snapshots before and after.

use std::sync::Arc;

use super::slot::{Commit, SegmentHome};
use crate::{
    bitset::BitSet,
    schema::Schema,
    segment::{OpenSegment, SearchFile},
    storage::{File, IoTrace, Storage},
};

/// The snapshot type of a storage.
pub type StorageSnapshot<S> = Snapshot<SearchFile<<S as Storage>::File>>;

/// One commit, open for reading.
#[derive(Debug, Clone)]
pub struct Snapshot<F: File> {
    commit: Arc<Commit>,
    schema: Arc<Schema>,
    segments: Vec<SnapshotSegment<F>>,
    base_generation: Option<u64>,
}

/// One segment of a snapshot: its file and which of its documents are live.
#[derive(Debug, Clone)]
pub struct SnapshotSegment<F: File> {
    /// The segment.
    pub segment: OpenSegment<F>,
    /// Live documents; `None` if all are.
    pub live: Option<Arc<BitSet>>,
    /// How many are live.
    pub num_docs: u32,
    /// Whose file it is.
    pub home: SegmentHome,
    /// Number of the overlay that `live` came from; 0 for none.
    pub overlay: u64,
}

impl<F: File> Snapshot<F> {
    /// A snapshot of `segments` as `commit` lists them.
    /// `base_generation` is the commit of the base it lies over.
    pub(super) fn new(
        commit: Arc<Commit>,
        schema: Arc<Schema>,
        segments: Vec<SnapshotSegment<F>>,
        base_generation: Option<u64>,
    ) -> Self {
        Self { commit, schema, segments, base_generation }
    }

    /// Commit of the base that it lies over, if there is a base.
    pub fn base_generation(&self) -> Option<u64> {
        self.base_generation
    }

    /// The commit it shows.
    pub fn commit(&self) -> &Arc<Commit> {
        &self.commit
    }

    /// Number of the commit; 0 before the first one.
    pub fn generation(&self) -> u64 {
        self.commit.generation
    }

    /// The schema; without fields while none is known.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The segments, oldest first; a segment's position is its [`crate::ids::SegmentOrd`].
    pub fn segments(&self) -> &[SnapshotSegment<F>] {
        &self.segments
    }

    /// Live documents.
    pub fn num_docs(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.num_docs)).sum()
    }
}

impl<F: File> Snapshot<SearchFile<F>> {
    /// The same snapshot read by another schema, which extends its own.
    #[must_use]
    pub fn with_schema(&self, schema: Arc<Schema>) -> Self {
        Self { schema, ..self.clone() }
    }

    /// The same snapshot with the counters of one query.
    #[must_use]
    pub fn traced(&self, trace: &Arc<IoTrace>) -> Self {
        let segments = self.segments.iter();
        let segments = segments.map(|one| SnapshotSegment { segment: one.segment.traced(trace), ..one.clone() });
        Self {
            segments: segments.collect(),
            commit: Arc::clone(&self.commit),
            schema: Arc::clone(&self.schema),
            base_generation: self.base_generation,
        }
    }
}
