//! Dense sets of small numbers: live documents, filters, what a scorer may return; and [`DocMap`], which
//! says where the documents of several segments go in their merge.
//!
//! Set operations work word by word; [`Ranks`] adds counting below a position in constant time.

#![forbid(unsafe_code)]

use std::{iter, sync::Arc};

use thiserror::Error;

use crate::ids::DocOrd;

/// A set of numbers `0..len`, one bit each. Bits at and beyond `len` are always zero.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BitSet {
    words: Vec<u64>,
    len: u32,
}

/// Why bytes are no bit set.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BitSetError {
    /// The byte count does not fit the length in front.
    #[error("bit set of {found} bytes, its length says {expected}")]
    Length {
        /// Bytes there are.
        found: usize,
        /// Bytes there should be.
        expected: u64,
    },
    /// A bit beyond the length is set.
    #[error("a bit at or beyond the length {len} is set")]
    StrayBit {
        /// Bits in the set.
        len: u32,
    },
}

impl BitSet {
    /// The empty set over `0..len`.
    pub fn new(len: u32) -> Self {
        Self { words: vec![0; (len as usize).div_ceil(64)], len }
    }

    /// The set of all numbers `0..len`.
    pub fn full(len: u32) -> Self {
        let mut set = Self { words: vec![u64::MAX; (len as usize).div_ceil(64)], len };
        set.clear_tail();
        set
    }

    /// The set over `0..len` whose bits are `words`, 64 a word, lowest first. Missing words are zero; bits beyond the
    /// length are dropped.
    pub fn from_words(mut words: Vec<u64>, len: u32) -> Self {
        words.resize((len as usize).div_ceil(64), 0);
        let mut set = Self { words, len };
        set.clear_tail();
        set
    }

    fn clear_tail(&mut self) {
        if let Some(last) = self.words.last_mut()
            && !self.len.is_multiple_of(64)
        {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }

    /// Exclusive upper bound of what the set can hold.
    #[allow(clippy::len_without_is_empty, reason = "a length of the universe, not of the content")]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// The bits, 64 a word, lowest first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.words.capacity() * 8
    }

    /// Whether `ord` is in the set; false beyond [`Self::len`].
    #[inline]
    pub fn contains(&self, ord: u32) -> bool {
        self.words.get(ord as usize / 64).is_some_and(|word| word >> (ord % 64) & 1 == 1)
    }

    /// Adds `ord`; says whether it was new.
    ///
    /// # Panics
    /// If `ord` is not below [`Self::len`].
    #[inline]
    pub fn insert(&mut self, ord: u32) -> bool {
        assert!(ord < self.len, "ord {ord} in a set over 0..{}", self.len);
        let word = &mut self.words[ord as usize / 64];
        let bit = 1 << (ord % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Takes `ord` out; says whether it was there.
    pub fn remove(&mut self, ord: u32) -> bool {
        let Some(word) = self.words.get_mut(ord as usize / 64) else { return false };
        let bit = 1 << (ord % 64);
        let there = *word & bit != 0;
        *word &= !bit;
        there
    }

    /// Adds the members of word `word_ix`: bit `b` is `64 * word_ix + b`. Bits beyond the length are left out.
    #[inline]
    pub fn insert_word(&mut self, word_ix: usize, bits: u64) {
        let left = (self.len as usize).saturating_sub(word_ix * 64);
        let bits = if left < 64 { bits & ((1u64 << left) - 1) } else { bits };
        if let Some(word) = self.words.get_mut(word_ix) {
            *word |= bits;
        }
    }

    /// Adds all of `start..end`, clamped to the length.
    pub fn insert_range(&mut self, start: u32, end: u32) {
        let end = end.min(self.len);
        if start >= end {
            return;
        }
        let (first, last) = (start as usize / 64, (end as usize - 1) / 64);
        let from = u64::MAX << (start % 64);
        let to = u64::MAX >> (63 - (end - 1) % 64);
        if first == last {
            self.words[first] |= from & to;
            return;
        }
        self.words[first] |= from;
        self.words[first + 1..last].fill(u64::MAX);
        self.words[last] |= to;
    }

    /// How many numbers are in the set.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// How many numbers of `start..end` are in the set.
    pub fn count_range(&self, start: u32, end: u32) -> u32 {
        let end = end.min(self.len);
        if start >= end {
            return 0;
        }
        let (first, last) = (start as usize / 64, (end as usize - 1) / 64);
        let from = u64::MAX << (start % 64);
        let to = u64::MAX >> (63 - (end - 1) % 64);
        if first == last {
            return (self.words[first] & from & to).count_ones();
        }
        let middle: u32 = self.words[first + 1..last].iter().map(|word| word.count_ones()).sum();
        (self.words[first] & from).count_ones() + middle + (self.words[last] & to).count_ones()
    }

    /// Whether some number of `start..end` is in the set.
    pub fn has_any(&self, start: u32, end: u32) -> bool {
        let end = end.min(self.len);
        if start >= end {
            return false;
        }
        let (first, last) = (start as usize / 64, (end as usize - 1) / 64);
        let from = u64::MAX << (start % 64);
        let to = u64::MAX >> (63 - (end - 1) % 64);
        if first == last {
            return self.words[first] & from & to != 0;
        }
        let middle = &self.words[first + 1..last];
        self.words[first] & from != 0 || self.words[last] & to != 0 || middle.iter().any(|&word| word != 0)
    }

    /// Whether nothing is in the set.
    pub fn is_clear(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Whether everything below [`Self::len`] is in the set.
    pub fn is_full(&self) -> bool {
        let (whole, tail) = (self.len as usize / 64, self.len % 64);
        self.words[..whole].iter().all(|&word| word == u64::MAX)
            && (tail == 0 || self.words[whole] == (1u64 << tail) - 1)
    }

    /// Smallest member at or above `from`.
    #[inline]
    pub fn next_set(&self, from: u32) -> Option<u32> {
        let mut word_ix = from as usize / 64;
        let mut word = self.words.get(word_ix)? & (u64::MAX << (from % 64));
        while word == 0 {
            word_ix += 1;
            word = *self.words.get(word_ix)?;
        }
        Some(word_ix as u32 * 64 + word.trailing_zeros())
    }

    /// Members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(word_ix, &word)| {
            let mut rest = word;
            iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    word_ix as u32 * 64 + bit
                })
            })
        })
    }

    /// Members of `start..end` in ascending order.
    pub fn iter_range(&self, start: u32, end: u32) -> impl Iterator<Item = u32> + '_ {
        let mut from = start;
        iter::from_fn(move || {
            let next = self.next_set(from).filter(|&ord| ord < end)?;
            from = next + 1;
            Some(next)
        })
    }

    fn assert_same_len(&self, other: &Self) {
        assert_eq!(self.len, other.len, "sets over different universes");
    }

    /// Keeps what is also in `other`.
    ///
    /// # Panics
    /// If the lengths differ; so do the other operations on two sets.
    pub fn and(&mut self, other: &Self) {
        self.assert_same_len(other);
        self.words.iter_mut().zip(&other.words).for_each(|(word, &with)| *word &= with);
    }

    /// Adds what is in `other`.
    pub fn or(&mut self, other: &Self) {
        self.assert_same_len(other);
        self.words.iter_mut().zip(&other.words).for_each(|(word, &with)| *word |= with);
    }

    /// Takes out what is in `other`.
    pub fn and_not(&mut self, other: &Self) {
        self.assert_same_len(other);
        self.words.iter_mut().zip(&other.words).for_each(|(word, &with)| *word &= !with);
    }

    /// Turns the set into its complement.
    pub fn negate(&mut self) {
        self.words.iter_mut().for_each(|word| *word = !*word);
        self.clear_tail();
    }

    /// Appends the set: length (u32), then its words (u64), little-endian. [`Self::parse`] reads it.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.len.to_le_bytes());
        self.words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }

    /// Reads what [`Self::write`] wrote; `bytes` are exactly that.
    ///
    /// # Errors
    /// If the byte count or a bit does not fit the length.
    pub fn parse(bytes: &[u8]) -> Result<Self, BitSetError> {
        let Some((head, rest)) = bytes.split_first_chunk::<4>() else {
            return Err(BitSetError::Length { found: bytes.len(), expected: 4 });
        };
        let len = u32::from_le_bytes(*head);
        let expected = 4 + u64::from(len).div_ceil(64) * 8;
        if bytes.len() as u64 != expected {
            return Err(BitSetError::Length { found: bytes.len(), expected });
        }
        let (words, _) = rest.as_chunks::<8>();
        let set = Self { words: words.iter().map(|&word| u64::from_le_bytes(word)).collect(), len };
        let stray = set.words.last().is_some_and(|&last| !len.is_multiple_of(64) && last >> (len % 64) != 0);
        if stray { Err(BitSetError::StrayBit { len }) } else { Ok(set) }
    }
}

impl FromIterator<u32> for BitSet {
    /// The set of the given numbers; its length is one above the largest.
    fn from_iter<I: IntoIterator<Item = u32>>(ords: I) -> Self {
        let mut set = Self::default();
        for ord in ords {
            if ord >= set.len {
                set.len = ord + 1;
                set.words.resize((set.len as usize).div_ceil(64), 0);
            }
            set.insert(ord);
        }
        set
    }
}

/// Words counted together by [`Ranks`]: 512 bits, one cache line.
const RANK_WORDS: usize = 8;

/// A bit set that counts its members below a position in constant time. Costs 1/16 more than the bits.
#[derive(Debug, Clone, Default)]
pub struct Ranks {
    set: Arc<BitSet>,
    /// Members before each group of [`RANK_WORDS`] words.
    before: Vec<u32>,
}

impl Ranks {
    /// Counts `set` once.
    pub fn new(set: Arc<BitSet>) -> Self {
        let mut total = 0;
        let before = set
            .words
            .chunks(RANK_WORDS)
            .map(|group| {
                let here = total;
                total += group.iter().map(|word| word.count_ones()).sum::<u32>();
                here
            })
            .collect();
        Self { set, before }
    }

    /// The set.
    pub fn set(&self) -> &BitSet {
        &self.set
    }

    /// Members below `ord`.
    pub fn rank(&self, ord: u32) -> u32 {
        let ord = ord.min(self.set.len);
        let word_ix = ord as usize / 64;
        let group = word_ix / RANK_WORDS;
        let Some(&before) = self.before.get(group) else { return self.set.count() };
        let whole: u32 = self.set.words[group * RANK_WORDS..word_ix].iter().map(|word| word.count_ones()).sum();
        let part = self.set.words.get(word_ix).map_or(0, |word| (word & ((1 << (ord % 64)) - 1)).count_ones());
        before + whole + part
    }
}

/// Another order of the documents of a segment: a permutation, both ways. Costs 8 bytes per document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocOrder {
    old: Vec<u32>,
    new: Vec<u32>,
}

impl DocOrder {
    /// The order that puts document `old[n]` at place `n`. `None` if that is no permutation.
    pub fn new(old: Vec<u32>) -> Option<Self> {
        const UNSET: u32 = u32::MAX;
        let mut new = vec![UNSET; old.len()];
        for (place, &doc) in old.iter().enumerate() {
            let slot = new.get_mut(doc as usize).filter(|slot| **slot == UNSET)?;
            *slot = place as u32;
        }
        Some(Self { old, new })
    }

    /// Documents.
    pub fn num_docs(&self) -> u32 {
        self.old.len() as u32
    }

    /// The document at each place.
    pub fn old_docs(&self) -> &[u32] {
        &self.old
    }

    /// Where a document goes.
    ///
    /// # Panics
    /// If there is no such document.
    #[inline]
    pub fn place_of(&self, doc: u32) -> u32 {
        self.new[doc as usize]
    }
}

/// Where each document of several sources goes when they become one segment: sources in order, live
/// documents only, their order kept unless another one is given.
#[derive(Debug, Clone, Default)]
pub struct DocMap {
    sources: Vec<MappedSource>,
    num_docs: u32,
    order: Option<Arc<DocOrder>>,
}

#[derive(Debug, Clone)]
struct MappedSource {
    /// New ordinal of the first live document.
    base: u32,
    max_doc: u32,
    num_docs: u32,
    /// `None`: all live.
    live: Option<Ranks>,
}

impl DocMap {
    /// A map of sources, each with its document count and, if some are deleted, the set of live ones.
    /// `None` if the live documents do not fit 32-bit ordinals, or a live set has another length than its source.
    pub fn new(sources: impl IntoIterator<Item = (u32, Option<Arc<BitSet>>)>) -> Option<Self> {
        let mut map = Self::default();
        for (max_doc, live) in sources {
            if live.as_ref().is_some_and(|live| live.len() != max_doc) {
                return None;
            }
            let num_docs = live.as_ref().map_or(max_doc, |live| live.count());
            map.sources.push(MappedSource { base: map.num_docs, max_doc, num_docs, live: live.map(Ranks::new) });
            map.num_docs = map.num_docs.checked_add(num_docs)?;
        }
        Some(map)
    }

    /// The same map followed by a change of order.
    ///
    /// # Panics
    /// If `order` is of another number of documents, or the map has an order already.
    #[must_use]
    pub fn with_order(mut self, order: Arc<DocOrder>) -> Self {
        assert_eq!(order.num_docs(), self.num_docs, "an order of all documents");
        assert!(self.order.is_none(), "one order");
        self.order = Some(order);
        self
    }

    /// The order of the documents, where it is not theirs in the sources.
    pub fn order(&self) -> Option<&Arc<DocOrder>> {
        self.order.as_ref()
    }

    /// Live documents of all sources: the document count of the merged segment.
    pub fn num_docs(&self) -> u32 {
        self.num_docs
    }

    /// How many sources there are.
    pub fn num_sources(&self) -> usize {
        self.sources.len()
    }

    /// Documents of `source`, deleted ones included.
    pub fn max_doc(&self, source: usize) -> u32 {
        self.sources.get(source).map_or(0, |source| source.max_doc)
    }

    /// Live documents of `source`.
    pub fn source_num_docs(&self, source: usize) -> u32 {
        self.sources.get(source).map_or(0, |source| source.num_docs)
    }

    /// Whether `source` has deleted documents.
    pub fn has_deletions(&self, source: usize) -> bool {
        self.sources.get(source).is_some_and(|source| source.num_docs != source.max_doc)
    }

    /// New ordinal of the first live document of `source`, unless the order is another one.
    pub fn base(&self, source: usize) -> DocOrd {
        DocOrd(self.sources.get(source).map_or(self.num_docs, |source| source.base))
    }

    /// New ordinal of a document, `None` if it is deleted or does not exist.
    #[inline]
    pub fn get(&self, source: usize, doc: DocOrd) -> Option<DocOrd> {
        let source = self.sources.get(source)?;
        let place = match &source.live {
            None => (doc.0 < source.max_doc).then(|| source.base + doc.0),
            Some(live) => live.set().contains(doc.0).then(|| source.base + live.rank(doc.0)),
        }?;
        Some(DocOrd(self.order.as_ref().map_or(place, |order| order.place_of(place))))
    }

    /// Whether a document is live.
    pub fn is_live(&self, source: usize, doc: DocOrd) -> bool {
        self.sources.get(source).is_some_and(|source| {
            doc.0 < source.max_doc && source.live.as_ref().is_none_or(|live| live.set().contains(doc.0))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn random_set(rng: &mut fastrand::Rng, len: u32) -> (BitSet, BTreeSet<u32>) {
        let (mut set, mut twin) = (BitSet::new(len), BTreeSet::new());
        let density = rng.u32(0..=100);
        for ord in 0..len {
            if rng.u32(0..100) < density {
                assert_eq!(set.insert(ord), twin.insert(ord));
            }
        }
        (set, twin)
    }

    #[test]
    fn agrees_with_an_ordered_set() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for len in (0..=130).chain([511, 512, 513, 4096, 5000]) {
            let (set, twin) = random_set(&mut rng, len);
            assert_eq!(set.count() as usize, twin.len(), "seed {seed}");
            assert_eq!(set.is_full(), twin.len() == len as usize, "seed {seed}");
            assert!(BitSet::full(len).is_full());
            assert!(set.iter().eq(twin.iter().copied()), "seed {seed}");
            let (start, end) = (rng.u32(0..=len), rng.u32(0..=len + 70));
            let expected: Vec<_> = twin.iter().copied().filter(|&ord| ord >= start && ord < end).collect();
            assert_eq!(set.iter_range(start, end).collect::<Vec<_>>(), expected, "seed {seed} {start}..{end}");
            assert_eq!(set.count_range(start, end) as usize, expected.len(), "seed {seed} {start}..{end}");
            assert_eq!(set.next_set(start), twin.range(start..).next().copied(), "seed {seed} from {start}");
            let ranks = Ranks::new(Arc::new(set.clone()));
            for ord in 0..=len + 1 {
                assert_eq!(ranks.rank(ord) as usize, twin.range(..ord).count(), "seed {seed} rank {ord} of {len}");
            }
            let mut ranged = set.clone();
            ranged.insert_range(start, end);
            let wanted: BTreeSet<u32> = twin.iter().copied().chain(start..end.min(len).max(start)).collect();
            assert!(ranged.iter().eq(wanted.into_iter().filter(|&ord| ord < len)), "seed {seed} {start}..{end}");
        }
    }

    #[test]
    fn operations_agree_with_an_ordered_set() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..100 {
            let len = rng.u32(0..300);
            let ((a, twin_a), (b, twin_b)) = (random_set(&mut rng, len), random_set(&mut rng, len));
            let apply = |operation: fn(&mut BitSet, &BitSet)| {
                let mut result = a.clone();
                operation(&mut result, &b);
                result.iter().collect::<BTreeSet<u32>>()
            };
            assert_eq!(apply(BitSet::and), &twin_a & &twin_b, "seed {seed}");
            assert_eq!(apply(BitSet::or), &twin_a | &twin_b, "seed {seed}");
            assert_eq!(apply(BitSet::and_not), &twin_a - &twin_b, "seed {seed}");
            let mut not = a.clone();
            not.negate();
            assert_eq!(not.count(), len - a.count(), "seed {seed}");
            not.or(&a);
            assert_eq!(not, BitSet::full(len), "seed {seed}");
        }
    }

    #[test]
    fn bytes_round_trip_and_damage_is_an_error() {
        let mut rng = fastrand::Rng::with_seed(7);
        for len in [0, 1, 63, 64, 65, 1000] {
            let (set, _) = random_set(&mut rng, len);
            let mut bytes = Vec::new();
            set.write(&mut bytes);
            assert_eq!(BitSet::parse(&bytes), Ok(set));
            bytes.pop();
            assert!(BitSet::parse(&bytes).is_err());
        }
        assert_eq!(BitSet::parse(&[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]), Err(BitSetError::StrayBit { len: 1 }));
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..rng.usize(0..30)).map(|_| rng.u8(0..4)).collect();
            if let Ok(set) = BitSet::parse(&bytes) {
                assert!(set.iter().all(|ord| ord < set.len()));
            }
        }
    }

    #[test]
    fn documents_move_in_order_without_the_deleted() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..50 {
            let sources: Vec<_> = (0..rng.usize(0..5))
                .map(|_| {
                    let len = rng.u32(0..700);
                    (len, rng.bool().then(|| Arc::new(random_set(&mut rng, len).0)))
                })
                .collect();
            let map = DocMap::new(sources.clone()).expect("small");
            let mut next = 0;
            for (source, (max_doc, live)) in sources.iter().enumerate() {
                assert_eq!(map.base(source), DocOrd(next), "seed {seed}");
                for doc in 0..*max_doc {
                    let is_live = live.as_ref().is_none_or(|live| live.contains(doc));
                    assert_eq!(map.get(source, DocOrd(doc)), is_live.then_some(DocOrd(next)), "seed {seed}");
                    assert_eq!(map.is_live(source, DocOrd(doc)), is_live);
                    next += u32::from(is_live);
                }
                assert_eq!(map.get(source, DocOrd(*max_doc)), None);
            }
            assert_eq!(map.num_docs(), next);
            let mut old: Vec<u32> = (0..next).collect();
            rng.shuffle(&mut old);
            let order = Arc::new(DocOrder::new(old.clone()).expect("a permutation"));
            let ordered = map.clone().with_order(order);
            for (source, (max_doc, _)) in sources.iter().enumerate() {
                for doc in (0..*max_doc).map(DocOrd) {
                    let back = ordered.get(source, doc).map(|place| DocOrd(old[place.0 as usize]));
                    assert_eq!(back, map.get(source, doc), "seed {seed}");
                }
            }
        }
        assert!(DocMap::new([(3, Some(Arc::new(BitSet::new(4))))]).is_none());
        assert!(DocMap::new([(u32::MAX, None), (1, None)]).is_none());
    }
}
