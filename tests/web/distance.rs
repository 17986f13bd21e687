//! The simd128 kernels against the scalar ones, in the engines that run them.

use rangefind::{
    distance::{
        self, InstructionSet, TOLERANCE, dots, dots_and_norms, dots_block, instruction_set, norms,
        packed::{self, StripeQuery},
        scalar, squared_l2s, squared_l2s_block,
    },
    quant::osq::{Bits, pack_levels, row_len},
};
use wasm_bindgen_test::wasm_bindgen_test;

fn random(rng: &mut fastrand::Rng, dims: usize) -> Vec<f32> {
    (0..dims).map(|_| rng.f32() * 4.0 - 2.0).collect()
}

#[track_caller]
fn assert_near(fast: f32, slow: f32, magnitude: f32) {
    let bound = TOLERANCE * magnitude;
    assert!((fast - slow).abs() <= bound, "fast {fast}, slow {slow}, bound {bound}");
}

#[wasm_bindgen_test]
fn simd_agrees_with_scalar_at_every_length_and_alignment() {
    assert_eq!(instruction_set(), InstructionSet::Simd128);
    let mut rng = fastrand::Rng::with_seed(4);
    for dims in (0..=130).chain([300, 384, 768, 784, 1024, 1536]) {
        let shift = rng.usize(0..8);
        let query = random(&mut rng, dims);
        let rows: Vec<Vec<u8>> = (0..7)
            .map(|_| [vec![0xAA; shift], bytemuck::cast_slice(&random(&mut rng, dims)).to_vec()].concat())
            .collect();
        let rows: Vec<&[u8]> = rows.iter().map(|row| &row[shift..]).collect();
        let (mut products, mut distances, mut own, mut fused) = ([0.0; 7], [0.0; 7], [0.0; 7], [0.0; 7]);
        dots(&query, &rows, &mut products);
        squared_l2s(&query, &rows, &mut distances);
        norms(dims, &rows, &mut own);
        // Components are below 2, their differences below 4.
        for (row_ix, row) in rows.iter().enumerate() {
            assert_near(products[row_ix], scalar::dot(&query, row), 4.0 * dims as f32);
            assert_near(distances[row_ix], scalar::squared_l2(&query, row), scalar::squared_l2(&query, row));
            assert_near(own[row_ix], scalar::norm(row), scalar::norm(row));
        }
        dots_and_norms(&query, &rows, &mut fused, &mut own);
        assert_eq!(fused, products);
        let queries: Vec<Vec<f32>> = (0..5).map(|_| random(&mut rng, dims)).collect();
        let queries: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
        let (mut block, mut far) = (vec![0.0; 35], vec![0.0; 35]);
        dots_block(&queries, &rows, &mut block);
        squared_l2s_block(&queries, &rows, &mut far);
        for (query_ix, query) in queries.iter().enumerate() {
            dots(query, &rows, &mut products);
            squared_l2s(query, &rows, &mut distances);
            assert_eq!(block[query_ix * 7..][..7], products, "a pair has one result");
            assert_eq!(far[query_ix * 7..][..7], distances, "a pair has one result");
        }
    }
}

#[wasm_bindgen_test]
fn packed_products_equal_plain_sums() {
    let mut rng = fastrand::Rng::with_seed(5);
    for dims in (0..=130usize).chain([300, 384, 768, 784, 1024, 1536, 4096]) {
        let query: Vec<u8> = (0..dims).map(|_| rng.u8(0..16)).collect();
        let (len, stripes) = (rng.usize(0..40), StripeQuery::new(&query));
        let docs: Vec<Vec<u8>> = (0..len).map(|_| (0..dims).map(|_| rng.u8(0..4)).collect()).collect();
        for (bits, mask) in [(Bits::One, 1), (Bits::Two, 3), (Bits::Four, 3)] {
            let mut rows = Vec::new();
            let masked = docs.iter().map(|doc| doc.iter().map(|level| level & mask).collect::<Vec<u8>>());
            masked.for_each(|doc| pack_levels(&doc, bits, &mut rows));
            let mut found = vec![u32::MAX; len];
            match bits {
                Bits::One => packed::stripe_dots::<1>(&stripes, &rows, &mut found),
                Bits::Two => packed::stripe_dots::<2>(&stripes, &rows, &mut found),
                _ => {
                    let half = row_len(dims, bits);
                    let (low, high) = query.split_at(dims.div_ceil(2));
                    let padded = |levels: &[u8]| [levels, &vec![0; half - levels.len()]].concat();
                    packed::nibble_dots(&[padded(low), padded(high)].concat(), &rows, &mut found);
                }
            }
            let dot = |doc: &Vec<u8>| doc.iter().zip(&query).map(|(&a, &b)| u32::from(a & mask) * u32::from(b)).sum();
            let plain: Vec<u32> = docs.iter().map(dot).collect();
            assert_eq!(found, plain, "{dims} x {len}, {bits:?}");
        }
    }
    let mut found = [0; 33];
    packed::stripe_dots::<2>(&StripeQuery::new(&[15; 4096]), &[255; 1024 * 33], &mut found);
    assert_eq!(found, [4096 * 45; 33]);
}

#[wasm_bindgen_test]
fn extreme_vectors_keep_their_cosine() {
    for scale in [1e-45f32, 1e-30, 1.0, 1e30, 3e38] {
        let found = distance::cosine(&[scale; 33], &[1.0; 33]);
        assert!((found - 1.0).abs() < 1e-5, "scale {scale}: {found}");
    }
    assert_eq!(distance::cosine(&[0.0; 33], &[1.0; 33]), 0.0);
}
