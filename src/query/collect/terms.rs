//! One term alone, and conjunctions of terms: block by block of the rarest one.
//!
//! ```text
//! for each block of the rarest term whose bound, with the best of the others, passes the threshold:
//!     score all its documents
//!     keep those that could still get there; for each of the other terms, by rising cost:
//!         keep those that have the term and, with its score, could still get there
//!     offer what is left
//! ```
//! Groups of blocks are passed over by their own bound first.

#![forbid(unsafe_code)]

use crate::{
    codec::bitpack::BLOCK_LEN,
    error::Result,
    postings::END,
    query::scorer::{Scorer, term::TermScorer},
};

use super::Ranking;

/// Blocks between two looks at the cancel flag.
const CANCEL_EVERY: u32 = 64;

/// One term, from a document on: blocks that cannot get there are not decoded.
pub(super) fn single(term: &mut TermScorer, from: u32, ranking: &mut Ranking<'_>) -> Result<()> {
    let (mut docs, mut scores) = ([0; BLOCK_LEN], [0.0; BLOCK_LEN]);
    let mut threshold = ranking.top.threshold();
    term.max_score();
    let mut target = from;
    for block in 1u32.. {
        target = term.next_promising(target, |bound| bound > threshold);
        let doc = if target == END { END } else { term.advance(target) };
        if doc == END {
            return Ok(());
        }
        // The document may be in a later block than the target.
        let (bound, last) = term.bound_at(doc);
        if bound <= threshold {
            target = last.saturating_add(1);
            continue;
        }
        let count = term.score_rest_of_block(&mut docs, &mut scores);
        for (&doc, &score) in docs[..count].iter().zip(&scores[..count]) {
            ranking.offer(doc, score, &mut threshold);
        }
        target = docs[count - 1].saturating_add(1);
        if block.is_multiple_of(CANCEL_EVERY) {
            ranking.cancel.check()?;
        }
    }
    Ok(())
}

/// Documents with all terms, from one on.
pub(in crate::query) fn conjunction(terms: &mut [TermScorer], from: u32, ranking: &mut Ranking<'_>) -> Result<()> {
    terms.sort_by_key(|term| term.cost());
    let (lead, others) = match terms {
        [] => return Ok(()),
        [term] => return single(term, from, ranking),
        [lead, others @ ..] => (lead, others),
    };
    lead.max_score();
    // What the terms from each place on can give at most.
    let mut rest: Vec<f64> = others.iter_mut().map(|term| f64::from(term.max_score())).collect();
    rest.push(0.0);
    for place in (0..rest.len() - 1).rev() {
        rest[place] += rest[place + 1];
    }
    let (mut docs, mut scores) = ([0; BLOCK_LEN], [0.0; BLOCK_LEN]);
    let mut sums = [0.0; BLOCK_LEN];
    let mut threshold = ranking.top.threshold();
    let mut target = from;
    for block in 1u32.. {
        let passes = |bound: f32| (f64::from(bound) + rest[0]) as f32 > threshold;
        target = lead.next_promising(target, passes);
        let doc = if target == END { END } else { lead.advance(target) };
        if doc == END {
            return Ok(());
        }
        let (bound, last) = lead.bound_at(doc);
        if !passes(bound) {
            target = last.saturating_add(1);
            continue;
        }
        let count = lead.score_rest_of_block(&mut docs, &mut scores);
        target = docs[count - 1].saturating_add(1);
        let mut len = 0;
        for ix in 0..count {
            let (doc, sum) = (docs[ix], f64::from(scores[ix]));
            (docs[len], sums[len]) = (doc, sum);
            len += usize::from((sum + rest[0]) as f32 > threshold);
        }
        for (term, &rest) in others.iter_mut().zip(&rest[1..]) {
            len = term.add_scores(&mut docs[..len], &mut sums, rest, threshold);
        }
        for (&doc, &sum) in docs[..len].iter().zip(&sums) {
            ranking.offer(doc, sum as f32, &mut threshold);
        }
        if others.iter().any(|term| term.is_at_end()) {
            return Ok(());
        }
        if block.is_multiple_of(CANCEL_EVERY) {
            ranking.cancel.check()?;
        }
    }
    Ok(())
}
