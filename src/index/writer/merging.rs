//! Merges from the writer's side: choosing sources, and publishing what came out of them.

use std::sync::{Arc, Weak};

use super::{IndexWriter, LiveState, WriterSegment, commit::entry};
use crate::{
    bitset::{BitSet, DocMap},
    codec::PostingsCodec,
    error::{Error, ErrorKind, Result},
    ids::{DocOrd, SegmentId},
    index::{
        lookup,
        merge::{Candidate, MergeSource, Merged},
        slot::SegmentHome,
    },
    schema::Schema,
    segment::{OpenSegment, SearchFile},
    storage::{Access, OpenOptions, Storage},
};

/// A merge under way. While it exists its sources are kept.
pub struct MergeTask<S: Storage> {
    /// Name of the segment to be.
    pub id: SegmentId,
    /// Schema to merge under.
    pub schema: Arc<Schema>,
    /// How to encode postings.
    pub codec: PostingsCodec,
    storage: S,
    sources: Vec<TaskSource<S>>,
    _mark: Arc<()>,
}

struct TaskSource<S: Storage> {
    segment: OpenSegment<SearchFile<S::File>>,
    live: Option<Arc<BitSet>>,
}

impl<S: Storage> MergeTask<S> {
    /// Opens the sources for reading front to back, past the cache.
    ///
    /// # Errors
    /// Storage's own.
    pub async fn open_sources(&self) -> Result<Vec<MergeSource<S::File>>> {
        let mut sources = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            let toc = source.segment.reader().toc();
            let options = OpenOptions { access: Access::MERGE, len: Some(toc.file_len) };
            let file = self.storage.open(&toc.id.file_name(), options).await?;
            sources.push(MergeSource { segment: source.segment.with_raw(file), live: source.live.clone() });
        }
        Ok(sources)
    }

    /// Segments that go in.
    pub fn num_sources(&self) -> usize {
        self.sources.len()
    }

    /// Deleted documents that the merge drops.
    pub fn dropped_docs(&self) -> u64 {
        let dead = |source: &TaskSource<S>| source.live.as_ref().map_or(0, |live| live.len() - live.count());
        self.sources.iter().map(|source| u64::from(dead(source))).sum()
    }
}

impl<S: Storage> IndexWriter<S> {
    /// Own segments of the last commit that no merge reads, with what the policy needs to know; pinned bytes too.
    pub fn merge_candidates(&self) -> Vec<(SegmentId, Candidate, u64)> {
        let is_free = |id: SegmentId| !self.merging.iter().any(|(busy, mark)| *busy == id && mark.strong_count() > 0);
        self.segments
            .iter()
            .filter(|one| one.home == SegmentHome::Own && is_free(one.segment.id()))
            .filter_map(|one| {
                let state = one.committed.as_ref()?;
                let (reader, num_docs) = (one.segment.reader(), state.num_docs);
                let (toc, max_doc) = (reader.toc(), reader.max_doc());
                let is_outdated = toc.postings_codec() != self.codec;
                let candidate = Candidate { bytes: toc.file_len, max_doc, num_docs, is_outdated };
                Some((one.segment.id(), candidate, reader.pinned_bytes()))
            })
            .collect()
    }

    /// Starts a merge of segments that [`Self::merge_candidates`] named.
    ///
    /// # Errors
    /// `io` where the platform gives no randomness; `invalid_argument` for a segment that is not there.
    pub fn begin_merge(&mut self, ids: &[SegmentId]) -> Result<MergeTask<S>> {
        self.check_usable()?;
        let mark = Arc::new(());
        let mut sources = Vec::new();
        for one in self.segments.iter().filter(|one| ids.contains(&one.segment.id())) {
            let live = one.committed.as_ref().and_then(|state| state.live.clone());
            sources.push(TaskSource { segment: one.segment.clone(), live });
        }
        if sources.len() != ids.len() || sources.is_empty() {
            return Err(Error::invalid("a segment to be merged is not in the index"));
        }
        self.merging.extend(ids.iter().map(|id| (*id, Arc::downgrade(&mark))));
        let schema = Arc::clone(self.snapshot.schema());
        let (id, storage) = (SegmentId::random()?, self.opener.own.clone());
        Ok(MergeTask { id, schema, codec: self.codec, storage, sources, _mark: mark })
    }

    /// Takes over a segment that was merged from other indexes into this storage: it is part of the next commit.
    /// Its ids must not be in this index.
    ///
    /// # Errors
    /// Storage's own, `corrupt`.
    pub async fn adopt(&mut self, merged: &Merged) -> Result<()> {
        self.check_usable()?;
        let (own, toc) = (&self.opener.own, &merged.toc);
        self.fresh.push(toc.id.file_name());
        let options = OpenOptions { access: Access::SEARCH, len: Some(toc.file_len) };
        let file = own.open(&toc.id.file_name(), options).await?;
        let segment = OpenSegment::open(file, toc.clone(), &self.opener.cache, &own.profile()).await?;
        let current = LiveState { live: None, num_docs: segment.max_doc() };
        let home = SegmentHome::Own;
        self.segments.push(WriterSegment { segment, home, overlay: 0, committed: None, current, dirty: false });
        Ok(())
    }

    /// Publishes a merged segment in place of its sources. Deletions that were committed meanwhile are carried
    /// over in this commit, those not committed yet stay pending; other pending changes are not published.
    ///
    /// # Errors
    /// Storage's own: the index stays as it was and the merged segment is removed.
    pub async fn finish_merge(&mut self, task: MergeTask<S>, merged: &Merged) -> Result<()> {
        let result = self.try_finish(&task, merged).await;
        if result.is_err() && !self.lost {
            let _ = self.opener.own.delete(&task.id.file_name()).await;
        }
        let ids: Vec<SegmentId> = task.sources.iter().map(|source| source.segment.id()).collect();
        self.merging.retain(|(id, _): &(SegmentId, Weak<()>)| !ids.contains(id));
        drop(task);
        result
    }

    async fn try_finish(&mut self, task: &MergeTask<S>, merged: &Merged) -> Result<()> {
        self.check_usable()?;
        let ids: Vec<SegmentId> = task.sources.iter().map(|source| source.segment.id()).collect();
        let own = &self.opener.own;
        let options = OpenOptions { access: Access::SEARCH, len: Some(merged.toc.file_len) };
        let file = own.open(&task.id.file_name(), options).await?;
        let segment = OpenSegment::open(file, merged.toc.clone(), &self.opener.cache, &own.profile()).await?;
        let max_doc = segment.max_doc();
        let all = || LiveState { live: None, num_docs: max_doc };
        let (mut committed, mut current) = (all(), all());
        for (ix, source) in task.sources.iter().enumerate() {
            // A source that is gone had all its documents deleted.
            let now = self.segments.iter().find(|one| one.segment.id() == ids[ix]);
            let states = [
                (&mut committed, now.map(|one| one.committed.clone().unwrap_or_else(|| one.current.clone()))),
                (&mut current, now.map(|one| one.current.clone())),
            ];
            for (target, now) in states {
                let gone = gone_since(&merged.docs, ix, source, now.as_ref());
                lookup::remove(&mut target.live, &mut target.num_docs, max_doc, gone);
            }
        }
        if max_doc != merged.docs.num_docs() {
            return Err(Error::new(ErrorKind::Corrupt, format!("merged segment {} has {max_doc} documents", task.id)));
        }
        let dirty = current.num_docs != committed.num_docs;
        let mut new = WriterSegment {
            segment,
            home: SegmentHome::Own,
            overlay: 0,
            committed: Some(committed.clone()),
            current,
            dirty,
        };
        let has_docs = committed.num_docs > 0;
        if has_docs {
            new.overlay = self.write_overlay(&new, &committed).await?;
        }
        let overlay_name = entry(&new).overlay_name();
        // The new segment stands where its first source stood: order among equal scores stays if neighbours merge.
        let first = self.segments.iter().position(|one| ids.contains(&one.segment.id())).unwrap_or(self.segments.len());
        let mut segments: Vec<WriterSegment<S>> = Vec::with_capacity(self.segments.len());
        for (ix, one) in self.segments.iter().enumerate() {
            if ix == first && has_docs {
                segments.push(new.clone());
            }
            if !ids.contains(&one.segment.id()) {
                segments.push(one.clone());
            }
        }
        if first == self.segments.len() && has_docs {
            segments.push(new);
        }
        let mut next = self.next_commit();
        next.segments = segments.iter().filter(|one| one.committed.is_some()).map(entry).collect();
        self.write_slot(next).await?;
        self.fresh.retain(|name| Some(name) != overlay_name.as_ref());
        self.segments = segments;
        self.show(self.segments.clone());
        if !has_docs {
            let _ = self.opener.own.delete(&task.id.file_name()).await;
        }
        Ok(())
    }
}

/// Documents of the merged segment whose originals in source `ix` were deleted since the merge began.
fn gone_since<S: Storage>(docs: &DocMap, ix: usize, source: &TaskSource<S>, now: Option<&LiveState>) -> Vec<DocOrd> {
    let is_live_now = |doc: u32| match now {
        Some(LiveState { live: Some(live), .. }) => live.contains(doc),
        Some(LiveState { live: None, .. }) => true,
        None => false,
    };
    let was_live = |doc: u32| source.live.as_ref().is_none_or(|live| live.contains(doc));
    let gone = (0..docs.max_doc(ix)).filter(|doc| was_live(*doc) && !is_live_now(*doc));
    gone.filter_map(|doc| docs.get(ix, DocOrd(doc))).collect()
}
