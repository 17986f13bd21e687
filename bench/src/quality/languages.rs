//! Ranking quality by language: XQuAD (Artetxe et al., 2020) in twelve languages and CMRC 2018 (Cui et al., 2019) in
//! Chinese. Each question has one paragraph that answers it; the mean reciprocal rank at 10 of that paragraph, with
//! the analyzer of the language, beside BM25 over plain words or bigrams as the data's own notes give it.

use std::{fs, io::Read, path::Path};

use flate2::read::GzDecoder;
use rangefind::{
    analysis::Analyzer,
    engine::{DocumentBatch, Index, OpenMode, OpenOptions, SearchRequest},
    platform::{Cancel, block_on},
    schema::{Field, FieldKind, Schema, TextOptions},
    storage::memory::MemoryStorage,
};
use serde_json::{Value, json};

use super::data::{self, Result, Text};
use crate::{Effort, report::Row};

/// Questions asked of each set in a quick run.
const QUICK_QUERIES: usize = 200;

/// Set, analyzer, reference value and how it was made.
const SETS: [(&str, &str, f64, &str); 13] = [
    ("xquad/ar", "arabic", 0.863, "plain words"),
    ("xquad/de", "german", 0.907, "plain words"),
    ("xquad/el", "greek", 0.898, "plain words"),
    ("xquad/en", "english", 0.954, "plain words"),
    ("xquad/es", "spanish", 0.939, "plain words"),
    ("xquad/hi", "hindi", 0.933, "plain words"),
    ("xquad/ro", "romanian", 0.907, "plain words"),
    ("xquad/ru", "russian", 0.850, "plain words"),
    ("xquad/th", "th", 0.927, "bigrams"),
    ("xquad/tr", "turkish", 0.877, "words split at apostrophes"),
    ("xquad/vi", "vi", 0.952, "plain words"),
    ("xquad/zh", "zh", 0.957, "bigrams"),
    ("cmrc2018", "zh", 0.978, "bigrams"),
];

/// One row per set.
pub fn rows(effort: Effort) -> Vec<Row> {
    SETS.into_iter()
        .map(|(set, analyzer, reference, how)| {
            let (docs, queries) = load(set).unwrap_or_else(|error| panic!("{set}: {error}"));
            // A quick run takes its part from everywhere: neighbours ask of one paragraph.
            let step = match effort {
                Effort::Full => 1,
                Effort::Quick => queries.len().div_ceil(QUICK_QUERIES),
            };
            let queries: Vec<_> = queries.into_iter().step_by(step).collect();
            let rank = mean_reciprocal_rank(&docs, &queries, analyzer);
            let asked = queries.len();
            let key = format!("mrr10-{}", set.replace('/', "-"));
            let note = format!("analyzer {analyzer}; {asked} questions over {} paragraphs; BM25 of {how}", docs.len());
            Row::larger_is_better(&key, rank, "MRR@10", "reference", reference).goal(0.99).note(note)
        })
        .collect()
}

/// A question and the document that answers it.
struct Question {
    text: String,
    answered_by: String,
}

fn load(set: &str) -> Result<(Vec<Text>, Vec<Question>)> {
    let folder = data::folder().join(set);
    let unpacked = |path: &Path| -> Result<String> {
        let mut text = String::new();
        GzDecoder::new(fs::File::open(path)?).read_to_string(&mut text)?;
        Ok(text)
    };
    let docs = data::texts(&unpacked(&folder.join("docs.jsonl.gz"))?)?;
    let queries = data::texts(&unpacked(&folder.join("queries.jsonl.gz"))?)?;
    let relevant = data::judgments(&fs::read_to_string(folder.join("qrels.tsv"))?)?;
    let questions = queries.into_iter().filter_map(|query| {
        let answered_by = relevant.get(&query.id)?.keys().next()?.clone();
        Some(Question { text: query.text, answered_by })
    });
    let questions: Vec<_> = questions.collect();
    if questions.is_empty() {
        return Err("no query is judged: a mean of nothing proves nothing".into());
    }
    Ok((docs, questions))
}

/// The mean of 1 / rank of the document that answers each question, 0 beyond rank 10.
fn mean_reciprocal_rank(docs: &[Text], questions: &[Question], analyzer: &str) -> f64 {
    assert!(Analyzer::find(analyzer).is_some(), "no analyzer {analyzer}");
    let text = TextOptions { analyzer: analyzer.into(), ..TextOptions::default() };
    let schema = Schema::new([Field { name: "text".to_owned(), kind: FieldKind::Text(text) }]);
    let options = OpenOptions { mode: OpenMode::Create, schema: Some(schema), ..OpenOptions::default() };
    let rows: Vec<Value> = docs.iter().map(|doc| json!({ "id": doc.id, "text": doc.text })).collect();
    let index = block_on(async {
        let index = Index::open(MemoryStorage::new(), options).await?;
        index.add(DocumentBatch::from_values(rows)).await?;
        index.commit().await?;
        Ok::<_, rangefind::Error>(index)
    })
    .expect("room in memory");
    let mut sum = 0.0;
    for question in questions {
        let request = SearchRequest {
            query: Some(question.text.clone().into()),
            select: Some(Vec::new()),
            limit: Some(super::DEPTH),
            ..SearchRequest::default()
        };
        let found = block_on(index.search(&request, &Cancel::new())).expect("a plain query is never an error");
        let rank = found.hits.iter().position(|hit| hit.id.to_string() == question.answered_by);
        sum += rank.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0));
    }
    sum / questions.len() as f64
}
