//! Each instruction set against plain double-precision sums and against [`super::scalar`], for every length
//! up to 130 and the real dimensions, at every alignment, and for vectors of extreme length.

use super::{kernels::*, scalar, score::*};

const REAL_DIMS: [usize; 6] = [300, 384, 768, 784, 1024, 1536];

fn lengths() -> impl Iterator<Item = usize> {
    (0..=130).chain(REAL_DIMS)
}

fn bytes_of(vector: &[f32]) -> &[u8] {
    bytemuck::cast_slice(vector)
}

fn random_vector(rng: &mut fastrand::Rng, dims: usize) -> Vec<f32> {
    (0..dims).map(|_| rng.f32() * 4.0 - 2.0).collect()
}

/// Sum and sum of magnitudes of the terms, in double precision.
fn naive(a: &[f32], b: &[f32], term: impl Fn(f64, f64) -> f64) -> (f64, f64) {
    a.iter().zip(b).fold((0.0, 0.0), |(sum, magnitude), (&a, &b)| {
        let term = term(a.into(), b.into());
        (sum + term, magnitude + term.abs())
    })
}

/// Fails if `fast` is further from `(sum, magnitude)` than [`scalar::TOLERANCE`] allows.
#[track_caller]
fn assert_near(fast: f32, (sum, magnitude): (f64, f64)) {
    let bound = f64::from(scalar::TOLERANCE) * magnitude;
    assert!((f64::from(fast) - sum).abs() <= bound, "fast {fast}, slow {sum}, bound {bound}");
}

#[test]
#[should_panic(expected = "fast 1.01")]
fn a_wrong_sum_fails() {
    assert_near(1.01, (1.0, 1.0));
}

#[test]
#[should_panic(expected = "fast NaN")]
fn nan_fails() {
    assert_near(f32::NAN, (1.0, 1.0));
}

#[test]
fn kernels_agree_with_scalar_and_with_plain_sums() {
    let seed = fastrand::u64(..);
    println!("seed {seed}, {:?}", instruction_set());
    let mut rng = fastrand::Rng::with_seed(seed);
    for dims in lengths() {
        let query = random_vector(&mut rng, dims);
        let rows: Vec<Vec<f32>> = (0..11).map(|_| random_vector(&mut rng, dims)).collect();
        let slices: Vec<&[u8]> = rows.iter().map(|row| bytes_of(row)).collect();
        let (mut products, mut distances, mut own) = ([0.0; 11], [0.0; 11], [0.0; 11]);
        dots(&query, &slices, &mut products);
        squared_l2s(&query, &slices, &mut distances);
        norms(dims, &slices, &mut own);
        for (row_ix, row) in rows.iter().enumerate() {
            let product = naive(&query, row, |a, b| a * b);
            let distance = naive(&query, row, |a, b| (a - b) * (a - b));
            assert_near(products[row_ix], product);
            assert_near(scalar::dot(&query, slices[row_ix]), product);
            assert_near(distances[row_ix], distance);
            assert_near(scalar::squared_l2(&query, slices[row_ix]), distance);
            assert_near(own[row_ix], naive(row, row, |a, b| a * b));
            assert_near(scalar::norm(slices[row_ix]), naive(row, row, |a, b| a * b));
        }
    }
}

#[test]
fn every_way_to_compute_a_pair_gives_the_same_bits() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for dims in lengths() {
        let (num_queries, num_rows) = (rng.usize(1..11), rng.usize(1..15));
        let queries: Vec<Vec<f32>> = (0..num_queries).map(|_| random_vector(&mut rng, dims)).collect();
        let rows: Vec<Vec<f32>> = (0..num_rows).map(|_| random_vector(&mut rng, dims)).collect();
        let queries: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
        let slices: Vec<&[u8]> = rows.iter().map(|row| bytes_of(row)).collect();
        let (mut products, mut distances) = (vec![0.0; num_queries * num_rows], vec![0.0; num_queries * num_rows]);
        dots_block(&queries, &slices, &mut products);
        squared_l2s_block(&queries, &slices, &mut distances);
        for (query_ix, query) in queries.iter().enumerate() {
            let at = query_ix * num_rows..(query_ix + 1) * num_rows;
            let (mut by_row, mut with_norms, mut own, mut alone) =
                (vec![0.0; num_rows], vec![0.0; num_rows], vec![0.0; num_rows], vec![0.0; num_rows]);
            dots(query, &slices, &mut by_row);
            dots_and_norms(query, &slices, &mut with_norms, &mut own);
            norms(dims, &slices, &mut alone);
            assert_eq!(products[at.clone()], by_row, "dims {dims}");
            assert_eq!(with_norms, by_row, "dims {dims}");
            assert_eq!(own, alone, "dims {dims}");
            squared_l2s(query, &slices, &mut by_row);
            assert_eq!(distances[at], by_row, "dims {dims}");
            for (row_ix, row) in rows.iter().enumerate() {
                assert_eq!(dot(query, row).to_bits(), with_norms[row_ix].to_bits());
                assert_eq!(dot(row, query).to_bits(), with_norms[row_ix].to_bits());
                assert_eq!(squared_l2(query, row).to_bits(), by_row[row_ix].to_bits());
            }
        }
    }
}

#[test]
fn alignment_does_not_matter() {
    let mut rng = fastrand::Rng::with_seed(3);
    for dims in lengths() {
        let (query, row) = (random_vector(&mut rng, dims), random_vector(&mut rng, dims));
        let expected = (dot(&query, &row), squared_l2(&query, &row));
        for shift in 0..9 {
            let mut bytes = vec![0xAA; shift];
            bytes.extend_from_slice(bytes_of(&row));
            let (mut product, mut distance) = ([0.0], [0.0]);
            dots(&query, &[&bytes[shift..]], &mut product);
            squared_l2s(&query, &[&bytes[shift..]], &mut distance);
            assert_eq!((product[0], distance[0]), expected, "dims {dims}, shift {shift}");
        }
    }
}

#[test]
fn golden_values() {
    assert_eq!(dot(&[1.0, 2.0, 3.0], &[4.0, -5.0, 6.0]), 12.0);
    assert_eq!(squared_l2(&[1.0, 2.0, 3.0], &[4.0, -5.0, 6.0]), 67.0);
    assert!((cosine(&[1.0, 0.0], &[1.0, 1.0]) - std::f32::consts::FRAC_1_SQRT_2).abs() < 1e-6);
    assert_eq!(score_of_similarity(-1.0), 0.0);
    assert_eq!(score_of_similarity(1.0), 1.0);
    assert_eq!(score_of_similarity(-5.0), -2.0);
    assert_eq!(score_of_squared_l2(3.0), 0.25);
    assert_eq!(score_of_squared_l2(f32::INFINITY), 0.0);
    assert_eq!((dot(&[], &[]), squared_l2(&[], &[]), cosine(&[], &[])), (0.0, 0.0, 0.0));
}

#[test]
fn extreme_vectors_keep_their_cosine() {
    for dims in [1, 3, 8, 33, 384] {
        let ones = vec![1.0f32; dims];
        for scale in [1e-45f32, 1e-38, 1e-30, 1e-20, 1e-10, 1.0, 1e10, 1e19, 1e30, 3e38] {
            let scaled: Vec<f32> = ones.iter().map(|one| one * scale).collect();
            for (a, b) in [(&ones, &scaled), (&scaled, &ones), (&scaled, &scaled)] {
                let found = cosine(a, b);
                assert!((found - 1.0).abs() < 1e-5, "dims {dims}, scale {scale}: {found}");
            }
            let negative: Vec<f32> = scaled.iter().map(|x| -x).collect();
            assert!((cosine(&ones, &negative) + 1.0).abs() < 1e-5, "dims {dims}, scale {scale}");
        }
        let zero = vec![0.0f32; dims];
        assert_eq!(cosine(&zero, &ones), 0.0);
        assert_eq!(cosine(&ones, &zero), 0.0);
        assert_eq!(cosine(&zero, &zero), 0.0);
    }
}

#[test]
fn overflowing_products_are_never_nan() {
    for dims in [2, 16, 17, 384] {
        let huge = vec![3e38f32; dims];
        let mixed: Vec<f32> = (0..dims).map(|ix| if ix % 2 == 0 { 3e38 } else { -3e38 }).collect();
        assert_eq!(dot(&huge, &huge), f32::MAX);
        let negative: Vec<f32> = huge.iter().map(|x| -x).collect();
        assert_eq!(dot(&huge, &negative), f32::MIN);
        let balanced = dot(&huge, &mixed);
        assert!(balanced.is_finite(), "dims {dims}: {balanced}");
        assert!(score_of_similarity(f32::MAX).is_finite());
        assert_eq!(squared_l2(&huge, &negative), f32::INFINITY);
    }
}

#[test]
#[should_panic(expected = "bytes of a row")]
fn a_row_of_another_length_is_a_bug() {
    dot(&[1.0, 2.0], &[1.0]);
}

#[test]
fn keys_keep_the_order_of_scores() {
    let mut rng = fastrand::Rng::with_seed(5);
    let mut scores: Vec<f32> = (0..2000).map(|_| f32::from_bits(rng.u32(..))).filter(|s| !s.is_nan()).collect();
    scores.extend([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, -1e-45]);
    for pair in scores.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        assert_eq!(a.partial_cmp(&b), Some(score_key(a).cmp(&score_key(b))), "{a} and {b}");
        assert_eq!(key_score(score_key(a)), a);
        assert!(score_key(a) > score_key(f32::NAN));
    }
}
