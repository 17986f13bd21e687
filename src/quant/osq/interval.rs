//! The interval a vector is quantized on, and the codes it gives.

use super::pack::Bits;

/// Weight of the error across the vector; the rest weighs the error along it.
const LAMBDA: f64 = 0.1;
/// Coordinate descent stops after this many rounds; it converges in two or three.
const MAX_ROUNDS: usize = 5;
/// It also stops where neither end moves further than this.
const MIN_CHANGE: f64 = 1e-8;
/// Half-width of the best uniform quantizer of a standard normal variable with 1–8 bits, in standard deviations.
const NORMAL_HALF_WIDTH: [f64; 8] = [0.798, 1.493, 2.051, 2.514, 2.916, 3.278, 3.611, 3.922];

/// Where the lowest and the highest level of a vector's code lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Value of level 0.
    pub lower: f32,
    /// Value of level 2^bits - 1; equal to `lower` if all components are equal.
    pub upper: f32,
}

impl Interval {
    /// Distance of two levels; 0 for an empty interval.
    pub fn step(&self, bits: Bits) -> f32 {
        (self.upper - self.lower) / bits.max_level() as f32
    }
}

/// Sums of 8 independent lanes: vectorised without reassociation, so every target adds in the same order.
pub(super) fn lane_sum(values: &[f32], term: impl Fn(f32) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let (chunks, tail) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += term(value);
        }
    }
    let whole: f64 = lanes.iter().sum();
    whole + tail.iter().map(|&value| term(value)).sum::<f64>()
}

/// Fits the interval of a centred vector `x` by coordinate descent: levels for the interval, then the interval for
/// the levels, which is a two-by-two linear system. Any finite `x`; an empty or constant one gives a point.
pub fn fit_interval(x: &[f32], bits: Bits) -> Interval {
    let mut ends = x.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(min, max), &v| (min.min(v), max.max(v)));
    if x.is_empty() || ends.0 == ends.1 {
        ends.1 = if x.is_empty() { 0.0 } else { ends.1 };
        return Interval { lower: ends.1, upper: ends.1 };
    }
    let (min, max) = (f64::from(ends.0), f64::from(ends.1));
    let mean = lane_sum(x, f64::from) / x.len() as f64;
    let variance = lane_sum(x, |v| (f64::from(v) - mean).powi(2)) / x.len() as f64;
    let square = lane_sum(x, |v| f64::from(v) * f64::from(v));
    let half = NORMAL_HALF_WIDTH[bits.count() as usize - 1] * variance.sqrt();
    let start = ((mean - half).clamp(min, max), (mean + half).clamp(min, max));
    let along = (1.0 - LAMBDA) / square;
    if !along.is_finite() {
        return as_interval(start);
    }
    descend(x, start, bits, along)
}

fn as_interval((lower, upper): (f64, f64)) -> Interval {
    Interval { lower: lower as f32, upper: upper as f32 }
}

fn descend(x: &[f32], start: (f64, f64), bits: Bits, along: f64) -> Interval {
    let mut best = start;
    let mut best_loss = loss(x, best, bits, along);
    for _ in 0..MAX_ROUNDS {
        let Some(next) = solve(x, best, bits, along) else { break };
        let next_loss = loss(x, next, bits, along);
        if next_loss > best_loss || next_loss.is_nan() {
            break;
        }
        let change = (next.0 - best.0).abs().max((next.1 - best.1).abs());
        (best, best_loss) = (next, next_loss);
        if change < MIN_CHANGE {
            break;
        }
    }
    as_interval(best)
}

/// Level of `v` as a fraction of the interval, 0..=1.
#[inline(always)]
fn fraction(v: f64, (lower, upper): (f64, f64), inverse_step: f64, max_level: f64) -> f64 {
    (((v.max(lower).min(upper) - lower) * inverse_step + 0.5) as i32 as f64) / max_level
}

/// The best interval for the levels that `interval` gives, or `None` where the system is singular.
fn solve(x: &[f32], interval: (f64, f64), bits: Bits, along: f64) -> Option<(f64, f64)> {
    let max_level = f64::from(bits.max_level());
    let inverse_step = max_level / (interval.1 - interval.0);
    if !inverse_step.is_finite() {
        return None;
    }
    // daa = sum (1-s)^2, dab = sum s(1-s), dbb = sum s^2, dax = sum x(1-s), dbx = sum x s.
    let mut sums = [0.0; 5];
    for &value in x {
        let v = f64::from(value);
        let s = fraction(v, interval, inverse_step, max_level);
        let r = 1.0 - s;
        for (sum, term) in sums.iter_mut().zip([r * r, r * s, s * s, v * r, v * s]) {
            *sum += term;
        }
    }
    let [daa, dab, dbb, dax, dbx] = sums;
    let m0 = along * dax * dax + LAMBDA * daa;
    let m1 = along * dax * dbx + LAMBDA * dab;
    let m2 = along * dbx * dbx + LAMBDA * dbb;
    let determinant = m0 * m2 - m1 * m1;
    if determinant == 0.0 || !determinant.is_finite() {
        return None;
    }
    let (lower, upper) = ((m2 * dax - m1 * dbx) / determinant, (m0 * dbx - m1 * dax) / determinant);
    (lower < upper).then_some((lower, upper))
}

/// (1-L) (sum x (x-q))^2 / |x|^2 + L sum (x-q)^2, q the reconstruction.
pub(super) fn loss(x: &[f32], interval: (f64, f64), bits: Bits, along: f64) -> f64 {
    let max_level = f64::from(bits.max_level());
    let width = interval.1 - interval.0;
    let inverse_step = if width > 0.0 { max_level / width } else { 0.0 };
    let (mut parallel, mut square) = (0.0, 0.0);
    for &value in x {
        let v = f64::from(value);
        let error = v - (interval.0 + width * fraction(v, interval, inverse_step, max_level));
        parallel += v * error;
        square += error * error;
    }
    along * parallel * parallel + LAMBDA * square
}

/// Writes the level of each component and returns their sum.
pub fn assign_levels(x: &[f32], interval: Interval, bits: Bits, levels: &mut Vec<u8>) -> u32 {
    levels.clear();
    let (lower, upper) = (interval.lower, interval.upper);
    let width = upper - lower;
    let inverse_step = if width > 0.0 { bits.max_level() as f32 / width } else { 0.0 };
    let max = bits.max_level() as u8;
    levels.extend(x.iter().map(|&v| (((v.max(lower).min(upper) - lower) * inverse_step + 0.5) as u8).min(max)));
    levels.iter().map(|&level| u32::from(level)).sum()
}
