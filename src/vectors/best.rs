//! The best documents where each is offered several times: with its best score, once.

use std::collections::{BTreeSet, HashMap};

use crate::{distance::score_key, ids::DocOrd, topk::Scored};

/// Keeps the best `k` documents of scores offered in any order.
///
/// A document that fell out comes back if it is offered with a score that is good enough, so the result is that of
/// keeping every document's best score.
#[derive(Debug)]
pub(super) struct BestDocs {
    k: usize,
    scores: HashMap<DocOrd, f32>,
    /// Worst first: key of the score, then documents descending.
    order: BTreeSet<(u32, std::cmp::Reverse<DocOrd>)>,
}

impl BestDocs {
    pub(super) fn new(k: usize) -> Self {
        Self { k, scores: HashMap::new(), order: BTreeSet::new() }
    }

    pub(super) fn push(&mut self, score: f32, doc: DocOrd) {
        let entry = (score_key(score), std::cmp::Reverse(doc));
        if self.order.len() == self.k && self.order.first().is_none_or(|worst| entry <= *worst) {
            return;
        }
        if let Some(known) = self.scores.get_mut(&doc) {
            if score > *known {
                self.order.remove(&(score_key(*known), std::cmp::Reverse(doc)));
                *known = score;
                self.order.insert(entry);
            }
            return;
        }
        self.scores.insert(doc, score);
        self.order.insert(entry);
        if self.order.len() > self.k
            && let Some((_, worst)) = self.order.pop_first()
        {
            self.scores.remove(&worst.0);
        }
    }

    /// Best first, ties by ascending document.
    pub(super) fn into_sorted_vec(self) -> Vec<Scored<DocOrd>> {
        let docs = self.order.iter().rev().map(|(_, doc)| doc.0);
        docs.map(|doc| Scored { score: self.scores[&doc], ord: doc }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topk::TopK;

    #[test]
    fn agrees_with_the_best_score_of_every_document() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..300 {
            let (k, docs) = (rng.usize(0..12), rng.u32(1..30));
            let (mut own, mut all) = (BestDocs::new(k), HashMap::new());
            for _ in 0..rng.usize(0..120) {
                let (doc, score) = (DocOrd(rng.u32(0..docs)), f32::from(rng.i8(-9..9)));
                own.push(score, doc);
                let best = all.entry(doc).or_insert(score);
                *best = score.max(*best);
            }
            let mut top = TopK::new(k);
            all.into_iter().for_each(|(doc, score)| {
                top.push(score, doc);
            });
            assert_eq!(own.into_sorted_vec(), top.into_sorted_vec());
        }
    }
}
