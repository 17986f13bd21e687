//! A query vector, checked and prepared once.

use crate::{
    distance,
    schema::{Metric, VectorOptions},
};

use super::{error::VectorInputError, row::Decoded};

/// Checks one or several vectors of a field, one after another; returns how many there are.
pub(super) fn check(options: &VectorOptions, vectors: &[f32]) -> Result<usize, VectorInputError> {
    let (width, limit) = (options.dims as usize, options.storage.limit());
    if vectors.is_empty() || !vectors.len().is_multiple_of(width) {
        return Err(VectorInputError::Dims { found: vectors.len(), dims: options.dims });
    }
    match vectors.iter().position(|value| !value.is_finite() || value.abs() >= limit) {
        Some(at) => Err(VectorInputError::NotFinite { vector: at / width, component: at % width, value: vectors[at] }),
        None => Ok(vectors.len() / width),
    }
}

/// A query vector of a field.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorQuery {
    vector: Vec<f32>,
    /// Of the rows it is compared with.
    options: VectorOptions,
    /// Squared norm.
    norm: f32,
}

/// Rows scored in one go: their results and slices stay in the nearest cache.
pub(super) const BATCH_ROWS: usize = 128;

impl VectorQuery {
    /// Checks `vector` against the field.
    ///
    /// # Errors
    /// If it has another dimension or a component that is not finite.
    pub fn new(options: &VectorOptions, vector: Vec<f32>) -> Result<Self, VectorInputError> {
        if vector.len() != options.dims as usize {
            return Err(VectorInputError::Dims { found: vector.len(), dims: options.dims });
        }
        check(&VectorOptions::new(options.dims, options.metric), &vector)?;
        let mut norm = [0.0];
        distance::norms(vector.len(), &[bytemuck::cast_slice(&vector)], &mut norm);
        Ok(Self { vector, options: options.clone(), norm: norm[0] })
    }

    /// The components.
    pub fn vector(&self) -> &[f32] {
        &self.vector
    }

    /// How the field compares vectors.
    pub fn metric(&self) -> Metric {
        self.options.metric
    }

    /// What rows it is compared with.
    pub(super) fn options(&self) -> &VectorOptions {
        &self.options
    }

    /// Squared Euclidean norm.
    pub fn squared_norm(&self) -> f32 {
        self.norm
    }

    /// Scores rows given as their components' bytes (as the field stores them, no checksum), in order. The same pair gets the
    /// same bits here and in [`super::FlatScan`].
    ///
    /// # Panics
    /// If a row or `scores` has another length.
    pub fn score_rows(&self, rows: &[&[u8]], scores: &mut [f32]) {
        assert_eq!(rows.len(), scores.len(), "one score per row");
        let mut norms = [0.0; BATCH_ROWS];
        let mut decoded = Decoded::default();
        for (rows, scores) in rows.chunks(BATCH_ROWS).zip(scores.chunks_mut(BATCH_ROWS)) {
            let rows = &decoded.rows(&self.options, rows)[..];
            match self.options.metric {
                Metric::Cosine => {
                    let norms = &mut norms[..rows.len()];
                    distance::dots_and_norms(&self.vector, rows, scores, norms);
                    self.finish(rows, norms, scores);
                }
                Metric::Dot => {
                    distance::dots(&self.vector, rows, scores);
                    self.finish(rows, &[], scores);
                }
                Metric::L2 => {
                    distance::squared_l2s(&self.vector, rows, scores);
                    self.finish(rows, &[], scores);
                }
            }
        }
    }

    /// Turns dot products or distances into scores, in place. `rows` are numbers, `norms` are the rows' squared norms under cosine.
    pub(super) fn finish(&self, rows: &[&[u8]], norms: &[f32], scores: &mut [f32]) {
        match self.options.metric {
            Metric::Cosine => {
                for ((row, &norm), score) in rows.iter().zip(norms).zip(scores) {
                    let cosine = distance::cosine_of_parts(&self.vector, row, *score, self.norm, norm);
                    *score = distance::score_of_similarity(cosine);
                }
            }
            Metric::Dot => scores.iter_mut().for_each(|score| *score = distance::score_of_similarity(*score)),
            Metric::L2 => scores.iter_mut().for_each(|score| *score = distance::score_of_squared_l2(*score)),
        }
    }
}
