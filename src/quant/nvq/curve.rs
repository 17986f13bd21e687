//! The curve between components and levels.

/// Largest growth, in tenths.
pub(super) const MAX_GROWTH: u8 = 200;

/// 2^x for |x| up to 60: exact where x is an integer, linear in between.
#[inline(always)]
pub(super) fn power(x: f32) -> f32 {
    // Truncation rounds down what is not negative.
    const SHIFT: f32 = 64.0;
    let floor = (x + SHIFT) as i32 - SHIFT as i32;
    f32::from_bits(((floor + 127) as u32) << 23) * (1.0 + (x - floor as f32))
}

/// The inverse of [`power`], for positive normal numbers.
#[inline(always)]
pub(super) fn logarithm(x: f32) -> f32 {
    let bits = x.to_bits();
    let mantissa = f32::from_bits(bits & 0x007f_ffff | 0x3f80_0000);
    (bits >> 23) as i32 as f32 - 127.0 + (mantissa - 1.0)
}

/// Where a component lies between the ends of an interval, as seen by a curve: 0..=1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Curve {
    lower: f32,
    upper: f32,
    /// Where the curve bends.
    middle: f32,
    /// Half the length of the interval, which is always finite, and its inverse; 0 for an interval of one number.
    half: f32,
    inverse_half: f32,
    growth: f32,
    /// Of the interval's ends on the curve.
    start: f32,
    scale: f32,
    inverse_scale: f32,
}

/// Intervals shorter than this are one number: the inverse of their length would pass the range of f32.
const LEAST_HALF: f32 = 1e-37;

impl Curve {
    /// The curve of an interval with finite ends, `growth` in tenths.
    pub(super) fn new(lower: f32, upper: f32, growth: u8) -> Self {
        let half = upper * 0.5 - lower * 0.5;
        let half = if half > LEAST_HALF { half } else { 0.0 };
        let inverse_half = if half > 0.0 { 1.0 / half } else { 0.0 };
        let middle = if lower > 0.0 {
            lower
        } else if upper < 0.0 {
            upper
        } else {
            0.0
        };
        let growth = f32::from(growth.min(MAX_GROWTH)) * 0.1;
        let mut curve =
            Self { lower, upper, middle, half, inverse_half, growth, start: 0.0, scale: 1.0, inverse_scale: 1.0 };
        let (start, end) = (curve.bent(lower), curve.bent(upper));
        let length = end - start;
        (curve.start, curve.scale) = (start, length);
        curve.inverse_scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        curve
    }

    /// The component on the curve: t / (1 + t) with t = 2^(growth * (x - middle) / (upper - lower)), or itself, in parts of
    /// the interval, without growth.
    #[inline(always)]
    fn bent(&self, x: f32) -> f32 {
        let part = (x * 0.5 - self.middle * 0.5) * self.inverse_half;
        if self.growth == 0.0 {
            return part;
        }
        let t = power(self.growth * part);
        t / (1.0 + t)
    }

    /// 0 at the lower end, 1 at the upper one.
    #[inline(always)]
    pub(super) fn place(&self, x: f32) -> f32 {
        (self.bent(x) - self.start) * self.inverse_scale
    }

    /// The component at a place: the inverse of [`Self::place`], inside the interval.
    #[inline(always)]
    pub(super) fn component(&self, place: f32) -> f32 {
        let bent = self.start + place * self.scale;
        let part = if self.growth == 0.0 { bent } else { logarithm(bent / (1.0 - bent)) / self.growth };
        // In two halves, whose sum cannot pass the range of f32 before it is cut.
        let x = self.middle + part * self.half + part * self.half;
        if x < self.lower {
            self.lower
        } else if x > self.upper {
            self.upper
        } else {
            x
        }
    }
}
