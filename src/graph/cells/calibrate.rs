//! What a search of these cells finds: a table and margins, measured while they are built.

use crate::{codec::Reader, error::Result};

/// Set in the number of probes where margins follow, and where they are two for each share.
const WITH_MARGINS: u8 = 0x80;
const OF_KINDS: u8 = 0x40;

/// Recall@10 by cells probed and length of the shortlist, and how far neighbours lie below the tenth best estimate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calibration {
    pub(super) probes: Vec<u32>,
    pub(super) shortlists: Vec<u32>,
    /// `[probes x shortlists]`, in 1/65535.
    pub(super) recall: Vec<u16>,
    /// By share of neighbours, ascending: of queries like vectors of the segment, and of queries like none.
    pub(super) margins: Vec<(f32, [Margins; 2])>,
    /// How near the k-th best of nearly all of the one kind is at least, and of the other in the middle: see
    /// [`Spread::nearness`](super::Spread::nearness).
    pub(super) nearness: [f32; 2],
}

/// How far below the k-th best estimate something may lie that is among the k nearest; see
/// [`Spread::threshold`](super::Spread::threshold).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Margins {
    /// The rank of its cell.
    pub cells: f32,
    /// Its own estimate.
    pub rows: f32,
}

/// Margins of a query by how near its neighbours are: those of the two kinds that were measured, and between them
/// in proportion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryMargins {
    kinds: [Margins; 2],
    nearness: [f32; 2],
}

impl QueryMargins {
    /// Margins of the two kinds, nearer first, and how near the k-th best of each is.
    pub fn new(kinds: [Margins; 2], nearness: [f32; 2]) -> Self {
        Self { kinds, nearness }
    }

    /// Margins of a query whose k-th best estimate is so near. They grow as it falls.
    pub fn at(&self, nearness: f32) -> Margins {
        let ([near, far], [nearest, farthest]) = (self.kinds, self.nearness);
        let part = ((nearest - nearness) / (nearest - farthest)).clamp(0.0, 1.0);
        // Kinds that are equally near cannot be told apart.
        let part = if part.is_nan() { 1.0 } else { part };
        let between = |near: f32, far: f32| near + part * (far - near);
        Margins { cells: between(near.cells, far.cells), rows: between(near.rows, far.rows) }
    }
}

/// How far a search looks for its ten best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// Cells probed.
    pub probes: u32,
    /// Vectors scored exactly.
    pub shortlist: u32,
    /// Recall@10 measured with it.
    pub recall: f32,
}

impl Calibration {
    /// The cheapest reach in bytes with at least `recall`; the best one there is if none has. `None` if nothing was
    /// measured.
    pub fn choose(&self, recall: f32, cell_bytes: u64, row_bytes: u64) -> Option<Reach> {
        let all = self.recall.iter().enumerate().map(|(ix, &found)| Reach {
            probes: self.probes[ix / self.shortlists.len()],
            shortlist: self.shortlists[ix % self.shortlists.len()],
            recall: f32::from(found) / f32::from(u16::MAX),
        });
        let cost = |reach: &Reach| u64::from(reach.probes) * cell_bytes + u64::from(reach.shortlist) * row_bytes;
        let enough = all.clone().filter(|reach| reach.recall >= recall).min_by_key(cost);
        enough.or_else(|| all.max_by(|a, b| a.recall.total_cmp(&b.recall).then(cost(b).cmp(&cost(a)))))
    }

    /// Margins that leave out so few neighbours that a share of `recall` is found: of those that may be missed a third is
    /// left to the cells, a third to the shortlist, and a third covers that few queries were measured. `None` if none was.
    pub fn margins(&self, recall: f32) -> Option<QueryMargins> {
        let share = 1.0 - (1.0 - recall) / 3.0;
        let enough = self.margins.iter().find(|(of, _)| *of >= share - 1e-6);
        enough.or(self.margins.last()).map(|&(_, kinds)| QueryMargins::new(kinds, self.nearness))
    }

    pub(in crate::graph) fn write(&self, out: &mut Vec<u8>) {
        let kinds = if self.margins.is_empty() { 0 } else { OF_KINDS };
        out.extend_from_slice(&[self.probes.len() as u8 | WITH_MARGINS | kinds, self.shortlists.len() as u8]);
        self.probes.iter().chain(&self.shortlists).for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        self.recall.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        out.push(self.margins.len() as u8);
        let mut float = |value: f32| out.extend_from_slice(&value.to_le_bytes());
        if kinds > 0 {
            self.nearness.into_iter().for_each(&mut float);
        }
        for (share, kinds) in &self.margins {
            float(*share);
            kinds.iter().flat_map(|margins| [margins.cells, margins.rows]).for_each(&mut float);
        }
    }

    pub(in crate::graph) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (first, num_shortlists) = (reader.u8()?, usize::from(reader.u8()?));
        let num_probes = usize::from(first & !(WITH_MARGINS | OF_KINDS));
        let mut values = |count: usize| (0..count).map(|_| reader.u32()).collect::<std::result::Result<Vec<_>, _>>();
        let (probes, shortlists) = (values(num_probes)?, values(num_shortlists)?);
        let recall = (0..num_probes * num_shortlists).map(|_| reader.u16()).collect::<std::result::Result<_, _>>()?;
        let num_margins = if first & WITH_MARGINS > 0 { reader.u8()? } else { 0 };
        let mut float = || -> Result<f32> {
            let value = f32::from_bits(reader.u32()?);
            if value.is_nan() { Err(reader.invalid("margin").into()) } else { Ok(value) }
        };
        let of_kinds = first & WITH_MARGINS > 0 && first & OF_KINDS > 0;
        let nearness = if of_kinds { [float()?, float()?] } else { [0.0; 2] };
        let mut margins = Vec::with_capacity(num_margins.into());
        for _ in 0..num_margins {
            let (share, near) = (float()?, Margins { cells: float()?, rows: float()? });
            let far = if of_kinds { Margins { cells: float()?, rows: float()? } } else { near };
            margins.push((share, [near, far]));
        }
        Ok(Self { probes, shortlists, recall, margins, nearness })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARES: [f32; 4] = [0.7, 0.935, 0.984, 1.0];

    fn sample() -> Calibration {
        let of_kind = |ix: usize| Margins { cells: ix as f32 * 0.1, rows: ix as f32 * 0.01 };
        let margins = |ix: usize| [of_kind(ix), of_kind(ix + 3)];
        Calibration {
            probes: vec![8, 16],
            shortlists: vec![15, 25],
            recall: vec![30_000, 40_000, 50_000, 65_535],
            margins: SHARES.iter().enumerate().map(|(ix, &share)| (share, margins(ix))).collect(),
            nearness: [0.8, 0.2],
        }
    }

    #[test]
    fn what_was_written_is_read_with_and_without_margins() {
        let calibration = sample();
        let mut bytes = Vec::new();
        calibration.write(&mut bytes);
        assert_eq!(Calibration::read(&mut Reader::new(&bytes)).unwrap(), calibration);
        // As written before there were margins, and before there were those of kinds.
        let mut old = vec![2, 2];
        let start = bytes.len() - 1 - 8 - 20 * SHARES.len();
        old.extend_from_slice(&bytes[2..start]);
        let read = Calibration::read(&mut Reader::new(&old)).unwrap();
        assert_eq!(read, Calibration { margins: Vec::new(), nearness: [0.0; 2], ..calibration.clone() });
        assert!(read.margins(0.95).is_none());
        old[0] |= WITH_MARGINS;
        old.push(SHARES.len() as u8);
        let entries = bytes[start + 9..].as_chunks::<20>().0;
        entries.iter().for_each(|entry| old.extend_from_slice(&entry[..12]));
        let read = Calibration::read(&mut Reader::new(&old)).unwrap();
        let (old, new) = (read.margins(0.9).unwrap(), calibration.margins(0.9).unwrap());
        assert!(old.at(0.1) == new.at(0.8) && old.at(0.9) == new.at(0.8) && new.at(0.1) != new.at(0.8));
        for len in 0..bytes.len() {
            assert!(Calibration::read(&mut Reader::new(&bytes[..len])).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn margins_leave_a_third_of_what_may_be_missed_to_each_step() {
        let calibration = sample();
        for (recall, share) in [(0.0, 0.7), (0.8, 0.935), (0.9, 0.984), (0.95, 0.984), (0.99, 1.0), (1.0, 1.0)] {
            let at = SHARES.iter().position(|&of| of == share).unwrap();
            assert_eq!(calibration.margins(recall).unwrap().kinds, calibration.margins[at].1, "{recall}");
        }
    }

    #[test]
    fn margins_lie_between_those_of_the_kinds() {
        let margins = |kinds: [f32; 2], nearness| {
            QueryMargins::new(kinds.map(|margin| Margins { cells: margin, rows: margin / 2.0 }), nearness)
        };
        let one = margins([1.0, 3.0], [0.8, 0.2]);
        for (nearness, cells) in [(0.9, 1.0), (0.8, 1.0), (0.5, 2.0), (0.2, 3.0), (-1.0, 3.0)] {
            assert!((one.at(nearness).cells - cells).abs() < 1e-6, "{nearness}");
            assert!((one.at(nearness).rows - cells / 2.0).abs() < 1e-6, "{nearness}");
        }
        assert_eq!(one.at(f32::INFINITY).cells, 1.0);
        assert_eq!(one.at(f32::NEG_INFINITY).cells, 3.0);
        assert_eq!(margins([1.0, 3.0], [0.5, 0.5]).at(0.5).cells, 3.0);
    }
}
