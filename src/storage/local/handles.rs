//! Open files under a budget.

#![forbid(unsafe_code)]

use std::{
    collections::HashMap,
    fs,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Keeps at most so many files open; the one unused for longest is closed first. A read in progress keeps its file.
pub(super) struct Handles {
    max_open: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: HashMap<u64, Open>,
    next_id: u64,
    clock: u64,
}

struct Open {
    file: Arc<fs::File>,
    last_used: u64,
}

impl Handles {
    pub(super) fn new(max_open: usize) -> Self {
        Self { max_open: max_open.max(1), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn open(&self) -> usize {
        self.state().open.len()
    }

    /// A number for a file that was just opened.
    pub(super) fn register(&self, file: fs::File) -> u64 {
        let id = {
            let mut state = self.state();
            state.next_id += 1;
            state.next_id
        };
        self.put(id, Arc::new(file));
        id
    }

    /// The open file of that number; `None` if it was closed for others.
    pub(super) fn get(&self, id: u64) -> Option<Arc<fs::File>> {
        let mut state = self.state();
        state.clock += 1;
        let clock = state.clock;
        let open = state.open.get_mut(&id)?;
        open.last_used = clock;
        Some(open.file.clone())
    }

    /// Keeps a file that was opened again.
    pub(super) fn put(&self, id: u64, file: Arc<fs::File>) {
        let mut state = self.state();
        state.clock += 1;
        let last_used = state.clock;
        state.open.insert(id, Open { file, last_used });
        while state.open.len() > self.max_open {
            let oldest = state.open.iter().min_by_key(|(_, open)| open.last_used).map(|(&id, _)| id);
            let Some(oldest) = oldest else { return };
            state.open.remove(&oldest);
        }
    }

    pub(super) fn close(&self, id: u64) {
        self.state().open.remove(&id);
    }
}
