//! Counts, and sets of the documents of a tree, without scores.
//!
//! Lists of frequent terms become bit sets that are combined word by word; rare ones are walked, the rarest first. What
//! costs less is estimated from document frequencies before anything is decoded.

#![forbid(unsafe_code)]

use std::sync::Arc;

use crate::{
    bitset::BitSet,
    columns::{BlockVerdict, ValueRanges},
    error::Result,
    platform::Cancel,
    postings::{END, Postings},
    query::{
        ColumnBytes, ColumnInput,
        bind::Node,
        collect::{self, Accept},
    },
    topk::order,
};

use super::run::SegmentRun;

/// Steps, in units of decoding one document into a set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Documents at most.
    pub docs: u64,
    /// Of going through the documents one by one.
    walk: u64,
    /// Of the set.
    set: u64,
}

/// Of going to a given document of a list. Measured on 256k documents: 6–9 ns against 1–2 ns.
pub(super) const ADVANCE: u64 = 5;
/// Documents whose words of a set are combined in one unit.
const DOCS_PER_UNIT: u64 = 512;
/// Documents that are scored for each one that conditions leave, at most: with fewer left, these lead.
const DOCS_PER_ACCEPTED: u64 = 64;
/// What going through all documents of a tree costs in sets of them, for it to be worth a second pass.
const WALKS_PER_SET: u64 = 16;
/// Documents between two looks at the cancel flag are those of so many blocks.
const CANCEL_EVERY: u32 = 64;

impl SegmentRun<'_> {
    /// How many documents of a tree count, exactly.
    pub(super) fn count(&self, root: &Node, accept: &Accept<'_>, cancel: &Cancel) -> Result<u64> {
        if accept.all()
            && let Some(count) = self.known_count(root)
        {
            return Ok(count);
        }
        if let Some(sparse) = self.sparse(root, accept, false, cancel)? {
            return Ok(sparse.count());
        }
        if let Some(set) = self.only_pattern(root).filter(|_| accept.all()) {
            return Ok(set.count().into());
        }
        if self.is_best_as_set(root) {
            return Ok(u64::from(accept.count(self.tree_set(root))));
        }
        if let Some(leaves) = root.conjunction_leaves() {
            let lists: Option<Vec<_>> = leaves.iter().map(|&(leaf, _)| self.postings(leaf, false)).collect();
            return lists.map_or(Ok(0), |lists| count_common(lists, accept, cancel));
        }
        match self.build(root, false) {
            Some(mut scorer) => collect::count(scorer.as_mut(), accept, cancel),
            None => Ok(0),
        }
    }

    /// The documents of a tree that is nothing but a pattern.
    fn only_pattern(&self, root: &Node) -> Option<Arc<BitSet>> {
        match root {
            Node::Pattern { leaf, .. } => Some(self.pattern_set(*leaf)),
            Node::Constant { node, .. } => self.only_pattern(node),
            _ => None,
        }
    }

    /// Whether a set of a tree costs no more than going through its documents.
    pub(super) fn is_best_as_set(&self, root: &Node) -> bool {
        self.cost(root).is_some_and(|cost| cost.set <= cost.walk)
    }

    /// Whether a set, and a pass over what can win, cost less than going through all documents.
    pub(super) fn is_far_best_as_set(&self, root: &Node) -> bool {
        self.cost(root).is_some_and(|cost| cost.set <= cost.walk / WALKS_PER_SET)
    }

    /// The documents of a tree.
    pub(super) fn matching_set(&self, root: &Node) -> BitSet {
        match self.cost(root) {
            // What is walked goes into a set one by one.
            Some(cost) if cost.set <= cost.walk + cost.docs + self.combine_cost() => self.tree_set(root),
            _ => self.set(root),
        }
    }

    /// Of going through a set once.
    fn combine_cost(&self) -> u64 {
        u64::from(self.max_doc()) / DOCS_PER_UNIT
    }

    /// What counting a node costs; `None` where no set is made of it.
    pub(super) fn cost(&self, node: &Node) -> Option<Cost> {
        let (max_doc, combine) = (u64::from(self.max_doc()), self.combine_cost());
        Some(match node {
            Node::None => Cost { docs: 0, walk: 0, set: 0 },
            Node::All(_) | Node::Set(_) => Cost { docs: max_doc, walk: max_doc, set: combine },
            Node::Term { leaf, .. } => {
                let info = self.plan.data[self.segment].terms[*leaf].info;
                let docs = info.map_or(0, |info| u64::from(info.doc_freq));
                Cost { docs, walk: docs, set: docs + combine }
            }
            Node::Constant { node, .. } => self.cost(node)?,
            Node::DisMax { nodes, .. } => self.cost_of_any(nodes)?,
            Node::Boolean { must, should, must_not, filter, min_should } => {
                let mut required = Vec::with_capacity(must.len() + filter.len() + 1);
                for node in must.iter().chain(filter) {
                    required.push(self.cost(node)?);
                }
                match min_should {
                    0 => {}
                    1 => required.push(self.cost_of_any(should)?),
                    _ => return None,
                }
                if let ([only], true) = (required.as_slice(), must_not.is_empty()) {
                    return Some(*only);
                }
                let lead = required.iter().map(|cost| cost.docs).min()?;
                let others = required.len() as u64 - 1 + must_not.len() as u64;
                let excluded = self.cost_of_any(must_not)?;
                let walks = required.iter().map(|cost| cost.walk).filter(|walk| *walk > lead * ADVANCE);
                let dense_walks = walks.map(|_| lead * ADVANCE).sum::<u64>();
                let walk = lead + lead * ADVANCE * others + dense_walks;
                let set = required.iter().map(|cost| cost.set).sum::<u64>() + excluded.set + combine * others;
                Cost { docs: lead, walk, set }
            }
            Node::Column { leaf, .. } => match self.filter.columns.get(*leaf)? {
                ColumnInput::Set(set) => {
                    Cost { docs: u64::from(set.count()), walk: u64::from(set.count()), set: combine }
                }
                ColumnInput::Values { ranges, column } => column_cost(column, ranges, combine),
            },
            Node::Function { node, .. } => self.cost(node)?,
            Node::Phrase { leaves, .. } => {
                let terms = &self.plan.data[self.segment].terms;
                let docs = leaves.iter().map(|&(_, leaf)| terms[leaf].info.map_or(0, |info| u64::from(info.doc_freq)));
                let docs = docs.min().unwrap_or(0);
                let walk = docs * ADVANCE * leaves.len() as u64;
                Cost { docs, walk, set: walk + combine }
            }
            Node::Pattern { leaf, .. } => {
                let terms = self.plan.data[self.segment].patterns[*leaf].iter();
                let postings = terms.map(|term| u64::from(term.info.doc_freq)).sum::<u64>();
                // It is walked as a set.
                let (docs, set) = (postings.min(max_doc), postings + combine);
                Cost { docs, walk: set + docs, set }
            }
            Node::PhrasePrefix { .. } => return None,
        })
    }

    fn cost_of_any(&self, nodes: &[Node]) -> Option<Cost> {
        let mut all = Cost { docs: 0, walk: 0, set: u64::from(self.max_doc()) / DOCS_PER_UNIT };
        for node in nodes {
            let cost = self.cost(node)?;
            all.docs += cost.docs;
            // Each step looks for the smallest document of all.
            all.walk += cost.walk * (ADVANCE + nodes.len() as u64);
            all.set += cost.set;
        }
        Some(all)
    }

    /// A tree without its conditions that do not score, and the documents that these leave; `None` where there are no
    /// such conditions, or walking them costs less than a set.
    pub(super) fn split_conditions(&self, node: &Node) -> Option<(Node, BitSet)> {
        let Node::Boolean { must, should, must_not, filter, min_should } = node else { return None };
        // Conditions come before the look at positions.
        if node.has_phrase() {
            return None;
        }
        let is_positive = !must.is_empty() || *min_should > 0;
        if !is_positive || (must_not.is_empty() && filter.is_empty()) {
            return None;
        }
        let core = match must.as_slice() {
            [one] if should.is_empty() => one.clone(),
            _ => Node::Boolean {
                must: must.clone(),
                should: should.clone(),
                must_not: Vec::new(),
                filter: Vec::new(),
                min_should: *min_should,
            },
        };
        let conditions = Node::Boolean {
            must: Vec::new(),
            should: Vec::new(),
            must_not: must_not.clone(),
            filter: if filter.is_empty() { vec![Node::All(0.0)] } else { filter.clone() },
            min_should: 0,
        };
        let (core_cost, cost) = (self.cost(&core)?, self.cost(&conditions)?);
        let pays = cost.set <= core_cost.docs * ADVANCE && core_cost.docs <= cost.docs * DOCS_PER_ACCEPTED;
        pays.then(|| (core, self.tree_set(&conditions)))
    }

    /// The documents of a tree of terms.
    pub(super) fn tree_set(&self, node: &Node) -> BitSet {
        let mut words = vec![0u64; (self.max_doc() as usize).div_ceil(64)];
        self.add_to(node, &mut words);
        BitSet::from_words(words, self.max_doc())
    }

    fn add_any(&self, nodes: &[Node], words: &mut [u64]) {
        nodes.iter().for_each(|node| self.add_to(node, words));
    }

    /// Adds the documents of a column leaf to a set.
    fn add_column(&self, leaf: usize, words: &mut [u64]) {
        match self.filter.columns.get(leaf) {
            None => {}
            Some(ColumnInput::Set(set)) => add_set(words, set),
            Some(ColumnInput::Values { ranges, column }) => {
                for block in 0..column.meta.blocks().len() as u32 {
                    match column.meta.verdict(block, ranges) {
                        BlockVerdict::None => {}
                        BlockVerdict::All => {
                            let docs = column.meta.block_docs(block);
                            // Blocks start on words; a short last one is cut at the end of the segment.
                            let inside = docs.start as usize / 64..(docs.end as usize).div_ceil(64);
                            words.get_mut(inside).into_iter().flatten().for_each(|word| *word = u64::MAX);
                        }
                        BlockVerdict::Mixed => match column.open(block) {
                            Ok(opened) => opened.matching(ranges, |at, bits| {
                                if let Some(word) = words.get_mut(at) {
                                    *word |= bits;
                                }
                            }),
                            Err(error) => self.column_damage().note(error),
                        },
                    }
                }
            }
        }
    }

    /// Adds the documents of a node to a set.
    fn add_to(&self, node: &Node, words: &mut [u64]) {
        match node {
            Node::None => {}
            // Bits beyond the last document are dropped at the end.
            Node::All(_) => words.fill(u64::MAX),
            Node::Term { leaf, .. } => {
                if let Some(postings) = self.postings(*leaf, false) {
                    postings.collect_into(words);
                }
            }
            Node::Constant { node, .. } | Node::Function { node, .. } => self.add_to(node, words),
            Node::Pattern { leaf, .. } => add_set(words, &self.pattern_set(*leaf)),
            Node::Column { leaf, .. } => self.add_column(*leaf, words),
            Node::DisMax { nodes, .. } => self.add_any(nodes, words),
            Node::Boolean { must, should, must_not, filter, min_should }
                if must.is_empty() && filter.is_empty() && must_not.is_empty() && *min_should <= 1 =>
            {
                self.add_any(should, words);
            }
            Node::Boolean { must, should, must_not, filter, min_should: min_should @ 0..=1 } => {
                let mut found: Option<Vec<u64>> = None;
                // One set at a time beside what was found.
                let mut room = Vec::new();
                let mut each = |add: &dyn Fn(&mut [u64]), is_wanted: bool| {
                    room.clear();
                    room.resize(words.len(), 0);
                    add(&mut room);
                    match &mut found {
                        None => found = Some(std::mem::take(&mut room)),
                        Some(found) if is_wanted => found.iter_mut().zip(&room).for_each(|(word, set)| *word &= set),
                        Some(found) => found.iter_mut().zip(&room).for_each(|(word, set)| *word &= !set),
                    }
                };
                for node in must.iter().chain(filter) {
                    each(&|set| self.add_to(node, set), true);
                }
                if *min_should == 1 {
                    each(&|set| self.add_any(should, set), true);
                }
                if !must_not.is_empty() {
                    each(&|set| self.add_any(must_not, set), false);
                }
                words.iter_mut().zip(found.unwrap_or_default()).for_each(|(word, found)| *word |= found);
            }
            node => add_set(words, &self.set(node)),
        }
    }
}

fn add_set(words: &mut [u64], set: &BitSet) {
    words.iter_mut().zip(set.words()).for_each(|(word, other)| *word |= other);
}

/// Of a condition on a column: blocks that have to be looked at cost about an eighth of a step for each document.
fn column_cost(column: &ColumnBytes, ranges: &ValueRanges, combine: u64) -> Cost {
    let (mut docs, mut looks) = (0, 0);
    for (block, meta) in (0..).zip(column.meta.blocks()) {
        match column.meta.verdict(block, ranges) {
            BlockVerdict::None => {}
            BlockVerdict::All => docs += u64::from(meta.num_docs_with),
            BlockVerdict::Mixed => {
                docs += u64::from(meta.num_docs_with) / 4;
                looks += u64::from(meta.num_docs_with);
            }
        }
    }
    Cost { docs, walk: docs + looks / 8, set: combine + looks / 8 }
}

/// How many documents all lists have, block by block of the shortest one.
fn count_common(mut lists: Vec<Postings>, accept: &Accept<'_>, cancel: &Cancel) -> Result<u64> {
    order::by_key(&mut lists, |list| list.doc_freq().into());
    let Some((lead, others)) = lists.split_first_mut() else { return Ok(0) };
    let (mut found, mut docs) = (0, [0; crate::codec::bitpack::BLOCK_LEN]);
    lead.next();
    for block in 1u32.. {
        let rest = lead.docs_until(END);
        let mut len = rest.len();
        if len == 0 {
            break;
        }
        docs[..len].copy_from_slice(rest);
        for list in others.iter_mut() {
            let mut kept = 0;
            for ix in 0..len {
                let doc = docs[ix];
                docs[kept] = doc;
                kept += usize::from(list.advance(doc) == doc);
            }
            len = kept;
        }
        found += if accept.all() { len } else { docs[..len].iter().filter(|&&doc| accept.has(doc)).count() };
        if others.iter().any(Postings::is_at_end) {
            break;
        }
        let count = lead.docs_until(END).len();
        lead.consume(count);
        if block.is_multiple_of(CANCEL_EVERY) {
            cancel.check()?;
        }
    }
    Ok(found as u64)
}
