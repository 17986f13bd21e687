//! Which cells to read where each request costs as much as many bytes: few long runs in place of many short ones.
//!
//! ```text
//! for a price of gain:   runs that maximise  price x gain - bytes - request cost x number of runs   (two states, one pass)
//! the highest price at which the bytes fit the budget is found by halving
//! ```
//! Cells in between two good ones are read where that is cheaper than another request, and then scored as well.

#![forbid(unsafe_code)]

/// A cell that may be read, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
    /// What reading it is worth.
    pub(super) gain: f64,
    pub(super) bytes: u64,
    /// Whether it begins where the one before ends.
    pub(super) follows: bool,
}

/// Halvings of the price: it is found within less than a thousandth.
const ROUNDS: usize = 40;

/// Which of `pieces` to read for at most `budget` bytes, a request costing as much as `request_bytes` of them.
pub(super) fn choose(pieces: &[Piece], request_bytes: u64, budget: u64) -> Vec<bool> {
    let bytes =
        |chosen: &[bool]| pieces.iter().zip(chosen).filter(|(_, chosen)| **chosen).map(|(p, _)| p.bytes).sum::<u64>();
    let all: u64 = pieces.iter().map(|piece| piece.bytes).sum();
    let best = pieces.iter().map(|piece| piece.gain).fold(0.0, f64::max);
    if all <= budget || best <= 0.0 {
        return vec![all <= budget; pieces.len()];
    }
    let least = pieces.iter().map(|piece| piece.gain).fold(best, f64::min).max(best * 1e-12);
    // At the lowest price not even the best piece alone is worth reading, at the highest the worst one.
    let (mut low, mut high) = (1.0 / best, (all + request_bytes) as f64 / least);
    let mut chosen = vec![false; pieces.len()];
    for _ in 0..ROUNDS {
        let price = (low * high).sqrt();
        let at_price = at_price(pieces, request_bytes as f64, price);
        if bytes(&at_price) <= budget {
            (low, chosen) = (price, at_price);
        } else {
            high = price;
        }
        if high / low < 1.001 {
            break;
        }
    }
    chosen
}

/// The runs that are worth most at a price.
fn at_price(pieces: &[Piece], request: f64, price: f64) -> Vec<bool> {
    // Value of the best choice that leaves the last piece out, and of the best one that takes it.
    let (mut out, mut taken) = (0.0f64, f64::NEG_INFINITY);
    // Per piece whether the best choice that leaves it out, and that takes it, takes the one before.
    let mut before: Vec<[bool; 2]> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let value = price * piece.gain - piece.bytes as f64;
        let (go_on, begin) = (taken - if piece.follows { 0.0 } else { request }, out - request);
        before.push([taken > out, go_on > begin]);
        (out, taken) = (out.max(taken), go_on.max(begin) + value);
    }
    let mut chosen = vec![false; pieces.len()];
    let mut is_taken = taken > out;
    for (chosen, before) in chosen.iter_mut().zip(&before).rev() {
        *chosen = is_taken;
        is_taken = before[usize::from(is_taken)];
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(pieces: &[Piece], chosen: impl Fn(usize) -> bool, request: f64, price: f64) -> f64 {
        let one = |ix: usize| {
            let begins = ix == 0 || !chosen(ix - 1) || !pieces[ix].follows;
            let value = price * pieces[ix].gain - pieces[ix].bytes as f64 - if begins { request } else { 0.0 };
            if chosen(ix) { value } else { 0.0 }
        };
        (0..pieces.len()).map(one).sum()
    }

    fn random(rng: &mut fastrand::Rng, len: usize) -> Vec<Piece> {
        let piece =
            |rng: &mut fastrand::Rng| Piece { gain: rng.f64(), bytes: rng.u64(1..100), follows: rng.u8(..) > 63 };
        (0..len).map(|_| piece(rng)).collect()
    }

    #[test]
    fn at_a_price_no_other_choice_is_worth_more() {
        for seed in 0..200 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let len = rng.usize(0..11);
            let (pieces, price, request) = (random(&mut rng, len), rng.f64() * 300.0, rng.f64() * 100.0);
            let found = at_price(&pieces, request, price);
            let found = value(&pieces, |ix| found[ix], request, price);
            let all = (0..1u32 << len).map(|bits| value(&pieces, |ix| bits >> ix & 1 == 1, request, price));
            let best = all.fold(f64::NEG_INFINITY, f64::max);
            assert!((found - best).abs() < 1e-9, "seed {seed}: {found}, {best}");
        }
    }

    #[test]
    fn the_budget_holds_and_is_used() {
        for seed in 0..200 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let len = rng.usize(1..400);
            let pieces = random(&mut rng, len);
            let all: u64 = pieces.iter().map(|piece| piece.bytes).sum();
            let (budget, request) = (rng.u64(0..all + 50), rng.u64(0..200));
            let chosen = choose(&pieces, request, budget);
            let bytes: u64 = pieces.iter().zip(&chosen).filter(|(_, c)| **c).map(|(piece, _)| piece.bytes).sum();
            assert!(bytes <= budget, "seed {seed}: {bytes} of {budget}");
            assert!(budget < all || bytes == all, "seed {seed}: {bytes} of {all}");
            if request == 0 {
                assert!(bytes + 200 > budget.min(all), "seed {seed}: {bytes} of {budget}");
            }
        }
        assert_eq!(choose(&[], 5, 5), [false; 0]);
    }

    #[test]
    fn a_gap_is_read_where_a_request_costs_more() {
        let piece = |gain| Piece { gain, bytes: 10, follows: true };
        let pieces = [piece(1.0), piece(0.001), piece(1.0), piece(0.001), piece(0.001), piece(0.001), piece(0.001)];
        assert_eq!(choose(&pieces, 100, 35), [true, true, true, false, false, false, false]);
        assert_eq!(choose(&pieces, 1, 25), [true, false, true, false, false, false, false]);
    }
}
