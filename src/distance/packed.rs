//! Integer products of packed codes, many rows per call: what quantized scoring consists of.
//!
//! Each loop is written once in a form compilers vectorise: integer sums may be reordered freely, so scalar and vector
//! code agree exactly. Where a compiler does not see what an instruction set can do, a file beside this one says it.

#[cfg(target_arch = "x86_64")]
#[path = "packed_x86.rs"]
mod x86;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[path = "packed_simd128.rs"]
mod simd128;

/// Bits of a component of a query for rows of stripes.
const QUERY_BITS: usize = 4;

/// A query of 4-bit levels, for rows of 1 or 2 bits: per 64 components a word of each of its bits, low bits first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StripeQuery(Vec<[u64; QUERY_BITS]>);

impl StripeQuery {
    /// The levels of all components, each below 16.
    pub fn new(levels: &[u8]) -> Self {
        let word =
            |chunk: &[u8], bit| chunk.iter().rev().fold(0, |word, level| word << 1 | u64::from(level >> bit & 1));
        Self(levels.chunks(64).map(|chunk| std::array::from_fn(|bit| word(chunk, bit))).collect())
    }

    /// Words per stripe of a row.
    pub fn words(&self) -> usize {
        self.0.len()
    }
}

/// Products of a 4-bit query with rows of `DOC_STRIPES` bits per component, each row `DOC_STRIPES` stripes of as many
/// little-endian 64-bit words as the query has.
///
/// # Panics
/// If a length does not fit; so do the other functions of this file.
pub fn stripe_dots<const DOC_STRIPES: usize>(query: &StripeQuery, rows: &[u8], out: &mut [u32]) {
    let words = query.words();
    assert_eq!(rows.len(), out.len() * words * DOC_STRIPES * 8, "rows of {DOC_STRIPES} stripes of {words} words");
    if words == 0 {
        out.fill(0);
        return;
    }
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
            // SAFETY: both features were detected on this CPU just above.
            unsafe { x86::stripe_dots_wide::<DOC_STRIPES>(&query.0, rows, out) };
            return;
        }
        if is_x86_feature_detected!("popcnt") {
            // SAFETY: popcnt was detected on this CPU just above.
            unsafe { x86::stripe_dots::<DOC_STRIPES>(&query.0, rows, out) };
            return;
        }
    }
    stripe_body::<DOC_STRIPES>(&query.0, rows, out);
}

/// Products of byte levels: `query` has one byte per component, padded with zeros to the length of a row.
pub fn byte_dots(query: &[u8], rows: &[u8], out: &mut [u32]) {
    assert_eq!(rows.len(), out.len() * query.len(), "rows as long as the query");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: avx2 was detected on this CPU just above.
        unsafe { x86::byte_dots(query, rows, out) };
        return;
    }
    byte_body(query, rows, out);
}

/// Products of 4-bit levels: a row's byte i holds component i in its low and component i + half in its high half.
/// `query` is one byte per component: those of the low halves, then those of the high ones, each padded with zeros
/// to the length of a row.
pub fn nibble_dots(query: &[u8], rows: &[u8], out: &mut [u32]) {
    assert_eq!(rows.len() * 2, out.len() * query.len(), "rows half as long as the query");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && !query.is_empty() {
        // SAFETY: avx2 was detected on this CPU just above.
        unsafe { x86::nibble_dots(query, rows, out) };
        return;
    }
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    if !query.is_empty() {
        simd128::nibble_dots(query, rows, out);
        return;
    }
    nibble_body(query, rows, out);
}

#[inline(always)]
fn stripe_body<const DOC_STRIPES: usize>(query: &[[u64; QUERY_BITS]], rows: &[u8], out: &mut [u32]) {
    let (row_words, _) = rows.as_chunks::<8>();
    for (row, out) in row_words.chunks_exact(query.len() * DOC_STRIPES).zip(out) {
        let mut sum = 0;
        for (doc_bit, doc_stripe) in row.chunks_exact(query.len()).enumerate() {
            let mut counts = [0u32; QUERY_BITS];
            for (word, planes) in doc_stripe.iter().zip(query) {
                let word = u64::from_le_bytes(*word);
                for (count, plane) in counts.iter_mut().zip(planes) {
                    *count += (word & plane).count_ones();
                }
            }
            let weighed = counts.iter().enumerate().map(|(bit, count)| count << bit).sum::<u32>();
            sum += weighed << doc_bit;
        }
        *out = sum;
    }
}

#[inline(always)]
fn byte_body(query: &[u8], rows: &[u8], out: &mut [u32]) {
    if query.is_empty() {
        out.fill(0);
        return;
    }
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        *out =
            row.iter().zip(query).map(|(&a, &b)| i32::from(i16::from(a)) * i32::from(i16::from(b))).sum::<i32>() as u32;
    }
}

#[inline(always)]
fn nibble_body(query: &[u8], rows: &[u8], out: &mut [u32]) {
    let row_len = query.len() / 2;
    if row_len == 0 {
        out.fill(0);
        return;
    }
    let (low, high) = query.split_at(row_len);
    for (row, out) in rows.chunks_exact(row_len).zip(out) {
        let mut sum = 0i32;
        for ((&byte, &low), &high) in row.iter().zip(low).zip(high) {
            sum += i32::from(i16::from(byte & 15)) * i32::from(i16::from(low))
                + i32::from(i16::from(byte >> 4)) * i32::from(i16::from(high));
        }
        *out = sum as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every compiled loop that this machine can run.
    fn stripe_loops<const DOC_STRIPES: usize>(query: &StripeQuery, rows: &[u8], len: usize) -> Vec<Vec<u32>> {
        let mut found = vec![vec![u32::MAX; len]; 2];
        stripe_dots::<DOC_STRIPES>(query, rows, &mut found[0]);
        if query.words() == 0 {
            found.truncate(1);
            return found;
        }
        stripe_body::<DOC_STRIPES>(&query.0, rows, &mut found[1]);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("popcnt") {
            let mut out = vec![u32::MAX; len];
            // SAFETY: popcnt was detected on this CPU just above.
            unsafe { x86::stripe_dots::<DOC_STRIPES>(&query.0, rows, &mut out) };
            found.push(out);
        }
        found
    }

    #[test]
    fn all_loops_find_the_same_products() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for dims in (0..=130).chain([300, 384, 768, 784, 1024, 1536, 4096]) {
            let levels: Vec<u8> = (0..dims).map(|_| random.u8(0..16)).collect();
            let query = StripeQuery::new(&levels);
            let (len, words) = (random.usize(0..40), query.words());
            let bits: Vec<Vec<u8>> = (0..len).map(|_| (0..dims).map(|_| random.u8(0..4)).collect()).collect();
            let stripe = |row: &[u8], bit: u8, out: &mut Vec<u8>| {
                let start = out.len();
                let byte = |eight: &[u8]| eight.iter().rev().fold(0, |byte, level| byte << 1 | (level >> bit & 1));
                out.extend(row.chunks(8).map(byte));
                out.resize(start + words * 8, 0);
            };
            let (mut one, mut two) = (Vec::new(), Vec::new());
            for row in &bits {
                stripe(row, 0, &mut one);
                (0..2).for_each(|bit| stripe(row, bit, &mut two));
            }
            let plain = |mask: u8| -> Vec<u32> {
                let term = |(&a, &b): (&u8, &u8)| u32::from(a & mask) * u32::from(b);
                bits.iter().map(|row| row.iter().zip(&levels).map(term).sum()).collect()
            };
            for (number, found) in stripe_loops::<1>(&query, &one, len).iter().enumerate() {
                assert_eq!(*found, plain(1), "{dims} x {len}, loop {number}");
            }
            for (number, found) in stripe_loops::<2>(&query, &two, len).iter().enumerate() {
                assert_eq!(*found, plain(3), "{dims} x {len}, loop {number}");
            }

            let bytes: Vec<u8> = (0..2 * dims).map(|_| random.u8(..)).collect();
            let rows: Vec<u8> = (0..len * dims).map(|_| random.u8(..)).collect();
            let (mut found, mut plain) = (vec![u32::MAX; len], vec![u32::MAX; len]);
            nibble_dots(&bytes, &rows, &mut found);
            nibble_body(&bytes, &rows, &mut plain);
            assert_eq!(found, plain, "{dims} x {len} nibbles");
            byte_dots(&bytes[..dims], &rows, &mut found);
            byte_body(&bytes[..dims], &rows, &mut plain);
            assert_eq!(found, plain, "{dims} x {len} bytes");
        }
        // The largest sums there are.
        let query = StripeQuery::new(&[15; 4096]);
        for found in stripe_loops::<2>(&query, &[255; 1024 * 17], 17) {
            assert_eq!(found, [4096 * 45; 17]);
        }
        let mut found = [0; 3];
        nibble_dots(&[255; 4096], &[255; 2048 * 3], &mut found);
        assert_eq!(found, [4096 * 255 * 15; 3]);
    }
}
