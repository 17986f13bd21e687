//! A flag that long work looks at.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::error::{Error, ErrorKind, Result};

/// Shared cancellation flag: clones are the same flag. Long loops call [`Cancel::check`] at least every few
/// milliseconds; loops that never await also call [`super::yield_now`], else a worker cannot hear the request.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag nobody has set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// # Errors
    /// [`ErrorKind::Aborted`] once cancelled.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::new(ErrorKind::Aborted, "cancelled by the caller")) } else { Ok(()) }
    }
}
