//! Scorers of a tree.

use crate::query::{
    bind::Node,
    scorer::{
        BoxScorer,
        and::{Adds, AndScorer},
        boolean::{Combine, ConstantScorer, ExcludeScorer, OptionalScorer},
        function::FunctionScorer,
        or::OrScorer,
        sets::{AllScorer, SetScorer},
    },
};

use super::run::SegmentRun;

impl SegmentRun<'_> {
    /// The scorer of a node; `None` if it matches nothing here.
    pub(in crate::query) fn build(&self, node: &Node, scored: bool) -> Option<BoxScorer> {
        Some(match node {
            Node::None => return None,
            Node::All(score) => Box::new(AllScorer::new(self.max_doc(), *score)),
            Node::Term { leaf, boost } => Box::new(self.term(*leaf, *boost)?),
            Node::Phrase { leaves, slop, boost } => Box::new(self.phrase(leaves, *slop, *boost)?),
            Node::PhrasePrefix { leaves, last, terms, slop, boost } => {
                Box::new(self.phrase_prefix(leaves, (last.0, terms), *slop, *boost)?)
            }
            Node::Pattern { leaf, boost, scoring } => {
                if self.plan.data[self.segment].patterns[*leaf].is_empty() {
                    return None;
                }
                self.pattern(*leaf, *boost, *scoring, scored)
            }
            Node::Constant { node, score } => {
                Box::new(ConstantScorer { inner: self.build(node, false)?, score: *score })
            }
            Node::Function { node, leaf, function } => {
                let inner = self.build(node, scored)?;
                if scored { Box::new(FunctionScorer::new(inner, self.function(*leaf, *function))) } else { inner }
            }
            Node::Column { leaf, score } => self.column(*leaf, *score)?,
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
            required.push((self.build(node, scored)?, if scored { Adds::Score } else { Adds::Nothing }));
        }
        for node in filter {
            required.push((self.build(node, false)?, Adds::Nothing));
        }
        let mut optional: Vec<_> = should.iter().filter_map(|node| self.build(node, scored)).collect();
        if min_should > 0 {
            if optional.len() < min_should {
                return None;
            }
            let clauses = std::mem::take(&mut optional);
            let adds = if scored { Adds::Part } else { Adds::Nothing };
            required.push((Box::new(OrScorer::new(clauses, min_should, Combine::Sum)), adds));
        }
        let is_single = required.len() == 1 && (required[0].1 != Adds::Nothing || !scored);
        let is_part = !is_single || required[0].1 == Adds::Part;
        let mut scorer: BoxScorer = if is_single {
            required.remove(0).0
        } else if required.is_empty() {
            return None;
        } else {
            Box::new(AndScorer::new(required))
        };
        if scored && !optional.is_empty() {
            let optional = Box::new(OrScorer::new(optional, 1, Combine::Sum));
            scorer = Box::new(OptionalScorer::new(scorer, is_part, optional));
        }
        let excluded: Vec<_> = must_not.iter().filter_map(|node| self.build(node, false)).collect();
        if !excluded.is_empty() {
            let excluded = Box::new(OrScorer::new(excluded, 1, Combine::Sum));
            scorer = Box::new(ExcludeScorer { required: scorer, excluded });
        }
        Some(scorer)
    }
}
