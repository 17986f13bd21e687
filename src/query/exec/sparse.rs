//! Conjunctions of terms under conditions that few documents fulfil.
//!
//! ```text
//! lists, scored or not, by rising length
//! while the next list is not much longer than what is left: combine them as sets
//! look up what is left in the lists behind
//! score what is left of that
//! ```
//! A collector that is led by the scored terms alone would look at all documents that conditions reject later.

#![forbid(unsafe_code)]

use crate::{
    bitset::BitSet,
    codec::bitpack::BLOCK_LEN,
    error::Result,
    platform::Cancel,
    postings::{END, Postings},
    query::{
        bind::Node,
        collect::{Accept, Ranking},
        scorer::term::TermScorer,
    },
};

use super::{counts::ADVANCE, run::SegmentRun, shapes::terms_of};

/// Conditions lead where they leave no more than one document in so many.
const MIN_DOCS_PER_MATCH: u64 = 8;
/// Lists of fewer than one document in so many are not made a set of first.
const DOCS_PER_LISTED: u64 = 64;

/// What is left of a conjunction.
pub(super) struct Sparse {
    /// Scored terms with their boosts.
    leaves: Vec<(usize, f32)>,
    /// Matching documents that count, ascending.
    docs: Vec<u32>,
}

/// One clause.
enum Clause<'n> {
    Term(usize),
    Condition(&'n Node),
}

impl Sparse {
    /// How many documents match.
    pub fn count(&self) -> u64 {
        self.docs.len() as u64
    }
}

impl SegmentRun<'_> {
    /// The matching documents of a conjunction under rare conditions; `None` of any other tree.
    pub(super) fn sparse(&self, root: &Node, accept: &Accept<'_>, cancel: &Cancel) -> Result<Option<Sparse>> {
        let Some((leaves, clauses)) = self.sparse_clauses(root) else { return Ok(None) };
        let (max_doc, mut rest) = (u64::from(self.max_doc()), clauses.into_iter().peekable());
        let Some((mut left, first)) = rest.next() else { return Ok(None) };
        let mut docs = Vec::new();
        if left * DOCS_PER_LISTED < max_doc {
            docs = self.docs_of(&first);
            docs.retain(|&doc| accept.has(doc));
        } else {
            let mut set = self.set_of(&first);
            while let Some((num_docs, clause)) = rest.next_if(|(num_docs, _)| *num_docs <= left * ADVANCE) {
                set.and(&self.set_of(&clause));
                left = left * num_docs / max_doc.max(1);
            }
            docs.extend(set.iter().filter(|&doc| accept.has(doc)));
        }
        for (_, clause) in rest {
            cancel.check()?;
            match clause {
                Clause::Term(leaf) => match self.postings(leaf, false) {
                    Some(mut postings) => docs.retain(|&doc| postings.advance(doc) == doc),
                    None => docs.clear(),
                },
                Clause::Condition(node) => {
                    let set = self.tree_set(node);
                    docs.retain(|&doc| set.contains(doc));
                }
            }
        }
        Ok(Some(Sparse { leaves, docs }))
    }

    /// Scored terms, and all clauses by rising numbers of documents.
    fn sparse_clauses<'n>(&self, root: &'n Node) -> Option<(Vec<(usize, f32)>, Vec<(u64, Clause<'n>)>)> {
        let Node::Boolean { must, should, must_not, filter, min_should: 0 } = root else { return None };
        if !should.is_empty() || !must_not.is_empty() {
            return None;
        }
        let leaves = match must.as_slice() {
            [] => return None,
            [one @ Node::Boolean { .. }] => one.conjunction_leaves()?,
            must => terms_of(must)?,
        };
        let mut clauses = Vec::with_capacity(filter.len() + leaves.len());
        for node in filter {
            let clause = if let Node::Term { leaf, .. } = node { Clause::Term(*leaf) } else { Clause::Condition(node) };
            clauses.push((self.cost(node)?.docs, clause));
        }
        let conditions = clauses.iter().map(|(docs, _)| *docs).min()?;
        if conditions * MIN_DOCS_PER_MATCH > u64::from(self.max_doc()) {
            return None;
        }
        let doc_freq = |leaf: usize| self.plan.data[self.segment].terms[leaf].info.map_or(0, |info| info.doc_freq);
        clauses.extend(leaves.iter().map(|&(leaf, _)| (u64::from(doc_freq(leaf)), Clause::Term(leaf))));
        clauses.sort_by_key(|(docs, _)| *docs);
        Some((leaves, clauses))
    }

    fn set_of(&self, clause: &Clause<'_>) -> BitSet {
        match clause {
            Clause::Condition(node) => self.tree_set(node),
            Clause::Term(leaf) => {
                let mut words = vec![0u64; (self.max_doc() as usize).div_ceil(64)];
                if let Some(postings) = self.postings(*leaf, false) {
                    postings.collect_into(&mut words);
                }
                BitSet::from_words(words, self.max_doc())
            }
        }
    }

    fn docs_of(&self, clause: &Clause<'_>) -> Vec<u32> {
        match clause {
            Clause::Condition(node) => self.tree_set(node).iter().collect(),
            Clause::Term(leaf) => self.postings(*leaf, false).map_or(Vec::new(), listed),
        }
    }

    /// Scores what is left.
    pub(super) fn rank_sparse(&self, sparse: &Sparse, ranking: &mut Ranking<'_>) -> Result<()> {
        let terms = sparse.leaves.iter().map(|&(leaf, boost)| self.term(leaf, boost)).collect();
        let Some::<Vec<TermScorer>>(mut terms) = terms else { return Ok(()) };
        // The order in which conjunctions add up.
        terms.sort_by_key(|term| term.postings.doc_freq());
        // What the terms behind each one can give at most.
        let mut rest = vec![0.0; terms.len()];
        for place in (1..terms.len()).rev() {
            rest[place - 1] = rest[place] + f64::from(terms[place].max_score());
        }
        let mut threshold = ranking.top.threshold();
        for chunk in sparse.docs.chunks(BLOCK_LEN) {
            ranking.cancel.check()?;
            let (mut docs, mut sums, mut len) = ([0; BLOCK_LEN], [0.0; BLOCK_LEN], chunk.len());
            docs[..len].copy_from_slice(chunk);
            for (term, &rest) in terms.iter_mut().zip(&rest) {
                len = term.add_scores(&mut docs[..len], &mut sums, rest, threshold);
            }
            for (&doc, &sum) in docs[..len].iter().zip(&sums) {
                let score = sum as f32;
                if score > threshold && ranking.top.push(score, (ranking.segment, doc)) {
                    threshold = ranking.top.threshold();
                }
            }
        }
        Ok(())
    }
}

/// All documents of a list.
fn listed(mut postings: Postings) -> Vec<u32> {
    let mut docs = Vec::with_capacity(postings.doc_freq() as usize);
    postings.next();
    loop {
        let block = postings.docs_until(END);
        let count = block.len();
        if count == 0 {
            return docs;
        }
        docs.extend_from_slice(block);
        postings.consume(count);
    }
}
