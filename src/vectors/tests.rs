//! The structures against plain Rust: sort all scores, rebuild instead of merge; damaged bytes are errors.

use std::sync::Arc;

use super::*;
use crate::{
    bitset::{BitSet, DocMap},
    ids::DocOrd,
    schema::{Metric, VectorOptions},
    topk::{Scored, compare},
};

/// Vectors of each document.
type Docs = Vec<Vec<Vec<f32>>>;

fn options(dims: u32, metric: Metric) -> VectorOptions {
    VectorOptions::new(dims, metric)
}

fn random_vector(rng: &mut fastrand::Rng, dims: u32) -> Vec<f32> {
    match rng.u8(0..10) {
        0 => vec![0.0; dims as usize],
        1 => vec![0.5; dims as usize],
        _ => (0..dims).map(|_| rng.f32() * 2.0 - 1.0).collect(),
    }
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Dense,
    Sparse,
    Multi,
}

const SHAPES: [Shape; 3] = [Shape::Dense, Shape::Sparse, Shape::Multi];
const METRICS: [Metric; 3] = [Metric::Cosine, Metric::Dot, Metric::L2];

fn random_docs(rng: &mut fastrand::Rng, shape: Shape, num_docs: usize, dims: u32) -> Docs {
    (0..num_docs)
        .map(|_| {
            let count = match shape {
                Shape::Dense => 1,
                Shape::Sparse => rng.usize(0..2),
                Shape::Multi => rng.usize(0..5),
            };
            (0..count).map(|_| random_vector(rng, dims)).collect()
        })
        .collect()
}

struct Streams {
    rows: Vec<u8>,
    meta: Vec<u8>,
}

impl Streams {
    fn write(options: &VectorOptions, docs: &Docs) -> Self {
        let mut writer = VectorsWriter::new(options.clone());
        for (doc, vectors) in docs.iter().enumerate().filter(|(_, vectors)| !vectors.is_empty()) {
            writer.add(DocOrd(doc as u32), &vectors.concat()).expect("finite vectors of the right dimension");
        }
        assert_eq!(writer.count() as usize, docs.iter().map(Vec::len).sum::<usize>());
        let (mut rows, mut meta) = (Vec::new(), Vec::new());
        let mut chunks = writer.finish(docs.len() as u32, &mut meta);
        while chunks.append_next(&mut rows) {}
        assert_eq!(chunks.remaining_bytes(), 0);
        Self { rows, meta }
    }

    fn open(&self) -> VectorsReader {
        VectorsReader::parse(&self.meta, self.rows.len() as u64).expect("just written")
    }

    fn bytes(&self, range: &std::ops::Range<u64>) -> &[u8] {
        &self.rows[range.start as usize..range.end as usize]
    }
}

/// Similarity by double-precision sums, then the score; the best vector of each accepted document.
fn by_sorting(docs: &Docs, accept: Option<&BitSet>, query: &[f32], metric: Metric, k: usize) -> Vec<Scored<DocOrd>> {
    let sum = |a: &[f32], b: &[f32], term: fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b).map(|(&a, &b)| term(a.into(), b.into())).sum()
    };
    let dot = |a: &[f32], b: &[f32]| sum(a, b, |a, b| a * b);
    let score = |vector: &Vec<f32>| match metric {
        Metric::Dot => (1.0 + dot(query, vector)) / 2.0,
        Metric::L2 => 1.0 / (1.0 + sum(query, vector, |a, b| (a - b) * (a - b))),
        Metric::Cosine => {
            let length = (dot(query, query) * dot(vector, vector)).sqrt();
            if length == 0.0 { 0.5 } else { (1.0 + dot(query, vector) / length) / 2.0 }
        }
    };
    let mut all: Vec<Scored<DocOrd>> = docs
        .iter()
        .enumerate()
        .filter(|(doc, _)| accept.is_none_or(|accept| accept.contains(*doc as u32)))
        .filter_map(|(doc, vectors)| {
            let best = vectors.iter().map(score).reduce(f64::max)?;
            Some(Scored { score: best as f32, ord: DocOrd(doc as u32) })
        })
        .collect();
    all.sort_by(compare);
    all.truncate(k);
    all
}

/// Same length, same scores within rounding. Documents may swap where their scores are that close.
#[track_caller]
fn assert_same_ranking(found: &[Scored<DocOrd>], expected: &[Scored<DocOrd>]) {
    assert_eq!(found.len(), expected.len());
    for (rank, (found, expected)) in found.iter().zip(expected).enumerate() {
        let bound = 1e-5 * (1.0 + expected.score.abs());
        assert!((found.score - expected.score).abs() <= bound, "rank {rank}: {found:?}, expected {expected:?}");
    }
}

#[test]
#[should_panic(expected = "rank 1")]
fn a_wrong_ranking_fails() {
    let hit = |score, doc| Scored { score, ord: DocOrd(doc) };
    assert_same_ranking(&[hit(1.0, 0), hit(0.5, 1)], &[hit(1.0, 0), hit(0.6, 1)]);
}

fn scan(
    streams: &Streams,
    reader: &VectorsReader,
    queries: &[Vec<f32>],
    accept: Option<&BitSet>,
    k: usize,
) -> Vec<Vec<Scored<DocOrd>>> {
    let windows = WindowOptions { window_bytes: 700, gap_bytes: 100 };
    let prepared = queries.iter().map(|query| VectorQuery::new(reader.options(), query.clone()).unwrap()).collect();
    let mut scan = FlatScan::new(reader, prepared, k);
    let mut matched = 0;
    for window in reader.windows(accept, &windows) {
        assert!(window.bytes.end - window.bytes.start <= windows.window_bytes.max(reader.stride_bytes() as u64));
        scan.feed(&window, streams.bytes(&window.bytes), accept, Verify::Unseen).unwrap();
        assert!(scan.num_matched() >= matched);
        matched = scan.num_matched();
    }
    let expected = (0..reader.max_doc())
        .filter(|&doc| !reader.ords_of(DocOrd(doc)).is_empty() && accept.is_none_or(|accept| accept.contains(doc)));
    assert_eq!(matched, expected.count() as u64);
    scan.finish()
}

#[test]
fn scans_agree_with_sorting_all_scores() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for metric in METRICS {
        for shape in SHAPES {
            for _ in 0..8 {
                let (dims, num_docs) = (rng.u32(1..40), rng.usize(0..400));
                let docs = random_docs(&mut rng, shape, num_docs, dims);
                let streams = Streams::write(&options(dims, metric), &docs);
                let reader = streams.open();
                let density = rng.f32();
                let mut accept = BitSet::new(num_docs as u32);
                (0..num_docs as u32).filter(|_| rng.f32() < density).for_each(|doc| {
                    accept.insert(doc);
                });
                let queries: Vec<Vec<f32>> = (0..rng.usize(1..7)).map(|_| random_vector(&mut rng, dims)).collect();
                for accept in [None, Some(&accept)] {
                    for k in [0, 1, 10, 1000] {
                        let together = scan(&streams, &reader, &queries, accept, k);
                        for (query, found) in queries.iter().zip(&together) {
                            assert_same_ranking(found, &by_sorting(&docs, accept, query, metric, k));
                            let alone = scan(&streams, &reader, std::slice::from_ref(query), accept, k).remove(0);
                            assert_eq!(&alone, found, "a query alone and among others");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn rescoring_a_hit_gives_its_score_bit_for_bit() {
    let mut rng = fastrand::Rng::with_seed(11);
    for metric in METRICS {
        let docs = random_docs(&mut rng, Shape::Multi, 300, 33);
        let streams = Streams::write(&options(33, metric), &docs);
        let reader = streams.open();
        let queries: Vec<Vec<f32>> = (0..5).map(|_| random_vector(&mut rng, 33)).collect();
        for (query, hits) in queries.iter().zip(scan(&streams, &reader, &queries, None, 300)) {
            let prepared = VectorQuery::new(reader.options(), query.clone()).unwrap();
            for hit in hits {
                let window = reader.window_of(hit.ord).unwrap();
                let bytes = streams.bytes(&window.bytes);
                let rows: Vec<&[u8]> = window
                    .ords
                    .clone()
                    .map(|ord| reader.row(&window, bytes, VectorOrd(ord), Verify::Unseen).unwrap())
                    .collect();
                let mut scores = vec![0.0; rows.len()];
                prepared.score_rows(&rows, &mut scores);
                let best = scores.into_iter().reduce(f32::max).unwrap();
                assert_eq!(best.to_bits(), hit.score.to_bits());
            }
        }
    }
}

#[test]
fn what_was_written_is_read() {
    let mut rng = fastrand::Rng::with_seed(12);
    for shape in SHAPES {
        let docs = random_docs(&mut rng, shape, 200, 5);
        let streams = Streams::write(&options(5, Metric::L2), &docs);
        let reader = streams.open();
        assert_eq!(reader.max_doc(), 200);
        assert_eq!(reader.num_docs() as usize, docs.iter().filter(|vectors| !vectors.is_empty()).count());
        let mut next = 0;
        for (doc, vectors) in docs.iter().enumerate() {
            let doc = DocOrd(doc as u32);
            let ords = reader.ords_of(doc);
            assert_eq!(ords.len(), vectors.len(), "{shape:?}");
            assert_eq!(reader.window_of(doc).is_none(), vectors.is_empty());
            for (ord, vector) in ords.clone().zip(vectors) {
                assert_eq!((ord, reader.doc_of(VectorOrd(ord))), (next, doc));
                next += 1;
                let window = reader.window(ords.clone());
                assert_eq!(&reader.vector(&window, streams.bytes(&window.bytes), VectorOrd(ord)).unwrap(), vector);
            }
        }
        assert_eq!(reader.ords_of(DocOrd(200)), if next == 200 { 0..0 } else { next..next });
        reader.check_window(&reader.window(0..next), &streams.rows).unwrap();
    }
}

#[test]
fn bad_vectors_are_refused_and_leave_nothing() {
    let mut writer = VectorsWriter::new(options(3, Metric::Cosine));
    let refused = |result: Result<(), VectorInputError>| result.unwrap_err();
    assert_eq!(refused(writer.add(DocOrd(0), &[1.0, 2.0])), VectorInputError::Dims { found: 2, dims: 3 });
    assert_eq!(refused(writer.add(DocOrd(0), &[])), VectorInputError::Dims { found: 0, dims: 3 });
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        match refused(writer.add(DocOrd(0), &[1.0, 2.0, 3.0, 4.0, value, 6.0])) {
            VectorInputError::NotFinite { vector: 1, component: 1, .. } => {}
            other => panic!("{other}"),
        }
        assert!(VectorQuery::new(&options(1, Metric::Dot), vec![value]).is_err());
    }
    assert!(VectorQuery::new(&options(2, Metric::Dot), vec![1.0; 4]).is_err());
    assert_eq!(writer.count(), 0);
    writer.add(DocOrd(0), &[1.0, 2.0, 3.0]).unwrap();
    assert_eq!(writer.count(), 1);
    assert!(writer.memory_bytes() >= 16);
}

#[test]
fn golden_bytes() {
    let docs = vec![vec![], vec![vec![1.0, -2.0]], vec![], vec![vec![0.5, 0.0], vec![3.0, 4.0]]];
    let streams = Streams::write(&options(2, Metric::L2), &docs);
    let header = [2, 0, 0, 0, 2, 1, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0];
    assert_eq!(streams.meta, [&header[..], &[1, 2, 0]].concat());
    assert_eq!(streams.rows.len(), 3 * 12);
    assert_eq!(streams.rows[..8], [0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0]);
    assert_eq!(streams.rows[8..12], crc32c::crc32c(&streams.rows[..8]).to_le_bytes());
}

#[test]
fn a_flipped_bit_is_found_unless_its_row_was_seen_intact_and_stayed_in_memory() {
    let docs: Docs = (0..20).map(|doc| vec![vec![doc as f32; 4]]).collect();
    let mut streams = Streams::write(&options(4, Metric::Dot), &docs);
    let query = VectorQuery::new(&options(4, Metric::Dot), vec![1.0; 4]).unwrap();
    let reader = streams.open();
    let window = reader.window(0..20);
    let feed = |reader: &VectorsReader, rows: &[u8], accept: Option<&BitSet>, verify| {
        FlatScan::new(reader, vec![query.clone()], 5).feed(&window, rows, accept, verify)
    };
    feed(&reader, &streams.rows, None, Verify::Unseen).unwrap();
    streams.rows[7 * 20 + 3] ^= 0x10;
    let error = feed(&reader, &streams.rows, None, Verify::All).unwrap_err();
    assert!(matches!(error, VectorFormatError::RowChecksum { ord: 7, offset: 140, .. }), "{error}");
    feed(&reader, &streams.rows, None, Verify::Unseen).unwrap();
    assert!(feed(&streams.open(), &streams.rows, None, Verify::Unseen).is_err());
    let others: BitSet = (0..20).filter(|&doc| doc != 7).collect();
    feed(&streams.open(), &streams.rows, Some(&others), Verify::All).unwrap();
    assert!(reader.check_window(&window, &streams.rows).is_err());
}

#[test]
fn damaged_metadata_is_an_error_and_never_a_panic() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for shape in SHAPES {
        let docs = random_docs(&mut rng, shape, 50, 3);
        let streams = Streams::write(&options(3, Metric::Dot), &docs);
        for len in 0..streams.meta.len() {
            assert!(VectorsReader::parse(&streams.meta[..len], streams.rows.len() as u64).is_err(), "{shape:?} {len}");
        }
        assert!(VectorsReader::parse(&streams.meta, streams.rows.len() as u64 + 1).is_err());
        for _ in 0..3000 {
            let mut meta = streams.meta.clone();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..meta.len());
                meta[at] = rng.u8(..);
            }
            if let Ok(reader) = VectorsReader::parse(&meta, streams.rows.len() as u64) {
                for ord in (0..reader.count()).filter(|_| !reader.is_in_cells()) {
                    assert!(reader.doc_of(VectorOrd(ord)).0 < reader.max_doc());
                }
            }
        }
    }
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..rng.usize(0..40)).map(|_| rng.u8(..) & rng.u8(..)).collect();
        let _ = VectorsReader::parse(&bytes, 0);
    }
}

#[test]
fn prefetches_are_clamped_and_coalesced() {
    let docs: Docs = (0..12).map(|doc| vec![vec![doc as f32]]).collect();
    let reader = Streams::write(&options(1, Metric::Dot), &docs).open();
    let run = |start: u64, end: u64| start * 8..end * 8;
    let prefetch = |ord, count| reader.prefetch(VectorOrd(ord), count);
    assert_eq!(prefetch(7, 3), (3, run(7, 10)));
    assert_eq!(prefetch(10, 5), (2, run(10, 12)));
    assert_eq!(prefetch(12, 1), (0, run(12, 12)));
    assert_eq!(prefetch(u32::MAX, u32::MAX), (0, run(12, 12)));
    assert_eq!(prefetch(3, 0), (0, run(3, 3)));
    let ords = |ords: &[u32]| reader.prefetch_ords(&ords.iter().map(|&ord| VectorOrd(ord)).collect::<Vec<_>>());
    assert_eq!(ords(&[1, 2, 3, 7, 9, 10]), [run(1, 4), run(7, 8), run(9, 11)]);
    assert_eq!(ords(&[10, 3, 2, 8]), [run(10, 11), run(3, 4), run(2, 3), run(8, 9)]);
    assert_eq!(ords(&[1, 2]), [run(1, 3)]);
    assert_eq!(ords(&[10, 11, 12, 13]), [run(10, 12)]);
    assert!(ords(&[5]).is_empty() && ords(&[]).is_empty());
}

#[test]
fn a_merge_equals_a_rebuild() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..60 {
        let options = options(rng.u32(1..20), METRICS[rng.usize(0..3)]);
        let (mut rebuilt, mut streams, mut lives) = (Docs::new(), Vec::new(), Vec::new());
        for _ in 0..rng.usize(0..5) {
            let (num_docs, shape) = (rng.usize(0..150), SHAPES[rng.usize(0..3)]);
            let docs = random_docs(&mut rng, shape, num_docs, options.dims);
            let keep = rng.f32() * 1.5;
            let mut live = BitSet::new(num_docs as u32);
            (0..num_docs as u32).filter(|_| rng.f32() < keep).for_each(|doc| {
                live.insert(doc);
            });
            let has_field = rng.u8(0..5) > 0;
            for vectors in live.iter().map(|doc| &docs[doc as usize]) {
                rebuilt.push(if has_field { vectors.clone() } else { Vec::new() });
            }
            streams.push(has_field.then(|| Streams::write(&options, &docs)));
            lives.push((num_docs as u32, (live.count() < live.len()).then(|| Arc::new(live))));
        }
        let docs = Arc::new(DocMap::new(lives).unwrap());
        let readers = streams.iter().map(|streams| streams.as_ref().map(|streams| Arc::new(streams.open()))).collect();
        let mut merger = VectorsMerger::new(options.clone(), readers, docs, 300);
        let (mut rows, mut meta) = (Vec::new(), Vec::new());
        while let Some(read) = merger.wanted() {
            assert!(read.bytes.end - read.bytes.start <= 300);
            merger.feed(streams[read.source].as_ref().unwrap().bytes(&read.bytes), &mut rows).unwrap();
        }
        merger.finish(&mut meta);
        let expected = Streams::write(&options, &rebuilt);
        assert_eq!(rows, expected.rows);
        assert_eq!(meta, expected.meta);
    }
}

#[test]
fn a_merge_refuses_damaged_rows_but_not_deleted_ones() {
    let docs: Docs = (0..9).map(|doc| vec![vec![doc as f32]]).collect();
    let mut streams = Streams::write(&options(1, Metric::Dot), &docs);
    streams.rows[4 * 8] ^= 1;
    let merge = |live: Option<BitSet>| {
        let docs = Arc::new(DocMap::new([(9, live.map(Arc::new))]).unwrap());
        let reader = Some(Arc::new(streams.open()));
        let mut merger = VectorsMerger::new(options(1, Metric::Dot), vec![reader], docs, 1 << 20);
        let mut rows = Vec::new();
        while let Some(read) = merger.wanted() {
            merger.feed(streams.bytes(&read.bytes), &mut rows)?;
        }
        Ok::<_, VectorFormatError>(rows.len() / 8)
    };
    assert!(matches!(merge(None), Err(VectorFormatError::RowChecksum { ord: 4, .. })));
    let mut live = BitSet::full(9);
    live.remove(4);
    assert_eq!(merge(Some(live)), Ok(8));
}
