//! From vectors to codes, a block at a time.

use super::model::PqModel;
use crate::distance::codebook::{CENTROIDS, centroid_distances, centroid_dots, smallest};

/// Sweeps over all subspaces that look for a better code at most.
const MAX_SWEEPS: usize = 10;

/// Weight of the error along a vector of `dims` components for queries whose cosine with it is at least `threshold`,
/// below 1: t² (dims - 1) / (1 - t²), at least 1, which weighs all errors alike (Guo et al., theorem 3.4).
pub fn parallel_weight(threshold: f32, dims: usize) -> f32 {
    let square = f64::from(threshold) * f64::from(threshold);
    (square * (dims as f64 - 1.0) / (1.0 - square)).clamp(1.0, 1e6) as f32
}

/// Writes codes of a model.
#[derive(Debug, Clone, Default)]
pub struct PqEncoder {
    /// Of one vector, `[subspaces x 256]`: squared errors of the centroids, and their products with the direction.
    squares: Vec<f32>,
    along: Vec<f32>,
}

impl PqEncoder {
    /// Appends the codes of `vectors`, `[count x dims]`: the nearest centroid of each subspace, the first one of equally
    /// near ones. Subspace after subspace, so that centroids stay in the nearest cache.
    ///
    /// # Panics
    /// If the vectors have other dimensions.
    pub fn encode(&mut self, model: &PqModel, vectors: &[f32], codes: &mut Vec<u8>) {
        assert_eq!(vectors.len() % model.dims(), 0, "vectors of one dimension");
        let (start, len) = (codes.len(), model.subspaces());
        codes.resize(start + vectors.len() / model.dims() * len, 0);
        let mut distances = [0.0; CENTROIDS];
        for subspace in 0..len {
            let (components, centroids) = (model.components(subspace), model.centroids(subspace));
            let rows = codes[start..].chunks_exact_mut(len);
            for (vector, code) in vectors.chunks_exact(model.dims()).zip(rows) {
                centroid_distances(&vector[components.clone()], centroids, &mut distances);
                code[subspace] = smallest(&distances);
            }
        }
    }

    /// Makes the codes of `vectors` better for products with queries near `directions`, `[count x dims]`, of unit
    /// length or zero: coordinate descent on |e|² + (weight - 1) (e · direction)², e being the error, from the codes that
    /// [`Self::encode`] gave.
    ///
    /// # Panics
    /// If lengths do not fit.
    pub fn refine(&mut self, model: &PqModel, vectors: &[f32], directions: &[f32], weight: f32, codes: &mut [u8]) {
        let (dims, len) = (model.dims(), model.subspaces());
        assert!(vectors.len() == directions.len() && vectors.len() * len == codes.len() * dims, "a code per vector");
        let rows = vectors.chunks_exact(dims).zip(directions.chunks_exact(dims));
        for ((vector, direction), code) in rows.zip(codes.chunks_exact_mut(len)) {
            self.refine_one(model, vector, direction, weight - 1.0, code);
        }
    }

    fn refine_one(&mut self, model: &PqModel, vector: &[f32], direction: &[f32], extra: f32, code: &mut [u8]) {
        self.squares.resize(code.len() * CENTROIDS, 0.0);
        self.along.resize(code.len() * CENTROIDS, 0.0);
        let (squares, _) = self.squares.as_chunks_mut::<CENTROIDS>();
        let (along, _) = self.along.as_chunks_mut::<CENTROIDS>();
        // Error along the direction: of the vector itself, less that of the centroids chosen.
        let mut error = 0.0f32;
        for (subspace, &chosen) in code.iter().enumerate() {
            let (components, centroids) = (model.components(subspace), model.centroids(subspace));
            let (own, direction) = (&vector[components.clone()], &direction[components]);
            centroid_distances(own, centroids, &mut squares[subspace]);
            centroid_dots(direction, centroids, &mut along[subspace]);
            error += own.iter().zip(direction).map(|(a, b)| a * b).sum::<f32>() - along[subspace][usize::from(chosen)];
        }
        for _ in 0..MAX_SWEEPS {
            let mut moved = false;
            for ((squares, along), code) in squares.iter().zip(along.iter()).zip(code.iter_mut()) {
                let rest = error + along[usize::from(*code)];
                let mut costs = [0.0; CENTROIDS];
                for ((cost, square), along) in costs.iter_mut().zip(squares).zip(along) {
                    *cost = square + extra * ((rest - along) * (rest - along));
                }
                let best = smallest(&costs);
                // Strictly better, or the sweeps would not end.
                if costs[usize::from(best)] < costs[usize::from(*code)] {
                    (*code, error, moved) = (best, rest - along[usize::from(best)], true);
                }
            }
            if !moved {
                break;
            }
        }
    }
}
