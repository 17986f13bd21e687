//! Scorers: iterators over matching documents, ascending, with a score for the current one.
//!
//! [`term::TermScorer`] is the leaf that bulk collectors know by type; everything else combines through [`Scorer`].
//! Errors of damaged bytes do not show here: they end an iteration and are found in the plan's `Damage`.

pub(super) mod and;
pub(super) mod boolean;
mod bounds;
pub(super) mod column;
pub(super) mod function;
pub(super) mod or;
pub(super) mod phrase;
pub(super) mod sets;
mod sloppy;
pub(super) mod term;
#[cfg(test)]
mod tests;

/// An iterator over documents. Stands in front of the first one until moved; [`crate::postings::END`] is behind the
/// last one.
pub(super) trait Scorer {
    /// The current document.
    fn doc(&self) -> u32;
    /// Goes to the next document.
    fn next(&mut self) -> u32;
    /// Goes to the first document at or above `target`; stays if it is there already.
    fn advance(&mut self, target: u32) -> u32;
    /// The score of the current document; asked for at most once.
    fn score(&mut self) -> f32;
    /// The score before it is rounded to single precision, where it is a sum; a part of a larger sum is not rounded.
    fn part_score(&mut self) -> f64 {
        f64::from(self.score())
    }
    /// Documents it will give at most, about.
    fn cost(&self) -> u64;
    /// Goes to the first document at or above `target` that may match; [`Self::confirm`] says whether it does. Whoever
    /// moves a scorer does so either with this alone, or with [`Self::next`] and [`Self::advance`] alone.
    fn advance_candidate(&mut self, target: u32) -> u32 {
        self.advance(target)
    }
    /// Whether the candidate matches; asked for at most once. Its score may be asked for only if it does.
    fn confirm(&mut self) -> bool {
        true
    }
    /// No document of `from..to` scores higher, of those not behind it; asked for once it was moved. Windows may overlap.
    fn bound(&mut self, from: u32, to: u32) -> f32 {
        let _ = (from, to);
        f32::INFINITY
    }
    /// No document scores higher; asked for once it was moved.
    fn max_score(&mut self) -> f32 {
        f32::INFINITY
    }
    /// Where a window that starts at `target` best ends, exclusively: bounds beyond it may be higher. Above `target`.
    fn window_end(&mut self, target: u32) -> u32 {
        let _ = target;
        crate::postings::END
    }
    /// From now on documents that score no higher than `min` may be left out.
    fn set_min_score(&mut self, min: f32) {
        let _ = min;
    }
    /// How dear confirming is, to ask the cheapest first; 0 if every candidate matches.
    fn confirm_cost(&self) -> u32 {
        0
    }
}

pub(super) type BoxScorer = Box<dyn Scorer>;
