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
    match beginning(x, bits) {
        Ok((start, square, along)) if bits == Bits::One => OneBit::new(x, square, along).descend(start),
        Ok((start, _, along)) => descend(x, start, bits, along),
        Err(interval) => interval,
    }
}

/// The same without the way of one bit.
#[cfg(test)]
pub(super) fn fit_in_general(x: &[f32], bits: Bits) -> Interval {
    beginning(x, bits).map_or_else(|interval| interval, |(start, _, along)| descend(x, start, bits, along))
}

/// Where a descent begins, the squared norm, and what the error along the vector weighs; or the interval, where there is
/// nothing to descend.
fn beginning(x: &[f32], bits: Bits) -> Result<((f64, f64), f64, f64), Interval> {
    let square = lane_sum(x, |v| f64::from(v) * f64::from(v));
    if !square.is_finite() {
        // Something of it left the range of f32: it says nothing, and does no harm.
        return Err(Interval { lower: 0.0, upper: 0.0 });
    }
    // By hand, here and for levels: in wasm `f32::min` is a call.
    let wider = |(min, max): (f32, f32), &v: &f32| (if v < min { v } else { min }, if v > max { v } else { max });
    let mut ends = x.iter().fold((f32::INFINITY, f32::NEG_INFINITY), wider);
    if x.is_empty() || ends.0 == ends.1 {
        ends.1 = if x.is_empty() { 0.0 } else { ends.1 };
        return Err(Interval { lower: ends.1, upper: ends.1 });
    }
    let (min, max) = (f64::from(ends.0), f64::from(ends.1));
    let mean = lane_sum(x, f64::from) / x.len() as f64;
    let variance = lane_sum(x, |v| (f64::from(v) - mean).powi(2)) / x.len() as f64;
    let half = NORMAL_HALF_WIDTH[bits.count() as usize - 1] * variance.sqrt();
    let start = ((mean - half).clamp(min, max), (mean + half).clamp(min, max));
    let along = (1.0 - LAMBDA) / square;
    if !along.is_finite() {
        return Err(as_interval(start));
    }
    Ok((start, square, along))
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

/// The same descent with two levels: what a round takes follows from how many components are nearer to the upper end, and
/// their sum, so that it passes over them once and computes nothing else for each.
struct OneBit<'x> {
    x: &'x [f32],
    sum: f64,
    square: f64,
    along: f64,
}

impl<'x> OneBit<'x> {
    fn new(x: &'x [f32], square: f64, along: f64) -> Self {
        Self { x, sum: lane_sum(x, f64::from), square, along }
    }

    fn descend(&self, start: (f64, f64)) -> Interval {
        let mut best = start;
        let mut upper = self.upper_half(best);
        let mut best_loss = self.loss(best, upper);
        for _ in 0..MAX_ROUNDS {
            let (count, sum) = upper;
            let sums = [self.x.len() as f64 - count, 0.0, count, self.sum - sum, sum];
            let Some(next) = solve_sums(sums, self.along) else { break };
            upper = self.upper_half(next);
            let next_loss = self.loss(next, upper);
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

    /// Number and sum of the components that are nearer to the upper end.
    fn upper_half(&self, (lower, upper): (f64, f64)) -> (f64, f64) {
        let middle = ((lower + upper) / 2.0) as f32;
        let count = lane_sum(self.x, |value| if value >= middle { 1.0 } else { 0.0 });
        (count, lane_sum(self.x, |value| if value >= middle { f64::from(value) } else { 0.0 }))
    }

    /// What [`loss`] says.
    fn loss(&self, (lower, upper): (f64, f64), (count, sum): (f64, f64)) -> f64 {
        let along = lower * (self.sum - sum) + upper * sum;
        let own = lower * lower * (self.x.len() as f64 - count) + upper * upper * count;
        self.along * (self.square - along).powi(2) + LAMBDA * (self.square - 2.0 * along + own)
    }
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
    solve_sums(sums, along)
}

/// The same from the sums daa, dab, dbb, dax and dbx.
fn solve_sums([daa, dab, dbb, dax, dbx]: [f64; 5], along: f64) -> Option<(f64, f64)> {
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
    let clamped = |v: f32| {
        if v < lower {
            lower
        } else if v > upper {
            upper
        } else {
            v
        }
    };
    levels.extend(x.iter().map(|&v| (((clamped(v) - lower) * inverse_step + 0.5) as u8).min(max)));
    levels.iter().map(|&level| u32::from(level)).sum()
}
