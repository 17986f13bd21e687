//! The simd128 decoders against the scalar ones, in the engines that run them.

use rangefind::codec::{
    Unpacker,
    bitpack::{self, BLOCK_LEN},
};
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
fn simd_decodes_as_scalar_code_does_at_every_width() {
    let (fast, scalar) = (Unpacker::detect(), Unpacker::scalar());
    assert_ne!(fast, scalar, "this build has simd128");
    let mut random = fastrand::Rng::with_seed(6);
    for bits in 0..=32u8 {
        for _ in 0..20 {
            let values: [u32; BLOCK_LEN] = std::array::from_fn(|_| random.u32(..));
            let mut packed = Vec::new();
            bitpack::pack(&values, bits, &mut packed);
            let (mut expected, mut found, base) = ([1; BLOCK_LEN], [2; BLOCK_LEN], random.u32(..));
            scalar.unpack(&packed, bits, &mut expected).unwrap();
            fast.unpack(&packed, bits, &mut found).unwrap();
            assert_eq!(found, expected, "width {bits}");
            scalar.prefix_sum(base, &mut expected);
            fast.prefix_sum(base, &mut found);
            assert_eq!(found, expected, "sums, width {bits}");
            fast.unpack_sums(&packed, bits, base, &mut found).unwrap();
            assert_eq!(found, expected, "unpacked sums, width {bits}");
        }
    }
}
