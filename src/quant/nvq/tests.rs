//! The curve by its definition, errors as JVector bounds them, degenerate vectors and damage.

use super::{
    curve::{Curve, logarithm, power},
    fit::{fit, loss},
    *,
};

#[test]
fn powers_are_exact_at_integers_and_linear_between() {
    for exponent in -60..60 {
        let value = 2f32.powi(exponent);
        assert_eq!((power(exponent as f32), logarithm(value)), (value, exponent as f32));
        assert_eq!((power(exponent as f32 + 0.25), logarithm(value * 1.25)), (value * 1.25, exponent as f32 + 0.25));
    }
}

#[test]
fn places_are_the_golden_ones() {
    // [-1, 1], growth 2: t = 2^x, on the curve 1/3, 3/7 (t = 3/4 at -1/2, linear), 1/2, 3/5, 2/3.
    let curve = Curve::new(-1.0, 1.0, 20);
    for (x, place) in [(-1.0, 0.0), (-0.5, 0.285_714_3), (0.0, 0.5), (0.5, 0.8), (1.0, 1.0)] {
        assert!((curve.place(x) - place).abs() < 1e-6, "{x}: {} for {place}", curve.place(x));
        assert!((curve.component(place) - x).abs() < 1e-6, "{place}: {} for {x}", curve.component(place));
    }
    let straight = Curve::new(2.0, 6.0, 0);
    assert_eq!((straight.place(2.0), straight.place(3.0), straight.place(6.0)), (0.0, 0.25, 1.0));
    assert_eq!(straight.component(0.75), 5.0);
}

#[test]
fn places_and_components_are_inverse_and_ascend() {
    let mut rng = fastrand::Rng::with_seed(3);
    for growth in 0..=200 {
        let (lower, upper) = [(-1.0, 1.0), (-0.1, 4.0), (0.0, 3.0), (5.0, 6.0), (-9.0, -8.5)][rng.usize(0..5)];
        let curve = Curve::new(lower, upper, growth);
        let xs: Vec<f32> = (0..=100).map(|ix| lower + (upper - lower) * ix as f32 / 100.0).collect();
        for pair in xs.windows(2) {
            assert!(curve.place(pair[0]) <= curve.place(pair[1]) + 1e-6, "{growth} {lower} {upper}");
        }
        // Far from where it bends, a steep curve leaves few bits of a float.
        let near = |x: f32| (curve.component(curve.place(x)) - x).abs() <= 0.02 * (upper - lower);
        assert!(xs.iter().all(|&x| near(x)), "{growth} {lower} {upper}");
    }
}

fn round_trip(vector: &[f32], bits: NvqBits) -> Vec<f32> {
    let mut row = vec![3];
    append_row(vector, bits, &mut row);
    assert_eq!(row.len() - 1, row_len(vector.len(), bits));
    let mut back = vec![f32::NAN; vector.len()];
    read_row(&row[1..], bits, &mut back).unwrap();
    back
}

/// A bell: sums of uniform numbers.
fn bell(rng: &mut fastrand::Rng, len: usize) -> Vec<f32> {
    (0..len).map(|_| (0..6).map(|_| rng.f32() - 0.5).sum::<f32>()).collect()
}

#[test]
fn components_come_back_within_a_level() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for dims in (0..=130).chain([300, 384, 768, 1024, 4096]) {
        let vector = bell(&mut rng, dims);
        let (least, most) = vector.iter().fold((0.0f32, 0.0f32), |(a, b), &x| (a.min(x), b.max(x)));
        for (bits, part) in [(NvqBits::Eight, 0.02), (NvqBits::Four, 0.3)] {
            let back = round_trip(&vector, bits);
            for (x, y) in vector.iter().zip(&back) {
                assert!((x - y).abs() <= part * (most - least), "{bits:?} {dims}: {y} for {x}");
            }
        }
    }
}

#[test]
fn scores_err_as_little_as_the_reference_allows() {
    let mut rng = fastrand::Rng::with_seed(8);
    for dims in [256, 512, 1024] {
        let (mut dots, mut distances) = (0.0, 0.0);
        let rounds = 20;
        for _ in 0..rounds {
            let unit = |vector: Vec<f32>| {
                let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
                vector.into_iter().map(|v| v / norm).collect::<Vec<f32>>()
            };
            let (x, y) = (unit(bell(&mut rng, dims)), unit(bell(&mut rng, dims)));
            let back = round_trip(&x, NvqBits::Eight);
            let dot = |a: &[f32]| a.iter().zip(&y).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
            let square = |a: &[f32]| a.iter().zip(&y).map(|(&a, &b)| f64::from(a - b).powi(2)).sum::<f64>();
            dots += (dot(&x) - dot(&back)).abs() / 2.0;
            distances += (1.0 / (1.0 + square(&x)) - 1.0 / (1.0 + square(&back))).abs();
        }
        let bound = 0.0005 * dims as f64 / 256.0;
        assert!(distances / f64::from(rounds) <= bound, "{dims}: {distances}");
        assert!(dots / f64::from(rounds) <= 4.0 * bound, "{dims}: {dots}");
    }
}

#[test]
fn a_fitted_curve_loses_less_than_equidistant_levels_on_a_bell() {
    let mut rng = fastrand::Rng::with_seed(9);
    for max_level in [15.0, 255.0] {
        let part: Vec<f32> = bell(&mut rng, 512).iter().map(|x| x * x * x).collect();
        let (lower, upper) = part.iter().fold((0.0f32, 0.0f32), |(a, b), &x| (a.min(x), b.max(x)));
        let lost = |growth| loss(&part, &Curve::new(lower, upper, growth), max_level);
        let found = lost(fit(&part, lower, upper, max_level));
        let best = (0..=200).map(lost).fold(f32::INFINITY, f32::min);
        assert!(found < lost(0) * 0.8, "{found} of {}", lost(0));
        assert!(found <= best * 1.1, "{found}, the best of all is {best}");
    }
}

#[test]
fn constant_and_extreme_vectors_stay_finite() {
    // The reference divides by the length of the interval, 0 here.
    for value in [0.0f32, -0.0, 0.25, -3.5e37, f32::MAX, f32::MIN_POSITIVE, 1e-42] {
        for bits in [NvqBits::Eight, NvqBits::Four] {
            assert_eq!(round_trip(&[value; 50], bits), vec![value; 50]);
        }
    }
    let mut spiked = vec![0.0; 64];
    (spiked[3], spiked[40], spiked[41]) = (f32::MAX, f32::MIN, f32::MAX);
    let tiny: Vec<f32> = (0..64).map(|ix| ix as f32 * 1e-44).collect();
    let ends: Vec<f32> = (0..64).map(|ix| if ix % 2 == 0 { f32::MAX } else { f32::MIN }).collect();
    for vector in [&spiked, &tiny, &ends] {
        for bits in [NvqBits::Eight, NvqBits::Four] {
            assert!(round_trip(vector, bits).iter().all(|x| x.is_finite()));
        }
    }
    assert_eq!(round_trip(&ends, NvqBits::Four), ends, "the ends of an interval are levels");
}

#[test]
fn the_same_vectors_give_the_same_bytes_everywhere() {
    let mut rng = fastrand::Rng::with_seed(77);
    let mut rows = Vec::new();
    for dims in [1, 31, 32, 77, 384] {
        let vector = bell(&mut rng, dims);
        append_row(&vector, NvqBits::Eight, &mut rows);
        append_row(&vector, NvqBits::Four, &mut rows);
    }
    // Written by x86-64.
    assert_eq!(crc32c::crc32c(&rows), 2_618_041_276);
}

#[test]
fn any_bytes_give_finite_numbers_or_none() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut read = 0;
    for round in 0..4000 {
        let dims = rng.usize(0..70);
        for bits in [NvqBits::Eight, NvqBits::Four] {
            let mut row: Vec<u8> = (0..row_len(dims, bits)).map(|_| rng.u8(..)).collect();
            if round % 2 == 0 {
                row[..4].copy_from_slice(&(-rng.f32()).to_le_bytes());
                row[4..8].copy_from_slice(&rng.f32().to_le_bytes());
            }
            let mut out = vec![0.0; dims];
            if read_row(&row, bits, &mut out).is_some() {
                read += 1;
                assert!(out.iter().all(|x| x.is_finite()), "{row:?}");
            }
        }
    }
    assert!(read > 1000, "{read}");
    let mut row = Vec::new();
    append_row(&[1.0, 2.0, 3.0], NvqBits::Eight, &mut row);
    for (at, value) in [(3, 0x7f), (7, 0x80), (8, 201)] {
        let mut damaged = row.clone();
        damaged[at] = value;
        if at == 3 {
            damaged[2] = 0xc0;
        }
        assert!(read_row(&damaged, NvqBits::Eight, &mut [0.0; 3]).is_none(), "byte {at}");
    }
}
