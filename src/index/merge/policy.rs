//! Which segments to merge: Lucene's TieredMergePolicy in its essentials (defaults of 10.4), on live bytes.
//!
//! Segments of about one size form a tier of at most [`TieredPolicy::segments_per_tier`]; when there are more in
//! all than the tiers allow, the merge with the best score (even sizes, small, many deletions) is picked. A merge
//! whose largest segment dominates it is not: rewriting one large segment for every small one would cost
//! quadratic time (LUCENE-10574).

use crate::topk::order;

/// A segment as the policy sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Length of its file.
    pub bytes: u64,
    /// Documents, deleted ones included.
    pub max_doc: u32,
    /// Live documents.
    pub num_docs: u32,
    /// Whether its postings are in another codec than the index's: a forced merge encodes them again.
    pub is_outdated: bool,
}

impl Candidate {
    /// Bytes that a merge would write for it.
    fn live_bytes(&self) -> u64 {
        let share = f64::from(self.num_docs) / f64::from(self.max_doc.max(1));
        (self.bytes as f64 * share) as u64
    }

    fn deleted_percent(&self) -> f64 {
        100.0 * f64::from(self.max_doc - self.num_docs) / f64::from(self.max_doc.max(1))
    }
}

/// The policy and its knobs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TieredPolicy {
    /// Segments of one tier, and most segments of one merge. Default 8.
    pub segments_per_tier: usize,
    /// Smaller segments count as this large. Default 1 MiB: what a browser flushes for a small batch.
    pub floor_bytes: u64,
    /// No merge comes out larger. Default 5 GiB.
    pub max_merged_bytes: u64,
    /// A segment with more deleted documents than this is worth rewriting alone. Default 20 percent.
    pub max_deleted_percent: f64,
}

impl Default for TieredPolicy {
    fn default() -> Self {
        Self { segments_per_tier: 8, floor_bytes: 1 << 20, max_merged_bytes: 5 << 30, max_deleted_percent: 20.0 }
    }
}

/// A merge whose output is below this multiple of its largest input is mostly a rewrite of that input.
const MIN_GROWTH: f64 = 1.5;
/// How much the size of a merge counts beside its evenness.
const SIZE_EXPONENT: f64 = 0.05;

impl TieredPolicy {
    /// The next merge, as ascending positions in `segments`; empty if none is due.
    pub fn pick(&self, segments: &[Candidate]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..segments.len()).collect();
        order.reverse();
        order::by_largest(&mut order, |&ix| segments[ix].live_bytes());
        order.retain(|&ix| {
            let segment = &segments[ix];
            segment.live_bytes() <= self.max_merged_bytes / 2 || segment.deleted_percent() > self.max_deleted_percent
        });
        let wasteful = |ix: &&usize| segments[**ix].deleted_percent() > self.max_deleted_percent;
        if order.len() <= self.allowed(segments, &order) {
            return order.iter().find(wasteful).map(|ix| vec![*ix]).unwrap_or_default();
        }
        let mut best: Option<(f64, Vec<usize>)> = None;
        for start in 0..order.len() {
            let (picked, hit_max) = self.gather(segments, &order[start..]);
            let Some(score) = self.score(segments, &picked, hit_max) else { continue };
            if best.as_ref().is_none_or(|(lowest, _)| score < *lowest) {
                best = Some((score, picked));
            }
        }
        let mut picked = best.map(|(_, picked)| picked).unwrap_or_default();
        picked.sort_unstable();
        picked
    }

    /// How many segments the tiers have room for.
    fn allowed(&self, segments: &[Candidate], order: &[usize]) -> usize {
        let sizes = order.iter().map(|&ix| segments[ix].live_bytes());
        let mut left: u64 = sizes.clone().sum();
        let mut level = sizes.min().unwrap_or(0).max(self.floor_bytes);
        let mut allowed = 0;
        loop {
            let in_level = left as f64 / level as f64;
            if in_level < self.segments_per_tier as f64 || level >= self.max_merged_bytes {
                return (allowed + in_level.ceil() as usize).max(self.segments_per_tier);
            }
            allowed += self.segments_per_tier;
            left -= self.segments_per_tier as u64 * level;
            level = level.saturating_mul(self.segments_per_tier as u64).min(self.max_merged_bytes);
        }
    }

    /// The next segments of `order` that fit one merge, and whether its size limit was met.
    fn gather(&self, segments: &[Candidate], order: &[usize]) -> (Vec<usize>, bool) {
        let (mut picked, mut bytes, mut hit_max) = (Vec::new(), 0u64, false);
        for &ix in order {
            if picked.len() >= self.segments_per_tier && bytes >= self.floor_bytes {
                break;
            }
            let more = segments[ix].live_bytes();
            if bytes.saturating_add(more) > self.max_merged_bytes {
                // Smaller ones behind it may still fit.
                hit_max = true;
                continue;
            }
            bytes += more;
            picked.push(ix);
        }
        (picked, hit_max)
    }

    /// Lower is better; `None` for a merge not worth doing.
    fn score(&self, segments: &[Candidate], picked: &[usize], hit_max: bool) -> Option<f64> {
        let floored = |ix: &usize| segments[*ix].live_bytes().max(self.floor_bytes) as f64;
        let largest = picked.iter().map(floored).fold(0.0, f64::max);
        let sum: f64 = picked.iter().map(floored).sum();
        let live: u64 = picked.iter().map(|&ix| segments[ix].live_bytes()).sum();
        let all: u64 = picked.iter().map(|&ix| segments[ix].bytes).sum();
        let one_alone = picked.len() < 2 && picked.iter().all(|&ix| segments[ix].deleted_percent() == 0.0);
        let raw_largest = picked.iter().map(|&ix| segments[ix].live_bytes()).max().unwrap_or(0);
        let many_small = live < self.floor_bytes;
        if picked.is_empty() || one_alone || (!many_small && (live as f64) < MIN_GROWTH * raw_largest as f64) {
            return None;
        }
        let skew = if hit_max { 1.0 / self.segments_per_tier as f64 } else { largest / sum };
        let live_share = live as f64 / all.max(1) as f64;
        Some(skew * (live.max(1) as f64).powf(SIZE_EXPONENT) * live_share * live_share)
    }

    /// The next merge towards at most `max_segments` segments without deletions and of the index's codec, of at most `max_sources` each;
    /// empty when there.
    pub fn pick_forced(segments: &[Candidate], max_segments: usize, max_sources: usize) -> Vec<usize> {
        let max_segments = max_segments.max(1);
        let mut order: Vec<usize> = (0..segments.len()).collect();
        order::by_key(&mut order, |&ix| segments[ix].live_bytes());
        if segments.len() > max_segments {
            let count = (segments.len() - max_segments + 1).min(max_sources.max(2));
            order.truncate(count);
            order.sort_unstable();
            return order;
        }
        let is_due = |ix: &usize| segments[*ix].num_docs < segments[*ix].max_doc || segments[*ix].is_outdated;
        let wasteful = order.into_iter().find(is_due);
        wasteful.map(|ix| vec![ix]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: u64) -> Candidate {
        Candidate { bytes, max_doc: 100, num_docs: 100, is_outdated: false }
    }

    #[test]
    fn few_segments_are_left_alone() {
        let policy = TieredPolicy::default();
        assert!(policy.pick(&[]).is_empty());
        // Eight of one tier, and one of the next.
        assert!(policy.pick(&[whole(10 << 20); 9]).is_empty());
        assert_eq!(policy.pick(&[whole(10 << 20); 10]).len(), 8);
    }

    #[test]
    fn deletions_are_rewritten() {
        let half = Candidate { bytes: 1 << 20, max_doc: 100, num_docs: 50, is_outdated: false };
        assert_eq!(TieredPolicy::default().pick(&[whole(1 << 20), half]), [1]);
        assert_eq!(TieredPolicy::pick_forced(&[half], 1, 10), [0]);
        assert!(TieredPolicy::pick_forced(&[whole(5)], 1, 10).is_empty());
    }

    #[test]
    fn a_large_segment_is_not_rewritten_for_small_ones() {
        let mut segments = vec![whole(1 << 30)];
        segments.extend([whole(1 << 20); 8]);
        assert!(!TieredPolicy::default().pick(&segments).contains(&0));
    }

    #[test]
    fn many_tiny_flushes_cost_n_log_n_bytes() {
        let (mut segments, mut written, policy) = (Vec::new(), 0u64, TieredPolicy::default());
        let flushes = 2000;
        for _ in 0..flushes {
            segments.push(whole(1 << 20));
            loop {
                let picked = policy.pick(&segments);
                if picked.is_empty() {
                    break;
                }
                let bytes: u64 = picked.iter().map(|&ix| segments[ix].bytes).sum();
                written += bytes;
                for ix in picked.into_iter().rev() {
                    segments.remove(ix);
                }
                segments.push(whole(bytes));
            }
        }
        // log8(2000) is 3.7: each byte is rewritten about that often.
        assert!(written < (flushes * 6) << 20, "{} MiB", written >> 20);
        assert!(segments.len() < 40, "{}", segments.len());
    }

    #[test]
    fn forced_merges_end_at_the_wanted_number() {
        let mut segments: Vec<_> = (1..=20).map(|ix| whole(ix << 20)).collect();
        while segments.len() > 3 {
            let picked = TieredPolicy::pick_forced(&segments, 3, 6);
            assert!((2..=6).contains(&picked.len()));
            let bytes = picked.iter().map(|&ix| segments[ix].bytes).sum();
            for ix in picked.into_iter().rev() {
                segments.remove(ix);
            }
            segments.push(whole(bytes));
        }
        assert!(TieredPolicy::pick_forced(&segments, 3, 6).is_empty());
    }
}
