//! A search request checked against the schema, before anything is read.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;

use crate::{
    analysis::{Analyzer, AnalyzerSpec},
    columns::ColumnKind,
    error::{Error, Result},
    ids::{DocId, FieldOrd},
    platform,
    query::{
        ParseColumn, ParseField, ParseOptions, Purpose, Query, parse_lucene, parse_plain, parse_tree,
        request::{Fuse, QueryInput, SearchRequest, Syntax, TotalMode, VectorClause, VectorMode},
    },
    schema::{Field, FieldKind, Metric, Schema, VectorOptions},
};

use super::{
    column_ask::{CollapseAsk, FacetAsk, FacetAsks, ResolvedKey, collapse_ask, facet_asks, sort_keys},
    cursor::{Cursor, fingerprint},
    filter::Filter,
    fusion::Legs,
};

/// Hits that one search returns at most; [`SearchRequest::offset`] pages as deep as there are matches.
pub const MAX_LIMIT: u32 = 10_000;
const DEFAULT_LIMIT: u32 = 10;
/// Neighbours considered for each hit of a collapsed search.
const COLLAPSE_FACTOR: usize = 4;
/// Neighbours of the vector leg where the request names no number.
const DEFAULT_NEIGHBOURS: usize = 100;
/// Characters at the beginning of a word without typing errors, where the request says nothing.
const DEFAULT_FUZZY_PREFIX_LEN: u32 = 1;
/// Names of a list of fields at most.
const MAX_NAMES: usize = 1024;
/// Query vectors of one request at most.
const MAX_VALUES: usize = 1000;
/// A shortlist is at most so many times as long as the hits asked for.
const MAX_OVERSAMPLE: f32 = 1000.0;
/// Breadth of a walk.
const MAX_EF_SEARCH: u32 = 65_536;

/// What to search for, resolved.
#[derive(Debug)]
pub(super) struct Ask {
    /// The query, for ranking and for highlights.
    pub query: Option<Query>,
    /// What of the query text was ignored.
    pub ignored: Vec<String>,
    /// Rankings to make.
    pub legs: Legs,
    pub vector: Option<VectorAsk>,
    pub filter: Option<Filter>,
    pub sort: Vec<ResolvedKey>,
    /// Different facets.
    pub facets: Vec<FacetAsk>,
    /// Which of them each facet of the request is.
    pub facet_places: Vec<usize>,
    pub collapse: Option<CollapseAsk>,
    /// Where to go on.
    pub after: Option<Cursor>,
    pub highlights: Vec<(FieldOrd, String, Analyzer)>,
    pub fuse: Fuse,
    pub total: TotalMode,
    pub offset: usize,
    pub limit: usize,
}

/// The vector leg.
#[derive(Debug)]
pub(super) struct VectorAsk {
    pub field: FieldOrd,
    pub name: String,
    pub options: VectorOptions,
    pub source: VectorSource,
    pub k: usize,
    /// Score below which nothing is a neighbour.
    pub min_score: Option<f32>,
    /// Score everything.
    pub exact: bool,
    pub recall: Option<f32>,
    pub probes: Option<u32>,
    pub oversample: Option<f32>,
    pub mode: Option<VectorMode>,
    pub ef_search: Option<u32>,
}

/// Where the query vector comes from.
#[derive(Debug)]
pub(super) enum VectorSource {
    Value(Vec<f32>),
    /// Each with a ranking of its own.
    Values(Vec<Vec<f32>>),
    Like(DocId),
}

impl VectorAsk {
    /// Whether each query vector has a ranking of its own, instead of the best of all counting.
    pub fn is_batch(&self) -> bool {
        matches!(self.source, VectorSource::Values(_))
    }
}

impl Ask {
    pub fn new(request: &SearchRequest, schema: &Schema) -> Result<Self> {
        let limit = request.limit.unwrap_or(DEFAULT_LIMIT);
        if limit > MAX_LIMIT {
            return Err(Error::invalid(format!(
                "limit {limit}: at most {MAX_LIMIT} hits at a time, use offset for more"
            )));
        }
        let (mut offset, limit) = (request.offset as usize, limit as usize);
        let after = request.after.as_deref().map(Cursor::parse).transpose()?;
        if let Some(after) = &after {
            if offset > 0 {
                return Err(Error::invalid("after and offset exclude each other"));
            }
            if after.keys.is_empty() {
                offset = usize::try_from(after.position).unwrap_or(usize::MAX);
            }
        }
        let text = request.query.as_ref().filter(|query| !query.is_blank());
        let depth =
            offset.saturating_add(limit).saturating_mul(if request.collapse.is_some() { COLLAPSE_FACTOR } else { 1 });
        let vector = request.vector.as_ref().map(|clause| vector(clause, schema, depth));
        let mut vector = vector.transpose()?;
        if vector.as_ref().is_some_and(VectorAsk::is_batch) {
            let has_facets = !request.facets.is_empty();
            let beside = [
                ("query", text.is_some()),
                ("sort", !request.sort.is_empty()),
                ("facets", has_facets),
                ("collapse", request.collapse.is_some()),
                ("after", after.is_some()),
            ];
            if let Some((name, _)) = beside.iter().find(|(_, given)| *given) {
                return Err(Error::invalid(format!("several query vectors exclude {name}")));
            }
        }
        let takes_all = text.is_some() || !request.sort.is_empty();
        if let (Some(vector), Some(after), true) = (&mut vector, &after, takes_all) {
            // With more neighbours what is fused or sorted would be another ranking.
            vector.k = after.neighbours as usize;
        }
        let fused = Legs::of(request.fuse)?;
        let legs = match (text.is_some(), vector.is_some()) {
            (true, true) => fused,
            (text, vector) => Legs { text, vector },
        };
        let FacetAsks { different: facets, places: facet_places } = facet_asks(&request.facets, schema)?;
        let (query, ignored) = match text {
            Some(text) => {
                let (query, ignored) = parse_query(text, request, schema)?;
                (Some(query), ignored)
            }
            None => (None, Vec::new()),
        };
        Ok(Self {
            query,
            ignored,
            legs,
            vector: vector.filter(|_| legs.vector),
            filter: request
                .filter
                .as_ref()
                .filter(|filter| !filter.is_null())
                .map(|filter| Filter::parse(filter, schema))
                .transpose()?,
            sort: sort_keys(&request.sort, schema)?,
            facets,
            facet_places,
            collapse: request.collapse.as_ref().map(|clause| collapse_ask(clause, schema)).transpose()?,
            after,
            highlights: highlights(request, schema)?,
            fuse: request.fuse,
            total: request.total,
            offset,
            limit,
        })
    }

    /// Whether the order is one of values and places, which a cursor can name; positions otherwise.
    pub fn is_by_place(&self) -> bool {
        let by_columns = self.sort.iter().all(|key| key.column.is_some());
        let by_index = self.sort.is_empty() && (self.legs.text || self.legs.vector);
        self.collapse.is_none() && by_columns && !by_index
    }

    /// Tells orders apart: a cursor of one means nothing in another.
    pub fn order(&self) -> u32 {
        let mut bytes = vec![u8::from(self.legs.text), u8::from(self.legs.vector)];
        for key in &self.sort {
            let (field, kind) = key.column.map_or((u16::MAX, u8::MAX), |(field, kind)| (field.0, kind as u8));
            bytes.extend_from_slice(&field.to_le_bytes());
            bytes.extend([kind, u8::from(key.descending), u8::from(key.missing_first)]);
        }
        bytes.extend(self.collapse.iter().flat_map(|collapse| collapse.field.0.to_le_bytes()));
        fingerprint([bytes.as_slice()]) as u32
    }

    /// What the text leg is asked, as far as is known before anything is read.
    pub fn purpose(&self) -> Purpose {
        let is_ranked_alone = !self.legs.vector && self.sort.is_empty() && self.collapse.is_none();
        if !is_ranked_alone || !self.facets.is_empty() {
            return Purpose::Anything;
        }
        match self.total {
            TotalMode::Exact => Purpose::TopAndCount(self.depth()),
            TotalMode::Auto | TotalMode::AtLeast => Purpose::Top(self.depth()),
        }
    }

    /// Hits to rank: those skipped and those returned.
    pub fn depth(&self) -> usize {
        self.offset.saturating_add(self.limit)
    }
}

fn unknown(what: &str, name: &str) -> Error {
    Error::invalid(format!("{what} field {name:?}: there is no such field"))
}

fn text_field(what: &str, name: &str, schema: &Schema, keywords_too: bool) -> Result<ParseField> {
    let (field, found) = schema.find(name).ok_or_else(|| unknown(what, name))?;
    let bad = |kind: &str| Error::invalid(format!("{what} field {name:?}: a {kind} field has no text"));
    let (analyzer, boost, positions) = match &found.kind {
        FieldKind::Text(options) => (options.analyzer.analyzer(), options.boost, options.positions),
        FieldKind::Keyword if keywords_too => (AnalyzerSpec::from("keyword").analyzer(), 1.0, false),
        other => return Err(bad(other.name())),
    };
    let analyzer = analyzer.map_err(|error| Error::invalid(format!("{what} field {name:?}: {error}")))?.fresh();
    Ok(ParseField { field, name: name.to_owned(), analyzer, boost, positions })
}

fn parse_query(query: &QueryInput, request: &SearchRequest, schema: &Schema) -> Result<(Query, Vec<String>)> {
    let named = |wanted: fn(&FieldKind) -> bool| {
        let names = schema.fields().filter(move |(_, field)| wanted(&field.kind)).map(|(_, field)| field.name.as_str());
        names.map(|name| text_field("query", name, schema, true)).collect::<Result<Vec<_>>>()
    };
    let default_fields = match &request.fields {
        Some(names) => {
            let names = distinct("fields", names)?;
            names.into_iter().map(|name| text_field("query", name, schema, true)).collect::<Result<_>>()?
        }
        None => named(|kind| matches!(kind, FieldKind::Text(_)))?,
    };
    let options = ParseOptions {
        default_fields,
        named_fields: named(|kind| matches!(kind, FieldKind::Text(_) | FieldKind::Keyword))?,
        matching: request.matching,
        prefix: request.prefix,
        fuzzy: request.fuzzy,
        fuzzy_prefix_len: request.fuzzy_prefix_length.unwrap_or(DEFAULT_FUZZY_PREFIX_LEN),
        columns: schema
            .fields()
            .map(|(ord, field)| ParseColumn {
                field: ord,
                name: field.name.clone(),
                kind: ColumnKind::of(&field.kind),
                is_id: field.kind == FieldKind::Id,
            })
            .collect(),
    };
    let parsed = match (query, request.syntax) {
        (QueryInput::Text(text), Syntax::Plain) => parse_plain(text, &options),
        (QueryInput::Text(text), Syntax::Lucene) => parse_lucene(text, &options),
        (QueryInput::Tree(tree), _) => parse_tree(tree, schema, &options, platform::now_millis())?,
    };
    for field in options.default_fields.iter().chain(&options.named_fields) {
        if let Some(error) = field.analyzer.take_failure() {
            return Err(Error::invalid(format!("query field {:?}: {error}", field.name)));
        }
    }
    Ok((parsed.query, parsed.ignored))
}

fn vector(clause: &VectorClause, schema: &Schema, depth: usize) -> Result<VectorAsk> {
    let bad = |what: String| Error::invalid(format!("vector field {:?}: {what}", clause.field));
    if clause.field.is_empty() {
        let is_vector = |field: &&Field| matches!(field.kind, FieldKind::Vector(_));
        let names: Vec<_> =
            schema.fields().map(|(_, field)| field).filter(is_vector).map(|field| &field.name).collect();
        return Err(Error::invalid(format!("vector: \"field\" is missing; vector fields of the index: {names:?}")));
    }
    let (field, found) = schema.find(&clause.field).ok_or_else(|| unknown("vector", &clause.field))?;
    let FieldKind::Vector(options) = &found.kind else {
        return Err(bad(format!("it is a {} field", found.kind.name())));
    };
    let check = |value: &Vec<f32>| {
        if value.len() != options.dims as usize {
            return Err(bad(format!("a vector of {} dimensions, the field has {}", value.len(), options.dims)));
        }
        match value.iter().position(|component| !component.is_finite()) {
            Some(at) => Err(bad(format!("component {at} is {}, not a finite number", value[at]))),
            None if options.metric == Metric::Cosine && value.iter().all(|component| *component == 0.0) => {
                Err(bad("a query vector of zeros points nowhere: no cosine tells what is near it".to_owned()))
            }
            None => Ok(()),
        }
    };
    let source = match (&clause.value, &clause.values, &clause.like) {
        (Some(value), None, None) => {
            check(value)?;
            VectorSource::Value(value.clone())
        }
        (None, Some(values), None) => {
            if values.is_empty() || values.len() > MAX_VALUES {
                return Err(bad(format!("{} query vectors, from 1 to {MAX_VALUES} are possible", values.len())));
            }
            values.iter().try_for_each(check)?;
            VectorSource::Values(values.clone())
        }
        (None, None, Some(id)) => VectorSource::Like(id.clone()),
        _ => return Err(bad("exactly one of \"value\", \"values\" and \"like\" is needed".to_owned())),
    };
    if clause.min_score.is_some_and(f32::is_nan) {
        return Err(bad("minScore is not a number".to_owned()));
    }
    if let Some(recall) = clause.recall.filter(|recall| !(0.0..=1.0).contains(recall)) {
        return Err(bad(format!("recall {recall} is not between 0 and 1")));
    }
    if clause.probes == Some(0) {
        return Err(bad("probes 0: at least one cell is looked into".to_owned()));
    }
    if clause.mode == Some(VectorMode::Walk) && options.graph.is_none() {
        return Err(bad("mode \"walk\" goes over a graph, and the schema has none for this field".to_owned()));
    }
    if clause.ef_search.is_some_and(|breadth| !(1..=MAX_EF_SEARCH).contains(&breadth)) {
        return Err(bad(format!("efSearch is not between 1 and {MAX_EF_SEARCH}")));
    }
    if clause.ef_search.is_some() && clause.mode != Some(VectorMode::Walk) {
        return Err(bad("efSearch is how far a walk looks: it needs mode \"walk\"".to_owned()));
    }
    if clause.probes.is_some() && !matches!(clause.mode, None | Some(VectorMode::Probe)) {
        return Err(bad("probes are cells to look into: they exclude other modes than \"probe\"".to_owned()));
    }
    if let Some(oversample) = clause.oversample.filter(|times| !(1.0..=MAX_OVERSAMPLE).contains(times)) {
        return Err(bad(format!("oversample {oversample} is not between 1 and {MAX_OVERSAMPLE}")));
    }
    Ok(VectorAsk {
        field,
        name: clause.field.clone(),
        options: options.clone(),
        source,
        k: clause.k.map_or_else(|| depth.max(DEFAULT_NEIGHBOURS), |k| k as usize),
        min_score: clause.min_score,
        exact: clause.exact || clause.mode == Some(VectorMode::Scan),
        recall: clause.recall,
        probes: clause.probes,
        oversample: clause.oversample,
        mode: clause.mode,
        ef_search: clause.ef_search,
    })
}

/// What to do about a field without a column: texts are the kind a schema is most often guessed to be.
pub(super) fn hint(kind: &FieldKind) -> &'static str {
    match kind {
        FieldKind::Text(_) => "; with kind \"keyword\" in the schema it would have one",
        _ => "",
    }
}

pub(super) fn column(what: &str, name: &str, schema: &Schema) -> Result<(FieldOrd, ColumnKind)> {
    let (ord, field) = schema.find(name).ok_or_else(|| unknown(what, name))?;
    let kind = ColumnKind::of(&field.kind);
    let bad = || {
        Error::invalid(format!(
            "{what} field {name:?}: a {} field has no column{}",
            field.kind.name(),
            hint(&field.kind)
        ))
    };
    Ok((ord, kind.ok_or_else(bad)?))
}

fn highlights(request: &SearchRequest, schema: &Schema) -> Result<Vec<(FieldOrd, String, Analyzer)>> {
    let field = |name: &String| {
        let field = text_field("highlight", name, schema, true)?;
        Ok((field.field, field.name, field.analyzer))
    };
    distinct("highlight", &request.highlight)?.into_iter().map(field).collect()
}

/// Names as they come, each once.
///
/// # Errors
/// If there are more than a list may have.
fn distinct<'n>(what: &str, names: &'n [String]) -> Result<Vec<&'n String>> {
    if names.len() > MAX_NAMES {
        return Err(Error::invalid(format!("{what}: {} names, at most {MAX_NAMES}", names.len())));
    }
    let mut seen = BTreeSet::new();
    Ok(names.iter().filter(|name| seen.insert(name.as_str())).collect())
}
