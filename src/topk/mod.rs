//! The best k of many scored things: larger scores first, ties by ascending ordinal, NaN behind everything.
//!
//! The order is total, so the answer does not depend on the order in which candidates arrive, nor on how
//! they were split over several heaps that are merged afterwards.

#![forbid(unsafe_code)]

pub mod order;

use std::{cmp::Ordering, collections::BinaryHeap};

/// A thing with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored<T = u32> {
    /// Larger is better.
    pub score: f32,
    /// What was scored; decides ties, smaller first.
    pub ord: T,
}

/// Order-preserving integer of a score: NaN is 0, below negative infinity; both zeros are equal.
#[inline]
fn score_key(score: f32) -> u32 {
    if score.is_nan() {
        return 0;
    }
    let bits = (score + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Best first: higher score, then smaller ordinal; NaN last.
pub fn compare<T: Ord>(a: &Scored<T>, b: &Scored<T>) -> Ordering {
    score_key(b.score).cmp(&score_key(a.score)).then_with(|| a.ord.cmp(&b.ord))
}

/// A thing with the key of its score.
#[derive(Debug, Clone, Copy)]
struct Entry<T> {
    key: u32,
    item: Scored<T>,
}

impl<T: Ord> Ord for Entry<T> {
    /// Worst is greatest, so that a max-heap has it on top: as [`compare`], with keys that are there already.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key).then_with(|| self.item.ord.cmp(&other.item.ord))
    }
}

impl<T: Ord> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T: Ord> Eq for Entry<T> {}

/// Room made at once; a larger heap grows as candidates come, so a huge k costs nothing by itself.
const INITIAL_ITEMS: usize = 1024;

/// A bounded heap that keeps the best `k` of what it is offered.
#[derive(Debug, Clone)]
pub struct TopK<T = u32> {
    k: usize,
    heap: BinaryHeap<Entry<T>>,
}

impl<T: Ord + Copy> TopK<T> {
    /// An empty heap of at most `k` items; with `k` 0 it stays empty.
    pub fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::with_capacity(k.min(INITIAL_ITEMS)) }
    }

    /// Items it keeps at most.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Items it has.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Whether from now on each item taken displaces another.
    pub fn is_full(&self) -> bool {
        self.heap.len() >= self.k
    }

    /// Score below which nothing is taken any more: that of the worst item once full, negative infinity
    /// before. An equal score is taken only with a smaller ordinal. Positive infinity when `k` is 0.
    #[inline]
    pub fn threshold(&self) -> f32 {
        match self.heap.peek() {
            _ if self.k == 0 => f32::INFINITY,
            Some(worst) if self.is_full() && !worst.item.score.is_nan() => worst.item.score,
            _ => f32::NEG_INFINITY,
        }
    }

    /// Offers one candidate; says whether it was taken.
    #[inline]
    pub fn push(&mut self, score: f32, ord: T) -> bool {
        let entry = Entry { key: score_key(score), item: Scored { score, ord } };
        if self.heap.len() < self.k {
            self.heap.push(entry);
            return true;
        }
        match self.heap.peek_mut() {
            Some(mut worst) if entry < *worst => {
                *worst = entry;
                true
            }
            _ => false,
        }
    }

    /// Offers everything `other` kept.
    pub fn merge(&mut self, other: Self) {
        other.heap.into_iter().for_each(|Entry { item, .. }| {
            self.push(item.score, item.ord);
        });
    }

    /// The items, best first.
    pub fn into_sorted_vec(self) -> Vec<Scored<T>> {
        self.heap.into_sorted_vec().into_iter().map(|entry| entry.item).collect()
    }
}

/// The `k` smallest keys of any order. For sorting by columns, where the key is not one number.
#[derive(Debug, Clone)]
pub struct TopBy<K: Ord> {
    k: usize,
    heap: BinaryHeap<K>,
}

impl<K: Ord> TopBy<K> {
    /// An empty heap that keeps the `k` smallest keys.
    pub fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::with_capacity(k.min(INITIAL_ITEMS)) }
    }

    /// Offers one key; says whether it was taken.
    pub fn push(&mut self, key: K) -> bool {
        if self.heap.len() < self.k {
            self.heap.push(key);
            return true;
        }
        match self.heap.peek_mut() {
            Some(mut worst) if key < *worst => {
                *worst = key;
                true
            }
            _ => false,
        }
    }

    /// Largest key kept, once full.
    pub fn worst(&self) -> Option<&K> {
        self.heap.peek().filter(|_| self.heap.len() >= self.k)
    }

    /// The keys, smallest first.
    pub fn into_sorted_vec(self) -> Vec<K> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slow twin: sort everything, cut.
    fn by_sorting(items: &[Scored], k: usize) -> Vec<(u32, u32)> {
        let mut items = items.to_vec();
        items.sort_by(compare);
        items.truncate(k);
        items.into_iter().map(|item| (item.score.to_bits(), item.ord)).collect()
    }

    fn bits(items: Vec<Scored>) -> Vec<(u32, u32)> {
        items.into_iter().map(|item| (item.score.to_bits(), item.ord)).collect()
    }

    fn random_score(rng: &mut fastrand::Rng) -> f32 {
        match rng.u8(0..12) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => f32::NEG_INFINITY,
            3 => 0.0,
            4 => -0.0,
            _ => (rng.i32(-20..20) as f32) / 4.0,
        }
    }

    #[test]
    fn agrees_with_sorting_however_it_is_split() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..300 {
            let mut items: Vec<Scored> =
                (0..rng.u32(0..200)).map(|ord| Scored { score: random_score(&mut rng), ord }).collect();
            rng.shuffle(&mut items);
            let k = [0, 1, 2, 10, 199, 200, usize::MAX][rng.usize(0..7)];
            let mut heaps = vec![TopK::new(k), TopK::new(k), TopK::new(k)];
            for item in &items {
                let threshold = heaps[0].threshold();
                let heap = &mut heaps[0];
                if item.score < threshold {
                    assert!(!heap.push(item.score, item.ord), "seed {seed}: below the threshold yet taken");
                } else {
                    heap.push(item.score, item.ord);
                }
                let which = 1 + rng.usize(0..2);
                heaps[which].push(item.score, item.ord);
            }
            let whole = bits(heaps.remove(0).into_sorted_vec());
            let mut parts = heaps.remove(0);
            parts.merge(heaps.remove(0));
            assert_eq!(whole, by_sorting(&items, k), "seed {seed}, k {k}");
            assert_eq!(bits(parts.into_sorted_vec()), by_sorting(&items, k), "seed {seed}, k {k}");
        }
    }

    #[test]
    fn nan_comes_last_and_zeros_tie() {
        let mut top = TopK::new(4);
        for (ord, score) in [f32::NAN, f32::NEG_INFINITY, -0.0, 0.0].into_iter().enumerate() {
            top.push(score, ord as u32);
        }
        let ords: Vec<u32> = top.into_sorted_vec().iter().map(|item| item.ord).collect();
        assert_eq!(ords, [2, 3, 1, 0]);
    }

    #[test]
    fn keeps_the_smallest_keys() {
        let mut rng = fastrand::Rng::with_seed(3);
        for k in [0, 1, 5, 50] {
            let keys: Vec<(u8, u32)> = (0..40).map(|ord| (rng.u8(0..5), ord)).collect();
            let mut top = TopBy::new(k);
            keys.iter().for_each(|&key| {
                top.push(key);
            });
            let mut sorted = keys;
            sorted.sort_unstable();
            sorted.truncate(k);
            assert_eq!(top.into_sorted_vec(), sorted);
        }
    }
}
