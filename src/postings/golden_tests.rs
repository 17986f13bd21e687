//! Bytes of both codecs as they are for good: in `tests/data/codec`, one file per codec and kind of field.
//!
//! `WRITE_GOLDEN=1 cargo test writes_golden_bytes -- --ignored` writes the files that are not there yet; one that is
//! there is never written anew.
//!
//! ```text
//! u32 bytes of the postings stream, the stream; u32 bytes of the terms stream, the stream; the term_index stream
//! ```

use std::{fs, path::PathBuf};

use bytes::Bytes;

use super::{tests::List, writer::PostingsWriter, *};
use crate::{
    codec::{PostingsCodec, Reader, Write},
    terms::{FieldOptions, FieldTotals, TermIndex, TermsWriter, find},
};

const KINDS: [(&str, FieldOptions); 3] =
    [("text", FieldOptions::TEXT), ("freqs", FieldOptions::FREQS), ("keyword", FieldOptions::KEYWORD)];

/// Numbers that no library changes (Knuth, "The Art of Computer Programming" 2, 3.3.4: MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(end)) as u32
    }
}

/// Lists for each thing that a codec can do, with the documents' positions.
fn lists(options: FieldOptions) -> Vec<(&'static str, List)> {
    let mut numbers = Numbers(42);
    let mut list = |count: usize, gap: u32, rare_gap: u32, max_freq: u32| -> List {
        let mut doc = numbers.below(5);
        let mut one = || {
            let here = doc;
            doc += 1 + if numbers.below(40) == 0 { numbers.below(rare_gap) } else { numbers.below(gap) };
            let freq = if options.freqs { 1 + numbers.below(max_freq) } else { 1 };
            let mut position = 0;
            let positions = (0..freq).map(|_| {
                let gap = if numbers.below(50) == 0 { 9_000 } else { 40 };
                position += numbers.below(gap);
                position
            });
            (here, positions.collect())
        };
        (0..count).map(|_| one()).collect()
    };
    vec![
        ("bits", list(700, 4, 9, 3)),
        ("block", list(128, 900, 5_000, 9)),
        ("groups", list(128 * 33 + 5, 3, 300, 2)),
        ("outliers", list(300, 30, 60_000, 2)),
        ("packed", list(1_000, 700, 900, 40)),
        ("row", list(256, 1, 1, 1)),
        ("singleton", list(1, 1, 1, 5)),
        ("singleton once", list(1, 1, 1, 1)),
        ("tail", vec![(7, vec![3]), (11, if options.freqs { vec![0, 1, 90] } else { vec![0] })]),
        ("tail of a hundred", list(100, 50, 3_000, 4)),
    ]
}

fn norm_of(doc: u32) -> u8 {
    (doc % 97) as u8 + 1
}

fn encode(options: FieldOptions) -> Vec<u8> {
    let (mut writer, mut terms_writer) = (PostingsWriter::new(options), TermsWriter::new(options));
    let (mut postings, mut terms) = (Vec::new(), Vec::new());
    for (name, list) in lists(options) {
        for (doc, positions) in &list {
            writer.add_doc(*doc, positions.len() as u32, norm_of(*doc));
            if options.positions {
                positions.iter().for_each(|&position| writer.add_position(position, &mut postings));
            }
        }
        let info = writer.finish_term(&mut postings).unwrap();
        terms_writer.push(name.as_bytes(), &info, &mut terms).unwrap();
    }
    let index = terms_writer.finish(FieldTotals::default(), writer.len(), &mut terms);
    let mut out = Vec::new();
    for stream in [postings, terms] {
        out.put_u32(stream.len() as u32);
        out.put(&stream);
    }
    out.put(&index);
    out
}

fn each_file(mut each: impl FnMut(PathBuf, FieldOptions)) {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/codec");
    for codec in PostingsCodec::ALL {
        for (kind, options) in KINDS {
            each(directory.join(format!("{}-{kind}.bin", codec.name())), options.with_codec(codec));
        }
    }
}

#[test]
#[ignore = "writes files"]
fn writes_golden_bytes() {
    assert!(std::env::var("WRITE_GOLDEN").is_ok(), "WRITE_GOLDEN=1 says that this is meant");
    each_file(|path, options| {
        if !path.exists() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, encode(options)).unwrap();
        }
    });
}

#[test]
fn encoding_gives_the_golden_bytes() {
    each_file(|path, options| {
        assert!(fs::read(&path).unwrap() == encode(options), "{} is written differently now", path.display());
    });
}

#[test]
fn golden_bytes_decode_to_their_values() {
    each_file(|path, options| {
        let what = path.display();
        let bytes = fs::read(&path).unwrap();
        let mut reader = Reader::new(&bytes);
        let mut stream = || {
            let len = reader.u32().unwrap() as usize;
            reader.bytes(len).unwrap()
        };
        let (postings, terms) = (stream(), stream());
        let index = TermIndex::parse(reader.rest()).unwrap().with_codec(options.codec);
        for (name, list) in lists(options) {
            let range = index.locate(name.as_bytes()).unwrap();
            let block = &terms[range.start as usize..range.end as usize];
            let info = find(index.options(), block, name.as_bytes()).unwrap().unwrap();
            let cut = |range: std::ops::Range<u64>| {
                Bytes::copy_from_slice(&postings[range.start as usize..range.end as usize])
            };
            let positions = options.positions.then(|| cut(info.positions_range()));
            let bytes = TermBytes::whole(&info, cut(info.docs_range()), positions);
            let (damage, mut found) = (Damage::default(), Vec::new());
            let mut reader = Postings::open(index.options(), list.last().unwrap().0 + 1, &info, bytes, &damage);
            for (doc, positions) in &list {
                assert_eq!((reader.next(), reader.freq()), (*doc, positions.len() as u32), "{what}, {name}");
                reader.positions(&mut found);
                assert!(!options.positions || found == *positions, "{what}, {name}, document {doc}");
            }
            assert_eq!(reader.next(), END, "{what}, {name}");
            damage.check().unwrap();
        }
    });
}
