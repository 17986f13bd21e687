//! Blocks of 128 documents, as each codec writes and reads them.
//!
//! ```text
//! fast:     u8     0: 128 documents in a row; 1–32: bits of packed gaps minus one; 0x80 | n: bit set of n 64-bit
//!                  words, bit 0 being the document after the last one of the block before
//!                  the packed gaps or the bit set (chosen where it takes at most 16 bytes more)
//! compact:  gaps minus one, PFOR
//! ```
//! Frequencies follow as PFOR in both; [`super::writer`] has the rest of a term.

use crate::codec::{
    DecodeError, PostingsCodec, Reader, Write,
    bitpack::{self, BLOCK_LEN},
    pfor,
};

/// First byte of a block with a bit set: this and the number of words.
pub(super) const BIT_SET: u8 = 0x80;

/// Appends the documents of a full block: `gaps` are the differences minus one, `span` that of the last document and
/// the one before the block.
pub(super) fn write(codec: PostingsCodec, gaps: &[u32; BLOCK_LEN], span: u32, out: &mut Vec<u8>) {
    if codec == PostingsCodec::Compact {
        pfor::write(gaps, out);
        return;
    }
    let bits = bitpack::width(gaps);
    let words = (span as usize).div_ceil(64);
    if bits == 0 {
        out.push(0);
    } else if words * 8 <= bitpack::packed_len(bits + 1) && words < usize::from(BIT_SET) {
        out.push(BIT_SET | words as u8);
        let mut set = [0u64; BIT_SET as usize];
        let mut at = 0;
        for (ix, gap) in gaps.iter().enumerate() {
            at += *gap as usize + usize::from(ix > 0);
            set[at / 64] |= 1 << (at % 64);
        }
        set[..words].iter().for_each(|word| out.put_u64(*word));
    } else {
        out.push(bits);
        bitpack::pack(gaps, bits, out);
    }
}

/// Reads the documents of a full block behind `base`, which is the last one before it. The reader stands behind them
/// then.
///
/// # Errors
/// If the bytes end or are no such block. That documents ascend is the caller's to check, by the last one.
#[inline]
pub(super) fn read(
    codec: PostingsCodec,
    reader: &mut Reader<'_>,
    base: u32,
    docs: &mut [u32; BLOCK_LEN],
) -> Result<(), DecodeError> {
    if codec == PostingsCodec::Compact {
        pfor::read(reader, docs)?;
    } else {
        let token = reader.u8()?;
        if token >= BIT_SET {
            let words = reader.bytes(usize::from(token - BIT_SET) * 8)?;
            return expand_bit_set(base, words, docs).ok_or_else(|| reader.invalid("bit set of another count"));
        }
        bitpack::unpack(reader.rest(), token, docs)?;
        reader.skip(bitpack::packed_len(token))?;
    }
    bitpack::prefix_sum(base, docs);
    Ok(())
}

/// Documents of a bit set whose bit 0 is `base + 1`; `None` if there are not exactly 128.
fn expand_bit_set(base: u32, words: &[u8], docs: &mut [u32; BLOCK_LEN]) -> Option<()> {
    let mut filled = 0;
    let mut first = base.wrapping_add(1);
    for word in words.as_chunks::<8>().0 {
        let mut word = u64::from_le_bytes(*word);
        while word != 0 {
            *docs.get_mut(filled)? = first.wrapping_add(word.trailing_zeros());
            filled += 1;
            word &= word - 1;
        }
        first = first.wrapping_add(64);
    }
    (filled == BLOCK_LEN).then_some(())
}
