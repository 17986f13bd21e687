//! 64 packed numbers at a time, with the instruction set of this machine.
//!
//! ```text
//! eight numbers of w bits are w bytes: numbers 0..4 start at byte 0, numbers 4..8 at byte w/2, by 4 bits if w is odd
//! four numbers: a load of 16 bytes; the four bytes that hold each one are moved to its lane, which is shifted and masked
//! ```
//! A number and the up to 7 bits before it fit a lane of 32 bits up to [`MAX_WIDTH`]. Numbers have to start on a byte.

#![cfg_attr(not(target_arch = "x86_64"), forbid(unsafe_code))]

#[cfg(target_arch = "x86_64")]
use super::lanes_avx2 as avx2;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::lanes_simd128 as simd128;

/// Numbers given at once: one word of a bit set.
pub(super) const GROUP: usize = 64;
/// Widest numbers that are read this way.
pub(super) const MAX_WIDTH: u8 = 25;
/// Numbers of a vector of 16 bytes.
pub(super) const QUAD: usize = 4;
/// Bytes of 64 numbers and of the load that begins last.
const BUFFER: usize = 208;

/// Where four numbers are in 16 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quad {
    /// The byte that comes to each place.
    pub bytes: [u8; 16],
    /// Bits in front of each number.
    pub shifts: [u32; QUAD],
}

/// How numbers of one width are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lanes {
    pub width: usize,
    pub mask: u32,
    /// Numbers 0..4 and 4..8 of eight.
    pub quads: [Quad; 2],
    kernels: Kernels,
}

#[derive(Debug, Clone, Copy)]
enum Kernels {
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128", not(test))))]
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128,
}

impl Kernels {
    /// The fastest ones that this machine can run.
    #[inline]
    fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            return Self::Avx2;
        }
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        return Self::Simd128;
        #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
        Self::Scalar
    }
}

impl Lanes {
    /// For a width from 1 to [`MAX_WIDTH`].
    pub fn new(width: u8) -> Option<Self> {
        if !(1..=MAX_WIDTH).contains(&width) {
            return None;
        }
        let width = usize::from(width);
        let quad = |first_bit: usize| {
            let mut quad = Quad { bytes: [0; 16], shifts: [0; QUAD] };
            for lane in 0..QUAD {
                let bit = first_bit + lane * width;
                quad.shifts[lane] = (bit % 8) as u32;
                (0..4).for_each(|byte| quad.bytes[4 * lane + byte] = (bit / 8 + byte) as u8);
            }
            quad
        };
        let quads = [quad(0), quad(width % 2 * 4)];
        Some(Self { width, mask: u32::MAX >> (32 - width), quads, kernels: Kernels::detect() })
    }

    /// Without SIMD: the twin of the others.
    #[cfg(test)]
    pub fn scalar(width: u8) -> Option<Self> {
        Self::new(width).map(|lanes| Self { kernels: Kernels::Scalar, ..lanes })
    }

    /// Bytes that kernels look at.
    fn span(&self) -> usize {
        7 * self.width + self.width / 2 + 16
    }

    /// Hands `packed` to a kernel, behind zeros where it is short.
    #[inline]
    fn padded<T>(&self, packed: &[u8], kernel: impl FnOnce(&[u8]) -> T) -> T {
        if let Some(enough) = packed.get(..self.span()) {
            return kernel(enough);
        }
        let mut buffer = [0; BUFFER];
        buffer[..packed.len()].copy_from_slice(packed);
        kernel(&buffer[..self.span()])
    }

    /// The 64 numbers at the front of `packed`; bits beyond its end are zero.
    #[inline]
    pub fn unpack(&self, packed: &[u8], values: &mut [u32; GROUP]) {
        self.padded(packed, |packed| match self.kernels {
            #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128", not(test))))]
            Kernels::Scalar => {
                values.iter_mut().enumerate().for_each(|(ix, value)| *value = self.number(packed, ix));
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `detect` makes this kind, where avx2 was detected.
            Kernels::Avx2 => unsafe { avx2::unpack(self, packed, values) },
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Kernels::Simd128 => simd128::unpack(self, packed, values),
        });
    }

    /// Which of the 64 numbers at the front of `packed` are in `from..=from + span`.
    #[inline]
    pub fn in_range(&self, packed: &[u8], from: u32, span: u32) -> u64 {
        self.padded(packed, |packed| match self.kernels {
            #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128", not(test))))]
            Kernels::Scalar => {
                let is_in = |ix| u64::from(self.number(packed, ix).wrapping_sub(from) <= span) << ix;
                (0..GROUP).map(is_in).fold(0, |bits, bit| bits | bit)
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `detect` makes this kind, where avx2 was detected.
            Kernels::Avx2 => unsafe { avx2::in_range(self, packed, from, span) },
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Kernels::Simd128 => simd128::in_range(self, packed, from, span),
        })
    }

    /// One of the numbers at the front of `packed`; 0 beyond its end.
    #[inline]
    pub fn number(&self, packed: &[u8], ix: usize) -> u32 {
        let bit = ix * self.width;
        let word = match packed.get(bit / 8..).and_then(|rest| rest.first_chunk()) {
            Some(word) => u32::from_le_bytes(*word),
            None => {
                let mut word = [0; 4];
                let rest = packed.get(bit / 8..).unwrap_or_default();
                word[..rest.len()].copy_from_slice(rest);
                u32::from_le_bytes(word)
            }
        };
        word >> (bit % 8) & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::pack::pack;

    #[test]
    fn every_width_gives_what_was_packed() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for width in 1..=MAX_WIDTH {
            let (fast, slow) = (Lanes::new(width).expect("a width"), Lanes::scalar(width).expect("a width"));
            for len in [GROUP, GROUP + 1, 2 * GROUP, 3, 0] {
                let mut expected: Vec<u64> = (0..len).map(|_| rng.u64(..) & u64::from(fast.mask)).collect();
                let mut bytes = Vec::new();
                pack(expected.iter().copied(), width, &mut bytes);
                expected.resize(GROUP.max(len), 0);
                let (mut found, mut twin) = ([0; GROUP], [0; GROUP]);
                fast.unpack(&bytes, &mut found);
                slow.unpack(&bytes, &mut twin);
                assert!(found.iter().zip(&expected).all(|(&a, &b)| u64::from(a) == b), "seed {seed}, width {width}");
                assert_eq!(found, twin, "seed {seed}, width {width}");
                let (a, b) = (rng.u32(..) & fast.mask, rng.u32(..) & fast.mask);
                let (from, to) = (a.min(b), a.max(b));
                let bits = (0..GROUP).filter(|&ix| (from..=to).contains(&found[ix])).fold(0, |bits, ix| bits | 1 << ix);
                assert_eq!(fast.in_range(&bytes, from, to - from), bits, "seed {seed}, width {width}, {from}..={to}");
                assert_eq!(slow.in_range(&bytes, from, to - from), bits, "seed {seed}, width {width}, {from}..={to}");
            }
        }
        assert!(Lanes::new(0).is_none() && Lanes::new(MAX_WIDTH + 1).is_none());
    }
}
