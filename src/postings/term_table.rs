//! Distinct terms, numbered in order of arrival: open addressing over one arena of bytes.

/// Terms and their numbers.
#[derive(Debug, Default)]
pub(super) struct TermTable {
    /// Hash of the term at each slot in the high half, its number + 1 in the low one; 0 is free. A power of two, at most
    /// half full. Most looks at a slot tell another term apart without a second place in memory.
    slots: Vec<u64>,
    /// End of the bytes of each term in the arena.
    ends: Vec<u32>,
    arena: Vec<u8>,
}

/// A fast hash of short keys (the mixing step of wyhash: Wang Yi, 2019). Not against hostile keys on its own: probing
/// compares hashes before bytes, and a table is bounded by the writer's memory.
#[inline]
fn hash(bytes: &[u8]) -> u32 {
    const MULTIPLIER: u64 = 0xa076_1d64_78bd_642f;
    let mix = |a: u64, b: u64| {
        let wide = u128::from(a ^ MULTIPLIER) * u128::from(b ^ 0xe703_7ed1_a0b4_28db);
        (wide as u64) ^ (wide >> 64) as u64
    };
    let mut state = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = mix(state, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    state = mix(state, u64::from_le_bytes(last));
    (state ^ state >> 32) as u32
}

/// Whether two terms are equal. Most are short: two loads that overlap see 4 to 16 bytes.
#[inline]
fn equal(one: &[u8], other: &[u8]) -> bool {
    fn ends<const N: usize>(term: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
        Some((term.first_chunk()?, term.last_chunk()?))
    }
    one.len() == other.len()
        && match one.len() {
            8..=16 => ends::<8>(one) == ends::<8>(other),
            4..8 => ends::<4>(one) == ends::<4>(other),
            0..4 => one.iter().eq(other),
            _ => one == other,
        }
}

impl TermTable {
    /// The number of `term`; a new one if it is new.
    #[inline]
    pub fn insert(&mut self, term: &[u8]) -> u32 {
        if (self.ends.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let hash = hash(term);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let entry = self.slots[slot];
            if entry == 0 {
                break;
            }
            let ord = (entry as u32).wrapping_sub(1);
            if (entry >> 32) as u32 == hash && equal(self.term(ord), term) {
                return ord;
            }
            slot = (slot + 1) & mask;
        }
        let ord = self.ends.len() as u32;
        self.arena.extend_from_slice(term);
        self.ends.push(u32::try_from(self.arena.len()).expect("terms in memory are shorter than 4 GiB"));
        self.slots[slot] = u64::from(hash) << 32 | u64::from(ord + 1);
        ord
    }

    #[cold]
    fn grow(&mut self) {
        let len = (self.slots.len() * 2).max(1024);
        let mut slots = vec![0; len];
        for &entry in self.slots.iter().filter(|entry| **entry != 0) {
            let mut slot = (entry >> 32) as usize & (len - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (len - 1);
            }
            slots[slot] = entry;
        }
        self.slots = slots;
    }

    /// The bytes of a term.
    #[inline]
    pub fn term(&self, ord: u32) -> &[u8] {
        let start = (ord as usize).checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.arena[start..self.ends[ord as usize] as usize]
    }

    /// Numbers of all terms, in order of their bytes.
    pub fn sorted(&self) -> Vec<u32> {
        // The first eight bytes decide most comparisons without a look at the arena.
        let mut keyed: Vec<(u64, u32)> = (0..self.ends.len() as u32)
            .map(|ord| {
                let term = self.term(ord);
                let mut head = [0; 8];
                let len = term.len().min(8);
                head[..len].copy_from_slice(&term[..len]);
                (u64::from_be_bytes(head), ord)
            })
            .collect();
        keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.term(a.1).cmp(self.term(b.1))));
        keyed.into_iter().map(|(_, ord)| ord).collect()
    }

    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * 8 + self.ends.capacity() * 4 + self.arena.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_terms_in_order_of_arrival_and_sorts_them() {
        let mut table = TermTable::default();
        let mut expected = std::collections::BTreeMap::new();
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let term: Vec<u8> = (0..random.usize(0..12)).map(|_| random.u8(0..3)).collect();
            let next = expected.len() as u32;
            assert_eq!(table.insert(&term), *expected.entry(term).or_insert(next));
        }
        let sorted: Vec<_> = table.sorted().into_iter().map(|ord| table.term(ord).to_vec()).collect();
        assert!(sorted.iter().eq(expected.keys()));
        assert!(table.memory_bytes() > 0);
    }
}
