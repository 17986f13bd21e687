//! Trees that have a collector of their own: unions, unions of best-of groups, conjunctions of terms.

use crate::query::{
    bind::Node,
    collect::Groups,
    scorer::{Scorer, term::TermScorer},
};

use super::run::SegmentRun;

/// Groups of a union that has a collector of its own: each takes 48 KiB.
const MAX_GROUPS: usize = 32;

/// Shapes that have a collector of their own.
pub(super) enum Bulk {
    Union(Vec<TermScorer>, Option<Groups>),
    Conjunction(Vec<TermScorer>),
    /// A union, and terms that all its matches must have besides.
    RequiredUnion(Vec<TermScorer>, Vec<TermScorer>),
}

/// Leaves with their boosts.
type Leaves = Vec<(usize, f32)>;
/// Leaves, and how much the lesser ones of the group count.
type TermGroup = (Leaves, f32);

impl Node {
    /// Terms of a query that is nothing but a union of terms.
    pub(super) fn union_leaves(&self) -> Option<Leaves> {
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

    /// Whether it has a phrase at any depth.
    pub(super) fn has_phrase(&self) -> bool {
        match self {
            Self::Phrase { .. } | Self::PhrasePrefix { .. } => true,
            Self::Boolean { must, should, must_not, filter, .. } => {
                [must, should, must_not, filter].into_iter().flatten().any(Self::has_phrase)
            }
            Self::DisMax { nodes, .. } => nodes.iter().any(Self::has_phrase),
            Self::Constant { node, .. } | Self::Function { node, .. } => node.has_phrase(),
            _ => false,
        }
    }

    /// Terms of a union and terms besides, all of which a match must have.
    fn required_union(&self) -> Option<(Leaves, Leaves)> {
        let Self::Boolean { must, should, must_not, filter, .. } = self else { return None };
        if !should.is_empty() || !must_not.is_empty() || !filter.is_empty() {
            return None;
        }
        let (mut union, mut required) = (None, Vec::with_capacity(must.len()));
        for node in must {
            match node {
                Self::Term { leaf, boost } => required.push((*leaf, *boost)),
                node if union.is_none() => union = Some(node.union_leaves()?),
                _ => return None,
            }
        }
        union.map(|union| (union, required)).filter(|(_, required)| !required.is_empty())
    }

    /// Terms of a query that is nothing but a conjunction of terms.
    pub(super) fn conjunction_leaves(&self) -> Option<Leaves> {
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

pub(super) fn terms_of(nodes: &[Node]) -> Option<Leaves> {
    let term = |node: &Node| match node {
        Node::Term { leaf, boost } => Some((*leaf, *boost)),
        _ => None,
    };
    nodes.iter().map(term).collect()
}

impl SegmentRun<'_> {
    /// The collector of a tree, if it has one.
    pub(super) fn bulk(&self, root: &Node) -> Option<Bulk> {
        if let Some(leaves) = root.union_leaves() {
            let terms = leaves.iter().filter_map(|&(leaf, boost)| self.term(leaf, boost)).collect();
            return Some(Bulk::Union(terms, None));
        }
        if let Some(groups) = root.union_groups() {
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
        if let Some((union, required)) = root.required_union() {
            let any: Vec<_> = union.iter().filter_map(|&(leaf, boost)| self.term(leaf, boost)).collect();
            let all = required.iter().map(|&(leaf, boost)| self.term(leaf, boost)).collect::<Option<Vec<_>>>()?;
            let cost: u64 = any.iter().map(Scorer::cost).sum();
            // Rarer terms lead; and one term that is left of a union is not one.
            let leads = any.len() > 1 && all.iter().all(|term| term.cost() >= cost);
            return leads.then_some(Bulk::RequiredUnion(any, all));
        }
        let leaves = root.conjunction_leaves()?;
        leaves.iter().map(|&(leaf, boost)| self.term(leaf, boost)).collect::<Option<Vec<_>>>().map(Bulk::Conjunction)
    }
}
