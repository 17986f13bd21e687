//! The terms of one segment, opened.

use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeMap,
    ops::Range,
    rc::Rc,
    sync::Arc,
};

use crate::{
    bitset::BitSet,
    error::{Error, Result},
    ids::FieldOrd,
    postings::{Damage, END, Postings, TermBytes},
    query::{
        ColumnInput, PatternScoring, Plan, SegmentFilter,
        bind::Node,
        collect::Accept,
        function::BoundFunction,
        plan::Partial,
        scorer::{
            BoxScorer,
            column::{ColumnDamage, ColumnScorer},
            function::FunctionValues,
            phrase::{PhrasePlace, PhrasePostings, PhraseScorer},
            sets::{ListScorer, SetScorer},
            term::{Norms, TermScorer, TermWeight},
        },
    },
};

/// One segment while it is being answered.
pub(in crate::query) struct SegmentRun<'a> {
    pub plan: &'a Plan,
    pub segment: usize,
    pub filter: &'a SegmentFilter,
    /// Documents that are looked at; up to [`END`] where all are.
    pub window: Range<u32>,
    /// Made once something is read.
    damage: OnceCell<Damage>,
    column_damage: OnceCell<ColumnDamage>,
    /// What patterns were found to match: the same one may stand in several places of a tree.
    patterns: RefCell<PatternMatches>,
}

/// Matches of patterns by leaf.
#[derive(Default)]
struct PatternMatches {
    sets: BTreeMap<usize, Arc<BitSet>>,
    freqs: BTreeMap<usize, Rc<DocFreqs>>,
}

/// Documents with how often they have any of some terms.
pub(in crate::query) type DocFreqs = Vec<(u32, u32)>;

impl<'a> SegmentRun<'a> {
    /// Looks at all documents.
    pub(super) fn new(plan: &'a Plan, segment: usize, filter: &'a SegmentFilter) -> Self {
        let (damage, column_damage) = (OnceCell::new(), OnceCell::new());
        Self { plan, segment, filter, window: 0..END, damage, column_damage, patterns: RefCell::default() }
    }

    /// Looks at the documents of `window` alone.
    pub(in crate::query) fn within(self, window: Range<u32>) -> Self {
        Self { window, ..self }
    }
}

impl SegmentRun<'_> {
    fn damage(&self) -> &Damage {
        self.damage.get_or_init(Damage::default)
    }

    pub(super) fn column_damage(&self) -> &ColumnDamage {
        self.column_damage.get_or_init(ColumnDamage::default)
    }

    /// # Errors
    /// What was damaged.
    pub(in crate::query) fn check(&self) -> Result<()> {
        let at = |error| Error::from(error).at(format!("postings of segment {}", self.segment));
        self.damage.get().map_or(Ok(()), Damage::check).map_err(at)?;
        let at = |error| Error::from(error).at(format!("segment {}", self.segment));
        self.column_damage.get().map_or(Ok(()), ColumnDamage::check).map_err(at)
    }

    pub(super) fn max_doc(&self) -> u32 {
        self.plan.segments[self.segment].max_doc
    }

    /// The count of a tree that statistics answer, where every document counts.
    pub(super) fn known_count(&self, root: &Node) -> Option<u64> {
        match root {
            Node::Term { leaf, .. } => {
                Some(self.plan.data[self.segment].terms[*leaf].info.map_or(0, |info| u64::from(info.doc_freq)))
            }
            Node::All(_) => Some(u64::from(self.max_doc())),
            Node::Constant { node, .. } => self.known_count(node),
            _ => None,
        }
    }

    /// The document and its score of a tree that is one term of one document.
    pub(super) fn only_match(&self, root: &Node) -> Option<(u32, f32)> {
        let (leaf, boost, constant) = match root {
            Node::Term { leaf, boost } => (*leaf, *boost, None),
            Node::Constant { node, score } => match node.as_ref() {
                Node::Term { leaf, .. } => (*leaf, 1.0, Some(*score)),
                _ => return None,
            },
            _ => return None,
        };
        let info = self.plan.data[self.segment].terms[leaf].info.as_ref()?;
        let doc = info.singleton.filter(|&doc| doc < self.max_doc())?;
        let freq = u32::try_from(info.total_term_freq).unwrap_or(u32::MAX);
        let scored = || self.plan.term_weight(leaf, boost).score(freq as f32, self.norms(leaf).get(doc));
        Some((doc, constant.unwrap_or_else(scored)))
    }

    /// The count of the query, where statistics tell it.
    pub(super) fn known(&self) -> Option<u64> {
        self.known_count(&self.plan.root).filter(|_| Accept::new(self.filter).all())
    }

    /// Matching documents that statistics speak for.
    pub(super) fn count_at_least(&self) -> u64 {
        let accepted = u64::from(Accept::new(self.filter).count(BitSet::full(self.max_doc())));
        let rejected = u64::from(self.max_doc()) - accepted;
        self.doc_freq_at_least(&self.plan.root).saturating_sub(rejected)
    }

    fn doc_freq_at_least(&self, node: &Node) -> u64 {
        let most = |nodes: &[Node]| nodes.iter().map(|node| self.doc_freq_at_least(node)).max().unwrap_or(0);
        match node {
            Node::All(_) => u64::from(self.max_doc()),
            Node::Term { leaf, .. } => {
                self.plan.data[self.segment].terms[*leaf].info.map_or(0, |info| u64::from(info.doc_freq))
            }
            Node::DisMax { nodes, .. } => most(nodes),
            Node::Constant { node, .. } => self.doc_freq_at_least(node),
            Node::Boolean { must, should, must_not, filter, min_should: 0..=1 }
                if must.is_empty() && must_not.is_empty() && filter.is_empty() =>
            {
                most(should)
            }
            _ => 0,
        }
    }

    pub(in crate::query) fn postings(&self, leaf: usize, positions: bool) -> Option<Postings> {
        let field = self.plan.terms[leaf].field;
        let term = &self.plan.data[self.segment].terms[leaf];
        let (text, info) = (self.plan.segments[self.segment].fields.get(&field)?, term.info.as_ref()?);
        let bytes = match &text.postings {
            Some(resident) => {
                TermBytes::resident(info, resident, positions).inspect_err(|error| self.damage().note(*error)).ok()?
            }
            None => TermBytes { positions: term.bytes.positions.clone().filter(|_| positions), ..term.bytes.clone() },
        };
        let mut postings = Postings::open(text.index.options(), self.max_doc(), info, bytes, self.damage());
        postings.set_end(self.window.end);
        Some(postings)
    }

    pub(in crate::query) fn norms(&self, leaf: usize) -> Norms {
        let data = &self.plan.data[self.segment];
        let own = data.terms[leaf].norms.clone();
        let field = self.plan.terms[leaf].field;
        let norms = own.or_else(|| self.field_norms(field));
        norms.or_else(|| self.part_of_norms(data.partial.as_ref()?, field)).unwrap_or_default()
    }

    /// The norms of all documents of a field, where they are there.
    pub(in crate::query) fn field_norms(&self, field: FieldOrd) -> Option<Norms> {
        let text = self.plan.segments[self.segment].fields.get(&field)?;
        let resident = text.norms.as_ref().map(|bytes| Norms { first_doc: 0, bytes: bytes.clone() });
        resident.or_else(|| self.plan.data[self.segment].norms.get(&field).cloned())
    }

    /// The norms of the window; `None` where nothing is scored, and so nothing was read.
    fn part_of_norms(&self, partial: &Partial, field: FieldOrd) -> Option<Norms> {
        let Range { start, end } = self.window;
        if end == END {
            return None;
        }
        match partial.norms.get(&field)?.gather(start as usize..end as usize) {
            Ok(bytes) => Some(Norms { first_doc: start, bytes }),
            Err(error) => {
                self.damage().note(error);
                None
            }
        }
    }

    pub(in crate::query) fn term(&self, leaf: usize, boost: f32) -> Option<TermScorer> {
        Some(TermScorer::new(self.postings(leaf, false)?, self.plan.term_weight(leaf, boost), self.norms(leaf)))
    }

    pub(in crate::query) fn phrase(&self, leaves: &[(u32, usize)], slop: u32, boost: f32) -> Option<PhraseScorer> {
        let place = |&(place, leaf): &(u32, usize)| {
            let postings = PhrasePostings::One(Box::new(self.postings(leaf, true)?));
            Some(PhrasePlace { postings, place, term: leaf })
        };
        let (terms, first) = (leaves.iter().map(place).collect::<Option<Vec<_>>>()?, leaves.first()?.1);
        let weight = self.plan.phrase_weight(leaves, boost);
        // Norms of a singleton cover one document: with it, a phrase matches nothing else.
        Some(PhraseScorer::new(terms, slop, weight, self.norms(first)))
    }

    /// The scorer of a phrase whose last term is any of `terms`, the most frequent first.
    pub(in crate::query) fn phrase_prefix(
        &self,
        leaves: &[(u32, usize)],
        (last_place, terms): (u32, &[usize]),
        slop: u32,
        boost: f32,
    ) -> Option<PhraseScorer> {
        let place = |&(place, leaf): &(u32, usize)| {
            let postings = PhrasePostings::One(Box::new(self.postings(leaf, true)?));
            Some(PhrasePlace { postings, place, term: leaf })
        };
        let mut places = leaves.iter().map(place).collect::<Option<Vec<_>>>()?;
        let any: Vec<_> = terms.iter().filter_map(|&leaf| self.postings(leaf, true)).collect();
        if any.is_empty() {
            return None;
        }
        // Equal to none before it, though its terms may be: words that are typed twice are rare.
        places.push(PhrasePlace { postings: PhrasePostings::Any(any), place: last_place, term: usize::MAX });
        let weight = self.plan.phrase_weight(&prefix_weights(leaves, last_place, terms), boost);
        Some(PhraseScorer::new(places, slop, weight, self.norms(leaves.first()?.1)))
    }

    /// Documents with a term of the pattern, found once.
    pub(in crate::query) fn pattern_set(&self, leaf: usize) -> Arc<BitSet> {
        let known = self.patterns.borrow().sets.get(&leaf).cloned();
        known.unwrap_or_else(|| {
            let set = Arc::new(self.find_pattern_set(leaf));
            self.patterns.borrow_mut().sets.insert(leaf, set.clone());
            set
        })
    }

    fn find_pattern_set(&self, leaf: usize) -> BitSet {
        let mut set = vec![0u64; (self.max_doc() as usize).div_ceil(64)];
        // Most terms of a pattern are in one document, which the dictionary knows.
        for doc in self.plan.data[self.segment].patterns[leaf].iter().filter_map(|term| term.info.singleton) {
            if doc < self.max_doc() {
                set[doc as usize / 64] |= 1 << (doc % 64);
            }
        }
        self.each_pattern_postings(leaf, true, |postings| postings.collect_into(&mut set));
        BitSet::from_words(set, self.max_doc())
    }

    /// With `but_singletons`, terms of one document are left out.
    fn each_pattern_postings(&self, leaf: usize, but_singletons: bool, mut each: impl FnMut(Postings)) {
        let field = self.plan.patterns[leaf].field;
        let Some(text) = self.plan.segments[self.segment].fields.get(&field) else { return };
        let options = text.index.options();
        let terms = self.plan.data[self.segment].patterns[leaf].iter();
        for term in terms.filter(|term| !but_singletons || term.info.singleton.is_none()) {
            let bytes = TermBytes::whole(&term.info, term.docs.clone(), None);
            each(Postings::open(options, self.max_doc(), &term.info, bytes, self.damage()));
        }
    }

    /// Frequencies of all terms of a pattern, summed per document, found once.
    pub(in crate::query) fn pattern_freqs(&self, leaf: usize) -> Rc<DocFreqs> {
        let known = self.patterns.borrow().freqs.get(&leaf).cloned();
        known.unwrap_or_else(|| {
            let freqs = Rc::new(self.find_pattern_freqs(leaf));
            self.patterns.borrow_mut().freqs.insert(leaf, freqs.clone());
            freqs
        })
    }

    fn find_pattern_freqs(&self, leaf: usize) -> DocFreqs {
        let mut found = DocFreqs::new();
        let mut terms = 0;
        self.each_pattern_postings(leaf, false, |mut postings| {
            terms += 1;
            while postings.next() != END {
                found.push((postings.doc(), postings.freq()));
            }
        });
        if terms > 1 {
            found.sort_unstable();
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

    pub(super) fn pattern(&self, leaf: usize, boost: f32, scoring: PatternScoring, scored: bool) -> BoxScorer {
        let weight = &self.plan.pattern_weights[leaf];
        let flat = match scoring {
            PatternScoring::Constant => Some(1.0),
            PatternScoring::Blended if !scored => Some(0.0),
            PatternScoring::Blended => weight.flat,
        };
        if let Some(score) = flat {
            return Box::new(SetScorer::new(self.pattern_set(leaf), score * boost));
        }
        let boosted = TermWeight { weight: weight.weight.weight * boost, lengths: weight.weight.lengths.clone() };
        let norms = self.field_norms(self.plan.patterns[leaf].field).unwrap_or_default();
        let freqs = self.pattern_freqs(leaf);
        let scores = freqs.iter().map(|&(doc, freq)| (doc, boosted.score(freq as f32, norms.get(doc))));
        Box::new(ListScorer::new(scores.collect()))
    }

    pub(super) fn column(&self, leaf: usize, score: f32) -> Option<BoxScorer> {
        Some(match self.filter.columns.get(leaf)? {
            ColumnInput::Set(set) => Box::new(SetScorer::new(set.clone(), score)),
            ColumnInput::Values { ranges, .. } if ranges.is_empty() => return None,
            ColumnInput::Values { ranges, column } => {
                Box::new(ColumnScorer::new(ranges.clone(), column.clone(), score, self.column_damage().clone()))
            }
        })
    }

    /// A function's results by document.
    pub(in crate::query) fn function(&self, leaf: usize, function: BoundFunction) -> FunctionValues {
        let column = match self.filter.columns.get(leaf) {
            Some(ColumnInput::Values { column, .. }) => Some(column.clone()),
            _ => None,
        };
        FunctionValues::new(function, column, self.column_damage().clone())
    }

    /// The documents of a node as a set.
    pub(super) fn set(&self, node: &Node) -> BitSet {
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
}

/// The terms whose weights add up to that of a phrase with an open end: the last one as its most frequent term.
pub(in crate::query) fn prefix_weights(leaves: &[(u32, usize)], last_place: u32, terms: &[usize]) -> Vec<(u32, usize)> {
    leaves.iter().copied().chain(terms.first().map(|&leaf| (last_place, leaf))).collect()
}
