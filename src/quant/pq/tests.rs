//! Twins, degenerate samples, determinism by golden bytes, and damage.

use std::ops::Range;

use super::*;
use crate::codec::Reader;

fn train(vectors: &[Vec<f32>], subspaces: usize, options: PqOptions) -> PqModel {
    run(PqTrainer::new(PqModel::new(vectors[0].len(), subspaces).unwrap(), options), vectors)
}

fn run(mut trainer: PqTrainer, vectors: &[Vec<f32>]) -> PqModel {
    let mut sample = |components: Range<usize>, out: &mut Vec<f32>| {
        vectors.iter().for_each(|vector| out.extend_from_slice(&vector[components.clone()]));
    };
    while trainer.step(&mut sample) {}
    trainer.finish()
}

fn random(rng: &mut fastrand::Rng, len: usize, dims: usize) -> Vec<Vec<f32>> {
    (0..len).map(|_| (0..dims).map(|_| rng.f32() * 2.0 - 1.0).collect()).collect()
}

fn decoded(model: &PqModel, code: &[u8]) -> Vec<f32> {
    let mut out = Vec::new();
    model.decode(code, &mut out);
    out
}

/// Mean squared error of the codes of `vectors`.
fn error(model: &PqModel, vectors: &[Vec<f32>]) -> f64 {
    let mut codes = Vec::new();
    PqEncoder::default().encode(model, &vectors.concat(), &mut codes);
    let pairs = vectors.iter().zip(codes.chunks(model.subspaces()));
    let errors = pairs.map(|(vector, code)| {
        let back = decoded(model, code);
        vector.iter().zip(&back).map(|(&a, &b)| f64::from(a - b).powi(2)).sum::<f64>()
    });
    errors.sum::<f64>() / vectors.len() as f64
}

#[test]
fn subspaces_cover_all_components_the_first_ones_being_wider() {
    for dims in (1..=130usize).chain([300, 384, 768, 4096]) {
        for subspaces in [1, dims.div_ceil(8), dims.div_ceil(4), dims / 3 + 1, dims] {
            let model = PqModel::new(dims, subspaces.min(dims)).unwrap();
            let ranges: Vec<_> = (0..model.subspaces()).map(|ix| model.components(ix)).collect();
            assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (0, dims));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].len() >= pair[1].len()));
            assert!(ranges[0].len() - ranges[ranges.len() - 1].len() <= 1);
        }
    }
    for (dims, subspaces) in [(0, 0), (0, 1), (4097, 8), (8, 0), (8, 9)] {
        assert!(PqModel::new(dims, subspaces).is_err());
    }
}

#[test]
fn no_more_vectors_than_centroids_are_coded_without_loss() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for (len, copies) in [(1, 1), (2, 3), (100, 1), (256, 1), (255, 4)] {
        let distinct = random(&mut rng, len, 10);
        let vectors: Vec<_> = (0..copies).flat_map(|_| distinct.iter().cloned()).collect();
        let model = train(&vectors, 3, PqOptions::default());
        // A mean of equal numbers in double precision is that number.
        assert_eq!(error(&model, &vectors), 0.0, "{len} x {copies}");
    }
}

#[test]
fn rounds_and_a_warm_start_lessen_the_error() {
    let mut rng = fastrand::Rng::with_seed(4);
    let vectors = random(&mut rng, 2000, 16);
    let with_rounds = |rounds| train(&vectors, 4, PqOptions { rounds, ..PqOptions::default() });
    let errors: Vec<f64> = [1, 2, 4, 8].map(|rounds| error(&with_rounds(rounds), &vectors)).to_vec();
    assert!(errors.is_sorted_by(|a, b| a > b), "{errors:?}");
    let warm = run(PqTrainer::warm(with_rounds(2), PqOptions { rounds: 2, ..PqOptions::default() }), &vectors);
    assert_eq!(warm, with_rounds(4), "a warm start goes on where training stopped");
}

#[test]
fn encoding_finds_the_nearest_centroids() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for dims in [1, 2, 7, 33, 100] {
        let vectors = random(&mut rng, 600, dims);
        let model = train(&vectors, dims.div_ceil(3), PqOptions { rounds: 2, ..PqOptions::default() });
        let mut codes = vec![9];
        PqEncoder::default().encode(&model, &vectors[..40].concat(), &mut codes);
        for (vector, code) in vectors.iter().zip(codes[1..].chunks(model.subspaces())) {
            for (subspace, &chosen) in code.iter().enumerate() {
                let distance = |centroid: u8| -> f64 {
                    let mut other = code.to_vec();
                    other[subspace] = centroid;
                    let back = decoded(&model, &other);
                    model.components(subspace).map(|ix| f64::from(vector[ix] - back[ix]).powi(2)).sum()
                };
                let best = (0..=255).map(distance).fold(f64::INFINITY, f64::min);
                // Distances are rounded to single precision.
                assert!(distance(chosen) <= best + 1e-6, "{dims} {subspace}");
            }
        }
    }
}

#[test]
fn tables_give_the_products_with_decoded_vectors() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for (dims, subspaces) in [(1, 1), (9, 2), (50, 7), (130, 130), (384, 48), (384, 96), (4096, 512)] {
        let vectors = random(&mut rng, 30, dims);
        let model = train(&vectors, subspaces, PqOptions { rounds: 1, ..PqOptions::default() });
        let codes: Vec<u8> = (0..subspaces * 5).map(|_| rng.u8(..)).collect();
        let mut out = [0.0; 5];
        PqTable::new(&model, &vectors[0]).dots(&codes, &mut out);
        for (code, &own) in codes.chunks(subspaces).zip(&out) {
            let back = decoded(&model, code);
            let plain: f64 = vectors[0].iter().zip(&back).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            assert!((f64::from(own) - plain).abs() <= 1e-6 * dims as f64, "{dims} {subspaces}: {own} {plain}");
        }
    }
}

#[test]
fn refined_codes_err_less_along_the_vector() {
    let mut rng = fastrand::Rng::with_seed(11);
    let vectors: Vec<Vec<f32>> = random(&mut rng, 800, 24)
        .into_iter()
        .map(|vector| {
            let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
            vector.iter().map(|v| v / norm).collect()
        })
        .collect();
    let (model, weight) = (train(&vectors, 3, PqOptions::default()), parallel_weight(0.6, 24));
    assert!((weight - 12.9375).abs() < 1e-4, "0.36 x 23 / 0.64");
    assert_eq!((parallel_weight(0.0, 24), parallel_weight(0.1, 2)), (1.0, 1.0));
    let all = vectors.concat();
    let (mut plain, mut encoder) = (Vec::new(), PqEncoder::default());
    encoder.encode(&model, &all, &mut plain);
    let mut refined = plain.clone();
    encoder.refine(&model, &all, &all, weight, &mut refined);
    let parts = |codes: &[u8]| {
        let of = |(vector, code): (&Vec<f32>, &[u8])| {
            let errors: Vec<f64> =
                vector.iter().zip(decoded(&model, code)).map(|(&a, b)| f64::from(a) - f64::from(b)).collect();
            let along: f64 = errors.iter().zip(vector).map(|(e, &v)| e * f64::from(v)).sum();
            (errors.iter().map(|e| e * e).sum::<f64>(), along * along)
        };
        let all: Vec<(f64, f64)> = vectors.iter().zip(codes.chunks(3)).map(of).collect();
        for (square, along) in &all {
            assert!(square + 1e-9 >= *along);
        }
        all
    };
    let cost = |(square, along): (f64, f64)| square + f64::from(weight - 1.0) * along;
    let (before, after) = (parts(&plain), parts(&refined));
    assert!(before.iter().zip(&after).all(|(a, b)| cost(*b) <= cost(*a) + 1e-5), "no vector gets worse");
    let along = |parts: &[(f64, f64)]| parts.iter().map(|part| part.1).sum::<f64>();
    assert!(along(&after) < along(&before) * 0.7, "{} of {}", along(&after), along(&before));
}

#[test]
fn the_same_seed_gives_the_same_bytes_everywhere() {
    assert_eq!(golden(), GOLDEN);
}

/// CRC32C of a model and of codes that follow from a seed.
fn golden() -> u32 {
    let mut rng = fastrand::Rng::with_seed(77);
    let vectors = random(&mut rng, 1500, 21);
    let model = train(&vectors, 4, PqOptions::default());
    let mut bytes = Vec::new();
    model.write(&mut bytes);
    let mut encoder = PqEncoder::default();
    let start = bytes.len();
    encoder.encode(&model, &vectors.concat(), &mut bytes);
    encoder.refine(&model, &vectors.concat(), &vectors.concat(), 3.0, &mut bytes[start..]);
    crc32c::crc32c(&bytes)
}

/// Written by x86-64 with AVX2.
const GOLDEN: u32 = 2_758_974_628;

#[test]
fn odd_vectors_make_no_odd_models() {
    let constant = vec![vec![0.25f32; 6]; 300];
    let zero = vec![vec![0.0f32; 6]; 300];
    let mut huge = zero.clone();
    (huge[3][2], huge[4][5]) = (3e38, -3e38);
    for vectors in [&constant, &zero, &huge] {
        let model = train(vectors, 3, PqOptions::default());
        let mut bytes = Vec::new();
        model.write(&mut bytes);
        assert_eq!(PqModel::read(&mut Reader::new(&bytes)).unwrap(), model, "centroids are finite");
        let mut codes = Vec::new();
        let mut encoder = PqEncoder::default();
        encoder.encode(&model, &vectors.concat(), &mut codes);
        encoder.refine(&model, &vectors.concat(), &vectors.concat(), 2.0, &mut codes);
        assert_eq!(codes.len(), 900);
    }
    assert_eq!(error(&train(&constant, 3, PqOptions::default()), &constant), 0.0);
}

#[test]
fn models_round_trip_and_damage_is_refused() {
    let mut rng = fastrand::Rng::with_seed(2);
    let model = train(&random(&mut rng, 40, 5), 2, PqOptions::default());
    let mut bytes = Vec::new();
    model.write(&mut bytes);
    assert_eq!(bytes.len(), PqModel::written_len(5));
    let mut reader = Reader::new(&bytes);
    assert_eq!(PqModel::read(&mut reader).unwrap(), model);
    assert!(reader.is_empty());
    for len in (0..20).chain([bytes.len() - 1]) {
        assert_eq!(PqModel::read(&mut Reader::new(&bytes[..len])).unwrap_err().kind().code(), "corrupt");
    }
    for (at, value) in [(0, 2), (1, 1), (2, 0), (3, 0x20), (4, 0), (4, 9), (6, 1), (11, 0x7f)] {
        let mut damaged = bytes.clone();
        damaged[at] = value;
        if at == 11 {
            damaged[10] = 0x80;
        }
        assert_eq!(PqModel::read(&mut Reader::new(&damaged)).unwrap_err().kind().code(), "corrupt", "byte {at}");
    }
    for _ in 0..2000 {
        let hostile: Vec<u8> = (0..rng.usize(0..40)).map(|_| rng.u8(..4)).collect();
        let _ = PqModel::read(&mut Reader::new(&hostile));
    }
}
