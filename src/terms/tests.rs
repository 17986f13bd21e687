//! A dictionary against an ordered map.

use std::collections::BTreeMap;

use super::*;

fn random_info(random: &mut fastrand::Rng, options: FieldOptions, start: u64) -> TermInfo {
    let doc_freq = if random.bool() { 1 } else { random.u32(2..100_000) };
    let extra = if options.freqs && random.bool() { random.u64(1..1000) } else { 0 };
    let mut info = TermInfo { doc_freq, total_term_freq: u64::from(doc_freq) + extra, start, ..TermInfo::default() };
    if doc_freq == 1 {
        info.singleton = Some(random.u32(0..1 << 31));
        if options.positions {
            match info.total_term_freq {
                1 => info.inline_position = Some(random.u32(..)),
                _ => info.positions_len = random.u64(1..100),
            }
        }
    } else {
        (info.docs_len, info.skip_len) = (random.u32(1..10_000), random.u32(0..500));
        if options.positions {
            info.positions_len = random.u64(1..1 << 40);
        }
    }
    info
}

fn build(map: &BTreeMap<Vec<u8>, TermInfo>, options: FieldOptions) -> (Vec<u8>, TermIndex, Vec<u8>) {
    let (mut terms, mut writer) = (Vec::new(), TermsWriter::new(options));
    map.iter().for_each(|(term, info)| writer.push(term, info, &mut terms).unwrap());
    let meta = writer.finish(FieldTotals { doc_count: 5, ..FieldTotals::default() }, 77, &mut terms);
    (terms, TermIndex::parse(&meta).unwrap(), meta)
}

fn slice(terms: &[u8], range: std::ops::Range<u64>) -> &[u8] {
    &terms[range.start as usize..range.end as usize]
}

#[test]
fn agrees_with_an_ordered_map() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..60 {
        let options = [FieldOptions::TEXT, FieldOptions::KEYWORD, FieldOptions::FREQS][round % 3];
        let alphabet = 1 + random.u8(1..6);
        let word = |random: &mut fastrand::Rng| -> Vec<u8> {
            let len = if random.u8(0..20) == 0 { random.usize(0..300) } else { random.usize(0..9) };
            (0..len).map(|_| b'a' + random.u8(0..alphabet) * 30 % 200).collect()
        };
        let keys: std::collections::BTreeSet<_> = (0..random.usize(0..400)).map(|_| word(&mut random)).collect();
        let (mut map, mut start) = (BTreeMap::new(), 1000);
        for key in keys {
            let info = random_info(&mut random, options, start);
            start += info.len_bytes();
            map.insert(key, info);
        }
        let (terms, index, _) = build(&map, options);
        assert_eq!(index.terms_len(), terms.len() as u64);
        assert_eq!(index.totals().num_terms, map.len() as u64);
        let mut cursor = TermCursor::new(options, &terms);
        for (term, info) in &map {
            assert!(cursor.advance().unwrap());
            assert_eq!((cursor.term(), cursor.info()), (term.as_slice(), info));
            let block = slice(&terms, index.locate(term).expect("present"));
            assert_eq!(find(options, block, term).unwrap(), Some(*info));
        }
        assert!(!cursor.advance().unwrap());
        let mut cursor = TermCursor::new(options, &terms);
        for (term, info) in &map {
            assert!(cursor.advance_key().unwrap());
            assert_eq!(cursor.term(), term.as_slice());
            if random.u8(0..4) == 0 {
                assert_eq!(cursor.read_info().unwrap(), info);
            }
        }
        for _ in 0..300 {
            let probe = word(&mut random);
            let found = index.locate(&probe).and_then(|range| find(options, slice(&terms, range), &probe).unwrap());
            assert_eq!(found.as_ref(), map.get(&probe), "{probe:?}");
        }
    }
}

#[test]
fn misses_outside_the_bounds_cost_nothing() {
    let map = [b"beta".to_vec(), b"delta".to_vec()].map(|term| (term, TermInfo::singleton(0))).into();
    let (_, index, _) = build(&map, FieldOptions::KEYWORD);
    assert_eq!(index.locate(b"alpha"), None);
    assert_eq!(index.locate(b"deltb"), None);
    let ranges = |prefix: &[u8]| {
        index
            .locate_pattern(&mut TermMatcher::new(&TermPattern::Prefix(prefix.to_vec())).unwrap(), 0, u64::MAX)
            .ranges
            .len()
    };
    assert_eq!((ranges(b"e"), ranges(b"a"), ranges(b"")), (0, 0, 1));
    let (_, empty, _) = build(&BTreeMap::new(), FieldOptions::TEXT);
    let mut all = TermMatcher::new(&TermPattern::Prefix(Vec::new())).unwrap();
    assert_eq!((empty.locate(b""), empty.locate_pattern(&mut all, 0, u64::MAX).ranges.len()), (None, 0));
}

#[test]
fn refuses_terms_out_of_order_and_too_long() {
    let mut writer = TermsWriter::new(FieldOptions::KEYWORD);
    let mut terms = Vec::new();
    writer.push(b"b", &TermInfo::singleton(1), &mut terms).unwrap();
    assert!(writer.push(b"a", &TermInfo::singleton(1), &mut terms).is_err());
    assert!(writer.push(b"b", &TermInfo::singleton(1), &mut terms).is_err());
    assert!(writer.push(&vec![b'c'; MAX_TERM_BYTES + 1], &TermInfo::singleton(1), &mut terms).is_err());
}

#[test]
fn damaged_bytes_never_panic() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut map = BTreeMap::new();
    let mut start = 0;
    for ix in 0..200 {
        let info = random_info(&mut random, FieldOptions::TEXT, start);
        start += info.len_bytes();
        map.insert(format!("term{ix:04}").into_bytes(), info);
    }
    let (terms, _, meta) = build(&map, FieldOptions::TEXT);
    for _ in 0..5_000 {
        let mut damaged = meta.clone();
        let at = random.usize(0..damaged.len());
        damaged[at] ^= 1 << random.u8(0..8);
        assert!(TermIndex::parse(&damaged).is_err());
        // With a right checksum over wrong bytes.
        let body = damaged.len() - 4;
        damaged.truncate(body);
        crate::codec::checksum::seal(&mut damaged, 0);
        if let Ok(index) = TermIndex::parse(&damaged) {
            let mut matcher = TermMatcher::new(&TermPattern::Prefix(b"term01".to_vec())).unwrap();
            let _ = (index.locate(b"term0100"), index.locate_pattern(&mut matcher, 0, u64::MAX));
        }
        let mut damaged = terms.clone();
        let at = random.usize(0..damaged.len());
        damaged[at] = random.u8(..);
        let _ = find(FieldOptions::TEXT, &damaged, b"term0020");
        let mut cursor = TermCursor::new(FieldOptions::TEXT, &damaged[..random.usize(0..damaged.len())]);
        while let Ok(true) = cursor.advance() {}
        let mut cursor = TermCursor::new(FieldOptions::TEXT, &damaged);
        while let Ok(true) = cursor.advance_key() {
            if random.bool() && cursor.read_info().is_err() {
                break;
            }
        }
    }
}
