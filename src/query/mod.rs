//! Queries: what a caller asks ([`request`]), the query tree, its parsers, and the plan that answers it.
//!
//! **Tree.** [`Query`] is the whole of a text query; [`parse_plain`] reads what people type into a search box and never
//! fails; [`parse_lucene`] reads a syntax and reports what it ignored. Both analyse words per field as the index did.
//!
//! **Plan.** One [`Plan`] answers a query over all segments of a snapshot. It is a step machine without I/O:
//!
//! ```text
//! let mut plan = Plan::new(&query, segments)?;         // segments: Vec<Arc<SegmentText>>, made once per snapshot
//! while !plan.is_ready() {
//!     let bytes = read_all(plan.wanted()).await?;       // wave 1: term blocks; wave 2: postings and norms
//!     plan.feed(bytes)?;                                // in the order of the wants
//! }
//! let top = plan.top_k(limit, &filters, &cancel)?;      // filters: one SegmentFilter per segment
//! let total = plan.count(&filters, &cancel)?;           // exact, without scoring
//! let set = plan.matches(segment, &filters[segment])?;  // for facets and sorting
//! let why = plan.explain(segment, doc, &filters[segment], &names)?; // value == score
//! ```
//!
//! A plan is told what it will be asked ([`PlanOptions`]). One for the best documents alone ([`Purpose::Top`]) reads only
//! skip data of long lists in wave 2, and then, in up to three waves that [`Plan::choose`] decides on, the blocks and norms
//! that can still win:
//!
//! ```text
//! while !plan.is_ready() {
//!     if plan.wanted().is_empty() {
//!         plan.choose(&filters, &cancel)?;
//!     } else {
//!         plan.feed(read_all(plan.wanted()).await?)?;
//!     }
//! }
//! let (top, total) = plan.top_k_and_total(limit, &filters, &cancel)?; // the total says whether it is exact
//! ```
//!
//! What is resident already (memory, a mapped file, pinned norms) is put into [`FieldText`] and never asked for, so
//! that a plan over memory is ready at once. Statistics (document counts and frequencies) are summed over all segments.
//!
//! **Column filters** are leaves ([`Query::Filter`]) that name a bit set per segment, which the searcher computes from
//! columns and hands in with [`SegmentFilter`], like the set of live documents.
//!
//! **Columns inside queries** are leaves ([`Query::Column`]) with a condition; [`Plan::columns`] lists them, and the
//! searcher hands in each one's [`ColumnInput`]: a set, or packed values of which only those of candidates are decoded.
//!
//! **Highlighting.** [`Query::highlighter`] knows the terms, patterns and phrases of one field; give it the analyzer
//! and a stored text, and it marks byte ranges.

#![forbid(unsafe_code)]

mod bind;
mod bm25;
mod collect;
mod column;
mod column_request;
mod equal;
mod exec;
mod expand;
mod explain;
mod function;
mod highlight;
mod more_like;
mod parse;
mod plan;
mod reading;
pub mod request;
mod scorer;
mod structured;
mod tree;
mod work;

pub use bm25::Bm25Params;
pub use column::{
    ColumnBytes, ColumnField, ColumnInput, ColumnLeaf, ColumnQuery, ColumnTest, KeywordTest, dictionary_blocks,
    keyword_ranges,
};
pub use expand::MAX_PATTERN_TERMS;
pub use function::{BoostMode, DecayShape, FunctionQuery, ScoreFunction};
pub use highlight::Highlighter;
pub use more_like::{Like, MoreLikeQuery, MoreLikeTerm};
pub use parse::{ParseColumn, ParseField, ParseOptions, Parsed, parse_lucene, parse_plain};
pub use plan::{FieldText, Plan, PlanOptions, Purpose, ScoredDoc, SegmentFilter, SegmentText, Total, Want};
pub use reading::read_json;
pub use structured::{MAX_TREE_CLAUSES, MAX_TREE_DEPTH, parse_tree};
pub use tree::{BooleanQuery, PatternScoring, PhrasePrefixQuery, PhraseQuery, Query};
pub use work::{MAX_QUERY_PATTERNS, MAX_QUERY_TERMS};

#[cfg(test)]
mod bound_tests;
#[cfg(test)]
mod part_cost_tests;
#[cfg(test)]
mod part_tests;
#[cfg(test)]
mod tests;
