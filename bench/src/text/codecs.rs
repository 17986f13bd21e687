//! Both codecs of postings side by side: what each class of queries takes, what each stream takes, what a block takes
//! with and without SIMD.

use std::{array, hint::black_box, time::Instant};

use rangefind::codec::{
    PostingsCodec, Unpacker,
    bitpack::{self, BLOCK_LEN},
};

use super::{
    Class, Effort,
    ask::Ask,
    corpus::Corpus,
    engines::{Mode, Ours, STREAMS},
    geometric_mean,
};
use crate::report::{Row, percentile};

/// Blocks that are decoded in turns: more than a cache line predicts, less than the nearest cache holds.
const BLOCKS: usize = 32;
/// Widths that gaps and frequencies of real texts have.
const WIDTHS: std::ops::RangeInclusive<u8> = 1..=16;

/// Classes that the text suite shows of both codecs.
const SHOWN: &[&str] = &[
    "HighTerm",
    "AndHighHigh",
    "AndHighMed",
    "AndHighLow",
    "OrHighHigh",
    "OrHighMed",
    "OrHighLow",
    "HighPhrase",
    "MedPhrase",
    "LowPhrase",
    "SloppyPhrase",
    "Prefix3",
    "Union",
    "Intersection",
    "AolPhrase",
];

/// The compact codec beside an engine that was made before with the fast one: the ten best of some classes, sizes, and
/// what decoding a block takes.
///
/// # Panics
/// At the first query that the codecs answer differently.
pub fn beside(corpus: &Corpus, fast: &Ours, classes: &[Class], effort: Effort) -> Vec<Row> {
    let compact = Ours::build_with(corpus, PostingsCodec::Compact);
    let shown = classes.iter().filter(|class| SHOWN.contains(&class.name.as_str()));
    let mut rows: Vec<Row> = shown.map(|class| side_by_side(class, fast, &compact, effort)).collect();
    if !rows.is_empty() {
        let mean = geometric_mean(rows.iter().filter_map(|row| row.ratio));
        let note = format!("geometric mean over {} classes of the ratio of mean times", rows.len());
        rows.insert(0, Row::larger_is_better("codec-fast-vs-compact", mean, "x", "equal", 1.0).note(note));
    }
    rows.extend(sizes(fast, &compact, corpus.len()));
    rows.extend(blocks());
    rows
}

fn side_by_side(class: &Class, fast: &Ours, compact: &Ours, effort: Effort) -> Row {
    let (mode, queries) = (Mode::Top(10), class.asks.iter().map(Ask::ours).collect::<Vec<_>>());
    let mut times = [const { Vec::new() }; 2];
    for query in &queries {
        for mode in [mode, Mode::Count] {
            assert_eq!(fast.run(query, mode), compact.run(query, mode), "{} of {query:?}", mode.name());
        }
        let mut of_query = [const { Vec::new() }; 2];
        for _ in 0..if effort == Effort::Quick { 3 } else { 7 } {
            for (engine, times) in [fast, compact].into_iter().zip(&mut of_query) {
                let started = Instant::now();
                black_box(engine.run(query, mode));
                times.push(started.elapsed().as_secs_f64() * 1e6);
            }
        }
        times.iter_mut().zip(&of_query).for_each(|(all, of_query)| all.push(percentile(of_query, 50.0)));
    }
    let [ours, peer] = times.map(|times| times.iter().sum::<f64>() / times.len() as f64);
    let key = format!("codec-fast-vs-compact-{}", class.name);
    Row::smaller_is_better(&key, ours, "us", "compact", peer).note(format!(
        "{} queries, {}, the same answers; {:.0} and {:.0} queries/s",
        queries.len(),
        mode.name(),
        1e6 / ours,
        1e6 / peer
    ))
}

fn sizes(fast: &Ours, compact: &Ours, docs: usize) -> Vec<Row> {
    let row = |key: &str, name: &str, [ours, peer]: [u64; 2]| {
        let note = format!("{name} of {docs} documents; fast {ours} bytes, compact {peer}");
        Row::smaller_is_better(key, ours as f64 / 1e6, "MB", "compact", peer as f64 / 1e6).note(note)
    };
    let all = [fast, compact].map(|one| one.bytes.iter().sum());
    let mut rows = vec![row("codec-size", "the text field", all)];
    for (stream, name) in STREAMS.iter().enumerate() {
        let of_stream = [fast, compact].map(|one| one.stream_bytes[stream]);
        rows.push(row(&format!("codec-size-{}", name.replace(' ', "-")), name, of_stream));
    }
    rows
}

/// Times of a block of 128, without SIMD and with what this machine has.
fn blocks() -> Vec<Row> {
    let mut random = fastrand::Rng::with_seed(1);
    let packed: Vec<(u8, Vec<Vec<u8>>)> = WIDTHS
        .map(|bits| {
            let one = |_| {
                let values: [u32; BLOCK_LEN] = array::from_fn(|_| random.u32(..1 << bits));
                let mut packed = Vec::new();
                bitpack::pack(&values, bits, &mut packed);
                packed
            };
            (bits, (0..BLOCKS).map(one).collect())
        })
        .collect();
    let time = |decode: &dyn Fn(&[u8], u8, &mut [u32; BLOCK_LEN])| {
        let mut out = [0; BLOCK_LEN];
        let mut nanos = || {
            let started = Instant::now();
            for (bits, blocks) in &packed {
                blocks.iter().for_each(|block| decode(black_box(block), *bits, black_box(&mut out)));
            }
            started.elapsed().as_secs_f64() * 1e9 / (packed.len() * BLOCKS) as f64
        };
        percentile(&(0..201).map(|_| nanos()).collect::<Vec<_>>(), 50.0)
    };
    let row = |key: &str, decode: fn(Unpacker, &[u8], u8, &mut [u32; BLOCK_LEN])| {
        let [ours, peer] = [Unpacker::detect(), Unpacker::scalar()]
            .map(|unpacker| time(&|block, bits, out| decode(unpacker, block, bits, out)));
        Row::smaller_is_better(key, ours, "ns", "scalar", peer)
            .goal(1.1)
            .note(format!("a block of 128, mean over widths {WIDTHS:?}; {:?}", Unpacker::detect()))
    };
    vec![
        row("codec-unpack", |unpacker, block, bits, out| unpacker.unpack(block, bits, out).expect("a whole block")),
        row("codec-unpack-sums", |unpacker, block, bits, out| {
            unpacker.unpack_sums(block, bits, 7, out).expect("a whole block");
        }),
    ]
}
