//! [`super::fixed_dots_block`] for x86-64 with AVX2: 16 products and 8 sums per multiply-add.
//!
//! 4 queries x 2 rows keep 8 sums, 2 rows and a query in registers.

use std::arch::x86_64::*;

use super::FIXED_LANES;

const QUERIES: usize = 4;
const ROWS: usize = 2;

#[inline]
#[target_feature(enable = "avx2")]
fn load(chunk: &[i16; FIXED_LANES]) -> __m256i {
    // SAFETY: 32 bytes are readable behind the reference; loadu needs no alignment.
    unsafe { _mm256_loadu_si256(chunk.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum_lanes(sums: __m256i) -> i32 {
    let quad = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    let pair = _mm_add_epi32(quad, _mm_shuffle_epi32::<0b_01_00_11_10>(quad));
    _mm_cvtsi128_si32(_mm_add_epi32(pair, _mm_shuffle_epi32::<0b_10_11_00_01>(pair)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn block<const Q: usize, const R: usize>(queries: [&[i16]; Q], rows: [&[i16]; R]) -> [[i32; R]; Q] {
    let queries = queries.map(|query| query.as_chunks::<FIXED_LANES>().0);
    let len = queries.first().map_or(0, |chunks| chunks.len());
    let queries = queries.map(|chunks| &chunks[..len]);
    let rows = rows.map(|row| &row.as_chunks::<FIXED_LANES>().0[..len]);
    let mut sums = [[_mm256_setzero_si256(); R]; Q];
    for ix in 0..len {
        let loaded: [__m256i; R] = std::array::from_fn(|row| load(&rows[row][ix]));
        for (query, sums) in queries.iter().zip(&mut sums) {
            let query = load(&query[ix]);
            for (sum, row) in sums.iter_mut().zip(loaded) {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(query, row));
            }
        }
    }
    sums.map(|sums| sums.map(|sum| sum_lanes(sum)))
}

#[target_feature(enable = "avx2")]
pub(super) fn dots_block(stride: usize, queries: &[i16], rows: &[i16], out: &mut [i32]) {
    let num_rows = rows.len() / stride;
    let query = |ix: usize| &queries[ix * stride..(ix + 1) * stride];
    let row = |ix: usize| &rows[ix * stride..(ix + 1) * stride];
    let num_queries = queries.len() / stride;
    let (whole_queries, whole_rows) = (num_queries / QUERIES * QUERIES, num_rows / ROWS * ROWS);
    for q in (0..whole_queries).step_by(QUERIES) {
        let group: [&[i16]; QUERIES] = std::array::from_fn(|ix| query(q + ix));
        for r in (0..whole_rows).step_by(ROWS) {
            for (ix, sums) in block(group, [row(r), row(r + 1)]).into_iter().enumerate() {
                out[(q + ix) * num_rows + r..][..ROWS].copy_from_slice(&sums);
            }
        }
        for r in whole_rows..num_rows {
            for (ix, [sum]) in block(group, [row(r)]).into_iter().enumerate() {
                out[(q + ix) * num_rows + r] = sum;
            }
        }
    }
    for q in whole_queries..num_queries {
        for r in (0..whole_rows).step_by(ROWS) {
            let [sums] = block([query(q)], [row(r), row(r + 1)]);
            out[q * num_rows + r..][..ROWS].copy_from_slice(&sums);
        }
        for r in whole_rows..num_rows {
            out[q * num_rows + r] = block([query(q)], [row(r)])[0][0];
        }
    }
}
