//! Scores as functions of a column: recency, popularity.
//!
//! ```text
//! decay        exp     exp(ln(decay) / scale * d)                    d = max(0, |value - origin| - offset)
//!              gauss   exp(ln(decay) / scale^2 * d^2)
//!              linear  max(0, 1 - (1 - decay) / scale * d)
//! log1p        ln(1 + factor * value)
//! saturation   value / (value + pivot)
//! linear       factor * value
//! ```
//!
//! As Elasticsearch's function score defines the decays; all of them are `decay` at `scale` from the origin. Values below
//! 0 count as 0 in the last three, so that no function is negative. Of several values of a document the one with the
//! highest result counts.

#![forbid(unsafe_code)]

use crate::{
    columns::{ColumnKind, value},
    ids::FieldOrd,
    query::Query,
};

/// Matches of a query, scored by a function of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionQuery {
    /// What matches.
    pub query: Box<Query>,
    /// A number, integer, bool or date field.
    pub field: FieldOrd,
    /// What its column holds.
    pub kind: ColumnKind,
    /// The function.
    pub function: ScoreFunction,
    /// Factor on its result, not negative.
    pub weight: f64,
    /// Its result, weight included, for documents without a value. Default: 1 where it multiplies, else 0.
    pub missing: Option<f64>,
    /// What becomes of the query's own score.
    pub mode: BoostMode,
}

/// What a function's result does to a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BoostMode {
    /// The score times it.
    #[default]
    Multiply,
    /// The score plus it.
    Sum,
    /// It alone.
    Replace,
}

/// How a decay falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecayShape {
    /// By the same factor over every distance.
    #[default]
    Exponential,
    /// Slowly near the origin, then fast.
    Gaussian,
    /// Evenly, down to 0.
    Linear,
}

/// A function of a value, never negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScoreFunction {
    /// 1 within `offset` of `origin`, `decay` at `scale` behind that.
    Decay {
        /// How it falls.
        shape: DecayShape,
        /// Where it is highest; milliseconds since 1970 for dates.
        origin: f64,
        /// Distance at which it is `decay`, above 0.
        scale: f64,
        /// Distance up to which it is 1.
        offset: f64,
        /// Between 0 and 1.
        decay: f64,
    },
    /// `ln(1 + factor * value)`.
    Log1p {
        /// Factor on the value, not negative.
        factor: f64,
    },
    /// `value / (value + pivot)`: a half at the pivot, never 1.
    Saturation {
        /// Above 0.
        pivot: f64,
    },
    /// `factor * value`.
    Linear {
        /// Not negative.
        factor: f64,
    },
}

/// Largest result: sums of scores stay finite.
const MAX_RESULT: f64 = 1e30;
/// What bounds are widened by: logarithms and powers are not monotone in their last digit.
const BOUND_SLACK: f64 = 1.0 + 1e-12;

impl ScoreFunction {
    /// The result for one value.
    pub fn of(&self, value: f64) -> f64 {
        let positive = value.max(0.0);
        let result = match *self {
            Self::Decay { shape, origin, scale, offset, decay } => {
                let distance = ((value - origin).abs() - offset).max(0.0);
                match shape {
                    DecayShape::Exponential => (decay.ln() / scale * distance).exp(),
                    DecayShape::Gaussian => (decay.ln() * (distance / scale) * (distance / scale)).exp(),
                    DecayShape::Linear => (1.0 - (1.0 - decay) / scale * distance).max(0.0),
                }
            }
            Self::Log1p { factor } => (factor * positive).ln_1p(),
            Self::Saturation { pivot } => positive / (positive + pivot),
            Self::Linear { factor } => factor * positive,
        };
        // NaN (infinity over infinity) counts as the most.
        if result < MAX_RESULT { result } else { MAX_RESULT }
    }

    /// No value from `least` to `greatest` gives more.
    pub fn bound(&self, least: f64, greatest: f64) -> f64 {
        let best = match *self {
            Self::Decay { origin, .. } => origin.max(least).min(greatest),
            Self::Log1p { .. } | Self::Saturation { .. } | Self::Linear { .. } => greatest,
        };
        self.of(best) * BOUND_SLACK
    }
}

/// A stored value as a number: dates in milliseconds, bools 0 and 1.
pub(super) fn number(kind: ColumnKind, stored: u64) -> f64 {
    match kind {
        ColumnKind::Number => value::decode_number(stored),
        ColumnKind::Integer | ColumnKind::Date => value::decode_integer(stored) as f64,
        ColumnKind::Bool | ColumnKind::Keyword => stored as f64,
    }
}

/// A function as scorers use it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BoundFunction {
    pub kind: ColumnKind,
    pub function: ScoreFunction,
    pub weight: f64,
    pub missing: f64,
    pub mode: BoostMode,
    /// Factor on results that are not multiplied with a score.
    pub scale: f64,
}

impl BoundFunction {
    pub fn new(query: &FunctionQuery, boost: f32) -> Self {
        let missing = query.missing.unwrap_or(if query.mode == BoostMode::Multiply { 1.0 } else { 0.0 });
        let FunctionQuery { kind, function, weight, mode, .. } = *query;
        Self { kind, function, weight, missing, mode, scale: f64::from(boost) }
    }

    /// The result for a document's stored values.
    pub fn of(&self, values: impl Iterator<Item = u64>) -> f64 {
        let results = values.map(|stored| self.function.of(number(self.kind, stored)));
        results.reduce(f64::max).map_or(self.missing, |result| (result * self.weight).min(MAX_RESULT))
    }

    /// The same at most, for values between two.
    pub fn bound(&self, least: u64, greatest: u64) -> f64 {
        (self.function.bound(number(self.kind, least), number(self.kind, greatest)) * self.weight).min(MAX_RESULT)
    }

    /// The score made of the query's own and the function's result. Falls with neither, and is finite.
    #[inline]
    pub fn combine(&self, score: f32, result: f64) -> f32 {
        let combined = match self.mode {
            BoostMode::Multiply => f64::from(score) * result,
            BoostMode::Sum => f64::from(score) + result * self.scale,
            BoostMode::Replace => result * self.scale,
        };
        combined.min(MAX_RESULT) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn decays_are_what_they_are_said_to_be_at_their_scale() {
        for shape in [DecayShape::Exponential, DecayShape::Gaussian, DecayShape::Linear] {
            let function = ScoreFunction::Decay { shape, origin: 100.0, scale: 10.0, offset: 5.0, decay: 0.3 };
            for (value, expected) in [(100.0, 1.0), (95.0, 1.0), (105.0, 1.0), (115.0, 0.3), (85.0, 0.3)] {
                assert!(close(function.of(value), expected), "{shape:?} {value}: {}", function.of(value));
            }
            // Twice the scale: the square, the fourth power, a straight line.
            let expected = match shape {
                DecayShape::Exponential => 0.09,
                DecayShape::Gaussian => 0.3f64.powi(4),
                DecayShape::Linear => 0.0,
            };
            assert!(close(function.of(125.0), expected), "{shape:?}");
        }
        assert!(close(ScoreFunction::Saturation { pivot: 8.0 }.of(8.0), 0.5));
        assert!(close(ScoreFunction::Log1p { factor: 2.0 }.of(3.0), 7f64.ln()));
        assert!(close(ScoreFunction::Linear { factor: 2.0 }.of(-3.0), 0.0));
    }

    #[test]
    fn bounds_hold() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..5000 {
            let mut any = || (rng.f64() - 0.4) * 10f64.powi(rng.i32(-2..6));
            let (origin, scale, a, b) = (any(), any().abs() + 1e-3, any(), any());
            let (least, greatest) = (a.min(b), a.max(b));
            let shape = [DecayShape::Exponential, DecayShape::Gaussian, DecayShape::Linear][rng.usize(0..3)];
            let function = match rng.u8(0..4) {
                0 => ScoreFunction::Decay { shape, origin, scale, offset: scale / 3.0, decay: 0.5 },
                1 => ScoreFunction::Log1p { factor: scale },
                2 => ScoreFunction::Saturation { pivot: scale },
                _ => ScoreFunction::Linear { factor: scale },
            };
            for _ in 0..10 {
                let value = least + rng.f64() * (greatest - least);
                let (found, bound) = (function.of(value), function.bound(least, greatest));
                assert!(found >= 0.0 && found <= bound, "seed {seed}: {function:?} {value} in {least}..{greatest}");
            }
        }
        assert!(ScoreFunction::Saturation { pivot: 1.0 }.of(f64::INFINITY) <= MAX_RESULT);
    }
}
