//! Top k, counts, sets, scores.

use crate::{
    bitset::BitSet,
    error::{Error, Result},
    ids::DocOrd,
    platform::Cancel,
    postings::END,
    query::{
        Plan, ScoredDoc, SegmentFilter, Total,
        bind::Node,
        collect::{self, Accept, Ranking},
    },
    topk::TopK,
};

use super::{run::SegmentRun, shapes::Bulk};

/// Windows of fewer documents are scored one by one: a collector of its own costs more to set up.
const SHORT_WINDOW: usize = 1024;

/// How much of the documents is looked at.
enum Effort<'a> {
    /// What could win.
    Skip,
    /// The same, and all that match are counted.
    Count(&'a mut u64),
    /// All.
    All,
}

impl Plan {
    /// The `k` best documents: score descending, then segment and document ascending. Skips what cannot get there.
    /// `filters` has one entry per segment.
    ///
    /// # Errors
    /// `corrupt` if postings are damaged, `aborted` once cancelled.
    pub fn top_k(&self, k: usize, filters: &[SegmentFilter], cancel: &Cancel) -> Result<Vec<ScoredDoc>> {
        self.rank(k, filters, cancel, Effort::Skip)
    }

    /// The same, and how many documents match: in one pass where that costs less than two.
    ///
    /// # Errors
    /// As [`Self::top_k`].
    pub fn top_k_and_count(
        &self,
        k: usize,
        filters: &[SegmentFilter],
        cancel: &Cancel,
    ) -> Result<(Vec<ScoredDoc>, u64)> {
        if k == 0 || self.data.iter().any(|data| data.partial.is_some()) {
            return Ok((self.top_k(k, filters, cancel)?, self.count(filters, cancel)?));
        }
        let mut count = 0;
        let top = self.rank(k, filters, cancel, Effort::Count(&mut count))?;
        Ok((top, count))
    }

    /// The best, and [`Self::total`].
    ///
    /// # Errors
    /// As [`Self::top_k`].
    pub fn top_k_and_total(
        &self,
        k: usize,
        filters: &[SegmentFilter],
        cancel: &Cancel,
    ) -> Result<(Vec<ScoredDoc>, Total)> {
        if self.data.iter().any(|data| data.partial.is_some()) {
            return Ok((self.top_k(k, filters, cancel)?, self.total(filters, cancel)?));
        }
        let (top, count) = self.top_k_and_count(k, filters, cancel)?;
        Ok((top, Total { count, is_exact: true }))
    }

    /// The same without skipping anything: the twin that tests compare with.
    ///
    /// # Errors
    /// As [`Self::top_k`].
    pub fn top_k_exhaustive(&self, k: usize, filters: &[SegmentFilter], cancel: &Cancel) -> Result<Vec<ScoredDoc>> {
        self.rank(k, filters, cancel, Effort::All)
    }

    fn rank(&self, k: usize, filters: &[SegmentFilter], cancel: &Cancel, effort: Effort<'_>) -> Result<Vec<ScoredDoc>> {
        self.check_ready()?;
        if self.purpose.depth().is_some_and(|depth| depth < k) {
            return Err(Error::invalid(format!("the {k} best of a plan for {:?}", self.purpose)));
        }
        self.rank_windows(k, filters, cancel, effort)
    }

    /// The best of what was read so far.
    pub(in crate::query) fn rank_read(
        &self,
        k: usize,
        filters: &[SegmentFilter],
        cancel: &Cancel,
    ) -> Result<Vec<ScoredDoc>> {
        self.rank_windows(k, filters, cancel, Effort::Skip)
    }

    fn rank_windows(
        &self,
        k: usize,
        filters: &[SegmentFilter],
        cancel: &Cancel,
        mut effort: Effort<'_>,
    ) -> Result<Vec<ScoredDoc>> {
        let mut top = TopK::new(k);
        for run in self.runs(filters)? {
            if k == 0 {
                break;
            }
            match &self.data[run.segment].partial {
                None => self.rank_run(&run, &mut top, cancel, &mut effort)?,
                Some(partial) => {
                    for window in &partial.windows {
                        cancel.check()?;
                        let run = SegmentRun::new(self, run.segment, run.filter).within(window.clone());
                        if window.len() < SHORT_WINDOW {
                            self.rank_run(&run, &mut top, cancel, &mut Effort::All)?;
                        } else {
                            self.rank_run(&run, &mut top, cancel, &mut effort)?;
                        }
                    }
                }
            }
        }
        let hits = top.into_sorted_vec().into_iter();
        Ok(hits.map(|hit| ScoredDoc { score: hit.score, segment: hit.ord.0, doc: DocOrd(hit.ord.1) }).collect())
    }

    fn rank_run(
        &self,
        run: &SegmentRun<'_>,
        top: &mut TopK<(u32, u32)>,
        cancel: &Cancel,
        effort: &mut Effort<'_>,
    ) -> Result<()> {
        let skips = !matches!(effort, Effort::All);
        // Conditions are sets of all documents, so that all lists have to be there.
        let is_whole = self.data[run.segment].partial.is_none();
        if skips && is_whole {
            let accept = Accept::new(run.filter);
            if let Some((doc, score)) = run.only_match(&self.root) {
                if accept.has(doc) {
                    top.push(score, (run.segment as u32, doc));
                    if let Effort::Count(count) = effort {
                        **count += 1;
                    }
                }
                return Ok(());
            }
            if let Some(sparse) = run.sparse(&self.root, &accept, true, cancel)? {
                run.rank_sparse(
                    &sparse,
                    &mut Ranking { top, segment: run.segment as u32, accept, is_whole: true, cancel },
                )?;
                if let Effort::Count(count) = effort {
                    **count += sparse.count();
                }
                return run.check();
            }
        }
        let split = if skips && is_whole { run.split_conditions(&self.root) } else { None };
        let (root, conditions) = split.as_ref().map_or((&self.root, None), |(core, set)| (core, Some(set)));
        let accept = Accept::new(run.filter).with_conditions(conditions);
        let mut ranking =
            Ranking { top, segment: run.segment as u32, accept, is_whole: run.window == (0..END), cancel };
        if let (Effort::Skip, Node::Term { leaf, boost }) = (&effort, root) {
            if let Some(mut term) = run.term(*leaf, *boost) {
                collect::single(&mut term, run.window.start, &mut ranking)?;
            }
            return run.check();
        }
        // A pass over all documents counts as it goes; what skips some has to count apart, best as a set.
        let counts = matches!(effort, Effort::Count(_));
        let apart = counts && run.is_best_as_set(root);
        let bulk = if skips { run.bulk(root) } else { None };
        let bulk = bulk.filter(|bulk| !counts || apart || !matches!(bulk, Bulk::RequiredUnion(..)));
        let mut found = None;
        match bulk {
            Some(Bulk::Union(mut terms, groups)) => {
                // A run over everything ends at END; windows behind the last document would be walked for nothing.
                let window = run.window.start..run.window.end.min(run.max_doc());
                collect::union(&mut terms, groups, &window, &mut ranking)?;
            }
            Some(Bulk::RequiredUnion(mut terms, mut required)) => {
                let window = run.window.start..run.window.end.min(run.max_doc());
                collect::union_with(&mut terms, &mut required, &window, &mut ranking)?;
            }
            Some(Bulk::Conjunction(mut terms)) if counts && !apart => {
                found = Some(collect::conjunction_and_count(&mut terms, &mut ranking)?);
            }
            Some(Bulk::Conjunction(mut terms)) => collect::conjunction(&mut terms, run.window.start, &mut ranking)?,
            None => {
                if let Some(mut scorer) = run.build(root, true) {
                    let skips = matches!(effort, Effort::Skip) || (counts && run.is_far_best_as_set(root));
                    let passed = collect::each(scorer.as_mut(), &run.window, &mut ranking, skips)?;
                    found = (!skips).then_some(passed);
                } else {
                    found = Some(0);
                }
            }
        }
        if let Effort::Count(count) = effort {
            **count += match found {
                Some(found) => found,
                None => run.count(root, &ranking.accept, cancel)?,
            };
        }
        run.check()
    }

    fn runs<'a>(&'a self, filters: &'a [SegmentFilter]) -> Result<impl Iterator<Item = SegmentRun<'a>>> {
        if filters.len() != self.segments.len() {
            return Err(Error::invalid(format!("{} filters for {} segments", filters.len(), self.segments.len())));
        }
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
        self.check_ready()?;
        let mut total = 0;
        for run in self.runs(filters)? {
            total += self.count_run(&run, cancel)?;
        }
        Ok(total)
    }

    /// How many documents match, exactly, where statistics tell it: nothing is looked at.
    ///
    /// # Errors
    /// As [`Self::top_k`].
    pub fn known_count(&self, filters: &[SegmentFilter]) -> Result<Option<u64>> {
        self.check_ready()?;
        Ok(self.runs(filters)?.map(|run| run.known()).sum())
    }

    fn count_run(&self, run: &SegmentRun<'_>, cancel: &Cancel) -> Result<u64> {
        cancel.check()?;
        if let Some(count) = run.known() {
            return Ok(count);
        }
        self.check_lists(run.segment)?;
        let count = run.count(&self.root, &Accept::new(run.filter), cancel)?;
        run.check()?;
        Ok(count)
    }

    /// How many documents match: exactly where postings or statistics say so without another read, else at least.
    ///
    /// # Errors
    /// As [`Self::top_k`].
    pub fn total(&self, filters: &[SegmentFilter], cancel: &Cancel) -> Result<Total> {
        self.check_ready()?;
        let mut total = Total { count: 0, is_exact: true };
        for run in self.runs(filters)? {
            if run.known().is_some() || self.check_lists(run.segment).is_ok() {
                total.count += self.count_run(&run, cancel)?;
            } else {
                total.count += run.count_at_least();
                total.is_exact = false;
            }
        }
        Ok(total)
    }

    /// How many documents match as far as statistics say: nothing is looked at.
    ///
    /// # Errors
    /// As [`Self::top_k`].
    pub fn total_at_least(&self, filters: &[SegmentFilter]) -> Result<Total> {
        self.check_ready()?;
        let mut total = Total { count: 0, is_exact: true };
        for run in self.runs(filters)? {
            let known = run.known();
            total.count += known.unwrap_or_else(|| run.count_at_least());
            total.is_exact &= known.is_some();
        }
        Ok(total)
    }

    /// # Errors
    /// If not all postings of the segment were read.
    fn check_lists(&self, segment: usize) -> Result<()> {
        match &self.data[segment].partial {
            Some(partial) if !partial.has_lists => {
                Err(Error::invalid(format!("a plan for {:?} has no other documents", self.purpose)))
            }
            _ => Ok(()),
        }
    }

    /// The matching documents of a segment.
    ///
    /// # Errors
    /// If postings are damaged.
    pub fn matches(&self, segment: usize, filter: &SegmentFilter) -> Result<BitSet> {
        let Some(run) = self.run(segment, filter)? else {
            return Ok(BitSet::new(self.segments[segment].max_doc));
        };
        self.check_lists(segment)?;
        let mut set = run.matching_set(&self.root);
        run.check()?;
        for other in [&filter.live, &filter.filter].into_iter().flatten() {
            if other.len() == set.len() {
                set.and(other);
            }
        }
        Ok(set)
    }

    /// The matching documents of a segment, ascending, where they are those of one term that few documents have.
    ///
    /// # Errors
    /// If postings are damaged.
    pub fn matching_list(&self, segment: usize, filter: &SegmentFilter) -> Result<Option<Vec<u32>>> {
        let Some(run) = self.run(segment, filter)? else { return Ok(Some(Vec::new())) };
        let Some(mut docs) = run.short_list(&self.root) else { return Ok(None) };
        self.check_lists(segment)?;
        run.check()?;
        let accept = Accept::new(filter);
        if !accept.all() {
            docs.retain(|&doc| accept.has(doc));
        }
        Ok(Some(docs))
    }

    /// The scores of given documents of a segment, which ascend; `None` where one does not match.
    ///
    /// # Errors
    /// If postings are damaged.
    pub fn scores(&self, segment: usize, docs: &[DocOrd], filter: &SegmentFilter) -> Result<Vec<Option<f32>>> {
        let run = self.run(segment, filter)?;
        let is_partial = self.data.get(segment).is_some_and(|data| data.partial.is_some());
        if is_partial || self.purpose.depth() == Some(0) {
            return Err(Error::invalid(format!("a plan for {:?} scores no other documents", self.purpose)));
        }
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
