//! Half-precision floats (binary16 of IEEE 754) from and to single precision, rounding to the nearest, ties to even.
//!
//! The loops have no branch that depends on a value, so compilers vectorise them; on x86-64 they are compiled a second
//! time with AVX2. Conversions round in one way only, so every target gives the same bits.

#![allow(clippy::cast_possible_truncation, reason = "half-precision bits are the low 16 of the word they are made in")]

/// Magnitudes from here on are no half-precision number: they would round to infinity.
pub const HALF_LIMIT: f32 = 65520.0;

/// 2^112: moves the exponent of a half-precision float, shifted into place, to that of single precision.
const UP: f32 = f32::from_bits((127 + 112) << 23);
/// Adding it to a magnitude below 2^-14 leaves the bits of a subnormal at the end, rounded as additions are.
const SUBNORMAL: f32 = 0.5;
/// Magnitudes below are subnormal: 2^-14.
const LEAST_NORMAL: u32 = (127 - 14) << 23;

/// One number; magnitudes of [`HALF_LIMIT`] and more, and NaN, become infinity.
#[inline(always)]
pub fn half_of(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    let subnormal = (f32::from_bits(magnitude) + SUBNORMAL).to_bits().wrapping_sub(SUBNORMAL.to_bits());
    // Half of the last place that stays, less one unless that is odd; the exponent is moved in the same addition.
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add(odd) >> 13;
    let finite = if magnitude < LEAST_NORMAL { subnormal } else { normal };
    let half = if magnitude < HALF_LIMIT.to_bits() { finite } else { 0x7c00 };
    (sign | half) as u16
}

/// The number that half-precision bits are: exact. Infinity and NaN, which no writer writes, give 65536 and more.
#[inline(always)]
pub fn float_of(half: u16) -> f32 {
    let bits = u32::from(half);
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * UP;
    f32::from_bits(magnitude.to_bits() | (bits & 0x8000) << 16)
}

/// Appends `values` as little-endian half-precision floats.
pub fn append_halves(values: &[f32], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + values.len() * 2, 0);
    let (halves, _) = out[start..].as_chunks_mut::<2>();
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: avx2 was detected on this CPU just above.
        unsafe { x86::to_halves(values, halves) };
        return;
    }
    to_halves(values, halves);
}

/// Reads little-endian half-precision floats; `out` is as long.
///
/// # Panics
/// If it is not.
pub fn read_halves(bytes: &[u8], out: &mut [f32]) {
    let (halves, rest) = bytes.as_chunks::<2>();
    assert!(rest.is_empty() && halves.len() == out.len(), "two bytes per number");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: avx2 was detected on this CPU just above.
        unsafe { x86::from_halves(halves, out) };
        return;
    }
    from_halves(halves, out);
}

#[inline(always)]
fn to_halves(values: &[f32], out: &mut [[u8; 2]]) {
    values.iter().zip(out).for_each(|(&value, out)| *out = half_of(value).to_le_bytes());
}

#[inline(always)]
fn from_halves(halves: &[[u8; 2]], out: &mut [f32]) {
    halves.iter().zip(out).for_each(|(&half, out)| *out = float_of(u16::from_le_bytes(half)));
}

/// The same loops for x86-64 with AVX2.
#[cfg(target_arch = "x86_64")]
mod x86 {
    #[target_feature(enable = "avx2")]
    pub(super) fn to_halves(values: &[f32], out: &mut [[u8; 2]]) {
        super::to_halves(values, out);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn from_halves(halves: &[[u8; 2]], out: &mut [f32]) {
        super::from_halves(halves, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of half-precision bits by their definition, in double precision.
    fn plain(half: u16) -> f64 {
        let (exponent, mantissa) = (i32::from(half >> 10 & 31), f64::from(half & 1023));
        let magnitude = match exponent {
            0 => mantissa * 2f64.powi(-24),
            _ => (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
        };
        if half >> 15 == 1 { -magnitude } else { magnitude }
    }

    #[test]
    fn every_half_is_exact_and_comes_back() {
        for half in (0..0x7c00u16).flat_map(|half| [half, half | 0x8000]) {
            let float = float_of(half);
            assert_eq!(f64::from(float), plain(half), "{half:04x}");
            assert_eq!(half_of(float), half, "{half:04x}");
        }
    }

    #[test]
    fn numbers_round_to_the_nearest_ties_to_even() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        for half in 0..0x7bffu16 {
            let (low, high) = (plain(half), plain(half + 1));
            let middle = ((low + high) / 2.0) as f32;
            let even = if half % 2 == 0 { half } else { half + 1 };
            assert_eq!(half_of(middle), even, "{half:04x}");
            assert_eq!(half_of(-middle), even | 0x8000);
            assert_eq!(half_of(f32::from_bits(middle.to_bits() - 1)), half);
            assert_eq!(half_of(f32::from_bits(middle.to_bits() + 1)), half + 1);
            let between = (low + (high - low) * rng.f64()) as f32;
            let nearest = if f64::from(between) - low < high - f64::from(between) { half } else { half + 1 };
            assert!(half_of(between) == nearest || f64::from(between) * 2.0 == low + high);
        }
        assert_eq!(half_of(65519.996), 0x7bff);
        for infinite in [HALF_LIMIT, f32::MAX, f32::INFINITY, f32::NAN] {
            assert_eq!(half_of(infinite) & 0x7fff, 0x7c00);
        }
        assert_eq!((half_of(1e-30), half_of(-1e-30)), (0, 0x8000));
        assert!(float_of(0x7c00) >= 65536.0 && float_of(0x7e01) >= 65536.0);
    }

    #[test]
    fn slices_are_converted_number_by_number() {
        let mut rng = fastrand::Rng::with_seed(5);
        for len in (0..=130).chain([300, 384, 768, 4096]) {
            let values: Vec<f32> = (0..len).map(|_| (rng.f32() - 0.5) * 10f32.powi(rng.i32(-9..5))).collect();
            let mut bytes = vec![7];
            append_halves(&values, &mut bytes);
            let mut back = vec![0.0; len];
            read_halves(&bytes[1..], &mut back);
            for (ix, (&value, &back)) in values.iter().zip(&back).enumerate() {
                assert_eq!(bytes[1 + 2 * ix..][..2], half_of(value).to_le_bytes());
                assert_eq!(back, float_of(half_of(value)));
            }
        }
    }
}
