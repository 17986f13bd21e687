//! Documents in, segments out: the buffer, its flush, and deletions.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use futures_util::future::try_join_all;

use super::{IndexWriter, LiveState, WriterSegment};
use crate::{
    error::{Error, Result},
    ids::{DocId, DocOrd, SegmentId},
    index::{lookup, report::AddReport, slot::SegmentHome},
    schema::{DocumentBatch, Schema},
    segment::{Built, OpenSegment, SegmentBuilder, spill_file_name},
    storage::{Access, OpenOptions, Storage},
    topk::order,
};

fn hash(term: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    term.hash(&mut hasher);
    hasher.finish()
}

impl<S: Storage> IndexWriter<S> {
    /// Buffers the documents of a batch that fit the schema, which is inferred from it if none is known.
    ///
    /// # Errors
    /// `invalid_argument` if the batch as a whole makes no sense: nothing of it is used. If a segment cannot be
    /// written, everything since the last commit is forgotten, as by [`Self::rollback`].
    pub async fn add(&mut self, batch: DocumentBatch) -> Result<AddReport> {
        self.check_usable()?;
        let schema = match &self.schema {
            Some(schema) => Arc::clone(schema),
            None => Arc::new(Schema::infer(&batch)?),
        };
        let mut report = AddReport::default();
        let documents = batch.into_documents(&schema)?;
        if self.schema.is_none() {
            self.schema = Some(Arc::clone(&schema));
            self.schema_dirty = true;
        }
        for document in documents {
            match document {
                Ok(document) => {
                    if let Err(error) = self.add_document(&schema, &document).await {
                        let _ = self.rollback().await;
                        return Err(error.at("everything since the last commit was rolled back"));
                    }
                    report.added += 1;
                }
                Err(refusal) => report.refused.push(refusal),
            }
        }
        Ok(report)
    }

    async fn add_document(&mut self, schema: &Schema, document: &crate::schema::Document) -> Result<()> {
        let builder = match &mut self.builder {
            Some(builder) => builder,
            none => none.insert(SegmentBuilder::new(schema, self.codec)?),
        };
        builder.add(document)?;
        if builder.memory_bytes() as u64 >= self.options.memory_bytes {
            self.flush().await?;
        }
        Ok(())
    }

    /// Deletes documents; returns how many of `ids` were there.
    ///
    /// # Errors
    /// `corrupt`, storage's own: nothing was deleted then.
    pub async fn delete(&mut self, ids: &[DocId]) -> Result<u64> {
        self.check_usable()?;
        let mut terms: Vec<Vec<u8>> = ids.iter().map(DocId::to_term).collect();
        order::by(&mut terms, Ord::cmp);
        terms.dedup();
        let found = self.find_in_segments(&terms, |_| true).await?;
        let mut deleted = self.remove_found(&found, Some(&terms));
        if let Some(builder) = &mut self.builder {
            let distinct: std::collections::BTreeSet<&DocId> = ids.iter().collect();
            deleted += distinct.into_iter().filter(|id| builder.delete(id)).count() as u64;
        }
        Ok(deleted)
    }

    /// Where the documents with these ids are, segment by segment; dead ones too. `is_wanted` chooses segments.
    async fn find_in_segments<T: AsRef<[u8]> + Sync>(
        &self,
        terms: &[T],
        is_wanted: impl Fn(&WriterSegment<S>) -> bool,
    ) -> Result<Vec<(usize, Vec<(usize, DocOrd)>)>> {
        let wanted = self.segments.iter().enumerate().filter(|(_, one)| is_wanted(one));
        try_join_all(wanted.map(|(ix, one)| async move {
            let found = lookup::find_docs(&one.segment, terms).await?;
            Ok::<_, Error>((ix, found))
        }))
        .await
    }

    /// Marks what was found as deleted; returns how many documents were live. With `terms`, ids found in the base
    /// are hidden in it.
    fn remove_found(&mut self, found: &[(usize, Vec<(usize, DocOrd)>)], terms: Option<&[Vec<u8>]>) -> u64 {
        let mut removed = 0;
        for (ix, docs) in found {
            let one = &mut self.segments[*ix];
            let LiveState { live, num_docs } = &mut one.current;
            let count = lookup::remove(live, num_docs, one.segment.max_doc(), docs.iter().map(|(_, doc)| *doc));
            one.dirty |= count > 0;
            removed += u64::from(count);
            if let (SegmentHome::Base, Some(terms)) = (one.home, terms) {
                for (term, _) in docs {
                    self.hidden_dirty |= self.hidden.insert(terms[*term].clone());
                }
            }
        }
        removed
    }

    /// Writes the buffer as a segment and deletes older documents with the ids in it.
    ///
    /// # Errors
    /// Storage's own. The buffer is lost then: the caller rolls back.
    pub(super) async fn flush(&mut self) -> Result<()> {
        let Some(builder) = self.builder.take().filter(|builder| builder.num_docs() > 0) else { return Ok(()) };
        let mut terms: Vec<Box<[u8]>> = builder.id_terms().map(Into::into).collect();
        order::by(&mut terms, Ord::cmp);
        let mut found = self.find_in_segments(&terms, |one| one.committed.is_some()).await?;
        let again: Vec<&[u8]> =
            terms.iter().map(|term| &**term).filter(|term| self.fresh_ids.contains(&hash(term))).collect();
        if !again.is_empty() {
            found.extend(self.find_in_segments(&again, |one| one.committed.is_none()).await?);
        }
        let id = SegmentId::random()?;
        self.fresh.push(id.file_name());
        let own = &self.opener.own;
        let Built { toc, live } = match builder.write(own, id).await {
            Ok(built) => built,
            Err(error) => {
                // Each field may have left up to three streams that it set aside.
                let fields = self.schema.as_ref().map_or(0, |schema| schema.fields().count());
                self.fresh.extend((0..3 * fields as u32).map(|number| spill_file_name(id, number)));
                return Err(error.at(format!("segment {id} could not be written")));
            }
        };
        let options = OpenOptions { access: Access::SEARCH, len: Some(toc.file_len) };
        let file = own.open(&id.file_name(), options).await?;
        let segment = OpenSegment::open(file, toc, &self.opener.cache, &own.profile()).await?;
        self.remove_found(&found, None);
        if self.opener.base.is_some() {
            // Also ids that the base does not have yet: should it get one, ours is the newer document.
            let before = self.hidden.len();
            self.hidden.extend(terms.iter().map(|term| term.to_vec()));
            self.hidden_dirty |= self.hidden.len() > before;
        }
        self.fresh_ids.extend(terms.iter().map(|term| hash(term)));
        let num_docs = live.as_ref().map_or(segment.max_doc(), |live| live.count());
        let dirty = live.is_some();
        let current = LiveState { live: live.map(Arc::new), num_docs };
        self.segments.push(WriterSegment {
            segment,
            home: SegmentHome::Own,
            overlay: 0,
            committed: None,
            current,
            dirty,
        });
        Ok(())
    }
}
