//! The structures of one segment against their invariants.

use std::{collections::HashMap, ops::Range};

use super::{Walk, hash, postings::FieldReport};
use crate::{
    bitset::BitSet,
    columns::{ColumnKind, ColumnMeta},
    docstore::{DocIdsIndex, DocStoreIndex},
    error::{Error, ErrorKind, Result},
    ids::{DocId, FieldOrd},
    schema::FieldKind,
    segment::{OpenSegment, SectionKind, VerifiedFile},
    storage::File,
    vectors::{VectorsReader, WindowOptions},
};

/// Bytes of document blocks read at a time.
const WINDOW_BYTES: u64 = 1 << 20;

fn corrupt(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}

impl Walk<'_> {
    /// Walks all structures of a segment; `live` are its live documents, all if `None`.
    ///
    /// # Errors
    /// `aborted` alone.
    pub(super) async fn structures<F: File>(
        &mut self,
        segment: &OpenSegment<VerifiedFile<F>>,
        live: Option<&BitSet>,
    ) -> Result<()> {
        let fields: Vec<(FieldOrd, FieldKind)> =
            self.schema.fields().map(|(field, spec)| (field, spec.kind.clone())).collect();
        let mut ids = HashMap::new();
        for (field, kind) in fields {
            if segment.terms(field).is_some() {
                let has_norms = matches!(kind, FieldKind::Text(_));
                let walked = self.field_postings(segment, field, has_norms, kind == FieldKind::Id).await?;
                match walked {
                    FieldReport::Sound(found) => ids.extend(found),
                    FieldReport::Broken(at, error) => self.structure_problem(segment.id(), at, field, &error),
                }
            } else if kind == FieldKind::Id && segment.max_doc() > 0 {
                self.structure_problem(segment.id(), SectionKind::TermIndex, field, &corrupt("there is none"));
            }
            if let Some(meta) = segment.column(field).cloned()
                && let Err(error) = self.column(segment, field, &kind, &meta).await
            {
                self.failed(segment, SectionKind::Column, field, error)?;
            }
            if let Some(vectors) = segment.vectors(field).cloned()
                && let Err(error) = self.vectors(segment, field, &kind, &vectors).await
            {
                self.failed(segment, SectionKind::Vectors, field, error)?;
            }
            if let (Some(vectors), Some(cells)) = (segment.vectors(field).cloned(), segment.cells(field).cloned())
                && let Err(error) = self.cells(segment, field, &vectors, &cells).await
            {
                self.failed(segment, SectionKind::CellsMeta, field, error)?;
            }
            if let (Some(cells), Some(graph)) = (segment.cells(field).cloned(), segment.graph(field).cloned())
                && let Err(error) = self.graph(segment, field, &cells, &graph).await
            {
                self.failed(segment, SectionKind::GraphMeta, field, error)?;
            }
        }
        match segment.docs().cloned() {
            Some(docs) => {
                if let Err(error) = self.documents(segment, &docs, live, &ids).await {
                    self.failed(segment, SectionKind::Docs, FieldOrd(0), error)?;
                }
            }
            None => {
                self.structure_problem(segment.id(), SectionKind::DocsIndex, FieldOrd(0), &corrupt("there is none"));
            }
        }
        if let Some(index) = segment.doc_ids().cloned()
            && let Err(error) = self.doc_ids(segment, &index, live, &ids).await
        {
            self.failed(segment, SectionKind::DocIds, FieldOrd(0), error)?;
        }
        Ok(())
    }

    /// Makes an error of a structure a problem, except a cancellation.
    fn failed<F: File>(
        &mut self,
        segment: &OpenSegment<F>,
        kind: SectionKind,
        field: FieldOrd,
        error: Error,
    ) -> Result<()> {
        if error.kind() == ErrorKind::Aborted {
            return Err(error);
        }
        self.structure_problem(segment.id(), kind, field, &error);
        Ok(())
    }

    async fn column<F: File>(
        &mut self,
        segment: &OpenSegment<VerifiedFile<F>>,
        field: FieldOrd,
        kind: &FieldKind,
        meta: &ColumnMeta,
    ) -> Result<()> {
        if ColumnKind::of(kind) != Some(meta.kind()) || meta.num_docs() != segment.max_doc() {
            let (found, docs) = (meta.kind(), meta.num_docs());
            return Err(corrupt(format!("a {found:?} column of {docs} documents")));
        }
        let reader = segment.reader();
        if reader.section_len(SectionKind::Column, field) != meta.data_len() {
            return Err(corrupt(format!("the metadata speaks of {} bytes", meta.data_len())));
        }
        let mut num_terms = None;
        if let Some(dictionary) = meta.dictionary() {
            num_terms = Some(u64::from(dictionary.num_terms()));
            let mut last: Option<Box<str>> = None;
            for block in 0..dictionary.num_blocks() {
                let decoded = match dictionary.inline_block(block) {
                    Some(bytes) => dictionary.decode(block, bytes)?,
                    None => {
                        let range = dictionary.block_range(block);
                        let bytes = reader.read_one(SectionKind::Column, field, range).await?;
                        self.turn(bytes.len() as u64).await?;
                        dictionary.decode(block, &bytes)?
                    }
                };
                for term in decoded.terms() {
                    if last.as_ref().is_some_and(|last| last >= term) {
                        return Err(corrupt(format!("keyword {term:?} is not above the one before")));
                    }
                    last = Some(term.clone());
                }
            }
        }
        // Of each pair of document and value: what values and points have must add up to the same.
        let mut pairs = 0u64;
        for (ix, block) in (0..).zip(meta.blocks()) {
            let bytes = reader.read_one(SectionKind::Column, field, meta.block_range(ix)).await?;
            self.turn(bytes.len() as u64).await?;
            let (mut docs, mut values) = (0u64, 0u64);
            let mut wrong = None;
            meta.decode(ix, &bytes)?.for_each(|doc, of_doc| {
                docs += 1;
                values += of_doc.len() as u64;
                of_doc.iter().for_each(|&value| pairs = pairs.wrapping_add(pair_hash(value, doc)));
                let ascending = of_doc.windows(2).all(|pair| pair[0] < pair[1]);
                let inside = of_doc.iter().all(|value| (block.min..=block.max).contains(value));
                let known = num_terms.is_none_or(|num| of_doc.iter().all(|value| *value < num));
                if !(ascending && inside && known) {
                    wrong.get_or_insert(doc);
                }
            });
            if let Some(doc) = wrong {
                return Err(corrupt(format!("values of document {doc} are out of order or out of bounds")));
            }
            if docs != u64::from(block.num_docs_with) || values != block.num_values {
                return Err(corrupt(format!(
                    "block {ix} has {values} values in {docs} documents, not what its metadata says"
                )));
            }
        }
        let Some(points) = meta.points() else { return Ok(()) };
        let mut last = None;
        for block in 0..points.num_blocks() {
            let bytes = reader.read_one(SectionKind::Column, field, points.block_range(block)).await?;
            self.turn(bytes.len() as u64).await?;
            for point in points.decode(block, &bytes)?.iter() {
                if last.is_some_and(|last| last >= point) {
                    return Err(corrupt(format!("block {block} of points is out of order")));
                }
                last = Some(point);
                pairs = pairs.wrapping_sub(pair_hash(point.0, point.1));
            }
        }
        if pairs != 0 {
            return Err(corrupt("points are not those of the values"));
        }
        Ok(())
    }

    async fn vectors<F: File>(
        &mut self,
        segment: &OpenSegment<VerifiedFile<F>>,
        field: FieldOrd,
        kind: &FieldKind,
        vectors: &VectorsReader,
    ) -> Result<()> {
        let fits = matches!(kind, FieldKind::Vector(options) if options.has_rows_of(vectors.options()));
        if !fits || vectors.max_doc() != segment.max_doc() {
            return Err(corrupt(format!("{:?} of {} documents", vectors.options(), vectors.max_doc())));
        }
        for window in vectors.windows(None, &WindowOptions::default()) {
            let bytes = segment.reader().read_one(SectionKind::Vectors, field, window.bytes.clone()).await?;
            self.turn(bytes.len() as u64).await?;
            vectors
                .check_window(&window, &bytes)
                .map_err(|error| Error::corrupt(format!("at offset {}", window.bytes.start), error))?;
        }
        Ok(())
    }

    async fn documents<F: File>(
        &mut self,
        segment: &OpenSegment<VerifiedFile<F>>,
        index: &DocStoreIndex,
        live: Option<&BitSet>,
        ids: &HashMap<u32, u64>,
    ) -> Result<()> {
        if index.num_docs() != segment.max_doc() {
            return Err(corrupt(format!("{} documents, the segment has {}", index.num_docs(), segment.max_doc())));
        }
        if index.data_len() != segment.reader().section_len(SectionKind::Docs, FieldOrd(0)) {
            return Err(corrupt(format!("the index speaks of {} bytes", index.data_len())));
        }
        for (blocks, range) in windows(index.num_blocks(), |block| index.block_range(block)) {
            let start = range.start;
            let bytes = segment.reader().read_one(SectionKind::Docs, FieldOrd(0), range).await?;
            self.turn(bytes.len() as u64).await?;
            for one in blocks {
                let at = index.block_range(one);
                let part = bytes.slice((at.start - start) as usize..(at.end - start) as usize);
                self.block(segment, index, one, &part, live, ids)
                    .map_err(|error| error.at(format!("block {one} at offset {}", at.start)))?;
            }
        }
        Ok(())
    }

    /// Every live document has the id here under which it is indexed.
    async fn doc_ids<F: File>(
        &mut self,
        segment: &OpenSegment<VerifiedFile<F>>,
        index: &DocIdsIndex,
        live: Option<&BitSet>,
        ids: &HashMap<u32, u64>,
    ) -> Result<()> {
        if index.num_docs() != segment.max_doc() {
            return Err(corrupt(format!("{} ids, the segment has {} documents", index.num_docs(), segment.max_doc())));
        }
        if index.data_len() != segment.reader().section_len(SectionKind::DocIds, FieldOrd(0)) {
            return Err(corrupt(format!("the index speaks of {} bytes", index.data_len())));
        }
        let mut doc = 0;
        for (blocks, range) in windows(index.num_blocks(), |block| index.block_range(block)) {
            let start = range.start;
            let bytes = segment.reader().read_one(SectionKind::DocIds, FieldOrd(0), range).await?;
            self.turn(bytes.len() as u64).await?;
            for one in blocks {
                let at = index.block_range(one);
                let decoded = index.block(one, &bytes[(at.start - start) as usize..(at.end - start) as usize])?;
                for ix in 0..decoded.num_ids() {
                    let id = decoded.id(ix)?;
                    let is_live = live.is_none_or(|live| live.contains(doc));
                    if is_live && ids.get(&doc) != Some(&hash(&id.to_term())) {
                        return Err(corrupt(format!("document {doc} is not indexed under its id {id}")));
                    }
                    doc += 1;
                }
            }
        }
        Ok(())
    }

    fn block<F: File>(
        &mut self,
        segment: &OpenSegment<F>,
        index: &DocStoreIndex,
        block: u32,
        bytes: &[u8],
        live: Option<&BitSet>,
        ids: &HashMap<u32, u64>,
    ) -> Result<()> {
        let decoded = index.decode_block(block, bytes)?;
        for (ix, doc) in index.block_docs(block).enumerate() {
            let record = decoded.record(ix)?;
            let Some(id) = DocId::from_term(record.id_term) else {
                return Err(corrupt(format!("document {doc} has no valid id")));
            };
            serde_json::from_str::<&serde_json::value::RawValue>(record.json)
                .map_err(|error| Error::corrupt(format!("document {doc} ({id}) is no JSON"), error))?;
            if live.is_some_and(|live| !live.contains(doc)) {
                continue;
            }
            let hash = hash(record.id_term);
            if ids.get(&doc) != Some(&hash) {
                return Err(corrupt(format!("document {doc} is not indexed under its id {id}")));
            }
            if self.hides_by_id && self.hidden.contains(&hash) {
                self.report.docs -= 1;
                continue;
            }
            if let Some(other) = self.ids.insert(hash, segment.id()) {
                return Err(corrupt(format!("document {doc}: id {id} is also live in segment {other}")));
            }
        }
        Ok(())
    }
}

/// Blocks that are read together, and the range of their bytes, in order.
fn windows(num_blocks: u32, range_of: impl Fn(u32) -> Range<u64>) -> impl Iterator<Item = (Range<u32>, Range<u64>)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = next;
        let start = (first < num_blocks).then(|| range_of(first).start)?;
        next += 1;
        while next < num_blocks && range_of(next).end - start <= WINDOW_BYTES {
            next += 1;
        }
        Some((first..next, start..range_of(next - 1).end))
    })
}

/// A number that stands for a value of a document (the mixing step of splitmix64: Steele, Lea and Flood, 2014).
fn pair_hash(value: u64, doc: u32) -> u64 {
    let mut mixed = value.rotate_left(32) ^ u64::from(doc).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
