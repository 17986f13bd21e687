//! One term alone, and conjunctions of terms: block by block of the rarest one.
//!
//! ```text
//! for each block of the rarest term whose bound, with the best of the others, passes the threshold:
//!     score all its documents
//!     keep those that could still get there; for each of the other terms, by rising cost:
//!         keep those that have the term and, with its score, could still get there
//!     offer what is left
//! ```
//! Groups of blocks are passed over by their own bound first; then the bounds of the other terms between the borders of
//! the block count. Where matches are counted as well, nothing is passed over.

#![forbid(unsafe_code)]

use crate::{
    codec::bitpack::BLOCK_LEN,
    error::Result,
    postings::END,
    query::scorer::{Scorer, term::TermScorer},
    topk::order,
};

use super::Ranking;

/// Blocks between two looks at the cancel flag.
const CANCEL_EVERY: u32 = 64;
/// Blocks of another term beside one of the rarest, up to which their own bounds are asked for: of more, some block will
/// be a good one.
const MAX_BLOCKS_BESIDE: u64 = 8;

/// One term, from a document on: blocks that cannot get there are not decoded.
pub(in crate::query) fn single(term: &mut TermScorer, from: u32, ranking: &mut Ranking<'_>) -> Result<()> {
    let (mut docs, mut scores) = ([0; BLOCK_LEN], [0.0; BLOCK_LEN]);
    if term.postings.is_short() {
        if term.advance(from) != END {
            let (mut threshold, count) = (ranking.top.threshold(), term.score_rest_of_block(&mut docs, &mut scores));
            for (&doc, &score) in docs[..count].iter().zip(&scores[..count]) {
                ranking.offer(doc, score, &mut threshold);
            }
        }
        return Ok(());
    }
    let mut threshold = ranking.first_threshold(std::slice::from_ref(term), u32::MAX);
    term.max_score();
    let mut target = from;
    for block in 1u32.. {
        target = term.next_promising(target, |bound| bound > threshold);
        let doc = if target == END { END } else { term.advance_to_promising(target) };
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
    order::by_key(terms, |term| term.cost());
    let (lead, others) = match terms {
        [] => return Ok(()),
        [term] => return single(term, from, ranking),
        [lead, others @ ..] => (lead, others),
    };
    lead.max_score();
    let max_scores: Vec<f32> = others.iter_mut().map(TermScorer::max_score).collect();
    let mut all_rest = vec![0.0; others.len() + 1];
    for place in (0..others.len()).rev() {
        all_rest[place] = all_rest[place + 1] + f64::from(max_scores[place]);
    }
    // What the terms from each place on can give at most, between the borders of the block.
    let mut rest = all_rest.clone();
    let is_dense: Vec<bool> = others.iter().map(|term| term.cost() <= lead.cost() * MAX_BLOCKS_BESIDE).collect();
    let mut bounds: Vec<f64> = max_scores.iter().map(|&max| f64::from(max)).collect();
    let has_dense = is_dense.contains(&true);
    let accepts_all = ranking.accept.all();
    let (mut docs, mut scores) = ([0; BLOCK_LEN], [0.0; BLOCK_LEN]);
    let mut sums = [0.0; BLOCK_LEN];
    let mut threshold = ranking.top.threshold();
    let mut target = from;
    for block in 1u32.. {
        let passes = |bound: f32, rest: &[f64]| (f64::from(bound) + rest[0]) as f32 > threshold;
        target = lead.next_promising(target, |bound| passes(bound, &all_rest));
        let doc = if target == END { END } else { lead.advance_to_promising(target) };
        if doc == END {
            return Ok(());
        }
        let (bound, last) = lead.bound_at(doc);
        if has_dense && threshold > f32::NEG_INFINITY && passes(bound, &all_rest) {
            let to = last.saturating_add(1);
            for (place, term) in others.iter_mut().enumerate().rev() {
                let bound = if is_dense[place] { term.bound_within(doc, to) } else { max_scores[place] };
                bounds[place] = f64::from(bound);
                rest[place] = rest[place + 1] + bounds[place];
            }
        }
        if !passes(bound, &rest) {
            target = last.saturating_add(1);
            continue;
        }
        let count = lead.score_rest_of_block(&mut docs, &mut scores);
        target = docs[count - 1].saturating_add(1);
        let mut len = 0;
        for ix in 0..count {
            let (doc, sum) = (docs[ix], f64::from(scores[ix]));
            (docs[len], sums[len]) = (doc, sum);
            len += usize::from((sum + rest[0]) as f32 > threshold && (accepts_all || ranking.accept.has(doc)));
        }
        for (place, term) in others.iter_mut().enumerate() {
            let bound = is_dense[place].then_some(bounds[place]);
            len = term.add_scores(&mut docs[..len], &mut sums, bound, rest[place + 1], threshold);
        }
        for (&doc, &sum) in docs[..len].iter().zip(&sums) {
            ranking.offer_accepted(doc, sum as f32, &mut threshold);
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

/// Documents with all terms, and how many of them count: in one pass, which passes over nothing.
pub(in crate::query) fn conjunction_and_count(terms: &mut [TermScorer], ranking: &mut Ranking<'_>) -> Result<u64> {
    order::by_key(terms, |term| term.cost());
    let Some((lead, others)) = terms.split_first_mut() else { return Ok(0) };
    let (mut docs, mut scores) = ([0; BLOCK_LEN], [0.0; BLOCK_LEN]);
    let mut sums = [0.0; BLOCK_LEN];
    let mut threshold = ranking.top.threshold();
    let accepts_all = ranking.accept.all();
    let (mut found, mut target) = (0, 0);
    for block in 1u32.. {
        if lead.advance(target) == END {
            break;
        }
        let count = lead.score_rest_of_block(&mut docs, &mut scores);
        target = docs[count - 1].saturating_add(1);
        let mut len = 0;
        for ix in 0..count {
            (docs[len], sums[len]) = (docs[ix], f64::from(scores[ix]));
            len += usize::from(accepts_all || ranking.accept.has(docs[ix]));
        }
        for term in others.iter_mut() {
            len = term.add_scores(&mut docs[..len], &mut sums, None, 0.0, f32::NEG_INFINITY);
        }
        found += len as u64;
        for (&doc, &sum) in docs[..len].iter().zip(&sums) {
            ranking.offer_accepted(doc, sum as f32, &mut threshold);
        }
        if others.iter().any(|term| term.is_at_end()) {
            break;
        }
        if block.is_multiple_of(CANCEL_EVERY) {
            ranking.cancel.check()?;
        }
    }
    Ok(found)
}
