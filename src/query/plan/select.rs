//! The waves behind skip data: which blocks to read, most promising first, until no other document can win.
//!
//! ```text
//! windows: stretches of documents between the borders of blocks, each with a bound; of all segments together
//! until none is left:
//!     floor: the score of the k-th best document of what was read, or of those that impacts speak for
//!     windows whose bound does not get above it are given up
//!     the most promising ones are asked for: blocks of all terms, norms, positions
//! ```
//! A first round reads about as much as an answer takes, a second one several times that, a third one all that is left:
//! so there are at most three. Equal scores go to the smaller document: a window whose bound equals the floor is given up
//! only behind the document that the floor is from.

use std::{collections::HashSet, ops::Range};

use crate::{
    error::{Error, Result},
    ids::FieldOrd,
    platform::Cancel,
    postings::TextStream,
    query::{Plan, SegmentFilter, bind::Node, collect::Accept},
    topk::{TopK, order},
};

use super::{
    blocks::{List, Window},
    bounds::Compiled,
    machine::{Slot, State},
};

/// Documents whose norms are asked for together.
const NORM_PAGE: u32 = 512;
/// What a read of a few bytes costs at least: the unit of checksums.
const CHUNK_BYTES: u64 = 4096;
/// Rounds with a budget; the one behind them takes what is left.
const BUDGETED_ROUNDS: usize = 2;
/// The second round may cost so many times the first one.
const GROWTH: u64 = 8;

/// A score that the k-th best document has at least, and the last document that this is known from.
#[derive(Debug, Clone, Copy)]
struct Floor {
    score: f32,
    from: (u32, u32),
}

impl Floor {
    /// Whether a window could have a document that is better.
    fn lets(&self, window: &Window) -> bool {
        window.bound > self.score || (window.bound == self.score && (window.segment, window.from) <= self.from)
    }

    fn or_higher(self, other: Self) -> Self {
        let is_lower = self.score < other.score || (self.score == other.score && self.from > other.from);
        if is_lower { other } else { self }
    }
}

/// What is going on between rounds.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub compiled: Option<Compiled>,
    /// Per segment, one list per term; none where a segment was read whole.
    lists: Vec<Vec<List>>,
    /// What was not read yet.
    windows: Vec<Window>,
    reached: Option<Floor>,
    chunks: HashSet<[u32; 4]>,
    norm_pages: HashSet<[u32; 3]>,
    round: usize,
    is_open: bool,
}

impl Plan {
    /// Decides what to read next for [`Purpose::Top`](super::Purpose::Top): called when nothing is wanted and the plan is
    /// not ready. `filters` has one entry per segment, the same at each call. At most three waves come of it.
    ///
    /// # Errors
    /// `corrupt` if skip data or postings are damaged, `aborted` once cancelled.
    pub fn choose(&mut self, filters: &[SegmentFilter], cancel: &Cancel) -> Result<()> {
        if filters.len() != self.segments.len() {
            return Err(Error::invalid(format!("{} filters for {} segments", filters.len(), self.segments.len())));
        }
        if self.state != State::Parts || !self.wants.is_empty() {
            return Ok(());
        }
        let mut selection = std::mem::take(&mut self.selection);
        while self.wants.is_empty() && self.state == State::Parts {
            cancel.check()?;
            if !selection.is_open {
                self.open_selection(&mut selection, filters)?;
            }
            if !selection.windows.is_empty()
                && let Some(floor) = self.floor(&selection, filters, cancel)?
            {
                selection.windows.retain(|window| floor.lets(window));
            }
            if selection.windows.is_empty() {
                self.state = State::Ready;
                return Ok(());
            }
            let chosen = self.pick(&mut selection);
            self.request_windows(&mut selection, &chosen)?;
        }
        self.selection = selection;
        Ok(())
    }

    fn depth(&self) -> usize {
        self.purpose.depth().unwrap_or(0)
    }

    fn open_selection(&mut self, selection: &mut Selection, filters: &[SegmentFilter]) -> Result<()> {
        selection.is_open = true;
        let Some(compiled) = &selection.compiled else { return Ok(()) };
        // The best scores that documents reach with each weight of each term.
        let mut reached: Vec<Vec<TopK<(u32, u32)>>> =
            compiled.lists.iter().map(|list| vec![TopK::new(self.depth()); list.weights.len()]).collect();
        for (segment, filter) in filters.iter().enumerate() {
            let mut lists = Vec::new();
            if self.data[segment].partial.is_some() {
                let accept = Accept::new(filter);
                let counts = compiled.reaches && accept.all();
                for (plan, reached) in compiled.lists.iter().zip(&mut reached) {
                    lists.push(self.open_list(segment, plan, |weight, score, last| {
                        if counts {
                            reached[weight].push(score, (segment as u32, last));
                        }
                    })?);
                }
                self.open_windows(segment, compiled, &lists, &accept, &mut selection.windows);
            }
            selection.lists.push(lists);
        }
        let full = reached.into_iter().flatten().filter(TopK::is_full);
        let floors = full.filter_map(|top| top.into_sorted_vec().last().copied());
        let floors = floors.map(|worst| Floor { score: worst.score, from: worst.ord });
        selection.reached = floors.reduce(Floor::or_higher);
        Ok(())
    }

    /// What the k-th best document scores at least; `None` if there are not as many yet.
    fn floor(&self, selection: &Selection, filters: &[SegmentFilter], cancel: &Cancel) -> Result<Option<Floor>> {
        let k = self.depth();
        let top = self.rank_read(k, filters, cancel)?;
        let worst = top.last().filter(|_| top.len() >= k);
        let read = worst.map(|worst| Floor { score: worst.score, from: (worst.segment, worst.doc.0) });
        Ok(match (read, selection.reached) {
            (Some(read), Some(reached)) => Some(read.or_higher(reached)),
            (read, reached) => read.or(reached),
        })
    }

    /// Takes the windows of the next round.
    fn pick(&self, selection: &mut Selection) -> Vec<Window> {
        selection.round += 1;
        let mut windows = std::mem::take(&mut selection.windows);
        // One term reaches its scores, whatever else is read.
        let is_final = selection.reached.is_some() && matches!(self.root, Node::Term { .. });
        if is_final || selection.round > BUDGETED_ROUNDS {
            return windows;
        }
        order::by(&mut windows, |a, b| {
            b.bound.total_cmp(&a.bound).then_with(|| (a.segment, a.from).cmp(&(b.segment, b.from)))
        });
        let budget = self.round_bytes.saturating_mul(GROWTH.pow(selection.round as u32 - 1));
        let (mut cost, mut docs, mut taken) = (0u64, 0.0f32, None);
        for (ix, window) in windows.iter().enumerate() {
            cost += self.cost(selection, window);
            docs += window.docs;
            let is_enough = docs >= self.depth() as f32 || cost >= budget.saturating_mul(GROWTH);
            if taken.is_none() && cost >= budget && is_enough {
                taken = Some(ix + 1);
            }
            if cost > budget.saturating_mul(2) && taken.is_some() {
                break;
            }
        }
        // A little more is not worth another wave.
        if let Some(taken) = taken.filter(|_| cost > budget.saturating_mul(2)) {
            selection.windows = windows.split_off(taken);
        }
        windows
    }

    /// Bytes that a window adds to what was counted already.
    fn cost(&self, selection: &mut Selection, window: &Window) -> u64 {
        let Selection { lists, chunks, .. } = selection;
        let mut added = 0;
        let mut touch = |of: [u32; 3], range: Range<u64>| {
            for chunk in range.start / CHUNK_BYTES..range.end.div_ceil(CHUNK_BYTES) {
                added += CHUNK_BYTES * u64::from(chunks.insert([of[0], of[1], of[2], chunk as u32]));
            }
        };
        let segment = window.segment as usize;
        for list in &lists[segment] {
            let (Some(block), Some(info)) = (list.block_of(window.from), self.data[segment].terms[list.leaf].info)
            else {
                continue;
            };
            let (block, field) = (&list.blocks[block], u32::from(self.terms[list.leaf].field.0));
            let (docs, positions) = (info.docs_range().start + u64::from(info.skip_len), info.start);
            if !block.is_read {
                touch([window.segment, field, 0], shifted(&block.docs, docs));
                touch([window.segment, field, 0], shifted(&block.positions, positions));
            }
            if self.terms[list.leaf].scored {
                touch([window.segment, field, 1], u64::from(window.from)..u64::from(window.to));
            }
        }
        added
    }

    /// Asks for what windows need.
    fn request_windows(&mut self, selection: &mut Selection, windows: &[Window]) -> Result<()> {
        for segment in 0..self.segments.len() {
            let here: Vec<&Window> = windows.iter().filter(|window| window.segment as usize == segment).collect();
            if here.is_empty() {
                continue;
            }
            for list in &mut selection.lists[segment] {
                let (mut docs, mut positions) = (Vec::new(), Vec::new());
                for window in &here {
                    let Some(block) = list.block_of(window.from).and_then(|ix| list.take(ix)) else { continue };
                    docs.push(block.docs);
                    positions.push(block.positions);
                }
                let (leaf, field) = (list.leaf, self.terms[list.leaf].field);
                let info = self.data[segment].terms[leaf].info.unwrap_or_default();
                let (docs_at, positions_at) = (info.docs_range().start + u64::from(info.skip_len), info.start);
                for range in joined(docs) {
                    let slot = Slot::DocsPart { leaf, start: range.start };
                    self.request(segment, field, TextStream::Postings, shifted(&range, docs_at), slot)?;
                }
                for range in joined(positions) {
                    let slot = Slot::PositionsPart { leaf, start: range.start };
                    self.request(segment, field, TextStream::Postings, shifted(&range, positions_at), slot)?;
                }
            }
            for field in self.scored_fields(segment) {
                let mut pages = Vec::new();
                for window in &here {
                    for page in window.from / NORM_PAGE..window.to.div_ceil(NORM_PAGE) {
                        if selection.norm_pages.insert([segment as u32, u32::from(field.0), page]) {
                            let end = ((page + 1) * NORM_PAGE).min(self.segments[segment].max_doc);
                            pages.push(u64::from(page * NORM_PAGE)..u64::from(end));
                        }
                    }
                }
                for range in joined(pages) {
                    let slot = Slot::NormsPart { start: range.start };
                    self.request(segment, field, TextStream::Norms, range, slot)?;
                }
            }
            if let Some(partial) = &mut self.data[segment].partial {
                partial.add(here.iter().map(|window| window.from..window.to));
            }
        }
        Ok(())
    }

    /// Fields whose norms the query scores with.
    pub(super) fn scored_fields(&self, segment: usize) -> Vec<FieldOrd> {
        let mut fields = Vec::new();
        for leaf in self.terms.iter().filter(|leaf| leaf.scored) {
            let has_norms = self.segments[segment].fields.get(&leaf.field).is_some_and(|text| text.has_norms);
            if has_norms && !fields.contains(&leaf.field) {
                fields.push(leaf.field);
            }
        }
        fields
    }
}

fn shifted(range: &Range<u64>, by: u64) -> Range<u64> {
    range.start + by..range.end + by
}

/// Ranges in order, those that touch or overlap as one, none empty.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    order::by_key(&mut ranges, |range| range.start);
    ranges.dedup_by(|later, kept| {
        let touches = later.start <= kept.end;
        if touches {
            kept.end = kept.end.max(later.end);
        }
        touches
    });
    ranges
}
