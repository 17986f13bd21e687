//! Both engines answer alike: counts equal, scores of the ten best equal to 1e-4.
//!
//! The peer's score has a factor `k1 + 1` that ours, as Lucene's, leaves out; lengths go through the same table of one
//! byte in both.

use super::{
    ask::Ask,
    engines::{Mode, Ours, Peer},
};

/// What the peer multiplies every score of BM25 with.
const PEER_FACTOR: f64 = 2.2;
const TOLERANCE: f64 = 1e-4;

/// Queries compared, and those left out because the engines mean different things by them.
#[derive(Debug, Clone, Default)]
pub struct Compared {
    pub counts: usize,
    pub scores: usize,
    pub skipped: usize,
    /// Those whose answers differ.
    pub different: usize,
    /// The first of them, made as small as still differs, and how it does.
    pub first: Option<String>,
}

/// Compares the answers to `asks`.
pub fn compare<'a>(ours: &Ours, peer: &Peer, asks: impl Iterator<Item = &'a Ask>) -> Compared {
    let mut compared = Compared::default();
    for ask in asks {
        if !ask.matches_alike() {
            compared.skipped += 1;
            continue;
        }
        compared.counts += 1;
        compared.scores += usize::from(ask.scores_alike());
        if let Some(difference) = difference(ours, peer, ask) {
            compared.different += 1;
            compared.first.get_or_insert_with(|| {
                let (mut smallest, mut shown) = (ask.clone(), difference);
                while let Some(found) = smallest.smaller().into_iter().find_map(|ask| difference_of(ours, peer, ask)) {
                    (smallest, shown) = found;
                }
                format!("{smallest:?}: {shown}")
            });
        }
    }
    compared
}

fn difference_of(ours: &Ours, peer: &Peer, ask: Ask) -> Option<(Ask, String)> {
    difference(ours, peer, &ask).map(|difference| (ask, difference))
}

/// How the answers differ, if they do.
fn difference(ours: &Ours, peer: &Peer, ask: &Ask) -> Option<String> {
    let (mine, theirs) = (ask.ours(), ask.peers(peer.fields));
    let count = ours.run(&mine, Mode::Count).count;
    let expected = peer.run(theirs.as_ref(), Mode::Count).count;
    if count != expected {
        return Some(format!("{count:?} documents, the peer finds {expected:?}"));
    }
    if !ask.scores_alike() {
        return None;
    }
    let found = ours.run(&mine, Mode::Top(10)).top;
    let expected = peer.run(theirs.as_ref(), Mode::Top(10)).top;
    let is_near = |(mine, theirs): (&(f32, u32), &(f32, u32))| {
        let (mine, theirs) = (f64::from(mine.0) * PEER_FACTOR, f64::from(theirs.0));
        (mine - theirs).abs() <= TOLERANCE * theirs.abs()
    };
    if found.len() != expected.len() || !found.iter().zip(&expected).all(is_near) {
        let fault = if ours.exhaustive(&mine) == found { "scored" } else { "skipped" };
        return Some(format!("{fault}: best are {found:?}, the peer's with a factor of {PEER_FACTOR} {expected:?}"));
    }
    let both = ours.run(&mine, Mode::TopAndCount);
    ((&both.top, both.count) != (&found, count))
        .then(|| format!("best and count together are {both:?}, alone {found:?} and {count:?}"))
}
