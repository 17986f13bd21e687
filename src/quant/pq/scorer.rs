//! Products of one query with many codes.

use super::model::PqModel;
use crate::distance::codebook::{CENTROIDS, centroid_dots, table_sums};

/// Products of a query with all centroids, `[subspaces x 256]`. Cost to make: 256 products of the query's dimension;
/// to score: one entry per subspace.
#[derive(Debug, Clone)]
pub struct PqTable(Vec<f32>);

impl PqTable {
    /// The table of `query`, `[dims]`.
    ///
    /// # Panics
    /// If it has other dimensions.
    pub fn new(model: &PqModel, query: &[f32]) -> Self {
        assert_eq!(query.len(), model.dims(), "query and model have one dimension");
        let mut table = vec![0.0; model.subspaces() * CENTROIDS];
        for (subspace, entries) in table.as_chunks_mut::<CENTROIDS>().0.iter_mut().enumerate() {
            centroid_dots(&query[model.components(subspace)], model.centroids(subspace), entries);
        }
        Self(table)
    }

    /// Dot products of the query with what `codes` stand for, `[out x subspaces]`. The order of additions is fixed: equal
    /// on every machine.
    ///
    /// # Panics
    /// If `codes` are not so many.
    pub fn dots(&self, codes: &[u8], out: &mut [f32]) {
        table_sums(&self.0, codes, out);
    }
}
