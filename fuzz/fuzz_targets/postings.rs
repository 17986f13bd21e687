//! Damaged postings end; no document at or beyond the segment's end is ever given.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use rangefind::{
    codec::PostingsCodec,
    postings::{Damage, END, Postings, TermBytes},
    terms::{FieldOptions, TermInfo},
};

const MAX_DOC: u32 = 5_000;

fuzz_target!(|data: &[u8]| {
    let Some((head, bytes)) = data.split_first_chunk::<8>() else { return };
    let codec = PostingsCodec::ALL[usize::from(head[0] >> 1 & 1)];
    let options = [FieldOptions::TEXT, FieldOptions::KEYWORD][usize::from(head[0] & 1)].with_codec(codec);
    let doc_freq = u32::from(u16::from_le_bytes([head[1], head[2]])) + 2;
    let skip_len = usize::from(u16::from_le_bytes([head[3], head[4]])).min(bytes.len());
    let docs_end = (skip_len + usize::from(u16::from_le_bytes([head[5], head[6]]))).min(bytes.len());
    let info = TermInfo {
        doc_freq,
        total_term_freq: u64::from(doc_freq) * 2,
        skip_len: skip_len as u32,
        docs_len: (docs_end - skip_len) as u32,
        positions_len: (bytes.len() - docs_end) as u64,
        ..TermInfo::default()
    };
    let (docs, positions) = (Bytes::copy_from_slice(&bytes[..docs_end]), Bytes::copy_from_slice(&bytes[docs_end..]));
    let damage = Damage::default();
    let mut postings =
        Postings::open(options, MAX_DOC, &info, TermBytes::whole(&info, docs.clone(), Some(positions)), &damage);
    if let Some(mut lookahead) = postings.lookahead() {
        while !lookahead.is_last() {
            lookahead.next_block();
            lookahead.impacts(|_| ());
        }
    }
    let (mut found, step) = (Vec::new(), u32::from(head[7]));
    let bytes = TermBytes::whole(&info, docs.clone(), None);
    let mut set = vec![0; MAX_DOC as usize / 64 + 1];
    Postings::open(options, MAX_DOC, &info, bytes, &Damage::default()).collect_into(&mut set);
    for turn in 0u32.. {
        let doc = match step {
            0 => postings.next(),
            // Blocks that were searched in place are decoded on the way.
            200.. if turn % 3 == 2 => {
                let count = postings.block_until(MAX_DOC).0.len();
                postings.consume(count.min(5))
            }
            step => postings.advance(postings_target(&postings, step)),
        };
        if doc == END {
            break;
        }
        assert!(doc < MAX_DOC);
        postings.positions(&mut found);
        if damage.check().is_err() {
            break;
        }
    }
});

fn postings_target(postings: &Postings, step: u32) -> u32 {
    if postings.doc() == END { 0 } else { postings.doc().saturating_add(step) }
}
