//! From similarities and distances to scores: larger is better, whatever the metric.
//!
//! | metric | similarity or distance | score |
//! |---|---|---|
//! | cosine | s in -1..=1, 0 if either vector is zero | (1 + s) / 2 |
//! | dot | s, any finite number | (1 + s) / 2, not clamped |
//! | L2 | d², 0 or more | 1 / (1 + d²) |

#![forbid(unsafe_code)]

use super::scalar;

/// Squared norms inside this range give the cosine full precision in `f32`: nothing that matters underflows,
/// nothing overflows. Outside it [`scalar::cosine_wide`] decides.
const NORM_RANGE: std::ops::RangeInclusive<f32> = 1e-30..=1e30;

/// Score of a cosine similarity or a dot product.
#[inline]
pub fn score_of_similarity(similarity: f32) -> f32 {
    // Halved first, so that the largest finite dot product keeps a finite score.
    0.5 + similarity * 0.5
}

/// Score of a squared Euclidean distance: 1 for equal vectors, 0 for infinitely distant ones.
#[inline]
pub fn score_of_squared_l2(squared_l2: f32) -> f32 {
    1.0 / (1.0 + squared_l2)
}

/// Cosine similarity of a pair whose dot product and squared norms are known; 0 if either vector is zero.
#[inline]
pub fn cosine_of_parts(query: &[f32], row: &[u8], dot: f32, query_norm: f32, row_norm: f32) -> f32 {
    if NORM_RANGE.contains(&query_norm) && NORM_RANGE.contains(&row_norm) {
        (dot / (query_norm.sqrt() * row_norm.sqrt())).clamp(-1.0, 1.0)
    } else {
        scalar::cosine_wide(query, row)
    }
}

/// Order-preserving integer of a score, negative ones included: `a < b` exactly if `key(a) < key(b)`, both
/// zeros are equal, NaN is 0 and below everything. The GPU selects by it.
#[inline]
pub fn score_key(score: f32) -> u32 {
    if score.is_nan() {
        return 0;
    }
    let bits = (score + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Inverse of [`score_key`]; negative zero comes back as zero.
#[inline]
pub fn key_score(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}
