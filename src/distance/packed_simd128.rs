//! [`super`] for WebAssembly with fixed-width SIMD.

use std::arch::wasm32::*;

#[inline]
fn load(bytes: &[u8; 16]) -> v128 {
    // SAFETY: 16 bytes are readable behind the reference; v128_load needs no alignment.
    unsafe { v128_load(bytes.as_ptr().cast()) }
}

/// Bytes by halves of bytes: widened to 16 bits, multiplied and added in pairs.
pub(super) fn nibble_dots(query: &[u8], rows: &[u8], out: &mut [u32]) {
    let row_len = query.len() / 2;
    let (low, high) = query.split_at(row_len);
    let ((low, low_rest), (high, high_rest)) = (low.as_chunks::<16>(), high.as_chunks::<16>());
    let dots = |sum: v128, levels: v128, query: v128| {
        let near = i32x4_dot_i16x8(u16x8_extend_low_u8x16(levels), u16x8_extend_low_u8x16(query));
        let far = i32x4_dot_i16x8(u16x8_extend_high_u8x16(levels), u16x8_extend_high_u8x16(query));
        i32x4_add(i32x4_add(sum, near), far)
    };
    for (row, out) in rows.chunks_exact(row_len).zip(out) {
        let (row, rest) = row.as_chunks::<16>();
        let (mut of_low, mut of_high) = (i32x4_splat(0), i32x4_splat(0));
        for ((bytes, low), high) in row.iter().zip(low).zip(high) {
            let bytes = load(bytes);
            of_low = dots(of_low, v128_and(bytes, u8x16_splat(15)), load(low));
            of_high = dots(of_high, v128_and(u16x8_shr(bytes, 4), u8x16_splat(15)), load(high));
        }
        let sums = i32x4_add(of_low, of_high);
        let pair = i32x4_add(sums, i32x4_shuffle::<2, 3, 0, 1>(sums, sums));
        let sum = (i32x4_extract_lane::<0>(pair) + i32x4_extract_lane::<1>(pair)) as u32;
        let rest = rest.iter().zip(low_rest).zip(high_rest);
        let rest = rest.map(|((&byte, &low), &high)| {
            u32::from(byte & 15) * u32::from(low) + u32::from(byte >> 4) * u32::from(high)
        });
        *out = sum + rest.sum::<u32>();
    }
}
