//! Products of 4-bit levels with rows of 1 or 2 bits that lie in blocks of 16: byte i of all of them, then byte i + 1.
//!
//! What four bits of a row add to the product is looked up, for 16 rows in two instructions (André, Kermarrec and Le
//! Scouarnec, "Cache locality is not enough: high-performance nearest neighbor search with product quantization fast
//! scan", 2015). Counting bits of rows one after another takes three times as long, and eight times in wasm, where engines
//! need seven instructions to count the bits of a register. The last block has as many rows as are left.

#[cfg(target_arch = "x86_64")]
#[path = "blocks_avx2.rs"]
mod avx2;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[path = "blocks_simd128.rs"]
mod simd128;

/// Rows of a block.
pub const BLOCK_ROWS: usize = 16;

/// Products of 16 rows with one stripe. Of 4096 components of 15 x 1 a sum is less than 2^16.
type Sums = [u16; BLOCK_ROWS];

/// What each value of four bits adds, for the lower half of two bytes of a row, and for the upper half.
type Tables = [[u8; 16]; 4];

/// A query of 4-bit levels for rows in blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockQuery(Vec<Tables>);

impl BlockQuery {
    /// The levels of all components, 4096 at most, each below 16.
    pub fn new(levels: &[u8]) -> Self {
        assert!(levels.len() <= 4096, "sums of 16 bits");
        let table = |first: usize| {
            let mut table = [0; 16];
            for bit in 0..4 {
                let level = levels.get(first + bit).copied().unwrap_or(0);
                (0..1 << bit).for_each(|value| table[1 << bit | value] = table[value] + level);
            }
            table
        };
        let tables = |first: usize| [table(first), table(first + 8), table(first + 4), table(first + 12)];
        // Rows are padded to whole words.
        Self((0..levels.len().div_ceil(64) * 4).map(|pair| tables(pair * 16)).collect())
    }

    /// Bytes of a stripe of a row.
    pub fn stripe_len(&self) -> usize {
        self.0.len() * 2
    }
}

/// Products with rows of `STRIPES` bits per component in blocks: stripe after stripe in each row, low bits first.
///
/// # Panics
/// If lengths do not fit.
pub fn block_dots<const STRIPES: usize>(query: &BlockQuery, rows: &[u8], out: &mut [u32]) {
    let stripe_len = query.stripe_len();
    assert_eq!(rows.len(), out.len() * stripe_len * STRIPES, "rows of {STRIPES} stripes of {stripe_len} bytes");
    if stripe_len == 0 {
        out.fill(0);
        return;
    }
    let sums = chosen();
    for (block, out) in rows.chunks(BLOCK_ROWS * stripe_len * STRIPES).zip(out.chunks_mut(BLOCK_ROWS)) {
        let num_rows = out.len();
        out.fill(0);
        for (stripe, bytes) in block.chunks_exact(num_rows * stripe_len).enumerate() {
            let sums = sums(&query.0, bytes, num_rows);
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out += u32::from(sum) << stripe);
        }
    }
}

/// The sums of a stripe of so many rows, 16 or fewer.
type StripeSums = fn(&[Tables], &[u8], usize) -> Sums;

fn chosen() -> StripeSums {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: avx2 was detected on this CPU just above.
        return |tables, stripe, num_rows| unsafe { avx2::stripe_sums(tables, stripe, num_rows) };
    }
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    {
        simd128::stripe_sums
    }
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    {
        plain_sums
    }
}

/// 16 bytes from `start` on; zeros where there are fewer.
#[inline]
fn column(stripe: &[u8], start: usize) -> [u8; BLOCK_ROWS] {
    if let Some(whole) = stripe.get(start..).and_then(|rest| rest.first_chunk()) {
        return *whole;
    }
    let mut column = [0; BLOCK_ROWS];
    let bytes = &stripe[start..stripe.len().min(start + BLOCK_ROWS)];
    column[..bytes.len()].copy_from_slice(bytes);
    column
}

/// What the other files of this module compute; bit after bit of all rows, which vectorises everywhere.
#[cfg_attr(all(target_arch = "wasm32", target_feature = "simd128"), allow(dead_code))]
fn plain_sums(tables: &[Tables], stripe: &[u8], num_rows: usize) -> Sums {
    let mut sums = [0; BLOCK_ROWS];
    for (pair, [low, next_low, high, next_high]) in tables.iter().enumerate() {
        for (byte, halves) in [[low, high], [next_low, next_high]].into_iter().enumerate() {
            let column = column(stripe, (2 * pair + byte) * num_rows);
            let mut of_byte = [0u8; BLOCK_ROWS];
            for bit in 0..8 {
                let level = halves[bit / 4][1 << (bit % 4)];
                for (sum, value) in of_byte.iter_mut().zip(column) {
                    *sum += (value >> bit & 1).wrapping_neg() & level;
                }
            }
            sums.iter_mut().zip(of_byte).for_each(|(sum, of_byte)| *sum += u16::from(of_byte));
        }
    }
    sums
}

/// Appends rows that lie one after another in blocks.
///
/// # Panics
/// If they are not whole rows.
pub fn append_blocks(rows: &[u8], row_len: usize, out: &mut Vec<u8>) {
    assert!(row_len > 0 && rows.len().is_multiple_of(row_len), "whole rows");
    for block in rows.chunks(BLOCK_ROWS * row_len) {
        (0..row_len).for_each(|at| out.extend(block.iter().skip(at).step_by(row_len)));
    }
}

/// Appends row `ix` of rows in blocks.
///
/// # Panics
/// If it is not there.
pub fn append_row(blocks: &[u8], row_len: usize, ix: usize, out: &mut Vec<u8>) {
    let start = ix / BLOCK_ROWS * BLOCK_ROWS * row_len;
    let block = &blocks[start..blocks.len().min(start + BLOCK_ROWS * row_len)];
    let num_rows = block.len() / row_len;
    assert!(ix % BLOCK_ROWS < num_rows, "row {ix} of {}", blocks.len() / row_len);
    out.extend(block.iter().skip(ix % BLOCK_ROWS).step_by(num_rows));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance::packed::{StripeQuery, stripe_dots};

    fn check<const STRIPES: usize>(levels: &[u8], rows: &[u8], len: usize) {
        let row_len = rows.len().checked_div(len).unwrap_or(0);
        let (mut expected, mut found, mut blocks) = (vec![0; len], vec![u32::MAX; len], Vec::new());
        stripe_dots::<STRIPES>(&StripeQuery::new(levels), rows, &mut expected);
        if row_len > 0 {
            append_blocks(rows, row_len, &mut blocks);
        }
        let query = BlockQuery::new(levels);
        block_dots::<STRIPES>(&query, &blocks, &mut found);
        assert_eq!(found, expected, "{} x {len}", levels.len());
        for (block, expected) in blocks.chunks(BLOCK_ROWS * row_len.max(1)).zip(expected.chunks(BLOCK_ROWS)) {
            let mut stripes = block.chunks_exact(expected.len() * query.stripe_len());
            let sums: Vec<Sums> = stripes.by_ref().map(|stripe| plain_sums(&query.0, stripe, expected.len())).collect();
            for (row, expected) in expected.iter().enumerate() {
                let sum: u32 = sums.iter().enumerate().map(|(stripe, sums)| u32::from(sums[row]) << stripe).sum();
                assert_eq!(sum, *expected, "{} x {len}, row {row}", levels.len());
            }
        }
        for (ix, row) in rows.chunks(row_len.max(1)).enumerate() {
            let mut found = Vec::new();
            append_row(&blocks, row_len, ix, &mut found);
            assert_eq!(found, row);
        }
    }

    #[test]
    fn rows_in_blocks_have_the_products_of_rows() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for dims in (0..=130usize).chain([300, 384, 768, 784, 1024, 1536, 4096]) {
            let levels: Vec<u8> = (0..dims).map(|_| random.u8(0..16)).collect();
            for len in [0, 1, 7, 15, 16, 17, random.usize(0..70)] {
                let bytes = |stripes: usize, random: &mut fastrand::Rng| -> Vec<u8> {
                    (0..len * dims.div_ceil(64) * 8 * stripes).map(|_| random.u8(..)).collect()
                };
                check::<1>(&levels, &bytes(1, &mut random), len);
                check::<2>(&levels, &bytes(2, &mut random), len);
            }
        }
        check::<2>(&[15; 4096], &[255; 1024 * 33], 33);
    }
}
