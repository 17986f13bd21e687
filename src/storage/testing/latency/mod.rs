//! A storage behind a link with a round trip, a bandwidth and a bound on requests in flight, in virtual time.
//!
//! [`VirtualClock::run`] drives a future, and what it spawns, on the calling thread, and moves the clock only when all of
//! it waits: so a benchmark of seconds takes milliseconds and gives the same numbers every time. [`link`] is the
//! model.

#![forbid(unsafe_code)]

mod clock;
mod link;
mod storage;

pub use clock::{LinkStats, Sleep, VirtualClock};
pub use link::Link;
pub use storage::{LatencyFile, LatencyStorage, LatencyWriter};

#[cfg(test)]
mod tests;
