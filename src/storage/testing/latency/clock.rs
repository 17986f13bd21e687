//! The clock: an executor on one thread that moves time when everything waits.

#![forbid(unsafe_code)]

use std::{
    collections::HashMap,
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::{StreamExt, stream::FuturesUnordered};

use super::link::{Link, Model};
use crate::platform::{Task, capture_spawned};

/// Virtual time and the link that all storages of it share. Clones are the same clock.
#[derive(Clone)]
pub struct VirtualClock(Arc<Mutex<State>>);

pub(super) struct State {
    pub(super) model: Model,
    pub(super) wakers: HashMap<u64, Waker>,
    /// Spawned and not finished, kept from one run to the next.
    background: FuturesUnordered<Task>,
}

/// What went over the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkStats {
    /// Requests made.
    pub requests: u64,
    /// Bytes they brought.
    pub bytes: u64,
    /// Times a request was made while none was queued or under way.
    pub waves: u64,
    /// Most requests under way at a time.
    pub max_in_flight: usize,
}

/// Notes that something can go on.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl VirtualClock {
    /// Time 0, and a link nobody uses yet.
    pub fn new(link: Link) -> Self {
        let background = FuturesUnordered::new();
        Self(Arc::new(Mutex::new(State { model: Model::new(link), wakers: HashMap::new(), background })))
    }

    /// Microseconds since the clock was made.
    pub fn now_micros(&self) -> f64 {
        self.state().model.now
    }

    /// What went over the link so far.
    pub fn stats(&self) -> LinkStats {
        let state = self.state();
        let Model { requests, bytes, waves, max_in_flight, .. } = state.model;
        LinkStats { requests, bytes, waves, max_in_flight }
    }

    /// Waits virtual microseconds: a user who thinks, a processor that works.
    pub fn sleep(&self, micros: f64) -> Sleep {
        let number = self.state().model.sleep(micros);
        Sleep { clock: self.clone(), number }
    }

    /// Runs `future` to its end. What it spawns runs too, and goes on in the next run if it has not ended.
    ///
    /// # Panics
    /// If the future waits while nothing is under way: nothing could ever wake it.
    pub fn run<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut background = std::mem::take(&mut self.state().background);
        loop {
            let (polled, spawned) = capture_spawned(|| future.as_mut().poll(&mut context));
            background.extend(spawned);
            if let Poll::Ready(output) = polled {
                self.state().background = background;
                return output;
            }
            loop {
                let poll = || while let Poll::Ready(Some(())) = background.poll_next_unpin(&mut context) {};
                let ((), spawned) = capture_spawned(poll);
                if spawned.is_empty() {
                    break;
                }
                background.extend(spawned);
            }
            if woken.0.swap(false, Ordering::Relaxed) {
                continue;
            }
            let wakers = {
                let mut state = self.state();
                let ended = state.model.advance().expect("nothing is under way, and the future waits");
                ended.iter().filter_map(|number| state.wakers.remove(number)).collect::<Vec<_>>()
            };
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    pub(super) fn request(&self, bytes: u64, is_search: bool) -> Sleep {
        let number = self.state().model.request(bytes, is_search);
        Sleep { clock: self.clone(), number }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a moment of virtual time; dropped, it gives up.
pub struct Sleep {
    clock: VirtualClock,
    number: u64,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.state();
        if !state.model.is_pending(self.number) {
            return Poll::Ready(());
        }
        state.wakers.insert(self.number, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let mut state = self.clock.state();
        state.wakers.remove(&self.number);
        if state.model.is_pending(self.number) {
            state.model.cancel(self.number);
        }
    }
}
