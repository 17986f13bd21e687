//! Classes that need columns: ranges of numbers, sorting, facets. Ours are whole searches of the engine, from the request
//! to the answer; the peer's are a query and its collectors. Answers are compared before they are timed.

use std::{hint::black_box, ops::Bound};

use futures_util::stream;
use rangefind::{
    engine::{
        BuildOptions, DocumentBatch, Index, OpenMode, OpenOptions, SearchRequest, SearchResponse, build, no_progress,
    },
    platform::{Cancel, block_on},
    schema::Schema,
    storage::memory::MemoryStorage,
};
use serde_json::{Value, json};
use tantivy::{
    Order, Searcher, Term,
    aggregation::{AggregationCollector, agg_req::Aggregations, agg_result::AggregationResults},
    collector::{Count, TopDocs},
    query::{AllQuery, BooleanQuery, Occur, Query, RangeQuery, TermQuery},
    schema::IndexRecordOption,
};

use super::{
    corpus::{ANALYZER, Corpus},
    engines::{DAY_SECONDS, MONTHS, Peer, id_of, month_of, seconds_of, stamp_of},
    measure::{Measured, Timed, over_and_over},
    tasks::Drawer,
};
use crate::{Effort, report::Row};

/// Memory of the build: one segment of the whole corpus.
const BUILD_BYTES: u64 = 1 << 30;
/// Documents handed over at once.
const BATCH: usize = 10_000;

/// What both are asked.
#[derive(Debug, Clone)]
enum Ask {
    /// Numbers of a range, of documents with a word or of all.
    Range(Option<String>, u64, u64),
    /// The latest documents with a word.
    Latest(String),
    /// How many documents of each month, with a word or of all.
    Months(Option<String>),
}

impl Ask {
    fn request(&self) -> SearchRequest {
        let request = match self {
            Self::Range(word, from, to) => {
                json!({ "query": word, "filter": { "seconds": { "gte": from, "lt": to } }, "select": [] })
            }
            Self::Latest(word) => {
                json!({ "query": word, "sort": [{ "field": "stamp", "order": "desc" }], "select": [] })
            }
            Self::Months(word) => {
                json!({ "query": word, "facets": [{ "field": "month", "limit": MONTHS }], "limit": 0, "select": [] })
            }
        };
        serde_json::from_value(request).expect("a request")
    }
}

/// An answer, comparable.
#[derive(Debug, PartialEq)]
struct Answer {
    total: u64,
    /// Sort values of the hits, or counts of months, or nothing.
    values: Vec<u64>,
}

struct PeerAsk {
    query: Box<dyn Query>,
    ask: Ask,
    months: Aggregations,
}

impl PeerAsk {
    fn new(ask: &Ask, peer: &Peer) -> Self {
        let of_word = |word: &Option<String>| -> Box<dyn Query> {
            match word {
                Some(word) => {
                    let term = Term::from_field_text(peer.fields.text, word);
                    Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
                }
                None => Box::new(AllQuery),
            }
        };
        let query: Box<dyn Query> = match ask {
            Ask::Range(word, from, to) => {
                let bound = |value| Term::from_field_u64(peer.seconds, value);
                let range = RangeQuery::new(Bound::Included(bound(*from)), Bound::Excluded(bound(*to)));
                match word {
                    None => Box::new(range),
                    word => {
                        let clauses =
                            vec![(Occur::Must, of_word(word)), (Occur::Must, Box::new(range) as Box<dyn Query>)];
                        Box::new(BooleanQuery::new(clauses))
                    }
                }
            }
            Ask::Latest(word) => of_word(&Some(word.clone())),
            Ask::Months(word) => of_word(word),
        };
        let months = json!({ "months": { "terms": { "field": "month", "size": MONTHS } } });
        Self { query, ask: ask.clone(), months: serde_json::from_value(months).expect("an aggregation") }
    }

    fn run(&self, searcher: &Searcher) -> Answer {
        match self.ask {
            Ask::Range(..) => {
                let both = (TopDocs::with_limit(10).order_by_score(), Count);
                let (_, total) = searcher.search(&self.query, &both).expect("the index is sound");
                Answer { total: total as u64, values: Vec::new() }
            }
            Ask::Latest(_) => {
                let both = (TopDocs::with_limit(10).order_by_fast_field::<u64>("stamp", Order::Desc), Count);
                let (top, total) = searcher.search(&self.query, &both).expect("the index is sound");
                Answer { total: total as u64, values: top.into_iter().filter_map(|(value, _)| value).collect() }
            }
            Ask::Months(_) => {
                let months = AggregationCollector::from_aggs(self.months.clone(), Default::default());
                let (found, total) = searcher.search(&self.query, &(months, Count)).expect("the index is sound");
                Answer { total: total as u64, values: counts(&found) }
            }
        }
    }
}

fn counts(found: &AggregationResults) -> Vec<u64> {
    let found = serde_json::to_value(found).expect("as JSON");
    let buckets = found["months"]["buckets"].as_array().cloned().unwrap_or_default();
    sorted(buckets.iter().filter_map(|bucket| bucket["doc_count"].as_u64()).collect())
}

fn sorted(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    values
}

fn answer(ask: &Ask, response: &SearchResponse) -> Answer {
    let values = match ask {
        Ask::Range(..) => Vec::new(),
        Ask::Latest(_) => response.hits.iter().map(|hit| stamp_of(number_of(&hit.id.to_string()))).collect(),
        Ask::Months(_) => {
            sorted(response.facets.iter().flat_map(|facet| facet.values.iter().map(|one| one.count)).collect())
        }
    };
    Answer { total: response.total, values }
}

fn number_of(id: &str) -> usize {
    id.trim_start_matches('d').parse().expect("made by id_of")
}

/// Measures every class that `is_meant`.
///
/// # Panics
/// If the engines answer differently.
pub fn measure(corpus: &Corpus, peer: &Peer, is_meant: impl Fn(&str) -> bool, effort: Effort) -> Vec<Measured> {
    let per_class = if effort == Effort::Quick { 10 } else { 30 };
    let mut classes = classes(corpus, per_class);
    classes.retain(|(name, _)| is_meant(name));
    if classes.is_empty() {
        return Vec::new();
    }
    let index = block_on(make(corpus)).expect("room in memory");
    let cancel = Cancel::new();
    let mut measured = Vec::new();
    for (name, asks) in classes {
        let requests: Vec<SearchRequest> = asks.iter().map(Ask::request).collect();
        let theirs: Vec<PeerAsk> = asks.iter().map(|ask| PeerAsk::new(ask, peer)).collect();
        let run = |ix: usize| block_on(index.search(&requests[ix], &cancel)).expect("the index is sound");
        for (ix, ask) in asks.iter().enumerate() {
            let (found, expected) = (answer(ask, &run(ix)), theirs[ix].run(peer.searcher()));
            assert_eq!(found, expected, "{ask:?}");
        }
        let ours = |ix: usize| {
            black_box(run(ix));
        };
        let peers = |ix: usize| {
            black_box(theirs[ix].run(peer.searcher()));
        };
        measured.push(
            Timed { class: name.to_owned(), mode: "search".to_owned(), queries: asks.len() }.run(ours, peers, effort),
        );
    }
    measured
}

/// Runs our side of the classes over and over, for a profiler to look at.
pub fn profile(corpus: &Corpus, is_meant: impl Fn(&str) -> bool, effort: Effort) -> Vec<Row> {
    let mut classes = classes(corpus, if effort == Effort::Quick { 10 } else { 30 });
    classes.retain(|(name, _)| is_meant(name));
    if classes.is_empty() {
        return Vec::new();
    }
    let index = block_on(make(corpus)).expect("room in memory");
    let cancel = Cancel::new();
    let run = |(name, asks): &(&str, Vec<Ask>)| {
        let requests: Vec<SearchRequest> = asks.iter().map(Ask::request).collect();
        let round = || {
            for request in &requests {
                black_box(block_on(index.search(request, &cancel)).expect("the index is sound"));
            }
        };
        over_and_over(name, requests.len(), round)
    };
    classes.iter().map(run).collect()
}

fn classes(corpus: &Corpus, per_class: usize) -> Vec<(&'static str, Vec<Ask>)> {
    let mut drawer = Drawer::new(corpus, per_class);
    let (high, med) = (drawer.words_of_high(), drawer.words_of_med());
    let mut random = fastrand::Rng::with_seed(7);
    let mut range = |word: Option<String>| {
        let (one, other) = (random.u64(0..DAY_SECONDS), random.u64(0..DAY_SECONDS));
        Ask::Range(word, one.min(other), one.max(other) + 1)
    };
    vec![
        ("IntNRQ", (0..per_class).map(|_| range(None)).collect()),
        ("TermIntNRQ", high.iter().map(|word| range(Some(word.clone()))).collect()),
        ("TermDTSort", high.iter().map(|word| Ask::Latest(word.clone())).collect()),
        ("BrowseMonthFacets", vec![Ask::Months(None); 3]),
        ("HighTermMonthFacets", high.iter().map(|word| Ask::Months(Some(word.clone()))).collect()),
        ("MedTermMonthFacets", med.iter().map(|word| Ask::Months(Some(word.clone()))).collect()),
    ]
}

/// The corpus with its columns, as one segment.
async fn make(corpus: &Corpus) -> rangefind::Result<Index<MemoryStorage>> {
    let storage = MemoryStorage::new();
    let schema = Schema::from_json(&json!({
        "body": { "type": "text", "analyzer": ANALYZER },
        "seconds": "integer", "stamp": "integer", "month": "keyword",
    }))?;
    let row = |doc: usize| -> Value {
        json!({
            "id": id_of(doc), "body": corpus.texts[doc],
            "seconds": seconds_of(doc), "stamp": stamp_of(doc), "month": month_of(doc),
        })
    };
    let batches = (0..corpus.len()).step_by(BATCH).map(|start| {
        let end = corpus.len().min(start + BATCH);
        Ok(DocumentBatch::from_values((start..end).map(row).collect()))
    });
    let options = BuildOptions { schema: Some(schema), memory_bytes: BUILD_BYTES, ..BuildOptions::default() };
    build(storage.clone(), stream::iter(batches), options, &no_progress, &Cancel::new()).await?;
    Index::open(storage, OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() }).await
}
