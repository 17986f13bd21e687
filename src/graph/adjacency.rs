//! The two streams of a field's graph. They come with cells, whose order of vectors they share.
//!
//! ```text
//! graph_meta (read whole, pinned)
//!   offset  size  field
//!        0     2  degree          neighbours of a vector at most, 1..=256
//!        2     1  bits            of a neighbour: those of count - 1, at least 1
//!        3     1  zero
//!        4     4  count           vectors
//!        8     4  num_cells
//!       12     4  entry           vector that all others can be reached from
//!       16     2  numbers p and s of the two lists that follow, u8 each; 0x80 in the first one
//!        .    4p  calibration: breadths of walks, u32 each
//!        .    4s  lengths of the shortlist, u32 each
//!        .   2ps  recall@10 with both, in 1/65535, u16
//!        .     1  zero: no margins
//!
//! adjacency (data): per cell one block
//!    r x m  rows of `degree` ordinals of `bits` bits each, low bits first, padded to whole bytes: the neighbours of
//!           each vector, ascending; what is left over holds the vector itself
//!        4  CRC32C of the block before it
//! ```
//! Rows have one length, so that a neighbour is found without a table: 17 bits an ordinal at 99,000 vectors. What has
//! neighbours is a vector, as cells count them: equal ones that share a stored row have each their own.

use std::ops::Range;

use super::cells::{Calibration, CellsMeta, SeenCells};
use crate::{
    bitset::BitSet,
    codec::{
        Reader, checksum,
        pack::{pack, packed_at},
    },
    error::{Error, Result},
};

/// Most neighbours a vector can have.
pub(super) const MAX_DEGREE: u32 = 256;
const CRC_BYTES: u64 = 4;

/// The parsed `graph_meta` stream.
///
/// Invariants: the degree is in its bounds, bits follow from the count, and the entry is a vector.
#[derive(Debug)]
pub struct GraphMeta {
    pub(super) shape: RowShape,
    pub(super) num_cells: u32,
    pub(super) entry: u32,
    pub(super) calibration: Calibration,
    pub(super) seen: SeenCells,
}

/// Where rows of neighbours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowShape {
    pub(super) degree: u32,
    pub(super) bits: u32,
    pub(super) count: u32,
}

impl RowShape {
    pub(super) fn new(degree: u32, count: u32) -> Self {
        let bits = (u32::BITS - count.saturating_sub(1).leading_zeros()).max(1);
        Self { degree, bits, count }
    }

    fn row_len(self) -> u64 {
        u64::from((self.degree * self.bits).div_ceil(8))
    }

    /// Bytes of a cell whose number, first vector and length are these.
    pub(super) fn block(self, cell: u32, first_ord: u32, len: u32) -> Range<u64> {
        let start = u64::from(first_ord) * self.row_len() + u64::from(cell) * CRC_BYTES;
        start..start + u64::from(len) * self.row_len() + CRC_BYTES
    }

    pub(super) fn total(self, num_cells: u32) -> u64 {
        u64::from(self.count) * self.row_len() + u64::from(num_cells) * CRC_BYTES
    }

    /// Appends the row of `ord`.
    pub(super) fn write_row(self, ord: u32, neighbours: &[u32], out: &mut Vec<u8>) {
        let padding = std::iter::repeat_n(ord, self.degree as usize - neighbours.len());
        let row = neighbours.iter().copied().chain(padding);
        pack(row.map(u64::from), self.bits as u8, out);
    }

    /// Appends the neighbours of `ord`, row `ix` of a checked block, to `out`; those that are no vectors are left out.
    pub(super) fn read_row(self, block: &[u8], ix: u32, ord: u32, out: &mut Vec<u32>) {
        let (start, len) = (u64::from(ix) * self.row_len(), self.row_len());
        let Some(row) = block.get(start as usize..(start + len) as usize) else { return };
        for place in 0..self.degree as usize {
            let value = packed_at(row, self.bits as u8, place) as u32;
            if value == ord {
                return;
            }
            if value < self.count {
                out.push(value);
            }
        }
    }
}

impl GraphMeta {
    pub(super) fn new(shape: RowShape, num_cells: u32, entry: u32) -> Self {
        Self { shape, num_cells, entry, calibration: Calibration::default(), seen: SeenCells::new(num_cells) }
    }

    /// Neighbours of a vector at most.
    pub fn degree(&self) -> u32 {
        self.shape.degree
    }

    /// What walks find.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Appends `graph_meta` with what was measured.
    pub fn write(&self, calibration: &Calibration, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.shape.degree as u16).to_le_bytes());
        out.extend_from_slice(&[self.shape.bits as u8, 0]);
        for word in [self.shape.count, self.num_cells, self.entry] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        calibration.write(out);
    }

    /// Parses the stream whose data stream is `adjacency_len` bytes long.
    ///
    /// # Errors
    /// `corrupt`.
    pub fn parse(bytes: &[u8], adjacency_len: u64) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let degree = u32::from(reader.u16()?);
        let (bits, zero) = (u32::from(reader.u8()?), reader.u8()?);
        let (count, num_cells, entry) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let calibration = Calibration::read(&mut reader)?;
        if !(1..=MAX_DEGREE).contains(&degree) {
            return Err(reader.invalid("degree").into());
        }
        let shape = RowShape::new(degree, count);
        if (shape.bits, 0) != (bits, zero)
            || entry >= count
            || num_cells == 0
            || num_cells > count
            || !reader.is_empty()
        {
            return Err(reader.invalid("graph of a vector field").into());
        }
        if shape.total(num_cells) != adjacency_len {
            let what = format!("{adjacency_len} bytes of neighbours, expected {}", shape.total(num_cells));
            return Err(Error::corrupt("graph of a vector field", what));
        }
        Ok(Self { calibration, ..Self::new(shape, num_cells, entry) })
    }

    /// Whether it is a graph of the vectors of `cells`.
    pub fn fits(&self, cells: &CellsMeta) -> bool {
        (self.shape.count, self.num_cells) == (cells.count(), cells.num_cells())
    }

    /// Bytes of the neighbours of a group of cells, of which the first ordinal and the length of each are given.
    pub fn group_range(&self, first_cell: u32, cells: &[(u32, u32)]) -> Range<u64> {
        let (first, last) = (cells.first().copied().unwrap_or_default(), cells.last().copied().unwrap_or_default());
        let last_cell = first_cell + cells.len().saturating_sub(1) as u32;
        self.shape.block(first_cell, first.0, first.1).start..self.shape.block(last_cell, last.0, last.1).end
    }

    /// What was in a block.
    pub(super) fn open_block<'b>(&self, cell: u32, block: &'b [u8], fresh: bool) -> Result<&'b [u8]> {
        if !fresh && self.seen.contains(cell) {
            return Ok(&block[..block.len().saturating_sub(CRC_BYTES as usize)]);
        }
        let what = || format!("neighbours of the vectors of cell {cell}");
        let body = checksum::open(block).map_err(|error| Error::corrupt(what(), error))?;
        self.seen.insert(cell);
        Ok(body)
    }
}

/// Verification of a whole graph: blocks come in order, then all vectors must have been reached.
#[derive(Debug)]
pub struct AdjacencyCheck<'a> {
    meta: &'a GraphMeta,
    /// `[count x degree]`, the vector itself where there is no neighbour.
    neighbours: Vec<u32>,
    next_cell: u32,
}

impl<'a> AdjacencyCheck<'a> {
    /// Bytes of memory a check takes, about: the neighbours of all vectors.
    pub fn new(meta: &'a GraphMeta) -> Self {
        Self { meta, neighbours: Vec::new(), next_cell: 0 }
    }

    /// Takes the blocks of the next group; `cells` are first ordinal and length of each.
    ///
    /// # Errors
    /// `corrupt`: checksums, neighbours that are no vectors, that repeat or that do not ascend, rows that go on after
    /// their end.
    pub fn group(&mut self, bytes: &[u8], cells: &[(u32, u32)]) -> Result<()> {
        let shape = self.meta.shape;
        let base = self.meta.group_range(self.next_cell, cells).start;
        for &(first, len) in cells {
            let range = shape.block(self.next_cell, first, len);
            let what = || format!("neighbours of the vectors of cell {}", self.next_cell);
            let block = bytes.get((range.start - base) as usize..(range.end - base) as usize).unwrap_or_default();
            let body = checksum::open(block).map_err(|error| Error::corrupt(what(), error))?;
            let mut row = Vec::new();
            let mut again = Vec::new();
            for ix in 0..len {
                let ord = first + ix;
                row.clear();
                shape.read_row(body, ix, ord, &mut row);
                again.clear();
                shape.write_row(ord, &row, &mut again);
                let len = again.len();
                // Ascending ones are different ones; a row reads back as it stands only if all its neighbours are
                // vectors, none is the vector itself, and nothing follows its end.
                if !row.is_sorted_by(|a, b| a < b)
                    || body.get(ix as usize * len..(ix as usize + 1) * len) != Some(&again)
                {
                    return Err(Error::corrupt(what(), format!("vector {ord}: no set of other vectors")));
                }
                row.resize(shape.degree as usize, ord);
                self.neighbours.extend_from_slice(&row);
            }
            self.next_cell += 1;
        }
        Ok(())
    }

    /// Checks that all vectors were there and can be reached from the entry.
    ///
    /// # Errors
    /// `corrupt`.
    pub fn finish(self) -> Result<()> {
        let (count, degree) = (self.meta.shape.count, self.meta.shape.degree as usize);
        if self.neighbours.len() != count as usize * degree {
            return Err(Error::corrupt("graph of a vector field", "neighbours of fewer vectors than there are"));
        }
        let mut reached = BitSet::new(count);
        let mut left = vec![self.meta.entry];
        reached.insert(self.meta.entry);
        while let Some(ord) = left.pop() {
            let row = &self.neighbours[ord as usize * degree..(ord as usize + 1) * degree];
            left.extend(row.iter().filter(|&&next| reached.insert(next)));
        }
        let missing = count - reached.count();
        if missing > 0 {
            let what = format!("{missing} of {count} vectors cannot be reached from vector {}", self.meta.entry);
            return Err(Error::corrupt("graph of a vector field", what));
        }
        Ok(())
    }
}
