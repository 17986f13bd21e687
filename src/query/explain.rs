//! How a score came about.

use crate::{
    error::{Error, Result},
    ids::{DocOrd, FieldOrd},
    postings::norms,
    query::{
        BoostMode, PatternScoring, Plan, SegmentFilter,
        bind::Node,
        collect::Accept,
        exec::{SegmentRun, prefix_weights},
        request::Explanation,
        scorer::{Scorer, term::TermWeight},
    },
};

fn node(value: f32, description: impl Into<String>, details: Vec<Explanation>) -> Explanation {
    Explanation { value: f64::from(value), description: description.into(), details }
}

/// A term as text where it is one.
fn shown(term: &[u8]) -> String {
    String::from_utf8_lossy(term).into_owned()
}

struct Explainer<'a> {
    run: SegmentRun<'a>,
    names: &'a dyn Fn(FieldOrd) -> String,
}

impl Plan {
    /// How the score of a document comes about; `None` if it does not match. `names` gives the names of fields. The
    /// value equals the score, and that of each node follows from its details as the description says.
    ///
    /// # Errors
    /// If postings are damaged.
    pub fn explain(
        &self,
        segment: usize,
        doc: DocOrd,
        filter: &SegmentFilter,
        names: &dyn Fn(FieldOrd) -> String,
    ) -> Result<Option<Explanation>> {
        let Some(mut run) = self.run(segment, filter)? else { return Ok(None) };
        if !Accept::new(filter).has(doc.0) {
            return Ok(None);
        }
        if let Some(partial) = &self.data[segment].partial {
            if !partial.has(doc.0) {
                return Err(Error::invalid(format!("document {} was not read by a plan for the best", doc.0)));
            }
            run = run.within(doc.0..doc.0 + 1);
        }
        let explainer = Explainer { run, names };
        let found = explainer.explain(&self.root, doc.0);
        explainer.run.check()?;
        Ok(found)
    }
}

impl Explainer<'_> {
    fn bm25(&self, what: String, value: f32, freq: f32, norm: u8, weight: &TermWeight, parts: String) -> Explanation {
        let factor = weight.lengths[usize::from(norm)];
        let details = vec![
            node(weight.weight, format!("weight = {parts}"), Vec::new()),
            node(freq, "freq, occurrences in the document", Vec::new()),
            node(factor, format!("factor of a length of about {} words", norms::decode(norm)), Vec::new()),
        ];
        node(value, format!("{what}: weight - weight / (1 + freq * factor)"), details)
    }

    fn matches(&self, tree: &Node, doc: u32) -> bool {
        self.run.build(tree, false).is_some_and(|mut scorer| scorer.advance(doc) == doc)
    }

    fn explain(&self, tree: &Node, doc: u32) -> Option<Explanation> {
        let plan = self.run.plan;
        match tree {
            Node::None => None,
            Node::All(score) => Some(node(*score, "every document", Vec::new())),
            Node::Term { leaf, boost } => {
                let mut scorer = self.run.term(*leaf, *boost)?;
                if scorer.advance(doc) != doc {
                    return None;
                }
                let ((freq, norm), value) = (scorer.freq_and_norm(), scorer.score());
                let (term, weight) = (&plan.terms[*leaf], &plan.term_stats[*leaf].weight);
                let stats = plan.field_stats(term.field)?;
                let parts = format!(
                    "boost {boost} * idf {} (in {} of {} documents)",
                    weight.weight, plan.term_stats[*leaf].doc_freq, stats.totals.doc_count
                );
                let what = format!("{}:{}", (self.names)(term.field), shown(&term.term));
                let weight = TermWeight { weight: weight.weight * boost, lengths: weight.lengths.clone() };
                Some(self.bm25(what, value, freq as f32, norm, &weight, parts))
            }
            Node::Phrase { leaves, slop, boost } => {
                let mut scorer = self.run.phrase(leaves, *slop, *boost)?;
                if scorer.advance(doc) != doc {
                    return None;
                }
                let ((freq, norm), value) = (scorer.freq_and_norm(), scorer.score());
                let words: Vec<_> = leaves.iter().map(|&(_, leaf)| shown(&plan.terms[leaf].term)).collect();
                let first = leaves.first()?.1;
                let idf =
                    leaves.iter().map(|&(_, leaf)| f64::from(plan.term_stats[leaf].weight.weight)).sum::<f64>() as f32;
                let weight = TermWeight { weight: idf * boost, lengths: plan.term_stats[first].weight.lengths.clone() };
                let what = format!("{}:\"{}\"", (self.names)(plan.terms[first].field), words.join(" "));
                Some(self.bm25(what, value, freq, norm, &weight, format!("boost {boost} * sum of idf {idf}")))
            }
            Node::PhrasePrefix { leaves, last, terms, slop, boost } => {
                let mut scorer = self.run.phrase_prefix(leaves, (last.0, terms), *slop, *boost)?;
                if scorer.advance(doc) != doc {
                    return None;
                }
                let ((freq, norm), value) = (scorer.freq_and_norm(), scorer.score());
                let words: Vec<_> = leaves.iter().map(|&(_, leaf)| shown(&plan.terms[leaf].term)).collect();
                let weighed = prefix_weights(leaves, last.0, terms);
                let (idf, weight) = (plan.phrase_weight(&weighed, 1.0).weight, plan.phrase_weight(&weighed, *boost));
                let field = (self.names)(plan.patterns[last.1].field);
                let what = format!("{field}:\"{} {}\"", words.join(" "), plan.patterns[last.1].pattern);
                Some(self.bm25(what, value, freq, norm, &weight, format!("boost {boost} * sum of idf {idf}")))
            }
            Node::Pattern { leaf, boost, scoring } => self.explain_pattern(*leaf, *boost, *scoring, tree, doc),
            Node::Set(_) => self.matches(tree, doc).then(|| node(0.0, "in a filter", Vec::new())),
            Node::Column { leaf, score } => self.matches(tree, doc).then(|| {
                let field = (self.names)(plan.columns[*leaf].query.field);
                node(*score, format!("{field} has a value that fulfils the condition"), Vec::new())
            }),
            Node::Function { node: inner, leaf, function } => {
                let inner = self.explain(inner, doc)?;
                let mut values = self.run.function(*leaf, *function);
                let result = values.of(doc);
                let value = function.combine(inner.value as f32, result);
                let name = (self.names)(plan.columns[*leaf].query.field);
                let factor = match function.mode {
                    BoostMode::Multiply => 1.0,
                    BoostMode::Sum | BoostMode::Replace => function.scale,
                };
                let description = match function.mode {
                    BoostMode::Multiply => "score times function",
                    BoostMode::Sum => "score plus function",
                    BoostMode::Replace => "function instead of the score",
                };
                let result = Explanation {
                    value: result * factor,
                    description: format!("weight {} * {:?} of {name}", function.weight * factor, function.function),
                    details: Vec::new(),
                };
                Some(node(value, description, vec![inner, result]))
            }
            Node::Constant { node: inner, score } => {
                self.matches(inner, doc).then(|| node(*score, "constant score", Vec::new()))
            }
            Node::DisMax { nodes, tie_breaker } => {
                let details: Vec<_> = nodes.iter().filter_map(|tree| self.explain(tree, doc)).collect();
                let best = details.iter().map(|detail| detail.value).fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = details.iter().map(|detail| detail.value).sum();
                if details.is_empty() {
                    return None;
                }
                let value = (best + f64::from(*tie_breaker) * (sum - best)) as f32;
                Some(node(value, format!("the highest, plus {tie_breaker} times the others"), details))
            }
            Node::Boolean { must, should, .. } => {
                if !self.matches(tree, doc) {
                    return None;
                }
                let details: Vec<_> = must.iter().chain(should).filter_map(|tree| self.explain(tree, doc)).collect();
                let sum: f64 = details.iter().map(|detail| detail.value).sum();
                Some(node(sum as f32, "sum", details))
            }
        }
    }

    fn explain_pattern(
        &self,
        leaf: usize,
        boost: f32,
        scoring: PatternScoring,
        tree: &Node,
        doc: u32,
    ) -> Option<Explanation> {
        let mut scorer = self.run.build(tree, true)?;
        if scorer.advance(doc) != doc {
            return None;
        }
        let value = scorer.score();
        let (pattern, weight) = (&self.run.plan.patterns[leaf], &self.run.plan.pattern_weights[leaf]);
        let what = format!("{}:{}", (self.names)(pattern.field), pattern.pattern);
        if scoring == PatternScoring::Constant || weight.flat.is_some() {
            return Some(node(value, format!("{what}: one score for all matches"), Vec::new()));
        }
        let freqs = self.run.pattern_freqs(leaf);
        let freq = freqs.binary_search_by_key(&doc, |entry| entry.0).map_or(0, |ix| freqs[ix].1);
        let norm = self.run.field_norms(pattern.field).map_or(1, |norms| norms.get(doc));
        let parts = format!("boost {boost} * idf of its most frequent term (in {} documents)", weight.doc_freq);
        let weight = TermWeight { weight: weight.weight.weight * boost, lengths: weight.weight.lengths.clone() };
        Some(self.bm25(what, value, freq as f32, norm, &weight, parts))
    }
}
