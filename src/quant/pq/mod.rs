//! Product quantization: components in groups, the subspaces, and one of 256 centroids of each by one byte.
//!
//! [`PqModel`] holds the centroids and turns vectors into codes, a block of them at a time. [`PqTrainer`] finds
//! centroids: k-means++ seeding or a warm start from an existing model, then Lloyd rounds. [`PqTable`] scores codes against
//! one query by adding one entry per subspace. A dot product with a vector that was coded relative to a center is the
//! query's product with the center plus the sum of entries, exactly: tables are made of the query as it is, never of a
//! shifted one.
//!
//! With a *parallel weight* above 1, an encoder prefers codes whose error is across a given direction to those whose error
//! is along it, which is what changes inner products with near queries. Centroids are trained without it.
//!
//! Sources: Jégou, Douze and Schmid, "Product quantization for nearest neighbor search", 2011; Arthur and
//! Vassilvitskii, "k-means++", 2007; Guo et al., "Accelerating Large-Scale Inference with Anisotropic Vector
//! Quantization", 2020, sections 3 and 4, as JVector encodes with it.

mod encode;
mod model;
mod scorer;
mod train;

#[cfg(test)]
mod tests;

pub use encode::{PqEncoder, parallel_weight};
pub use model::PqModel;
pub use scorer::PqTable;
pub use train::{PqOptions, PqTrainer};
