//! One node in the place of equal ones.
//!
//! Scores are linear in the factors that stand at the leaves of a bound tree: what is asked twice is asked once with twice
//! the factor. Nodes are told apart by bytes, since there may be tens of thousands.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use crate::query::{PatternScoring, bind::Node};

/// Nodes whose scores add up, equal ones as one.
pub(super) fn merge_sums(nodes: Vec<Node>) -> Vec<Node> {
    merge(nodes, true)
}

/// Nodes of which only matching counts, equal ones as one.
pub(super) fn merge_conditions(nodes: Vec<Node>) -> Vec<Node> {
    merge(nodes, false)
}

fn merge(nodes: Vec<Node>, adds_up: bool) -> Vec<Node> {
    if nodes.len() < 2 {
        return nodes;
    }
    let (mut terms, mut places) = (BTreeMap::new(), BTreeMap::new());
    let mut merged: Vec<(Node, u32)> = Vec::with_capacity(nodes.len());
    for mut node in nodes {
        let next = merged.len();
        let place = match &node {
            Node::Term { leaf, .. } => *terms.entry(*leaf).or_insert(next),
            node => {
                let mut key = Vec::new();
                if node.write_key(false, &mut key) { *places.entry(key).or_insert(next) } else { next }
            }
        };
        match merged.get_mut(place) {
            None => merged.push((node, 1)),
            Some(_) if !adds_up => {}
            Some((first, count)) => match (first.factor(), node.factor()) {
                (Some(sum), Some(factor)) => *sum += *factor,
                _ => *count += 1,
            },
        }
    }
    let scaled = merged.into_iter().map(|(mut node, count)| {
        if count > 1 {
            node.scale(count as f32);
        }
        node
    });
    scaled.collect()
}

impl Node {
    /// The factor on the scores of a leaf.
    fn factor(&mut self) -> Option<&mut f32> {
        match self {
            Self::All(factor)
            | Self::Term { boost: factor, .. }
            | Self::Phrase { boost: factor, .. }
            | Self::PhrasePrefix { boost: factor, .. }
            | Self::Pattern { boost: factor, .. }
            | Self::Constant { score: factor, .. }
            | Self::Column { score: factor, .. } => Some(factor),
            Self::None | Self::Boolean { .. } | Self::DisMax { .. } | Self::Set(_) | Self::Function { .. } => None,
        }
    }

    /// Multiplies all scores; a function is none of the nodes that have a key.
    fn scale(&mut self, times: f32) {
        match self {
            Self::Boolean { must, should, .. } => {
                must.iter_mut().chain(should).for_each(|node| node.scale(times));
            }
            Self::DisMax { nodes, .. } => nodes.iter_mut().for_each(|node| node.scale(times)),
            leaf => leaf.factor().into_iter().for_each(|factor| *factor *= times),
        }
    }

    /// Writes what tells it from other nodes, without its own factor unless `with_factor`; false for functions, which are
    /// not merged.
    fn write_key(&self, with_factor: bool, key: &mut Vec<u8>) -> bool {
        let put = |key: &mut Vec<u8>, number: usize| key.extend_from_slice(&(number as u32).to_le_bytes());
        let lists = |lists: &[&Vec<Self>], key: &mut Vec<u8>| {
            lists.iter().all(|list| {
                put(key, list.len());
                list.iter().all(|node| node.write_key(true, key))
            })
        };
        let places = |leaves: &[(u32, usize)], key: &mut Vec<u8>| {
            put(key, leaves.len());
            for &(place, leaf) in leaves {
                put(key, place as usize);
                put(key, leaf);
            }
        };
        let (tag, factor) = match self {
            Self::None => (0, 0.0),
            Self::All(score) => (1, *score),
            Self::Term { boost, .. } => (2, *boost),
            Self::Phrase { boost, .. } => (3, *boost),
            Self::PhrasePrefix { boost, .. } => (4, *boost),
            Self::Pattern { boost, scoring: PatternScoring::Blended, .. } => (5, *boost),
            Self::Pattern { boost, scoring: PatternScoring::Constant, .. } => (6, *boost),
            Self::Boolean { .. } => (7, 0.0),
            Self::DisMax { tie_breaker, .. } => (8, *tie_breaker),
            Self::Constant { score, .. } => (9, *score),
            Self::Set(_) => (10, 0.0),
            Self::Column { score, .. } => (11, *score),
            Self::Function { .. } => return false,
        };
        key.push(tag);
        if with_factor || matches!(self, Self::DisMax { .. }) {
            key.extend_from_slice(&factor.to_le_bytes());
        }
        match self {
            Self::Term { leaf, .. } | Self::Pattern { leaf, .. } | Self::Column { leaf, .. } | Self::Set(leaf) => {
                put(key, *leaf);
            }
            Self::Phrase { leaves, slop, .. } => {
                put(key, *slop as usize);
                places(leaves, key);
            }
            Self::PhrasePrefix { leaves, last: (place, pattern), slop, .. } => {
                put(key, *slop as usize);
                places(&[(*place, *pattern)], key);
                places(leaves, key);
            }
            Self::Boolean { must, should, must_not, filter, min_should } => {
                put(key, *min_should);
                return lists(&[must, should, must_not, filter], key);
            }
            Self::DisMax { nodes, .. } => return lists(&[nodes], key),
            Self::Constant { node, .. } => return node.write_key(true, key),
            Self::None | Self::All(_) | Self::Function { .. } => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(leaf: usize, boost: f32) -> Node {
        Node::Term { leaf, boost }
    }

    fn pattern(leaf: usize, boost: f32, scoring: PatternScoring) -> Node {
        Node::Pattern { leaf, boost, scoring }
    }

    fn union(should: Vec<Node>) -> Node {
        Node::Boolean { must: Vec::new(), should, must_not: Vec::new(), filter: Vec::new(), min_should: 1 }
    }

    #[test]
    fn factors_of_equal_leaves_add_up() {
        let (blended, constant) = (PatternScoring::Blended, PatternScoring::Constant);
        let phrase = |slop, boost| Node::Phrase { leaves: vec![(0, 1), (1, 2)], slop, boost };
        let merged = merge_sums(vec![
            term(1, 1.0),
            pattern(1, 2.0, blended),
            phrase(0, 1.0),
            term(1, 0.5),
            pattern(1, 3.0, constant),
            pattern(1, 0.25, blended),
            phrase(1, 1.0),
            phrase(0, 4.0),
            pattern(2, 1.0, blended),
        ]);
        let expected = [
            term(1, 1.5),
            pattern(1, 2.25, blended),
            phrase(0, 5.0),
            pattern(1, 3.0, constant),
            phrase(1, 1.0),
            pattern(2, 1.0, blended),
        ];
        assert_eq!(merged, expected);
    }

    #[test]
    fn equal_trees_count_as_often_as_they_stand_there() {
        let best = |boost| Node::DisMax { nodes: vec![term(1, boost), union(vec![term(2, 1.0)])], tie_breaker: 0.5 };
        let doubled = Node::DisMax { nodes: vec![term(1, 2.0), union(vec![term(2, 2.0)])], tie_breaker: 0.5 };
        assert_eq!(merge_sums(vec![best(1.0), best(3.0), best(1.0)]), [doubled, best(3.0)]);
        assert_eq!(merge_conditions(vec![best(1.0), best(3.0), best(1.0)]), [best(1.0), best(3.0)]);
    }

    #[test]
    fn of_conditions_one_stays() {
        let nodes = vec![Node::Set(1), term(1, 1.0), Node::Set(1), Node::Set(2), term(1, 1.0)];
        assert_eq!(merge_conditions(nodes), [Node::Set(1), term(1, 1.0), Node::Set(2)]);
    }
}
