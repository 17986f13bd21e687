//! What a document of a stretch can score at most, and about how many documents there match.
//!
//! A query tree is compiled once into a [`Bound`] over lists, one per term; evaluated with the block of each list that a
//! stretch lies in, it gives a score that no document there passes. Trees with leaves that no skip data speaks for
//! (patterns) have no bound: their lists are read whole.

use crate::query::{Plan, bind::Node, scorer::term::TermWeight};

use super::blocks::List;

/// A term of the query, with the weights of the places where it scores.
#[derive(Debug, Clone)]
pub(super) struct ListPlan {
    pub leaf: usize,
    pub weights: Vec<TermWeight>,
}

/// A place of a term: its list, and which of its weights counts there; `None` where it only matches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    list: usize,
    weight: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Bound {
    /// Any document, with a score.
    Any(f64),
    Term(Place),
    /// All of these; with `None` the lowest of their scores, else this one.
    Phrase(Vec<Place>, Option<f64>),
    /// All of `must`, at least `min_some` of `some`.
    Sum {
        must: Vec<Bound>,
        some: Vec<Bound>,
        min_some: usize,
    },
    /// Any of these: the highest, and a share of the others.
    Best(Vec<Bound>, f64),
    /// Matches with another score.
    Scored(Box<Bound>, f64),
}

/// A tree compiled.
#[derive(Debug, Clone)]
pub(super) struct Compiled {
    pub bound: Bound,
    pub lists: Vec<ListPlan>,
    /// What bounds are widened by: inner nodes round their sums to single precision.
    pub slack: f64,
    /// Whether the score of each term is one that its documents reach, whatever the other terms are.
    pub reaches: bool,
}

/// See [`Compiled::slack`]: more roundings than trees are deep.
const SLACK: f64 = 1.0 + 1e-6;

/// What is known of the documents of a stretch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    /// No document scores more.
    pub score: f64,
    /// Share of the documents that match, about.
    pub density: f32,
}

impl Plan {
    /// The bound of the query; `None` if it has none.
    pub(super) fn compile(&self) -> Option<Compiled> {
        let mut compiler = Compiler { plan: self, lists: Vec::new() };
        let bound = compiler.compile(&self.root, true)?;
        let is_term = |node: &Node| matches!(node, Node::Term { .. });
        let (is_flat, reaches) = match &self.root {
            Node::Term { .. } => (true, true),
            Node::Boolean { must, should, must_not, filter, min_should } => {
                let is_flat = must.iter().chain(should).all(is_term) && (must.is_empty() || should.is_empty());
                let is_union = must.is_empty() && must_not.is_empty() && filter.is_empty() && *min_should <= 1;
                (is_flat, is_union && should.iter().all(is_term))
            }
            Node::DisMax { nodes, .. } => (false, nodes.iter().all(is_term)),
            _ => (false, false),
        };
        let lists = compiler.lists;
        let adds_up = lists.iter().flat_map(|list| &list.weights).all(|weight| weight.weight >= 0.0);
        Some(Compiled { bound, lists, slack: if is_flat { 1.0 } else { SLACK }, reaches: reaches && adds_up })
    }
}

struct Compiler<'a> {
    plan: &'a Plan,
    lists: Vec<ListPlan>,
}

impl Compiler<'_> {
    fn place(&mut self, leaf: usize, weight: Option<TermWeight>) -> Place {
        let list = self.lists.iter().position(|list| list.leaf == leaf).unwrap_or_else(|| {
            self.lists.push(ListPlan { leaf, weights: Vec::new() });
            self.lists.len() - 1
        });
        let weights = &mut self.lists[list].weights;
        let weight = weight.map(|weight| {
            weights.push(weight);
            weights.len() - 1
        });
        Place { list, weight }
    }

    fn all(&mut self, nodes: &[Node], scored: bool) -> Option<Vec<Bound>> {
        nodes.iter().map(|node| self.compile(node, scored)).collect()
    }

    fn compile(&mut self, node: &Node, scored: bool) -> Option<Bound> {
        let flat = |score: f32| if scored { f64::from(score).max(0.0) } else { 0.0 };
        Some(match node {
            Node::All(score) | Node::Column { score, .. } => Bound::Any(flat(*score)),
            Node::Set(_) => Bound::Any(0.0),
            Node::Term { leaf, boost } => {
                Bound::Term(self.place(*leaf, scored.then(|| self.plan.term_weight(*leaf, *boost))))
            }
            Node::Phrase { leaves, slop, boost } => {
                let weight = self.plan.phrase_weight(leaves, *boost);
                // What words near each other count is not bounded by how often each of them occurs.
                let is_exact = *slop == 0;
                let each = |&(_, leaf): &(u32, usize)| self.place(leaf, (scored && is_exact).then(|| weight.clone()));
                let places = leaves.iter().map(each).collect();
                Bound::Phrase(places, (!scored || !is_exact).then(|| flat(weight.weight)))
            }
            Node::Constant { node, score } => Bound::Scored(Box::new(self.compile(node, false)?), flat(*score)),
            Node::DisMax { nodes, tie_breaker } => {
                Bound::Best(self.all(nodes, scored)?, f64::from(tie_breaker.clamp(0.0, 1.0)))
            }
            Node::Boolean { must, should, must_not, filter, min_should } => {
                let (mut required, some) = (self.all(must, scored)?, self.all(should, scored)?);
                required.extend(self.all(filter, false)?);
                // They rule out documents, which bounds ignore; but their blocks are needed.
                self.all(must_not, false)?;
                let min_some = (*min_should).max(usize::from(required.is_empty()));
                Bound::Sum { must: required, some, min_some }
            }
            _ => return None,
        })
    }
}

impl Bound {
    /// What is known where the stretch lies in the block `active` says of each list; `None` if nothing matches.
    pub fn estimate(&self, lists: &[List], active: &[Option<usize>]) -> Option<Estimate> {
        let at = |place: &Place| {
            let list = &lists[place.list];
            let block = active[place.list]?;
            Some(Estimate { score: list.bound(block, place.weight), density: list.blocks[block].density() })
        };
        Some(match self {
            Self::Any(score) => Estimate { score: *score, density: 1.0 },
            Self::Term(place) => at(place)?,
            Self::Phrase(places, score) => {
                let mut phrase = Estimate { score: score.unwrap_or(f64::INFINITY), density: 1.0 };
                for place in places {
                    let term = at(place)?;
                    phrase.density *= term.density;
                    if score.is_none() {
                        phrase.score = phrase.score.min(term.score);
                    }
                }
                phrase
            }
            Self::Sum { must, some, min_some } => {
                let mut sum = Estimate { score: 0.0, density: 1.0 };
                for bound in must {
                    let one = bound.estimate(lists, active)?;
                    sum = Estimate { score: sum.score + one.score, density: sum.density * one.density };
                }
                let (mut found, mut density) = (0, 0.0f32);
                for one in some.iter().filter_map(|bound| bound.estimate(lists, active)) {
                    found += 1;
                    sum.score += one.score;
                    density = density.max(one.density);
                }
                if found < *min_some {
                    return None;
                }
                if *min_some > 0 {
                    sum.density *= density;
                }
                sum
            }
            Self::Best(nodes, share) => {
                let (mut best, mut total, mut density) = (f64::NEG_INFINITY, 0.0, 0.0f32);
                for one in nodes.iter().filter_map(|bound| bound.estimate(lists, active)) {
                    best = best.max(one.score);
                    total += one.score;
                    density = density.max(one.density);
                }
                if best == f64::NEG_INFINITY {
                    return None;
                }
                Estimate { score: best + share * (total - best), density }
            }
            Self::Scored(inner, score) => Estimate { score: *score, ..inner.estimate(lists, active)? },
        })
    }
}
