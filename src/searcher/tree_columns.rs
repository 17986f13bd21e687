//! Column leaves of a query tree: which bytes they need, and what they are in each segment.
//!
//! Leaves that the metadata decides need nothing; of other columns the blocks in question are read with the waves of the
//! text, and values are looked at only where the rest of the query has candidates.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::{
    batch::{Batch, Fetched, Slot},
    columns::SegmentColumns,
    filter::among,
};
use crate::{
    bitset::BitSet,
    columns::{BlockVerdict, ColumnMeta, DictionaryBlock, ValueRanges},
    error::{Error, ErrorKind, Result},
    ids::{DocId, DocOrd, FieldOrd},
    index::SnapshotSegment,
    query::{ColumnBytes, ColumnInput, ColumnLeaf, ColumnTest, KeywordTest, dictionary_blocks, keyword_ranges},
    segment::{OpenSegment, SectionKind},
    storage::File,
};

/// The id field, which every document has.
const ID_FIELD: FieldOrd = FieldOrd(0);

/// The leaves of a plan in one segment, under way.
#[derive(Debug)]
pub(super) struct TreeColumns {
    segment: usize,
    max_doc: u32,
    works: Vec<LeafWork>,
}

#[derive(Debug)]
enum LeafWork {
    /// The documents, known.
    Done(BitSet),
    /// Keywords to look up first.
    Lookup { field: FieldOrd, column: Arc<ColumnMeta>, tests: Vec<KeywordTest>, blocks: Vec<(u32, Option<Slot>)> },
    /// Lengths of a text field.
    Norms(Slot),
    /// Values in question.
    Values { field: FieldOrd, column: Arc<ColumnMeta>, ranges: ValueRanges },
}

impl TreeColumns {
    /// Asks for what the leaves need first.
    pub fn new<F: File>(
        leaves: &[ColumnLeaf],
        segment: &SnapshotSegment<F>,
        segment_ix: usize,
        columns: &mut SegmentColumns,
        batch: &mut Batch,
    ) -> Self {
        let max_doc = segment.segment.max_doc();
        let segment = &segment.segment;
        let mut works = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            let field = leaf.query.field;
            works.push(match (&leaf.query.test, segment.column(field)) {
                (ColumnTest::Ids(_), _) => LeafWork::Done(BitSet::new(max_doc)),
                (ColumnTest::Exists, None) => exists(segment, segment_ix, field, batch),
                (_, None) => LeafWork::Done(BitSet::new(max_doc)),
                (ColumnTest::Values(ranges), Some(column)) => {
                    values(leaf, column, ranges.clone(), segment_ix, columns, batch)
                }
                (ColumnTest::Exists, Some(column)) => {
                    values(leaf, column, ValueRanges::all(), segment_ix, columns, batch)
                }
                (ColumnTest::Keywords(tests), Some(column)) => {
                    let blocks = column.dictionary().map_or(Vec::new(), |dictionary| {
                        let slot = |block, batch: &mut Batch| {
                            batch.push(segment_ix, SectionKind::Column, field, dictionary.block_range(block))
                        };
                        let blocks = dictionary_blocks(tests, dictionary).into_iter();
                        blocks.map(|block| (block, (!dictionary.is_inline()).then(|| slot(block, batch)))).collect()
                    });
                    LeafWork::Lookup { field, column: column.clone(), tests: tests.clone(), blocks }
                }
            });
        }
        Self { segment: segment_ix, max_doc, works }
    }

    /// After the first wave: ids become documents, keywords ordinals, whose blocks are asked for. `ids` are all that the
    /// request names, `found` their documents here.
    pub fn resolve(
        &mut self,
        leaves: &[ColumnLeaf],
        (ids, found): (&[DocId], &[(usize, DocOrd)]),
        fetched: &Fetched,
        columns: &mut SegmentColumns,
        batch: &mut Batch,
    ) -> Result<()> {
        for (leaf, work) in leaves.iter().zip(&mut self.works) {
            match (work, &leaf.query.test) {
                (LeafWork::Done(set), ColumnTest::Ids(wanted)) => {
                    let is_wanted = among(ids, wanted);
                    let docs = found.iter().filter(|(ix, _)| is_wanted[*ix]).map(|&(_, doc)| doc);
                    docs.filter(|doc| doc.0 < self.max_doc).for_each(|doc| {
                        set.insert(doc.0);
                    });
                }
                (work @ LeafWork::Norms(_), _) => {
                    let LeafWork::Norms(slot) = *work else { continue };
                    let mut set = BitSet::new(self.max_doc);
                    let norms = fetched.get(slot)?.iter().take(self.max_doc as usize).enumerate();
                    norms.filter(|&(_, &norm)| norm > 0).for_each(|(doc, _)| {
                        set.insert(doc as u32);
                    });
                    *work = LeafWork::Done(set);
                }
                (work @ LeafWork::Lookup { .. }, _) => {
                    let LeafWork::Lookup { field, column, tests, blocks } = &*work else { continue };
                    let ranges = ordinals(*field, column, tests, blocks, fetched)?;
                    *work = values(leaf, &column.clone(), ranges, self.segment, columns, batch);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// After the last wave: what the leaves are.
    ///
    /// # Errors
    /// `corrupt` if a column is of more documents than the segment.
    pub fn finish(self, columns: &SegmentColumns) -> Result<Vec<ColumnInput>> {
        let max_doc = self.max_doc;
        let input = |work| match work {
            LeafWork::Done(set) => Ok(ColumnInput::Set(Arc::new(set))),
            LeafWork::Lookup { .. } | LeafWork::Norms(_) => Ok(ColumnInput::Set(Arc::new(BitSet::new(max_doc)))),
            LeafWork::Values { field, column: meta, ranges } => {
                if meta.num_docs() > max_doc {
                    let what = format!("column of field {}: {} of {max_doc} documents", field.0, meta.num_docs());
                    return Err(Error::new(ErrorKind::Corrupt, what));
                }
                let blocks = (0..meta.blocks().len() as u32).map(|block| columns.bytes(field, &meta, block)).collect();
                Ok(ColumnInput::Values { ranges, column: Arc::new(ColumnBytes { meta, blocks }) })
            }
        };
        self.works.into_iter().map(input).collect()
    }
}

/// Ordinals of the keywords that pass.
fn ordinals(
    field: FieldOrd,
    column: &ColumnMeta,
    tests: &[KeywordTest],
    blocks: &[(u32, Option<Slot>)],
    fetched: &Fetched,
) -> Result<ValueRanges> {
    let Some(dictionary) = column.dictionary() else { return Ok(ValueRanges::none()) };
    let mut decoded: Vec<DictionaryBlock> = Vec::with_capacity(blocks.len());
    for &(block, slot) in blocks {
        let bytes = match slot {
            Some(slot) => fetched.get(slot)?.as_ref(),
            None => dictionary.inline_block(block).unwrap_or_default(),
        };
        let found = dictionary.decode(block, bytes);
        decoded.push(found.map_err(|error| Error::from(error).at(format!("field {}", field.0)))?);
    }
    Ok(keyword_ranges(tests, dictionary, &decoded))
}

/// Asks for the blocks that a condition has to look at, or all that have values where they are needed themselves.
fn values(
    leaf: &ColumnLeaf,
    column: &Arc<ColumnMeta>,
    ranges: ValueRanges,
    segment: usize,
    columns: &mut SegmentColumns,
    batch: &mut Batch,
) -> LeafWork {
    let field = leaf.query.field;
    for block in 0..column.blocks().len() as u32 {
        if leaf.values || column.verdict(block, &ranges) == BlockVerdict::Mixed {
            columns.want(batch, segment, field, column, block);
        }
    }
    LeafWork::Values { field, column: column.clone(), ranges }
}

/// Whether documents have a field without a column.
fn exists<F: File>(segment: &OpenSegment<F>, segment_ix: usize, field: FieldOrd, batch: &mut Batch) -> LeafWork {
    let max_doc = segment.max_doc();
    if field == ID_FIELD {
        return LeafWork::Done(BitSet::full(max_doc));
    }
    let mut set = BitSet::new(max_doc);
    if let Some(vectors) = segment.vectors(field) {
        let with_vector = vectors.docs_with_vector();
        with_vector.iter_range(0, with_vector.len().min(max_doc)).for_each(|doc| {
            set.insert(doc);
        });
    } else if segment.reader().section(SectionKind::Norms, field).is_some() && max_doc > 0 {
        return LeafWork::Norms(batch.push(segment_ix, SectionKind::Norms, field, 0..u64::from(max_doc)));
    }
    LeafWork::Done(set)
}
