//! The kernels of [`super::lanes`] for x86-64 with AVX2: eight numbers make a register.

use std::arch::x86_64::*;

use super::lanes::{GROUP, Lanes, Quad};

/// Numbers in a register.
const WIDE: usize = 8;

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: 16 bytes are readable behind the reference; loadu needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_shifts(low: &Quad, high: &Quad) -> __m256i {
    let [a, b, c, d] = low.shifts.map(|shift| shift as i32);
    let [e, f, g, h] = high.shifts.map(|shift| shift as i32);
    _mm256_setr_epi32(a, b, c, d, e, f, g, h)
}

/// Hands the eight registers of 64 numbers over.
#[inline]
#[target_feature(enable = "avx2")]
fn each(lanes: &Lanes, packed: &[u8], mut visit: impl FnMut(usize, __m256i)) {
    let [low, high] = &lanes.quads;
    let places = _mm256_set_m128i(load(&high.bytes), load(&low.bytes));
    let shifts = load_shifts(low, high);
    let mask = _mm256_set1_epi32(lanes.mask as i32);
    for ix in 0..GROUP / WIDE {
        let at = ix * lanes.width;
        let part = |at: usize| packed.get(at..).and_then(|rest| rest.first_chunk::<16>());
        let (Some(low), Some(high)) = (part(at), part(at + lanes.width / 2)) else { return };
        let words = _mm256_shuffle_epi8(_mm256_set_m128i(load(high), load(low)), places);
        visit(ix, _mm256_and_si256(_mm256_srlv_epi32(words, shifts), mask));
    }
}

/// See [`Lanes::unpack`]; `packed` has all bytes that are looked at.
#[target_feature(enable = "avx2")]
pub(super) fn unpack(lanes: &Lanes, packed: &[u8], values: &mut [u32; GROUP]) {
    let (rows, _) = values.as_chunks_mut::<WIDE>();
    each(lanes, packed, |ix, numbers| {
        // SAFETY: 32 bytes are writable behind the reference; storeu needs no alignment.
        unsafe { _mm256_storeu_si256(rows[ix].as_mut_ptr().cast(), numbers) }
    });
}

/// See [`Lanes::in_range`]; `packed` has all bytes that are looked at.
#[target_feature(enable = "avx2")]
pub(super) fn in_range(lanes: &Lanes, packed: &[u8], from: u32, span: u32) -> u64 {
    let (from, span) = (_mm256_set1_epi32(from as i32), _mm256_set1_epi32(span as i32));
    let mut bits = 0;
    each(lanes, packed, |ix, numbers| {
        let above = _mm256_sub_epi32(numbers, from);
        let is_in = _mm256_cmpeq_epi32(_mm256_max_epu32(above, span), span);
        let of_row = _mm256_movemask_ps(_mm256_castsi256_ps(is_in)) as u32;
        bits |= u64::from(of_row) << (WIDE * ix);
    });
    bits
}
