//! The decoders of [`super::bitpack`] for WebAssembly with fixed-width SIMD.
//!
//! A loop over rows of four values with shifts that are known only at run time: it is as fast as one unrolled for
//! each width, and a hundredth of the code.

use std::arch::wasm32::*;

use super::bitpack::{BLOCK_LEN, LANES};

/// Values whose gaps are summed so far: the last one in all lanes, and what the lane adds to it for gaps minus one.
struct Sums(v128);

impl Sums {
    #[inline]
    fn new(base: u32) -> Self {
        Self(i32x4_add(u32x4_splat(base), u32x4(1, 2, 3, 4)))
    }

    /// Sums of a row of gaps.
    #[inline]
    fn add(&mut self, gaps: v128) -> v128 {
        let zero = u32x4_splat(0);
        let pairs = i32x4_add(gaps, i32x4_shuffle::<4, 0, 1, 2>(gaps, zero));
        let sums = i32x4_add(pairs, i32x4_shuffle::<4, 4, 0, 1>(pairs, zero));
        let out = i32x4_add(sums, self.0);
        let total = i32x4_add(i32x4_shuffle::<3, 3, 3, 3>(sums, sums), u32x4_splat(LANES as u32));
        self.0 = i32x4_add(self.0, total);
        out
    }
}

#[inline]
fn load(row: &[u8; 16]) -> v128 {
    // SAFETY: 16 bytes are readable behind the reference; v128_load needs no alignment.
    unsafe { v128_load(row.as_ptr().cast()) }
}

#[inline]
fn store(row: &mut [u32; LANES], values: v128) {
    // SAFETY: 16 bytes are writable behind the reference; v128_store needs no alignment.
    unsafe { v128_store(row.as_mut_ptr().cast(), values) }
}

/// Gives each row of a block of `bits` bits to `each`, with the row it goes to.
#[inline(always)]
fn each_row(packed: &[u8], bits: u8, values: &mut [u32; BLOCK_LEN], mut each: impl FnMut(&mut [u32; LANES], v128)) {
    let mut words = packed.as_chunks::<16>().0.iter().map(load);
    let bits = u32::from(bits);
    let mask = u32x4_splat(u32::MAX.checked_shr(32 - bits).unwrap_or(0));
    let mut word = words.next().unwrap_or(u32x4_splat(0));
    let mut shift = 0;
    for row in values.as_chunks_mut::<LANES>().0 {
        let mut value = u32x4_shr(word, shift);
        shift += bits;
        if shift >= 32 {
            shift -= 32;
            if let Some(next) = words.next() {
                word = next;
                if shift > 0 {
                    value = v128_or(value, u32x4_shl(word, bits - shift));
                }
            }
        }
        each(row, v128_and(value, mask));
    }
}

/// See [`super::bitpack::unpack_block`].
pub(super) fn unpack(packed: &[u8], bits: u8, values: &mut [u32; BLOCK_LEN]) {
    each_row(packed, bits, values, store);
}

/// Unpacks and sums up.
pub(super) fn unpack_sums(packed: &[u8], bits: u8, base: u32, values: &mut [u32; BLOCK_LEN]) {
    let mut sums = Sums::new(base);
    each_row(packed, bits, values, |row, gaps| store(row, sums.add(gaps)));
}

/// See [`super::bitpack::prefix_sum`].
pub(super) fn prefix_sum(base: u32, values: &mut [u32; BLOCK_LEN]) {
    let mut sums = Sums::new(base);
    for row in values.as_chunks_mut::<LANES>().0 {
        // SAFETY: 16 bytes are readable behind the reference; v128_load needs no alignment.
        let gaps = unsafe { v128_load(row.as_ptr().cast()) };
        store(row, sums.add(gaps));
    }
}
