//! Documents with vectors, queries, and what brute force says to them.

use rangefind::{
    engine::{Cancel, DocumentBatch, FieldVectors, Index, MergeOptions, OpenOptions, no_progress},
    ids::DocId,
    query::request::{Hit, SearchResponse},
    schema::Schema,
    storage::{MemoryStorage, Storage, testing::CountingStorage},
};
use serde_json::{Value, json};

/// Vectors a segment needs for cells.
pub const CELLS: usize = 4096;

/// A storage whose segments are never in memory as they stand: those would be scanned.
pub type Store = CountingStorage<MemoryStorage>;

pub fn store() -> Store {
    CountingStorage::new(MemoryStorage::new())
}

pub fn options<S>(dims: usize, metric: &str) -> OpenOptions<S> {
    let schema = json!({ "tag": "keyword", "side": "keyword", "embedding": { "type": "vector", "dims": dims, "metric": metric } });
    OpenOptions {
        schema: Some(Schema::from_json(&schema).unwrap()),
        auto_merge: false,
        grace_millis: 0,
        ..OpenOptions::default()
    }
}

/// The same with a graph, and memory for large segments.
pub fn with_graph<S>(dims: usize, metric: &str) -> OpenOptions<S> {
    let field = json!({ "type": "vector", "dims": dims, "metric": metric, "graph": true });
    let schema = json!({ "tag": "keyword", "side": "keyword", "embedding": field });
    let schema = Some(Schema::from_json(&schema).unwrap());
    OpenOptions { schema, memory_bytes: 1 << 30, ..options(dims, metric) }
}

/// Vectors around some centers, of different lengths.
pub fn clustered(rng: &mut fastrand::Rng, len: usize, dims: usize, clusters: usize) -> Vec<Vec<f32>> {
    let mut noise = |scale: f32| (0..dims).map(|_| (rng.f32() - 0.5) * scale).collect::<Vec<_>>();
    let centers: Vec<Vec<f32>> = (0..clusters).map(|_| noise(2.0)).collect();
    let noises: Vec<Vec<f32>> = (0..len).map(|_| noise(1.2)).collect();
    let vector = |noise: &Vec<f32>, rng: &mut fastrand::Rng| {
        let (center, length) = (&centers[rng.usize(0..clusters)], 0.5 + rng.f32());
        center.iter().zip(noise).map(|(c, n)| (c + n) * length).collect()
    };
    noises.iter().map(|noise| vector(noise, rng)).collect()
}

pub fn single(vectors: &[Vec<f32>]) -> Vec<Vec<Vec<f32>>> {
    vectors.iter().map(|vector| vec![vector.clone()]).collect()
}

/// Where a document's first vector lies.
pub fn side(of_doc: &[Vec<f32>]) -> &'static str {
    if of_doc.first().is_some_and(|row| row[0] > 0.3) { "right" } else { "left" }
}

/// Adds documents `first..`, each with its vectors, and commits.
pub async fn add<S: Storage>(index: &Index<S>, first: usize, vectors: &[Vec<Vec<f32>>]) {
    let doc = |(id, of_doc): (usize, &Vec<Vec<f32>>)| json!({ "id": id, "tag": format!("t{}", id % 100), "side": side(of_doc) });
    let docs = (first..).zip(vectors).map(doc).collect();
    let values = vectors.iter().flatten().flatten().copied().collect();
    let counts = vectors.iter().map(|of_doc| of_doc.len() as u32).collect();
    let vectors = FieldVectors { field: "embedding".to_owned(), values, counts: Some(counts) };
    let report = index.add(DocumentBatch::from_values(docs).with_vectors(vectors)).await.unwrap();
    assert_eq!(report.refused, vec![]);
    index.commit().await.unwrap();
}

pub async fn delete<S: Storage>(index: &Index<S>, ids: &[usize]) {
    index.delete(&ids.iter().map(|&id| DocId::Int(id as i64)).collect::<Vec<_>>()).await.unwrap();
    index.commit().await.unwrap();
}

pub async fn search<S: Storage>(index: &Index<S>, request: Value) -> SearchResponse {
    index.search(&serde_json::from_value(request).unwrap(), &Cancel::new()).await.unwrap()
}

pub async fn merge<S: Storage>(index: &Index<S>, memory_bytes: u64) {
    let options = MergeOptions { max_segments: Some(1), memory_bytes, ..MergeOptions::default() };
    let report = index.merge(options, &no_progress, &Cancel::new()).await.unwrap();
    assert_eq!(report.num_segments, 1);
    assert!(report.peak_memory_bytes <= memory_bytes, "{report:?}");
}

pub async fn assert_sound<S: Storage>(index: &Index<S>) {
    let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
    assert!(report.ok, "{:#?}", report.problems);
    assert!(report.leftovers.is_empty(), "{:?}", report.leftovers);
}

pub fn id_of(id: &DocId) -> usize {
    let DocId::Int(id) = id else { panic!("{id}") };
    *id as usize
}

/// Of vectors of unit length for cosine.
fn score(metric: &str, a: &[f64], b: &[f64]) -> f64 {
    // Indices, not iterators: without optimisations those take several times as long.
    let mut sum = 0.0;
    for ix in 0..a.len() {
        sum += if metric == "l2" { (a[ix] - b[ix]) * (a[ix] - b[ix]) } else { a[ix] * b[ix] };
    }
    if metric == "l2" { 1.0 / (1.0 + sum) } else { (1.0 + sum) / 2.0 }
}

/// Documents by number, and what is left of them.
pub struct Set {
    pub docs: Vec<Vec<Vec<f32>>>,
    pub queries: Vec<Vec<f32>>,
    /// Per query the score of each document by its best vector; none without a vector.
    scores: Vec<Vec<Option<f64>>>,
    /// Per query all documents, best first.
    ranked: Vec<Vec<usize>>,
    gone: Vec<bool>,
}

impl Set {
    /// Computes all scores, once.
    pub fn new(metric: &str, docs: Vec<Vec<Vec<f32>>>, queries: Vec<Vec<f32>>) -> Self {
        let ready = |vector: &Vec<f32>| -> Vec<f64> {
            let norm = vector.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
            let scale = if metric == "cosine" && norm > 0.0 { norm } else { 1.0 };
            vector.iter().map(|&v| f64::from(v) / scale).collect()
        };
        let rows: Vec<Vec<Vec<f64>>> = docs.iter().map(|of_doc| of_doc.iter().map(ready).collect()).collect();
        let of_query = |query: &Vec<f32>| -> Vec<Option<f64>> {
            let query = ready(query);
            rows.iter().map(|of_doc| of_doc.iter().map(|row| score(metric, &query, row)).reduce(f64::max)).collect()
        };
        let scores: Vec<Vec<Option<f64>>> = queries.iter().map(of_query).collect();
        let rank = |scores: &Vec<Option<f64>>| {
            let mut ranked: Vec<usize> = (0..docs.len()).filter(|&id| scores[id].is_some()).collect();
            ranked.sort_by(|&a, &b| scores[b].unwrap().total_cmp(&scores[a].unwrap()).then(a.cmp(&b)));
            ranked
        };
        let ranked = scores.iter().map(rank).collect();
        let gone = vec![false; docs.len()];
        Self { docs, queries, scores, ranked, gone }
    }

    /// What was deleted.
    pub fn remove(&mut self, ids: &[usize]) {
        ids.iter().for_each(|&id| self.gone[id] = true);
    }

    /// Documents that are left, pass and have a vector, with their scores, best first.
    pub fn expected(&self, query: usize, passes: impl Fn(usize) -> bool) -> Vec<(usize, f64)> {
        let left = self.ranked[query].iter().filter(|&&id| !self.gone[id] && passes(id));
        left.map(|&id| (id, self.scores[query][id].unwrap())).collect()
    }

    /// Recall@10 over `queries`, with every answer as long as it can be and every score exact.
    pub async fn recall<S: Storage>(
        &self,
        index: &Index<S>,
        queries: std::ops::Range<usize>,
        passes: impl Fn(usize) -> bool,
        clause: Value,
        filter: Value,
    ) -> f64 {
        let (mut hits, mut wanted) = (0, 0);
        for query in queries {
            let expected = self.expected(query, &passes);
            let mut clause = clause.clone();
            clause["field"] = json!("embedding");
            clause["value"] = json!(self.queries[query]);
            let request = json!({ "vector": clause, "limit": 10, "filter": filter, "select": [] });
            let response = search(index, request).await;
            assert_eq!((response.total as usize, response.hits.len()), (expected.len(), expected.len().min(10)));
            hits += self.found(query, &expected, &response.hits, 10);
            wanted += expected.len().min(10);
        }
        hits as f64 / wanted.max(1) as f64
    }

    /// How many of `hits` are as good as the `limit` best; checks order and scores.
    pub fn found(&self, query: usize, expected: &[(usize, f64)], hits: &[Hit], limit: usize) -> usize {
        assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
        let worst = expected.get(limit - 1).or(expected.last()).map_or(0.0, |(_, score)| *score);
        for hit in hits {
            let id = id_of(&hit.id);
            assert!(!self.gone[id], "{id} is deleted");
            let (exact, several) = (self.scores[query][id].unwrap(), self.docs[id].len() > 1);
            let difference = hit.score - exact;
            let bound = 1e-4 * exact.abs().max(1.0);
            assert!(difference < bound && (several || difference > -bound.max(1e-3)), "{hit:?} for {exact}");
        }
        hits.iter().filter(|hit| hit.score >= worst - 1e-5 * worst.abs()).count()
    }
}
