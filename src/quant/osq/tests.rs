//! Golden values (computed in double precision from the published formulas), twins and degenerate vectors.

use super::{interval::loss, pack::*, *};
use crate::{distance::packed, schema::Metric};

const X: [f32; 8] = [0.5, -0.25, 0.75, 0.0, 0.1, -0.6, 0.3, 0.2];
const Y: [f32; 8] = [0.4, -0.2, 0.6, 0.1, 0.0, -0.5, 0.35, 0.15];
const C: [f32; 8] = [0.1; 8];

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
}

#[test]
fn intervals_and_levels_are_the_golden_ones() {
    let centred: Vec<f32> = X.iter().zip(C).map(|(x, c)| x - c).collect();
    let square: f64 = centred.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
    for (bits, lower, upper, levels, end_loss) in [
        (Bits::One, -0.433083, 0.508402, [1, 0, 1, 0, 0, 0, 1, 1], 0.070611),
        (Bits::Two, -0.685642, 0.740494, [2, 1, 3, 1, 1, 0, 2, 2], 0.013530),
        (Bits::Four, -0.714867, 0.651089, [12, 4, 15, 7, 8, 0, 10, 9], 0.000145),
        (Bits::Eight, -0.699129, 0.649934, [208, 66, 255, 113, 132, 0, 170, 151], 0.0),
    ] {
        let interval = fit_interval(&centred, bits);
        close(interval.lower.into(), lower, 1e-5);
        close(interval.upper.into(), upper, 1e-5);
        let mut own = Vec::new();
        interval::assign_levels(&centred, interval, bits, &mut own);
        assert_eq!(own, levels, "{bits:?}");
        let ends = (f64::from(interval.lower), f64::from(interval.upper));
        close(loss(&centred, ends, bits, 0.9 / square), end_loss, 1e-6);
    }
}

#[test]
fn estimates_are_the_golden_ones() {
    for (bits, distance, dot) in [
        (Bits::One, 0.116419, 1.111790),
        (Bits::Two, 0.064059, 1.137971),
        (Bits::Four, 0.069511, 1.135244),
        (Bits::Eight, 0.069723, 1.135138),
    ] {
        for (metric, expected) in [(Metric::L2, -distance), (Metric::Dot, dot)] {
            let model = OsqModel::new(bits, metric, C.to_vec()).unwrap();
            let (mut rows, mut terms) = (Vec::new(), Vec::new());
            model.encode(&X, &mut Scratch::default(), &mut rows).write(&mut terms);
            let mut out = [0.0];
            OsqScorer::new(&model, &Y).similarities(&rows, &terms, &mut out);
            close(out[0].into(), expected, 1e-5);
        }
    }
}

fn random_vector(rng: &mut fastrand::Rng, dims: usize) -> Vec<f32> {
    let scale = [1e-3, 1.0, 30.0][rng.usize(0..3)];
    (0..dims).map(|_| (rng.f32() - 0.4) * scale).collect()
}

/// The product of the decoded vectors, in double precision: what the integer arithmetic must equal.
fn twin(model: &OsqModel, row: &[u8], terms: &Terms, query: &[f32]) -> f64 {
    let mut scratch = Scratch::default();
    let mut decoded = Vec::new();
    model.decode(row, terms, &mut scratch, &mut decoded);
    let query_bits = model.bits().of_query();
    let centroid = {
        let mut bytes = Vec::new();
        model.write(&mut bytes);
        bytes[4..].as_chunks::<4>().0.iter().map(|&word| f32::from_le_bytes(word)).collect::<Vec<_>>()
    };
    let own = model.levels(query, query_bits, &mut scratch);
    let y = scratch.levels.iter().map(|&level| f64::from(own.lower) + f64::from(level) * f64::from(own.step));
    let x = decoded.iter().zip(&centroid).map(|(&value, &center)| f64::from(value) - f64::from(center));
    let raw: f64 = x.zip(y).map(|(x, y)| x * y).sum();
    match model.metric() {
        Metric::L2 => -(f64::from(terms.correction) + f64::from(own.correction) - 2.0 * raw).max(0.0),
        _ => raw + f64::from(terms.correction) + f64::from(own.correction) - f64::from(model.centroid_square()),
    }
}

#[test]
fn integer_arithmetic_equals_decoded_vectors() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for dims in (1..=130).chain([300, 384, 768, 1023, 1024, 4096]) {
        let metric = [Metric::Cosine, Metric::Dot, Metric::L2][rng.usize(0..3)];
        for bits in Bits::ALL {
            let vectors: Vec<_> = (0..3).map(|_| random_vector(&mut rng, dims)).collect();
            let model = OsqModel::train(bits, metric, dims, vectors.iter().map(Vec::as_slice)).unwrap();
            let (mut rows, mut column, mut terms) = (Vec::new(), Vec::new(), Vec::new());
            for vector in &vectors {
                terms.push(model.encode(vector, &mut Scratch::default(), &mut rows));
                terms.last().unwrap().write(&mut column);
            }
            let query = random_vector(&mut rng, dims);
            let mut out = [0.0; 3];
            OsqScorer::new(&model, &query).similarities(&rows, &column, &mut out);
            for ((row, terms), &estimate) in rows.chunks(model.row_len()).zip(&terms).zip(&out) {
                let expected = twin(&model, row, terms, &query);
                // Four f32 products of size |x||y| are added: their rounding, not the codes', is the difference.
                let size = 1.0 + expected.abs() + f64::from(terms.correction.abs()) + dims as f64;
                assert!(
                    (f64::from(estimate) - expected).abs() <= 1e-4 * size,
                    "{bits:?} {dims} {metric:?}: {estimate} {expected}"
                );
            }
        }
    }
}

#[test]
fn what_left_the_range_has_an_interval_too() {
    for bits in Bits::ALL {
        for x in
            [[f32::NAN; 4], [f32::INFINITY; 4], [1.0, f32::NAN, 2.0, 3.0], [f32::NEG_INFINITY, 1.0, 2.0, f32::INFINITY]]
        {
            assert_eq!(fit_interval(&x, bits), Interval { lower: 0.0, upper: 0.0 });
        }
    }
}

#[test]
fn one_bit_fits_as_well_as_the_general_descent() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for dims in (1..=130).chain([384, 784]) {
        let shift = rng.f32() * 2.0 - 1.0;
        let x: Vec<f32> = (0..dims).map(|_| shift + rng.f32() * rng.f32() * 100.0).collect();
        let square: f64 = x.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
        let (fast, slow) = (fit_interval(&x, Bits::One), interval::fit_in_general(&x, Bits::One));
        let loss = |of: Interval| loss(&x, (of.lower.into(), of.upper.into()), Bits::One, 0.9 / square);
        // A component in the middle may fall to either side.
        assert!((loss(fast) - loss(slow)).abs() <= 1e-3 * loss(slow) + 1e-9 * square, "{dims}: {fast:?}, {slow:?}");
    }
}

#[test]
fn kernels_equal_plain_sums() {
    let mut rng = fastrand::Rng::with_seed(7);
    for dims in 0..=200usize {
        for bits in Bits::ALL {
            let max = bits.max_level() as u8;
            let query_max = bits.of_query().max_level() as u8;
            let query: Vec<u8> = (0..dims).map(|_| rng.u8(0..=query_max)).collect();
            let docs: Vec<Vec<u8>> = (0..5).map(|_| (0..dims).map(|_| rng.u8(0..=max)).collect()).collect();
            let mut rows = Vec::new();
            docs.iter().for_each(|doc| pack_levels(doc, bits, &mut rows));
            let mut out = [u32::MAX; 5];
            let padded = |levels: &[u8], len: usize| [levels, &vec![0; len - levels.len()]].concat();
            match bits {
                Bits::One | Bits::Two => {
                    let words = packed::StripeQuery::new(&query);
                    if bits == Bits::One {
                        packed::stripe_dots::<1>(&words, &rows, &mut out);
                    } else {
                        packed::stripe_dots::<2>(&words, &rows, &mut out);
                    }
                }
                Bits::Four => {
                    let half = row_len(dims, bits);
                    let (low, high) = query.split_at(dims.div_ceil(2));
                    packed::nibble_dots(&[padded(low, half), padded(high, half)].concat(), &rows, &mut out);
                }
                Bits::Eight => packed::byte_dots(&padded(&query, row_len(dims, bits)), &rows, &mut out),
            }
            for (doc, &product) in docs.iter().zip(&out) {
                let plain: u32 = doc.iter().zip(&query).map(|(&a, &b)| u32::from(a) * u32::from(b)).sum();
                assert_eq!(product, plain, "{dims} x {bits:?}");
            }
            for (doc, row) in docs.iter().zip(rows.chunks(row_len(dims, bits).max(1))) {
                let mut levels = Vec::new();
                unpack(row, dims, bits, &mut levels);
                assert_eq!(&levels, doc);
            }
        }
    }
}

#[test]
fn degenerate_vectors_give_finite_terms() {
    let constant = [0.25f32; 16];
    let mut spike = [0.0f32; 16];
    spike[3] = 1e30;
    for vector in [[0.0; 16], constant, spike, [f32::MIN_POSITIVE; 16], [-1e-30; 16]] {
        for bits in Bits::ALL {
            for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
                let model = OsqModel::train(bits, metric, 16, [&vector[..], &[0.1; 16]]).unwrap();
                let (mut rows, mut column) = (Vec::new(), Vec::new());
                let terms = model.encode(&vector, &mut Scratch::default(), &mut rows);
                terms.write(&mut column);
                assert!(terms.lower.is_finite() && terms.step.is_finite(), "{bits:?} {metric:?} {terms:?}");
                let mut out = [f32::NAN];
                OsqScorer::new(&model, &constant).similarities(&rows, &column, &mut out);
                assert!(!out[0].is_nan(), "{bits:?} {metric:?} {terms:?}");
            }
        }
    }
}

#[test]
fn models_round_trip_and_damage_is_refused() {
    let model = OsqModel::new(Bits::Two, Metric::Cosine, vec![0.5, -1.0, 2.0]).unwrap();
    let mut bytes = Vec::new();
    model.write(&mut bytes);
    assert_eq!(OsqModel::parse(&bytes).unwrap(), model);
    for len in 0..bytes.len() {
        assert_eq!(OsqModel::parse(&bytes[..len]).unwrap_err().kind().code(), "corrupt");
    }
    for (at, value) in [(0, 3), (1, 9), (2, 200), (7, 0x7f)] {
        let mut damaged = bytes.clone();
        damaged[at] = value;
        if at == 7 {
            damaged[6] = 0xc0;
        }
        assert_eq!(OsqModel::parse(&damaged).unwrap_err().kind().code(), "corrupt", "byte {at}");
    }
}
