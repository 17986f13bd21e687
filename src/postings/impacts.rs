//! What the best documents of a stretch of postings could score: the frequencies and norms that no other beats.
//!
//! An impact (freq, norm) is beaten by one with at least its frequency in a document no longer. What remains rises in
//! both. Coded as differences: `vint (freq_delta - 1) << 1` where the norm rises by one, else
//! `vint (freq_delta - 1) << 1 | 1` and the zig-zag coded `norm_delta - 1`.

use crate::codec::{DecodeError, Reader, Write};

/// A frequency in a document of a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Impact {
    /// Occurrences of the term.
    pub freq: u32,
    /// Norm byte of the document; 0 is never scored better than the shortest document.
    pub norm: u8,
}

/// Collects the impacts of a stretch.
#[derive(Debug, Clone)]
pub(super) struct ImpactCollector {
    max_freqs: [u32; 256],
    lowest: usize,
    highest: usize,
}

impl Default for ImpactCollector {
    fn default() -> Self {
        Self { max_freqs: [0; 256], lowest: 255, highest: 0 }
    }
}

impl ImpactCollector {
    #[inline]
    pub fn add(&mut self, freq: u32, norm: u8) {
        let norm = usize::from(norm);
        self.max_freqs[norm] = self.max_freqs[norm].max(freq);
        self.lowest = self.lowest.min(norm);
        self.highest = self.highest.max(norm);
    }

    pub fn add_all(&mut self, other: &Self) {
        for norm in other.lowest..=other.highest {
            if other.max_freqs[norm] > 0 {
                self.add(other.max_freqs[norm], norm as u8);
            }
        }
    }

    pub fn clear(&mut self) {
        if self.lowest <= self.highest {
            self.max_freqs[self.lowest..=self.highest].fill(0);
        }
        (self.lowest, self.highest) = (255, 0);
    }

    /// Appends what no other beats.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut last = Impact { freq: 0, norm: 0 };
        for norm in self.lowest..=self.highest {
            let freq = self.max_freqs[norm];
            if freq <= last.freq {
                continue;
            }
            // The very first one may have norm 0: its norm then "rises" by 0.
            let (freq_delta, norm_delta) = (freq - last.freq - 1, norm as i64 - i64::from(last.norm) - 1);
            if norm_delta == 0 {
                out.put_vlong(u64::from(freq_delta) << 1);
            } else {
                out.put_vlong(u64::from(freq_delta) << 1 | 1);
                out.put_zigzag(norm_delta);
            }
            last = Impact { freq, norm: norm as u8 };
        }
    }
}

/// Reads impacts one after another until `reader` is at its end.
///
/// # Errors
/// If they are damaged.
#[inline]
pub(super) fn for_each(reader: &mut Reader<'_>, mut each: impl FnMut(Impact)) -> Result<(), DecodeError> {
    let mut last = Impact { freq: 0, norm: 0 };
    while !reader.is_empty() {
        let head = reader.vlong()?;
        let norm_delta = if head & 1 == 0 { 0 } else { reader.zigzag()? };
        let freq = (head >> 1).checked_add(u64::from(last.freq) + 1).and_then(|freq| u32::try_from(freq).ok());
        let norm = norm_delta.checked_add(i64::from(last.norm) + 1).and_then(|norm| u8::try_from(norm).ok());
        let (Some(freq), Some(norm)) = (freq, norm) else { return Err(reader.invalid("impact out of range")) };
        last = Impact { freq, norm };
        each(last);
    }
    Ok(())
}

/// The highest product of a frequency and the factor of its norm; `None` if there are no impacts.
///
/// # Errors
/// If they are damaged.
pub(super) fn best_factor(bytes: &[u8], factors: &[f32; 256]) -> Result<Option<f32>, DecodeError> {
    let (mut best, mut freq, mut norm) = (f32::NEG_INFINITY, 0u32, 0i32);
    let mut rest = bytes;
    loop {
        // Nearly all differences take one byte.
        let (head, norm_delta, behind) = match rest {
            [] => return Ok((best > f32::NEG_INFINITY).then_some(best)),
            [head, behind @ ..] if head & 0x81 == 0 => (*head, 0, behind),
            [head, delta, behind @ ..] if (head | delta) & 0x80 == 0 => {
                (*head, i32::from(delta >> 1) ^ -i32::from(delta & 1), behind)
            }
            _ => return any_best_factor(bytes, factors),
        };
        freq = freq.saturating_add(u32::from(head >> 1) + 1);
        norm += norm_delta + 1;
        let Some(&factor) = usize::try_from(norm).ok().and_then(|norm| factors.get(norm)) else {
            return any_best_factor(bytes, factors);
        };
        best = best.max(freq as f32 * factor);
        rest = behind;
    }
}

/// The same of impacts of any size.
#[cold]
fn any_best_factor(bytes: &[u8], factors: &[f32; 256]) -> Result<Option<f32>, DecodeError> {
    let mut best = f32::NEG_INFINITY;
    let add = |impact: Impact| best = best.max(impact.freq as f32 * factors[usize::from(impact.norm)]);
    for_each(&mut Reader::new(bytes), add)?;
    Ok((best > f32::NEG_INFINITY).then_some(best))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_golden_bytes() {
        let mut collector = ImpactCollector::default();
        for (freq, norm) in [(1, 1), (2, 2), (10, 9), (9, 9), (2, 5), (1, 200)] {
            collector.add(freq, norm);
        }
        let mut out = Vec::new();
        collector.write(&mut out);
        assert_eq!(out, [0x00, 0x00, 0x0f, 0x0c]);
        let mut found = Vec::new();
        for_each(&mut Reader::new(&out), |impact| found.push((impact.freq, impact.norm))).unwrap();
        assert_eq!(found, [(1, 1), (2, 2), (10, 9)]);
    }

    #[test]
    fn best_factor_is_that_of_all_impacts() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let factors: [f32; 256] = std::array::from_fn(|norm| 3.0 / (1.0 + norm as f32));
        let (mut sound, mut damaged) = (0, 0);
        for round in 0..4000 {
            let mut bytes = Vec::new();
            if round % 2 == 0 {
                let mut collector = ImpactCollector::default();
                let most = [3, 60, 90_000][random.usize(0..3)];
                (0..random.usize(0..128)).for_each(|_| collector.add(random.u32(1..most), random.u8(..)));
                collector.write(&mut bytes);
            } else {
                bytes.extend((0..random.usize(0..12)).map(|_| random.u8(..)));
            }
            let (found, expected) = (best_factor(&bytes, &factors), any_best_factor(&bytes, &factors));
            assert_eq!(found, expected, "{bytes:?}");
            if expected.is_ok() { sound += 1 } else { damaged += 1 }
        }
        assert!(sound > 2000 && damaged > 100, "{sound} {damaged}");
    }

    #[test]
    fn every_document_is_covered() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..500 {
            let docs: Vec<_> = (0..random.usize(1..128)).map(|_| (random.u32(1..50), random.u8(..))).collect();
            let mut collector = ImpactCollector::default();
            docs.iter().for_each(|&(freq, norm)| collector.add(freq, norm));
            let (mut out, mut impacts) = (Vec::new(), Vec::new());
            collector.write(&mut out);
            for_each(&mut Reader::new(&out), |impact| impacts.push(impact)).unwrap();
            for (freq, norm) in docs {
                assert!(impacts.iter().any(|impact| impact.freq >= freq && impact.norm <= norm));
            }
            assert!(impacts.is_sorted_by(|a, b| a.freq < b.freq && a.norm < b.norm));
            collector.clear();
            assert_eq!(collector.max_freqs, [0; 256]);
        }
    }
}
