//! Scorers with a minimum score against looking at every document: what passes is given, with the same score.

use std::collections::BTreeMap;

use super::{
    BoxScorer, Scorer,
    and::{Adds, AndScorer},
    boolean::{Combine, ExcludeScorer, OptionalScorer},
    or::OrScorer,
};
use crate::postings::END;

/// Documents with scores, and bounds that are exact in every window.
struct Listed {
    list: Vec<(u32, f32)>,
    /// Behind the current entry; 0 before the first.
    next: usize,
}

impl Listed {
    fn current(&self) -> Option<&(u32, f32)> {
        self.list.get(self.next.checked_sub(1)?)
    }
}

impl Scorer for Listed {
    fn doc(&self) -> u32 {
        self.current().map_or(END, |entry| entry.0)
    }

    fn next(&mut self) -> u32 {
        self.next = (self.next + 1).min(self.list.len() + 1);
        self.doc()
    }

    fn advance(&mut self, target: u32) -> u32 {
        while self.next <= self.list.len() && (self.next == 0 || self.doc() < target) {
            self.next();
        }
        self.doc()
    }

    fn score(&mut self) -> f32 {
        self.current().map_or(0.0, |entry| entry.1)
    }

    fn cost(&self) -> u64 {
        self.list.len() as u64
    }

    fn bound(&mut self, from: u32, to: u32) -> f32 {
        assert!(self.next > 0, "asked for before it was moved");
        let from = from.max(self.doc());
        let inside = self.list.iter().filter(|entry| entry.0 >= from && entry.0 < to);
        inside.map(|entry| entry.1).fold(f32::NEG_INFINITY, f32::max)
    }

    fn max_score(&mut self) -> f32 {
        self.list.iter().map(|entry| entry.1).fold(0.0, f32::max)
    }

    fn window_end(&mut self, target: u32) -> u32 {
        target + 100
    }
}

type Scores = BTreeMap<u32, f32>;

const MAX_DOC: u32 = 4000;

fn leaf(random: &mut fastrand::Rng) -> (BoxScorer, Scores) {
    let share = [1, 1, 4, 40, 400][random.usize(0..5)];
    // Some stretches are better than others, so that bounds differ.
    let highs: Vec<f32> = (0..12).map(|_| random.f32() * [0.2, 1.0, 4.0][random.usize(0..3)]).collect();
    let docs = (0..MAX_DOC).filter(|_| random.u32(0..400) < share);
    let docs: Vec<u32> = docs.collect();
    let mut score = |doc: u32| ((random.f32() * highs[doc as usize / 500]) * 1024.0).round() / 1024.0;
    let list: Vec<_> = docs.into_iter().map(|doc| (doc, score(doc))).collect();
    let scores = list.iter().copied().collect();
    (Box::new(Listed { list, next: 0 }), scores)
}

/// A scorer with what it gives, in exact sums: scores are small multiples of one power of two.
fn tree(random: &mut fastrand::Rng, depth: usize) -> (BoxScorer, Scores) {
    if depth == 0 {
        return leaf(random);
    }
    let some = |random: &mut fastrand::Rng, from: usize, to: usize| -> (Vec<BoxScorer>, Vec<Scores>) {
        (0..random.usize(from..=to)).map(|_| tree(random, depth - 1)).unzip()
    };
    let each = |all: &[Scores]| -> BTreeMap<u32, Vec<f32>> {
        let mut found = BTreeMap::<u32, Vec<f32>>::new();
        all.iter().flatten().for_each(|(&doc, &score)| found.entry(doc).or_default().push(score));
        found
    };
    let sum = |scores: &[f32]| scores.iter().map(|score| f64::from(*score)).sum::<f64>() as f32;
    match random.u8(0..5) {
        0 => {
            let (clauses, scores) = some(random, 1, 3);
            let all = each(&scores).into_iter().filter(|(_, found)| found.len() == scores.len());
            let all = all.map(|(doc, found)| (doc, sum(&found))).collect();
            (Box::new(AndScorer::new(clauses.into_iter().map(|clause| (clause, Adds::Score)).collect())), all)
        }
        1 | 2 => {
            let (clauses, scores) = some(random, 1, 5);
            let min_match = random.usize(1..=clauses.len().min(3));
            let share = [None, Some(0.0), Some(0.5)][random.usize(0..3)];
            let combine = share.map_or(Combine::Sum, Combine::Best);
            let any = each(&scores).into_iter().filter(|(_, found)| found.len() >= min_match);
            let any = any.map(|(doc, found)| {
                let best = found.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let total = found.iter().map(|score| f64::from(*score)).sum::<f64>();
                (doc, share.map_or(total as f32, |share| super::boolean::best_of(best, total, share)))
            });
            let any = any.collect();
            (Box::new(OrScorer::new(clauses, min_match, combine)), any)
        }
        3 => {
            let ((required, scores), (optional, more)) = (tree(random, depth - 1), tree(random, depth - 1));
            let add = |(doc, score): (u32, f32)| (doc, more.get(&doc).map_or(score, |more| sum(&[score, *more])));
            let scores = scores.into_iter().map(add).collect();
            (Box::new(OptionalScorer::new(required, false, optional)), scores)
        }
        _ => {
            let ((required, mut scores), (excluded, others)) = (tree(random, depth - 1), tree(random, depth - 1));
            scores.retain(|doc, _| !others.contains_key(doc));
            (Box::new(ExcludeScorer { required, excluded }), scores)
        }
    }
}

#[test]
fn what_passes_a_minimum_is_given_with_its_score() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..100 {
        let (mut scorer, scores) = tree(&mut random, 1 + round % 2);
        let mut sorted: Vec<f32> = scores.values().copied().collect();
        sorted.sort_by(f32::total_cmp);
        let mut min = f32::NEG_INFINITY;
        let raises = random.usize(0..4);
        let mut doc = if random.bool() { scorer.next() } else { scorer.advance(0) };
        let mut expected = scores.iter().peekable();
        for step in 0.. {
            if step % 40 == 5 && step / 40 <= raises && !sorted.is_empty() {
                min = min.max(sorted[random.usize(sorted.len() / 2..sorted.len())]);
                scorer.set_min_score(min);
            }
            // Documents that do not pass may be left out; all others come in turn.
            while expected.next_if(|&(&at, &score)| at < doc && score <= min).is_some() {}
            if doc == END {
                break;
            }
            let Some((&at, &score)) = expected.next() else { panic!("seed {seed}: {doc} is too many") };
            assert_eq!((doc, scorer.score()), (at, score), "seed {seed} round {round} above {min}");
            doc = match random.u32(0..20) {
                0 => {
                    let target = doc + random.u32(1..900);
                    while expected.next_if(|&(&at, _)| at < target).is_some() {}
                    scorer.advance(target)
                }
                _ => scorer.next(),
            };
        }
        let left = expected.find(|&(_, &score)| score > min);
        assert_eq!(left, None, "seed {seed} round {round} above {min}");
    }
}
