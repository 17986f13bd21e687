//! Words near each other, as Lucene's `SloppyPhraseMatcher` finds them.
//!
//! Each term of a phrase stands on one of its positions, minus its place in the phrase: where the phrase would start.
//! The *length* of a match is the largest such start minus the smallest. Always the smallest moves on; before it passes
//! the next one the length is at its least, and up to the slop it counts `1 / (1 + length)`. Terms that are in the phrase
//! more than once never stand on one position: of two that meet, the one with the smaller start moves on. Not every
//! combination is looked at, which keeps it linear in the positions.

/// A term of a phrase in one document.
#[derive(Debug, Clone, Default)]
pub(super) struct SloppyTerm {
    pub place: u32,
    /// Equal for equal terms.
    pub term: usize,
    /// Positions in the document, ascending.
    pub positions: Vec<u32>,
    at: usize,
    /// Terms of this kind are several.
    repeats: bool,
}

impl SloppyTerm {
    pub fn new(place: u32, term: usize) -> Self {
        Self { place, term, ..Self::default() }
    }

    fn position(&self) -> u32 {
        self.positions.get(self.at).copied().unwrap_or(u32::MAX)
    }

    fn start(&self) -> i64 {
        i64::from(self.position()) - i64::from(self.place)
    }

    /// Goes to the next position, if there is one.
    fn advance(&mut self) -> bool {
        self.at += 1;
        self.at < self.positions.len()
    }

    /// Order of starts; of equal ones by place.
    fn key(&self, ix: usize) -> (i64, u32, usize) {
        (self.start(), self.place, ix)
    }
}

/// Finds matches of one phrase in document after document.
#[derive(Debug)]
pub(super) struct Sloppy {
    pub terms: Vec<SloppyTerm>,
    slop: i64,
    end: i64,
    /// Terms by start: the smallest is taken out while it moves.
    queue: Vec<usize>,
}

impl Sloppy {
    /// `terms` by place.
    pub fn new(mut terms: Vec<SloppyTerm>, slop: u32) -> Self {
        let kinds: Vec<usize> = terms.iter().map(|term| term.term).collect();
        for term in &mut terms {
            term.repeats = kinds.iter().filter(|kind| **kind == term.term).count() > 1;
        }
        Self { terms, slop: i64::from(slop), end: i64::MIN, queue: Vec::new() }
    }

    fn place_in_queue(&mut self, ix: usize) {
        let key = self.terms[ix].key(ix);
        let terms = &self.terms;
        let at = self.queue.partition_point(|&other| terms[other].key(other) < key);
        self.queue.insert(at, ix);
    }

    /// Puts every term on its first position, repeated ones on different ones.
    fn first_positions(&mut self) -> bool {
        self.end = i64::MIN;
        for ix in 0..self.terms.len() {
            // The n-th of equal terms starts on the n-th position.
            let nth = self.terms[..ix].iter().filter(|other| other.term == self.terms[ix].term).count();
            self.terms[ix].at = nth;
            if nth >= self.terms[ix].positions.len() {
                return false;
            }
        }
        self.queue.clear();
        for ix in 0..self.terms.len() {
            self.end = self.end.max(self.terms[ix].start());
            self.place_in_queue(ix);
        }
        true
    }

    /// Moves a term on and says whether there was a position.
    fn advance(&mut self, ix: usize) -> bool {
        if !self.terms[ix].advance() {
            return false;
        }
        self.end = self.end.max(self.terms[ix].start());
        true
    }

    /// The equal term that stands on the same position.
    fn collision(&self, ix: usize) -> Option<usize> {
        let (term, position) = (self.terms[ix].term, self.terms[ix].position());
        (0..self.terms.len())
            .find(|&other| other != ix && self.terms[other].term == term && self.terms[other].position() == position)
    }

    /// After a repeated term moved: moves on the lesser of two that meet until none do.
    fn resolve(&mut self, moved: usize) -> bool {
        let mut ix = moved;
        let mut touched: Vec<usize> = Vec::new();
        while let Some(other) = self.collision(ix) {
            let (a, b) = (&self.terms[ix], &self.terms[other]);
            if (b.start(), b.place) < (a.start(), a.place) {
                ix = other;
            }
            if !self.advance(ix) {
                return false;
            }
            if ix != moved && !touched.contains(&ix) {
                touched.push(ix);
            }
        }
        for ix in touched {
            self.queue.retain(|&queued| queued != ix);
            self.place_in_queue(ix);
        }
        true
    }

    /// Sum of `1 / (1 + length)` over all matches.
    pub fn freq(&mut self) -> f32 {
        if let [first, second] = self.terms.as_mut_slice()
            && first.term != second.term
        {
            return freq_of_two(first, second, self.slop);
        }
        self.freq_of_any()
    }

    fn freq_of_any(&mut self) -> f32 {
        if !self.first_positions() {
            return 0.0;
        }
        let mut freq = 0.0f32;
        while let Some((length, goes_on)) = self.next_match() {
            if length <= self.slop {
                freq += 1.0 / (1.0 + length as f32);
            }
            if !goes_on {
                break;
            }
        }
        freq
    }

    /// The length of the next match within the slop; or, with false, that of the last one looked at.
    fn next_match(&mut self) -> Option<(i64, bool)> {
        if self.queue.is_empty() {
            return None;
        }
        let mut moving = self.queue.remove(0);
        let mut length = self.end - self.terms[moving].start();
        let mut next = self.queue.first().map_or(i64::MAX, |&ix| self.terms[ix].start());
        while self.advance(moving) {
            if self.terms[moving].repeats && !self.resolve(moving) {
                break;
            }
            if self.terms[moving].start() > next {
                self.place_in_queue(moving);
                if length <= self.slop {
                    return Some((length, true));
                }
                moving = self.queue.remove(0);
                next = self.queue.first().map_or(i64::MAX, |&ix| self.terms[ix].start());
                length = self.end - self.terms[moving].start();
            } else {
                length = length.min(self.end - self.terms[moving].start());
            }
        }
        Some((length, false))
    }
}

/// The same for two different terms, the first in front: the one behind goes on until it passes the other.
fn freq_of_two(first: &mut SloppyTerm, second: &mut SloppyTerm, slop: i64) -> f32 {
    if first.positions.is_empty() || second.positions.is_empty() {
        return 0.0;
    }
    (first.at, second.at) = (0, 0);
    let is_first_behind = first.start() <= second.start();
    let (mut behind, mut ahead) = if is_first_behind { (first, second) } else { (second, first) };
    let mut freq = 0.0f32;
    loop {
        let end = ahead.start();
        let mut nearest = behind.start();
        let goes_on = loop {
            if !behind.advance() {
                break false;
            }
            if behind.start() > end {
                break true;
            }
            nearest = behind.start();
        };
        if end - nearest <= slop {
            freq += 1.0 / (1.0 + (end - nearest) as f32);
        }
        if !goes_on {
            return freq;
        }
        std::mem::swap(&mut behind, &mut ahead);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frequency of `phrase` in `text`, words of one letter or more between spaces.
    fn freq(text: &str, phrase: &str, slop: u32) -> f32 {
        let words: Vec<&str> = phrase.split(' ').collect();
        let term = |word: &str| words.iter().position(|other| *other == word).unwrap();
        let terms = words.iter().enumerate().map(|(place, word)| {
            let positions = text.split(' ').enumerate().filter(|(_, other)| other == word);
            let positions = positions.map(|(position, _)| position as u32).collect();
            SloppyTerm { positions, ..SloppyTerm::new(place as u32, term(word)) }
        });
        Sloppy::new(terms.collect(), slop).freq()
    }

    const S1: &str = "A A A";
    const S2: &str = "A 1 2 3 A 4 5 6 A";

    /// The cases of Lucene's `TestSloppyPhraseQuery`.
    #[test]
    fn repeats_match_as_in_lucene() {
        let doc1 = format!("X {S1} Y");
        let doc2 = format!("X {S2} Y");
        let doc3 = format!("X {S1} A Y");
        let twice = |doc: &str, end: &str| format!("{doc} N N N N {}", doc.replacen("X ", "", 1).replace('Y', end));
        for slop in 0..30 {
            assert_eq!(freq("A A X A X B A X B B A A X B A A", "X A A", slop) > 0.0, slop >= 1, "{slop}");
            let found = freq(&doc1, S1, slop);
            assert!(found > 0.0 && freq(&twice(&doc1, "Z"), S1, slop) > found, "{slop}");
            let found = freq(&doc2, S1, slop);
            assert_eq!(found > 0.0, slop >= 6, "{slop}");
            assert!(slop < 6 || freq(&twice(&doc2, "Z"), S1, slop) > found, "{slop}");
            let found = freq(&doc2, S2, slop);
            assert!(found > 0.0 && freq(&twice(&doc2, "Z"), S2, slop) > found, "{slop}");
            let found = freq(&doc3, S1, slop);
            assert!(found > 0.0 && freq(&twice(&doc3, "Y"), S1, slop) > found, "{slop}");
        }
        for slop in 0..3 {
            assert!(freq("H H H H", "H H H H", slop) > 0.0);
            assert_eq!(freq("H H H X X X H H H X X X H H H", "H H H H", slop), 0.0);
        }
        // "Infinite" frequencies were a bug once.
        assert!(freq("drug druggy drug drug drug", "drug drug", 1).is_finite());
    }

    #[test]
    fn extents_weigh_as_in_lucene() {
        for (text, phrase, slop, expected) in [
            ("a b", "a b", 2, 1.0),
            ("a x b", "a b", 2, 0.5),
            ("a x x b", "a b", 2, 1.0 / 3.0),
            ("b a", "a b", 2, 1.0 / 3.0),
            ("b a", "a b", 1, 0.0),
            ("a b x a b", "a b", 0, 2.0),
            ("a x b x c", "a b c", 2, 1.0 / 3.0),
            ("a x b x c", "a b c", 1, 0.0),
        ] {
            assert!((freq(text, phrase, slop) - expected).abs() < 1e-6, "{text:?} {phrase:?}~{slop}");
        }
    }

    /// Every combination of positions, none shared by equal terms.
    fn any_within(text: &[u32], phrase: &[u32], slop: i64) -> bool {
        fn choose(text: &[u32], phrase: &[u32], at: usize, chosen: &mut Vec<usize>, slop: i64) -> bool {
            let Some(word) = phrase.get(at) else {
                let starts = chosen.iter().enumerate().map(|(place, &position)| position as i64 - place as i64);
                let (low, high) = starts.fold((i64::MAX, i64::MIN), |(low, high), one| (low.min(one), high.max(one)));
                return high - low <= slop;
            };
            (0..text.len()).any(|position| {
                if text[position] != *word || chosen.contains(&position) {
                    return false;
                }
                chosen.push(position);
                let found = choose(text, phrase, at + 1, chosen, slop);
                chosen.pop();
                found
            })
        }
        choose(text, phrase, 0, &mut Vec::new(), slop)
    }

    #[test]
    fn different_words_match_exactly_where_a_combination_does() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..3000 {
            let text: Vec<u32> = (0..random.usize(1..14)).map(|_| random.u32(0..5)).collect();
            let mut phrase: Vec<u32> = (0..5).collect();
            random.shuffle(&mut phrase);
            phrase.truncate(random.usize(2..4));
            let repeats = random.bool();
            if repeats {
                phrase[1] = phrase[0];
            }
            let slop = random.u32(0..7);
            let terms = phrase.iter().enumerate().map(|(place, word)| {
                let positions = (0..text.len() as u32).filter(|&position| text[position as usize] == *word).collect();
                SloppyTerm { positions, ..SloppyTerm::new(place as u32, *word as usize) }
            });
            let mut sloppy = Sloppy::new(terms.collect(), slop);
            let freq = sloppy.freq();
            assert_eq!(freq.to_bits(), sloppy.freq_of_any().to_bits(), "seed {seed}: {text:?} {phrase:?}~{slop}");
            let found = freq > 0.0;
            let expected = any_within(&text, &phrase, i64::from(slop));
            // Of repeated words not every combination is looked at, as in Lucene: what is found is there.
            assert!(
                if repeats { !found || expected } else { found == expected },
                "seed {seed}: {text:?} {phrase:?}~{slop}"
            );
        }
    }
}
