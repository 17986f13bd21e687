//! The decoders of [`super::bitpack`] for x86-64 with AVX2.
//!
//! Two rows of four values make a register. Everything about a width is known at compile time, so that a block is
//! straight-line code: load, shift, mask and store without dependencies; sums depend on one addition per register.

use std::arch::x86_64::*;

use super::bitpack::{BLOCK_LEN, LANES};

/// Values in a register.
const WIDE: usize = 2 * LANES;
/// Bytes of a packed row.
const ROW_BYTES: usize = 16;

/// Words that start at row `low` in the low half, at row `high` in the high one.
#[inline]
#[target_feature(enable = "avx2")]
fn load_rows(packed: &[[u8; ROW_BYTES]], low: usize, high: usize) -> __m256i {
    let (low, high) = (packed[low].as_ptr().cast(), packed[high].as_ptr().cast());
    // SAFETY: 16 bytes are readable behind each reference; loadu needs no alignment.
    let (low, high) = unsafe { (_mm_loadu_si128(low), _mm_loadu_si128(high)) };
    _mm256_set_m128i(high, low)
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves(low: i32, high: i32) -> __m256i {
    _mm256_set_epi32(high, high, high, high, low, low, low, low)
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(row: &mut [u32; WIDE], values: __m256i) {
    // SAFETY: 32 bytes are writable behind the reference; storeu needs no alignment.
    unsafe { _mm256_storeu_si256(row.as_mut_ptr().cast(), values) }
}

/// Values `8 * pair` and the seven behind it.
#[inline]
#[target_feature(enable = "avx2")]
fn values_at<const BITS: usize>(packed: &[[u8; ROW_BYTES]; BITS], pair: usize) -> __m256i {
    let (bit_low, bit_high) = (2 * pair * BITS, (2 * pair + 1) * BITS);
    let (word_low, word_high) = (bit_low / 32, bit_high / 32);
    let (shift_low, shift_high) = (bit_low % 32, bit_high % 32);
    let words = load_rows(packed, word_low, word_high);
    let mut values = _mm256_srlv_epi32(words, halves(shift_low as i32, shift_high as i32));
    let (crosses_low, crosses_high) = (shift_low + BITS > 32, shift_high + BITS > 32);
    if crosses_low || crosses_high {
        // A half that does not cross shifts its bits out: by 32 or more.
        let next = load_rows(packed, (word_low + 1).min(BITS - 1), (word_high + 1).min(BITS - 1));
        let left = |crosses: bool, shift: usize| if crosses { 32 - shift as i32 } else { 32 };
        let left = halves(left(crosses_low, shift_low), left(crosses_high, shift_high));
        values = _mm256_or_si256(values, _mm256_sllv_epi32(next, left));
    }
    if BITS == 32 { values } else { _mm256_and_si256(values, _mm256_set1_epi32(((1u64 << BITS) - 1) as i32)) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn rows<const BITS: usize>(packed: &[u8]) -> &[[u8; ROW_BYTES]; BITS] {
    packed.as_chunks().0.first_chunk().expect("the caller checked the length")
}

/// The last value in all lanes, and what each lane adds to it for gaps minus one.
#[inline]
#[target_feature(enable = "avx2")]
fn first_sums(base: u32) -> __m256i {
    _mm256_add_epi32(_mm256_set1_epi32(base as i32), _mm256_set_epi32(8, 7, 6, 5, 4, 3, 2, 1))
}

/// Sums of a register of gaps, given those before; and those for the next register.
#[inline]
#[target_feature(enable = "avx2")]
fn add_up(gaps: __m256i, before: __m256i) -> (__m256i, __m256i) {
    let pairs = _mm256_add_epi32(gaps, _mm256_slli_si256::<4>(gaps));
    let halves = _mm256_add_epi32(pairs, _mm256_slli_si256::<8>(pairs));
    // The total of the low half, in the high half.
    let totals = _mm256_shuffle_epi32::<0xff>(halves);
    let sums = _mm256_add_epi32(halves, _mm256_permute2x128_si256::<0x08>(totals, totals));
    let total = _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(WIDE as i32 - 1));
    let step = _mm256_add_epi32(total, _mm256_set1_epi32(WIDE as i32));
    (_mm256_add_epi32(sums, before), _mm256_add_epi32(before, step))
}

/// Repeats a statement for each register of a block, with its number known at compile time.
macro_rules! each_register {
    (|$pair:ident| $step:block) => {
        each_register!(@ $pair $step, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $pair:ident $step:block, $($number:literal)*) => {
        $({ const $pair: usize = $number; $step })*
    };
}

#[inline]
#[target_feature(enable = "avx2")]
fn unpack_width<const BITS: usize>(packed: &[u8], values: &mut [u32; BLOCK_LEN]) {
    let packed = rows::<BITS>(packed);
    let values = values.as_chunks_mut::<WIDE>().0;
    each_register!(|PAIR| { store(&mut values[PAIR], values_at(packed, PAIR)) });
}

#[inline]
#[target_feature(enable = "avx2")]
fn unpack_sums_width<const BITS: usize>(packed: &[u8], base: u32, values: &mut [u32; BLOCK_LEN]) {
    let packed = rows::<BITS>(packed);
    let values = values.as_chunks_mut::<WIDE>().0;
    let mut before = first_sums(base);
    each_register!(|PAIR| {
        let (sums, next) = add_up(values_at(packed, PAIR), before);
        store(&mut values[PAIR], sums);
        before = next;
    });
    let _ = before;
}

macro_rules! by_width {
    ($bits:expr, $function:ident $arguments:tt, $zero:expr) => {
        by_width!(@ $bits, $function $arguments, $zero,
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
    };
    (@ $bits:expr, $function:ident $arguments:tt, $zero:expr, $($width:literal)*) => {
        match $bits {
            0 => $zero,
            $($width => $function::<$width> $arguments,)*
            _ => unreachable!("the caller checked the width"),
        }
    };
}

/// See [`super::bitpack::unpack_block`].
#[target_feature(enable = "avx2")]
pub(super) fn unpack(packed: &[u8], bits: u8, values: &mut [u32; BLOCK_LEN]) {
    by_width!(bits, unpack_width(packed, values), values.fill(0));
}

/// Unpacks and sums up.
#[target_feature(enable = "avx2")]
pub(super) fn unpack_sums(packed: &[u8], bits: u8, base: u32, values: &mut [u32; BLOCK_LEN]) {
    by_width!(bits, unpack_sums_width(packed, base, values), {
        for (step, value) in (1..).zip(values.iter_mut()) {
            *value = base.wrapping_add(step);
        }
    });
}

/// See [`super::bitpack::prefix_sum`].
#[target_feature(enable = "avx2")]
pub(super) fn prefix_sum(base: u32, values: &mut [u32; BLOCK_LEN]) {
    let mut before = first_sums(base);
    for row in values.as_chunks_mut::<WIDE>().0 {
        // SAFETY: 32 bytes are readable behind the reference; loadu needs no alignment.
        let gaps = unsafe { _mm256_loadu_si256(row.as_ptr().cast()) };
        let (sums, next) = add_up(gaps, before);
        store(row, sums);
        before = next;
    }
}
