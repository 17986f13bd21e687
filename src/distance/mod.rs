//! How near two vectors are: dot products, squared Euclidean distances, norms, and the scores made of them.
//!
//! Read [`scalar`] first: it says what each kernel computes. [`kernels`] chooses an instruction set once and
//! hands whole batches to `avx2` (native) or `simd128` (wasm). [`score`] turns results into scores, larger
//! being better, and settles what vectors of extreme length do.
//!
//! Guarantees:
//! 1. On one machine a pair of vectors has one result, bit for bit, whichever function computed it: alone, four
//!    rows at a time, several queries at a time. So a rescored hit has the score the scan gave it.
//! 2. Between instruction sets results differ by rounding only, at most [`TOLERANCE`] times the sum of the
//!    magnitudes that were added. Nothing that is stored depends on them.
//! 3. Rows are raw little-endian bytes at any alignment: what storage gives is scored without a copy.

#[cfg(target_endian = "big")]
compile_error!("rows are scored in place as little-endian floats; big-endian machines need a copying scan");

#[cfg(target_arch = "x86_64")]
mod avx2;
pub mod blocks;
pub mod codebook;
pub mod fixed;
pub mod half;
pub mod kernels;
pub mod packed;
pub mod scalar;
pub mod score;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;
#[cfg(test)]
mod tests;

pub use kernels::{
    InstructionSet, cosine, dot, dots, dots_and_norms, dots_block, instruction_set, norms, squared_l2, squared_l2s,
    squared_l2s_block,
};
pub use scalar::TOLERANCE;
pub use score::{cosine_of_parts, key_score, score_key, score_of_similarity, score_of_squared_l2};
