//! Two rankings become one.
//!
//! Nothing is cut off: every document of either ranking is in the fused one. A weight of 0 leaves exactly the
//! other ranking, so that both extremes are reachable ([`Legs`]).

#![forbid(unsafe_code)]

use std::collections::HashMap;

use crate::{
    error::{Error, Result},
    ids::DocAddress,
    query::request::{Explanation, Fuse},
    topk::order,
};

/// The usual constant of reciprocal rank fusion.
pub const RRF_K: f32 = 60.0;

/// Which rankings a search needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Legs {
    /// The text ranking.
    pub text: bool,
    /// The vector ranking.
    pub vector: bool,
}

impl Legs {
    /// The rankings that count when both were asked for.
    ///
    /// # Errors
    /// `invalid_argument` for weights that are negative, not numbers, or both 0, and for such a constant.
    pub fn of(fuse: Fuse) -> Result<Self> {
        match fuse {
            Fuse::Weights { text, vector } => {
                let is_weight = |weight: f32| weight.is_finite() && weight >= 0.0;
                if !is_weight(text) || !is_weight(vector) || (text == 0.0 && vector == 0.0) {
                    let what =
                        format!("fuse: weights {text} and {vector} are not two numbers from 0, one of them above");
                    return Err(Error::invalid(what));
                }
                Ok(Self { text: text > 0.0, vector: vector > 0.0 })
            }
            Fuse::RrfK(k) if !(k.is_finite() && k >= 0.0) => {
                Err(Error::invalid(format!("fuse: rrfK {k} is not a number from 0")))
            }
            Fuse::Rrf | Fuse::RrfK(_) => Ok(Self { text: true, vector: true }),
        }
    }
}

/// A place in one ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// From 1.
    pub rank: u32,
    /// Score there.
    pub score: f32,
}

/// One document of the fused ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fused {
    /// The document.
    pub address: DocAddress,
    /// Larger is better.
    pub score: f64,
    /// Where the text ranking has it.
    pub text: Option<Place>,
    /// Where the vector ranking has it.
    pub vector: Option<Place>,
}

/// How scores of one ranking become comparable: each divided by the best one. Where the best is not
/// positive (dot products can be negative), 1 / (1 + best - score) instead, which keeps order and best = 1.
#[derive(Debug, Clone, Copy)]
struct Scale {
    best: f64,
}

impl Scale {
    fn of(ranking: &[(DocAddress, f32)]) -> Self {
        Self { best: ranking.first().map_or(1.0, |&(_, score)| f64::from(score)) }
    }

    fn apply(self, score: f32) -> f64 {
        if self.best > 0.0 { f64::from(score) / self.best } else { 1.0 / (1.0 + self.best - f64::from(score)) }
    }
}

/// A fused ranking, best first, ties by address, and how it was made.
#[derive(Debug, Clone)]
pub struct Fusion {
    fuse: Fuse,
    scales: (Scale, Scale),
    /// The documents.
    pub ranking: Vec<Fused>,
}

impl Fusion {
    /// Fuses two rankings, each best first and each document once in it.
    pub fn new(fuse: Fuse, text: &[(DocAddress, f32)], vector: &[(DocAddress, f32)]) -> Self {
        let mut found: HashMap<DocAddress, Fused> = HashMap::with_capacity(text.len() + vector.len());
        let empty = |address| Fused { address, score: 0.0, text: None, vector: None };
        let place = |ix: usize, score| Some(Place { rank: ix as u32 + 1, score });
        for (ix, &(address, score)) in text.iter().enumerate() {
            found.entry(address).or_insert_with(|| empty(address)).text = place(ix, score);
        }
        for (ix, &(address, score)) in vector.iter().enumerate() {
            found.entry(address).or_insert_with(|| empty(address)).vector = place(ix, score);
        }
        let mut fusion = Self { fuse, scales: (Scale::of(text), Scale::of(vector)), ranking: Vec::new() };
        let mut ranking: Vec<Fused> = found.into_values().collect();
        ranking.iter_mut().for_each(|one| one.score = fusion.parts(one).iter().map(|(value, _)| value).sum());
        order::by(&mut ranking, |a, b| b.score.total_cmp(&a.score).then_with(|| a.address.cmp(&b.address)));
        fusion.ranking = ranking;
        fusion
    }

    /// What the rankings add to a document's score, text first, with words for it.
    fn parts(&self, one: &Fused) -> Vec<(f64, String)> {
        let of = |place: Option<Place>, name: &str, scale: Scale, weight: f32| {
            let place = place?;
            Some(match self.fuse {
                Fuse::Rrf | Fuse::RrfK(_) => {
                    let k = if let Fuse::RrfK(k) = self.fuse { k } else { RRF_K };
                    let value = 1.0 / (f64::from(k) + f64::from(place.rank));
                    (value, format!("1 / ({k} + rank {} in the {name} ranking)", place.rank))
                }
                Fuse::Weights { .. } => {
                    let value = f64::from(weight) * scale.apply(place.score);
                    let what =
                        format!("weight {weight} * {name} score {} relative to the best, {}", place.score, scale.best);
                    (value, what)
                }
            })
        };
        let (text, vector) = match self.fuse {
            Fuse::Weights { text, vector } => (text, vector),
            _ => (1.0, 1.0),
        };
        let parts = [of(one.text, "text", self.scales.0, text), of(one.vector, "vector", self.scales.1, vector)];
        parts.into_iter().flatten().collect()
    }

    /// How a document's score came about; `details` are the derivations of its text and vector scores.
    pub fn explain(&self, one: &Fused, text: Option<Explanation>, vector: Option<Explanation>) -> Explanation {
        let scores = [(one.text, text), (one.vector, vector)];
        let scores = scores.into_iter().filter(|(place, _)| place.is_some()).map(|(_, explanation)| explanation);
        let details = self.parts(one).into_iter().zip(scores).map(|((value, description), why)| Explanation {
            value,
            description,
            details: why.into_iter().collect(),
        });
        let description = match self.fuse {
            Fuse::Rrf | Fuse::RrfK(_) => "reciprocal rank fusion, sum of",
            Fuse::Weights { .. } => "weighted scores, sum of",
        };
        Explanation { value: one.score, description: description.to_owned(), details: details.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{DocOrd, SegmentOrd};

    fn at(doc: u32) -> DocAddress {
        DocAddress { segment: SegmentOrd(doc / 10), doc: DocOrd(doc % 10) }
    }

    fn random_ranking(rng: &mut fastrand::Rng) -> Vec<(DocAddress, f32)> {
        let mut docs: Vec<u32> = (0..30).filter(|_| rng.bool()).collect();
        rng.shuffle(&mut docs);
        let mut score = rng.f32() * 4.0;
        docs.into_iter()
            .map(|doc| {
                score -= rng.f32() * 0.2;
                (at(doc), score)
            })
            .collect()
    }

    #[test]
    fn agrees_with_the_definition() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..200 {
            let (text, vector) = (random_ranking(&mut rng), random_ranking(&mut rng));
            for fuse in [Fuse::Rrf, Fuse::RrfK(1.0), Fuse::Weights { text: 0.3, vector: 2.0 }] {
                let value = |ranking: &[(DocAddress, f32)], address, weight: f32| {
                    let Some(ix) = ranking.iter().position(|&(of, _)| of == address) else { return 0.0 };
                    let (best, score) = (f64::from(ranking[0].1), f64::from(ranking[ix].1));
                    match fuse {
                        Fuse::Rrf => 1.0 / (61.0 + ix as f64),
                        Fuse::RrfK(k) => 1.0 / (f64::from(k) + 1.0 + ix as f64),
                        _ if best > 0.0 => f64::from(weight) * (score / best),
                        _ => f64::from(weight) * (1.0 / (1.0 + best - score)),
                    }
                };
                let mut expected: Vec<(DocAddress, f64)> = (0..30)
                    .map(at)
                    .filter(|address| text.iter().chain(&vector).any(|(of, _)| of == address))
                    .map(|address| (address, value(&text, address, 0.3) + value(&vector, address, 2.0)))
                    .collect();
                expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                let fusion = Fusion::new(fuse, &text, &vector);
                let found: Vec<_> = fusion.ranking.iter().map(|one| (one.address, one.score)).collect();
                assert_eq!(found, expected, "seed {seed}, {fuse:?}");
                for one in &fusion.ranking {
                    let why = fusion.explain(one, None, None);
                    assert_eq!(why.value, why.details.iter().map(|part| part.value).sum::<f64>());
                }
            }
        }
    }

    #[test]
    fn negative_best_scores_keep_their_order() {
        let vector = [(at(0), -1.0), (at(1), -5.0)];
        let fusion = Fusion::new(Fuse::Weights { text: 1.0, vector: 1.0 }, &[], &vector);
        let docs: Vec<_> = fusion.ranking.iter().map(|one| one.address).collect();
        assert_eq!(docs, [at(0), at(1)]);
        assert_eq!(fusion.ranking[0].score, 1.0);
    }

    #[test]
    fn extremes_and_nonsense_are_told_apart() {
        let legs = |text, vector| Legs::of(Fuse::Weights { text, vector });
        assert_eq!(legs(1.0, 0.0).expect("fine"), Legs { text: true, vector: false });
        assert_eq!(legs(0.0, 0.5).expect("fine"), Legs { text: false, vector: true });
        assert_eq!(Legs::of(Fuse::Rrf).expect("fine"), Legs { text: true, vector: true });
        for bad in [legs(0.0, 0.0), legs(-1.0, 1.0), legs(f32::NAN, 1.0), Legs::of(Fuse::RrfK(-2.0))] {
            assert_eq!(bad.expect_err("nonsense").kind().code(), "invalid_argument");
        }
    }
}
