//! Decodes packed blocks with the instruction set of this machine, chosen once by whoever reads.
//!
//! Read [`bitpack`] first: it has the layout and the scalar twins of all that is here. `unpack_avx2` (native) and
//! `unpack_simd128` (wasm) are held against them at every width. On a busy Zen 3 a block takes 11–20 ns with AVX2
//! where the scalar code takes 30–45, with its prefix sum 34–55 where that takes 90–115; in Node 20, with simd128,
//! 25–35 ns and 47–58. Searching a decoded block with vectors was slower than seven steps without branches (7.7 and
//! 5.4 ns), so there is no such kernel.

#![cfg_attr(not(target_arch = "x86_64"), forbid(unsafe_code))]

#[cfg(target_arch = "x86_64")]
use super::unpack_avx2 as avx2;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::unpack_simd128 as simd128;
use super::{
    DecodeError,
    bitpack::{self, BLOCK_LEN},
};

/// How blocks are decoded here. Cheap to copy; all give the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpacker(Kernels);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kernels {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128,
}

impl Default for Unpacker {
    fn default() -> Self {
        Self::detect()
    }
}

impl Unpacker {
    /// The fastest one that this machine can run.
    #[inline]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        // The standard library detects once and answers from a static.
        if is_x86_feature_detected!("avx2") {
            return Self(Kernels::Avx2);
        }
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        return Self(Kernels::Simd128);
        #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
        Self(Kernels::Scalar)
    }

    /// The one without SIMD: what the others are compared with.
    pub fn scalar() -> Self {
        Self(Kernels::Scalar)
    }

    /// Unpacks a block; `packed` may be longer than the block.
    ///
    /// # Errors
    /// If the width is above 32 or the bytes are too few.
    #[inline]
    pub fn unpack(self, packed: &[u8], bits: u8, values: &mut [u32; BLOCK_LEN]) -> Result<(), DecodeError> {
        let packed = bitpack::block(packed, bits)?;
        match self.0 {
            Kernels::Scalar => bitpack::unpack_block(packed, bits, values),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `detect` makes this kind, where avx2 was detected.
            Kernels::Avx2 => unsafe { avx2::unpack(packed, bits, values) },
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Kernels::Simd128 => simd128::unpack(packed, bits, values),
        }
        Ok(())
    }

    /// Unpacks a block of gaps minus one to the numbers they lead to: [`Self::unpack`], then [`Self::prefix_sum`], in
    /// one pass.
    ///
    /// # Errors
    /// As [`Self::unpack`].
    #[inline]
    pub fn unpack_sums(
        self,
        packed: &[u8],
        bits: u8,
        base: u32,
        values: &mut [u32; BLOCK_LEN],
    ) -> Result<(), DecodeError> {
        let packed = bitpack::block(packed, bits)?;
        match self.0 {
            Kernels::Scalar => {
                bitpack::unpack_block(packed, bits, values);
                bitpack::prefix_sum(base, values);
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `detect` makes this kind, where avx2 was detected.
            Kernels::Avx2 => unsafe { avx2::unpack_sums(packed, bits, base, values) },
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Kernels::Simd128 => simd128::unpack_sums(packed, bits, base, values),
        }
        Ok(())
    }

    /// See [`bitpack::prefix_sum`].
    #[inline]
    pub fn prefix_sum(self, base: u32, values: &mut [u32; BLOCK_LEN]) {
        match self.0 {
            Kernels::Scalar => bitpack::prefix_sum(base, values),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `detect` makes this kind, where avx2 was detected.
            Kernels::Avx2 => unsafe { avx2::prefix_sum(base, values) },
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Kernels::Simd128 => simd128::prefix_sum(base, values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_scalar_twin_at_every_width() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let (fast, scalar) = (Unpacker::detect(), Unpacker::scalar());
        for bits in 0..=32u8 {
            for round in 0..40 {
                let mask = if round % 3 == 0 { u32::MAX } else { random.u32(..) };
                let values: [u32; BLOCK_LEN] = std::array::from_fn(|_| random.u32(..) & mask);
                let mut packed = Vec::new();
                bitpack::pack(&values, bits, &mut packed);
                let (mut expected, mut found, base) = ([1; BLOCK_LEN], [2; BLOCK_LEN], random.u32(..));
                scalar.unpack(&packed, bits, &mut expected).unwrap();
                fast.unpack(&packed, bits, &mut found).unwrap();
                assert_eq!(found, expected, "width {bits}");
                scalar.prefix_sum(base, &mut expected);
                fast.prefix_sum(base, &mut found);
                assert_eq!(found, expected, "sums, width {bits}");
                for unpacker in [fast, scalar] {
                    found.fill(3);
                    unpacker.unpack_sums(&packed, bits, base, &mut found).unwrap();
                    assert_eq!(found, expected, "unpacked sums, width {bits}");
                }
                if bits > 0 {
                    packed.pop();
                    assert!(fast.unpack(&packed, bits, &mut found).is_err());
                    assert!(fast.unpack_sums(&packed, bits, base, &mut found).is_err());
                }
            }
        }
        assert!(fast.unpack(&[0; 1000], 33, &mut [0; BLOCK_LEN]).is_err());
    }
}
