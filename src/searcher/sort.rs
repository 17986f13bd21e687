//! Order by columns.
//!
//! ```text
//! a document's key: per sort key its value as a number, complemented if descending, missing ones before or behind
//! blocks of all segments by the best key their bounds allow:
//!     the block cannot beat the worst document kept (nor any after it): done
//!     read the next few blocks; offer their matching documents; read twice as many the next time
//! ```
//!
//! Numbers mean the same in every segment, so that one list of the best serves them all and each segment profits from
//! the ones before. Ordinals of keywords do not: with a keyword among the keys each segment has a list of its own, and
//! keywords are looked up before the last step.

#![forbid(unsafe_code)]

use std::{cmp::Ordering, sync::Arc};

use super::{batch::Batch, column_ask::ResolvedKey, columns::SegmentColumns, cursor::CursorKey};
use crate::{
    bitset::BitSet,
    columns::{ColumnMeta, PackedBlock, ValueRanges, value::encode_number},
    error::Result,
    ids::{DocAddress, DocOrd, SegmentOrd},
    topk::{TopBy, order},
};

/// Blocks that are read the first time: 16,384 documents.
const FIRST_BLOCKS: usize = 4;
/// By how much the next time reads more: few rounds even where bounds tell nothing.
const GROWTH: usize = 4;

/// Where a document is in the order of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeyPart {
    rank: u8,
    value: u64,
}

const MISSING_FIRST: u8 = 0;
const PRESENT: u8 = 1;
const MISSING_LAST: u8 = 2;

impl ResolvedKey {
    fn missing(&self) -> KeyPart {
        KeyPart { rank: if self.missing_first { MISSING_FIRST } else { MISSING_LAST }, value: 0 }
    }

    /// The part of a column's value. Ordinals leave room between them for keywords that the segment does not have.
    fn part(&self, value: u64) -> KeyPart {
        self.part_at(if self.is_keyword() { 2 * value + 1 } else { value })
    }

    fn part_at(&self, place: u64) -> KeyPart {
        KeyPart { rank: PRESENT, value: if self.descending { !place } else { place } }
    }

    /// Inverse of [`Self::part`]; `None` for a missing value.
    fn value_of(&self, part: KeyPart) -> Option<u64> {
        let place = if self.descending { !part.value } else { part.value };
        (part.rank == PRESENT).then_some(if self.is_keyword() { place / 2 } else { place })
    }

    /// The part of a document: of several values the one that comes first counts.
    #[inline]
    fn part_of(&self, block: Option<&PackedBlock>, doc: u32, score: f64) -> KeyPart {
        if self.column.is_none() {
            return self.part(encode_number(score));
        }
        let value = block.and_then(|block| if self.descending { block.last(doc) } else { block.first(doc) });
        value.map_or(self.missing(), |value| self.part(value))
    }

    /// The first and the last part that documents of a block can have. `None` for scores: nothing is known.
    fn bounds(&self, column: Option<&ColumnMeta>, block: u32) -> Option<(KeyPart, KeyPart)> {
        self.column?;
        let missing = self.missing();
        let docs = column.map_or(0..0, |column| column.block_docs(block));
        let meta = column.and_then(|column| column.blocks().get(block as usize)).filter(|meta| meta.num_docs_with > 0);
        let Some(meta) = meta else { return Some((missing, missing)) };
        let (a, b) = (self.part(meta.min), self.part(meta.max));
        let (first, last) = (a.min(b), a.max(b));
        if meta.num_docs_with == docs.end - docs.start {
            return Some((first, last));
        }
        Some((first.min(missing), last.max(missing)))
    }

    /// The part of a cursor's value; `place` is that of its keyword among a segment's, see [`keyword_place`].
    pub fn cursor_part(&self, key: &CursorKey, place: Option<u64>) -> KeyPart {
        match key {
            CursorKey::Missing => self.missing(),
            CursorKey::Number(value) => self.part(*value),
            // A segment without the column has no keyword to compare with.
            CursorKey::Word(_) => self.part_at(place.unwrap_or(0)),
        }
    }
}

/// The place of a keyword among a segment's, from where it was looked for: that of its ordinal, or between two.
pub(super) fn keyword_place(found: Result<u32, u32>) -> u64 {
    match found {
        Ok(ord) => 2 * u64::from(ord) + 1,
        Err(next) => 2 * u64::from(next),
    }
}

/// Parts of a document's keys, then the tie rule: comparable inside one list.
type Entry = (Vec<KeyPart>, DocAddress);

/// A document on its way to its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SortedDoc {
    pub address: DocAddress,
    parts: Vec<KeyPart>,
    /// Keywords of the keys that are keywords, where they were looked up.
    words: Vec<Option<Arc<str>>>,
}

impl SortedDoc {
    /// Ordinal of key `key` in its segment's dictionary, if it is a keyword and there is one.
    pub fn keyword_ord(&self, keys: &[ResolvedKey], key: usize) -> Option<u32> {
        let (resolved, part) = (keys.get(key)?, self.parts.get(key)?);
        resolved.value_of(*part).filter(|_| resolved.is_keyword()).map(|ord| ord as u32)
    }

    /// Fills in the keyword of a key.
    pub fn set_word(&mut self, key: usize, word: Arc<str>) {
        if self.words.len() <= key {
            self.words.resize(key + 1, None);
        }
        self.words[key] = Some(word);
    }

    /// The keys as a cursor has them; keywords were filled in.
    pub fn cursor_keys(&self, keys: &[ResolvedKey]) -> Vec<CursorKey> {
        let of = |(ix, (key, part)): (usize, (&ResolvedKey, &KeyPart))| match (key.value_of(*part), self.words.get(ix))
        {
            (None, _) => CursorKey::Missing,
            (Some(_), Some(Some(word))) if key.is_keyword() => CursorKey::Word(word.as_ref().to_owned()),
            (Some(value), _) => CursorKey::Number(value),
        };
        keys.iter().zip(&self.parts).enumerate().map(of).collect()
    }
}

/// The documents to order.
#[derive(Debug, Clone, Copy)]
pub(super) enum SortDocs<'a> {
    /// Per segment; all with one score.
    Sets(&'a [BitSet], f64),
    /// Per segment, ascending, with their scores.
    Lists(&'a [Vec<(u32, f64)>]),
}

impl<'a> SortDocs<'a> {
    fn count(&self, segment: usize, start: u32, end: u32) -> usize {
        match self {
            Self::Sets(sets, _) => sets[segment].count_range(start, end) as usize,
            Self::Lists(lists) => cut(&lists[segment], start, end).len(),
        }
    }

    fn for_each(&self, segment: usize, start: u32, end: u32, mut visit: impl FnMut(u32, f64)) {
        match self {
            Self::Sets(sets, score) => sets[segment].iter_range(start, end).for_each(|doc| visit(doc, *score)),
            Self::Lists(lists) => cut(&lists[segment], start, end).iter().for_each(|&(doc, score)| visit(doc, score)),
        }
    }
}

fn cut(list: &[(u32, f64)], start: u32, end: u32) -> &[(u32, f64)] {
    let from = list.partition_point(|&(doc, _)| doc < start);
    let to = list.partition_point(|&(doc, _)| doc < end);
    &list[from..to.max(from)]
}

/// What a document has to be behind, per segment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Behind {
    pub parts: Vec<KeyPart>,
    pub address: DocAddress,
}

/// One block of one segment that has documents to order.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// The best first part its documents can have; the least there is for scores.
    bound: KeyPart,
    segment: usize,
    block: u32,
    docs: (u32, u32),
    count: usize,
}

/// Blocks and best documents of all segments, or of one.
#[derive(Debug)]
struct Lane {
    candidates: Vec<Candidate>,
    next: usize,
    top: TopBy<Entry>,
}

/// Finds the first documents of an order; a step machine.
pub(super) struct Sorter<'a> {
    keys: &'a [ResolvedKey],
    /// Per segment, the columns of the keys.
    metas: Vec<Vec<Option<Arc<ColumnMeta>>>>,
    docs: SortDocs<'a>,
    /// Per segment.
    behind: Option<&'a [Behind]>,
    lanes: Vec<Lane>,
    count: usize,
    round_blocks: usize,
}

impl<'a> Sorter<'a> {
    /// The first `count` of `docs` by `keys`, behind `behind` where it is given. `metas` are the columns of the keys per
    /// segment, `max_docs` the documents of each.
    pub fn new(
        keys: &'a [ResolvedKey],
        metas: Vec<Vec<Option<Arc<ColumnMeta>>>>,
        max_docs: &[u32],
        docs: SortDocs<'a>,
        behind: Option<&'a [Behind]>,
        count: usize,
    ) -> Self {
        let is_shared = !keys.iter().any(ResolvedKey::is_keyword);
        let lane = || Lane { candidates: Vec::new(), next: 0, top: TopBy::new(count) };
        let mut lanes: Vec<Lane> = Vec::new();
        for (segment, &max_doc) in max_docs.iter().enumerate().filter(|_| count > 0) {
            if lanes.is_empty() || !is_shared {
                lanes.push(lane());
            }
            let Some(lane) = lanes.last_mut() else { continue };
            for block in 0..max_doc.div_ceil(crate::columns::BLOCK_DOCS) {
                let start = block * crate::columns::BLOCK_DOCS;
                let end = start.saturating_add(crate::columns::BLOCK_DOCS).min(max_doc);
                let matching = docs.count(segment, start, end);
                if matching == 0 {
                    continue;
                }
                let bounds = keys.first().and_then(|key| key.bounds(metas[segment][0].as_deref(), block));
                let is_before = |behind: &[Behind]| {
                    let first = behind[segment].parts.first();
                    bounds.zip(first).is_some_and(|((_, last), first)| last < *first)
                };
                if behind.is_some_and(is_before) {
                    continue;
                }
                let bound = bounds.map_or(KeyPart { rank: 0, value: 0 }, |(first, _)| first);
                lane.candidates.push(Candidate { bound, segment, block, docs: (start, end), count: matching });
            }
        }
        for lane in &mut lanes {
            // Stable: equal bounds stay in index order, which is the tie rule.
            order::by(&mut lane.candidates, |a, b| a.bound.cmp(&b.bound));
        }
        Self { keys, metas, docs, behind, lanes, count, round_blocks: FIRST_BLOCKS }
    }

    /// Whether a block can still have one of the first documents.
    fn can_win(&self, candidate: &Candidate, top: &TopBy<Entry>) -> bool {
        let Some((parts, address)) = top.worst() else { return true };
        match parts.first().map_or(Ordering::Less, |first| candidate.bound.cmp(first)) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => {
                let start = DocAddress { segment: SegmentOrd(candidate.segment as u32), doc: DocOrd(candidate.docs.0) };
                self.keys.len() > 1 || start < *address
            }
        }
    }

    /// Asks for the blocks of the next round; false if there is none: then [`Self::finish`].
    pub fn want(&mut self, columns: &mut [SegmentColumns], batch: &mut Batch) -> bool {
        let mut any = false;
        for lane in &self.lanes {
            for candidate in self.round(lane) {
                any = true;
                let segment = candidate.segment;
                for (key, meta) in self.keys.iter().zip(&self.metas[segment]) {
                    if let (Some((field, _)), Some(meta)) = (key.column, meta) {
                        columns[segment].want(batch, segment, field, meta, candidate.block);
                    }
                }
            }
        }
        any
    }

    /// The candidates of the next round: enough for all documents asked for, and a number of blocks.
    fn round<'l>(&self, lane: &'l Lane) -> &'l [Candidate] {
        let rest = &lane.candidates[lane.next..];
        let (mut len, mut docs) = (0, 0);
        while len < rest.len() && (len < self.round_blocks || docs < self.count) && self.can_win(&rest[len], &lane.top)
        {
            docs += rest[len].count;
            len += 1;
        }
        &rest[..len]
    }

    /// The blocks that were asked for, one lane and one block at a time; `is_read` says whether anything was read for
    /// them: if all of it was at hand, small rounds cost nothing.
    pub fn next_round(&mut self, is_read: bool) -> Vec<(usize, usize)> {
        let mut steps = Vec::new();
        for lane_ix in 0..self.lanes.len() {
            let lane = &self.lanes[lane_ix];
            let (from, len) = (lane.next, self.round(lane).len());
            steps.extend((from..from + len).map(|at| (lane_ix, at)));
            self.lanes[lane_ix].next = from + len;
        }
        if is_read {
            self.round_blocks = self.round_blocks.saturating_mul(GROWTH);
        }
        steps
    }

    /// Offers the documents of one block.
    pub fn step(&mut self, (lane_ix, at): (usize, usize), columns: &[SegmentColumns]) -> Result<()> {
        let candidate = self.lanes[lane_ix].candidates[at];
        if !self.can_win(&candidate, &self.lanes[lane_ix].top) {
            return Ok(());
        }
        let segment = candidate.segment;
        let open = |(key, meta): (&ResolvedKey, &Option<Arc<ColumnMeta>>)| match (key.column, meta) {
            (Some((field, _)), Some(meta)) => columns[segment].open(field, meta, candidate.block).map(Some),
            _ => Ok(None),
        };
        let blocks: Vec<Option<PackedBlock>> =
            self.keys.iter().zip(&self.metas[segment]).map(open).collect::<Result<_>>()?;
        let (keys, behind) = (self.keys, self.behind.map(|behind| &behind[segment]));
        let top = &mut self.lanes[lane_ix].top;
        let competitive = match (keys.first(), top.worst()) {
            (Some(key), Some((parts, _))) => {
                competitive_range(key, parts[0], self.metas[segment][0].as_deref(), &candidate)
            }
            _ => None,
        };
        let mut offer = |doc: u32, score: f64| {
            let address = DocAddress { segment: SegmentOrd(segment as u32), doc: DocOrd(doc) };
            let first = keys.first().map(|key| key.part_of(blocks[0].as_ref(), doc, score));
            if let (Some((worst, worst_address)), Some(first)) = (top.worst(), first) {
                match first.cmp(&worst[0]) {
                    Ordering::Greater => return,
                    Ordering::Equal if keys.len() == 1 && address > *worst_address => return,
                    _ => {}
                }
            }
            let others = keys.iter().zip(&blocks).skip(1).map(|(key, block)| key.part_of(block.as_ref(), doc, score));
            let entry = (first.into_iter().chain(others).collect::<Vec<_>>(), address);
            let is_behind = |behind: &Behind| (&entry.0, entry.1) > (&behind.parts, behind.address);
            if behind.is_none_or(is_behind) {
                top.push(entry);
            }
        };
        match (self.docs, &blocks.first(), competitive) {
            (SortDocs::Sets(sets, score), Some(Some(block)), Some(range)) => {
                let words = sets[segment].words();
                block.matching(&range, |word, bits| {
                    let mut left = bits & words.get(word).copied().unwrap_or(0);
                    while left != 0 {
                        offer(word as u32 * 64 + left.trailing_zeros(), score);
                        left &= left - 1;
                    }
                });
            }
            (docs, ..) => docs.for_each(segment, candidate.docs.0, candidate.docs.1, offer),
        }
        Ok(())
    }

    /// The documents found: in order with one list, in order of each segment otherwise.
    pub fn finish(self) -> Vec<SortedDoc> {
        let entries = self.lanes.into_iter().flat_map(|lane| lane.top.into_sorted_vec());
        entries.map(|(parts, address)| SortedDoc { address, parts, words: Vec::new() }).collect()
    }
}

/// Values of the first key that a document must have to get in; `None` if documents without one may.
fn competitive_range(
    key: &ResolvedKey,
    worst: KeyPart,
    column: Option<&ColumnMeta>,
    candidate: &Candidate,
) -> Option<ValueRanges> {
    let meta = column?.blocks().get(candidate.block as usize)?;
    let all_present = meta.num_docs_with == candidate.docs.1 - candidate.docs.0;
    let value = key.value_of(worst).filter(|_| key.column.is_some() && (all_present || !key.missing_first))?;
    Some(ValueRanges::new([if key.descending { (value, u64::MAX) } else { (0, value) }]))
}

/// Order of two documents of any segments, keywords filled in.
pub(super) fn compare(a: &SortedDoc, b: &SortedDoc, keys: &[ResolvedKey]) -> Ordering {
    let by_key = |ix: usize, key: &ResolvedKey| {
        let (x, y) = (a.parts[ix], b.parts[ix]);
        if !key.is_keyword() || x.rank != PRESENT || y.rank != PRESENT {
            return if key.is_keyword() { x.rank.cmp(&y.rank) } else { x.cmp(&y) };
        }
        let order = match (a.words.get(ix), b.words.get(ix)) {
            (Some(Some(x)), Some(Some(y))) => x.cmp(y),
            // Of one segment: ordinals order as their keywords do. They are complemented already.
            _ => return x.value.cmp(&y.value),
        };
        if key.descending { order.reverse() } else { order }
    };
    let keys = keys.iter().enumerate().map(|(ix, key)| by_key(ix, key));
    keys.fold(Ordering::Equal, Ordering::then).then_with(|| a.address.cmp(&b.address))
}
