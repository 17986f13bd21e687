//! Answers of a plan that has all its bytes: top k, counts, sets, scores.

use std::sync::Arc;

use crate::{
    bitset::BitSet,
    error::{Error, Result},
    ids::DocOrd,
    platform::Cancel,
    postings::{Damage, END, Postings},
    query::{
        PatternScoring, Plan, ScoredDoc, SegmentFilter,
        bind::Node,
        collect::{self, Accept, Groups, Ranking},
        scorer::{
            BoxScorer,
            boolean::{AndScorer, Combine, ConstantScorer, ExcludeScorer, OptionalScorer, OrScorer},
            phrase::PhraseScorer,
            sets::{AllScorer, ListScorer, SetScorer},
            term::{Norms, TermScorer, TermWeight},
        },
    },
    topk::TopK,
};

/// Groups of a union that has a collector of its own: each takes 48 KiB.
const MAX_GROUPS: usize = 32;

/// One segment while it is being answered.
pub(super) struct SegmentRun<'a> {
    pub plan: &'a Plan,
    pub segment: usize,
    pub filter: &'a SegmentFilter,
    pub damage: Damage,
}

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
        let matching = filters.iter().enumerate().filter(|(segment, _)| self.data[*segment].can_match);
        Ok(matching.map(|(segment, filter)| SegmentRun { plan: self, segment, filter, damage: Damage::default() }))
    }

    fn check_ready(&self) -> Result<()> {
        if self.is_ready() { Ok(()) } else { Err(Error::invalid("a plan was run before it had its bytes")) }
    }

    pub(super) fn run<'a>(&'a self, segment: usize, filter: &'a SegmentFilter) -> Result<Option<SegmentRun<'a>>> {
        self.check_ready()?;
        let Some(data) = self.data.get(segment) else {
            return Err(Error::invalid(format!("segment {segment} of {}", self.segments.len())));
        };
        Ok(data.can_match.then(|| SegmentRun { plan: self, segment, filter, damage: Damage::default() }))
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

/// Shapes that have a collector of their own.
enum Bulk {
    Union(Vec<TermScorer>, Option<Groups>),
    Conjunction(Vec<TermScorer>),
}

/// Leaves with their boosts, and how much the lesser ones of the group count.
type TermGroup = (Vec<(usize, f32)>, f32);

impl Node {
    /// Terms of a query that is nothing but a union of terms.
    fn union_leaves(&self) -> Option<Vec<(usize, f32)>> {
        match self {
            Self::Term { leaf, boost } => Some(vec![(*leaf, *boost)]),
            Self::Boolean { must, should, must_not, filter, min_should: 0..=1 }
                if must.is_empty() && must_not.is_empty() && filter.is_empty() =>
            {
                terms_of(should)
            }
            _ => None,
        }
    }

    /// Terms of a query that matches where any of them is.
    fn any_leaves(&self) -> Option<Vec<(usize, f32)>> {
        let of_groups = || self.union_groups().map(|groups| groups.into_iter().flat_map(|(terms, _)| terms).collect());
        self.union_leaves().or_else(of_groups)
    }

    /// Terms of a union of terms and of best-of groups of terms, group by group with their tie breakers.
    fn union_groups(&self) -> Option<Vec<TermGroup>> {
        let group = |node: &Self| match node {
            Self::Term { leaf, boost } => Some((vec![(*leaf, *boost)], 1.0)),
            Self::DisMax { nodes, tie_breaker } if (0.0..=1.0).contains(tie_breaker) => {
                terms_of(nodes).map(|terms| (terms, *tie_breaker))
            }
            _ => None,
        };
        match self {
            Self::DisMax { .. } => group(self).map(|group| vec![group]),
            Self::Boolean { must, should, must_not, filter, min_should: 0..=1 }
                if must.is_empty() && must_not.is_empty() && filter.is_empty() =>
            {
                should.iter().map(group).collect::<Option<Vec<_>>>().filter(|groups| groups.len() <= MAX_GROUPS)
            }
            _ => None,
        }
    }

    /// Terms of a query that is nothing but a conjunction of terms.
    fn conjunction_leaves(&self) -> Option<Vec<(usize, f32)>> {
        match self {
            Self::Boolean { must, should, must_not, filter, .. }
                if should.is_empty() && must_not.is_empty() && filter.is_empty() =>
            {
                terms_of(must)
            }
            _ => None,
        }
    }
}

fn terms_of(nodes: &[Node]) -> Option<Vec<(usize, f32)>> {
    let term = |node: &Node| match node {
        Node::Term { leaf, boost } => Some((*leaf, *boost)),
        _ => None,
    };
    nodes.iter().map(term).collect()
}

impl SegmentRun<'_> {
    /// # Errors
    /// What was damaged.
    pub fn check(&self) -> Result<()> {
        let at = |error| Error::corrupt(format!("postings of segment {}", self.segment), error);
        self.damage.check().map_err(at)
    }

    fn max_doc(&self) -> u32 {
        self.plan.segments[self.segment].max_doc
    }

    fn bulk(&self) -> Option<Bulk> {
        if let Some(leaves) = self.plan.root.union_leaves() {
            let terms = leaves.iter().filter_map(|&(leaf, boost)| self.term(leaf, boost)).collect();
            return Some(Bulk::Union(terms, None));
        }
        if let Some(groups) = self.plan.root.union_groups() {
            let (mut terms, mut group_of) = (Vec::new(), Vec::new());
            for (group, (leaves, _)) in groups.iter().enumerate() {
                for term in leaves.iter().filter_map(|&(leaf, boost)| self.term(leaf, boost)) {
                    terms.push(term);
                    group_of.push(group);
                }
            }
            let tie_breakers = groups.iter().map(|(_, share)| *share).collect();
            return Some(Bulk::Union(terms, Some(Groups::new(group_of, tie_breakers))));
        }
        let leaves = self.plan.root.conjunction_leaves()?;
        leaves.iter().map(|&(leaf, boost)| self.term(leaf, boost)).collect::<Option<Vec<_>>>().map(Bulk::Conjunction)
    }

    /// The count of a query that statistics answer, where every document counts.
    fn known_count(&self) -> Option<u64> {
        match &self.plan.root {
            Node::Term { leaf, .. } => {
                Some(self.plan.data[self.segment].terms[*leaf].info.map_or(0, |info| u64::from(info.doc_freq)))
            }
            Node::All(_) => Some(u64::from(self.max_doc())),
            _ => None,
        }
    }

    pub fn postings(&self, leaf: usize, positions: bool) -> Option<Postings> {
        let field = self.plan.terms[leaf].field;
        let term = &self.plan.data[self.segment].terms[leaf];
        let options = self.plan.segments[self.segment].fields.get(&field)?.index.options();
        let positions = if positions { term.positions.clone() } else { None };
        Some(Postings::open(options, self.max_doc(), term.info.as_ref()?, term.docs.clone(), positions, &self.damage))
    }

    pub fn norms(&self, leaf: usize) -> Norms {
        let data = &self.plan.data[self.segment];
        let own = data.terms[leaf].norms.clone();
        own.or_else(|| data.norms.get(&self.plan.terms[leaf].field).cloned()).unwrap_or_default()
    }

    fn weight(&self, leaf: usize, boost: f32) -> TermWeight {
        let weight = &self.plan.term_weights[leaf];
        TermWeight { weight: weight.weight * boost, lengths: weight.lengths.clone() }
    }

    pub fn term(&self, leaf: usize, boost: f32) -> Option<TermScorer> {
        Some(TermScorer::new(self.postings(leaf, false)?, self.weight(leaf, boost), self.norms(leaf)))
    }

    pub fn phrase(&self, leaves: &[(u32, usize)], slop: u32, boost: f32) -> Option<PhraseScorer> {
        let terms: Option<Vec<_>> =
            leaves.iter().map(|&(place, leaf)| Some((self.postings(leaf, true)?, place, leaf))).collect();
        let (terms, first) = (terms?, leaves.first()?.1);
        let idfs = leaves.iter().map(|&(_, leaf)| f64::from(self.plan.term_weights[leaf].weight)).sum::<f64>();
        let weight = TermWeight { weight: idfs as f32 * boost, lengths: self.plan.term_weights[first].lengths.clone() };
        // Norms of a singleton cover one document: with it, a phrase matches nothing else.
        Some(PhraseScorer::new(terms, slop, weight, self.norms(first)))
    }

    /// Documents with one of the terms.
    fn union_set(&self, leaves: &[(usize, f32)]) -> BitSet {
        let mut words = vec![0u64; (self.max_doc() as usize).div_ceil(64)];
        for &(leaf, _) in leaves {
            if let Some(mut postings) = self.postings(leaf, false) {
                postings.next();
                postings.drain_docs(END, |doc| words[doc as usize / 64] |= 1 << (doc % 64));
            }
        }
        BitSet::from_words(words, self.max_doc())
    }

    /// Documents with a term of the pattern.
    fn pattern_set(&self, leaf: usize) -> BitSet {
        let mut set = vec![0u64; (self.max_doc() as usize).div_ceil(64)];
        self.each_pattern_postings(leaf, |mut postings| {
            postings.next();
            postings.drain_docs(END, |doc| set[doc as usize / 64] |= 1 << (doc % 64));
        });
        BitSet::from_words(set, self.max_doc())
    }

    fn each_pattern_postings(&self, leaf: usize, mut each: impl FnMut(Postings)) {
        let field = self.plan.patterns[leaf].field;
        let Some(text) = self.plan.segments[self.segment].fields.get(&field) else { return };
        let options = text.index.options();
        for term in &self.plan.data[self.segment].patterns[leaf] {
            each(Postings::open(options, self.max_doc(), &term.info, term.docs.clone(), None, &self.damage));
        }
    }

    /// Frequencies of all terms of a pattern, summed per document.
    pub fn pattern_freqs(&self, leaf: usize) -> Vec<(u32, u32)> {
        let mut found: Vec<(u32, u32)> = Vec::new();
        let mut terms = 0;
        self.each_pattern_postings(leaf, |mut postings| {
            terms += 1;
            while postings.next() != END {
                found.push((postings.doc(), postings.freq()));
            }
        });
        if terms > 1 {
            found.sort_unstable_by_key(|entry| entry.0);
            found.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    kept.1 = kept.1.saturating_add(later.1);
                }
                same
            });
        }
        found
    }

    fn pattern(&self, leaf: usize, boost: f32, scoring: PatternScoring, scored: bool) -> BoxScorer {
        let weight = &self.plan.pattern_weights[leaf];
        let flat = match scoring {
            PatternScoring::Constant => Some(1.0),
            PatternScoring::Blended if !scored => Some(0.0),
            PatternScoring::Blended => weight.flat,
        };
        if let Some(score) = flat {
            return Box::new(SetScorer::new(Arc::new(self.pattern_set(leaf)), score * boost));
        }
        let boosted = TermWeight { weight: weight.weight.weight * boost, lengths: weight.weight.lengths.clone() };
        let norms = self.plan.data[self.segment].norms.get(&self.plan.patterns[leaf].field).cloned();
        let norms = norms.unwrap_or_default();
        let scores = self.pattern_freqs(leaf).into_iter();
        Box::new(ListScorer::new(scores.map(|(doc, freq)| (doc, boosted.score(freq as f32, norms.get(doc)))).collect()))
    }

    /// The documents of a node as a set.
    fn set(&self, node: &Node) -> BitSet {
        let mut set = BitSet::new(self.max_doc());
        if let Some(mut scorer) = self.build(node, false) {
            let mut doc = scorer.next();
            while doc < self.max_doc() {
                set.insert(doc);
                doc = scorer.next();
            }
        }
        set
    }

    /// The scorer of a node; `None` if it matches nothing here.
    pub fn build(&self, node: &Node, scored: bool) -> Option<BoxScorer> {
        Some(match node {
            Node::None => return None,
            Node::All(score) => Box::new(AllScorer::new(self.max_doc(), *score)),
            Node::Term { leaf, boost } => Box::new(self.term(*leaf, *boost)?),
            Node::Phrase { leaves, slop, boost } => Box::new(self.phrase(leaves, *slop, *boost)?),
            Node::Pattern { leaf, boost, scoring } => {
                if self.plan.data[self.segment].patterns[*leaf].is_empty() {
                    return None;
                }
                self.pattern(*leaf, *boost, *scoring, scored)
            }
            Node::Constant { node, score } => {
                Box::new(ConstantScorer { inner: self.build(node, false)?, score: *score })
            }
            Node::Set(set) => Box::new(SetScorer::new(self.filter.sets.get(*set)?.clone(), 0.0)),
            Node::DisMax { nodes, tie_breaker } => {
                let clauses: Vec<_> = nodes.iter().filter_map(|node| self.build(node, scored)).collect();
                if clauses.is_empty() {
                    return None;
                }
                Box::new(OrScorer::new(clauses, 1, Combine::Best(*tie_breaker)))
            }
            Node::Boolean { must, should, must_not, filter, min_should } => {
                return self.build_boolean([must, should, must_not, filter], *min_should, scored);
            }
        })
    }

    fn build_boolean(
        &self,
        [must, should, must_not, filter]: [&Vec<Node>; 4],
        min_should: usize,
        scored: bool,
    ) -> Option<BoxScorer> {
        let mut required = Vec::with_capacity(must.len() + filter.len() + 1);
        for node in must {
            required.push((self.build(node, scored)?, true));
        }
        for node in filter {
            required.push((self.build(node, false)?, false));
        }
        let mut optional: Vec<_> = should.iter().filter_map(|node| self.build(node, scored)).collect();
        if min_should > 0 {
            if optional.len() < min_should {
                return None;
            }
            let clauses = std::mem::take(&mut optional);
            required.push((Box::new(OrScorer::new(clauses, min_should, Combine::Sum)), true));
        }
        let mut scorer: BoxScorer = if required.len() == 1 && required[0].1 {
            required.remove(0).0
        } else if required.is_empty() {
            return None;
        } else {
            Box::new(AndScorer::new(required))
        };
        if scored && !optional.is_empty() {
            let optional = Box::new(OrScorer::new(optional, 1, Combine::Sum));
            scorer = Box::new(OptionalScorer { required: scorer, optional });
        }
        let excluded: Vec<_> = must_not.iter().filter_map(|node| self.build(node, false)).collect();
        if !excluded.is_empty() {
            let excluded = Box::new(OrScorer::new(excluded, 1, Combine::Sum));
            scorer = Box::new(ExcludeScorer { required: scorer, excluded });
        }
        Some(scorer)
    }
}
