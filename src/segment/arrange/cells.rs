//! The cells of a field while they are made: centers first, then codes, then what searches of them find.

use std::collections::HashMap;

use super::{
    Entry, RowSource, VectorField,
    graph::GraphParts,
    plan::{PINNED_CENTERS_BYTES, Plan, bits, is_spilling},
};
use crate::{
    distance::fixed::FixedRows,
    error::Result,
    graph::cells::{
        Calibration, CellStream, CellTrainer, CellsWriter, Codebook, FixedScale, Probe, ProbeOptions, Recorder,
        Spilled, Trial, Truth, queries_of, query_numbers,
    },
    ids::FieldOrd,
    quant::pq::{PqModel, PqOptions, PqTrainer, parallel_weight},
    schema::{Metric, VectorCodes, VectorOptions},
    segment::{
        kind::SectionKind,
        spill::{Spill, Spills},
        writer::SegmentFileWriter,
    },
    storage::Storage,
    vectors::{read_components, row_bytes},
};

/// Vectors of a cell at most, so that equal vectors cannot make one cell of all.
const MAX_CELL_LEN: u32 = 256;
/// Vectors assigned between two looks at the clock.
const STEP_ROWS: usize = 1024;

/// Vectors that centroids of a product quantizer are trained on: 40 for each.
const PQ_SAMPLE: usize = 256 * 40;
/// Rounds of centroids that come from a source of a merge.
const WARM_ROUNDS: u32 = 2;

/// Centers, and queries for the calibration.
#[derive(Debug)]
pub(super) struct CellParts {
    options: VectorOptions,
    writer: CellsWriter,
    scale: FixedScale,
    codebook: Codebook,
    truth: Truth,
    /// The batch that was assigned last.
    fixed: FixedRows,
}

/// Where the cells of a group begin in it, and its length: cells as they are written, of which none is too long.
pub(super) fn cell_starts(group: &[Entry]) -> Vec<u32> {
    let mut starts: Vec<u32> = vec![0];
    for ix in 1..group.len() as u32 {
        let start = starts[starts.len() - 1];
        if group[ix as usize].cell != group[start as usize].cell || ix - start == MAX_CELL_LEN {
            starts.push(ix);
        }
    }
    starts.push(group.len() as u32);
    starts
}

/// Calls `found` with the components of each row of a batch.
pub(super) fn components(options: &VectorOptions, rows: &[u8], mut found: impl FnMut(&[f32])) {
    let (stride, mut vector) = (row_bytes(options), Vec::with_capacity(options.dims as usize));
    for row in rows.chunks_exact(stride) {
        let (row, _checksum) = row.split_last_chunk::<4>().expect("a row is longer than its checksum");
        vector.clear();
        read_components(options, row, &mut vector);
        found(&vector);
    }
}

impl CellParts {
    /// Trains centers on a sample; `None` if there are too few vectors.
    pub(super) async fn train<R: RowSource>(
        plan: &Plan,
        field: VectorField<'_>,
        source: &mut R,
    ) -> Result<Option<Self>> {
        if plan.num_cells == 0 {
            return Ok(None);
        }
        let (dims, metric) = (field.options.dims as usize, field.options.metric);
        let (mut rows, mut docs) = (Vec::new(), Vec::new());
        let mut scale = FixedScale::new(metric, []);
        let sample_len = source.count().div_ceil(plan.part.into()) as usize;
        // The longest vector decides the scale, except where all are brought to one length.
        let mut more = metric != Metric::Cosine;
        source.restart(plan.part);
        while more {
            more = source.next(&mut rows, &mut docs).await?;
            components(field.options, &rows, |vector| scale.widen(vector));
            rows.clear();
            docs.clear();
            source.turn().await?;
        }
        let mut sample = FixedRows::with_capacity(dims, sample_len);
        let mut queries = query_numbers(sample_len).peekable();
        let mut query_vectors = Vec::new();
        source.restart(plan.part);
        loop {
            let more = source.next(&mut rows, &mut docs).await?;
            components(field.options, &rows, |vector| {
                if queries.next_if_eq(&sample.len()).is_some() {
                    query_vectors.push(vector.to_vec());
                }
                scale.push(vector, &mut sample);
            });
            rows.clear();
            docs.clear();
            source.turn().await?;
            if !more {
                break;
            }
        }
        let mut trainer = CellTrainer::for_codebook(&sample, plan.cells);
        let training = Codebook::training_bytes(plan.num_cells as usize, sample.len(), dims);
        source.account(training + rows.capacity());
        while trainer.step() {
            source.turn().await?;
        }
        let mut codebook = trainer.into_codebook();
        let writer = match field.options.codes {
            VectorCodes::Osq => {
                let writer = CellsWriter::new(field.options.dims, metric, bits(field.options.dims));
                if is_spilling(field.options) { writer.with_spilled() } else { writer }
            }
            VectorCodes::Pq { subspaces, anisotropic } => {
                let start = PqModel::new(dims, subspaces.into())?;
                let residuals = Residuals { sample: &sample, codebook: &mut codebook, unit: scale.unit() };
                let model = residuals.train(start, plan, source).await?;
                CellsWriter::with_product_quantizer(metric, model, parallel_weight(anisotropic, dims))
            }
        };
        let fixed = |vectors: &[Vec<f32>]| {
            let mut rows = FixedRows::with_capacity(dims, vectors.len());
            vectors.iter().for_each(|vector| scale.push(vector, &mut rows));
            rows
        };
        let queries = queries_of(&query_vectors);
        let (query_rows, sources) = (fixed(&queries), fixed(&query_vectors));
        let truth = Truth::new(metric, queries, query_rows, sources);
        Ok(Some(Self { options: field.options.clone(), writer, scale, codebook, truth, fixed: FixedRows::new(dims) }))
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.codebook.memory_bytes() + self.fixed.memory_bytes() + self.writer.memory_bytes()
    }

    /// Whether vectors are listed in a second cell.
    pub(super) fn spills(&self) -> bool {
        self.writer.meta().spills()
    }

    /// Appends the cell of each row, and to `seconds` the second one where vectors have some.
    pub(super) async fn assign<R: RowSource>(
        &mut self,
        rows: &[u8],
        cells: &mut Vec<u32>,
        seconds: &mut Vec<u32>,
        source: &mut R,
    ) -> Result<()> {
        self.fixed.clear();
        components(&self.options, rows, |vector| self.scale.push(vector, &mut self.fixed));
        let len = self.fixed.len();
        for start in (0..len).step_by(STEP_ROWS) {
            let range = start..len.min(start + STEP_ROWS);
            if self.spills() {
                self.codebook.assign_two(&self.fixed, range, cells, seconds);
            } else {
                self.codebook.assign(&self.fixed, range, cells);
            }
            source.turn().await?;
        }
        Ok(())
    }

    /// Offers the batch that was just assigned to the calibration queries; `numbers` say where its rows are.
    pub(super) fn offer(&mut self, numbers: &[u32]) {
        self.truth.offer(&self.fixed, numbers);
    }

    pub(super) fn into_writer<S: Storage>(
        self,
        plan: &Plan,
        graph: Option<(u16, u64)>,
        spills: &mut Spills<'_, S>,
    ) -> CodeParts<S> {
        CodeParts {
            graph: graph.map(|(degree, count)| GraphParts::new(degree, self.options.dims as usize, count, self.scale)),
            options: self.options,
            writer: self.writer,
            codebook: self.codebook,
            truth: self.truth,
            codes: spills.spill(plan.code_memory),
            centers: spills.spill(PINNED_CENTERS_BYTES),
            room: plan.code_memory,
            values: Vec::new(),
            buffers: (Vec::new(), Vec::new()),
        }
    }
}

/// A sample relative to the centers of its cells: what a product quantizer codes.
struct Residuals<'a> {
    sample: &'a FixedRows,
    codebook: &'a mut Codebook,
    unit: f64,
}

impl Residuals<'_> {
    /// Trains centroids, from those of a source if it has some of the same shape.
    async fn train<R: RowSource>(self, start: PqModel, plan: &Plan, source: &mut R) -> Result<PqModel> {
        let Self { sample, codebook, unit } = self;
        let row_bytes = PqTrainer::memory_bytes(&start, 1);
        let room = (plan.row_memory / row_bytes).clamp(256, PQ_SAMPLE);
        let step = sample.len().div_ceil(room).max(1);
        let mut cells = Vec::with_capacity(sample.len());
        for first in (0..sample.len()).step_by(STEP_ROWS) {
            codebook.assign(sample, first..sample.len().min(first + STEP_ROWS), &mut cells);
            source.turn().await?;
        }
        let mut trainer = match source.product_quantizer() {
            Some(model) if model.subspaces() == start.subspaces() => {
                PqTrainer::warm(model.clone(), PqOptions { rounds: WARM_ROUNDS, ..PqOptions::default() })
            }
            _ => PqTrainer::new(start, PqOptions::default()),
        };
        let mut residuals = |components: std::ops::Range<usize>, out: &mut Vec<f32>| {
            for row in (0..sample.len()).step_by(step) {
                let center = &codebook.center(cells[row])[components.clone()];
                let values = sample.row(row)[components.clone()].iter().zip(center);
                out.extend(values.map(|(&x, &c)| (f64::from(i32::from(x) - i32::from(c)) * unit) as f32));
            }
        };
        source.account(sample.memory_bytes() + codebook.memory_bytes() + cells.capacity() * 4 + room * row_bytes);
        while trainer.step(&mut residuals) {
            source.turn().await?;
        }
        Ok(trainer.finish())
    }
}

/// Codes and centers being written.
pub(super) struct CodeParts<S: Storage> {
    options: VectorOptions,
    writer: CellsWriter,
    codebook: Codebook,
    truth: Truth,
    codes: Spill<S>,
    centers: Spill<S>,
    room: usize,
    graph: Option<GraphParts>,
    values: Vec<f32>,
    /// Codes and centers of one group.
    buffers: (Vec<u8>, Vec<u8>),
}

impl<S: Storage> CodeParts<S> {
    /// How many of `entries`, `limit` at most, belong to one group.
    pub(super) fn group_len(&self, entries: &[Entry], limit: usize) -> usize {
        let Some(first) = entries.first() else { return 0 };
        let group = self.codebook.group_of(first.cell);
        entries.iter().take(limit).take_while(|entry| self.codebook.group_of(entry.cell) == group).count()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let buffers = self.values.capacity() * 4 + self.buffers.0.capacity() + self.buffers.1.capacity();
        let spills = self.codes.memory_bytes() + self.centers.memory_bytes();
        self.writer.memory_bytes() + self.codebook.memory_bytes() + spills + buffers
    }

    /// Takes a group with its rows, and the vectors of others that its cells list.
    pub(super) async fn add_group(&mut self, group: &[Entry], rows: &[u8], spilled: &Spilled) -> Result<()> {
        self.values.clear();
        components(&self.options, rows, |vector| self.values.extend_from_slice(vector));
        let docs: Vec<u32> = group.iter().map(|entry| entry.doc).collect();
        let starts = cell_starts(group);
        if let Some(graph) = &mut self.graph {
            graph.add_group(&self.values, &starts);
        }
        let (codes, centers) = &mut self.buffers;
        self.writer.add_group(&docs, &self.values, &starts, spilled, codes, centers);
        self.codes.append(codes).await?;
        self.centers.append(centers).await
    }

    /// Measures recalls and writes what was set aside.
    pub(super) async fn finish<R: RowSource>(
        mut self,
        out: &mut SegmentFileWriter<S::Writer>,
        field: FieldOrd,
        entries: &[Entry],
        source: &mut R,
    ) -> Result<()> {
        self.codes.seal().await?;
        self.centers.seal().await?;
        let held = self.memory_bytes() + size_of_val(entries);
        let graph = match self.graph.take() {
            Some(parts) => Some(parts.build(held, source).await?),
            None => None,
        };
        let (queries, neighbours) = self.truth.finish();
        let neighbours = by_ordinal(neighbours, entries);
        let streams = Streams { writer: &self.writer, codes: &self.codes, centers: &self.centers, room: self.room };
        let calibration = streams.measure(&queries, &neighbours, source).await?;
        if let Some(graph) = graph {
            let calibration = graph.measure(&streams, &queries, &neighbours, source).await?;
            let (mut meta, mut adjacency) = (Vec::new(), graph.adjacency);
            graph.meta.write(&calibration, &mut meta);
            out.begin(SectionKind::Adjacency, field);
            out.append(&mut adjacency).await?;
            out.end();
            out.pin(SectionKind::GraphMeta, field, meta);
        }
        let inline = self.centers.take_memory();
        if inline.is_none() {
            out.begin(SectionKind::CellCenters, field);
            self.centers.drain_into(out).await?;
            out.end();
        }
        out.begin(SectionKind::CellCodes, field);
        self.codes.drain_into(out).await?;
        out.end();
        let mut meta = Vec::new();
        self.writer.finish(calibration, inline.unwrap_or_default(), &mut meta);
        out.pin(SectionKind::CellsMeta, field, meta);
        Ok(())
    }
}

/// Ordinals of vectors that are named by where their rows were set aside.
fn by_ordinal(neighbours: Vec<Vec<u32>>, entries: &[Entry]) -> Vec<Vec<u32>> {
    let mut ords: HashMap<u32, u32> = neighbours.iter().flatten().map(|&at| (at, 0)).collect();
    for (entry, ord) in entries.iter().zip(0..) {
        if let Some(place) = ords.get_mut(&entry.at) {
            *place = ord;
        }
    }
    neighbours.iter().map(|places| places.iter().map(|at| ords[at]).collect()).collect()
}

/// Finished streams that are not in their place yet.
pub(super) struct Streams<'a, S: Storage> {
    pub(super) writer: &'a CellsWriter,
    pub(super) codes: &'a Spill<S>,
    pub(super) centers: &'a Spill<S>,
    /// Bytes of codes that are read together.
    room: usize,
}

impl<S: Storage> Streams<'_, S> {
    async fn measure<R: RowSource>(
        &self,
        queries: &[Vec<f32>],
        neighbours: &[Vec<u32>],
        source: &mut R,
    ) -> Result<Calibration> {
        let meta = self.writer.meta();
        let most = (self.room as u64 / meta.mean_cell_bytes().max(1)).clamp(16, 1 << 16) as u32;
        let mut recorder = Recorder::new(meta);
        for (query_ix, (query, neighbours)) in queries.iter().zip(neighbours).enumerate() {
            let options = ProbeOptions { probes: recorder.probes()[0], ..ProbeOptions::default() };
            let mut probe = Probe::reproducible(meta, query, options).repeating();
            let mut trial = Trial::new(neighbours, meta.count());
            for stage in 0..recorder.probes().len() {
                let before = stage.checked_sub(1).map_or(0, |before| recorder.probes()[before]);
                let mut left = recorder.probes()[stage] - before;
                loop {
                    while !probe.is_done() {
                        let (stream, wanted) = probe.wanted();
                        let spill = if stream == CellStream::Centers { self.centers } else { self.codes };
                        let blocks = spill.read(wanted).await?;
                        probe.feed(&blocks, true, &mut trial)?;
                    }
                    if stage == 0 || left == 0 {
                        break;
                    }
                    // All at once where the codes fit the memory.
                    let step = left.min(most);
                    probe.resume(step);
                    left -= step;
                }
                recorder.record(query_ix, stage, &mut trial);
            }
            recorder.record_margins(query_ix, &probe, &trial);
            source.turn().await?;
        }
        Ok(recorder.finish())
    }
}
