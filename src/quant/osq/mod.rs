//! Optimized scalar quantization: 1, 2, 4 or 8 bits per component on an interval fitted to each vector.
//!
//! A vector x, taken relative to a centroid c, is clamped to an interval [lower, upper] of its own and each component
//! rounded to one of 2^bits equidistant levels. The interval minimises a loss that weighs the error along x more than
//! the error across it ([`fit_interval`]). An inner product of two quantized vectors is then an integer
//! product of their codes plus four corrective terms per vector ([`Terms`]), kept in a column of their own so that the
//! integer kernels run over nothing but codes.
//!
//! Sources: Apache Lucene's `OptimizedScalarQuantizer` (Veasey and Trent, 2024), whose formulas these are; the loss is
//! the anisotropic one of Guo et al., "Accelerating Large-Scale Inference with Anisotropic Vector
//! Quantization", 2020. The row layout is ours: little-endian 64-bit stripes instead of bytes with the first
//! component in the top bit.
//!
//! ```text
//! 1 bit   one stripe: bit i of the row is component i; rows padded to 8 bytes
//! 2 bits  two stripes of that form: low bits, then high bits
//! 4 bits  byte i = component i | component i + half << 4, half = ceil(dims / 2), padded to 8 bytes
//! 8 bits  byte i = component i, padded to 8 bytes
//! ```

mod interval;
mod model;
mod pack;
mod scorer;

#[cfg(test)]
mod tests;

pub use interval::{Interval, assign_levels, fit_interval};
pub use model::{OsqModel, Scratch, TERMS_LEN, Terms};
pub use pack::{Bits, pack_levels, push_stripe, row_len};
pub use scorer::{OsqQuery, OsqScorer};
