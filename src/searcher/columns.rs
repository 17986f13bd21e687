//! Columns of one search: which blocks filters, sort and facets need, and what they say.

#![forbid(unsafe_code)]

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::Bytes;

use super::{
    batch::{Batch, Fetched, Slot},
    filter::{Filter, Leaf},
    pace::Pace,
};
use crate::{
    bitset::BitSet,
    columns::{ColumnMeta, DictionaryBlock, DictionaryIndex, FilterPlan, PackedBlock, PointsBlock, ValueRanges},
    error::{Error, ErrorKind, Result},
    ids::{DocOrd, FieldOrd},
    index::SnapshotSegment,
    query::{KeywordTest, dictionary_blocks, keyword_ranges},
    segment::SectionKind,
    storage::File,
};

/// Columns of a segment up to this many bytes are read whole in the first wave.
const SMALL_BYTES: u64 = 128 << 10;

/// Packed bytes of the column blocks of one segment that were read, by field and place in the column. Blocks next to
/// each other that are asked for together are one range.
#[derive(Debug, Default)]
pub(super) struct SegmentColumns {
    wanted: BTreeMap<(FieldOrd, u64), (u64, Slot)>,
    bytes: BTreeMap<(FieldOrd, u64), Bytes>,
}

impl SegmentColumns {
    /// Asks for one block, unless it was asked for before or has no bytes. Between two calls of [`Self::take`] there is
    /// one batch.
    pub fn want(&mut self, batch: &mut Batch, segment: usize, field: FieldOrd, column: &ColumnMeta, block: u32) {
        self.want_range(batch, segment, field, column.block_range(block));
    }

    fn want_range(&mut self, batch: &mut Batch, segment: usize, field: FieldOrd, range: Range<u64>) {
        if range.is_empty() || self.cut(field, &range).is_some() {
            return;
        }
        let before = self.wanted.range_mut((field, 0)..=(field, range.start)).next_back();
        match before.map(|(_, wanted)| wanted).filter(|(end, _)| *end >= range.start) {
            Some((end, _)) if *end >= range.end => {}
            Some((end, slot)) => {
                *end = range.end;
                batch.extend(*slot, range.end);
            }
            None => {
                let slot = batch.push(segment, SectionKind::Column, field, range.clone());
                self.wanted.insert((field, range.start), (range.end, slot));
            }
        }
    }

    /// Bytes of a range that was read, perhaps as a part of a longer one.
    fn cut(&self, field: FieldOrd, range: &Range<u64>) -> Option<Bytes> {
        let (&(_, start), bytes) = self.bytes.range((field, 0)..=(field, range.start)).next_back()?;
        let (from, to) = (range.start - start, range.end - start);
        (to <= bytes.len() as u64).then(|| bytes.slice(from as usize..to as usize))
    }

    /// Asks for all blocks that have values, if the column is small: then it is not worth a wave of its own to know
    /// which of them are needed.
    pub fn want_small(&mut self, batch: &mut Batch, segment: usize, field: FieldOrd, column: &ColumnMeta) {
        let blocks = column.blocks_range();
        if blocks.end - blocks.start <= SMALL_BYTES {
            self.want_range(batch, segment, field, blocks);
        }
    }

    /// Asks for one block of points.
    pub fn want_points(&mut self, batch: &mut Batch, segment: usize, field: FieldOrd, column: &ColumnMeta, block: u32) {
        if let Some(points) = column.points() {
            self.want_range(batch, segment, field, points.block_range(block));
        }
    }

    /// Decodes one block of points that was read.
    pub fn points(&self, field: FieldOrd, column: &ColumnMeta, block: u32) -> Result<PointsBlock> {
        let missing = || Error::new(ErrorKind::Corrupt, "the column has no points");
        let points = column.points().ok_or_else(missing)?;
        let bytes = self.cut(field, &points.block_range(block)).unwrap_or_default();
        let decoded = points.decode(block, &bytes).map_err(Error::from);
        decoded.map_err(|error| error.at(format!("field {}", field.0)))
    }

    /// Takes what was read.
    pub fn take(&mut self, fetched: &Fetched) -> Result<()> {
        for (key, (_, slot)) in std::mem::take(&mut self.wanted) {
            self.bytes.insert(key, fetched.get(slot)?.clone());
        }
        Ok(())
    }

    /// Opens one block that was read.
    pub fn open(&self, field: FieldOrd, column: &ColumnMeta, block: u32) -> Result<PackedBlock> {
        let bytes = self.bytes(field, column, block);
        column.open_block(block, bytes).map_err(|error| Error::from(error).at(format!("field {}", field.0)))
    }

    /// The bytes of one block; empty if it was not read.
    pub fn bytes(&self, field: FieldOrd, column: &ColumnMeta, block: u32) -> Bytes {
        self.cut(field, &column.block_range(block)).unwrap_or_default()
    }
}

/// Blocks of a keyword dictionary on their way.
#[derive(Debug)]
pub(super) struct DictionaryRead {
    field: FieldOrd,
    column: Arc<ColumnMeta>,
    blocks: Vec<(u32, Option<Slot>)>,
}

impl DictionaryRead {
    /// Asks for `blocks`, unless they are in memory; `None` if the column has no dictionary.
    pub fn new(
        blocks: impl FnOnce(&DictionaryIndex) -> Vec<u32>,
        segment: usize,
        field: FieldOrd,
        column: &Arc<ColumnMeta>,
        batch: &mut Batch,
    ) -> Option<Self> {
        let dictionary = column.dictionary()?;
        let want = |block| {
            let read = (!dictionary.is_inline())
                .then(|| batch.push(segment, SectionKind::Column, field, dictionary.block_range(block)));
            (block, read)
        };
        let blocks = blocks(dictionary).into_iter().map(want).collect();
        Some(Self { field, column: column.clone(), blocks })
    }

    /// The column.
    pub fn column(&self) -> &Arc<ColumnMeta> {
        &self.column
    }

    /// The blocks, decoded; none without a dictionary.
    pub fn decode(&self, fetched: &Fetched) -> Result<Vec<DictionaryBlock>> {
        let Some(dictionary) = self.column.dictionary() else { return Ok(Vec::new()) };
        let mut decoded = Vec::with_capacity(self.blocks.len());
        for &(block, slot) in &self.blocks {
            let bytes = match slot {
                Some(slot) => fetched.get(slot)?.as_ref(),
                None => dictionary.inline_block(block).unwrap_or_default(),
            };
            let found = dictionary.decode(block, bytes);
            decoded.push(found.map_err(|error| Error::from(error).at(format!("field {}", self.field.0)))?);
        }
        Ok(decoded)
    }

    /// Ordinals that pass `tests`, whose blocks these are.
    pub fn ranges(&self, tests: &[KeywordTest], fetched: &Fetched) -> Result<ValueRanges> {
        let decoded = self.decode(fetched)?;
        Ok(self.column.dictionary().map_or_else(ValueRanges::none, |index| keyword_ranges(tests, index, &decoded)))
    }
}

/// The filter of one segment under way.
#[derive(Debug)]
pub(super) struct SegmentFilterWork {
    leaves: Vec<LeafWork>,
}

#[derive(Debug)]
enum LeafWork {
    /// Nothing more to read: the documents.
    Done(BitSet),
    /// Keywords to look up first.
    Lookup { field: FieldOrd, read: DictionaryRead },
    /// Value blocks to look at.
    Scan { field: FieldOrd, column: Arc<ColumnMeta>, plan: FilterPlan },
}

impl SegmentFilterWork {
    /// Plans a filter over one segment. `ids` are the documents found for each [`Leaf::Ids`], filled in later
    /// with [`Self::set_ids`].
    pub fn new<F: File>(
        filter: &Filter,
        segment: &SnapshotSegment<F>,
        segment_ix: usize,
        columns: &mut SegmentColumns,
        batch: &mut Batch,
    ) -> Self {
        let max_doc = segment.segment.max_doc();
        let leaves = filter.leaves().iter().map(|leaf| match leaf {
            Leaf::Ids(_) => LeafWork::Done(BitSet::new(max_doc)),
            Leaf::Values { field, ranges } => match segment.segment.column(*field) {
                None => LeafWork::Done(BitSet::new(max_doc)),
                Some(column) => {
                    let plan = FilterPlan::new(column, ranges.clone());
                    plan.blocks().iter().for_each(|&block| columns.want(batch, segment_ix, *field, column, block));
                    plan.points().iter().for_each(|&block| {
                        columns.want_points(batch, segment_ix, *field, column, block);
                    });
                    LeafWork::Scan { field: *field, column: column.clone(), plan }
                }
            },
            Leaf::Keywords { field, tests } => match segment.segment.column(*field) {
                None => LeafWork::Done(BitSet::new(max_doc)),
                Some(column) => {
                    let blocks = |dictionary: &DictionaryIndex| dictionary_blocks(tests, dictionary);
                    match DictionaryRead::new(blocks, segment_ix, *field, column, batch) {
                        Some(read) => LeafWork::Lookup { field: *field, read },
                        None => LeafWork::Done(BitSet::new(max_doc)),
                    }
                }
            },
        });
        Self { leaves: leaves.collect() }
    }

    /// Fills in the documents of an id condition.
    pub fn set_ids(&mut self, leaf: usize, docs: impl IntoIterator<Item = DocOrd>) {
        if let Some(LeafWork::Done(set)) = self.leaves.get_mut(leaf) {
            let len = set.len();
            docs.into_iter().filter(|doc| doc.0 < len).for_each(|doc| {
                set.insert(doc.0);
            });
        }
    }

    /// After the first wave: keywords become ordinals, and their blocks are asked for.
    pub fn resolve(
        &mut self,
        filter: &Filter,
        segment_ix: usize,
        fetched: &Fetched,
        columns: &mut SegmentColumns,
        batch: &mut Batch,
    ) -> Result<()> {
        for (leaf, work) in filter.leaves().iter().zip(&mut self.leaves) {
            let (Leaf::Keywords { tests, .. }, LeafWork::Lookup { field, read }) = (leaf, &*work) else {
                continue;
            };
            let (field, column) = (*field, read.column().clone());
            let plan = FilterPlan::new(&column, read.ranges(tests, fetched)?);
            plan.blocks().iter().for_each(|&block| columns.want(batch, segment_ix, field, &column, block));
            *work = LeafWork::Scan { field, column, plan };
        }
        Ok(())
    }

    /// After the last wave: the documents that match, and those that match without the conditions on each field of
    /// `own`.
    pub async fn finish(
        self,
        filter: &Filter,
        own: &[FieldOrd],
        max_doc: u32,
        columns: &SegmentColumns,
        pace: &mut Pace<'_>,
    ) -> Result<(BitSet, Vec<BitSet>)> {
        let mut sets = Vec::with_capacity(self.leaves.len());
        for work in self.leaves {
            sets.push(match work {
                LeafWork::Done(set) => set,
                LeafWork::Lookup { .. } => BitSet::new(max_doc),
                LeafWork::Scan { field, column, mut plan } => {
                    for block in plan.blocks().to_vec() {
                        plan.apply(&columns.open(field, &column, block)?);
                        pace.step().await?;
                    }
                    for block in plan.points().to_vec() {
                        plan.apply_points(&columns.points(field, &column, block)?);
                        pace.step().await?;
                    }
                    let mut set = plan.finish();
                    if set.len() != max_doc {
                        set = set.iter().filter(|&doc| doc < max_doc).fold(BitSet::new(max_doc), |mut set, doc| {
                            set.insert(doc);
                            set
                        });
                    }
                    set
                }
            });
        }
        let without = own.iter().map(|&field| filter.combine_without(Some(field), &sets, max_doc)).collect();
        Ok((filter.combine(&sets, max_doc), without))
    }
}
