//! One load that several readers wait for.

#![forbid(unsafe_code)]

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;

use crate::error::{Error, ErrorKind};

/// How a load ended.
#[derive(Debug, Clone)]
pub(super) enum Landing {
    /// The block.
    Done(Bytes),
    /// It failed: everyone who waited is told, nothing is kept.
    Failed(Failure),
    /// Whoever loaded it stopped caring. A waiter loads it itself.
    Abandoned,
}

/// An error that can be told to several waiters.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    kind: ErrorKind,
    text: String,
}

impl Failure {
    pub(super) fn of(error: &Error) -> Self {
        Self { kind: error.kind(), text: error.to_string() }
    }

    pub(super) fn to_error(&self) -> Error {
        Error::new(self.kind, self.text.clone())
    }
}

/// A block on its way.
#[derive(Debug, Default)]
pub(super) struct Flight(Mutex<Progress>);

#[derive(Debug, Default)]
struct Progress {
    landing: Option<Landing>,
    waiting: Vec<Waker>,
}

impl Flight {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the load and wakes all who wait. The first landing stands.
    pub(super) fn land(&self, landing: Landing) {
        let waiting = {
            let mut progress = self.progress();
            progress.landing.get_or_insert(landing);
            std::mem::take(&mut progress.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// Waits for a [`Flight`] to land.
pub(super) struct Waiting(pub(super) Arc<Flight>);

impl Future for Waiting {
    type Output = Landing;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Landing> {
        let mut progress = self.0.progress();
        if let Some(landing) = &progress.landing {
            return Poll::Ready(landing.clone());
        }
        if !progress.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            progress.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}
