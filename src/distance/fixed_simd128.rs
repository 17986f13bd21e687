//! [`super::fixed_dots_block`] for WebAssembly with fixed-width SIMD: 8 products and 4 sums per multiply-add.
//!
//! 4 queries x 2 rows keep 8 sums, 2 rows and a query in registers.

use std::arch::wasm32::*;

/// Components of a register.
const LANES: usize = 8;
const QUERIES: usize = 4;
const ROWS: usize = 2;

#[inline]
fn load(chunk: &[i16; LANES]) -> v128 {
    // SAFETY: 16 bytes are readable behind the reference; v128_load needs no alignment.
    unsafe { v128_load(chunk.as_ptr().cast()) }
}

#[inline]
fn sum_lanes(sums: v128) -> i32 {
    let pair = i32x4_add(sums, i32x4_shuffle::<2, 3, 0, 1>(sums, sums));
    i32x4_extract_lane::<0>(pair) + i32x4_extract_lane::<1>(pair)
}

#[inline]
fn block<const Q: usize, const R: usize>(queries: [&[i16]; Q], rows: [&[i16]; R]) -> [[i32; R]; Q] {
    let queries = queries.map(|query| query.as_chunks::<LANES>().0);
    let len = queries.first().map_or(0, |chunks| chunks.len());
    let queries = queries.map(|chunks| &chunks[..len]);
    let rows = rows.map(|row| &row.as_chunks::<LANES>().0[..len]);
    let mut sums = [[i32x4_splat(0); R]; Q];
    for ix in 0..len {
        let loaded: [v128; R] = std::array::from_fn(|row| load(&rows[row][ix]));
        for (query, sums) in queries.iter().zip(&mut sums) {
            let query = load(&query[ix]);
            for (sum, row) in sums.iter_mut().zip(loaded) {
                *sum = i32x4_add(*sum, i32x4_dot_i16x8(query, row));
            }
        }
    }
    sums.map(|sums| sums.map(sum_lanes))
}

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
