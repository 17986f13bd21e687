//! Who computes: pure rules, so that each can be tested without a device.

/// The caller's wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// A hardware GPU where that pays, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Off,
    /// Any GPU, software adapters included; an error if there is none.
    Required,
}

/// Budget of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuOptions {
    /// Bytes of device memory that this engine may hold at a time. Larger work takes more rounds, never larger
    /// buffers. Default 256 MiB.
    pub budget_bytes: u64,
}

impl Default for GpuOptions {
    fn default() -> Self {
        Self { budget_bytes: 256 << 20 }
    }
}

/// What there is to score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Query vectors.
    pub queries: u64,
    /// Rows each is compared with.
    pub rows: u64,
    /// Components of a vector.
    pub dims: u64,
    /// Documents wanted per query.
    pub k: usize,
}

/// Queries below which `auto` stays on the CPU: rows have to cross to the device for each search, and one or a
/// few queries score them faster than they travel.
pub const AUTO_MIN_QUERIES: u64 = 8;

/// Multiply-adds below which `auto` stays on the CPU, about 25 ms of one AVX2 core: a round trip to the device
/// costs milliseconds.
pub const AUTO_MIN_PRODUCTS: u64 = 400_000_000;

impl Job {
    /// Multiply-adds it takes.
    pub fn products(&self) -> u64 {
        self.queries.saturating_mul(self.rows).saturating_mul(self.dims)
    }

    /// Why `auto` would not even look for a device, if so.
    pub fn too_small_for_auto(&self) -> Option<String> {
        if self.queries < AUTO_MIN_QUERIES {
            let noun = if self.queries == 1 { "query is" } else { "queries are" };
            return Some(format!("{} {noun} faster there", self.queries));
        }
        (self.products() < AUTO_MIN_PRODUCTS).then(|| "the job is small".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_wants_many_queries_and_much_work() {
        let job = |queries, rows| Job { queries, rows, dims: 384, k: 10 };
        assert_eq!(job(1, 10_000_000).too_small_for_auto().unwrap(), "1 query is faster there");
        assert_eq!(job(7, 10_000_000).too_small_for_auto().unwrap(), "7 queries are faster there");
        assert_eq!(job(8, 1000).too_small_for_auto().unwrap(), "the job is small");
        assert_eq!(job(100, 100_000).too_small_for_auto(), None);
        assert_eq!(job(u64::MAX, u64::MAX).too_small_for_auto(), None);
    }
}
