//! When to ask again: few times, later and later, never all clients at once.

#![forbid(unsafe_code)]

/// Bounds of the retries of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all, the first included; 0 counts as 1. Default 4.
    pub attempts: u32,
    /// Longest wait before the second try, milliseconds; it doubles with each further one. Default 200.
    pub base_millis: u32,
    /// No wait of our own choice is longer. Default 4,000.
    pub max_millis: u32,
    /// A server's `Retry-After` is kept up to this; one that asks for longer ends the retries. Default 20,000.
    pub max_retry_after_millis: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 4, base_millis: 200, max_millis: 4_000, max_retry_after_millis: 20_000 }
    }
}

/// The retries of one request.
#[derive(Debug, Clone)]
pub struct Backoff {
    policy: RetryPolicy,
    failed: u32,
}

impl Backoff {
    /// Before the first try.
    pub fn new(policy: RetryPolicy) -> Self {
        Self { policy, failed: 0 }
    }

    /// Milliseconds to wait before the next try, after a try with a transient fault; `None` when it was the last one.
    /// `random` is any random number: waits lie between half and all of the doubling bound, so that clients that
    /// failed together do not come back together. A `Retry-After` in seconds is the least wait; a date is ignored,
    /// since clocks differ.
    pub fn next_wait(&mut self, retry_after: Option<&str>, random: u32) -> Option<u32> {
        self.failed += 1;
        if self.failed >= self.policy.attempts.max(1) {
            return None;
        }
        let bound = u64::from(self.policy.base_millis) << (self.failed - 1).min(20);
        let bound = bound.min(u64::from(self.policy.max_millis)) as u32;
        let wait = bound / 2 + random % (bound - bound / 2 + 1);
        let Some(seconds) = retry_after.and_then(|text| text.trim().parse::<u32>().ok()) else { return Some(wait) };
        let asked = seconds.saturating_mul(1000);
        (asked <= self.policy.max_retry_after_millis).then(|| wait.saturating_add(asked))
    }
}

/// A random number for [`Backoff::next_wait`]; 0 where the platform has none.
pub fn jitter() -> u32 {
    getrandom::u32().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy =
        RetryPolicy { attempts: 5, base_millis: 100, max_millis: 300, max_retry_after_millis: 2_000 };

    #[test]
    fn waits_grow_within_bounds_and_end() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..500 {
            let mut backoff = Backoff::new(POLICY);
            for bound in [100, 200, 300, 300] {
                let wait = backoff.next_wait(None, random.u32(..)).expect("tries are left");
                assert!((bound / 2..=bound).contains(&wait), "{wait} of {bound}");
            }
            assert_eq!(backoff.next_wait(None, random.u32(..)), None);
        }
    }

    #[test]
    fn retry_after_is_kept_within_bounds() {
        assert!(Backoff::new(POLICY).next_wait(Some("1"), 7).expect("kept") >= 1_000);
        assert_eq!(Backoff::new(POLICY).next_wait(Some("3"), 7), None);
        assert_eq!(Backoff::new(POLICY).next_wait(Some("4294967295"), 7), None);
        assert!(Backoff::new(POLICY).next_wait(Some("Wed, 21 Oct 2026 07:28:00 GMT"), 7).expect("ignored") <= 100);
        assert!(Backoff::new(POLICY).next_wait(Some("-1"), 7).expect("ignored") <= 100);
    }

    #[test]
    fn extreme_policies_do_not_overflow() {
        let policy = RetryPolicy {
            attempts: u32::MAX,
            base_millis: u32::MAX,
            max_millis: u32::MAX,
            max_retry_after_millis: u32::MAX,
        };
        let mut backoff = Backoff::new(policy);
        for _ in 0..100 {
            backoff.next_wait(Some("4294967295"), u32::MAX).expect("tries are left");
        }
        assert_eq!(Backoff::new(RetryPolicy { attempts: 0, ..policy }).next_wait(None, 0), None);
    }
}
