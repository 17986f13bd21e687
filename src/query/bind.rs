//! A query tree with its terms numbered and its boosts moved down to where scores arise.

use std::{collections::BTreeMap, ops::Bound};

use crate::{
    ids::FieldOrd,
    query::{
        BooleanQuery, ColumnLeaf, ColumnQuery, ColumnTest, PatternScoring, PhrasePrefixQuery, Query,
        equal::{merge_conditions, merge_sums},
        function::BoundFunction,
    },
    terms::TermPattern,
};

/// The bound tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    None,
    /// Every document with one score.
    All(f32),
    Term {
        leaf: usize,
        boost: f32,
    },
    Phrase {
        leaves: Vec<(u32, usize)>,
        slop: u32,
        boost: f32,
    },
    PhrasePrefix {
        leaves: Vec<(u32, usize)>,
        /// Place and pattern of the last term.
        last: (u32, usize),
        /// Terms that it stands for, the most frequent first, once they are known.
        terms: Vec<usize>,
        slop: u32,
        boost: f32,
    },
    Pattern {
        leaf: usize,
        boost: f32,
        scoring: PatternScoring,
    },
    Boolean {
        must: Vec<Node>,
        should: Vec<Node>,
        must_not: Vec<Node>,
        filter: Vec<Node>,
        min_should: usize,
    },
    DisMax {
        nodes: Vec<Node>,
        tie_breaker: f32,
    },
    Constant {
        node: Box<Node>,
        score: f32,
    },
    Set(usize),
    Function {
        node: Box<Node>,
        leaf: usize,
        function: BoundFunction,
    },
    Column {
        leaf: usize,
        score: f32,
    },
}

/// A distinct term of the query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TermLeaf {
    pub field: FieldOrd,
    pub term: Vec<u8>,
    pub scored: bool,
    pub positions: bool,
}

/// A distinct pattern of the query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PatternLeaf {
    pub field: FieldOrd,
    pub pattern: TermPattern,
    pub scored: bool,
    /// Becomes so many terms with positions; 0 if it is searched for itself.
    pub max_terms: u32,
}

#[derive(Debug, Default)]
pub(super) struct Binder {
    pub terms: Vec<TermLeaf>,
    pub patterns: Vec<PatternLeaf>,
    pub columns: Vec<ColumnLeaf>,
    /// Where in `terms` a term is, once there are more than a few: there may be tens of thousands.
    places: BTreeMap<(FieldOrd, Vec<u8>), usize>,
    /// Where in `patterns` a pattern is, by what tells it from others.
    pattern_places: BTreeMap<(FieldOrd, Vec<u8>), usize>,
}

/// Terms that are searched one by one.
const FEW_TERMS: usize = 8;

impl Binder {
    fn term(&mut self, field: FieldOrd, term: &[u8], scored: bool, positions: bool) -> usize {
        let known = match self.terms.len() {
            0..=FEW_TERMS => self.terms.iter().position(|leaf| leaf.field == field && leaf.term == term),
            _ => self.places.get(&(field, term.to_vec())).copied(),
        };
        let ix = known.unwrap_or_else(|| self.new_term(field, term));
        self.terms[ix].scored |= scored;
        self.terms[ix].positions |= positions;
        ix
    }

    fn new_term(&mut self, field: FieldOrd, term: &[u8]) -> usize {
        self.terms.push(TermLeaf { field, term: term.to_vec(), scored: false, positions: false });
        let ix = self.terms.len() - 1;
        if ix >= FEW_TERMS {
            let unplaced = self.places.len()..=ix;
            let place = |ix: usize| ((self.terms[ix].field, self.terms[ix].term.clone()), ix);
            self.places.extend(unplaced.map(place));
        }
        ix
    }

    fn pattern(&mut self, field: FieldOrd, pattern: &TermPattern, scored: bool, max_terms: u32) -> usize {
        let ix = *self.pattern_places.entry((field, pattern_key(pattern, max_terms))).or_insert_with(|| {
            self.patterns.push(PatternLeaf { field, pattern: pattern.clone(), scored: false, max_terms });
            self.patterns.len() - 1
        });
        self.patterns[ix].scored |= scored;
        ix
    }

    fn column(&mut self, query: &ColumnQuery, values: bool) -> usize {
        let ix = self.columns.iter().position(|leaf| leaf.query == *query).unwrap_or_else(|| {
            self.columns.push(ColumnLeaf { query: query.clone(), values: false });
            self.columns.len() - 1
        });
        self.columns[ix].values |= values;
        ix
    }

    /// Binds `query`, its scores times `boost`; not `scored` where only matching counts.
    pub fn bind(&mut self, query: &Query, boost: f32, scored: bool) -> Node {
        match query {
            Query::None => Node::None,
            Query::All => Node::All(boost),
            Query::Term { field, term } => Node::Term { leaf: self.term(*field, term, scored, false), boost },
            Query::Phrase(phrase) => match phrase.terms.as_slice() {
                [] => Node::None,
                [(_, term)] => Node::Term { leaf: self.term(phrase.field, term, scored, false), boost },
                terms => Node::Phrase {
                    leaves: terms
                        .iter()
                        .map(|(place, term)| (*place, self.term(phrase.field, term, scored, true)))
                        .collect(),
                    slop: phrase.slop,
                    boost,
                },
            },
            Query::PhrasePrefix(PhrasePrefixQuery { phrase, last, max_expansions }) => {
                let pattern = TermPattern::Prefix(last.1.clone());
                if phrase.terms.is_empty() {
                    let leaf = self.pattern(phrase.field, &pattern, scored, 0);
                    return Node::Pattern { leaf, boost, scoring: PatternScoring::Blended };
                }
                let leaves = phrase.terms.iter();
                Node::PhrasePrefix {
                    leaves: leaves.map(|(place, term)| (*place, self.term(phrase.field, term, scored, true))).collect(),
                    last: (last.0, self.pattern(phrase.field, &pattern, scored, (*max_expansions).max(1))),
                    terms: Vec::new(),
                    slop: phrase.slop,
                    boost,
                }
            }
            Query::MoreLike(_) => Node::None,
            Query::Pattern { field, pattern, scoring } => {
                let scored = scored && *scoring == PatternScoring::Blended;
                Node::Pattern { leaf: self.pattern(*field, pattern, scored, 0), boost, scoring: *scoring }
            }
            Query::Boost(inner, factor) => self.bind(inner, times(boost, *factor), scored),
            Query::Constant(inner, score) => match self.bind(inner, 1.0, false) {
                Node::None => Node::None,
                Node::All(_) => Node::All(times(*score, boost)),
                node => Node::Constant { node: Box::new(node), score: times(*score, boost) },
            },
            Query::DisMax { queries, tie_breaker } => {
                let mut nodes: Vec<_> = queries.iter().map(|query| self.bind(query, boost, scored)).collect();
                nodes.retain(|node| *node != Node::None);
                match nodes.len() {
                    0 => Node::None,
                    1 => nodes.remove(0),
                    _ => Node::DisMax { nodes, tie_breaker: *tie_breaker },
                }
            }
            Query::Boolean(boolean) => self.bind_boolean(boolean, boost, scored),
            Query::Function(function) => {
                let node = match self.bind(&function.query, boost, scored) {
                    Node::None => return Node::None,
                    node if !scored => return node,
                    node => Box::new(node),
                };
                let column = ColumnQuery { field: function.field, test: ColumnTest::Exists };
                let leaf = self.column(&column, true);
                Node::Function { node, leaf, function: BoundFunction::new(function, boost) }
            }
            Query::Column(ColumnQuery { test: ColumnTest::Values(ranges), .. }) if ranges.is_empty() => Node::None,
            Query::Column(column) => Node::Column { leaf: self.column(column, false), score: boost },
            Query::Filter(set) => Node::Set(*set as usize),
        }
    }

    fn bind_boolean(&mut self, boolean: &BooleanQuery, boost: f32, scored: bool) -> Node {
        let mut bind = |queries: &[Query], scored| -> Vec<Node> {
            queries.iter().map(|query| self.bind(query, boost, scored)).collect()
        };
        let (mut must, should) = (bind(&boolean.must, scored), bind(&boolean.should, scored));
        let (mut must_not, mut filter) = (bind(&boolean.must_not, false), bind(&boolean.filter, false));
        must_not.retain(|node| *node != Node::None);
        if must.contains(&Node::None)
            || filter.contains(&Node::None)
            || must_not.iter().any(|node| matches!(node, Node::All(_)))
        {
            return Node::None;
        }
        let mut min_should = boolean.min_should_match as usize;
        let mut flat = Vec::with_capacity(should.len());
        for node in should {
            match node {
                Node::None => {}
                // A union inside a union adds up the same way.
                Node::Boolean { must, should, must_not, filter, min_should: 0..=1 }
                    if min_should <= 1 && must.is_empty() && filter.is_empty() && must_not.is_empty() =>
                {
                    flat.extend(should);
                }
                node => flat.push(node),
            }
        }
        let should = if min_should <= 1 { merge_sums(flat) } else { flat };
        must = merge_sums(must);
        (must_not, filter) = (merge_conditions(must_not), merge_conditions(filter));
        let positive = !must.is_empty() || !filter.is_empty();
        if !positive {
            // Exclusions that exclude nothing here are still all that is asked for.
            if boolean.should.is_empty() && !boolean.must_not.is_empty() && min_should == 0 {
                filter.push(Node::All(1.0));
            } else {
                min_should = min_should.max(1);
            }
        }
        if min_should > should.len() {
            return Node::None;
        }
        if must_not.is_empty() && filter.is_empty() {
            if should.is_empty() && must.len() == 1 {
                return must.remove(0);
            }
            if must.is_empty() && should.len() == 1 {
                let mut should = should;
                return should.remove(0);
            }
        }
        Node::Boolean { must, should, must_not, filter, min_should }
    }
}

/// Largest factor on a score: what sums of many clauses come to is finite.
const MAX_FACTOR: f32 = 1e25;

/// The product of two factors, which may each be as large as numbers are.
fn times(a: f32, b: f32) -> f32 {
    (a.min(MAX_FACTOR) * b.min(MAX_FACTOR)).min(MAX_FACTOR)
}

/// What tells a pattern from others.
fn pattern_key(pattern: &TermPattern, max_terms: u32) -> Vec<u8> {
    let mut key = max_terms.to_le_bytes().to_vec();
    let mut put = |tag: u8, bytes: &[u8]| {
        key.push(tag);
        key.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        key.extend_from_slice(bytes);
    };
    let bound = |bound: &Bound<Vec<u8>>, put: &mut dyn FnMut(u8, &[u8])| match bound {
        Bound::Included(term) => put(5, term),
        Bound::Excluded(term) => put(6, term),
        Bound::Unbounded => put(7, &[]),
    };
    match pattern {
        TermPattern::Prefix(prefix) => put(1, prefix),
        TermPattern::Wildcard(text) => put(2, text.as_bytes()),
        TermPattern::Regex(text) => put(3, text.as_bytes()),
        TermPattern::Fuzzy(fuzzy) => {
            put(4, fuzzy.term.as_bytes());
            put(fuzzy.max_edits, &fuzzy.prefix_len.to_le_bytes());
            put(0, &fuzzy.max_expansions.to_le_bytes());
        }
        TermPattern::Range { from, to } => {
            bound(from, &mut put);
            bound(to, &mut put);
        }
    }
    key
}

/// Whether a node is a union and nothing else.
fn is_union(node: &Node) -> bool {
    matches!(node, Node::Boolean { must, must_not, filter, min_should: 0..=1, .. }
        if must.is_empty() && filter.is_empty() && must_not.is_empty())
}

impl Node {
    /// Puts terms in the place of patterns that became such: leaves and factors by pattern.
    pub fn expand(&mut self, expansions: &[Option<Vec<(usize, f32)>>]) {
        match self {
            Self::Pattern { leaf, boost, scoring } => {
                let Some(Some(terms)) = expansions.get(*leaf) else { return };
                let (boost, is_constant) = (*boost, *scoring == PatternScoring::Constant);
                let factor = if is_constant { 1.0 } else { boost };
                let mut should: Vec<_> =
                    terms.iter().map(|&(leaf, share)| Self::Term { leaf, boost: factor * share }).collect();
                *self = match should.len() {
                    0 => Self::None,
                    1 => should.remove(0),
                    _ => Self::Boolean {
                        must: Vec::new(),
                        should,
                        must_not: Vec::new(),
                        filter: Vec::new(),
                        min_should: 1,
                    },
                };
                if is_constant && *self != Self::None {
                    *self = Self::Constant { node: Box::new(std::mem::replace(self, Self::None)), score: boost };
                }
            }
            Self::PhrasePrefix { last, terms, .. } => {
                if let Some(Some(found)) = expansions.get(last.1) {
                    *terms = found.iter().map(|&(leaf, _)| leaf).collect();
                }
            }
            Self::Boolean { must, should, must_not, filter, min_should } => {
                let parts = must.iter_mut().chain(should.iter_mut()).chain(must_not).chain(filter);
                parts.for_each(|node| node.expand(expansions));
                if *min_should <= 1 && should.iter().any(is_union) {
                    let nodes = std::mem::take(should).into_iter();
                    *should =
                        nodes.flat_map(|node| if is_union(&node) { node.into_should() } else { vec![node] }).collect();
                }
            }
            Self::DisMax { nodes, .. } => nodes.iter_mut().for_each(|node| node.expand(expansions)),
            Self::Constant { node, .. } | Self::Function { node, .. } => node.expand(expansions),
            Self::None
            | Self::All(_)
            | Self::Term { .. }
            | Self::Phrase { .. }
            | Self::Set(_)
            | Self::Column { .. } => {}
        }
    }

    fn into_should(self) -> Vec<Self> {
        match self {
            Self::Boolean { should, .. } => should,
            node => vec![node],
        }
    }

    /// Whether it can match in a segment, given which terms and patterns are there.
    pub fn can_match(&self, term: &impl Fn(usize) -> bool, pattern: &impl Fn(usize) -> bool) -> bool {
        let can = |node: &Node| node.can_match(term, pattern);
        match self {
            Self::None => false,
            Self::All(_) | Self::Set(_) | Self::Column { .. } => true,
            Self::Term { leaf, .. } => term(*leaf),
            Self::Phrase { leaves, .. } => leaves.iter().all(|(_, leaf)| term(*leaf)),
            Self::PhrasePrefix { leaves, terms, .. } => {
                leaves.iter().all(|(_, leaf)| term(*leaf)) && terms.iter().any(|&leaf| term(leaf))
            }
            Self::Pattern { leaf, .. } => pattern(*leaf),
            Self::Boolean { must, should, filter, min_should, .. } => {
                must.iter().chain(filter).all(can) && should.iter().filter(|node| can(node)).count() >= *min_should
            }
            Self::DisMax { nodes, .. } => nodes.iter().any(can),
            Self::Constant { node, .. } | Self::Function { node, .. } => node.can_match(term, pattern),
        }
    }
}
