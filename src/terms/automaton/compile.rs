//! From a tree to an automaton over classes of characters (Thompson, "Regular Expression Search Algorithm", 1968).
//!
//! Two characters that no set of the pattern tells apart are of one class: the automaton moves by class.

use super::{
    chars::NUM_CHARS,
    pattern::PatternError,
    regex::{Set, Tree},
};

/// Steps of an automaton: `.{1000}` has a thousand.
const MAX_STEPS: usize = 4096;
/// Visits of the tree while compiling: bounds repetitions of nothing, which add no step.
const MAX_VISITS: usize = 16 * MAX_STEPS;

/// One place of the automaton.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A term may end here.
    Accept,
    /// A character of this set, then there.
    Take { set: u32, next: u32 },
    /// Here and there at once.
    Fork(u32, u32),
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub steps: Vec<Step>,
    pub start: u32,
    pub sets: Vec<Set>,
    /// First character number of each class, ascending from 0.
    pub class_starts: Vec<u32>,
    /// Classes of ASCII characters.
    ascii: [u16; 128],
}

impl Program {
    pub fn compile(tree: &Tree) -> Result<Self, PatternError> {
        let mut compiler = Compiler { steps: vec![Step::Accept], sets: Vec::new(), visits: 0 };
        let start = compiler.emit(tree, 0)?;
        let Compiler { steps, sets, .. } = compiler;
        let ends = |&(from, to): &(u32, u32)| [from, to + 1];
        let mut class_starts: Vec<u32> = sets.iter().flatten().flat_map(ends).chain([0]).collect();
        class_starts.sort_unstable();
        class_starts.dedup();
        class_starts.retain(|&start| start < NUM_CHARS);
        let mut program = Self { steps, start, sets, class_starts, ascii: [0; 128] };
        program.ascii = std::array::from_fn(|number| program.find_class(number as u32));
        Ok(program)
    }

    pub fn num_classes(&self) -> usize {
        self.class_starts.len()
    }

    fn find_class(&self, number: u32) -> u16 {
        // Sets have at most two ends per character of a pattern: thousands.
        (self.class_starts.partition_point(|&start| start <= number) - 1) as u16
    }

    /// The class of a character.
    #[inline]
    pub fn class_of(&self, number: u32) -> u16 {
        self.ascii.get(number as usize).copied().unwrap_or_else(|| self.find_class(number))
    }

    /// Whether a set has the characters of a class.
    pub fn contains(&self, set: u32, class: u16) -> bool {
        let (set, start) = (&self.sets[set as usize], self.class_starts[usize::from(class)]);
        set.get(set.partition_point(|range| range.1 < start)).is_some_and(|range| range.0 <= start)
    }
}

struct Compiler {
    steps: Vec<Step>,
    sets: Vec<Set>,
    visits: usize,
}

impl Compiler {
    fn push(&mut self, step: Step) -> Result<u32, PatternError> {
        if self.steps.len() >= MAX_STEPS {
            return Err(PatternError::TooLarge);
        }
        self.steps.push(step);
        Ok(self.steps.len() as u32 - 1)
    }

    /// Adds what `tree` needs before `next`; where it begins.
    fn emit(&mut self, tree: &Tree, next: u32) -> Result<u32, PatternError> {
        self.visits += 1;
        if self.visits > MAX_VISITS {
            return Err(PatternError::TooLarge);
        }
        Ok(match tree {
            Tree::Set(set) => {
                let ix = self.sets.iter().position(|known| known == set).unwrap_or_else(|| {
                    self.sets.push(set.clone());
                    self.sets.len() - 1
                });
                self.push(Step::Take { set: ix as u32, next })?
            }
            Tree::Chain(parts) => {
                let mut next = next;
                for part in parts.iter().rev() {
                    next = self.emit(part, next)?;
                }
                next
            }
            Tree::Either(parts) => {
                let mut here = None;
                for part in parts.iter().rev() {
                    let start = self.emit(part, next)?;
                    here = Some(match here {
                        Some(others) => self.push(Step::Fork(start, others))?,
                        None => start,
                    });
                }
                here.unwrap_or(next)
            }
            Tree::Repeat(inner, min, max) => {
                let mut here = next;
                match max {
                    Some(max) => {
                        for _ in *min..*max {
                            let body = self.emit(inner, here)?;
                            here = self.push(Step::Fork(body, next))?;
                        }
                    }
                    None => {
                        let fork = self.push(Step::Fork(next, next))?;
                        self.steps[fork as usize] = Step::Fork(self.emit(inner, fork)?, next);
                        here = fork;
                    }
                }
                for _ in 0..*min {
                    here = self.emit(inner, here)?;
                }
                here
            }
        })
    }
}
