//! Which growth of the curve loses least.

use super::curve::{Curve, MAX_GROWTH};

/// Growths compared first, in tenths, and how far apart.
const COARSE_STEP: usize = 20;
/// Steps from the best so far to both sides, one after another.
const FINE_STEPS: [u8; 4] = [10, 5, 2, 1];
/// Independent sums.
const LANES: usize = 8;

/// The growth, in tenths, with which `part` loses least on `max_level + 1` levels. An interval of one number has 0.
///
/// Coarse values first, then smaller and smaller steps: within a tenth of the best where the loss has one dent, as it
/// nearly always has.
pub(super) fn fit(part: &[f32], lower: f32, upper: f32, max_level: f32) -> u8 {
    let loss = |growth: u8| loss(part, &Curve::new(lower, upper, growth), max_level);
    if lower >= upper {
        return 0;
    }
    let mut best = (loss(0), 0);
    let mut offer = |growth: u8| {
        let lost = loss(growth);
        if lost < best.0 {
            best = (lost, growth);
        }
        best.1
    };
    let mut center = 0;
    for growth in (COARSE_STEP..=MAX_GROWTH.into()).step_by(COARSE_STEP) {
        center = offer(growth as u8);
    }
    for step in FINE_STEPS {
        let start = center;
        for growth in [start.saturating_sub(step), (start + step).min(MAX_GROWTH)] {
            center = offer(growth);
        }
    }
    center
}

/// Squared error, added in a fixed order.
pub(super) fn loss(part: &[f32], curve: &Curve, max_level: f32) -> f32 {
    let inverse = 1.0 / max_level;
    let error = |x: f32| {
        let level = (curve.place(x) * max_level + 0.5) as i32 as f32;
        let error = x - curve.component(level * inverse);
        error * error
    };
    let (chunks, tail) = part.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for chunk in chunks {
        for (sum, &x) in sums.iter_mut().zip(chunk) {
            *sum += error(x);
        }
    }
    sums.iter().sum::<f32>() + tail.iter().map(|&x| error(x)).sum::<f32>()
}
