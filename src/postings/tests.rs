//! Postings against plain lists.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use super::{writer::PostingsWriter, *};
use crate::{
    bitset::{BitSet, DocMap},
    codec::{PostingsCodec, Reader},
    ids::DocOrd,
    terms::{FieldOptions, TermIndex, TermInfo, find},
};

/// Documents of a term with their positions.
pub(super) type List = Vec<(u32, Vec<u32>)>;

const ALL_OPTIONS: [FieldOptions; 6] = [
    FieldOptions::TEXT,
    FieldOptions::FREQS,
    FieldOptions::KEYWORD,
    FieldOptions::TEXT.with_codec(PostingsCodec::Compact),
    FieldOptions::FREQS.with_codec(PostingsCodec::Compact),
    FieldOptions::KEYWORD.with_codec(PostingsCodec::Compact),
];

fn random_list(random: &mut fastrand::Rng, options: FieldOptions) -> List {
    let len = match random.u8(0..4) {
        0 => random.usize(1..4),
        1 => random.usize(1..300),
        2 => 128 * random.usize(1..70),
        _ => random.usize(1..12_000),
    };
    let gap = 1 << random.u32(0..10);
    let mut doc = random.u32(0..3);
    (0..len)
        .map(|_| {
            let here = doc;
            doc += if random.u8(0..8) == 0 { 1 + random.u32(0..gap) } else { 1 + random.u32(0..gap.min(3)) };
            let freq = if !options.freqs || random.bool() { 1 } else { random.usize(1..20) };
            let mut position = 0;
            let positions = (0..freq)
                .map(|_| {
                    position += random.u32(0..200);
                    position
                })
                .collect();
            (here, positions)
        })
        .collect()
}

fn norm_of(doc: u32) -> u8 {
    (doc.wrapping_mul(2_654_435_761) >> 25) as u8 + 1
}

fn write(writer: &mut PostingsWriter, options: FieldOptions, list: &List, out: &mut Vec<u8>) -> TermInfo {
    for (doc, positions) in list {
        writer.add_doc(*doc, positions.len() as u32, norm_of(*doc));
        if options.positions {
            positions.iter().for_each(|&position| writer.add_position(position, out));
        }
    }
    writer.finish_term(out).unwrap()
}

fn open(options: FieldOptions, info: &TermInfo, bytes: &[u8], max_doc: u32, damage: &Damage) -> Postings {
    let cut = |range: std::ops::Range<u64>| {
        let (start, end) = (range.start as usize, range.end as usize);
        Bytes::copy_from_slice(bytes.get(start..end).unwrap_or_default())
    };
    let positions = options.positions.then(|| cut(info.positions_range()));
    Postings::open(options, max_doc, info, TermBytes::whole(info, cut(info.docs_range()), positions), damage)
}

#[test]
fn next_gives_what_was_written() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for options in ALL_OPTIONS {
        let (mut writer, mut out) = (PostingsWriter::new(options), Vec::new());
        let lists: Vec<_> = (0..40).map(|_| random_list(&mut random, options)).collect();
        let infos: Vec<_> = lists.iter().map(|list| write(&mut writer, options, list, &mut out)).collect();
        assert_eq!(writer.len(), out.len() as u64);
        for (list, info) in lists.iter().zip(&infos) {
            let damage = Damage::default();
            let max_doc = list.last().unwrap().0 + 1;
            let mut postings = open(options, info, &out, max_doc, &damage);
            let mut found = Vec::new();
            for (doc, positions) in list {
                assert_eq!(postings.next(), *doc);
                assert_eq!(postings.freq(), positions.len() as u32);
                postings.positions(&mut found);
                if options.positions {
                    assert_eq!(&found, positions);
                }
            }
            assert_eq!((postings.next(), postings.next(), postings.advance(5)), (END, END, END));
            damage.check().unwrap();
        }
    }
}

#[test]
fn advance_agrees_with_next() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..150 {
        let options = ALL_OPTIONS[round % ALL_OPTIONS.len()];
        let list = random_list(&mut random, options);
        let (mut writer, mut out) = (PostingsWriter::new(options), Vec::new());
        let info = write(&mut writer, options, &list, &mut out);
        let last = list.last().unwrap().0;
        for _ in 0..4 {
            let damage = Damage::default();
            let mut postings = open(options, &info, &out, last + 1, &damage);
            let mut lookahead = postings.lookahead();
            let jump = 1 + last / random.u32(1..300).min(last + 1);
            let (mut target, mut found) = (random.u32(0..=jump), Vec::new());
            let (mut at, mut read) = (0, None);
            loop {
                while at < list.len() && list[at].0 < target {
                    at += 1;
                }
                if let Some(lookahead) = &mut lookahead
                    && random.u8(0..3) == 0
                {
                    let end = lookahead.seek(target);
                    assert!(end >= target || end == last);
                    check_impacts(&postings, lookahead, options, &list, end);
                }
                if random.u8(0..3) == 0 {
                    let is_there = list.get(at).is_some_and(|entry| entry.0 == target);
                    assert_eq!(postings.has(target), is_there, "target {target}");
                }
                let doc = postings.advance(target);
                let Some(expected) = list.get(at) else {
                    assert_eq!(doc, END);
                    break;
                };
                assert_eq!(doc, expected.0, "target {target}");
                assert_eq!(postings.doc(), doc);
                if read != Some(doc) && random.bool() {
                    read = Some(doc);
                    postings.positions(&mut found);
                    assert_eq!(found.as_slice(), if options.positions { expected.1.as_slice() } else { &[] });
                }
                assert_eq!(postings.freq(), expected.1.len() as u32);
                target = if random.u8(0..4) == 0 { doc + 1 } else { doc + random.u32(0..=jump) };
            }
            damage.check().unwrap();
        }
    }
}

/// No document of a block scores better than its impacts.
fn check_impacts(postings: &Postings, lookahead: &Lookahead, options: FieldOptions, list: &List, end: u32) {
    let from = lookahead.first_doc();
    let (mut block, mut term) = (Vec::new(), Vec::new());
    lookahead.impacts(|impact| block.push(impact));
    postings.term_impacts(|impact| term.push(impact));
    if !options.freqs || list.len() < 128 {
        assert!(term.is_empty());
        return;
    }
    let covers = |impacts: &[Impact], doc: u32, freq: u32| {
        impacts.iter().any(|impact| impact.freq >= freq && impact.norm <= norm_of(doc))
    };
    for (doc, positions) in list.iter().filter(|(doc, _)| (from..=end).contains(doc)) {
        assert!(covers(&block, *doc, positions.len() as u32) && covers(&term, *doc, positions.len() as u32));
    }
}

#[test]
fn draining_gives_every_document_once() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..60 {
        let options = ALL_OPTIONS[round % ALL_OPTIONS.len()];
        let list = random_list(&mut random, options);
        let (mut writer, mut out) = (PostingsWriter::new(options), Vec::new());
        let info = write(&mut writer, options, &list, &mut out);
        let last = list.last().unwrap().0;
        let damage = Damage::default();
        let mut postings = open(options, &info, &out, last + 1, &damage);
        let (mut found, mut skipped, mut end) = (Vec::new(), Vec::new(), 0);
        postings.next();
        while postings.doc() != END {
            end = (end + random.u32(0..500)).max(postings.doc());
            if random.bool() {
                // What is left of a block that was searched in place.
                let (at, target) = (postings.doc(), postings.doc() + random.u32(0..300));
                postings.advance(target);
                skipped.push((at, target));
            }
            while postings.doc() < end {
                let (docs, freqs) = postings.block_until(end);
                found.extend(docs.iter().copied().zip(freqs.iter().copied()));
                let count = docs.len();
                postings.consume(count);
            }
            assert!(postings.doc() >= end);
        }
        // Documents that were jumped over are missing: those below a target and at or above where it was asked from.
        let expected: Vec<_> = list
            .iter()
            .filter(|(doc, _)| !skipped.iter().any(|(at, target)| (at..target).contains(&doc)))
            .map(|(doc, positions)| (*doc, positions.len() as u32))
            .collect();
        assert_eq!(found, expected);
        let mut set = vec![0; last as usize / 64 + 1];
        open(options, &info, &out, last + 1, &damage).collect_into(&mut set);
        let bits = (0..=last).filter(|doc| set[*doc as usize / 64] >> (doc % 64) & 1 == 1);
        assert!(bits.eq(list.iter().map(|(doc, _)| *doc)));
        damage.check().unwrap();
    }
}

#[test]
fn damaged_bytes_never_panic() {
    let mut random = fastrand::Rng::with_seed(9);
    for round in 0..600 {
        let options = ALL_OPTIONS[round % ALL_OPTIONS.len()];
        let list = random_list(&mut random, options);
        let (mut writer, mut out) = (PostingsWriter::new(options), Vec::new());
        let mut info = write(&mut writer, options, &list, &mut out);
        for _ in 0..4 {
            if out.is_empty() {
                break;
            }
            let at = random.usize(0..out.len().min(200));
            out[at] = random.u8(..);
        }
        if random.u8(0..4) == 0 {
            info.doc_freq = random.u32(2..100_000);
        }
        let (damage, max_doc) = (Damage::default(), list.last().unwrap().0 + 1);
        let mut postings = open(options, &info, &out, max_doc, &damage);
        let mut positions: Vec<u32> = Vec::new();
        for _ in 0..200 {
            let doc = match random.u8(0..3) {
                0 => postings.next(),
                1 => postings.advance(random.u32(0..max_doc)),
                _ => {
                    if let Some(mut lookahead) = postings.lookahead() {
                        lookahead.seek(random.u32(0..max_doc));
                        lookahead.impacts(|_| ());
                    }
                    let (docs, _) = postings.block_until(max_doc);
                    assert!(docs.iter().all(|&doc| doc < max_doc));
                    let count = docs.len();
                    postings.consume(count)
                }
            };
            assert!(doc < max_doc || doc == END);
            if doc != END && random.u8(0..20) == 0 {
                postings.positions(&mut positions);
            }
        }
    }
}

#[test]
fn inverts_what_documents_say() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let analyzer = crate::analysis::Analyzer::find("standard").unwrap();
    let (mut inverter, mut expected) = (Inverter::new(FieldOptions::TEXT), BTreeMap::<String, List>::new());
    let mut lens = vec![0u32; 400];
    for doc in 0..400u32 {
        if random.u8(0..10) == 0 {
            continue;
        }
        let values: Vec<String> = (0..random.usize(0..3))
            .map(|_| (0..random.usize(0..40)).map(|_| format!("w{} ", random.u32(0..60) * random.u32(0..3))).collect())
            .collect();
        let mut base = 0;
        for value in &values {
            let tokens = analyzer.tokens(value);
            for token in &tokens {
                let list = expected.entry(token.term.clone()).or_default();
                if list.last().is_none_or(|(last, _)| *last != doc) {
                    list.push((doc, Vec::new()));
                }
                list.last_mut().unwrap().1.push(base + token.position);
                lens[doc as usize] += 1;
            }
            base += tokens.len() as u32 + crate::analysis::VALUE_GAP;
        }
        inverter.add_text(crate::ids::DocOrd(doc), &analyzer, &values).unwrap();
    }
    assert!(inverter.memory_bytes() > 0 && !inverter.is_empty());
    let (mut terms, mut postings) = (Vec::new(), Vec::new());
    let mut field = inverter.finish(400);
    while field.step(&mut terms, &mut postings).unwrap() {}
    let parts = field.finish(&mut terms);
    let norms: Vec<u8> = lens.iter().map(|&len| norms::encode(len)).collect();
    assert_eq!(parts.norms.unwrap(), norms);
    let index = TermIndex::parse(&parts.term_index).unwrap();
    assert_eq!(index.totals().doc_count, lens.iter().filter(|&&len| len > 0).count() as u64);
    assert_eq!(index.totals().sum_total_term_freq, lens.iter().map(|&len| u64::from(len)).sum::<u64>());
    assert_eq!(index.totals().num_terms, expected.len() as u64);
    assert_eq!(index.postings_len(), postings.len() as u64);
    for (term, list) in expected {
        let range = index.locate(term.as_bytes()).unwrap();
        let block = &terms[range.start as usize..range.end as usize];
        let info = find(index.options(), block, term.as_bytes()).unwrap().unwrap();
        let damage = Damage::default();
        let mut reader = open(index.options(), &info, &postings, 400, &damage);
        let mut positions = Vec::new();
        for (doc, expected) in list {
            assert_eq!(reader.next(), doc);
            reader.positions(&mut positions);
            assert_eq!(positions, expected);
        }
        assert_eq!(reader.next(), END);
    }
    assert!(Reader::new(&terms).vint().is_ok());
}

/// Streams of a field.
struct Built {
    terms: Vec<u8>,
    postings: Vec<u8>,
    parts: FieldParts,
}

fn build(docs: &[Option<String>], options: FieldOptions) -> Built {
    let analyzer = crate::analysis::Analyzer::find("standard").unwrap();
    let mut inverter = Inverter::new(options);
    for (doc, text) in docs.iter().enumerate() {
        let Some(text) = text else { continue };
        if options.freqs {
            inverter.add_text(DocOrd(doc as u32), &analyzer, &[text]).unwrap();
        } else {
            text.split(' ').for_each(|word| inverter.add_term(DocOrd(doc as u32), word.as_bytes()).unwrap());
        }
    }
    let (mut terms, mut postings) = (Vec::new(), Vec::new());
    let mut field = inverter.finish(docs.len() as u32);
    while field.step(&mut terms, &mut postings).unwrap() {}
    let parts = field.finish(&mut terms);
    Built { terms, postings, parts }
}

#[test]
fn a_merge_equals_a_rebuild() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..36 {
        let options = ALL_OPTIONS[round % ALL_OPTIONS.len()];
        let (mut all, mut sources, mut lives, mut codecs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..random.usize(1..5) {
            let docs: Vec<Option<String>> = (0..random.usize(0..700))
                .map(|_| {
                    let words = random.usize(0..30);
                    let word = |random: &mut fastrand::Rng| format!("w{}", random.u32(0..80) * random.u32(0..5));
                    let text: Vec<_> = (0..words).map(|_| word(&mut random)).collect();
                    (words > 0).then(|| text.join(" "))
                })
                .collect();
            let mut live = BitSet::full(docs.len() as u32);
            if random.bool() {
                (0..docs.len() as u32).filter(|_| random.u8(0..4) == 0).for_each(|doc| {
                    live.remove(doc);
                });
            }
            all.extend(
                docs.iter().enumerate().filter(|(doc, _)| live.contains(*doc as u32)).map(|(_, text)| text.clone()),
            );
            // Whatever the sources are encoded with, what comes out is the same.
            codecs.push(PostingsCodec::ALL[random.usize(0..2)]);
            sources.push(build(&docs, options.with_codec(codecs[codecs.len() - 1])));
            lives.push((docs.len() as u32, Some(Arc::new(live))));
        }
        let expected = build(&all, options);
        let map = Arc::new(DocMap::new(lives).unwrap());
        let mut norms = Vec::new();
        for (ord, source) in sources.iter().enumerate() {
            if let Some(bytes) = &source.parts.norms {
                let middle = bytes.len() / 2;
                merge_norms(&map, ord, 0, &bytes[..middle], &mut norms);
                merge_norms(&map, ord, middle as u32, &bytes[middle..], &mut norms);
            }
        }
        let norms = options.freqs.then_some(norms);
        assert_eq!(norms, expected.parts.norms);
        let open_index = |(source, codec): (&Built, &PostingsCodec)| {
            Some(Arc::new(TermIndex::parse(&source.parts.term_index).unwrap().with_codec(*codec)))
        };
        let indexes = sources.iter().zip(&codecs).map(open_index).collect();
        // The smallest window, so that large terms come in parts.
        let mut merger = FieldMerger::new(options, indexes, map, norms, 0).unwrap();
        let (mut terms, mut postings) = (Vec::new(), Vec::new());
        loop {
            match merger.step(&mut terms, &mut postings).unwrap() {
                MergeStep::Progress => {}
                MergeStep::Done => break,
                MergeStep::Wants => {
                    let bytes = merger.wanted().iter().map(|want| {
                        let source = &sources[want.source];
                        let stream = if want.stream == TextStream::Terms { &source.terms } else { &source.postings };
                        Bytes::copy_from_slice(&stream[want.range.start as usize..want.range.end as usize])
                    });
                    let bytes = bytes.collect();
                    merger.feed(bytes).unwrap();
                }
            }
        }
        let term_index = merger.finish(&mut terms);
        assert_eq!(postings, expected.postings);
        assert_eq!(terms, expected.terms);
        assert_eq!(term_index, expected.parts.term_index);
    }
}
