//! Cold queries, each of an index that was just opened.

use rangefind::{
    engine::{Cancel, Index, OpenMode, OpenOptions},
    query::request::SearchRequest,
    storage::{
        MemoryStorage, ReadProfile,
        testing::{LatencyStorage, Link, VirtualClock},
    },
};
use serde_json::{Value, json};

use super::{K, sets::Set};
use crate::report::percentile;

/// 30 ms away, 50 Mbit/s, six in flight.
const LINK: Link = Link { round_trip_micros: 30_000, bytes_per_second: 6.25e6, in_flight: 6 };

/// Means over queries, where nothing else is said.
#[derive(Debug, Default)]
pub struct Cost {
    pub count: usize,
    pub index_mib: f64,
    pub open_kib: f64,
    pub open_requests: f64,
    pub open_waves: f64,
    pub open_millis: f64,
    pub recall: f64,
    pub waves: f64,
    pub most_waves: u32,
    pub requests: f64,
    pub kib: f64,
    pub most_kib: f64,
    pub millis: f64,
    pub p99_millis: f64,
    pub cells: f64,
    pub codes: f64,
    pub rows: f64,
}

/// Asks every query of `set` with the options of `clause`.
pub fn measure(storage: &MemoryStorage, set: &Set, clause: &Value) -> Cost {
    let count = set.queries.len() as f64;
    let mut cost = Cost { count: set.queries.len(), ..Cost::default() };
    let mut all_millis = Vec::new();
    for (query, &least) in set.queries.iter().zip(&set.least) {
        let profile = ReadProfile::HTTP;
        let clock = VirtualClock::new(LINK);
        let far = LatencyStorage::new(storage.clone(), clock.clone(), profile);
        clock.clone().run(async {
            let options = OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() };
            let index = Index::open(far, options).await.expect("an index");
            let (opened, started) = (clock.stats(), clock.now_micros());
            let mut clause = clause.clone();
            clause["field"] = json!("v");
            clause["value"] = json!(query);
            let request = json!({ "vector": clause, "limit": K, "select": [] });
            let request: SearchRequest = serde_json::from_value(request).expect("a request");
            let response = index.search(&request, &Cancel::new()).await.expect("an answer");
            let (stats, millis) = (&response.stats, (clock.now_micros() - started) / 1e3);
            let true_hits = response.hits.iter().filter(|hit| hit.score >= least).count();
            let kib = (clock.stats().bytes - opened.bytes) as f64 / 1024.0;
            cost.index_mib = index.info().expect("open").bytes as f64 / f64::from(1 << 20);
            // The same for each query.
            cost.open_kib = opened.bytes as f64 / 1024.0;
            cost.open_requests = opened.requests as f64;
            cost.open_waves = opened.waves as f64;
            cost.open_millis = started / 1e3;
            cost.recall += true_hits.min(K) as f64 / K as f64 / count;
            cost.waves += f64::from(stats.waves) / count;
            cost.most_waves = cost.most_waves.max(stats.waves);
            cost.requests += (clock.stats().requests - opened.requests) as f64 / count;
            cost.kib += kib / count;
            cost.most_kib = cost.most_kib.max(kib);
            cost.millis += millis / count;
            cost.cells += stats.cells_probed as f64 / count;
            cost.codes += stats.codes_scored as f64 / count;
            cost.rows += stats.vectors_scored as f64 / count;
            all_millis.push(millis);
        });
    }
    cost.p99_millis = percentile(&all_millis, 99.0);
    cost
}
