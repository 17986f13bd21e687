//! Making changes durable: overlays first, then one slot, then the garbage.

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;

use super::{IndexWriter, LiveState, WriterSegment};
use crate::{
    error::Result,
    index::{
        gc,
        report::CommitInfo,
        slot::{Commit, SegmentEntry, SegmentHome, tombstones_file_name},
        snapshot::{Snapshot, SnapshotSegment},
        tombstones,
    },
    platform::unix_millis,
    schema::Schema,
    segment::{live_file_name, write_live},
    storage::{Storage, Writer},
};

impl<S: Storage> IndexWriter<S> {
    /// Makes everything since the last commit durable, all or nothing. Without changes nothing is written.
    ///
    /// # Errors
    /// If the buffer cannot be written, everything since the last commit is forgotten, as by
    /// [`Self::rollback`]; on any later failure the changes stay and it can be tried again.
    pub async fn commit(&mut self) -> Result<CommitInfo> {
        self.check_usable()?;
        if let Err(error) = self.flush().await {
            let _ = self.rollback().await;
            return Err(error.at("everything since the last commit was rolled back"));
        }
        let is_changed = |one: &WriterSegment<S>| one.dirty || one.committed.is_none();
        let settings = self.schema_dirty || self.codec != self.commit.codec;
        let changed = settings || self.hidden_dirty || self.segments.iter().any(is_changed);
        if changed {
            self.publish_current().await?;
        }
        Ok(self.info(changed))
    }

    fn info(&self, changed: bool) -> CommitInfo {
        CommitInfo {
            generation: self.commit.generation,
            num_docs: self.snapshot.num_docs(),
            num_segments: self.snapshot.segments().len() as u32,
            changed,
            merge_error: None,
        }
    }

    /// The very first commit: an empty index, so that from now on no damage to one slot is mistaken for a storage
    /// without an index.
    pub(super) async fn publish_first(&mut self) -> Result<()> {
        let next =
            Commit { generation: self.next_generation, unix_millis: unix_millis(), ..Commit::clone(&self.commit) };
        // Without the schema: until something is committed, it can still be another one.
        self.write_slot(next).await?;
        self.schema_dirty = self.schema.is_some();
        self.show(self.segments.clone());
        Ok(())
    }

    async fn publish_current(&mut self) -> Result<()> {
        let mut next = self.next_commit();
        next.schema = schema_text(self.schema.as_deref());
        next.codec = self.codec;
        // Overlays made in a commit that fails stay in `fresh`; a second try makes new ones under new names.
        let mut segments = self.segments.clone();
        // A segment without live documents goes; a base segment stays listed, so that it is known to be hidden.
        segments.retain(|one| one.home == SegmentHome::Base || one.current.num_docs > 0);
        for one in &mut segments {
            if one.dirty {
                one.overlay = self.write_overlay(one, &one.current.clone()).await?;
                one.dirty = false;
            }
            one.committed = Some(one.current.clone());
        }
        if self.hidden_dirty
            && let Some(base) = &mut next.base
        {
            let number = self.take_overlay_number();
            let terms: Vec<&[u8]> = self.hidden.iter().map(Vec::as_slice).collect();
            let bytes = tombstones::write(terms.into_iter());
            (base.tombstones, base.tombstones_len) = (number, bytes.len() as u64);
            self.write_file(tombstones_file_name(number), bytes).await?;
        }
        next.segments = segments.iter().map(entry).collect();
        next.next_overlay = self.next_overlay;
        self.write_slot(next).await?;
        (self.schema_dirty, self.hidden_dirty) = (false, false);
        self.segments = segments;
        self.fresh_ids.clear();
        self.show(self.segments.clone());
        self.remove_unreferenced_fresh().await;
        Ok(())
    }

    /// The next commit with the segments of the last one.
    pub(super) fn next_commit(&self) -> Commit {
        Commit {
            generation: self.next_generation,
            unix_millis: unix_millis().max(self.commit.unix_millis),
            next_overlay: self.next_overlay,
            ..Commit::clone(&self.commit)
        }
    }

    fn take_overlay_number(&mut self) -> u64 {
        self.next_overlay += 1;
        self.next_overlay - 1
    }

    /// Writes an overlay file and returns its number.
    pub(super) async fn write_overlay(&mut self, one: &WriterSegment<S>, state: &LiveState) -> Result<u64> {
        let Some(live) = &state.live else { return Ok(0) };
        let (id, number) = (one.segment.id(), self.take_overlay_number());
        self.write_file(live_file_name(id, number), write_live(id, number, live)).await?;
        Ok(number)
    }

    async fn write_file(&mut self, name: String, bytes: Vec<u8>) -> Result<()> {
        self.fresh.push(name.clone());
        let mut writer = self.opener.own.create(&name).await?;
        writer.append(Bytes::from(bytes)).await?;
        writer.finish().await?;
        Ok(())
    }

    /// Publishes `next`: fills in what it drops and replaces a slot.
    ///
    /// # Errors
    /// Storage's own. If it cannot be found out whether the slot was replaced, the writer is of no further use.
    pub(super) async fn write_slot(&mut self, mut next: Commit) -> Result<()> {
        next.dropped = gc::dropped_by(&next, &self.commit, &self.dropped);
        let (slot, bytes) = (next.slot(), next.encode());
        if let Err(error) = self.opener.own.write_slot(slot, bytes.clone()).await {
            // A storage may fail after the deed. Only what is in the slot now tells.
            match self.opener.own.read_slot(slot).await {
                Ok(Some(found)) if found.starts_with(&bytes) => {}
                Ok(_) => {
                    // Numbers are not used twice, and the next try must go to the same slot.
                    self.next_generation += 2;
                    return Err(error.at("the commit did not happen"));
                }
                Err(_) => {
                    self.lost = true;
                    return Err(error.at("the commit may or may not have happened: open the index again"));
                }
            }
        }
        self.next_generation = next.generation + 1;
        self.dropped = next.dropped.clone();
        self.previous = (self.commit.generation > 0).then(|| Arc::clone(&self.commit));
        self.commit = Arc::new(next);
        Ok(())
    }

    /// Makes the snapshot of the commit just written, which consists of the committed state of `segments`.
    pub(super) fn show(&mut self, segments: Vec<WriterSegment<S>>) {
        let schema: Schema = match self.commit.schema.is_empty() {
            true => Schema::clone(self.snapshot.schema()),
            false => self.schema.as_deref().cloned().unwrap_or_default(),
        };
        let segments = segments.into_iter().filter_map(|one| {
            let LiveState { live, num_docs } = one.committed?;
            Some(SnapshotSegment { segment: one.segment, live, num_docs, home: one.home, overlay: one.overlay })
        });
        let base = self.snapshot.base_generation();
        let next = Arc::new(Snapshot::new(Arc::clone(&self.commit), Arc::new(schema), segments.collect(), base));
        self.readers.retain(|reader| reader.strong_count() > 0);
        self.readers.push(Arc::downgrade(&self.snapshot));
        self.snapshot = next;
    }

    /// Removes files made since the last commit that the new one does not reference: overlays of failed tries,
    /// segments whose documents were all deleted again.
    pub(super) async fn remove_unreferenced_fresh(&mut self) {
        let kept: HashSet<String> = self.commit.files().collect();
        let fresh = std::mem::take(&mut self.fresh);
        let gone: Vec<String> = fresh.into_iter().filter(|name| !kept.contains(name)).collect();
        // What cannot be removed is a leftover that the next writer collects.
        let _ = gc::remove_all(&self.opener.own, &gone).await;
    }

    /// Removes dropped files whose time has come. Whoever holds snapshots lets go of the old one first.
    pub async fn collect_garbage(&mut self) {
        let mut in_use: HashSet<String> = self
            .readers
            .iter()
            .filter_map(|reader| reader.upgrade())
            .flat_map(|one| one.commit().files().collect::<Vec<_>>())
            .collect();
        self.merging.retain(|(_, mark)| mark.strong_count() > 0);
        in_use.extend(self.merging.iter().map(|(id, _)| id.file_name()));
        let dropped = std::mem::take(&mut self.dropped);
        let (previous, grace) = (self.previous.as_deref(), self.options.grace_millis);
        self.dropped = gc::collect(&self.opener.own, dropped, previous, &in_use, unix_millis(), grace).await;
    }
}

/// The entry of a segment in a commit.
pub(super) fn entry<S: Storage>(one: &WriterSegment<S>) -> SegmentEntry {
    let state = one.committed.as_ref().unwrap_or(&one.current);
    let toc = one.segment.reader().toc();
    SegmentEntry {
        id: toc.id,
        home: one.home,
        max_doc: toc.max_doc,
        num_docs: state.num_docs,
        overlay: one.overlay,
        toc: (one.home == SegmentHome::Own).then(|| toc.clone()),
    }
}

fn schema_text(schema: Option<&Schema>) -> String {
    schema.map(|schema| schema.to_json().to_string()).unwrap_or_default()
}
