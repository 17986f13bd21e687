//! Walk order: which center comes after which, so that near cells are near in the file.

use std::ops::Range;

use super::lloyd::{Centers, argmin};

/// A chain through the centers of `range` that always goes on to the nearest one left, starting at the first.
/// Positions in the range. Quadratic in its length: meant for the centers of one level inside one parent.
pub(super) fn chain(centers: &Centers, range: Range<usize>) -> Vec<u32> {
    let mut left: Vec<bool> = vec![true; range.len()];
    let (mut order, mut keys, mut current) = (Vec::with_capacity(range.len()), Vec::new(), 0);
    while order.len() < range.len() {
        left[current] = false;
        order.push(current as u32);
        let row = centers.rows.row(range.start + current);
        centers.compare(row, range.clone(), &mut keys, |_, _| {});
        keys.iter_mut().zip(&left).for_each(|(key, left)| *key = if *left { *key } else { i32::MAX });
        current = argmin(&keys).0 as usize;
    }
    order
}
