//! What a search asks and answers, in the JSON shape of the TypeScript face: one place that Rust, the wasm
//! adapter, the command line and the documentation share.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

use crate::{
    error::Result,
    ids::DocId,
    terms::{MAX_EDITS, auto_edits},
};

use super::reading::read_json;

pub use super::column_request::{
    CalendarUnit, CollapseClause, FacetClause, FacetCount, FacetInterval, FacetOptions, FacetRange, FacetResult,
    Missing, SortKey, SortOrder,
};

/// One search. Without `query` and `vector` every document matches (filters, sort and facets still apply).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchRequest {
    /// Words to look for, never a syntax error: see [`Self::syntax`]. Or a tree of clauses, each an object with one key:
    /// `{ "bool": { "must": [{ "match": { "field": "body", "text": "range requests" } }] } }`; see
    /// [`crate::query::parse_tree`].
    pub query: Option<QueryInput>,
    /// How `query` is read. Default plain.
    pub syntax: Syntax,
    /// Text fields to search, all of them by default; keyword fields too where they are named, of which the whole query
    /// is one value. At most 1024 names, as in the other lists of fields.
    pub fields: Option<Vec<String>>,
    /// Whether one word is enough or all must match, in plain mode. Default any.
    #[serde(rename = "match")]
    pub matching: MatchMode,
    /// Treat the last word as a prefix, for search as you type; so is that of a phrase without its second quote yet
    /// (`"range re`). In plain mode. Default false.
    pub prefix: bool,
    /// Typing errors that a word may have, in plain mode: 0, 1, 2, or `"auto"`, by its length: none below 3 characters, one
    /// up to 5, two above; none in words with digits. What is written as asked scores higher. Default 0.
    pub fuzzy: Fuzziness,
    /// Characters at the beginning of a word that are always as asked, with [`Self::fuzzy`]: far less of the index is
    /// looked at, and few people mistype the first letter. Default 1.
    pub fuzzy_prefix_length: Option<u32>,
    /// Look for the nearest vectors too, or alone.
    pub vector: Option<VectorClause>,
    /// How the text and the vector ranking become one, where both are asked. Default reciprocal rank fusion, k 60.
    pub fuse: Fuse,
    /// Conditions on columns: `{ "year": { "gte": 2020 }, "tag": ["a", "b"], "not": { "draft": true } }`. All keys must
    /// hold; `and`, `or` (lists) and `not` nest. A condition is a value, a list (one of them), `null` (no value), or
    /// `eq`, `in`, `gt`, `gte`, `lt`, `lte`, `exists`, `not`. `id` takes ids.
    pub filter: Option<Value>,
    /// Order by columns instead of by score: `[{ "field": "year", "order": "desc" }]`.
    pub sort: Vec<SortKey>,
    /// Count documents per value, range or interval. At most 256, with 4096 ranges in all.
    pub facets: Vec<FacetClause>,
    /// Text fields whose matches are marked in the hits.
    pub highlight: Vec<String>,
    /// Stored fields to return; all by default, none with an empty list. Names that no hit and no schema knows are in
    /// [`SearchResponse::ignored`].
    pub select: Option<Vec<String>>,
    /// Hits to return. Default 10, at most 10,000.
    pub limit: Option<u32>,
    /// Hits to skip. Default 0.
    pub offset: u32,
    /// Continue behind the last hit of an earlier answer to the same search: its `cursor`. Not with `offset`. Order by
    /// score continues in the same commit only; order by columns and index order also in later ones, as long as the
    /// segment of that hit was not merged: `index_changed` says to start again.
    pub after: Option<String>,
    /// Only the best hit per value of a column. `total` and facets count all documents.
    pub collapse: Option<CollapseClause>,
    /// How exactly matching documents are counted. Default auto.
    pub total: TotalMode,
    /// Where vectors are scored. Default auto.
    pub gpu: GpuMode,
    /// Say how each score came about. Default false.
    pub explain: bool,
}

impl SearchRequest {
    /// From its JSON text.
    ///
    /// # Errors
    /// `invalid_argument` naming the option: `search: limit: expected a whole number of at least 0, found "5"`.
    pub fn from_json(text: &str) -> Result<Self> {
        read_json("search", text)
    }
}

/// What is asked: a text, or a tree of clauses.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "a query: a text, or a clause such as { \"match\": { \"field\": …, \"text\": … } }")]
pub enum QueryInput {
    /// Words, read as [`SearchRequest::syntax`] says.
    Text(String),
    /// A clause with clauses in it.
    Tree(Map<String, Value>),
}

impl From<&str> for QueryInput {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for QueryInput {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl QueryInput {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Tree(_) => None,
        }
    }

    /// Whether there is nothing to look for.
    pub fn is_blank(&self) -> bool {
        self.text().is_some_and(|text| text.trim().is_empty())
    }
}

/// How query text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Syntax {
    /// Every character is text, except that `"double quotes"` make a phrase and `-word` leaves documents out.
    #[default]
    Plain,
    /// `+must -not "a phrase"~2 "a phrase beg*" field:term pre* wo?d fuzz~1 /reg(ex)?/ year:[2019 TO 2021] size:>=10 _exists_:tag (group)^2`.
    /// Never an error: what is ignored is reported.
    Lucene,
}

/// How exactly the documents that match a text query are counted. Searches with facets, with `sort` or `collapse`, and
/// fused ones count exactly in any case, since they look at every match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TotalMode {
    /// Exactly where the index is near (memory, files, the browser's file system), or where that takes no further reads:
    /// short lists of matches, single words of an index without deletions. Else, over the network, at least: lists of
    /// frequent words are then read in part.
    #[default]
    Auto,
    /// Exactly: over the network, whole lists are read.
    Exact,
    /// At least: nothing is read and nothing computed for it. What a page needs that shows hits alone.
    AtLeast,
}

/// What a total says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TotalRelation {
    /// So many documents match.
    #[default]
    Exact,
    /// So many or more.
    AtLeast,
}

/// How many words of a plain query must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchMode {
    /// At least one; more of them score higher.
    #[default]
    Any,
    /// All of them.
    All,
}

/// Typing errors that a word may have: characters inserted, left out, replaced, or swapped with their neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fuzziness {
    /// So many, at most 2.
    Edits(u8),
    /// By the length of the word: none below 3 characters, one up to 5, then two.
    Auto,
}

impl Default for Fuzziness {
    fn default() -> Self {
        Self::Edits(0)
    }
}

impl Fuzziness {
    /// From JSON: 0, 1, 2 or `"auto"`; `None` of anything else.
    pub(super) fn of(found: &Value) -> Option<Self> {
        match found.as_u64() {
            Some(edits) => u8::try_from(edits).ok().filter(|&edits| edits <= MAX_EDITS).map(Self::Edits),
            None => (found == "auto").then_some(Self::Auto),
        }
    }

    /// Edits that a word of `num_chars` characters may have.
    pub fn edits(self, num_chars: usize) -> u8 {
        match self {
            Self::Edits(edits) => edits.min(MAX_EDITS),
            Self::Auto => auto_edits(num_chars),
        }
    }
}

impl<'de> Deserialize<'de> for Fuzziness {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = Value::deserialize(deserializer)?;
        Self::of(&found).ok_or_else(|| D::Error::custom(format!("fuzzy: expected 0, 1, 2 or \"auto\", found {found}")))
    }
}

/// The vector leg. Exactly one of `value`, `values` and `like` is given.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct VectorClause {
    /// The vector field.
    pub field: String,
    /// The query vector.
    pub value: Option<Vec<f32>>,
    /// Several query vectors, at most 1,000, each with a ranking of its own in [`SearchResponse::answers`]. What they read
    /// is read in common waves. Only for a vector search alone: `query`, `sort`, `facets`, `collapse` and `after` are
    /// refused, filters apply to all.
    pub values: Option<Vec<Vec<f32>>>,
    /// Use the vector of this document ("more like this"); the document itself is left out.
    pub like: Option<DocId>,
    /// Neighbours to consider for fusion. Default max(100, offset + limit). Without `min_score` no score cut-off is
    /// applied.
    pub k: Option<u32>,
    /// Neighbours with a lower score are left out. Scores are those of hits, computed from full vectors: (1 + s) / 2 for
    /// cosine and dot, 1 / (1 + d²) for L2. Then `total` counts those that were found, `k` at most.
    pub min_score: Option<f32>,
    /// Score every vector that passes the filter: the answer is exact. Default false. Segments of less than 4,096 vectors
    /// are always searched so.
    pub exact: bool,
    /// Share of the true ten nearest that a search should find, by what was measured when each segment was built.
    /// Default 0.95, and over a network what one wave of about 272 KiB of codes finds; named, as many codes are read there
    /// in one wave as it took to find that share. The best that was measured where that is less.
    pub recall: Option<f32>,
    /// Cells of near vectors to look into per segment, instead of what `recall` asks for. A cell has about 32 vectors; in
    /// segments of some 100,000 or more up to 96, so that less is read when a far index is opened.
    pub probes: Option<u32>,
    /// Vectors to score exactly, as a multiple of the number of hits, instead of what `recall` asks for. At least 1.
    pub oversample: Option<f32>,
    /// How segments with cells are searched. Default: by probing, or by a scan where so few vectors pass the filter that
    /// this is cheaper. Walking was never quicker where it was measured; see [`VectorMode::Walk`].
    pub mode: Option<VectorMode>,
    /// Vectors kept while walking, 1 to 65,536, instead of what `recall` asks for: more find more. Only with mode
    /// `walk`.
    pub ef_search: Option<u32>,
}

/// How near vectors are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorMode {
    /// Over the graph of neighbours, of segments that have one, others are probed; the vector field needs the option `graph`.
    /// On 99,000 sentence vectors of 384 dimensions in memory, a walk estimates fewer vectors than a probe for the same
    /// recall, but takes twice as long for 0.95 and six times as long for 0.98, since each is a look-up of its own.
    Walk,
    /// The best cells.
    Probe,
    /// Every vector that passes the filter: as `exact`.
    Scan,
}

/// How two rankings become one.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fuse {
    /// Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): sum of 1 / (60 + rank), ranks from 1.
    #[default]
    Rrf,
    /// The same with another constant.
    #[serde(rename = "rrfK")]
    RrfK(f32),
    /// Weighted sum of both scores, each divided by the best of its ranking. A weight of 0 leaves exactly the other leg.
    Weights {
        /// Factor of the text score.
        text: f32,
        /// Factor of the vector score.
        vector: f32,
    },
}

/// Where vectors are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuMode {
    /// On a hardware GPU where that pays, else on the CPU; the answer says which and why.
    #[default]
    Auto,
    /// On the CPU.
    Off,
    /// On any GPU adapter, software ones included; `no_gpu` if there is none.
    Required,
}

impl From<GpuMode> for crate::gpu::Mode {
    fn from(mode: GpuMode) -> Self {
        match mode {
            GpuMode::Auto => Self::Auto,
            GpuMode::Off => Self::Off,
            GpuMode::Required => Self::Required,
        }
    }
}

/// The answer.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchResponse {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Documents that match: exactly, or at least, as [`Self::total_relation`] says. For a vector search alone: documents
    /// that pass the filter and have a vector; with `min_score` the neighbours that were found. Where both legs are fused: documents that the text finds or that are among
    /// the vector leg's `k` neighbours.
    pub total: u64,
    /// Whether `total` is exact.
    pub total_relation: TotalRelation,
    /// One entry per requested facet, in order.
    pub facets: Vec<FacetResult>,
    /// Per query vector of [`VectorClause::values`], in order, its answer; `hits` are empty then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<VectorAnswer>,
    /// Where the last hit is, for `after`; none without hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Milliseconds inside the engine.
    pub took: f64,
    /// What of the query was ignored, in words: of a plain one, what lies behind 1024 words or 32 KiB.
    pub ignored: Vec<String>,
    /// What the search cost.
    pub stats: SearchStats,
}

/// The answer to one of several query vectors.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VectorAnswer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// With `min_score`, the neighbours that were found; else documents that pass the filter and have a vector.
    pub total: u64,
}

/// One document of the answer.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// The caller's id.
    pub id: DocId,
    /// Score the hits are ordered by; larger is better.
    pub score: f64,
    /// BM25 score, where the text leg found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_score: Option<f32>,
    /// Vector score, where the vector leg found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_score: Option<f32>,
    /// The stored document, or the selected part of it.
    pub doc: Map<String, Value>,
    /// Per highlighted field: the parts of each of its texts that match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub highlights: Vec<FieldHighlight>,
    /// How the score came about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explanation>,
    /// Of a collapsed search, the value it stands for; none where it stands for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Value>,
    /// Of a collapsed search with inner hits, the next best of its group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<Hit>,
}

/// Marks in one field of one hit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldHighlight {
    /// The field.
    pub field: String,
    /// Which of the field's texts, 0 for a single one.
    pub value_ix: u32,
    /// Matches in the whole text: pairs of start and end in UTF-16 code units, ascending, not overlapping.
    pub ranges: Vec<(u32, u32)>,
    /// A part of the text around the best matches, at most about 200 characters.
    pub snippet: String,
    /// Matches inside `snippet`, as `ranges`.
    pub snippet_ranges: Vec<(u32, u32)>,
}

/// A node of a score's derivation; `value` is the sum (or stated function) of `details`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The value.
    pub value: f64,
    /// What it is.
    pub description: String,
    /// What it is made of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Explanation>,
}

/// What one search cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchStats {
    /// Requests to storage.
    pub requests: u64,
    /// Bytes they brought.
    pub bytes: u64,
    /// Rounds of requests that had to be waited for, one after another.
    pub waves: u32,
    /// Cache blocks that were resident.
    pub cache_hits: u64,
    /// Cache blocks that were not.
    pub cache_misses: u64,
    /// Segments searched.
    pub segments: u32,
    /// Vectors scored exactly.
    pub vectors_scored: u64,
    /// Cells of near vectors that were looked into.
    pub cells_probed: u64,
    /// Codes in them that were scored: of most vectors one, of those that two cells list both.
    pub codes_scored: u64,
    /// Vectors whose neighbours were looked at in a walk over a graph; 0 where nothing was walked.
    pub vectors_expanded: u64,
    /// Where vectors were scored and why: `cpu`, `cpu: software adapter declined`, `gpu: NVIDIA …`.
    pub compute: String,
}
