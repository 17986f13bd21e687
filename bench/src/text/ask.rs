//! Queries that both engines understand, and a third spelling for the package.

use rangefind::{
    ids::FieldOrd,
    query::{BooleanQuery, PatternScoring, PhraseQuery, Query},
    terms::TermPattern,
};
use tantivy::{
    Term,
    query::{
        BooleanQuery as PeerBoolean, BoostQuery, ConstScoreQuery, Occur, PhraseQuery as PeerPhrase, Query as PeerQuery,
        RegexQuery, TermQuery,
    },
    schema::{Field, IndexRecordOption},
};

/// The text field of our segments.
pub const TEXT: FieldOrd = FieldOrd(1);
/// A keyword field: which twentieth of the documents.
pub const PART: FieldOrd = FieldOrd(2);
/// The id field.
pub const ID: FieldOrd = FieldOrd(0);

/// The same fields of the peer.
#[derive(Debug, Clone, Copy)]
pub struct PeerFields {
    pub text: Field,
    pub part: Field,
    pub id: Field,
}

/// What to search for.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    Term(String),
    /// All of them.
    And(Vec<Ask>),
    /// Any of them.
    Or(Vec<Ask>),
    /// At least so many of them.
    AtLeast(u32, Vec<Ask>),
    /// Words at neighbouring places, or at most so far from them.
    Phrase(Vec<String>, u32),
    /// Words that start so; all score the same.
    Prefix(String),
    /// The first, and only where the second is not.
    Without(Box<Ask>, Vec<Ask>),
    /// All of the first, any of the second counts more.
    Prefer(Vec<Ask>, Vec<Ask>),
    /// In this part of the documents; the part does not score.
    InPart(Box<Ask>, u32),
    /// The document of an id.
    Key(String),
}

impl Ask {
    /// A term by its word.
    pub fn term(word: &str) -> Self {
        Self::Term(word.to_owned())
    }

    /// All or any of some words.
    pub fn terms(words: &[&str], make: impl Fn(Vec<Ask>) -> Ask) -> Self {
        make(words.iter().map(|word| Self::term(word)).collect())
    }

    /// Queries like it with one part less, or with one part alone.
    pub fn smaller(&self) -> Vec<Ask> {
        fn of_list(asks: &[Ask], least: usize, make: &dyn Fn(Vec<Ask>) -> Ask) -> Vec<Ask> {
            let mut found: Vec<Ask> = asks.to_vec();
            for ix in 0..asks.len() {
                let mut fewer = asks.to_vec();
                fewer.remove(ix);
                if fewer.len() >= least {
                    found.push(make(fewer));
                }
                for smaller in asks[ix].smaller() {
                    let mut other = asks.to_vec();
                    other[ix] = smaller;
                    found.push(make(other));
                }
            }
            found
        }
        match self {
            Self::Term(_) | Self::Phrase(..) | Self::Prefix(_) | Self::Key(_) => Vec::new(),
            Self::And(asks) => of_list(asks, 1, &|asks| Self::And(asks)),
            Self::Or(asks) => of_list(asks, 1, &|asks| Self::Or(asks)),
            Self::AtLeast(count, asks) => of_list(asks, *count as usize, &|asks| Self::AtLeast(*count, asks)),
            Self::Without(ask, others) => {
                let mut found = vec![ask.as_ref().clone()];
                found.extend(ask.smaller().into_iter().map(|ask| Self::Without(Box::new(ask), others.clone())));
                found.extend(of_list(others, 1, &|others| Self::Without(ask.clone(), others)));
                found
            }
            Self::Prefer(asks, others) => {
                let mut found = of_list(asks, 1, &|asks| Self::Prefer(asks, others.clone()));
                found.extend(of_list(others, 1, &|others| Self::Prefer(asks.clone(), others)));
                found
            }
            Self::InPart(ask, part) => {
                let mut found = vec![ask.as_ref().clone()];
                found.extend(ask.smaller().into_iter().map(|ask| Self::InPart(Box::new(ask), *part)));
                found
            }
        }
    }

    /// In our tree.
    pub fn ours(&self) -> Query {
        let all = |asks: &[Ask]| asks.iter().map(Ask::ours).collect::<Vec<_>>();
        let boolean = BooleanQuery::default();
        match self {
            Self::Term(word) => Query::Term { field: TEXT, term: word.clone().into_bytes() },
            Self::And(asks) => Query::Boolean(BooleanQuery { must: all(asks), ..boolean }),
            Self::Or(asks) => Query::Boolean(BooleanQuery { should: all(asks), ..boolean }),
            Self::AtLeast(count, asks) => {
                Query::Boolean(BooleanQuery { should: all(asks), min_should_match: *count, ..boolean })
            }
            Self::Phrase(words, slop) => {
                let terms = words.iter().enumerate().map(|(place, word)| (place as u32, word.clone().into_bytes()));
                Query::Phrase(PhraseQuery { field: TEXT, terms: terms.collect(), slop: *slop })
            }
            Self::Prefix(prefix) => {
                let pattern = TermPattern::Prefix(prefix.clone().into_bytes());
                Query::Pattern { field: TEXT, pattern, scoring: PatternScoring::Constant }
            }
            Self::Without(ask, others) => {
                Query::Boolean(BooleanQuery { must: vec![ask.ours()], must_not: all(others), ..boolean })
            }
            Self::Prefer(asks, others) => {
                Query::Boolean(BooleanQuery { must: all(asks), should: all(others), ..boolean })
            }
            Self::InPart(ask, part) => {
                let filter = vec![Query::Term { field: PART, term: part_name(*part).into_bytes() }];
                Query::Boolean(BooleanQuery { must: vec![ask.ours()], filter, ..boolean })
            }
            Self::Key(id) => Query::Constant(Box::new(Query::Term { field: ID, term: id.clone().into_bytes() }), 1.0),
        }
    }

    /// In the peer's tree.
    pub fn peers(&self, fields: PeerFields) -> Box<dyn PeerQuery> {
        let term = |word: &str| Term::from_field_text(fields.text, word);
        let all = |occur: Occur, asks: &[Ask]| -> Vec<(Occur, Box<dyn PeerQuery>)> {
            asks.iter().map(|ask| (occur, ask.peers(fields))).collect()
        };
        let boolean = |clauses| -> Box<dyn PeerQuery> { Box::new(PeerBoolean::new(clauses)) };
        match self {
            Self::Term(word) => Box::new(TermQuery::new(term(word), IndexRecordOption::WithFreqs)),
            Self::And(asks) => boolean(all(Occur::Must, asks)),
            Self::Or(asks) => boolean(all(Occur::Should, asks)),
            Self::AtLeast(count, asks) => {
                let clauses = all(Occur::Should, asks);
                Box::new(PeerBoolean::with_minimum_required_clauses(clauses, *count as usize))
            }
            Self::Phrase(words, slop) => {
                let terms = words.iter().map(|word| term(word)).enumerate().collect();
                Box::new(PeerPhrase::new_with_offset_and_slop(terms, *slop))
            }
            Self::Prefix(prefix) => {
                let pattern = format!("{prefix}.*");
                Box::new(RegexQuery::from_pattern(&pattern, fields.text).expect("letters are a pattern"))
            }
            Self::Without(ask, others) => {
                let mut clauses = vec![(Occur::Must, ask.peers(fields))];
                clauses.extend(all(Occur::MustNot, others));
                boolean(clauses)
            }
            Self::Prefer(asks, others) => {
                let mut clauses = all(Occur::Must, asks);
                clauses.extend(all(Occur::Should, others));
                boolean(clauses)
            }
            Self::InPart(ask, part) => {
                let part = Term::from_field_text(fields.part, &part_name(*part));
                let part: Box<dyn PeerQuery> = Box::new(TermQuery::new(part, IndexRecordOption::Basic));
                // It has no clause that does not score: a score of nothing is the nearest.
                let silent: Box<dyn PeerQuery> =
                    Box::new(BoostQuery::new(Box::new(ConstScoreQuery::new(part, 1.0)), 0.0));
                boolean(vec![(Occur::Must, ask.peers(fields)), (Occur::Must, silent)])
            }
            Self::Key(id) => {
                let id = TermQuery::new(Term::from_field_text(fields.id, id), IndexRecordOption::Basic);
                Box::new(ConstScoreQuery::new(Box::new(id), 1.0))
            }
        }
    }

    /// In the package's query syntax, where that has a spelling for it.
    pub fn syntax(&self) -> Option<String> {
        let list = |sign: &str, asks: &[Ask]| -> Option<String> {
            let parts = asks.iter().map(|ask| ask.nested().map(|text| format!("{sign}{text}")));
            Some(parts.collect::<Option<Vec<_>>>()?.join(" "))
        };
        Some(match self {
            Self::Term(word) => word.clone(),
            Self::And(asks) => list("+", asks)?,
            Self::Or(asks) => list("", asks)?,
            Self::Phrase(words, 0) => format!("\"{}\"", words.join(" ")),
            Self::Phrase(words, slop) => format!("\"{}\"~{slop}", words.join(" ")),
            Self::Prefix(prefix) => format!("{prefix}*"),
            Self::Without(ask, others) => format!("+{} {}", ask.nested()?, list("-", others)?),
            Self::Prefer(asks, others) => format!("{} {}", list("+", asks)?, list("", others)?),
            Self::AtLeast(..) | Self::InPart(..) | Self::Key(_) => return None,
        })
    }

    fn nested(&self) -> Option<String> {
        let text = self.syntax()?;
        Some(match self {
            Self::Term(_) | Self::Phrase(..) | Self::Prefix(_) => text,
            _ => format!("({text})"),
        })
    }

    /// Whether both engines give it the same score, up to a factor.
    pub fn scores_alike(&self) -> bool {
        match self {
            Self::Prefix(_) | Self::Key(_) | Self::Phrase(_, 1..) => false,
            Self::Term(_) | Self::Phrase(..) => true,
            Self::And(asks) | Self::Or(asks) | Self::AtLeast(_, asks) => asks.iter().all(Self::scores_alike),
            Self::Without(ask, _) | Self::InPart(ask, _) => ask.scores_alike(),
            Self::Prefer(asks, others) => asks.iter().chain(others).all(Self::scores_alike),
        }
    }

    /// Whether both engines mean the same documents by it. Distances in phrases are measured differently.
    pub fn matches_alike(&self) -> bool {
        !matches!(self, Self::Phrase(_, 1..))
    }
}

/// The keyword of a part.
pub fn part_name(part: u32) -> String {
    format!("p{part}")
}
