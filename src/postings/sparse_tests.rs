//! Terms of which only the blocks of a window of documents are there.

use std::ops::Range;

use bytes::Bytes;

use super::{writer::PostingsWriter, *};
use crate::{
    codec::DecodeError,
    terms::{FieldOptions, TermInfo},
};

const MAX_DOC: u32 = 60_000;

type List = Vec<(u32, Vec<u32>)>;

fn random_list(random: &mut fastrand::Rng) -> List {
    let (len, gap) = (random.usize(1..3_000), random.u32(1..20));
    let mut doc = 0;
    let mut list = Vec::new();
    for _ in 0..len {
        doc += random.u32(1..=gap);
        let mut position = random.u32(0..40);
        let freq = if random.u32(..4) == 0 { random.u32(1..200) } else { 1 };
        let positions = (0..freq).map(|_| {
            position += random.u32(1..9);
            position
        });
        list.push((doc, positions.collect()));
    }
    list
}

/// The blocks of a term that could hold documents of `window`, and nothing else.
fn cut(options: FieldOptions, info: &TermInfo, whole: &TermBytes, window: &Range<u32>) -> TermBytes {
    let damage = Damage::default();
    let (mut docs, mut positions) = (Runs::default(), Runs::default());
    let add = |docs: &mut Runs, positions: &mut Runs, at: Range<usize>, positions_at: Range<u64>| {
        docs.insert(at.start as u64, whole.docs.gather(at).unwrap());
        let all = whole.positions.as_ref().unwrap();
        positions
            .insert(positions_at.start, all.gather(positions_at.start as usize..positions_at.end as usize).unwrap());
    };
    match Postings::open(options, MAX_DOC, info, whole.clone(), &damage).lookahead() {
        None => add(&mut docs, &mut positions, 0..info.docs_len as usize, 0..info.positions_len),
        Some(mut lookahead) => {
            let mut last = lookahead.seek(window.start);
            loop {
                if lookahead.first_doc() >= window.end {
                    break;
                }
                add(&mut docs, &mut positions, lookahead.docs_range(), lookahead.positions_range(info.positions_len));
                if lookahead.is_last() || last >= window.end - 1 {
                    break;
                }
                last = lookahead.next_block();
            }
        }
    }
    damage.check().unwrap();
    TermBytes { skips: whole.skips.clone(), docs, positions: Some(positions) }
}

#[test]
fn blocks_of_a_window_are_enough_for_it() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..60 {
        let options = FieldOptions::TEXT;
        let list = random_list(&mut random);
        let (mut writer, mut out) = (PostingsWriter::new(options), Vec::new());
        for (doc, positions) in &list {
            writer.add_doc(*doc, positions.len() as u32, 1);
            positions.iter().for_each(|&position| writer.add_position(position, &mut out));
        }
        let info = writer.finish_term(&mut out).unwrap();
        let out = Bytes::from(out);
        let part = |range: Range<u64>| out.slice(range.start as usize..range.end as usize);
        let whole = TermBytes::whole(&info, part(info.docs_range()), Some(part(info.positions_range())));
        for _ in 0..8 {
            let start = random.u32(..MAX_DOC / 2);
            let window = start..start + random.u32(1..3_000);
            let expected: Vec<_> = list.iter().filter(|(doc, _)| window.contains(doc)).cloned().collect();
            let damage = Damage::default();
            let bytes = cut(options, &info, &whole, &window);
            let mut postings = Postings::open(options, MAX_DOC, &info, bytes.clone(), &damage);
            postings.set_end(window.end);
            let (mut found, mut positions) = (Vec::new(), Vec::new());
            let mut doc = postings.advance(window.start);
            while doc != END {
                positions.clear();
                postings.positions(&mut positions);
                found.push((doc, positions.clone()));
                doc = if random.bool() { postings.next() } else { postings.advance(doc + 1) };
            }
            damage.check().unwrap();
            assert_eq!(found, expected, "{window:?} of {} documents", list.len());
            if info.doc_freq < 256 || list[0].0 >= window.start {
                continue;
            }
            // What is not there is a fault, not an end.
            let first_block_end = list[127].0;
            if first_block_end < window.start {
                let mut postings = Postings::open(options, MAX_DOC, &info, bytes, &damage);
                assert_eq!(postings.next(), END);
                assert!(matches!(damage.check(), Err(DecodeError::NotRead { .. })));
            }
        }
    }
}
