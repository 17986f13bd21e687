//! Suite `remote`: what opening an index over a network and a cold query of it cost, in virtual time.
//!
//! Each query is asked of an index that was just opened, over a link of 30 ms, 50 Mbit/s and six requests in flight. The
//! sets are synthetic clusters, of which there are as many as it takes, and real sentences. With `REMOTE_FOLDER` each set
//! is left there: its index, its queries and what they must find, for bench/suites/remote.mjs to ask in a browser.

mod cost;
mod data;
mod sets;

use std::{
    fs,
    path::{Path, PathBuf},
};

use rangefind::{
    engine::{DocumentBatch, FieldVectors, Index, OpenOptions},
    platform::block_on,
    schema::Schema,
    storage::{MemoryStorage, Storage},
};
use serde_json::json;

use self::{cost::Cost, sets::Set};
use crate::{Effort, report::Row};

const K: usize = 10;
/// What a query and an open may cost: DESIGN.md §10.
const OPEN_KIB: f64 = 4096.0;
const OPEN_WAVES: f64 = 2.0;
const QUERY_KIB: f64 = 512.0;
const QUERY_WAVES: f64 = 3.0;
const RECALL: f64 = 0.93;

pub fn run(effort: Effort) -> Vec<Row> {
    let names: &[&str] = if effort == Effort::Full { &["wordnet_minilm", "200k", "1m"] } else { &["20k"] };
    let asked = std::env::var("REMOTE_SETS").ok();
    let names = asked.as_deref().map_or_else(|| names.to_vec(), |list| list.split(',').collect());
    names.into_iter().flat_map(of_set).collect()
}

fn of_set(name: &str) -> Vec<Row> {
    let mut set = Set::of(name);
    let storage = block_on(build(&mut set));
    if let Some(folder) = std::env::var_os("REMOTE_FOLDER") {
        save(&storage, &set, &PathBuf::from(folder).join(name));
    }
    let mut rows = Vec::new();
    // The first is what a caller gets who asks for nothing.
    for recall in [None, Some(0.9), Some(0.99)] {
        let clause = recall.map_or_else(|| json!({}), |recall| json!({ "recall": recall }));
        let cost = cost::measure(&storage, &set, &clause);
        eprintln!("{name} {clause}: {cost:.3?}");
        rows.extend(match recall {
            None => by_default(name, &cost),
            Some(recall) => vec![on_request(name, recall, &cost)],
        });
    }
    rows
}

/// The whole set as one segment. Its vectors are given up on the way: of a million there is room once.
async fn build(set: &mut Set) -> MemoryStorage {
    let schema = json!({ "v": { "type": "vector", "dims": set.dims, "metric": "cosine" } });
    let options = OpenOptions {
        schema: Some(Schema::from_json(&schema).expect("a schema")),
        memory_bytes: 16 << 30,
        ..OpenOptions::default()
    };
    let storage = MemoryStorage::new();
    let index = Index::open(storage.clone(), options).await.expect("a new index");
    let mut next = 0;
    for values in set.batches.drain(..) {
        let count = values.len() / set.dims;
        let docs = (next..next + count).map(|id| json!({ "id": id })).collect();
        next += count;
        let vectors = FieldVectors { field: "v".to_owned(), values, counts: None };
        index.add(DocumentBatch::from_values(docs).with_vectors(vectors)).await.expect("room");
    }
    index.commit().await.expect("room");
    assert_eq!(index.info().expect("just built").segments.len(), 1, "everything is one segment");
    index.close().await.expect("nothing is pending");
    storage
}

fn save(storage: &MemoryStorage, set: &Set, folder: &Path) {
    let index = folder.join("index");
    fs::create_dir_all(&index).expect("a folder");
    for file in block_on(storage.list()).expect("a list") {
        fs::write(index.join(&file.name), storage.get(&file.name).expect("it was listed")).expect("room on the disk");
    }
    let queries: Vec<u8> = set.queries.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(folder.join("queries.f32"), queries).expect("room on the disk");
    let told = json!({ "dims": set.dims, "count": set.count, "least": set.least });
    fs::write(folder.join("set.json"), told.to_string()).expect("room on the disk");
}

/// What the goals are stated for.
fn by_default(name: &str, cost: &Cost) -> Vec<Row> {
    let link = "30 ms, 50 Mbit/s, six in flight";
    let most = |what: &str, ours: f64, unit: &str, least: f64| {
        Row::smaller_is_better(&format!("remote-{what}-{name}"), ours, unit, "goal", least).goal(1.0)
    };
    let told = |what: &str, ours: f64, unit: &str| {
        Row::smaller_is_better(&format!("remote-{what}-{name}"), ours, unit, "none", f64::NAN)
    };
    vec![
        most("open-kib", cost.open_kib, "KiB", OPEN_KIB)
            .note(format!("{link}; {:.0} requests; index of {:.0} MiB", cost.open_requests, cost.index_mib)),
        most("open-waves", cost.open_waves, "waves", OPEN_WAVES),
        told("open-ms", cost.open_millis, "ms"),
        most("waves", f64::from(cost.most_waves), "waves", QUERY_WAVES)
            .note(format!("of the query with most of them; mean {:.2}", cost.waves)),
        most("kib", cost.kib, "KiB", QUERY_KIB)
            .note(format!("mean of {} cold queries; at most {:.0}", cost.count, cost.most_kib)),
        told("requests", cost.requests, "requests"),
        told("ms", cost.millis, "ms").note(format!("mean; p99 {:.0} ms", cost.p99_millis)),
        Row::larger_is_better(&format!("remote-recall10-{name}"), cost.recall, "recall@10", "goal", RECALL)
            .goal(1.0)
            .note(format!("{:.0} cells, {:.0} codes, {:.0} rows", cost.cells, cost.codes, cost.rows)),
    ]
}

/// Another recall than the default, asked for.
fn on_request(name: &str, recall: f32, cost: &Cost) -> Row {
    let key = format!("remote-recall10-{name}-asked-{recall}");
    let row = Row::larger_is_better(&key, cost.recall, "recall@10", "asked for", f64::from(recall));
    row.note(format!(
        "{:.0} KiB (at most {:.0}), {} waves at most, {:.0} requests, {:.0} ms",
        cost.kib, cost.most_kib, cost.most_waves, cost.requests, cost.millis
    ))
}
