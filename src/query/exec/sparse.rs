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
    codec::bitpack::BLOCK_LEN,
    error::Result,
    platform::Cancel,
    postings::{END, Postings},
    query::{
        bind::Node,
        collect::{Accept, Ranking},
        scorer::{Scorer, term::TermScorer},
    },
    topk::order,
};

use super::{counts::ADVANCE, run::SegmentRun, shapes::terms_of};

/// Conditions lead where they leave no more than one document in so many.
const MIN_DOCS_PER_MATCH: u64 = 8;
/// Lists of fewer than one document in so many are not made a set of first.
const DOCS_PER_LISTED: u64 = 64;

/// Lists of up to one document in so many are gone through as they are rather than as sets.
const DOCS_PER_SHORT: u64 = 16;

/// A scored term with its boost.
type Scored = (usize, f32);
/// A clause, a term or a condition, behind how many documents it has.
type Counted<'n> = (u64, &'n Node);

/// What is left of a conjunction.
pub(super) struct Sparse {
    leaves: Vec<Scored>,
    /// Matching documents that count, ascending.
    docs: Vec<u32>,
    /// Scores of the term behind `leaves`, the most frequent one, where it was scored while it was looked up.
    last_scores: Option<Vec<f32>>,
}

impl Sparse {
    /// How many documents match.
    pub fn count(&self) -> u64 {
        self.docs.len() as u64
    }
}

impl SegmentRun<'_> {
    /// The matching documents of a conjunction under rare conditions, to be scored or not; `None` of any other tree.
    pub(super) fn sparse(
        &self,
        root: &Node,
        accept: &Accept<'_>,
        scored: bool,
        cancel: &Cancel,
    ) -> Result<Option<Sparse>> {
        let Some((mut leaves, clauses)) = self.sparse_clauses(root) else { return Ok(None) };
        let (max_doc, mut rest) = (u64::from(self.max_doc()), clauses.into_iter().peekable());
        let Some((mut left, first)) = rest.next() else { return Ok(None) };
        let mut docs = Vec::new();
        if left * DOCS_PER_LISTED < max_doc {
            docs = self.docs_of(first);
            docs.retain(|&doc| accept.has(doc));
        } else {
            let mut set = self.tree_set(first);
            while let Some((num_docs, clause)) = rest.next_if(|(num_docs, _)| *num_docs <= left * ADVANCE) {
                set.and(&self.tree_set(clause));
                left = left * num_docs / max_doc.max(1);
            }
            docs.extend(set.iter().filter(|&doc| accept.has(doc)));
        }
        let mut last_scores = None;
        while let Some((_, clause)) = rest.next() {
            cancel.check()?;
            match clause {
                &Node::Term { leaf, .. }
                    if scored && rest.peek().is_none() && leaves.last().map(|one| one.0) == Some(leaf) =>
                {
                    let Some(mut term) = leaves.pop().and_then(|(leaf, boost)| self.term(leaf, boost)) else {
                        docs.clear();
                        continue;
                    };
                    let mut scores = Vec::with_capacity(docs.len());
                    docs.retain(|&doc| {
                        let is_there = term.advance(doc) == doc;
                        if is_there {
                            scores.push(term.score());
                        }
                        is_there
                    });
                    last_scores = Some(scores);
                }
                &Node::Term { leaf, .. } => match self.postings(leaf, false) {
                    Some(mut postings) => docs.retain(|&doc| postings.advance(doc) == doc),
                    None => docs.clear(),
                },
                node => {
                    let set = self.tree_set(node);
                    docs.retain(|&doc| set.contains(doc));
                }
            }
        }
        Ok(Some(Sparse { leaves, docs, last_scores }))
    }

    /// Scored terms and all clauses, both by rising numbers of documents.
    fn sparse_clauses<'n>(&self, root: &'n Node) -> Option<(Vec<Scored>, Vec<Counted<'n>>)> {
        let Node::Boolean { must, should, must_not, filter, min_should: 0 } = root else { return None };
        if !should.is_empty() || !must_not.is_empty() {
            return None;
        }
        let (mut leaves, terms) = match must.as_slice() {
            [] => return None,
            [one @ Node::Boolean { must, .. }] => (one.conjunction_leaves()?, must.as_slice()),
            must => (terms_of(must)?, must),
        };
        let mut clauses = Vec::with_capacity(filter.len() + leaves.len());
        for node in filter {
            clauses.push((self.cost(node)?.docs, node));
        }
        let conditions = clauses.iter().map(|(docs, _)| *docs).min()?;
        if conditions * MIN_DOCS_PER_MATCH > u64::from(self.max_doc()) {
            return None;
        }
        let doc_freq = |leaf: usize| self.plan.data[self.segment].terms[leaf].info.map_or(0, |info| info.doc_freq);
        order::by_key(&mut leaves, |&(leaf, _)| doc_freq(leaf).into());
        for node in terms {
            clauses.push((self.cost(node)?.docs, node));
        }
        order::by_key(&mut clauses, |(docs, _)| *docs);
        Some((leaves, clauses))
    }

    /// The documents of a tree that is one term of few documents; `None` of any other one.
    pub(super) fn short_list(&self, root: &Node) -> Option<Vec<u32>> {
        let leaf = match root {
            Node::Term { leaf, .. } => *leaf,
            Node::Constant { node, .. } => return self.short_list(node),
            _ => return None,
        };
        let doc_freq = self.plan.data[self.segment].terms[leaf].info.map_or(0, |info| info.doc_freq);
        let is_short = u64::from(doc_freq) * DOCS_PER_SHORT <= self.max_doc().into();
        is_short.then(|| self.postings(leaf, false).map_or(Vec::new(), listed))
    }

    fn docs_of(&self, clause: &Node) -> Vec<u32> {
        match clause {
            Node::Term { leaf, .. } => self.postings(*leaf, false).map_or(Vec::new(), listed),
            condition => self.tree_set(condition).iter().collect(),
        }
    }

    /// Scores what is left. Each block of a list has few of these documents: its bound would cost more than it saves.
    pub(super) fn rank_sparse(&self, sparse: &Sparse, ranking: &mut Ranking<'_>) -> Result<()> {
        let terms = sparse.leaves.iter().map(|&(leaf, boost)| self.term(leaf, boost)).collect();
        let Some::<Vec<TermScorer>>(mut terms) = terms else { return Ok(()) };
        // What the terms from each one on can give at most.
        let mut rest = vec![0.0; terms.len() + 1];
        for place in (0..terms.len()).rev() {
            rest[place] = rest[place + 1] + f64::from(terms[place].max_score());
        }
        let mut threshold = ranking.top.threshold();
        let last_of = |place: usize| sparse.last_scores.as_ref().map_or(0.0, |scores| f64::from(scores[place]));
        for (ix, chunk) in sparse.docs.chunks(BLOCK_LEN).enumerate() {
            ranking.cancel.check()?;
            let (mut places, mut sums, mut len) = ([0; BLOCK_LEN], [0.0; BLOCK_LEN], 0);
            for place in 0..chunk.len() {
                places[len] = place;
                len += usize::from(can_pass(last_of(ix * BLOCK_LEN + place) + rest[0], threshold));
            }
            for (term, &rest) in terms.iter_mut().zip(&rest[1..]) {
                let mut kept = 0;
                for at in 0..len {
                    let place = places[at];
                    term.advance(chunk[place]);
                    let sum = sums[at] + f64::from(term.score());
                    (places[kept], sums[kept]) = (place, sum);
                    kept += usize::from(can_pass(sum + last_of(ix * BLOCK_LEN + place) + rest, threshold));
                }
                len = kept;
            }
            for (&place, &sum) in places[..len].iter().zip(&sums) {
                // The order in which conjunctions add up.
                let score = (sum + last_of(ix * BLOCK_LEN + place)) as f32;
                if score > threshold && ranking.top.push(score, (ranking.segment, chunk[place])) {
                    threshold = ranking.top.threshold();
                }
            }
        }
        Ok(())
    }
}

/// Whether a sum, added up in any order, could be above the threshold.
#[inline(always)]
fn can_pass(sum: f64, threshold: f32) -> bool {
    const SLACK: f64 = 1e-9;
    (sum + sum.abs() * SLACK) as f32 > threshold
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
