//! Running an automaton along terms: what two terms in a row have in common is read once.

use super::{
    chars::{self, NUM_CHARS},
    fuzzy::Fuzzy,
    lazy::Lazy,
};

/// How far [`Walk::seek`] follows what must come next.
const MAX_EXTENSION: usize = 16;
/// Behind every byte of every term.
const NEVER: usize = usize::MAX;

/// What a walk runs.
#[derive(Debug, Clone)]
pub(super) enum Automaton {
    Lazy(Box<Lazy>),
    Fuzzy(Fuzzy),
}

impl Automaton {
    fn push(&mut self, number: u32) -> bool {
        match self {
            Self::Lazy(lazy) => lazy.push(number),
            Self::Fuzzy(fuzzy) => fuzzy.push(number),
        }
    }

    fn truncate(&mut self, depth: usize) {
        match self {
            Self::Lazy(lazy) => lazy.truncate(depth),
            Self::Fuzzy(fuzzy) => fuzzy.truncate(depth),
        }
    }

    fn next_live(&mut self, from: u32) -> Option<u32> {
        match self {
            Self::Lazy(lazy) => lazy.next_live(from),
            Self::Fuzzy(fuzzy) => fuzzy.next_live(from),
        }
    }
}

/// An automaton and the term that it has read.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    automaton: Automaton,
    term: Vec<u8>,
    /// Bytes behind each character that was read.
    ends: Vec<usize>,
    /// Bytes behind the first character that leads nowhere; what comes behind it was not read.
    dead: Option<usize>,
}

impl Walk {
    pub fn new(automaton: Automaton) -> Self {
        Self { automaton, term: Vec::new(), ends: Vec::new(), dead: None }
    }

    pub fn limit_work(&mut self, max_work: u64) {
        if let Automaton::Lazy(lazy) = &mut self.automaton {
            lazy.limit_work(max_work);
        }
    }

    pub fn is_exhausted(&self) -> bool {
        matches!(&self.automaton, Automaton::Lazy(lazy) if lazy.is_exhausted())
    }

    /// Edits, of an edit distance, where `term` matches; 0 of others.
    pub fn matches(&mut self, term: &[u8]) -> Option<u8> {
        if !self.read(term) {
            return None;
        }
        match &self.automaton {
            Automaton::Lazy(lazy) => (lazy.is_accepting() && !lazy.is_exhausted()).then_some(0),
            Automaton::Fuzzy(fuzzy) => {
                let shorter = self.ends.len().min(fuzzy.num_chars());
                fuzzy.distance().filter(|&edits| edits == 0 || usize::from(edits) < shorter)
            }
        }
    }

    /// Whether what was read is the beginning of a match or one.
    #[inline]
    fn read(&mut self, term: &[u8]) -> bool {
        let common = self.term.iter().zip(term).take_while(|(a, b)| a == b).count();
        if self.dead.is_some_and(|dead| dead <= common) {
            return false;
        }
        self.dead = None;
        let kept = self.ends.iter().rposition(|&end| end <= common).map_or(0, |ix| ix + 1);
        self.ends.truncate(kept);
        self.automaton.truncate(kept);
        self.term.truncate(common);
        self.term.extend_from_slice(&term[common..]);
        let mut at = self.ends.last().copied().unwrap_or(0);
        while at < term.len() {
            let Some((number, len)) = chars::first(&term[at..]) else {
                self.dead = Some(NEVER);
                return false;
            };
            at += len;
            if !self.automaton.push(number) {
                self.dead = Some(at);
                return false;
            }
            self.ends.push(at);
        }
        true
    }

    fn is_accepting(&self) -> bool {
        match &self.automaton {
            Automaton::Lazy(lazy) => lazy.is_accepting(),
            Automaton::Fuzzy(fuzzy) => fuzzy.distance().is_some(),
        }
    }

    /// The smallest beginning of a match at or above `from`.
    pub fn seek(&mut self, from: &[u8]) -> Option<Vec<u8>> {
        if self.is_exhausted() {
            return None;
        }
        if !self.read(from) {
            // The first character that could stand where the one that leads nowhere does.
            let at = self.ends.last().copied().unwrap_or(0);
            let mut least = match chars::first(&self.term[at..]) {
                Some((number, _)) => number + 1,
                None => chars::at_or_above(&self.term[at..]),
            };
            self.dead = None;
            loop {
                let start = self.ends.last().copied().unwrap_or(0);
                if let Some(number) = self.automaton.next_live(least.min(NUM_CHARS)) {
                    self.append(start, number);
                    break;
                }
                let end = self.ends.pop()?;
                self.automaton.truncate(self.ends.len());
                let start = self.ends.last().copied().unwrap_or(0);
                least = chars::first(&self.term[start..end]).map_or(NUM_CHARS, |(number, _)| number + 1);
            }
        }
        for _ in 0..MAX_EXTENSION {
            if self.is_accepting() {
                break;
            }
            match self.automaton.next_live(0) {
                // Where anything may come next, nothing is gained.
                Some(0) | None => break,
                Some(number) => self.append(self.term.len(), number),
            }
        }
        Some(self.term.clone())
    }

    /// Puts a character that leads on behind the first `start` bytes, which were read.
    fn append(&mut self, start: usize, number: u32) {
        self.term.truncate(start);
        self.term.extend_from_slice(chars::letter(number).encode_utf8(&mut [0; 4]).as_bytes());
        let is_live = self.automaton.push(number);
        debug_assert!(is_live, "a character that leads on");
        self.ends.push(self.term.len());
    }
}
