//! [`super`] for WebAssembly with fixed-width SIMD: a byte of 16 rows at a time.

use std::arch::wasm32::*;

use super::{BLOCK_ROWS, Sums, Tables, column};

#[inline]
fn load(bytes: &[u8; 16]) -> v128 {
    // SAFETY: 16 bytes are readable behind the reference; v128_load needs no alignment.
    unsafe { v128_load(bytes.as_ptr().cast()) }
}

/// What a byte of each row adds.
#[inline]
fn look_up(low: &[u8; 16], high: &[u8; 16], bytes: v128) -> v128 {
    let lower = u8x16_swizzle(load(low), v128_and(bytes, u8x16_splat(15)));
    let upper = u8x16_swizzle(load(high), v128_and(u16x8_shr(bytes, 4), u8x16_splat(15)));
    u8x16_add(lower, upper)
}

/// See [`super::plain_sums`].
pub(super) fn stripe_sums(tables: &[Tables], stripe: &[u8], num_rows: usize) -> Sums {
    let mut totals = Totals { even: u16x8_splat(0), odd: u16x8_splat(0) };
    if num_rows == BLOCK_ROWS {
        for (tables, [first, second]) in tables.iter().zip(stripe.as_chunks().0.as_chunks().0) {
            totals.add(tables, load(first), load(second));
        }
    } else {
        for (pair, tables) in tables.iter().enumerate() {
            let start = 2 * pair * num_rows;
            totals.add(tables, load(&column(stripe, start)), load(&column(stripe, start + num_rows)));
        }
    }
    let Totals { even, odd } = totals;
    let mut sums = [0; BLOCK_ROWS];
    // SAFETY: 32 bytes are writable behind the reference; v128_store needs no alignment.
    unsafe {
        v128_store(sums.as_mut_ptr().cast(), u16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(even, odd));
        v128_store(sums.as_mut_ptr().add(8).cast(), u16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(even, odd));
    }
    sums
}

/// Sums of even and of odd rows.
struct Totals {
    even: v128,
    odd: v128,
}

impl Totals {
    /// Adds two bytes of each row: four look-ups of 60 at most fit a byte.
    #[inline]
    fn add(&mut self, [low, next_low, high, next_high]: &Tables, first: v128, second: v128) {
        let sums = u8x16_add(look_up(low, high, first), look_up(next_low, next_high, second));
        self.even = u16x8_add(self.even, v128_and(sums, u16x8_splat(255)));
        self.odd = u16x8_add(self.odd, u16x8_shr(sums, 8));
    }
}
