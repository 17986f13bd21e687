//! Opens commits: slots in one wave, then the pinned sections and overlays of all segments in another.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use futures_util::future::{try_join, try_join_all};

use super::{
    lookup,
    slot::{Commit, SegmentEntry, SegmentHome, Slots, tombstones_file_name},
    snapshot::{Snapshot, SnapshotSegment, StorageSnapshot},
    tombstones,
};
use crate::{
    analysis::CustomAnalyzers,
    bitset::BitSet,
    error::{Error, ErrorKind, Result},
    ids::SegmentId,
    schema::Schema,
    segment::{OpenSegment, SearchFile, live_file_len, live_file_name, parse_live},
    storage::{Access, BlockCache, CommitSlot, File, OpenOptions, Pattern, Storage},
};

/// Where an index and its base are, and the cache that searches of it share.
#[derive(Clone)]
pub struct Opener<S: Storage> {
    /// The index's own storage.
    pub own: S,
    /// The read-only index underneath.
    pub base: Option<S>,
    /// Blocks of all segment files.
    pub cache: BlockCache,
    /// The caller's analyzers, which schemas name.
    pub analyzers: CustomAnalyzers,
}

/// The commits found in the slots of an index and its base.
#[derive(Debug)]
pub struct Found {
    /// Slots of the index.
    pub own: Slots,
    /// Newest commit of the base.
    pub base: Option<Commit>,
}

impl<S: Storage> Opener<S> {
    /// Reads all slots, in one wave.
    ///
    /// # Errors
    /// As [`Slots::choose`]; `not_found` if there is a base storage without an index.
    pub async fn read_slots(&self) -> Result<Found> {
        let base = async {
            let Some(base) = &self.base else { return Ok(None) };
            let slots = read_slots(base).await.map_err(|error| error.at(format!("base {}", base.label())))?;
            let missing = || Error::new(ErrorKind::NotFound, format!("no index in base {}", base.label()));
            slots.newest.map(Some).ok_or_else(missing)
        };
        let (own, base) = try_join(read_slots(&self.own), base).await?;
        Ok(Found { own, base })
    }

    /// Opens `commit` over `base`, in one wave. Segments that `previous` has open are shared with it.
    ///
    /// # Errors
    /// `corrupt`, `unsupported_format`, `invalid_argument` if the base's schema does not fit, storage's own.
    pub async fn load(
        &self,
        commit: Commit,
        base: Option<&Commit>,
        previous: Option<&StorageSnapshot<S>>,
    ) -> Result<StorageSnapshot<S>> {
        check_base(&commit, base)?;
        let mut schema = effective_schema(&commit, base)?;
        schema.bind(&self.analyzers);
        let overlaid: HashMap<SegmentId, &SegmentEntry> = commit
            .segments
            .iter()
            .filter(|entry| entry.home == SegmentHome::Base)
            .map(|entry| (entry.id, entry))
            .collect();
        let from_base = base.iter().flat_map(|commit| &commit.segments).map(|entry| {
            let hidden = overlaid.get(&entry.id).map_or(0, |own| own.overlay);
            self.load_segment(entry, SegmentHome::Base, hidden, previous)
        });
        let own = commit.segments.iter().filter(|entry| entry.home == SegmentHome::Own);
        let own = own.map(|entry| self.load_segment(entry, SegmentHome::Own, 0, previous));
        // One future type for both: the iterators are chained before anything is awaited.
        let mut segments = try_join_all(from_base.chain(own)).await?;
        self.hide_in_new_base_segments(&commit, &overlaid, &mut segments).await?;
        Ok(Snapshot::new(Arc::new(commit), Arc::new(schema), segments, base.map(|base| base.generation)))
    }

    /// Opens one segment. `hidden` is the number of the index's overlay on a base segment.
    async fn load_segment(
        &self,
        entry: &SegmentEntry,
        home: SegmentHome,
        hidden: u64,
        previous: Option<&StorageSnapshot<S>>,
    ) -> Result<SnapshotSegment<SearchFile<S::File>>> {
        let storage = match (home, &self.base) {
            (SegmentHome::Base, Some(base)) => base,
            _ => &self.own,
        };
        let open = previous.iter().flat_map(|snapshot| snapshot.segments()).find(|one| one.segment.id() == entry.id);
        let (segment, (live, hidden)) = try_join(
            async {
                match open {
                    Some(open) => Ok(open.segment.clone()),
                    None => open_segment(storage, entry, &self.cache).await,
                }
            },
            try_join(
                read_live(storage, entry.id, entry.overlay, entry.max_doc),
                read_live(&self.own, entry.id, hidden, entry.max_doc),
            ),
        )
        .await?;
        let overlay =
            if home == SegmentHome::Base { hidden.as_ref().map_or(0, |(number, _)| *number) } else { entry.overlay };
        let live = match (live, hidden) {
            (Some((_, mut live)), Some((_, hidden))) => {
                live.and(&hidden);
                Some(live)
            }
            (live, hidden) => live.or(hidden).map(|(_, live)| live),
        };
        let num_docs = live.as_ref().map_or(entry.max_doc, BitSet::count);
        if home == SegmentHome::Own && num_docs != entry.num_docs {
            let (id, expected) = (entry.id, entry.num_docs);
            let what = format!("segment {id}: {num_docs} live documents, the commit says {expected}");
            return Err(Error::new(ErrorKind::Corrupt, what));
        }
        Ok(SnapshotSegment { segment, live: live.map(Arc::new), num_docs, home, overlay })
    }

    /// Segments that the base got since the commit was made have no overlay yet: what the index hides is looked
    /// up in them by id. Costs waves of its own, and only then.
    async fn hide_in_new_base_segments(
        &self,
        commit: &Commit,
        overlaid: &HashMap<SegmentId, &SegmentEntry>,
        segments: &mut [SnapshotSegment<SearchFile<S::File>>],
    ) -> Result<()> {
        let Some(reference) = commit.base.as_ref().filter(|base| base.tombstones != 0) else { return Ok(()) };
        let is_new =
            |one: &SnapshotSegment<_>| one.home == SegmentHome::Base && !overlaid.contains_key(&one.segment.id());
        if !segments.iter().any(is_new) {
            return Ok(());
        }
        let name = tombstones_file_name(reference.tombstones);
        let bytes = read_whole(&self.own, &name, reference.tombstones_len).await?;
        let hidden = tombstones::parse(&bytes, &name)?;
        for one in segments.iter_mut().filter(|one| is_new(one)) {
            let found = lookup::find_docs(&one.segment, &hidden).await?;
            lookup::remove(
                &mut one.live,
                &mut one.num_docs,
                one.segment.max_doc(),
                found.into_iter().map(|(_, doc)| doc),
            );
        }
        Ok(())
    }
}

async fn read_slots<S: Storage>(storage: &S) -> Result<Slots> {
    let (a, b) = try_join(storage.read_slot(CommitSlot::A), storage.read_slot(CommitSlot::B)).await?;
    Slots::choose([(CommitSlot::A, a), (CommitSlot::B, b)])
}

/// Whether an index may lie over `base`: it was made over that one, or nothing is in it yet.
fn check_base(commit: &Commit, base: Option<&Commit>) -> Result<()> {
    let what = match (&commit.base, base) {
        (Some(made_over), Some(base)) if made_over.index_id != base.index_id => {
            "this index was made over another base, whose documents it replaces by id: open it over that one"
        }
        (Some(_), None) if !commit.is_pristine() => "this index was made over a base: open it over that one",
        (None, Some(_)) if !commit.is_pristine() => "this index was not made over a base: open it alone",
        _ => return Ok(()),
    };
    Err(Error::invalid(what))
}

/// The schema of a commit, which extends its base's.
fn effective_schema(commit: &Commit, base: Option<&Commit>) -> Result<Schema> {
    let own = parse_schema(&commit.schema)?;
    let Some(base) = base else { return Ok(own.unwrap_or_default()) };
    let base = parse_schema(&base.schema)?.unwrap_or_default();
    let Some(own) = own else { return Ok(base) };
    if base.extended(&own)? == own {
        Ok(own)
    } else {
        Err(Error::invalid("the schema of the base has changed since this index was made over it: make it anew"))
    }
}

/// The schema a commit records; `None` for an empty text.
pub(super) fn parse_schema(text: &str) -> Result<Option<Schema>> {
    if text.is_empty() {
        return Ok(None);
    }
    let json = serde_json::from_str(text).map_err(|error| Error::corrupt("schema of the commit", error))?;
    let schema = Schema::from_json(&json).map_err(|error| Error::corrupt("schema of the commit", error))?;
    Ok(Some(schema))
}

async fn open_segment<S: Storage>(
    storage: &S,
    entry: &SegmentEntry,
    cache: &BlockCache,
) -> Result<OpenSegment<SearchFile<S::File>>> {
    let Some(toc) = entry.toc.clone() else {
        return Err(Error::new(ErrorKind::Corrupt, format!("segment {} has no table of contents", entry.id)));
    };
    let options = OpenOptions { access: Access::SEARCH, len: Some(toc.file_len) };
    let file = storage.open(&entry.id.file_name(), options).await?;
    OpenSegment::open(file, toc, cache, &storage.profile()).await
}

async fn read_live<S: Storage>(
    storage: &S,
    id: SegmentId,
    overlay: u64,
    max_doc: u32,
) -> Result<Option<(u64, BitSet)>> {
    if overlay == 0 {
        return Ok(None);
    }
    let bytes = read_whole(storage, &live_file_name(id, overlay), live_file_len(max_doc)).await?;
    Ok(Some((overlay, parse_live(&bytes, id, overlay, max_doc)?)))
}

/// Reads a small file that is `len` bytes long.
pub(super) async fn read_whole<S: Storage>(storage: &S, name: &str, len: u64) -> Result<Bytes> {
    let access = Access { pattern: Pattern::Once, ..Access::SEARCH };
    let file = storage.open(name, OpenOptions { access, len: Some(len) }).await?;
    let whole = 0..len;
    let found = file.read_ranges(std::slice::from_ref(&whole)).await.map_err(|error| error.at(name))?;
    found.into_iter().next().ok_or_else(|| Error::new(ErrorKind::Io, format!("{name}: storage answered no range")))
}
