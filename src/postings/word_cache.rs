//! The words seen last and the numbers of their terms: most words of a text are among a few thousand.
//!
//! It is small enough for the caches next to the processor, where the tables of all words and terms are not: a word that
//! is found here costs one place in memory instead of four.

#![forbid(unsafe_code)]

/// Longest word that is kept, in bytes.
const MAX_BYTES: usize = 16;
/// Places, each for one word; a power of two. 96 KiB in all.
const PLACES: usize = 1 << 12;

/// A short word in two numbers and its length, which together say every byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Key {
    front: u64,
    back: u64,
    len: u32,
}

impl Key {
    /// The key of a word; `None` for one that is empty or too long.
    #[inline]
    pub fn of(word: &[u8]) -> Option<Self> {
        let len = word.len() as u32;
        if let (Some(front), Some(back)) = (word.first_chunk::<8>(), word.last_chunk::<8>()) {
            let (front, back) = (u64::from_le_bytes(*front), u64::from_le_bytes(*back));
            return (word.len() <= MAX_BYTES).then_some(Self { front, back, len });
        }
        if let (Some(front), Some(back)) = (word.first_chunk::<4>(), word.last_chunk::<4>()) {
            let (front, back) = (u32::from_le_bytes(*front), u32::from_le_bytes(*back));
            return Some(Self { front: front.into(), back: back.into(), len });
        }
        let (front, back) = (*word.first()?, *word.last()?);
        let middle = word[word.len() / 2];
        Some(Self { front: front.into(), back: u64::from(middle) << 8 | u64::from(back), len })
    }

    #[inline]
    fn place(self) -> usize {
        // Odd multipliers of Steele and Vigna, "Computationally easy, spectrally good multipliers", 2021.
        let mixed = (self.front ^ u64::from(self.len) << 56).wrapping_mul(0xd134_2543_de82_ef95)
            ^ self.back.wrapping_mul(0xf135_7aea_2e62_a9c5).rotate_left(31);
        (mixed.wrapping_mul(0xaf25_1af3_b0f0_25b5) >> 40) as usize & (PLACES - 1)
    }
}

/// Words and the numbers they were noted with.
#[derive(Debug, Default)]
pub(super) struct WordCache {
    /// Made when the first word is noted. The key of a free place has length 0, as no word has.
    places: Vec<(Key, u32)>,
}

impl WordCache {
    /// What was noted of a word, unless another one has taken its place.
    #[inline]
    pub fn find(&self, key: Key) -> Option<u32> {
        self.places.get(key.place()).filter(|(known, _)| *known == key).map(|(_, number)| *number)
    }

    /// Notes the number of a word.
    #[inline]
    pub fn note(&mut self, key: Key, number: u32) {
        if self.places.is_empty() {
            self.places = vec![(Key::default(), 0); PLACES];
        }
        self.places[key.place()] = (key, number);
    }

    /// Forgets all words.
    pub fn clear(&mut self) {
        self.places.clear();
    }

    pub fn memory_bytes(&self) -> usize {
        self.places.capacity() * size_of::<(Key, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn keys_are_equal_where_words_are() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut known: HashMap<(u64, u64, u32), Vec<u8>> = HashMap::new();
        for _ in 0..200_000 {
            let word: Vec<u8> = (0..random.usize(0..20)).map(|_| random.u8(0..3)).collect();
            let Some(key) = Key::of(&word) else {
                assert!(word.is_empty() || word.len() > MAX_BYTES);
                continue;
            };
            let same = known.entry((key.front, key.back, key.len)).or_insert_with(|| word.clone());
            assert_eq!(*same, word);
        }
    }

    #[test]
    fn gives_what_was_noted_or_nothing() {
        let (mut cache, mut random) = (WordCache::default(), fastrand::Rng::with_seed(4));
        let mut found = 0;
        for _ in 0..50_000 {
            let number = random.u32(0..9_000);
            let key = Key::of(format!("w{number}").as_bytes()).unwrap();
            match cache.find(key) {
                Some(noted) => {
                    assert_eq!(noted, number);
                    found += 1;
                }
                None => cache.note(key, number),
            }
        }
        assert!(found > 10_000, "{found}");
        cache.clear();
        assert_eq!(cache.find(Key::of(b"w1").unwrap()), None);
    }
}
