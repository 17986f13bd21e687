//! A deterministic automaton that is made as it is needed.
//!
//! Its states are sets of places of the program; a move is computed once and looked up from then on. When the states
//! take too much room they are forgotten, those of the current term apart, as RE2 does.

use std::collections::HashMap;

use super::{
    chars::NUM_CHARS,
    compile::{Program, Step},
};

/// Numbers that states may hold, four bytes each, before they are forgotten.
const MAX_ROOM: usize = 1 << 20;
/// The same where the states of a long term take more.
const MAX_TERM_ROOM: usize = 1 << 22;

/// No place is left: nothing matches any more.
const DEAD: u32 = 0;
const UNKNOWN: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct State {
    /// Where the program may be, ascending.
    places: Box<[u32]>,
    is_accepting: bool,
    /// State by class.
    moves: Box<[u32]>,
}

/// The states along one term.
#[derive(Debug, Clone)]
pub(super) struct Lazy {
    program: Program,
    states: Vec<State>,
    by_places: HashMap<Box<[u32]>, u32>,
    room: usize,
    max_room: usize,
    /// State before the first character, behind the first, …
    stack: Vec<u32>,
    work: u64,
    /// Visits of places after which it stops.
    max_work: u64,
    /// Marks of places, by the round they were last set in.
    marks: Vec<u32>,
    round: u32,
}

impl Lazy {
    pub fn new(program: Program, max_work: u64) -> Self {
        let marks = vec![0; program.steps.len()];
        let mut lazy = Self {
            program,
            states: Vec::new(),
            by_places: HashMap::new(),
            room: 0,
            max_room: MAX_ROOM,
            stack: Vec::new(),
            work: 0,
            max_work,
            marks,
            round: 0,
        };
        lazy.intern(Vec::new());
        let start = lazy.closure(&[lazy.program.start]);
        let start = lazy.intern(start);
        lazy.stack.push(start);
        lazy
    }

    pub fn is_exhausted(&self) -> bool {
        self.work > self.max_work
    }

    pub fn limit_work(&mut self, max_work: u64) {
        self.max_work = max_work;
    }

    fn intern(&mut self, places: Vec<u32>) -> u32 {
        if let Some(&known) = self.by_places.get(places.as_slice()) {
            return known;
        }
        let places = places.into_boxed_slice();
        let ix = self.states.len() as u32;
        // The program's only accepting place is number 0.
        let is_accepting = places.first().is_some_and(|&place| self.program.steps[place as usize] == Step::Accept);
        self.room += 2 * places.len() + self.program.num_classes() + 16;
        // Room is work too: many classes make few places dear.
        self.work += self.program.num_classes() as u64 / 4;
        self.by_places.insert(places.clone(), ix);
        let moves = vec![if ix == DEAD { DEAD } else { UNKNOWN }; self.program.num_classes()].into_boxed_slice();
        self.states.push(State { places, is_accepting, moves });
        ix
    }

    /// Places reached from `from` without a character, ascending, forks left out.
    fn closure(&mut self, from: &[u32]) -> Vec<u32> {
        self.round += 1;
        let (mut found, mut open) = (Vec::new(), from.to_vec());
        while let Some(place) = open.pop() {
            if std::mem::replace(&mut self.marks[place as usize], self.round) == self.round {
                continue;
            }
            self.work += 1;
            match self.program.steps[place as usize] {
                Step::Fork(a, b) => open.extend([a, b]),
                Step::Accept | Step::Take { .. } => found.push(place),
            }
        }
        found.sort_unstable();
        found
    }

    fn compute(&mut self, state: u32, class: u16) -> u32 {
        if self.is_exhausted() {
            return DEAD;
        }
        let mut next = Vec::new();
        for &place in &self.states[state as usize].places {
            self.work += 1;
            if let Step::Take { set, next: there } = self.program.steps[place as usize]
                && self.program.contains(set, class)
            {
                next.push(there);
            }
        }
        let places = self.closure(&next);
        let found = self.intern(places);
        self.states[state as usize].moves[usize::from(class)] = found;
        found
    }

    /// The state behind a character of `class`.
    #[inline]
    fn step(&mut self, state: u32, class: u16) -> u32 {
        match self.states[state as usize].moves[usize::from(class)] {
            UNKNOWN => self.compute(state, class),
            known => known,
        }
    }

    /// Forgets all states but those of the stack.
    fn make_room(&mut self) {
        if self.room <= self.max_room {
            return;
        }
        let kept: Vec<Vec<u32>> = self.stack.iter().map(|&state| self.states[state as usize].places.to_vec()).collect();
        self.states.clear();
        self.by_places.clear();
        self.room = 0;
        self.intern(Vec::new());
        self.stack = kept.into_iter().map(|places| self.intern(places)).collect();
        self.work += self.room as u64;
        self.max_room = (2 * self.room).clamp(MAX_ROOM, MAX_TERM_ROOM);
    }

    fn top(&self) -> u32 {
        self.stack.last().copied().unwrap_or(DEAD)
    }

    /// Goes on by a character; false, and nothing changed, if nothing matches then.
    #[inline]
    pub fn push(&mut self, number: u32) -> bool {
        let next = self.step(self.top(), self.program.class_of(number));
        if next == DEAD {
            return false;
        }
        self.stack.push(next);
        self.make_room();
        true
    }

    /// Goes back to the first `depth` characters.
    pub fn truncate(&mut self, depth: usize) {
        self.stack.truncate(depth + 1);
    }

    pub fn is_accepting(&self) -> bool {
        self.states[self.top() as usize].is_accepting
    }

    /// The first character at or above `from` that leads on.
    pub fn next_live(&mut self, from: u32) -> Option<u32> {
        if from >= NUM_CHARS {
            return None;
        }
        for class in self.program.class_of(from)..self.program.num_classes() as u16 {
            self.make_room();
            if self.step(self.top(), class) != DEAD {
                return Some(self.program.class_starts[usize::from(class)].max(from));
            }
        }
        None
    }
}
