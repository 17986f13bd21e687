//! Hits in order of columns, of places, and behind a cursor.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::{
    batch::{Batch, Fetched},
    column_ask::{Counted, FacetAsk, ResolvedKey},
    columns::{DictionaryRead, SegmentColumns},
    cursor::{Cursor, CursorKey},
    flow::Search,
    pace::Pace,
    sort::{self, Behind, SortDocs, SortedDoc, Sorter, keyword_place},
    words::Words,
};
use crate::{
    bitset::BitSet,
    columns::{ColumnMeta, DictionaryIndex, RangeCount, ValueRanges},
    error::{Error, ErrorKind, Result},
    ids::{DocAddress, DocOrd, FieldOrd, SegmentOrd},
    query::dictionary_blocks,
    storage::File,
    topk::order,
};

/// A keyword of a sort key: document, key, segment, field, column and ordinal.
pub(super) type KeywordUse = (usize, usize, usize, FieldOrd, Arc<ColumnMeta>, u32);

/// Per segment and sort key: where the cursor's keyword is looked for.
pub(super) type CursorReads = Vec<Vec<Option<DictionaryRead>>>;

impl<F: File> Search<'_, F> {
    /// Asks for where the keywords begin and end that facets with a prefix count. Per facet and segment.
    pub(super) fn want_facet_words(&self, batch: &mut Batch) -> Vec<Vec<Option<DictionaryRead>>> {
        let of_facet = |facet: &FacetAsk| {
            let Counted::Values { tests, .. } = &facet.counted else { return Vec::new() };
            let mut reads = Vec::new();
            for (ix, segment) in self.segments.iter().enumerate().filter(|_| !tests.is_empty()) {
                let blocks = |dictionary: &DictionaryIndex| dictionary_blocks(tests, dictionary);
                let column = segment.segment.column(facet.field);
                reads.push(column.and_then(|column| DictionaryRead::new(blocks, ix, facet.field, column, batch)));
            }
            reads
        };
        self.ask.facets.iter().map(of_facet).collect()
    }

    /// Ordinals that facets count, where not all.
    pub(super) fn facet_ords(
        &self,
        reads: &[Vec<Option<DictionaryRead>>],
        fetched: &Fetched,
    ) -> Result<Vec<Vec<Option<ValueRanges>>>> {
        let of_facet = |(facet, reads): (&FacetAsk, &Vec<Option<DictionaryRead>>)| match &facet.counted {
            Counted::Values { tests, .. } if !tests.is_empty() => {
                let ranges = |read: &Option<DictionaryRead>| match read {
                    Some(read) => read.ranges(tests, fetched).map(Some),
                    None => Ok(Some(ValueRanges::none())),
                };
                reads.iter().map(ranges).collect()
            }
            _ => Ok(vec![None; self.segments.len()]),
        };
        self.ask.facets.iter().zip(reads).map(of_facet).collect()
    }

    /// The cursor, checked against this search; `None` without one, or for one that is a position.
    ///
    /// # Errors
    /// `invalid_argument` for the cursor of another order; `index_changed` where it means nothing in this commit.
    fn cursor(&self) -> Result<Option<(&Cursor, DocAddress)>> {
        let Some(cursor) = &self.ask.after else { return Ok(None) };
        let is_other = cursor.order != self.ask.order()
            || cursor.keys.len() != if self.ask.is_by_place() { self.ask.sort.len() } else { 0 };
        if is_other {
            return Err(Error::invalid("after: this cursor is of a search with another order"));
        }
        if !self.ask.is_by_place() && cursor.snapshot != self.fingerprint {
            let what = "after: the index has changed since this cursor was given, and scores with it: start again";
            return Err(Error::new(ErrorKind::IndexChanged, what));
        }
        let place = self.segments.iter().position(|segment| segment.segment.id() == cursor.segment);
        let Some(place) = place else {
            let what = "after: the segment of this cursor's hit was merged since it was given: start again";
            return Err(Error::new(ErrorKind::IndexChanged, what));
        };
        Ok(Some((cursor, DocAddress { segment: SegmentOrd(place as u32), doc: DocOrd(cursor.doc) })))
    }

    /// Asks for where the cursor's keywords are in each segment.
    pub(super) fn want_cursor_words(&self, batch: &mut Batch) -> Result<CursorReads> {
        let Some((cursor, _)) = self.cursor()? else { return Ok(Vec::new()) };
        let mut reads = Vec::new();
        for (ix, segment) in self.segments.iter().enumerate() {
            let of_key = |(key, value): (&ResolvedKey, &CursorKey)| {
                let (Some((field, _)), CursorKey::Word(word)) = (key.column, value) else { return None };
                let blocks = |index: &DictionaryIndex| index.block_of_value(word.as_bytes()).into_iter().collect();
                DictionaryRead::new(blocks, ix, field, segment.segment.column(field)?, batch)
            };
            reads.push(self.ask.sort.iter().zip(&cursor.keys).map(of_key).collect());
        }
        Ok(reads)
    }

    /// What hits have to be behind, per segment.
    pub(super) fn behind(&self, reads: &CursorReads, fetched: &Fetched) -> Result<Option<Vec<Behind>>> {
        let Some((cursor, address)) = self.cursor()?.filter(|_| self.ask.is_by_place()) else { return Ok(None) };
        let mut behind = Vec::with_capacity(self.segments.len());
        for of_segment in reads {
            let mut parts = Vec::with_capacity(cursor.keys.len());
            for ((key, value), read) in self.ask.sort.iter().zip(&cursor.keys).zip(of_segment) {
                if matches!(value, CursorKey::Word(_)) && !key.is_keyword() {
                    return Err(Error::invalid("after: this cursor is of a search with another order"));
                }
                let place = match (value, read) {
                    (CursorKey::Word(word), Some(read)) => {
                        let found = read.decode(fetched)?.first().map_or(Err(0), |block| block.find(word));
                        Some(keyword_place(found))
                    }
                    _ => None,
                };
                parts.push(key.cursor_part(value, place));
            }
            behind.push(Behind { parts, address });
        }
        Ok(Some(behind))
    }

    /// The first `count` of `docs` in order of the sort keys, behind `behind`. Reads the blocks that it takes.
    pub(super) async fn sorted(
        &self,
        docs: SortDocs<'_>,
        behind: Option<&[Behind]>,
        count: usize,
        columns: &mut [SegmentColumns],
        pace: &mut Pace<'_>,
    ) -> Result<Vec<SortedDoc>> {
        let keys = &self.ask.sort;
        let metas = self.segments.iter().map(|segment| {
            let column = |key: &ResolvedKey| key.column.and_then(|(field, _)| segment.segment.column(field).cloned());
            keys.iter().map(column).collect()
        });
        let max_docs: Vec<u32> = self.segments.iter().map(|segment| segment.segment.max_doc()).collect();
        let mut sorter = Sorter::new(keys, metas.collect(), &max_docs, docs, behind, count);
        loop {
            let mut batch = Batch::default();
            if !sorter.want(columns, &mut batch) {
                break;
            }
            let is_read = !batch.is_empty();
            if is_read {
                self.read_columns(columns, &batch).await?;
            }
            for step in sorter.next_round(is_read) {
                sorter.step(step, columns)?;
                pace.step().await?;
            }
        }
        let mut best = sorter.finish();
        if self.segments.len() > 1 && keys.iter().any(ResolvedKey::is_keyword) {
            self.find_words(&mut best).await?;
            order::by(&mut best, |a, b| sort::compare(a, b, keys));
            best.truncate(count);
        }
        Ok(best)
    }

    /// How many documents there are, where a range of one column is all that is asked and nothing is deleted; `None` of
    /// any other search.
    pub(super) async fn count_range(&self, pace: &mut Pace<'_>) -> Result<Option<u64>> {
        let ask = self.ask;
        let is_count =
            ask.limit == 0 && ask.facets.is_empty() && ask.after.is_none() && !ask.legs.text && !ask.legs.vector;
        let range = ask.filter.as_ref().and_then(|filter| filter.as_range());
        let Some((field, ranges)) = range.filter(|_| is_count && self.segments.iter().all(|one| one.live.is_none()))
        else {
            return Ok(None);
        };
        let mut columns: Vec<SegmentColumns> = self.segments.iter().map(|_| SegmentColumns::default()).collect();
        let (mut plans, mut batch) = (Vec::new(), Batch::default());
        for (ix, segment) in self.segments.iter().enumerate() {
            let Some(column) = segment.segment.column(field) else { continue };
            let plan = RangeCount::new(column, ranges.clone());
            plan.blocks().iter().for_each(|&block| columns[ix].want(&mut batch, ix, field, column, block));
            plan.points().iter().for_each(|&block| columns[ix].want_points(&mut batch, ix, field, column, block));
            plans.push((ix, column, plan));
        }
        if !batch.is_empty() {
            self.read_columns(&mut columns, &batch).await?;
        }
        let mut total = 0;
        for (ix, column, mut plan) in plans {
            for block in plan.blocks().to_vec() {
                plan.apply(&columns[ix].open(field, column, block)?);
                pace.step().await?;
            }
            for block in plan.points().to_vec() {
                plan.apply_points(&columns[ix].points(field, column, block)?);
                pace.step().await?;
            }
            total += plan.finish();
        }
        Ok(Some(total))
    }

    /// One wave of column blocks.
    pub(super) async fn read_columns(&self, columns: &mut [SegmentColumns], batch: &Batch) -> Result<()> {
        let fetched = self.read(batch).await?;
        columns.iter_mut().try_for_each(|columns| columns.take(&fetched))
    }

    /// Fills in the keywords of keyword sort keys.
    pub(super) async fn find_words(&self, docs: &mut [SortedDoc]) -> Result<()> {
        let (mut words, mut batch) = (Words::default(), Batch::default());
        let uses = self.keyword_uses(docs);
        for (_, _, segment, field, column, ord) in &uses {
            words.want(&mut batch, *segment, *field, column, *ord);
        }
        if !batch.is_empty() {
            words.take(&self.read(&batch).await?)?;
        }
        for (at, key, segment, field, column, ord) in uses {
            docs[at].set_word(key, words.get(segment, field, &column, ord)?);
        }
        Ok(())
    }

    /// Keywords of sort keys.
    pub(super) fn keyword_uses(&self, docs: &[SortedDoc]) -> Vec<KeywordUse> {
        let mut uses = Vec::new();
        for (at, doc) in docs.iter().enumerate() {
            let segment = doc.address.segment.0 as usize;
            for (key, resolved) in self.ask.sort.iter().enumerate() {
                let Some((field, _)) = resolved.column else { continue };
                let column = self.segments[segment].segment.column(field);
                if let (Some(ord), Some(column)) = (doc.keyword_ord(&self.ask.sort, key), column) {
                    uses.push((at, key, segment, field, column.clone(), ord));
                }
            }
        }
        uses
    }
}

/// Documents of `sets` in index order: behind `behind`, without the first `skip`, at most `limit`.
pub(super) fn in_index_order(
    sets: &[BitSet],
    behind: Option<DocAddress>,
    skip: usize,
    limit: usize,
) -> Vec<DocAddress> {
    let (mut skip, mut found) = (skip as u64, Vec::new());
    for (ix, set) in sets.iter().enumerate() {
        let start = match behind {
            Some(behind) if behind.segment.0 as usize > ix => continue,
            Some(behind) if behind.segment.0 as usize == ix => behind.doc.0.saturating_add(1),
            _ => 0,
        };
        let count = u64::from(set.count_range(start, set.len()));
        if count <= skip {
            skip -= count;
            continue;
        }
        let docs = set.iter_range(start, set.len()).skip(skip as usize).take(limit - found.len());
        found.extend(docs.map(|doc| DocAddress { segment: SegmentOrd(ix as u32), doc: DocOrd(doc) }));
        skip = 0;
        if found.len() >= limit {
            break;
        }
    }
    found
}
