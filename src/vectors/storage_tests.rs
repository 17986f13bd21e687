//! Rows in forms other than single precision: scored as what they stand for, merged unchanged, refused where damaged.

use std::sync::Arc;

use super::*;
use crate::{
    bitset::DocMap,
    distance::half::{HALF_LIMIT, float_of, half_of},
    ids::DocOrd,
    schema::{Metric, VectorOptions, VectorStorage},
    topk::Scored,
};

const METRICS: [Metric; 3] = [Metric::Cosine, Metric::Dot, Metric::L2];
const FORMS: [VectorStorage; 3] = [VectorStorage::F16, VectorStorage::Nvq8, VectorStorage::Nvq4];

fn options(dims: u32, metric: Metric, storage: VectorStorage) -> VectorOptions {
    VectorOptions { storage, ..VectorOptions::new(dims, metric) }
}

fn random(rng: &mut fastrand::Rng, len: usize, dims: u32) -> Vec<Vec<f32>> {
    (0..len).map(|_| (0..dims).map(|_| rng.f32() * 2.0 - 1.0).collect()).collect()
}

/// Rows and metadata of vectors of documents 0, 1, ….
fn write(options: &VectorOptions, vectors: &[Vec<f32>]) -> (Vec<u8>, Vec<u8>) {
    let mut writer = VectorsWriter::new(options.clone());
    (0..).zip(vectors).for_each(|(doc, vector)| writer.add(DocOrd(doc), vector).unwrap());
    let (mut rows, mut meta) = (Vec::new(), Vec::new());
    let mut chunks = writer.finish(vectors.len() as u32, &mut meta);
    while chunks.append_next(&mut rows) {}
    assert_eq!(rows.len(), vectors.len() * row_bytes(options));
    (rows, meta)
}

fn scan(reader: &VectorsReader, rows: &[u8], queries: &[Vec<f32>], k: usize) -> Vec<Vec<Scored<DocOrd>>> {
    let queries = queries.iter().map(|query| VectorQuery::new(reader.options(), query.clone()).unwrap()).collect();
    let mut scan = FlatScan::new(reader, queries, k);
    for window in reader.windows(None, &WindowOptions::default()) {
        let bytes = &rows[window.bytes.start as usize..window.bytes.end as usize];
        reader.check_window(&window, bytes).unwrap();
        scan.feed(&window, bytes, None, Verify::All).unwrap();
    }
    scan.finish()
}

#[test]
fn rows_are_scored_as_the_vectors_they_stand_for() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..40 {
        let (dims, metric, storage) = (rng.u32(1..200), METRICS[round % 3], FORMS[rng.usize(0..3)]);
        let options = options(dims, metric, storage);
        let vectors = random(&mut rng, 300, dims);
        let (rows, meta) = write(&options, &vectors);
        let reader = VectorsReader::parse(&meta, rows.len() as u64).unwrap();
        assert_eq!(reader.options(), &options);
        let all = reader.window(0..300);
        let decoded: Vec<Vec<f32>> = (0..300).map(|ord| reader.vector(&all, &rows, VectorOrd(ord)).unwrap()).collect();
        // The same vectors in single precision: the same bits of every score, with one query or several.
        let plain = VectorOptions::new(dims, metric);
        let (plain_rows, plain_meta) = write(&plain, &decoded);
        let plain_reader = VectorsReader::parse(&plain_meta, plain_rows.len() as u64).unwrap();
        let queries = random(&mut rng, 1 + round % 3, dims);
        let own = scan(&reader, &rows, &queries, 20);
        assert_eq!(own, scan(&plain_reader, &plain_rows, &queries, 20), "{options:?}");
        let query = VectorQuery::new(&options, queries[0].clone()).unwrap();
        let ord = own[0][0].ord.0;
        let row = reader.row(&all, &rows, VectorOrd(ord), Verify::All).unwrap();
        let mut score = [0.0];
        query.score_rows(&[row], &mut score);
        assert_eq!(score[0], own[0][0].score);
        if storage == VectorStorage::F16 {
            for (vector, back) in vectors.iter().zip(&decoded) {
                assert!(vector.iter().zip(back).all(|(&x, &y)| float_of(half_of(x)) == y));
            }
        }
    }
}

#[test]
fn merges_copy_rows() {
    let mut rng = fastrand::Rng::with_seed(6);
    for storage in FORMS {
        let options = options(40, Metric::Cosine, storage);
        let vectors = random(&mut rng, 500, 40);
        let (first, second) = (write(&options, &vectors[..300]), write(&options, &vectors[300..]));
        let open =
            |(rows, meta): &(Vec<u8>, Vec<u8>)| Some(Arc::new(VectorsReader::parse(meta, rows.len() as u64).unwrap()));
        let docs = Arc::new(DocMap::new([(300, None), (200, None)]).unwrap());
        let mut merger = VectorsMerger::new(options.clone(), vec![open(&first), open(&second)], docs, 4096);
        let (mut rows, mut meta) = (Vec::new(), Vec::new());
        while let Some(read) = merger.wanted() {
            let source = [&first, &second][read.source];
            merger.feed(&source.0[read.bytes.start as usize..read.bytes.end as usize], &mut rows).unwrap();
        }
        merger.finish(&mut meta);
        assert_eq!((rows, meta), write(&options, &vectors), "{storage:?}");
    }
}

#[test]
fn what_a_form_cannot_hold_is_refused_or_found() {
    assert_eq!(VectorStorage::F16.limit(), HALF_LIMIT);
    let f16 = options(2, Metric::Dot, VectorStorage::F16);
    assert!(VectorsWriter::check(&f16, &[1.0, 65519.0]).is_ok());
    for value in [65520.0, -70000.0, f32::INFINITY, f32::NAN] {
        assert!(VectorsWriter::check(&f16, &[1.0, value]).is_err(), "{value}");
    }
    // A query is not stored.
    assert!(VectorQuery::new(&f16, vec![1e30, 0.0]).is_ok());
    for storage in FORMS {
        let options = options(2, Metric::Dot, storage);
        let (mut rows, meta) = write(&options, &[vec![1.0, 2.0]]);
        for byte in 0..rows.len() {
            let mut damaged = rows.clone();
            damaged[byte] ^= 0x40;
            let reader = VectorsReader::parse(&meta, rows.len() as u64).unwrap();
            assert!(reader.check_window(&reader.window(0..1), &damaged).is_err(), "{storage:?} {byte}");
        }
        // Not a number, under a checksum that fits.
        let len = rows.len() - 4;
        rows[..len].fill(0xff);
        let sum = crc32c::crc32c(&rows[..len]);
        rows[len..].copy_from_slice(&sum.to_le_bytes());
        let reader = VectorsReader::parse(&meta, rows.len() as u64).unwrap();
        let found = reader.check_window(&reader.window(0..1), &rows);
        assert_eq!(found, Err(VectorFormatError::RowNotFinite { ord: 0 }), "{storage:?}");
        let mut other = meta.clone();
        other[6] = 4;
        assert!(VectorsReader::parse(&other, rows.len() as u64).is_err());
    }
}
