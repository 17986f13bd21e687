//! The three streams of a field's cells.
//!
//! ```text
//! cells_meta (read whole, pinned)
//!   offset  size  field
//!        0     2  dims            1..=4096
//!        2     1  metric          0 cosine, 1 dot, 2 L2
//!        3     1  code            bits of a component: 1, 2, 4 or 8, with 0x80: codes are *centered*; 0: product quantizer;
//!                                 with 0x40: cells list *spilled* vectors of other cells too;
//!                                 with 0x20: codes are of *rotated* vectors, see [`Rotation`]
//!        4     4  count           vectors
//!        8     4  num_cells
//!       12     4  num_groups
//!       16   20n  groups: first cell u32 | first ordinal u32 | offset u64 in `centers` | length u32 there
//!        .   8n   offset of each group's first cell in `codes`, u64
//!        .   4n   with 0x40 only: spilled entries of each group's cells, u32
//!        .  4dn   group centers, f32
//!        .     2  numbers p and s of the two lists that follow, u8 each; 0x80 in the first one: margins follow; 0x40: of two kinds
//!        .    4p  calibration: cells probed, u32 each
//!        .    4s  lengths of the shortlist, u32 each
//!        .   2ps  recall@10 with both, in 1/65535, u16
//!        .     1  number m of margins, u8, if they follow
//!        .     8  with 0x40: how near the tenth best of queries like vectors is, and of queries like none, f32 each
//!        .   12m  margins: share of neighbours | of the rank of their cells | of their estimates, f32 each; with 0x40
//!                 20m: the last two for queries like none again
//!        .     .  code 0 only: the product quantizer, see [`PqModel`]
//!        .     .  all of `centers` where that is short: the stream is empty then
//!
//! centers (data, or at the end of cells_meta): per group one block
//!        4  length of each cell in vectors, u32, m of them
//!        4  with 0x40 only: spilled entries of each cell, u32, m of them
//!   12 x m  terms of the centers: lower f32 | step f32 | level sum u32, one column after another
//!    4 x m  squared norm of the center, f32
//!    r x m  rows of 4 bits: the center relative to the group's
//!        4  CRC32C of the block before it
//!
//! codes (data): per cell one block of m entries, one column after another; its own by ordinal, then spilled ones
//!        4  document, u32
//!        4  ordinal u32, of spilled entries only
//!   12 x m  terms: lower f32 | step f32 | level sum u32; not with code 0
//!        4  squared norm f32, L2 only; of centered codes less 2 (g·r + (c - g)·(r - r')), g being the group's center, c the
//!           cell's, r the vector less that and r' what its code stands for: |q - x|² ≈ |q|² - 2 (q·c + (q - g)·r') + this,
//!           where nothing but (q - c)·(r - r') is missing
//!    r x m  packed rows: the vector relative to the cell's center; with code 0 a byte per subspace; with 0x20 the rotated
//!           vector, 16 rows (or as many as are left) in a block: byte 0 of each of them, byte 1 of each, and so on
//!        4  CRC32C of the block before it
//! ```
//! Blocks are what a planner asks for, so each has its checksum and is verified as it arrives.

use std::ops::Range;

use super::{
    calibrate::Calibration,
    shape::{CRC_BYTES, CellPlace, CodeKind, CodeShape, Group, ORD_BYTES, PlacedCell, SeenCells, square, verified},
};
use crate::{
    codec::Reader,
    error::{Error, Result},
    quant::{osq::Bits, pq::PqModel, rotation::Rotation},
    schema::Metric,
};

const MAX_DIMS: usize = 4096;
/// Set in the bits of a code, L2 only: see [`CellsMeta`].
const CENTERED: u8 = 0x80;
/// Set in the bits of a code where cells list vectors of other cells.
const SPILLS: u8 = 0x40;
/// Set in the bits of a code where vectors are rotated before they are coded.
const ROTATED: u8 = 0x20;
/// In place of bits, of product quantizers.
const PRODUCT: u8 = 0;

/// The parsed `cells_meta` stream.
///
/// Invariants: groups ascend in cells, ordinals and offsets; each has a cell and every cell a vector; a group's block in
/// `centers` is as long as its number of cells says; lengths of cells in centers that are here add up. Only where cells spill
/// have groups spilled entries.
#[derive(Debug)]
pub struct CellsMeta {
    pub(super) shape: CodeShape,
    /// Codes are compared with the query less the group's center, and squared norms are less twice the product of that
    /// center and the vector's way from its cell's center.
    pub(super) centered: bool,
    /// Cells list vectors of other cells too.
    pub(super) spills: bool,
    /// Of what codes stand for, and of queries for them.
    pub(super) rotation: Option<Rotation>,
    pub(super) count: u32,
    pub(super) num_cells: u32,
    pub(super) groups: Vec<Group>,
    /// `[groups x dims]`.
    pub(super) group_centers: Vec<f32>,
    /// Their squared norms, not stored.
    pub(super) group_squares: Vec<f32>,
    /// The same centers as centered codes see them, where that is not the same; not stored.
    pub(super) turned_centers: Vec<f32>,
    pub(super) calibration: Calibration,
    /// Of codes of that kind.
    pub(super) pq: Option<PqModel>,
    /// `centers`, where they are pinned.
    pub(super) inline_centers: Vec<u8>,
    pub(super) seen: SeenCells,
}

impl CellsMeta {
    /// Shape of the codes.
    pub fn shape(&self) -> CodeShape {
        self.shape
    }

    /// Vectors.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Cells.
    pub fn num_cells(&self) -> u32 {
        self.num_cells
    }

    /// Groups of cells.
    pub fn num_groups(&self) -> usize {
        self.groups.len()
    }

    /// Whether vectors are listed in a second cell.
    pub fn spills(&self) -> bool {
        self.spills
    }

    /// Bytes of an average cell in `codes`.
    pub fn mean_cell_bytes(&self) -> u64 {
        let end = self.groups.len().checked_sub(1).map_or(0, |last| self.group_codes(last).end);
        end / u64::from(self.num_cells.max(1))
    }

    /// Bytes per cell of the lengths in a block of `centers`.
    pub(super) fn lens_bytes(&self) -> usize {
        if self.spills { 8 } else { 4 }
    }

    fn group_bytes(&self, num_cells: usize) -> usize {
        self.shape.group_bytes(num_cells) + num_cells * (self.lens_bytes() - 4)
    }

    pub(super) fn group_center(&self, group: usize) -> &[f32] {
        let dims = self.shape.dims as usize;
        &self.group_centers[group * dims..(group + 1) * dims]
    }

    /// Cells of `group`.
    pub(in crate::graph) fn group_cells(&self, group: usize) -> Range<u32> {
        let end = self.groups.get(group + 1).map_or(self.num_cells, |next| next.first_cell);
        self.groups[group].first_cell..end
    }

    /// Ordinals of `group`.
    pub(in crate::graph) fn group_ords(&self, group: usize) -> Range<u32> {
        let end = self.groups.get(group + 1).map_or(self.count, |next| next.first_ord);
        self.groups[group].first_ord..end
    }

    /// Bytes of `group` in `codes`.
    pub fn group_codes(&self, group: usize) -> Range<u64> {
        let (cells, ords) = (self.group_cells(group), self.group_ords(group));
        let (own, spilled) = (ords.len() as u64, u64::from(self.groups[group].num_spilled));
        let crcs = (cells.len() * CRC_BYTES) as u64;
        let len = (own + spilled) * self.shape.entry_len() as u64 + spilled * ORD_BYTES as u64 + crcs;
        let start = self.groups[group].codes_offset;
        start..start.saturating_add(len)
    }

    /// Remembers the center of the next group as codes see it.
    pub(super) fn turn_center(&mut self, group: usize) {
        if let Some(rotation) = self.rotation.as_ref().filter(|_| self.centered) {
            let start = self.turned_centers.len();
            let dims = self.shape.dims as usize;
            self.turned_centers.extend_from_slice(&self.group_centers[group * dims..][..dims]);
            rotation.apply(&mut self.turned_centers[start..]);
        }
    }

    /// The center of a group as centered codes see it.
    pub(super) fn code_center(&self, group: usize) -> &[f32] {
        let dims = self.shape.dims as usize;
        let all = if self.turned_centers.is_empty() { &self.group_centers } else { &self.turned_centers };
        &all[group * dims..][..dims]
    }

    /// Turns a vector as codes stand for it.
    pub(super) fn rotate(&self, vector: &mut [f32]) {
        if let Some(rotation) = &self.rotation {
            rotation.apply(vector);
        }
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        let groups = self.groups.len() * size_of::<Group>()
            + (self.group_centers.len() + self.group_squares.len() + self.turned_centers.len()) * 4;
        let pq = self.pq.as_ref().map_or(0, PqModel::memory_bytes);
        groups
            + self.inline_centers.len()
            + self.seen.memory_bytes()
            + pq
            + self.rotation.as_ref().map_or(0, Rotation::memory_bytes)
    }

    /// The product quantizer of the codes, if that is what they are of.
    pub fn product_quantizer(&self) -> Option<&PqModel> {
        self.pq.as_ref()
    }

    /// What searches of these cells find.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// The centers of `group`, where they are pinned.
    pub(super) fn inline_block(&self, group: usize) -> Option<&[u8]> {
        let range = &self.groups[group].centers;
        if self.inline_centers.is_empty() {
            return None;
        }
        self.inline_centers.get(range.start as usize..range.end as usize)
    }

    /// Checks the lengths of the cells of `group` and their spilled entries, out of its block in `centers`.
    pub(super) fn check_lens(&self, group: usize, block: &[u8]) -> Result<()> {
        let what = "centers of vector cells";
        let num_cells = self.group_cells(group).len();
        if block.len() != self.group_bytes(num_cells) {
            return Err(Error::corrupt(what, format!("{} bytes for {num_cells} cells", block.len())));
        }
        let add = |(own, spilled, least): (u64, u64, u32), (len, more): (u32, u32)| {
            (own + u64::from(len), spilled + u64::from(more), least.min(len))
        };
        let (sum, spilled, least) = self.cell_lens(num_cells, block).fold((0, 0, 1), add);
        if least == 0 || sum != self.group_ords(group).len() as u64 {
            return Err(Error::corrupt(what, format!("group {group}: cells of {sum} vectors, one of {least}")));
        }
        if spilled != u64::from(self.groups[group].num_spilled) {
            return Err(Error::corrupt(what, format!("group {group}: cells of {spilled} spilled entries")));
        }
        Ok(())
    }

    /// The lengths of cells and of their spilled entries, of a block that was checked.
    pub(super) fn cell_lens<'b>(
        &self,
        num_cells: usize,
        block: &'b [u8],
    ) -> impl Iterator<Item = (u32, u32)> + use<'b> {
        let (lens, rest) = block.split_at(num_cells * 4);
        let spilled = if self.spills { &rest[..num_cells * 4] } else { &[] };
        let (lens, spilled) = (lens.as_chunks::<4>().0, spilled.as_chunks::<4>().0);
        let spilled_of = |ix: usize| spilled.get(ix).map_or(0, |&len| u32::from_le_bytes(len));
        lens.iter().enumerate().map(move |(ix, &len)| (u32::from_le_bytes(len), spilled_of(ix)))
    }

    /// Checks the centers of `group`, a block of `centers`; gives its cells.
    ///
    /// # Errors
    /// `corrupt`.
    pub fn check_centers(&self, group: usize, block: &[u8]) -> Result<Vec<CellPlace>> {
        verified(block, "centers of vector cells")?;
        self.cell_places(group, block)
    }

    /// The same of a block that was checked.
    pub(in crate::graph) fn cell_places(&self, group: usize, block: &[u8]) -> Result<Vec<CellPlace>> {
        let (mut first_ord, mut spilled_before) = (self.groups[group].first_ord, 0);
        self.check_lens(group, block)?;
        let cells = self.cell_lens(self.group_cells(group).len(), block).map(|(len, spilled)| {
            let place = CellPlace { first_ord, len, spilled, spilled_before };
            first_ord += len;
            spilled_before += spilled;
            place
        });
        Ok(cells.collect())
    }

    /// Bytes of the centers of `group` in `centers`; `None` where they are pinned.
    pub fn center_range(&self, group: usize) -> Option<Range<u64>> {
        self.inline_centers.is_empty().then(|| self.groups[group].centers.clone())
    }

    /// The group of a vector.
    pub(in crate::graph) fn group_of(&self, ord: u32) -> usize {
        self.groups.partition_point(|group| group.first_ord <= ord).saturating_sub(1)
    }

    /// The group whose block in `centers` starts at `offset`.
    pub(in crate::graph) fn group_at(&self, offset: u64) -> usize {
        self.groups.partition_point(|group| group.centers.start <= offset).saturating_sub(1)
    }

    /// Bytes of a cell in `codes`.
    pub(in crate::graph) fn cell_codes(&self, cell: &PlacedCell) -> Range<u64> {
        let group = &self.groups[cell.group];
        let (own, spilled) = (u64::from(cell.first_ord - group.first_ord), u64::from(cell.spilled_before));
        let crcs = (cell.ix * CRC_BYTES) as u64;
        let before = (own + spilled) * self.shape.entry_len() as u64 + spilled * ORD_BYTES as u64 + crcs;
        let start = group.codes_offset + before;
        start..start + self.shape.cell_bytes(cell.len as usize, cell.spilled as usize) as u64
    }

    /// What is in the block of a cell in `codes`: checked if it is `fresh` or was not before.
    pub(in crate::graph) fn open_codes<'b>(&self, cell: &PlacedCell, block: &'b [u8], fresh: bool) -> Result<&'b [u8]> {
        let what = "codes of a vector cell";
        if block.len() != self.shape.cell_bytes(cell.len as usize, cell.spilled as usize) {
            return Err(Error::corrupt(what, format!("{} bytes for {}", block.len(), cell.len)));
        }
        if fresh || !self.seen.contains(cell.cell) {
            verified(block, what)?;
            self.seen.insert(cell.cell);
        }
        Ok(&block[..block.len() - CRC_BYTES])
    }

    /// Checks the codes of a group, all of its cells; `cells` are what [`Self::check_centers`] gave. Calls `found` with the
    /// document of each vector, in order, and `spilled` with a cell, and the ordinal and document of each vector of others
    /// that it lists.
    ///
    /// # Errors
    /// `corrupt`.
    pub fn check_codes(
        &self,
        mut codes: &[u8],
        cells: &[CellPlace],
        mut found: impl FnMut(u32),
        mut spilled: impl FnMut(&CellPlace, u32, u32),
    ) -> Result<()> {
        for cell in cells {
            let what = || format!("codes of the vector cell at {}", cell.first_ord);
            let short = || Error::corrupt(what(), "they end early");
            let (own, others) = (cell.len as usize, cell.spilled as usize);
            let (block, rest) = codes.split_at_checked(self.shape.cell_bytes(own, others)).ok_or_else(short)?;
            let (docs, body) = verified(block, &what())?.split_at((own + others) * 4);
            let (docs, of_others) = docs.split_at(own * 4);
            let numbers = |bytes: &[u8]| {
                bytes.as_chunks::<4>().0.iter().map(|&number| u32::from_le_bytes(number)).collect::<Vec<_>>()
            };
            numbers(docs).into_iter().for_each(&mut found);
            let ords = numbers(&body[..others * ORD_BYTES]);
            ords.into_iter().zip(numbers(of_others)).for_each(|(ord, doc)| spilled(cell, ord, doc));
            codes = rest;
        }
        if codes.is_empty() { Ok(()) } else { Err(Error::corrupt("codes of vector cells", "more than cells")) }
    }

    /// The centers of `group` where they are pinned, verified.
    pub fn pinned_centers(&self, group: usize) -> Option<&[u8]> {
        self.inline_block(group)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.shape.dims as u16).to_le_bytes());
        let code = match self.shape.code {
            CodeKind::Scalar(bits) => {
                let rotated = if self.rotation.is_some() { ROTATED } else { 0 };
                bits.count() as u8 | if self.centered { CENTERED } else { 0 } | rotated
            }
            CodeKind::Product(_) => PRODUCT,
        };
        let code = code | if self.spills { SPILLS } else { 0 };
        out.extend_from_slice(&[self.shape.metric.code(), code]);
        for word in [self.count, self.num_cells, self.groups.len() as u32] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for group in &self.groups {
            out.extend_from_slice(&group.first_cell.to_le_bytes());
            out.extend_from_slice(&group.first_ord.to_le_bytes());
            out.extend_from_slice(&group.centers.start.to_le_bytes());
            out.extend_from_slice(&((group.centers.end - group.centers.start) as u32).to_le_bytes());
        }
        self.groups.iter().for_each(|group| out.extend_from_slice(&group.codes_offset.to_le_bytes()));
        if self.spills {
            self.groups.iter().for_each(|group| out.extend_from_slice(&group.num_spilled.to_le_bytes()));
        }
        self.group_centers.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        self.calibration.write(out);
        if let Some(pq) = &self.pq {
            pq.write(out);
        }
        out.extend_from_slice(&self.inline_centers);
    }

    /// Parses the stream whose two data streams are `centers_len` and `codes_len` bytes long.
    ///
    /// # Errors
    /// `corrupt`.
    pub fn parse(bytes: &[u8], centers_len: u64, codes_len: u64) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let dims = u32::from(reader.u16()?);
        let metric = Metric::from_code(reader.u8()?).ok_or_else(|| reader.invalid("metric"))?;
        let code = reader.u8()?;
        let spills = code & SPILLS > 0;
        let code = code & !SPILLS;
        let centered = code & CENTERED > 0;
        if centered && metric != Metric::L2 {
            return Err(reader.invalid("centered codes").into());
        }
        let is_rotated = code & ROTATED > 0;
        let code = match code {
            PRODUCT => CodeKind::Product(0),
            bits => {
                let bits =
                    Bits::try_from(bits & !(CENTERED | ROTATED)).map_err(|_| reader.invalid("bits of a code"))?;
                if is_rotated && !matches!(bits, Bits::One | Bits::Two) {
                    return Err(reader.invalid("rotated codes").into());
                }
                CodeKind::Scalar(bits)
            }
        };
        if dims == 0 || dims as usize > MAX_DIMS {
            return Err(reader.invalid("dimensions").into());
        }
        let mut shape = CodeShape { dims, metric, code };
        let (count, num_cells, num_groups) = (reader.u32()?, reader.u32()?, reader.u32()? as usize);
        let (groups, tail) = (reader.bytes(num_groups.saturating_mul(20))?, reader.rest());
        let spilled_at = num_groups.saturating_mul(8);
        let centers_at = spilled_at.saturating_add(if spills { num_groups.saturating_mul(4) } else { 0 });
        let tables = centers_at.saturating_add(num_groups.saturating_mul(4 * dims as usize));
        if tail.len() < tables {
            return Err(reader.invalid("length of the groups' centers").into());
        }
        let (tables, tail) = tail.split_at(tables);
        let (offsets, centers) = tables.split_at(centers_at);
        let (offsets, spilled) = offsets.split_at(spilled_at);
        let spilled = spilled.as_chunks::<4>().0.iter().map(|&count| u32::from_le_bytes(count));
        let mut spilled = spilled.chain(std::iter::repeat(0));
        let mut tail = Reader::new(tail);
        let calibration = Calibration::read(&mut tail)?;
        let pq = match code {
            CodeKind::Product(_) => Some(PqModel::read(&mut tail)?),
            CodeKind::Scalar(_) => None,
        };
        if let Some(pq) = &pq {
            if pq.dims() != dims as usize {
                return Err(tail.invalid("dimensions of the product quantizer").into());
            }
            shape.code = CodeKind::Product(pq.subspaces() as u16);
        }
        let group_centers: Vec<f32> =
            centers.as_chunks::<4>().0.iter().map(|&value| f32::from_le_bytes(value)).collect();
        let group_squares = group_centers.chunks_exact(dims as usize).map(|center| square(center) as f32).collect();
        let mut meta = Self {
            shape,
            centered,
            spills,
            rotation: is_rotated.then(|| Rotation::new(dims as usize)),
            count,
            num_cells,
            groups: Vec::with_capacity(num_groups),
            group_centers,
            group_squares,
            turned_centers: Vec::new(),
            calibration,
            pq,
            inline_centers: tail.rest().to_vec(),
            seen: SeenCells::default(),
        };
        for (entry, &offset) in groups.as_chunks::<20>().0.iter().zip(offsets.as_chunks::<8>().0) {
            let mut entry = Reader::new(entry);
            let (first_cell, first_ord, start, len) = (entry.u32()?, entry.u32()?, entry.u64()?, entry.u32()?);
            let end = start.checked_add(u64::from(len)).ok_or_else(|| entry.invalid("offset of centers"))?;
            let codes_offset = u64::from_le_bytes(offset);
            let num_spilled = spilled.next().unwrap_or(0);
            meta.groups.push(Group { first_cell, first_ord, centers: start..end, codes_offset, num_spilled });
        }
        if !meta.inline_centers.is_empty() && centers_len > 0 {
            return Err(Error::corrupt("cells of a vector field", "centers in two places"));
        }
        let centers_len = if centers_len > 0 { centers_len } else { meta.inline_centers.len() as u64 };
        meta.verify(centers_len, codes_len).map_err(|what| Error::corrupt("cells of a vector field", what))?;
        for group in 0..meta.groups.len() {
            if let Some(block) = meta.inline_block(group) {
                meta.check_centers(group, block)?;
            }
        }
        meta.seen = SeenCells::new(num_cells);
        (0..meta.groups.len()).for_each(|group| meta.turn_center(group));
        Ok(meta)
    }

    fn verify(&self, centers_len: u64, codes_len: u64) -> std::result::Result<(), String> {
        if (self.count == 0) != self.groups.is_empty() {
            return Err(format!("{} vectors in {} groups", self.count, self.groups.len()));
        }
        if self.group_centers.iter().any(|value| !value.is_finite()) {
            return Err("a group's center is not finite".to_owned());
        }
        let (mut cell, mut ord, mut centers, mut codes) = (0, 0, 0, 0);
        for ix in 0..self.groups.len() {
            let group = &self.groups[ix];
            let starts = (group.first_cell, group.first_ord, group.centers.start, group.codes_offset);
            if starts != (cell, ord, centers, codes) {
                return Err(format!("group {ix} starts at {starts:?}, not at {:?}", (cell, ord, centers, codes)));
            }
            let next = self.groups.get(ix + 1);
            let (next_cell, next_ord) =
                next.map_or((self.num_cells, self.count), |next| (next.first_cell, next.first_ord));
            if next_cell <= cell || next_ord < ord || next_ord - ord < next_cell - cell {
                return Err(format!("group {ix}: cells {cell}..{next_cell}, ordinals {ord}..{next_ord}"));
            }
            if group.centers.end - centers != self.group_bytes((next_cell - cell) as usize) as u64 {
                return Err(format!("group {ix}: {:?} for {} centers", group.centers, next_cell - cell));
            }
            (cell, ord, centers, codes) = (next_cell, next_ord, group.centers.end, self.group_codes(ix).end);
        }
        if (centers, codes) != (centers_len, codes_len) {
            return Err(format!("streams of {centers_len} and {codes_len} bytes, expected {centers} and {codes}"));
        }
        Ok(())
    }
}
