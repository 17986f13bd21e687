//! `rangefind search`.

use std::{
    io::{Read, Write},
    path::Path,
};

use rangefind::{
    engine::{Cancel, Index, SearchRequest, SearchResponse},
    error::{Error, ErrorKind, Result},
    ids::DocId,
    query::request::{
        CollapseClause, Explanation, FacetClause, Fuse, Fuzziness, GpuMode, Hit, MatchMode, Missing, QueryInput,
        SortKey, SortOrder, Syntax, TotalMode, TotalRelation, VectorClause,
    },
    storage::AnyStorage,
};
use serde_json::Value;

use super::{
    Failure, Outcome, Verdict,
    args::SearchArgs,
    as_usage,
    documents::open_file,
    npy::NpyReader,
    output::{Output, bytes, count, millis, plural},
    place,
};

/// Characters of a hit's text shown where no highlight gives a snippet.
const EXCERPT_CHARS: usize = 160;

/// Searches.
pub async fn run(args: SearchArgs, output: Output) -> Outcome {
    let request = match &args.request {
        Some(path) => read_request(path),
        None => make_request(&args),
    };
    let mut request = request.map_err(as_usage)?;
    let index = place::open(&args.place).await?;
    if let Some(vector) = request.vector.as_mut().filter(|vector| vector.field.is_empty()) {
        vector.field = only_vector_field(&index)?;
    }
    // All of the request came from the command line.
    let response = index.search(&request, &Cancel::new()).await.map_err(as_usage)?;
    let texts = text_fields(&index)?;
    index.close().await?;
    for ignored in &response.ignored {
        output.remark(format_args!("ignored: {ignored}"));
    }
    output.result(&response, |out| print(out, &response, &texts, output.is_styled()))?;
    Ok(Verdict::Fine)
}

fn read_request(path: &Path) -> Result<SearchRequest> {
    let failed = |error: std::io::Error| Error::with_source(ErrorKind::Io, path.display().to_string(), error);
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map_err(failed)?;
    } else {
        open_file(path)?.read_to_string(&mut text).map_err(failed)?;
    }
    SearchRequest::from_json(&text).map_err(|error| error.at(path.display()))
}

/// The request, but for the field of its vector where none is named.
fn make_request(args: &SearchArgs) -> Result<SearchRequest> {
    let example = r#"{ "year": { "gte": 2020 }, "tag": ["a", "b"] }"#;
    let filter = args.filter.as_deref().map(|text| read_json("--filter", text, example)).transpose()?;
    Ok(SearchRequest {
        query: args.query.as_deref().map(|text| read_query(text, args.tree)).transpose()?,
        syntax: if args.lucene { Syntax::Lucene } else { Syntax::Plain },
        fields: Some(args.fields.clone()).filter(|fields| !fields.is_empty()),
        matching: if args.all { MatchMode::All } else { MatchMode::Any },
        prefix: args.prefix,
        fuzzy: match args.fuzzy.as_deref() {
            None => Fuzziness::default(),
            Some("auto") => Fuzziness::Auto,
            Some(edits) => Fuzziness::Edits(parse_edits(edits)?),
        },
        fuzzy_prefix_length: args.fuzzy_prefix,
        vector: vector_clause(args)?,
        fuse: parse_fuse(&args.fuse)?,
        filter,
        sort: args.sort.iter().map(|key| parse_sort(key)).collect::<Result<_>>()?,
        facets: facets(args)?,
        after: args.after.clone(),
        collapse: args.collapse.as_deref().map(parse_collapse).transpose()?,
        highlight: args.highlight.clone(),
        select: Some(args.select.clone()).filter(|fields| !fields.is_empty()),
        limit: Some(args.limit),
        offset: args.offset,
        total: if args.exact_total { TotalMode::Exact } else { TotalMode::Auto },
        gpu: if args.gpu { GpuMode::Required } else { GpuMode::Auto },
        explain: args.explain,
    })
}

fn read_query(text: &str, is_tree: bool) -> Result<QueryInput> {
    if !is_tree {
        return Ok(text.into());
    }
    let example = r#"{ "match": { "field": "body", "text": "range requests" } }"#;
    match read_json("--tree", text, example)? {
        Value::Object(tree) => Ok(QueryInput::Tree(tree)),
        _ => Err(Error::invalid(format!("--tree {text:?}: expected a clause such as {example}"))),
    }
}

/// The JSON of an option.
fn read_json(option: &str, text: &str, example: &str) -> Result<Value> {
    let bad = |error| Error::invalid(format!("{option} {text:?} is not JSON ({error}); an example: '{example}'"));
    serde_json::from_str(text).map_err(bad)
}

fn parse_edits(text: &str) -> Result<u8> {
    let edits = text.parse().ok().filter(|edits| *edits <= 2);
    edits.ok_or_else(|| Error::invalid(format!("--fuzzy {text:?}: expected 0, 1, 2 or auto")))
}

/// The clause of the vector; its field may be left to [`only_vector_field`].
fn vector_clause(args: &SearchArgs) -> Result<Option<VectorClause>> {
    if args.vector_file.is_none() && args.like.is_none() {
        return Ok(None);
    }
    let value = args.vector_file.as_deref().map(|path| read_vector(path, args.vector_row)).transpose()?;
    Ok(Some(VectorClause {
        field: args.vector_field.clone().unwrap_or_default(),
        value,
        values: None,
        like: args.like.as_deref().map(parse_id),
        k: args.k,
        min_score: args.min_score,
        exact: args.exact,
        recall: args.recall,
        probes: args.probes,
        oversample: args.oversample,
        mode: args.mode.map(Into::into),
        ef_search: args.ef_search,
    }))
}

/// The vector field, where there is one alone.
fn only_vector_field(index: &Index<AnyStorage>) -> Result<String, Failure> {
    let mut vectors = index.info()?.fields.into_iter().filter(|field| field.kind == "vector");
    match (vectors.next(), vectors.next()) {
        (Some(field), None) => Ok(field.name),
        (None, _) => Err(Failure::Usage(Error::invalid("the index has no vector field"))),
        _ => Err(Failure::Usage(Error::invalid("several vector fields: say which with --vector-field"))),
    }
}

/// An id as documents have it: an integer if it looks like one, unless in quotes.
fn parse_id(text: &str) -> DocId {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(quoted) => DocId::from(quoted),
        None => text.parse::<i64>().map_or_else(|_| DocId::from(text), DocId::from),
    }
}

fn read_vector(path: &Path, row: u64) -> Result<Vec<f32>> {
    if path.extension().is_some_and(|extension| extension == "npy") {
        let mut reader = NpyReader::open(path)?;
        let mut values = Vec::new();
        reader.seek(row)?;
        reader.read_rows(1, &mut values)?;
        return Ok(values);
    }
    serde_json::from_reader(open_file(path)?)
        .map_err(|error| Error::with_source(ErrorKind::InvalidArgument, path.display().to_string(), error))
}

fn parse_fuse(text: &str) -> Result<Fuse> {
    let bad = || Error::invalid(format!("--fuse {text:?}: expected rrf, rrf:K or TEXT:VECTOR"));
    let number = |part: &str| part.parse::<f32>().map_err(|_| bad());
    match text.split_once(':') {
        None if text == "rrf" => Ok(Fuse::Rrf),
        None => Err(bad()),
        Some(("rrf", k)) => Ok(Fuse::RrfK(number(k)?)),
        Some((text, vector)) => Ok(Fuse::Weights { text: number(text)?, vector: number(vector)? }),
    }
}

fn parse_sort(text: &str) -> Result<SortKey> {
    let mut parts = text.split(':');
    let mut key = SortKey { field: parts.next().unwrap_or_default().to_owned(), ..SortKey::default() };
    for part in parts {
        match part {
            "asc" => key.order = Some(SortOrder::Asc),
            "desc" => key.order = Some(SortOrder::Desc),
            "first" => key.missing = Missing::First,
            "last" => key.missing = Missing::Last,
            other => {
                return Err(Error::invalid(format!("--sort {text:?}: {other:?} is none of asc, desc, first, last")));
            }
        }
    }
    Ok(key)
}

fn parse_collapse(text: &str) -> Result<CollapseClause> {
    let (field, count) = text.rsplit_once(':').map_or((text, None), |(field, count)| (field, Some(count)));
    let bad = |count| Error::invalid(format!("--collapse {text:?}: {count:?} is no number of hits"));
    let inner_hits = count.map_or(Ok(0), |count| count.parse().map_err(|_| bad(count)))?;
    Ok(CollapseClause { field: field.to_owned(), inner_hits })
}

fn facets(args: &SearchArgs) -> Result<Vec<FacetClause>> {
    let example = r#"{ "field": "year", "ranges": [{ "to": 2000 }, { "from": 2000 }] }"#;
    let read = |text: &String| {
        let value = read_json("--facet", text, example)?;
        FacetClause::from_json(&value).map_err(|error| Error::invalid(format!("--{error}; an example: '{example}'")))
    };
    let plain = args.facets.iter().cloned().map(|name| Ok(FacetClause::Field(name)));
    plain.chain(args.facet.iter().map(read)).collect()
}

/// Text fields, the one that looks like a title first: what is shown of a hit.
fn text_fields(index: &Index<AnyStorage>) -> Result<Vec<String>> {
    let fields = index.info()?.fields.into_iter().filter(|field| field.kind == "text").map(|field| field.name);
    let mut names: Vec<String> = fields.collect();
    names.sort_by_key(|name| !matches!(name.as_str(), "title" | "name" | "headline" | "subject"));
    Ok(names)
}

fn print(out: &mut dyn Write, response: &SearchResponse, texts: &[String], styled: bool) -> std::io::Result<()> {
    for (ix, hit) in response.hits.iter().enumerate() {
        print_hit(out, ix + 1, hit, texts, styled)?;
    }
    for (ix, answer) in response.answers.iter().enumerate() {
        writeln!(out, "vector {ix}: {} of {}", plural(answer.hits.len() as u64, "hit"), count(answer.total))?;
        for (ix, hit) in answer.hits.iter().enumerate() {
            print_hit(out, ix + 1, hit, texts, styled)?;
        }
    }
    for facet in &response.facets {
        writeln!(out, "{}", facet.field)?;
        for value in &facet.values {
            writeln!(out, "  {:>8}  {}", count(value.count), plain(&value.value))?;
        }
    }
    let stats = &response.stats;
    writeln!(
        out,
        "{} of {}{} in {}; {}, {}, {}",
        plural(response.hits.len() as u64, "hit"),
        if response.total_relation == TotalRelation::Exact { "" } else { "at least " },
        count(response.total),
        millis(response.took),
        plural(stats.requests, "request"),
        bytes(stats.bytes),
        plural(u64::from(stats.waves), "wave"),
    )
}

fn print_hit(out: &mut dyn Write, rank: usize, hit: &Hit, texts: &[String], styled: bool) -> std::io::Result<()> {
    let id = hit.id.to_string();
    if styled {
        writeln!(out, "{rank:>3}. \x1b[1m{id}\x1b[0m  {:.4}", hit.score)?;
    } else {
        writeln!(out, "{rank:>3}. {id}  {:.4}", hit.score)?;
    }
    if hit.highlights.is_empty() {
        for value in texts.iter().filter_map(|field| hit.doc.get(field)).take(2) {
            writeln!(out, "     {}", excerpt(&plain(value)))?;
        }
    }
    for highlight in hit.highlights.iter().filter(|highlight| !highlight.snippet_ranges.is_empty()) {
        let snippet = mark(&highlight.snippet, &highlight.snippet_ranges, styled);
        writeln!(out, "     {}: {}", highlight.field, snippet.replace('\n', " "))?;
    }
    hit.explain.as_ref().map_or(Ok(()), |node| print_explanation(out, node, 3))
}

fn print_explanation(out: &mut dyn Write, node: &Explanation, depth: usize) -> std::io::Result<()> {
    writeln!(out, "{:depth$}{:.6}  {}", "", node.value, node.description, depth = depth * 2)?;
    node.details.iter().try_for_each(|child| print_explanation(out, child, depth + 1))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}

/// `text` with its matches in bold, or in `*stars*` where there is no terminal. Ranges are UTF-16 code units.
fn mark(text: &str, ranges: &[(u32, u32)], styled: bool) -> String {
    let (open, close) = if styled { ("\x1b[1m", "\x1b[0m") } else { ("*", "*") };
    let (mut marked, mut unit) = (String::with_capacity(text.len() + 16), 0);
    for c in text.chars() {
        if ranges.iter().any(|&(_, end)| end == unit) {
            marked.push_str(close);
        }
        if ranges.iter().any(|&(start, _)| start == unit) {
            marked.push_str(open);
        }
        marked.push(c);
        unit += c.len_utf16() as u32;
    }
    if ranges.iter().any(|&(_, end)| end == unit) {
        marked.push_str(close);
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_by_utf16_units() {
        assert_eq!(mark("😀 cat, cats", &[(3, 6), (8, 12)], false), "😀 *cat*, *cats*");
        assert_eq!(mark("none", &[], false), "none");
    }

    #[test]
    fn reads_short_forms() {
        assert_eq!(parse_fuse("rrf:10").unwrap(), Fuse::RrfK(10.0));
        assert_eq!(parse_fuse("0:1").unwrap(), Fuse::Weights { text: 0.0, vector: 1.0 });
        assert!(parse_fuse("best").is_err());
        assert_eq!(parse_sort("year:desc").unwrap().order, Some(SortOrder::Desc));
        assert!(parse_sort("year:down").is_err());
        assert_eq!(parse_sort("year:first").unwrap().missing, Missing::First);
        assert_eq!(parse_collapse("author:3").unwrap(), CollapseClause { field: "author".into(), inner_hits: 3 });
        assert!(parse_collapse("author:x").is_err());
        assert_eq!(parse_id("17"), DocId::from(17));
        assert_eq!(parse_id("\"17\""), DocId::from("17"));
    }
}
