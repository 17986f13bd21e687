//! Sorting of lists that are short or rarely sorted, in little code.
//!
//! A sort of the standard library is compiled anew for every type and comparison, 4 to 10 KiB each. These share
//! theirs: [`by_key`] sorts numbers, [`by`] calls the comparison through a pointer. Lists on hot paths that are long
//! stay with `sort_unstable` of plain numbers. All are stable; the next stop is the place that sorts.

#![forbid(unsafe_code)]

use std::cmp::Ordering;

/// Sorts `items` by a number; equal ones keep their order. Calls `key` once for each item.
pub fn by_key<T>(items: &mut [T], mut key: impl FnMut(&T) -> u64) {
    if items.len() > 1 {
        let mut keyed = Vec::with_capacity(items.len());
        for item in items.iter() {
            keyed.push((key(item), keyed.len() as u32));
        }
        permute(items, &mut in_order(keyed));
    }
}

/// The same, largest first.
pub fn by_largest<T>(items: &mut [T], mut key: impl FnMut(&T) -> u64) {
    by_key(items, |item| !key(item));
}

/// Sorts `items` by `compare`; equal ones keep their order.
pub fn by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    if items.len() > 1 {
        let (len, seen) = (items.len() as u32, &*items);
        let mut order = merge_sort(len, &mut |a, b| compare(&seen[a as usize], &seen[b as usize]));
        permute(items, &mut order);
    }
}

/// The key that sorts to position `nth`; smaller ones before it, larger ones behind.
///
/// # Panics
/// If there are not more than `nth`.
pub fn select(keys: &mut [u64], nth: usize) -> u64 {
    *keys.select_nth_unstable(nth).1
}

/// A number that sorts as `value` does under [`f32::total_cmp`].
#[inline]
pub fn float_key(value: f32) -> u32 {
    let bits = value.to_bits();
    // Negative numbers: all bits, so that larger magnitudes come first; others: above all negative ones.
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The value of a [`float_key`].
#[inline]
pub fn float_of(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

fn in_order(mut keyed: Vec<(u64, u32)>) -> Vec<u32> {
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, ix)| ix).collect()
}

/// Positions `0..len` in order, by runs of doubling length.
fn merge_sort(len: u32, compare: &mut dyn FnMut(u32, u32) -> Ordering) -> Vec<u32> {
    let mut order: Vec<u32> = (0..len).collect();
    let mut merged = Vec::with_capacity(order.len());
    let mut run_len = 1;
    while run_len < order.len() {
        merged.clear();
        for pair in order.chunks(run_len * 2) {
            let (mut left, mut right) = pair.split_at(run_len.min(pair.len()));
            while let (Some(&a), Some(&b)) = (left.first(), right.first()) {
                // Of equal ones, those on the left.
                let side = if compare(b, a) == Ordering::Less { &mut right } else { &mut left };
                merged.push(side[0]);
                *side = &side[1..];
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(&mut order, &mut merged);
        run_len *= 2;
    }
    order
}

/// Puts `items[order[ix]]` at `ix`, cycle by cycle. Leaves the identity in `order`.
fn permute<T>(items: &mut [T], order: &mut [u32]) {
    for start in 0..order.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut order[at], at as u32) as usize;
            if from == start {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_the_standard_library_does() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for len in (0..70).chain([127, 128, 129, 1_000]) {
            for spread in [1, 3, 1 << 40] {
                let items: Vec<(u64, usize)> = (0..len).map(|ix| (random.u64(0..spread), ix)).collect();
                let (mut expected, mut keyed, mut compared) = (items.clone(), items.clone(), items.clone());
                expected.sort_by_key(|item| item.0);
                by_key(&mut keyed, |item| item.0);
                by(&mut compared, |a, b| a.0.cmp(&b.0));
                assert_eq!(keyed, expected, "{len} items by key");
                assert_eq!(compared, expected, "{len} items compared");

                expected.clone_from(&items);
                expected.sort_by_key(|item| std::cmp::Reverse(item.0));
                by_largest(&mut keyed, |item| item.0);
                compared.clone_from(&items);
                by_largest(&mut compared, |item| item.0);
                assert_eq!(compared, expected, "{len} items, largest first");
                assert!(keyed.is_sorted_by(|a, b| a.0 >= b.0), "{len} items sorted twice");
            }
        }
    }

    #[test]
    fn keys_of_floats_sort_as_floats_do() {
        let special = [f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, -1e-40];
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let values: Vec<f32> = special.into_iter().chain((0..200).map(|_| f32::from_bits(random.u32(..)))).collect();
        for &a in &values {
            assert_eq!(float_of(float_key(a)).to_bits(), a.to_bits());
            for &b in &values {
                assert_eq!(float_key(a).cmp(&float_key(b)), a.total_cmp(&b), "{a} and {b}");
            }
        }
    }
}
