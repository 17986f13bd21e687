//! [`super`] for x86-64 with AVX2: two bytes of 16 rows at a time.

use std::arch::x86_64::*;

use super::{BLOCK_ROWS, Sums, Tables, column};

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[[u8; 16]; 2]) -> __m256i {
    // SAFETY: 32 bytes are readable behind the reference; loadu needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// What two bytes of each row add, in the two halves.
#[inline]
#[target_feature(enable = "avx2")]
fn look_up([low, next_low, high, next_high]: &Tables, bytes: __m256i) -> __m256i {
    let halves = _mm256_set1_epi8(15);
    let lower = _mm256_shuffle_epi8(load(&[*low, *next_low]), _mm256_and_si256(bytes, halves));
    let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), halves);
    _mm256_add_epi8(lower, _mm256_shuffle_epi8(load(&[*high, *next_high]), upper))
}

/// See [`super::plain_sums`].
///
/// # Panics
/// If there are more than 16 rows, or the stripe is shorter than it should be.
#[target_feature(enable = "avx2")]
pub(super) fn stripe_sums(tables: &[Tables], stripe: &[u8], num_rows: usize) -> Sums {
    assert!(num_rows <= BLOCK_ROWS, "{num_rows} rows in a block");
    let (mut even, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    let low_bytes = _mm256_set1_epi16(255);
    // Four look-ups of 60 at most fit a byte. There is an even number of pairs, as rows are whole words.
    let mut add = |first: __m256i, second: __m256i| {
        let sums = _mm256_add_epi8(first, second);
        even = _mm256_add_epi16(even, _mm256_and_si256(sums, low_bytes));
        odd = _mm256_add_epi16(odd, _mm256_srli_epi16::<8>(sums));
    };
    let pairs = tables.as_chunks::<2>().0;
    if num_rows == BLOCK_ROWS {
        for ([first, second], [a, b, c, d]) in pairs.iter().zip(stripe.as_chunks().0.as_chunks().0) {
            add(look_up(first, load(&[*a, *b])), look_up(second, load(&[*c, *d])));
        }
    } else {
        for (ix, [first, second]) in pairs.iter().enumerate() {
            let column = |byte: usize| column(stripe, (4 * ix + byte) * num_rows);
            let of_second = look_up(second, load(&[column(2), column(3)]));
            add(look_up(first, load(&[column(0), column(1)])), of_second);
        }
    }
    let both = |sums| _mm_add_epi16(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    let (even, odd) = (both(even), both(odd));
    let mut sums = [0; BLOCK_ROWS];
    // SAFETY: 32 bytes are writable behind the reference; storeu needs no alignment.
    unsafe {
        _mm_storeu_si128(sums.as_mut_ptr().cast(), _mm_unpacklo_epi16(even, odd));
        _mm_storeu_si128(sums.as_mut_ptr().add(8).cast(), _mm_unpackhi_epi16(even, odd));
    }
    sums
}
