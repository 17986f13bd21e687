//! The page of a search: which hits of its order are returned, and where the next page begins.

#![forbid(unsafe_code)]

use std::collections::HashMap;

use super::{
    batch::Batch,
    collapse::{Group, Groups},
    column_ask::CollapseAsk,
    columns::SegmentColumns,
    cursor::Cursor,
    flow::{MATCH_ALL_SCORE, Ranked, Search, matched},
    ordered::in_index_order,
    pace::Pace,
    sort::{Behind, SortDocs, SortedDoc},
    words::Words,
};
use crate::{
    bitset::BitSet,
    error::{Error, Result},
    ids::DocAddress,
    query::{Plan, SegmentFilter, request::Hit},
    storage::File,
    topk::order,
};

/// Hits that are looked at first for the groups of a collapsed search.
const FIRST_DEPTH: usize = 64;
/// By how much more are looked at where they were too few.
const GROWTH: usize = 4;

/// What hits can be taken from.
pub(super) struct Rankings<'a> {
    plan: Option<&'a Plan>,
    filters: &'a [SegmentFilter],
    sets: Option<&'a [BitSet]>,
    behind: Option<&'a [Behind]>,
    /// Best first; of a text search as deep as was asked for.
    ranking: Vec<Ranked>,
    /// Where the ranking is sorted by columns: per segment, ascending, with scores.
    lists: Option<Vec<Vec<(u32, f64)>>>,
    by_address: HashMap<DocAddress, usize>,
}

/// Hits in order, and their sort keys where columns order them.
struct Best {
    hits: Vec<Ranked>,
    sorted: Vec<SortedDoc>,
}

/// The hits to return.
pub(super) struct Page {
    /// Those of the page, then the inner hits of each.
    pub hits: Vec<Ranked>,
    len: usize,
    groups: Vec<Group>,
    /// The last hit with its sort keys, where columns order them.
    last: Option<SortedDoc>,
}

impl<'a> Rankings<'a> {
    /// Of `ranking`, or of `sets` where there is none.
    pub fn new<F: File>(
        search: &Search<'_, F>,
        plan: Option<&'a Plan>,
        filters: &'a [SegmentFilter],
        ranking: Vec<Ranked>,
        sets: Option<&'a [BitSet]>,
        behind: Option<&'a [Behind]>,
    ) -> Self {
        let (mut lists, mut by_address) = (None, HashMap::new());
        if !search.ask.sort.is_empty() && (search.ask.legs.vector || !ranking.is_empty()) {
            let mut of_segment: Vec<Vec<(u32, f64)>> = vec![Vec::new(); search.segments.len()];
            for (ix, one) in ranking.iter().enumerate() {
                by_address.insert(one.address, ix);
                of_segment[one.address.segment.0 as usize].push((one.address.doc.0, one.score));
            }
            of_segment.iter_mut().for_each(|list| order::by_key(list, |&(doc, _)| doc.into()));
            lists = Some(of_segment);
        }
        Self { plan, filters, sets, behind, ranking, lists, by_address }
    }
}

impl<F: File> Search<'_, F> {
    /// The first `depth` hits.
    async fn best(
        &self,
        from: &mut Rankings<'_>,
        depth: usize,
        columns: &mut [SegmentColumns],
        pace: &mut Pace<'_>,
    ) -> Result<Best> {
        if !self.ask.sort.is_empty() {
            let docs = match &from.lists {
                Some(lists) => SortDocs::Lists(lists),
                None => SortDocs::Sets(from.sets.unwrap_or_default(), MATCH_ALL_SCORE),
            };
            let sorted = self.sorted(docs, from.behind, depth, columns, pace).await?;
            let of = |one: &SortedDoc| {
                from.by_address.get(&one.address).map_or_else(|| matched(one.address), |&ix| from.ranking[ix])
            };
            return Ok(Best { hits: sorted.iter().map(of).collect(), sorted });
        }
        let legs = self.ask.legs;
        if !legs.text && !legs.vector {
            let behind = from.behind.and_then(|behind| behind.first()).map(|behind| behind.address);
            let found = in_index_order(from.sets.unwrap_or_default(), behind, 0, depth);
            return Ok(Best { hits: found.into_iter().map(matched).collect(), sorted: Vec::new() });
        }
        if let (Some(plan), false) = (from.plan, legs.vector)
            && depth > self.ask.depth()
        {
            from.ranking = self.by_text(plan, from.filters, depth)?;
        }
        Ok(Best { hits: from.ranking.iter().take(depth).copied().collect(), sorted: Vec::new() })
    }

    /// The hits of the page. `total` is how many documents match.
    pub(super) async fn page(
        &self,
        from: &mut Rankings<'_>,
        total: u64,
        columns: &mut [SegmentColumns],
        pace: &mut Pace<'_>,
    ) -> Result<Page> {
        let (offset, limit) = (self.ask.offset, self.ask.limit);
        if let Some(collapse) = self.ask.collapse {
            return self.collapsed(collapse, from, total, columns, pace).await;
        }
        let legs = self.ask.legs;
        if self.ask.sort.is_empty() && !legs.text && !legs.vector {
            let behind = from.behind.and_then(|behind| behind.first()).map(|behind| behind.address);
            let found = in_index_order(from.sets.unwrap_or_default(), behind, offset, limit);
            let hits: Vec<Ranked> = found.into_iter().map(matched).collect();
            return Ok(Page { len: hits.len(), hits, groups: Vec::new(), last: None });
        }
        let Best { hits, sorted } = self.best(from, self.ask.depth(), columns, pace).await?;
        let offset = self.start(offset, hits.iter().map(|hit| hit.address))?;
        let hits: Vec<Ranked> = hits.into_iter().skip(offset).take(limit).collect();
        let last = sorted.into_iter().skip(offset).take(limit).last();
        Ok(Page { len: hits.len(), hits, groups: Vec::new(), last })
    }

    /// The page where each value of a column has one hit.
    async fn collapsed(
        &self,
        collapse: CollapseAsk,
        from: &mut Rankings<'_>,
        total: u64,
        columns: &mut [SegmentColumns],
        pace: &mut Pace<'_>,
    ) -> Result<Page> {
        let (needed, all) = (self.ask.depth(), usize::try_from(total).unwrap_or(usize::MAX));
        let mut groups = Groups::default();
        let mut depth = if collapse.inner_hits > 0 { all } else { needed.saturating_mul(2).max(FIRST_DEPTH) };
        loop {
            if self.ask.limit == 0 {
                break;
            }
            let hits = self.best(from, depth, columns, pace).await?.hits;
            let seen = groups.num_hits.min(hits.len());
            self.group(collapse, &hits[seen..], &mut groups, columns).await?;
            if hits.len() < depth || depth >= all || groups.groups.len() >= needed {
                break;
            }
            depth = depth.saturating_mul(GROWTH);
            pace.step().await?;
        }
        let offset = self.start(self.ask.offset, groups.groups.iter().map(|group| group.best.address))?;
        let groups: Vec<Group> = groups.groups.into_iter().skip(offset).take(self.ask.limit).collect();
        let inner = groups.iter().flat_map(|group| &group.inner).copied();
        let hits: Vec<Ranked> = groups.iter().map(|group| group.best).chain(inner).collect();
        Ok(Page { len: groups.len(), hits, groups, last: None })
    }

    /// How many hits come before the page: `offset`, or up to the cursor's where that is a position.
    fn start(&self, offset: usize, mut hits: impl Iterator<Item = DocAddress> + Clone) -> Result<usize> {
        let Some(cursor) = self.ask.after.as_ref().filter(|_| !self.ask.is_by_place()) else { return Ok(offset) };
        let is_it = |hit: DocAddress| {
            hit.doc.0 == cursor.doc && self.segments[hit.segment.0 as usize].segment.id() == cursor.segment
        };
        if offset.checked_sub(1).and_then(|before| hits.clone().nth(before)).is_some_and(is_it) {
            return Ok(offset);
        }
        // Deeper rankings of an approximate search may shift by a few.
        let found = hits.position(is_it).map(|at| at + 1);
        found.ok_or_else(|| Error::invalid("after: this cursor is of another search"))
    }
}

impl Page {
    /// Asks for the keywords of the cursor, where they were not looked up before.
    pub fn want_cursor_words<F: File>(&self, search: &Search<'_, F>, words: &mut Words, batch: &mut Batch) {
        for (_, _, segment, field, column, ord) in search.keyword_uses(self.last.as_slice()) {
            words.want(batch, segment, field, &column, ord);
        }
    }

    /// The place of the last hit; `None` without hits.
    pub fn cursor<F: File>(&mut self, search: &Search<'_, F>, words: &mut Words) -> Result<Option<String>> {
        let Some(address) = self.len.checked_sub(1).map(|last| self.hits[last].address) else { return Ok(None) };
        for (_, key, segment, field, column, ord) in search.keyword_uses(self.last.as_slice()) {
            if let Some(last) = &mut self.last {
                last.set_word(key, words.get(segment, field, &column, ord)?);
            }
        }
        let is_by_place = search.ask.is_by_place();
        let keys = self.last.as_ref().filter(|_| is_by_place).map(|last| last.cursor_keys(&search.ask.sort));
        let cursor = Cursor {
            order: search.ask.order(),
            snapshot: search.fingerprint,
            segment: search.segments[address.segment.0 as usize].segment.id(),
            doc: address.doc.0,
            position: if is_by_place { 0 } else { (search.ask.offset + self.len) as u64 },
            neighbours: search.ask.vector.as_ref().map_or(0, |vector| vector.k.min(u32::MAX as usize) as u32),
            keys: keys.unwrap_or_default(),
        };
        Ok(Some(cursor.to_text()))
    }

    /// Puts inner hits where they belong.
    pub fn arrange<F: File>(&self, search: &Search<'_, F>, hits: Vec<Hit>) -> Vec<Hit> {
        let Some(collapse) = search.ask.collapse else { return hits };
        let mut hits = hits.into_iter();
        let mut page: Vec<Hit> = hits.by_ref().take(self.len).collect();
        for (hit, group) in page.iter_mut().zip(&self.groups) {
            hit.group = group.value(collapse.kind);
            hit.inner = hits.by_ref().take(group.inner.len()).collect();
        }
        page
    }
}
