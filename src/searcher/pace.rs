//! Keeps long computations polite: looks for a cancellation and gives way to the event loop.

#![forbid(unsafe_code)]

use crate::{
    error::Result,
    platform::{self, Cancel},
};

/// Milliseconds of work between two breaks.
const SLICE_MILLIS: f64 = 6.0;
/// Steps between two looks at the clock, which costs a call into JavaScript.
const STEPS_PER_LOOK: u32 = 4;

/// Counts steps of some 10 microseconds.
#[derive(Debug)]
pub(super) struct Pace<'a> {
    cancel: &'a Cancel,
    since: f64,
    steps: u32,
}

impl<'a> Pace<'a> {
    pub fn new(cancel: &'a Cancel) -> Self {
        Self { cancel, since: platform::now_millis(), steps: 0 }
    }

    /// One step was done.
    ///
    /// # Errors
    /// `aborted` once cancelled.
    pub async fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if !self.steps.is_multiple_of(STEPS_PER_LOOK) {
            return Ok(());
        }
        self.cancel.check()?;
        if platform::now_millis() - self.since > SLICE_MILLIS {
            platform::yield_now().await;
            self.cancel.check()?;
            self.since = platform::now_millis();
        }
        Ok(())
    }
}
