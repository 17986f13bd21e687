//! How fast one thread reads memory: what a scan of codes or rows can reach at most.

use std::{hint::black_box, time::Instant};

/// Far more than any cache.
const BYTES: usize = 512 << 20;
const ROUNDS: usize = 5;
/// Sums that do not wait for each other.
const LANES: usize = 32;

/// Bytes per second, the best of some rounds.
pub fn measure() -> f64 {
    let words: Vec<u64> = (0..BYTES as u64 / 8).collect();
    let round = || {
        let started = Instant::now();
        let mut sums = [0u64; LANES];
        for chunk in words.as_chunks::<LANES>().0 {
            sums.iter_mut().zip(chunk).for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
        }
        black_box(sums);
        BYTES as f64 / started.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(|_| round()).fold(0.0, f64::max)
}
