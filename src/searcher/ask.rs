//! A search request checked against the schema, before anything is read.

#![forbid(unsafe_code)]

use crate::{
    analysis::{Analyzer, AnalyzerSpec},
    columns::ColumnKind,
    error::{Error, Result},
    ids::{DocId, FieldOrd},
    query::{
        ParseField, ParseOptions, Query, parse_lucene, parse_plain,
        request::{FacetClause, Fuse, SearchRequest, SortKey, SortOrder, Syntax, VectorClause},
    },
    schema::{FieldKind, Schema, VectorOptions},
};

use super::{filter::Filter, fusion::Legs};

/// Hits that one search returns at most; [`SearchRequest::offset`] pages as deep as there are matches.
pub const MAX_LIMIT: u32 = 10_000;
const DEFAULT_LIMIT: u32 = 10;
const DEFAULT_FACET_LIMIT: u32 = 10;
/// Neighbours of the vector leg where the request names no number.
const DEFAULT_NEIGHBOURS: usize = 100;
/// Pseudo field of [`SortKey`].
const SCORE: &str = "_score";

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
    pub facets: Vec<FacetAsk>,
    pub highlights: Vec<(FieldOrd, String, Analyzer)>,
    pub fuse: Fuse,
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
}

/// Where the query vector comes from.
#[derive(Debug)]
pub(super) enum VectorSource {
    Value(Vec<f32>),
    Like(DocId),
}

/// One sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResolvedKey {
    /// `None`: the score.
    pub column: Option<(FieldOrd, ColumnKind)>,
    pub descending: bool,
}

/// One facet.
#[derive(Debug, Clone)]
pub(super) struct FacetAsk {
    pub field: FieldOrd,
    pub name: String,
    pub kind: ColumnKind,
    pub limit: usize,
}

impl Ask {
    pub fn new(request: &SearchRequest, schema: &Schema) -> Result<Self> {
        let limit = request.limit.unwrap_or(DEFAULT_LIMIT);
        if limit > MAX_LIMIT {
            return Err(Error::invalid(format!(
                "limit {limit}: at most {MAX_LIMIT} hits at a time, use offset for more"
            )));
        }
        let (offset, limit) = (request.offset as usize, limit as usize);
        let text = request.query.as_deref().filter(|text| !text.trim().is_empty());
        let vector = request.vector.as_ref().map(|clause| vector(clause, schema, offset.saturating_add(limit)));
        let vector = vector.transpose()?;
        let fused = Legs::of(request.fuse)?;
        let legs = match (text.is_some(), vector.is_some()) {
            (true, true) => fused,
            (text, vector) => Legs { text, vector },
        };
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
            sort: request.sort.iter().map(|key| sort_key(key, schema)).collect::<Result<_>>()?,
            facets: request.facets.iter().map(|facet| facet_ask(facet, schema)).collect::<Result<_>>()?,
            highlights: highlights(request, schema)?,
            fuse: request.fuse,
            offset,
            limit,
        })
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

fn parse_query(text: &str, request: &SearchRequest, schema: &Schema) -> Result<(Query, Vec<String>)> {
    let named = |wanted: fn(&FieldKind) -> bool| {
        let names = schema.fields().filter(move |(_, field)| wanted(&field.kind)).map(|(_, field)| field.name.as_str());
        names.map(|name| text_field("query", name, schema, true)).collect::<Result<Vec<_>>>()
    };
    let default_fields = match &request.fields {
        Some(names) => names.iter().map(|name| text_field("query", name, schema, true)).collect::<Result<_>>()?,
        None => named(|kind| matches!(kind, FieldKind::Text(_)))?,
    };
    let options = ParseOptions {
        default_fields,
        named_fields: named(|kind| matches!(kind, FieldKind::Text(_) | FieldKind::Keyword))?,
        matching: request.matching,
        prefix: request.prefix,
    };
    let parsed = match request.syntax {
        Syntax::Plain => parse_plain(text, &options),
        Syntax::Lucene => parse_lucene(text, &options),
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
    let (field, found) = schema.find(&clause.field).ok_or_else(|| unknown("vector", &clause.field))?;
    let FieldKind::Vector(options) = &found.kind else {
        return Err(bad(format!("it is a {} field", found.kind.name())));
    };
    let source = match (&clause.value, &clause.like) {
        (Some(value), None) => {
            if value.len() != options.dims as usize {
                return Err(bad(format!("a vector of {} dimensions, the field has {}", value.len(), options.dims)));
            }
            if let Some(at) = value.iter().position(|component| !component.is_finite()) {
                return Err(bad(format!("component {at} is {}, not a finite number", value[at])));
            }
            VectorSource::Value(value.clone())
        }
        (None, Some(id)) => VectorSource::Like(id.clone()),
        _ => return Err(bad("exactly one of \"value\" and \"like\" is needed".to_owned())),
    };
    let k = clause.k.map_or_else(|| depth.max(DEFAULT_NEIGHBOURS), |k| k as usize);
    Ok(VectorAsk { field, name: clause.field.clone(), options: options.clone(), source, k })
}

/// What to do about a field without a column: texts are the kind a schema is most often guessed to be.
pub(super) fn hint(kind: &FieldKind) -> &'static str {
    match kind {
        FieldKind::Text(_) => "; with kind \"keyword\" in the schema it would have one",
        _ => "",
    }
}

fn column(what: &str, name: &str, schema: &Schema) -> Result<(FieldOrd, ColumnKind)> {
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

fn sort_key(key: &SortKey, schema: &Schema) -> Result<ResolvedKey> {
    if key.field == SCORE {
        return Ok(ResolvedKey { column: None, descending: key.order != Some(SortOrder::Asc) });
    }
    let column = column("sort", &key.field, schema)?;
    Ok(ResolvedKey { column: Some(column), descending: key.order == Some(SortOrder::Desc) })
}

fn facet_ask(facet: &FacetClause, schema: &Schema) -> Result<FacetAsk> {
    let (name, limit) = match facet {
        FacetClause::Field(name) => (name, None),
        FacetClause::Limited { field, limit } => (field, *limit),
    };
    let (field, kind) = column("facet", name, schema)?;
    Ok(FacetAsk { field, name: name.clone(), kind, limit: limit.unwrap_or(DEFAULT_FACET_LIMIT) as usize })
}

fn highlights(request: &SearchRequest, schema: &Schema) -> Result<Vec<(FieldOrd, String, Analyzer)>> {
    let field = |name: &String| {
        let field = text_field("highlight", name, schema, true)?;
        Ok((field.field, field.name, field.analyzer))
    };
    request.highlight.iter().map(field).collect()
}
