//! What a query reads: counted.

use std::ops::Range;

use rangefind::{
    engine::{Index, OpenMode, OpenOptions},
    platform::block_on,
    storage::{self, Access, File, MemoryStorage, Storage, testing::CountingStorage},
};
use serde_json::json;

use super::set::{CELLS, add, clustered, id_of, options, search, single};

const DIMS: usize = 64;

/// Where rows lie in the only segment file: from the first to the last one.
fn rows_range(file: &[u8], vectors: &[Vec<f32>]) -> Range<u64> {
    let bytes = |vector: &Vec<f32>| vector.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let known = bytes(&vectors[0]);
    let (stride, at) = (DIMS * 4 + 4, file.windows(known.len()).position(|window| window == known).unwrap());
    let all: std::collections::HashSet<Vec<u8>> = vectors.iter().map(bytes).collect();
    let is_row = |at: usize| file.get(at..at + DIMS * 4).is_some_and(|row| all.contains(row));
    let first = (0..).map(|back| at - back * stride).find(|&at| at < stride || !is_row(at - stride)).unwrap();
    let range = first as u64..(first + vectors.len() * stride) as u64;
    assert!(is_row(range.end as usize - stride));
    range
}

#[test]
fn a_cold_query_reads_codes_in_one_wave_and_the_rows_of_its_shortlist_in_another() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(17);
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), options(DIMS, "cosine")).await.unwrap();
        let vectors = clustered(&mut rng, CELLS + 1000, DIMS, 60);
        add(&index, 0, &single(&vectors)).await;
        index.close().await.unwrap();

        let names = storage.list().await.unwrap().into_iter().map(|entry| entry.name);
        let [segment] = names.filter(|name| name.ends_with(".seg")).collect::<Vec<String>>().try_into().unwrap();
        let open = storage::OpenOptions { access: Access::SEARCH, len: None };
        let file = storage.open(&segment, open).await.unwrap();
        let rows = rows_range(file.as_slice().unwrap(), &vectors);
        let counting = CountingStorage::new(storage);
        counting.label_section(&segment, rows, "full precision");
        let read_only = || OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() };
        let index = Index::open(counting.clone(), read_only()).await.unwrap();
        let raw = (vectors.len() * DIMS * 4) as u64;
        assert!(counting.waves() <= 2 && counting.total().bytes < raw / 7, "{}", counting.report());
        counting.reset();
        // Without hits no row is read in full.
        let clause = json!({ "field": "embedding", "value": vectors[77], "probes": 24, "oversample": 1 });
        search(&index, json!({ "vector": clause, "limit": 0 })).await;
        assert_eq!(counting.total().bytes, 0, "{}", counting.report());

        // Estimates of hundreds of vectors touch no row: of full precision the one that wins is read, in its blocks.
        let response = search(&index, json!({ "vector": clause, "limit": 1, "select": [] })).await;
        assert_eq!((response.stats.cells_probed, response.stats.vectors_scored), (24, 1), "{:?}", response.stats);
        assert!(response.stats.codes_scored > 400, "{:?}", response.stats);
        let full = counting.of("full precision");
        assert!(full.requests == 1 && full.bytes <= 8 << 10, "{}", counting.report());
        assert_eq!(id_of(&response.hits[0].id), 77);

        let index = Index::open(counting.clone(), read_only()).await.unwrap();
        counting.reset();
        let clause = json!({ "field": "embedding", "value": vectors[77], "probes": 24, "oversample": 5 });
        let response = search(&index, json!({ "vector": clause, "limit": 10, "select": [] })).await;
        let stats = &response.stats;
        // Codes, rows, documents: centers are pinned.
        assert!(stats.waves <= 3, "{stats:?}");
        assert_eq!((stats.cells_probed, stats.vectors_scored), (24, 50), "{stats:?}");
        assert_eq!(id_of(&response.hits[0].id), 77);
        // Of full precision at most what the shortlist lies in, whole blocks of the cache.
        assert!(counting.of("full precision").bytes <= 50 * (8 << 10), "{}", counting.report());
        let again = search(&index, json!({ "vector": clause, "limit": 10, "select": [] })).await;
        assert_eq!((again.stats.waves, again.stats.bytes), (0, 0), "{:?}", again.stats);

        // By recall: one wave more where a query is unlike all vectors.
        for (value, waves) in [(vectors[78].clone(), 4), ((0..DIMS).map(|_| rng.f32() - 0.5).collect(), 4)] {
            let index = Index::open(counting.clone(), read_only()).await.unwrap();
            let clause = json!({ "field": "embedding", "value": value });
            let stats = search(&index, json!({ "vector": clause, "limit": 10, "select": [] })).await.stats;
            assert!(stats.cells_probed > 0 && stats.waves <= waves, "{stats:?}");
        }
    });
}

#[test]
fn query_vectors_of_one_request_share_waves_and_cells() {
    block_on(async {
        let mut rng = fastrand::Rng::with_seed(18);
        let storage = MemoryStorage::new();
        let index = Index::open(storage.clone(), options(DIMS, "cosine")).await.unwrap();
        let vectors = clustered(&mut rng, CELLS + 100, DIMS, 60);
        add(&index, 0, &single(&vectors)).await;
        index.close().await.unwrap();
        let counting = CountingStorage::new(storage);
        let read_only = OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() };
        let index = Index::open(counting.clone(), read_only).await.unwrap();
        counting.reset();
        let values: Vec<&Vec<f32>> = (0..20).map(|ix| &vectors[ix * 200]).collect();
        let clause = json!({ "field": "embedding", "values": values, "probes": 16, "oversample": 3 });
        let response = search(&index, json!({ "vector": clause, "limit": 10, "select": [] })).await;
        assert_eq!((response.answers.len(), response.stats.cells_probed), (20, 20 * 16));
        assert!(response.stats.waves <= 3, "{:?}", response.stats);
        for (ix, answer) in response.answers.iter().enumerate() {
            assert_eq!((id_of(&answer.hits[0].id), answer.hits.len()), (ix * 200, 10));
        }
    });
}
