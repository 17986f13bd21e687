//! Vectors to look for, and by brute force the score that a hit of the ten best has at least.

use super::{K, data::rows};

const DIMS: usize = 384;
/// Rows of a batch.
const BATCH: usize = 2_000;
const QUERIES: usize = 100;
/// Vectors around one center.
const CLUSTER: usize = 50;
const SEED: u64 = 99;
/// Scores are computed in another order of additions by the engine.
const TOLERANCE: f64 = 1e-5;

pub struct Set {
    pub dims: usize,
    pub count: usize,
    /// Rows of the base, some thousands at a time.
    pub batches: Vec<Vec<f32>>,
    pub queries: Vec<Vec<f32>>,
    /// Per query the score of the tenth nearest, less what rounding may take.
    pub least: Vec<f64>,
}

impl Set {
    /// A folder of `$RANGEFIND_DATA`, or synthetic vectors by their number: `200k`, `1m`.
    pub fn of(name: &str) -> Self {
        let times = |digits: Option<&str>, unit: usize| Some(digits?.parse::<usize>().ok()? * unit);
        let synthetic = times(name.strip_suffix('k'), 1_000).or_else(|| times(name.strip_suffix('m'), 1_000_000));
        let (batches, queries) = synthetic.map_or_else(|| sentences(name), clustered);
        let least = least_scores(&batches, &queries);
        let count = batches.iter().map(|batch| batch.len() / DIMS).sum();
        Self { dims: DIMS, count, batches, queries, least }
    }
}

/// Held-out sentences, and questions in the words of people.
fn sentences(name: &str) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let read = |file: &str| {
        let (values, dims) = rows(name, file).unwrap_or_else(|error| panic!("{name}/{file}: {error}"));
        assert_eq!(dims, DIMS, "{name}/{file}");
        values
    };
    let base = read("base.npy");
    let some = |values: Vec<f32>| {
        let step = (values.len() / DIMS / (QUERIES / 2)).max(1);
        values.chunks_exact(DIMS).step_by(step).take(QUERIES / 2).map(<[f32]>::to_vec).collect::<Vec<_>>()
    };
    let queries = some(read("queries.npy")).into_iter().chain(some(read("textqueries.npy")));
    (base.chunks(BATCH * DIMS).map(<[f32]>::to_vec).collect(), queries.collect())
}

/// Vectors around centers, of different lengths, and queries of the same kind.
fn clustered(count: usize) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let centers: Vec<f32> = (0..count.div_ceil(CLUSTER) * DIMS).map(|_| rng.f32() * 2.0 - 1.0).collect();
    let mut vector = || {
        let (start, length) = (rng.usize(0..centers.len() / DIMS) * DIMS, 0.5 + rng.f32());
        let center = &centers[start..start + DIMS];
        center.iter().map(|value| (value + (rng.f32() - 0.5) * 1.2) * length).collect::<Vec<f32>>()
    };
    let batch = |first: usize| BATCH.min(count - first);
    let batches = (0..count).step_by(BATCH).map(|first| (0..batch(first)).flat_map(|_| vector()).collect()).collect();
    (batches, (0..QUERIES).map(|_| vector()).collect())
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let mut sums = [0.0f32; 8];
    for (a, b) in a.iter().zip(b) {
        (0..8).for_each(|lane| sums[lane] += a[lane] * b[lane]);
    }
    sums.iter().sum()
}

fn least_scores(batches: &[Vec<f32>], queries: &[Vec<f32>]) -> Vec<f64> {
    let unit = |query: &Vec<f32>| -> Vec<f32> {
        let length = dot(query, query).sqrt();
        query.iter().map(|value| value / length).collect()
    };
    let queries: Vec<Vec<f32>> = queries.iter().map(unit).collect();
    // Per query the ten largest cosines, ascending.
    let mut best = vec![[f32::NEG_INFINITY; K]; queries.len()];
    for row in batches.iter().flat_map(|batch| batch.chunks_exact(DIMS)) {
        let length = dot(row, row).sqrt();
        for (query, best) in queries.iter().zip(&mut best) {
            let cosine = dot(query, row) / length;
            if cosine > best[0] {
                let at = best.partition_point(|known| *known < cosine);
                best[..at].rotate_left(1);
                best[at - 1] = cosine;
            }
        }
    }
    best.iter().map(|best| (1.0 + f64::from(best[0])) / 2.0 - TOLERANCE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenth_score_is_that_of_a_sorted_list() {
        let (batches, queries) = clustered(2_500);
        assert_eq!(batches.iter().map(|batch| batch.len() / DIMS).collect::<Vec<_>>(), [2_000, 500]);
        for (query, least) in queries.iter().zip(least_scores(&batches, &queries)) {
            let of_row = |row: &[f32]| {
                let norm = |values: &[f32]| values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
                let product: f64 = row.iter().zip(query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                (1.0 + product / norm(row) / norm(query)) / 2.0
            };
            let mut scores: Vec<f64> = batches.iter().flat_map(|batch| batch.chunks_exact(DIMS)).map(of_row).collect();
            scores.sort_by(|a, b| b.total_cmp(a));
            assert!((scores[9] - TOLERANCE - least).abs() < 1e-6, "{} {least}", scores[9]);
        }
    }
}
