//! Writing cells: group after group, cell after cell, so that nothing but the table of groups stays in memory.

use super::{
    calibrate::Calibration,
    format::CellsMeta,
    shape::{CENTER_BITS, CodeKind, CodeShape, Group, SeenCells, square},
};
use crate::{
    distance::blocks::append_blocks,
    quant::{
        osq::{Bits, Interval, assign_levels, fit_interval, pack_levels},
        pq::{PqEncoder, PqModel},
        rotation::Rotation,
    },
    schema::Metric,
};

/// Vectors of other cells that those of a group list too.
#[derive(Debug, Default)]
pub struct Spilled {
    /// Where those of each cell begin in the lists that follow, and their number at the end; empty: there are none.
    pub starts: Vec<u32>,
    /// Their ordinals.
    pub ords: Vec<u32>,
    /// Their documents.
    pub docs: Vec<u32>,
    /// Their components, `[ords x dims]`.
    pub values: Vec<f32>,
}

impl Spilled {
    /// Removes all.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.ords.clear();
        self.docs.clear();
        self.values.clear();
    }

    fn of_cell(&self, cell: usize, dims: usize) -> impl Iterator<Item = SpilledEntry<'_>> {
        let range = match self.starts.get(cell..cell + 2) {
            Some(range) => range[0] as usize..range[1] as usize,
            None => 0..0,
        };
        range.map(move |ix| SpilledEntry {
            ord: self.ords[ix],
            doc: self.docs[ix],
            values: &self.values[ix * dims..(ix + 1) * dims],
        })
    }
}

/// One of them.
pub(super) struct SpilledEntry<'v> {
    pub(super) ord: u32,
    pub(super) doc: u32,
    pub(super) values: &'v [f32],
}

/// Writes the streams of [`super::format`].
#[derive(Debug)]
pub struct CellsWriter {
    meta: CellsMeta,
    lens: Vec<u32>,
    /// Spilled entries of each cell of the group.
    spilled_lens: Vec<u32>,
    centers: Columns,
    center_squares: Vec<u8>,
    centers_len: u64,
    codes_len: u64,
    /// Weight of errors along a vector, of a product quantizer.
    parallel_weight: f32,
    scratch: Scratch,
}

#[derive(Debug, Default)]
struct Scratch {
    residual: Vec<f32>,
    levels: Vec<u8>,
    center: Vec<f32>,
    /// The center less that of its group, as codes see it.
    from_group: Vec<f32>,
    vector: Vec<f32>,
    docs: Vec<u8>,
    ords: Vec<u8>,
    squares: Vec<u8>,
    codes: Columns,
    /// Of a product quantizer: residuals of a cell, and their vectors at unit length.
    residuals: Vec<f32>,
    directions: Vec<f32>,
    encoder: PqEncoder,
}

/// Terms and rows under construction, column by column.
#[derive(Debug, Default)]
struct Columns {
    lower: Vec<u8>,
    step: Vec<u8>,
    sum: Vec<u8>,
    rows: Vec<u8>,
}

impl Columns {
    fn push(&mut self, values: &[f32], bits: Bits, levels: &mut Vec<u8>) -> (f32, f32) {
        let interval: Interval = fit_interval(values, bits);
        let sum = assign_levels(values, interval, bits, levels);
        let step = interval.step(bits);
        self.lower.extend_from_slice(&interval.lower.to_le_bytes());
        self.step.extend_from_slice(&step.to_le_bytes());
        self.sum.extend_from_slice(&sum.to_le_bytes());
        pack_levels(levels, bits, &mut self.rows);
        (interval.lower, step)
    }

    /// Appends the columns, `extra` between terms and rows, and clears them. Rows of a length that is named go in blocks.
    fn drain(&mut self, extra: &[u8], blocks: Option<usize>, out: &mut Vec<u8>) {
        for column in [&self.lower, &self.step, &self.sum] {
            out.extend_from_slice(column);
        }
        out.extend_from_slice(extra);
        match blocks {
            Some(row_len) => append_blocks(&self.rows, row_len, out),
            None => out.extend_from_slice(&self.rows),
        }
        for column in [&mut self.lower, &mut self.step, &mut self.sum, &mut self.rows] {
            column.clear();
        }
    }
}

impl CellsWriter {
    /// A writer of vectors of `dims` components as so many bits of each.
    pub fn new(dims: u32, metric: Metric, bits: Bits) -> Self {
        Self::of_shape(CodeShape { dims, metric, code: CodeKind::Scalar(bits) })
    }

    /// A writer of vectors as codes of `model`, which was trained on vectors relative to their centers.
    /// `parallel_weight` is that of [`PqEncoder::refine`]; 1 leaves it out.
    pub fn with_product_quantizer(metric: Metric, model: PqModel, parallel_weight: f32) -> Self {
        let code = CodeKind::Product(model.subspaces() as u16);
        let mut writer = Self::of_shape(CodeShape { dims: model.dims() as u32, metric, code });
        (writer.meta.pq, writer.parallel_weight) = (Some(model), parallel_weight);
        writer
    }

    fn of_shape(shape: CodeShape) -> Self {
        // Codes of more bits say enough about any component.
        let rotation = matches!(shape.code, CodeKind::Scalar(Bits::One | Bits::Two));
        Self {
            meta: CellsMeta {
                shape,
                centered: shape.metric == Metric::L2 && matches!(shape.code, CodeKind::Scalar(_)),
                spills: false,
                rotation: rotation.then(|| Rotation::new(shape.dims as usize)),
                count: 0,
                num_cells: 0,
                groups: Vec::new(),
                group_centers: Vec::new(),
                group_squares: Vec::new(),
                turned_centers: Vec::new(),
                calibration: Calibration::default(),
                pq: None,
                inline_centers: Vec::new(),
                seen: SeenCells::default(),
            },
            lens: Vec::new(),
            spilled_lens: Vec::new(),
            centers: Columns::default(),
            center_squares: Vec::new(),
            centers_len: 0,
            codes_len: 0,
            parallel_weight: 1.0,
            scratch: Scratch::default(),
        }
    }

    /// The same for cells that list vectors of others too.
    #[must_use]
    pub fn with_spilled(mut self) -> Self {
        self.meta.spills = true;
        self
    }

    /// Starts a group around `center`, `[dims]`.
    ///
    /// # Panics
    /// If the group before was not ended.
    pub fn begin_group(&mut self, center: &[f32]) {
        assert!(self.lens.is_empty(), "the group before is ended");
        assert_eq!(center.len(), self.meta.shape.dims as usize, "centers of one dimension");
        self.meta.groups.push(Group {
            first_cell: self.meta.num_cells,
            first_ord: self.meta.count,
            centers: self.centers_len..self.centers_len,
            codes_offset: self.codes_len,
            num_spilled: 0,
        });
        self.meta.group_centers.extend_from_slice(center);
        self.meta.group_squares.push(square(center) as f32);
        self.meta.turn_center(self.meta.groups.len() - 1);
    }

    /// Appends one cell to `codes`: its center and its vectors, `[docs x dims]`, in the order of their ordinals.
    ///
    /// # Panics
    /// Outside a group, without vectors, or on other dimensions.
    pub fn add_cell<'v>(
        &mut self,
        center: &[f32],
        entries: impl IntoIterator<Item = (u32, &'v [f32])>,
        codes: &mut Vec<u8>,
    ) {
        self.add_spilled_cell(center, entries, std::iter::empty(), codes);
    }

    /// The same with vectors of other cells.
    pub(super) fn add_spilled_cell<'v>(
        &mut self,
        center: &[f32],
        entries: impl IntoIterator<Item = (u32, &'v [f32])>,
        spilled: impl Iterator<Item = SpilledEntry<'v>>,
        codes: &mut Vec<u8>,
    ) {
        let shape = self.meta.shape;
        let group = self.meta.groups.len().checked_sub(1).expect("inside a group");
        let scratch = &mut self.scratch;
        let Scratch {
            residual, levels, center: decoded, from_group, vector, docs, ords, squares, codes: columns, ..
        } = scratch;
        let (residuals, directions, encoder) = (&mut scratch.residuals, &mut scratch.directions, &mut scratch.encoder);
        residuals.clear();
        directions.clear();
        let group_center = self.meta.group_center(group);
        residual.clear();
        residual.extend(center.iter().zip(group_center).map(|(c, g)| c - g));
        let (lower, step) = self.centers.push(residual, CENTER_BITS, levels);
        // What a reader will see as the center; codes are relative to that.
        decoded.clear();
        decoded.extend(levels.iter().zip(group_center).map(|(&level, g)| g + (lower + f32::from(level) * step)));
        self.center_squares.extend_from_slice(&(square(decoded) as f32).to_le_bytes());
        from_group.clear();
        from_group.extend(decoded.iter().zip(group_center).map(|(c, g)| c - g));
        self.meta.rotate(from_group);

        let start = codes.len();
        docs.clear();
        squares.clear();
        ords.clear();
        let (mut len, mut num_spilled) = (0, 0);
        let spilled = spilled.map(|entry| (entry.doc, entry.values, Some(entry.ord)));
        let own = entries.into_iter().map(|(doc, values)| (doc, values, None));
        for (doc, values, ord) in own.chain(spilled) {
            assert_eq!(values.len(), shape.dims as usize, "vectors of one dimension");
            normalized(values, shape.metric, vector);
            residual.clear();
            residual.extend(vector.iter().zip(decoded.iter()).map(|(x, c)| x - c));
            // What of the square is known beforehand; see the format.
            let mut own = if self.meta.centered { product(residual, group_center) } else { 0.0 };
            match shape.code {
                CodeKind::Scalar(bits) => {
                    self.meta.rotate(residual);
                    let (lower, step) = columns.push(residual, bits, levels);
                    if self.meta.centered {
                        let missing = levels.iter().zip(&mut *residual);
                        missing.for_each(|(&level, r)| *r -= lower + f32::from(level) * step);
                        own += product(residual, from_group);
                    }
                }
                CodeKind::Product(_) => residuals.extend_from_slice(residual),
            }
            docs.extend_from_slice(&doc.to_le_bytes());
            if shape.metric == Metric::L2 {
                squares.extend_from_slice(&((square(vector) - 2.0 * own) as f32).to_le_bytes());
            }
            if self.parallel_weight > 1.0 {
                normalized(values, Metric::Cosine, vector);
                directions.extend_from_slice(vector);
            }
            match ord {
                Some(ord) => {
                    ords.extend_from_slice(&ord.to_le_bytes());
                    num_spilled += 1;
                }
                None => len += 1,
            }
        }
        assert!(len > 0, "a cell has a vector");
        if let Some(model) = &self.meta.pq {
            encoder.encode(model, residuals, &mut columns.rows);
            if self.parallel_weight > 1.0 {
                encoder.refine(model, residuals, directions, self.parallel_weight, &mut columns.rows);
            }
        }
        codes.extend_from_slice(docs);
        codes.extend_from_slice(ords);
        let blocks = self.meta.rotation.is_some().then(|| shape.row_len());
        columns.drain(squares, blocks, codes);
        seal(codes, start);
        self.lens.push(len);
        self.spilled_lens.push(num_spilled);
        self.meta.groups[group].num_spilled += num_spilled;
        self.meta.count += len;
        self.meta.num_cells += 1;
        self.codes_len += (codes.len() - start) as u64;
    }

    /// Ends the group and appends its block to `centers`.
    pub fn end_group(&mut self, centers: &mut Vec<u8>) {
        let start = centers.len();
        self.lens.drain(..).for_each(|len| centers.extend_from_slice(&len.to_le_bytes()));
        let spilled = self.spilled_lens.drain(..).filter(|_| self.meta.spills);
        spilled.for_each(|len| centers.extend_from_slice(&len.to_le_bytes()));
        self.centers.drain(&self.center_squares, None, centers);
        self.center_squares.clear();
        seal(centers, start);
        self.centers_len += (centers.len() - start) as u64;
        self.meta.groups.last_mut().expect("inside a group").centers.end = self.centers_len;
    }

    /// Appends a whole group: `cell_starts` are the first vectors of its cells and the number of vectors at the end,
    /// `values` is `[docs x dims]`. Centers are the means of their own vectors.
    ///
    /// # Panics
    /// If a cell is empty, or lengths do not fit.
    pub fn add_group(
        &mut self,
        docs: &[u32],
        values: &[f32],
        cell_starts: &[u32],
        spilled: &Spilled,
        codes: &mut Vec<u8>,
        centers: &mut Vec<u8>,
    ) {
        let (dims, metric) = (self.meta.shape.dims as usize, self.meta.shape.metric);
        let rows: Vec<&[f32]> = values.chunks_exact(dims).collect();
        assert_eq!(rows.len(), docs.len(), "a document per vector");
        let (mut vector, mut means, mut total) = (Vec::new(), Vec::new(), vec![0.0f64; dims]);
        for cell in cell_starts.windows(2) {
            let mut sums = vec![0.0f64; dims];
            for row in &rows[cell[0] as usize..cell[1] as usize] {
                normalized(row, metric, &mut vector);
                sums.iter_mut().zip(&vector).for_each(|(sum, &value)| *sum += f64::from(value));
            }
            total.iter_mut().zip(&sums).for_each(|(total, sum)| *total += sum);
            let count = f64::from(cell[1] - cell[0]);
            means.push(sums.iter().map(|sum| (sum / count) as f32).collect::<Vec<f32>>());
        }
        let count = docs.len() as f64;
        self.begin_group(&total.iter().map(|sum| (sum / count) as f32).collect::<Vec<f32>>());
        assert!(self.meta.spills || spilled.ords.is_empty(), "a writer of cells that list vectors of others");
        for (ix, (cell, mean)) in cell_starts.windows(2).zip(&means).enumerate() {
            let range = cell[0] as usize..cell[1] as usize;
            let entries = docs[range.clone()].iter().copied().zip(rows[range].iter().copied());
            self.add_spilled_cell(mean, entries, spilled.of_cell(ix, dims), codes);
        }
        self.end_group(centers);
    }

    /// What was written so far, for probes of it.
    pub fn meta(&self) -> &CellsMeta {
        &self.meta
    }

    /// Bytes of memory, but for what grows with a group.
    pub fn memory_bytes(&self) -> usize {
        self.meta.memory_bytes()
    }

    /// Appends `cells_meta`. `inline_centers` are all of `centers`, where they are not written as a stream of their
    /// own.
    pub fn finish(mut self, calibration: Calibration, inline_centers: Vec<u8>, meta: &mut Vec<u8>) {
        assert!(self.lens.is_empty(), "the last group is ended");
        self.meta.calibration = calibration;
        self.meta.inline_centers = inline_centers;
        self.meta.write(meta);
    }
}

fn product(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

fn seal(out: &mut Vec<u8>, start: usize) {
    let crc = crc32c::crc32c(&out[start..]);
    out.extend_from_slice(&crc.to_le_bytes());
}

/// `values` as cells see them: of unit length for cosine (zero stays zero), else unchanged.
pub(super) fn normalized(values: &[f32], metric: Metric, out: &mut Vec<f32>) {
    out.clear();
    if metric != Metric::Cosine {
        out.extend_from_slice(values);
        return;
    }
    let square = square(values);
    let scale = if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 };
    out.extend(values.iter().map(|&value| (f64::from(value) * scale) as f32));
}
