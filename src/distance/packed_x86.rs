//! [`super`] for x86-64: with POPCNT, with AVX2, and with AVX-512 where it counts bits of 64-bit words.

use std::arch::x86_64::*;

use super::QUERY_BITS;

#[target_feature(enable = "popcnt")]
pub(super) fn stripe_dots<const DOC_STRIPES: usize>(query: &[[u64; QUERY_BITS]], rows: &[u8], out: &mut [u32]) {
    super::stripe_body::<DOC_STRIPES>(query, rows, out);
}

#[target_feature(enable = "avx2")]
pub(super) fn byte_dots(query: &[u8], rows: &[u8], out: &mut [u32]) {
    super::byte_body(query, rows, out);
}

/// Two words of a row meet all bits of the query at once; what each bit counts for is left to the end.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
pub(super) fn stripe_dots_wide<const DOC_STRIPES: usize>(query: &[[u64; QUERY_BITS]], rows: &[u8], out: &mut [u32]) {
    let spread = _mm512_set_epi64(1, 1, 1, 1, 0, 0, 0, 0);
    let weights = _mm512_set_epi64(3, 2, 1, 0, 3, 2, 1, 0);
    let row_len = query.len() * 8;
    let (pairs, last) = query.as_chunks::<2>();
    for (row, out) in rows.chunks_exact(row_len * DOC_STRIPES).zip(out) {
        let mut counts = [_mm512_setzero_si512(); DOC_STRIPES];
        for (counts, stripe) in counts.iter_mut().zip(row.chunks_exact(row_len)) {
            let (words, rest) = stripe.as_chunks::<16>();
            for (planes, words) in pairs.iter().zip(words) {
                // SAFETY: 64 and 16 bytes are readable behind the references; loadu needs no alignment.
                let (planes, words) =
                    unsafe { (_mm512_loadu_si512(planes.as_ptr().cast()), _mm_loadu_si128(words.as_ptr().cast())) };
                let words = _mm512_permutexvar_epi64(spread, _mm512_castsi128_si512(words));
                *counts = _mm512_add_epi64(*counts, _mm512_popcnt_epi64(_mm512_and_si512(words, planes)));
            }
            if let ([planes], [word]) = (last, rest.as_chunks::<8>().0) {
                // SAFETY: 32 bytes are readable behind the reference; loadu needs no alignment.
                let planes = _mm512_zextsi256_si512(unsafe { _mm256_loadu_si256(planes.as_ptr().cast()) });
                let word = _mm512_set1_epi64(i64::from_le_bytes(*word));
                *counts = _mm512_add_epi64(*counts, _mm512_popcnt_epi64(_mm512_and_si512(word, planes)));
            }
        }
        let sum = counts.into_iter().rev().reduce(|high, low| _mm512_add_epi64(_mm512_add_epi64(high, high), low));
        *out = sum.map_or(0, |sum| _mm512_reduce_add_epi64(_mm512_sllv_epi64(sum, weights)) as u32);
    }
}

/// Bytes by halves of bytes, pairs added in 16 bits: at most 2 x 2 x 255 x 15 with those of the other half.
#[target_feature(enable = "avx2")]
pub(super) fn nibble_dots(query: &[u8], rows: &[u8], out: &mut [u32]) {
    let row_len = query.len() / 2;
    let (low, high) = query.split_at(row_len);
    let ((low, low_rest), (high, high_rest)) = (low.as_chunks::<32>(), high.as_chunks::<32>());
    // SAFETY: 32 bytes are readable behind the reference; loadu needs no alignment.
    let load = |chunk: &[u8; 32]| unsafe { _mm256_loadu_si256(chunk.as_ptr().cast()) };
    let (halves, ones) = (_mm256_set1_epi8(15), _mm256_set1_epi16(1));
    for (row, out) in rows.chunks_exact(row_len).zip(out) {
        let (row, rest) = row.as_chunks::<32>();
        let mut sums = _mm256_setzero_si256();
        for ((bytes, low), high) in row.iter().zip(low).zip(high) {
            let bytes = load(bytes);
            let of_low = _mm256_maddubs_epi16(load(low), _mm256_and_si256(bytes, halves));
            let of_high = _mm256_maddubs_epi16(load(high), _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), halves));
            sums = _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_add_epi16(of_low, of_high), ones));
        }
        let quad = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let pair = _mm_add_epi32(quad, _mm_shuffle_epi32::<0b_01_00_11_10>(quad));
        let sum = _mm_cvtsi128_si32(_mm_add_epi32(pair, _mm_shuffle_epi32::<0b_10_11_00_01>(pair))) as u32;
        let rest = rest.iter().zip(low_rest).zip(high_rest);
        let rest = rest.map(|((&byte, &low), &high)| {
            u32::from(byte & 15) * u32::from(low) + u32::from(byte >> 4) * u32::from(high)
        });
        *out = sum + rest.sum::<u32>();
    }
}
