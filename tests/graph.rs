//! Vector fields with a graph: what is built, merged, walked, checked and damaged, against brute force.
#![cfg(not(target_arch = "wasm32"))]

use rangefind::{
    engine::{Cancel, DocumentBatch, FieldVectors, Index, MergeOptions, OpenOptions, no_progress},
    error::ErrorKind,
    ids::DocId,
    platform::block_on,
    query::request::SearchResponse,
    schema::Schema,
    storage::{Access, File, MemoryStorage, OpenOptions as FileOptions, Storage, Writer},
};
use serde_json::{Value, json};

/// More than a segment needs for cells.
const COUNT: usize = 4200;
const DIMS: usize = 12;

fn options(graph: Value) -> OpenOptions<MemoryStorage> {
    let field = json!({ "type": "vector", "dims": DIMS, "metric": "cosine", "graph": graph });
    OpenOptions {
        schema: Some(Schema::from_json(&json!({ "tag": "keyword", "side": "keyword", "v": field })).unwrap()),
        auto_merge: false,
        grace_millis: 0,
        ..OpenOptions::default()
    }
}

fn vectors(len: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let centers: Vec<Vec<f32>> = (0..30).map(|_| (0..DIMS).map(|_| rng.f32() - 0.5).collect()).collect();
    let near = |rng: &mut fastrand::Rng| {
        let center = &centers[rng.usize(0..centers.len())];
        center.iter().map(|c| c + (rng.f32() - 0.5) * 0.6).collect()
    };
    (0..len).map(|_| near(&mut rng)).collect()
}

async fn add(index: &Index<MemoryStorage>, first: usize, rows: &[Vec<f32>]) {
    let side = |row: &Vec<f32>| if row[0] > 0.3 { "right" } else { "left" };
    let doc = |(id, row): (usize, &Vec<f32>)| json!({ "id": id, "tag": format!("t{}", id % 100), "side": side(row) });
    let docs = (first..).zip(rows).map(doc).collect();
    let vectors = FieldVectors { field: "v".to_owned(), values: rows.concat(), counts: None };
    let report = index.add(DocumentBatch::from_values(docs).with_vectors(vectors)).await.unwrap();
    assert_eq!(report.refused, vec![]);
    index.commit().await.unwrap();
}

async fn search(index: &Index<MemoryStorage>, request: Value) -> SearchResponse {
    index.search(&serde_json::from_value(request).unwrap(), &Cancel::new()).await.unwrap()
}

/// Recall@10 of walks among rows that pass, every answer being as long as it can be.
async fn recall(index: &Index<MemoryStorage>, rows: &[Vec<f32>], filter: Value, passes: impl Fn(usize) -> bool) -> f64 {
    let mut rng = fastrand::Rng::with_seed(8);
    let cosine = |a: &[f32], b: &[f32]| {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let (mut hits, mut wanted) = (0, 0);
    for _ in 0..20 {
        let query: Vec<f32> = rows[rng.usize(0..rows.len())].iter().map(|v| v + (rng.f32() - 0.5) * 0.2).collect();
        let mut best: Vec<usize> = (0..rows.len()).filter(|&row| passes(row)).collect();
        best.sort_by(|&a, &b| cosine(&query, &rows[b]).total_cmp(&cosine(&query, &rows[a])));
        best.truncate(10);
        let clause = json!({ "field": "v", "value": query, "mode": "walk" });
        let response = search(index, json!({ "vector": clause, "limit": 10, "filter": filter })).await;
        assert_eq!(response.hits.len(), best.len(), "as many as there are");
        assert!(response.stats.vectors_expanded > 0, "{:?}", response.stats);
        assert!(filter.is_object() || response.stats.codes_scored < rows.len() as u64 / 2, "{:?}", response.stats);
        let ids = response.hits.iter().map(|hit| match hit.id {
            DocId::Int(id) => id as usize,
            DocId::Str(_) => usize::MAX,
        });
        hits += ids.filter(|id| best.contains(id)).count();
        wanted += best.len();
    }
    hits as f64 / wanted as f64
}

async fn assert_sound(index: &Index<MemoryStorage>) {
    let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
    assert!(report.ok, "{:#?}", report.problems);
}

async fn merge(index: &Index<MemoryStorage>, memory_bytes: u64) -> rangefind::error::Result<()> {
    let options = MergeOptions { max_segments: Some(1), memory_bytes, ..MergeOptions::default() };
    index.merge(options, &no_progress, &Cancel::new()).await.map(|_| ())
}

#[test]
fn walks_find_the_nearest_after_a_flush_and_after_a_merge() {
    block_on(async {
        let rows = vectors(COUNT + 900, 3);
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), options(json!(true))).await.unwrap();
        add(&index, 0, &rows[..COUNT]).await;
        assert_sound(&index).await;
        let own = recall(&index, &rows[..COUNT], Value::Null, |_| true).await;
        assert!(own >= 0.93, "{own}");

        add(&index, COUNT, &rows[COUNT..]).await;
        let refused = merge(&index, 1 << 20).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::OverBudget, "{refused}");
        merge(&index, 16 << 20).await.unwrap();
        index.close().await.unwrap();
        let index = Index::open(storage, options(json!(true))).await.unwrap();
        assert_sound(&index).await;
        let own = recall(&index, &rows, Value::Null, |_| true).await;
        assert!(own >= 0.93, "merged: {own}");
        for (part, tags) in [(1, 1), (10, 10), (50, 50)] {
            let tags: Vec<String> = (0..tags).map(|tag| format!("t{tag}")).collect();
            let own = recall(&index, &rows, json!({ "tag": tags }), |row| row % 100 < part).await;
            assert!(own >= 0.85, "{part} % pass: {own}");
        }
        let own = recall(&index, &rows, json!({ "side": "right" }), |row| rows[row][0] > 0.3).await;
        assert!(own >= 0.85, "correlated: {own}");
    });
}

#[test]
fn what_ran_is_said_and_options_that_exclude_each_other_are_refused() {
    block_on(async {
        let rows = vectors(COUNT, 4);
        let index = Index::open(MemoryStorage::new(), options(json!({ "degree": 8 }))).await.unwrap();
        add(&index, 0, &rows).await;
        let ask = |clause: Value| {
            let mut clause = clause;
            clause["field"] = json!("v");
            clause["value"] = json!(rows[5]);
            json!({ "vector": clause, "limit": 10 })
        };
        let default = search(&index, ask(json!({}))).await.stats;
        assert_eq!(default.vectors_expanded, 0, "nothing is walked unasked: {default:?}");
        let probed = search(&index, ask(json!({ "mode": "probe" }))).await.stats;
        assert!(probed.vectors_expanded == 0 && probed.codes_scored > 0, "{probed:?}");
        let scanned = search(&index, ask(json!({ "mode": "scan" }))).await.stats;
        assert_eq!((scanned.vectors_scored, scanned.codes_scored), (COUNT as u64, 0));
        let narrow = search(&index, ask(json!({ "mode": "walk", "efSearch": 10 }))).await.stats;
        let wide = search(&index, ask(json!({ "mode": "walk", "efSearch": 200 }))).await.stats;
        assert!(narrow.vectors_expanded < wide.vectors_expanded, "{narrow:?} {wide:?}");
        for clause in [
            json!({ "efSearch": 10 }),
            json!({ "mode": "walk", "efSearch": 0 }),
            json!({ "mode": "walk", "probes": 3 }),
            json!({ "mode": "probe", "efSearch": 30 }),
        ] {
            let request = serde_json::from_value(ask(clause.clone())).unwrap();
            let error = index.search(&request, &Cancel::new()).await.expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{clause}");
        }
        for graph in
            [json!(0), json!({ "degree": 0 }), json!({ "degree": 257 }), json!({ "neighbours": 3 }), json!("yes")]
        {
            let schema = json!({ "v": { "type": "vector", "dims": 3, "graph": graph } });
            assert!(Schema::from_json(&schema).is_err(), "{graph}");
        }
        let kept =
            Schema::from_json(&json!({ "v": { "type": "vector", "dims": 3, "graph": { "degree": 9 } } })).unwrap();
        assert_eq!(Schema::from_json(&kept.to_json()).unwrap(), kept);

        // A walk needs a graph in the schema; segments from before there was one are probed.
        let storage = MemoryStorage::new();
        let plain = Index::open(storage.clone(), options(json!(false))).await.unwrap();
        add(&plain, 0, &rows).await;
        let walk = serde_json::from_value(ask(json!({ "mode": "walk" }))).unwrap();
        let error = plain.search(&walk, &Cancel::new()).await.expect_err("there is no graph");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        plain.close().await.unwrap();
        let later = Index::open(storage, options(json!(true))).await.unwrap();
        let stats = search(&later, ask(json!({ "mode": "walk" }))).await.stats;
        assert!(stats.vectors_expanded == 0 && stats.cells_probed > 4, "{stats:?}");
    });
}

#[test]
fn equal_vectors_that_share_rows_are_walked_one_by_one() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(6);
        let distinct = vectors(700, 6);
        // One is there 140 times, more often than a vector has neighbours, the others about six times.
        let rows: Vec<Vec<f32>> =
            (0..COUNT).map(|ix| distinct[if ix % 30 == 0 { 0 } else { rng.usize(0..700) }].clone()).collect();
        let mut found = Vec::new();
        for dedup in [false, true] {
            let mut options = options(json!(true));
            let field = json!({ "type": "vector", "dims": DIMS, "metric": "cosine", "graph": true, "dedup": dedup });
            let schema = json!({ "tag": "keyword", "side": "keyword", "v": field });
            options.schema = Some(Schema::from_json(&schema).unwrap());
            let index = Index::open(MemoryStorage::new(), options).await.unwrap();
            add(&index, 0, &rows).await;
            assert_sound(&index).await;
            let (mut answers, mut expanded) = (Vec::new(), 0);
            for row in [0, 1, 40, 500] {
                let clause = json!({ "field": "v", "value": distinct[row], "mode": "walk" });
                let response = search(&index, json!({ "vector": clause, "limit": 30 })).await;
                expanded += response.stats.vectors_expanded;
                answers.push(response.hits.iter().map(|hit| (hit.id.to_string(), hit.score)).collect::<Vec<_>>());
            }
            assert!(expanded > 0, "walked");
            assert!(answers[0].len() == 30 && answers[0].iter().all(|hit| hit.1 > 1.0 - 1e-6), "{:?}", answers[0]);
            let built = index.info().unwrap().bytes;
            index.delete(&(0..COUNT as i64).step_by(4).map(DocId::Int).collect::<Vec<_>>()).await.unwrap();
            index.commit().await.unwrap();
            merge(&index, 16 << 20).await.unwrap();
            assert_sound(&index).await;
            let clause = json!({ "field": "v", "value": distinct[0], "mode": "walk" });
            let merged = search(&index, json!({ "vector": clause, "limit": 30 })).await;
            assert!(merged.hits.iter().all(|hit| hit.score > 1.0 - 1e-6) && merged.hits.len() == 30);
            found.push((answers, built));
        }
        assert_eq!(found[0].0, found[1].0);
        // 700 rows of 52 bytes at most, and 5 bytes a vector for which row is whose.
        assert!(found[0].1 - found[1].1 >= ((COUNT - 700) * 52 - COUNT * 5) as u64, "{} {}", found[0].1, found[1].1);
    });
}

#[test]
fn deletions_near_the_entry_starve_no_walk() {
    block_on(async {
        let rows = vectors(COUNT, 9);
        let mean: Vec<f32> = (0..DIMS).map(|at| rows.iter().map(|row| row[at]).sum::<f32>() / COUNT as f32).collect();
        let cosine = |row: &[f32]| {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
            dot(row, &mean) / dot(row, row).sqrt()
        };
        // Walks begin near the middle of all vectors: the half that is nearest to it goes.
        let mut order: Vec<usize> = (0..COUNT).collect();
        order.sort_by(|&a, &b| cosine(&rows[b]).total_cmp(&cosine(&rows[a])));
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), options(json!(true))).await.unwrap();
        add(&index, 0, &rows).await;
        let mut live = vec![true; COUNT];
        for part in [0..COUNT / 2, COUNT / 2..COUNT - 60] {
            let gone: Vec<DocId> = order[part.clone()].iter().map(|&row| DocId::Int(row as i64)).collect();
            order[part].iter().for_each(|&row| live[row] = false);
            index.delete(&gone).await.unwrap();
            index.commit().await.unwrap();
            let own = recall(&index, &rows, json!({}), |row| live[row]).await;
            assert!(own >= 0.9, "{own}");
        }
        index.close().await.unwrap();
        let index = Index::open(storage, options(json!(true))).await.unwrap();
        assert_sound(&index).await;
        let own = recall(&index, &rows, json!({}), |row| live[row]).await;
        assert!(own >= 0.9, "reopened: {own}");
        for left in [60, 3] {
            let gone: Vec<DocId> = order[COUNT - 60..COUNT - left].iter().map(|&row| DocId::Int(row as i64)).collect();
            index.delete(&gone).await.unwrap();
            index.commit().await.unwrap();
            let clause = json!({ "field": "v", "value": mean, "mode": "walk" });
            let response = search(&index, json!({ "vector": clause, "limit": 100 })).await;
            assert_eq!((response.hits.len(), response.total), (left, left as u64), "all that are left");
        }
    });
}

#[test]
fn negative_scores_of_long_vectors_are_found_in_order() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(12);
        // Lengths of 0 to 100, and all point away from the query.
        let rows: Vec<Vec<f32>> = (0..COUNT)
            .map(|_| {
                let length = rng.f32() * 100.0;
                (0..DIMS).map(|_| -(0.1 + rng.f32()) * length).collect()
            })
            .collect();
        let mut options = options(json!(true));
        let field = json!({ "type": "vector", "dims": DIMS, "metric": "dot", "graph": true });
        options.schema = Some(Schema::from_json(&json!({ "tag": "keyword", "side": "keyword", "v": field })).unwrap());
        let index = Index::open(MemoryStorage::new(), options).await.unwrap();
        add(&index, 0, &rows).await;
        assert_sound(&index).await;
        let query = vec![1.0; DIMS];
        let mut best: Vec<f64> =
            rows.iter().map(|row| (1.0 + row.iter().map(|&v| f64::from(v)).sum::<f64>()) / 2.0).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        for mode in ["walk", "probe", "scan"] {
            // The nearest are the shortest, whose scores are about 0; far down they are well below.
            for (limit, filter) in [(10, json!(null)), (10, json!({ "tag": "t7" })), (300, json!(null))] {
                let clause = json!({ "field": "v", "value": query, "mode": mode });
                let response = search(&index, json!({ "vector": clause, "limit": limit, "filter": filter })).await;
                assert_eq!(response.hits.len(), limit.min(if filter.is_null() { COUNT } else { 42 }), "{mode}");
                assert!(response.hits.is_sorted_by(|a, b| a.score >= b.score), "{mode}");
                assert!(response.hits.last().unwrap().score < 0.0, "{mode}");
                let expanded = response.stats.vectors_expanded;
                assert_eq!(expanded > 0, mode == "walk", "{mode}: {expanded} expanded");
                if filter.is_null() {
                    let found = response.hits.iter().filter(|hit| hit.score >= best[limit - 1] - 1e-4).count();
                    assert!(found * 10 >= limit * 9, "{mode}: {found} of {limit}");
                }
            }
        }
    });
}

/// The only segment file.
async fn segment(storage: &MemoryStorage) -> (String, Vec<u8>) {
    let names = storage.list().await.unwrap();
    let name = names.into_iter().map(|file| file.name).find(|name| name.ends_with(".seg")).unwrap();
    let file = storage.open(&name, FileOptions { access: Access::SEARCH, len: None }).await.unwrap();
    let range = 0..file.len();
    (name, file.read_ranges(std::slice::from_ref(&range)).await.unwrap()[0].to_vec())
}

#[test]
fn the_same_documents_give_the_same_bytes_and_damage_is_found() {
    block_on(async {
        let rows = vectors(COUNT, 5);
        let mut files = Vec::new();
        for graph in [json!(true), json!(true), json!(false)] {
            let storage = MemoryStorage::new();
            let index = Index::open(storage.clone(), options(graph)).await.unwrap();
            add(&index, 0, &rows).await;
            index.close().await.unwrap();
            let (name, bytes) = segment(&storage).await;
            files.push((storage, name, bytes));
        }
        // Names of segments differ, and they are written down in a few bytes.
        let differing = files[0].2.iter().zip(&files[1].2).filter(|(a, b)| a != b).count();
        assert!(files[0].2.len() == files[1].2.len() && differing < 200, "{differing} bytes differ");
        let added = files[0].2.len() - files[2].2.len();
        // 13 bits a neighbour, 32 of them.
        assert!((COUNT * 52..COUNT * 54 + 4096).contains(&added), "{added}");

        let (storage, name, bytes) = &files[0];
        let mut damaged = bytes.clone();
        let at = first_difference(&files[0].2, &files[2].2) + added / 2;
        damaged[at] ^= 4;
        storage.delete(name).await.unwrap();
        let mut writer = storage.create(name).await.unwrap();
        writer.append(damaged.into()).await.unwrap();
        writer.finish().await.unwrap();
        let index = Index::open(storage.clone(), options(json!(true))).await.unwrap();
        let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
        assert!(!report.ok);
        assert!(format!("{:?}", report.problems).contains("neighbours"), "{:#?}", report.problems);
    });
}

/// Where the neighbours start: behind everything that both files have.
fn first_difference(with: &[u8], without: &[u8]) -> usize {
    // Blocks of both files up to the graph are the same but for the name of the segment in their first bytes.
    let tail = with.iter().zip(without).skip(64).position(|(a, b)| a != b).unwrap();
    tail + 64
}
