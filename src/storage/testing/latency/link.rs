//! The model of a link: what is queued, what is under way, and when the next thing happens.
//!
//! A request waits for one of the slots, searches before merges and checks; then a round trip passes; then its bytes come,
//! all transfers sharing the bandwidth equally, as connections to one host do.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};

/// A link, as a test describes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// From the start of a request to its first byte.
    pub round_trip_micros: u64,
    /// Bandwidth that all transfers share; may be infinite.
    pub bytes_per_second: f64,
    /// Requests in flight at a time; further ones queue.
    pub in_flight: usize,
}

impl Link {
    /// 20 ms away, six requests at a time, 100 Mbit/s: a browser and a server on one continent.
    pub const REMOTE: Self = Self { round_trip_micros: 20_000, bytes_per_second: 12.5e6, in_flight: 6 };
}

/// A transfer that would end within this is at its end: the rest is rounding.
const EPSILON_MICROS: f64 = 1e-3;

#[derive(Debug)]
enum Phase {
    /// Bytes come from this time on.
    RoundTrip { until: f64, bytes: f64 },
    /// So many bytes are left.
    Transfer { left: f64 },
}

/// Requests by number, in virtual microseconds.
#[derive(Debug)]
pub(super) struct Model {
    link: Link,
    pub(super) now: f64,
    searches: VecDeque<(u64, u64)>,
    others: VecDeque<(u64, u64)>,
    under_way: BTreeMap<u64, Phase>,
    sleepers: BTreeMap<u64, f64>,
    next: u64,
    pub(super) requests: u64,
    pub(super) bytes: u64,
    pub(super) waves: u64,
    pub(super) max_in_flight: usize,
}

impl Model {
    pub(super) fn new(link: Link) -> Self {
        Self {
            link,
            now: 0.0,
            searches: VecDeque::new(),
            others: VecDeque::new(),
            under_way: BTreeMap::new(),
            sleepers: BTreeMap::new(),
            next: 0,
            requests: 0,
            bytes: 0,
            waves: 0,
            max_in_flight: 0,
        }
    }

    /// Queues a request; returns its number.
    pub(super) fn request(&mut self, bytes: u64, is_search: bool) -> u64 {
        let idle = self.under_way.is_empty() && self.searches.is_empty() && self.others.is_empty();
        self.waves += u64::from(idle);
        self.requests += 1;
        self.bytes += bytes;
        self.next += 1;
        let queue = if is_search { &mut self.searches } else { &mut self.others };
        queue.push_back((self.next, bytes));
        self.start_queued();
        self.next
    }

    /// Adds something that happens by itself; returns its number.
    pub(super) fn sleep(&mut self, micros: f64) -> u64 {
        self.next += 1;
        self.sleepers.insert(self.next, self.now + micros);
        self.next
    }

    /// Whether the request or sleep of that number has not happened yet.
    pub(super) fn is_pending(&self, number: u64) -> bool {
        let queued = |queue: &VecDeque<(u64, u64)>| queue.iter().any(|&(own, _)| own == number);
        self.under_way.contains_key(&number)
            || self.sleepers.contains_key(&number)
            || queued(&self.searches)
            || queued(&self.others)
    }

    /// Gives up a request or sleep.
    pub(super) fn cancel(&mut self, number: u64) {
        self.searches.retain(|&(own, _)| own != number);
        self.others.retain(|&(own, _)| own != number);
        self.sleepers.remove(&number);
        self.under_way.remove(&number);
        self.start_queued();
    }

    /// Moves to the next moment at which something ends and returns what ended; `None` if nothing is under way.
    pub(super) fn advance(&mut self) -> Option<Vec<u64>> {
        let transfers = self.under_way.values().filter(|phase| matches!(phase, Phase::Transfer { .. })).count();
        // Bytes per microsecond of one transfer.
        let rate = self.link.bytes_per_second.min(f64::MAX) / 1e6 / transfers.max(1) as f64;
        let ends = self.under_way.values().map(|phase| match phase {
            Phase::RoundTrip { until, .. } => *until,
            Phase::Transfer { left } => self.now + left / rate,
        });
        let next = ends.chain(self.sleepers.values().copied()).min_by(f64::total_cmp)?;
        let passed = (next - self.now).max(0.0);
        self.now = next.max(self.now);
        let mut ended = Vec::new();
        for (&number, phase) in &mut self.under_way {
            match phase {
                Phase::Transfer { left } => *left -= passed * rate,
                Phase::RoundTrip { until, bytes } if *until <= self.now => *phase = Phase::Transfer { left: *bytes },
                Phase::RoundTrip { .. } => {}
            }
            if matches!(phase, Phase::Transfer { left } if *left <= rate * EPSILON_MICROS) {
                ended.push(number);
            }
        }
        self.under_way.retain(|number, _| !ended.contains(number));
        let now = self.now;
        ended.extend(self.sleepers.extract_if(.., |_, until| *until <= now).map(|(number, _)| number));
        self.start_queued();
        Some(ended)
    }

    fn start_queued(&mut self) {
        while self.under_way.len() < self.link.in_flight.max(1) {
            let Some((number, bytes)) = self.searches.pop_front().or_else(|| self.others.pop_front()) else { break };
            let until = self.now + self.link.round_trip_micros as f64;
            // Over an infinite bandwidth no time times no limit would be no number.
            let bytes = if self.link.bytes_per_second.is_finite() { bytes as f64 } else { 0.0 };
            self.under_way.insert(number, Phase::RoundTrip { until, bytes });
        }
        self.max_in_flight = self.max_in_flight.max(self.under_way.len());
    }
}
