//! The kernels of [`super::lanes`] for WebAssembly with fixed-width SIMD: four numbers make a register.

use std::arch::wasm32::*;

use super::lanes::{GROUP, Lanes, QUAD, Quad};

#[inline]
fn load(bytes: &[u8; 16]) -> v128 {
    // SAFETY: 16 bytes are readable behind the reference; v128_load needs no alignment.
    unsafe { v128_load(bytes.as_ptr().cast()) }
}

/// Hands the sixteen registers of 64 numbers over. There is no shift by lane: a product with a power of two brings all
/// numbers to bit 7.
#[inline]
fn each(lanes: &Lanes, packed: &[u8], mut visit: impl FnMut(usize, v128)) {
    let mask = u32x4_splat(lanes.mask);
    let factors = |quad: &Quad| {
        let [a, b, c, d] = quad.shifts.map(|shift| 1 << (7 - shift));
        u32x4(a, b, c, d)
    };
    let quads = lanes.quads.map(|quad| (load(&quad.bytes), factors(&quad)));
    for ix in 0..GROUP / QUAD {
        let (places, factors) = quads[ix % 2];
        let at = ix / 2 * lanes.width + ix % 2 * (lanes.width / 2);
        let Some(part) = packed.get(at..).and_then(|rest| rest.first_chunk::<16>()) else { return };
        let words = i32x4_mul(i8x16_swizzle(load(part), places), factors);
        visit(ix, v128_and(u32x4_shr(words, 7), mask));
    }
}

/// See [`Lanes::unpack`]; `packed` has all bytes that are looked at.
pub(super) fn unpack(lanes: &Lanes, packed: &[u8], values: &mut [u32; GROUP]) {
    let (rows, _) = values.as_chunks_mut::<QUAD>();
    each(lanes, packed, |ix, numbers| {
        // SAFETY: 16 bytes are writable behind the reference; v128_store needs no alignment.
        unsafe { v128_store(rows[ix].as_mut_ptr().cast(), numbers) }
    });
}

/// See [`Lanes::in_range`]; `packed` has all bytes that are looked at.
pub(super) fn in_range(lanes: &Lanes, packed: &[u8], from: u32, span: u32) -> u64 {
    let (from, span) = (u32x4_splat(from), u32x4_splat(span));
    let mut bits = 0;
    each(lanes, packed, |ix, numbers| {
        let is_in = u32x4_le(i32x4_sub(numbers, from), span);
        bits |= u64::from(i32x4_bitmask(is_in)) << (QUAD * ix);
    });
    bits
}
