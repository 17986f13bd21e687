//! Progress and good manners of a long computation.

use crate::{
    error::Result,
    index::report::{OnProgress, Phase, Progress},
    platform::{Cancel, now_millis, yield_now},
};

/// How long a merge computes before it gives way to the event loop and looks at the cancel flag.
const TURN_MILLIS: f64 = 8.0;

/// Tells how far a merge is, and lets others have their turn.
pub(super) struct Pace<'a> {
    progress: &'a dyn OnProgress,
    cancel: &'a Cancel,
    last_turn: f64,
    pub phase: Phase,
    /// Bytes read.
    pub done: u64,
    pub total: u64,
}

impl<'a> Pace<'a> {
    /// A merge that will read `total` bytes.
    pub fn new(progress: &'a dyn OnProgress, cancel: &'a Cancel, phase: Phase, total: u64) -> Self {
        Self { progress, cancel, last_turn: now_millis(), phase, done: 0, total }
    }

    /// Fails once it was cancelled.
    pub fn check(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Some bytes were read.
    pub async fn read(&mut self, bytes: u64) -> Result<()> {
        self.done += bytes;
        self.turn().await
    }

    /// Gives way if it is time.
    pub async fn turn(&mut self) -> Result<()> {
        self.cancel.check()?;
        if now_millis() - self.last_turn >= TURN_MILLIS {
            self.progress.report(Progress { phase: self.phase, done: self.done.min(self.total), total: self.total });
            yield_now().await;
            self.cancel.check()?;
            self.last_turn = now_millis();
        }
        Ok(())
    }
}
