//! Integer products of packed codes, many rows per call: what quantized scoring consists of.
//!
//! The loops are written once, in a form compilers vectorise: integer sums may be reordered freely, so scalar and
//! vector code agree exactly. On x86-64 they are compiled a second time with AVX2 and POPCNT; on wasm `i64.popcnt`
//! is as fast as a vector one.

/// Integers whose stripes are combined with one row: the bits of a 4-bit query.
pub const QUERY_STRIPES: usize = 4;

/// Products of a 4-bit query with rows of `DOC_STRIPES` bits per component, each row `DOC_STRIPES` stripes of
/// `words` little-endian 64-bit words. `query` is [`QUERY_STRIPES`] stripes of `words`, low bits first.
///
/// # Panics
/// If a length does not fit; so do the other functions of this file.
pub fn stripe_dots<const DOC_STRIPES: usize>(query: &[u64], rows: &[u8], out: &mut [u32]) {
    let words = query.len() / QUERY_STRIPES;
    assert_eq!(query.len(), words * QUERY_STRIPES, "a query has {QUERY_STRIPES} stripes");
    assert_eq!(rows.len(), out.len() * words * DOC_STRIPES * 8, "rows of {DOC_STRIPES} stripes of {words} words");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("avx2") {
        // SAFETY: both features were detected on this CPU just above.
        unsafe { x86::stripe_dots::<DOC_STRIPES>(query, rows, out) };
        return;
    }
    stripe_body::<DOC_STRIPES>(query, rows, out);
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
    if is_x86_feature_detected!("avx2") {
        // SAFETY: avx2 was detected on this CPU just above.
        unsafe { x86::nibble_dots(query, rows, out) };
        return;
    }
    nibble_body(query, rows, out);
}

#[inline(always)]
fn stripe_body<const DOC_STRIPES: usize>(query: &[u64], rows: &[u8], out: &mut [u32]) {
    let words = query.len() / QUERY_STRIPES;
    if words == 0 {
        out.fill(0);
        return;
    }
    let stripes: [&[u64]; QUERY_STRIPES] = std::array::from_fn(|bit| &query[bit * words..(bit + 1) * words]);
    let (row_words, _) = rows.as_chunks::<8>();
    for (row, out) in row_words.chunks_exact(words * DOC_STRIPES).zip(out) {
        let mut sum = 0;
        for (doc_bit, doc_stripe) in row.chunks_exact(words).enumerate() {
            let mut counts = [0u32; QUERY_STRIPES];
            for (ix, word) in doc_stripe.iter().enumerate() {
                let word = u64::from_le_bytes(*word);
                for (count, stripe) in counts.iter_mut().zip(&stripes) {
                    *count += (word & stripe[ix]).count_ones();
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

/// The same loops for x86-64 with AVX2 and POPCNT.
#[cfg(target_arch = "x86_64")]
mod x86 {
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn stripe_dots<const DOC_STRIPES: usize>(query: &[u64], rows: &[u8], out: &mut [u32]) {
        super::stripe_body::<DOC_STRIPES>(query, rows, out);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn byte_dots(query: &[u8], rows: &[u8], out: &mut [u32]) {
        super::byte_body(query, rows, out);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn nibble_dots(query: &[u8], rows: &[u8], out: &mut [u32]) {
        super::nibble_body(query, rows, out);
    }
}
