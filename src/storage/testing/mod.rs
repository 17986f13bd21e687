//! Storages for tests and benchmarks: they count, they take time, they fail.
//!
//! [`counting`] tells what was asked for, [`latency`] makes it cost virtual time, [`faulty`] breaks and crashes. Each
//! implements every method of the traits itself: there is no default it could inherit.

pub mod counting;
pub mod faulty;
pub mod latency;

pub use counting::{CountingStorage, Tally};
pub use faulty::{Damage, Faults, FaultyStorage};
pub use latency::{LatencyStorage, Link, LinkStats, VirtualClock};
