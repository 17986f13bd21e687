//! Top k, counts, sets, scores.

use crate::{
    bitset::BitSet,
    error::{Error, Result},
    ids::DocOrd,
    platform::Cancel,
    query::{
        Plan, ScoredDoc, SegmentFilter,
        bind::Node,
        collect::{self, Accept, Ranking},
    },
    topk::TopK,
};

use super::{run::SegmentRun, shapes::Bulk};

impl Plan {
    /// The `k` best documents: score descending, then segment and document ascending. Skips what cannot get there.
    /// `filters` has one entry per segment.
    ///
    /// # Errors
    /// `corrupt` if postings are damaged, `aborted` once cancelled.
    pub fn top_k(&self, k: usize, filters: &[SegmentFilter], cancel: &Cancel) -> Result<Vec<ScoredDoc>> {
        self.rank(k, filters, cancel, false)
    }

    /// The same without skipping anything: the twin that tests compare with.
    ///
    /// # Errors
    /// As [`Self::top_k`].
    pub fn top_k_exhaustive(&self, k: usize, filters: &[SegmentFilter], cancel: &Cancel) -> Result<Vec<ScoredDoc>> {
        self.rank(k, filters, cancel, true)
    }

    fn rank(&self, k: usize, filters: &[SegmentFilter], cancel: &Cancel, all: bool) -> Result<Vec<ScoredDoc>> {
        let mut top = TopK::new(k);
        for run in self.runs(filters)? {
            if k == 0 {
                break;
            }
            let mut ranking =
                Ranking { top: &mut top, segment: run.segment as u32, accept: Accept::new(run.filter), cancel };
            let max_doc = self.segments[run.segment].max_doc;
            let scored = if all { None } else { run.bulk() };
            match scored {
                Some(Bulk::Union(mut terms, groups)) => collect::union(&mut terms, groups, max_doc, &mut ranking)?,
                Some(Bulk::Conjunction(mut terms)) => collect::conjunction(&mut terms, &mut ranking)?,
                None => {
                    if let Some(mut scorer) = run.build(&self.root, true) {
                        collect::each(scorer.as_mut(), &mut ranking)?;
                    }
                }
            }
            run.check()?;
        }
        let hits = top.into_sorted_vec().into_iter();
        Ok(hits.map(|hit| ScoredDoc { score: hit.score, segment: hit.ord.0, doc: DocOrd(hit.ord.1) }).collect())
    }

    fn runs<'a>(&'a self, filters: &'a [SegmentFilter]) -> Result<impl Iterator<Item = SegmentRun<'a>>> {
        if filters.len() != self.segments.len() {
            return Err(Error::invalid(format!("{} filters for {} segments", filters.len(), self.segments.len())));
        }
        self.check_ready()?;
        filters.iter().try_for_each(|filter| self.check_filter(filter))?;
        let matching = filters.iter().enumerate().filter(|(segment, _)| self.data[*segment].can_match);
        Ok(matching.map(|(segment, filter)| SegmentRun::new(self, segment, filter)))
    }

    fn check_ready(&self) -> Result<()> {
        if self.is_ready() { Ok(()) } else { Err(Error::invalid("a plan was run before it had its bytes")) }
    }

    fn check_filter(&self, filter: &SegmentFilter) -> Result<()> {
        if filter.columns.len() == self.columns.len() {
            return Ok(());
        }
        Err(Error::invalid(format!("{} columns for {} column leaves", filter.columns.len(), self.columns.len())))
    }

    pub(in crate::query) fn run<'a>(
        &'a self,
        segment: usize,
        filter: &'a SegmentFilter,
    ) -> Result<Option<SegmentRun<'a>>> {
        self.check_ready()?;
        self.check_filter(filter)?;
        let Some(data) = self.data.get(segment) else {
            return Err(Error::invalid(format!("segment {segment} of {}", self.segments.len())));
        };
        Ok(data.can_match.then(|| SegmentRun::new(self, segment, filter)))
    }

    /// How many documents match, exactly; nothing is scored.
    ///
    /// # Errors
    /// As [`Self::top_k`].
    pub fn count(&self, filters: &[SegmentFilter], cancel: &Cancel) -> Result<u64> {
        let mut total = 0;
        for run in self.runs(filters)? {
            cancel.check()?;
            let accept = Accept::new(run.filter);
            if accept.all()
                && let Some(count) = run.known_count()
            {
                total += count;
                continue;
            }
            if matches!(self.root, Node::All(_)) {
                total += u64::from(accept.count(BitSet::full(self.segments[run.segment].max_doc)));
            } else if let Some(leaves) = self.root.any_leaves() {
                total += u64::from(accept.count(run.union_set(&leaves)));
            } else if let Some(mut scorer) = run.build(&self.root, false) {
                total += collect::count(scorer.as_mut(), &accept, cancel)?;
            }
            run.check()?;
        }
        Ok(total)
    }

    /// The matching documents of a segment.
    ///
    /// # Errors
    /// If postings are damaged.
    pub fn matches(&self, segment: usize, filter: &SegmentFilter) -> Result<BitSet> {
        let Some(run) = self.run(segment, filter)? else {
            return Ok(BitSet::new(self.segments[segment].max_doc));
        };
        let mut set = match self.root.any_leaves() {
            Some(leaves) => run.union_set(&leaves),
            None => run.set(&self.root),
        };
        run.check()?;
        for other in [&filter.live, &filter.filter].into_iter().flatten() {
            if other.len() == set.len() {
                set.and(other);
            }
        }
        Ok(set)
    }

    /// The scores of given documents of a segment, which ascend; `None` where one does not match.
    ///
    /// # Errors
    /// If postings are damaged.
    pub fn scores(&self, segment: usize, docs: &[DocOrd], filter: &SegmentFilter) -> Result<Vec<Option<f32>>> {
        let run = self.run(segment, filter)?;
        let Some((run, mut scorer)) = run.and_then(|run| run.build(&self.root, true).map(|scorer| (run, scorer)))
        else {
            return Ok(vec![None; docs.len()]);
        };
        let accept = Accept::new(filter);
        let mut last = None;
        let scores = docs
            .iter()
            .map(|&DocOrd(doc)| {
                if last.is_none_or(|(last, _)| last != doc) {
                    let found = accept.has(doc) && scorer.advance(doc) == doc;
                    last = Some((doc, found.then(|| scorer.score())));
                }
                last.and_then(|(_, score)| score)
            })
            .collect();
        run.check()?;
        Ok(scores)
    }
}
