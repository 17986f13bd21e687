//! One batch of queries on the device: rows go up in chunks, the best few per query come back.
//!
//! All buffers have a fixed share of the budget, so more rows mean more chunks. A chunk is as large as the device
//! works through in [`TARGET_MILLIS`], measured as it goes. Two chunks are in flight: while the device scores one,
//! the next is read and written, and the result before it is taken in.

use std::collections::VecDeque;

use crate::{
    distance::key_score,
    platform,
    schema::Metric,
    topk::order,
    vectors::{RowWindow, VectorQuery},
};

use super::{
    device::{Gpu, GpuFailure, Mapping},
    kernels::{ScoreBuffers, SelectBuffers},
    layout::{
        MAX_COMPONENT, MAX_QUERIES, MIN_COMPONENT, ScoreParams, SelectParams, Tile, error_scale, metric_code,
        num_survivors,
    },
    pool::PoolBuffer,
};

/// Milliseconds of device time a submission aims at; watchdogs and other tabs see no more than a frame or two.
const TARGET_MILLIS: f64 = 50.0;

/// Multiply-adds per millisecond assumed before anything was measured: a tenth of a small integrated GPU, and a
/// software adapter.
const FIRST_RATE: f64 = 5e6;
const FIRST_SOFTWARE_RATE: f64 = 1e5;

/// Measured rates grow a chunk by this much at most.
const MAX_GROWTH: f64 = 4.0;

/// Submissions in flight.
const MAX_IN_FLIGHT: usize = 2;

/// Candidate lists are cut to the survivors when they are this many times as long.
const CUT_FACTOR: usize = 4;

const STORAGE_IN: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_DST);
const STORAGE_OUT: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC);
const UNIFORM: wgpu::BufferUsages = wgpu::BufferUsages::UNIFORM.union(wgpu::BufferUsages::COPY_DST);
const STAGING: wgpu::BufferUsages = wgpu::BufferUsages::MAP_READ.union(wgpu::BufferUsages::COPY_DST);

/// A row that may be among the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// Sortable upper bound of its score.
    pub(super) key: u32,
    /// Position of its segment in the search.
    pub(super) segment_ix: u32,
    /// Its vector.
    pub(super) ord: u32,
}

/// What one query has left.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Survivors {
    /// Rows to score exactly.
    pub(super) candidates: Vec<Candidate>,
    /// No row that was dropped scores above this; `None` if none was dropped.
    pub(super) bound: Option<f32>,
}

impl Survivors {
    /// Keeps the best `count`.
    fn cut(&mut self, count: usize) {
        if self.candidates.len() > count {
            order::by_largest(&mut self.candidates, |candidate| candidate.key.into());
            let dropped = self.candidates[count].key;
            self.candidates.truncate(count);
            self.drop_below(dropped);
        }
    }

    fn drop_below(&mut self, key: u32) {
        // The key of an unsure row bounds nothing: it reads as NaN.
        let score = if key == super::layout::UNSURE_KEY { f32::INFINITY } else { key_score(key) };
        self.bound = Some(self.bound.map_or(score, |bound| bound.max(score)));
    }
}

/// Whether the device's arithmetic covers these queries.
pub(super) fn fits_device(queries: &[VectorQuery]) -> bool {
    queries.iter().all(|query| {
        let largest = query.vector().iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        let too_small = query.metric() == Metric::Cosine && largest > 0.0 && largest < MIN_COMPONENT;
        largest <= MAX_COMPONENT && !too_small
    })
}

/// Queries that one batch may have within the budget.
pub(super) fn max_queries(gpu: &Gpu, dims: usize) -> usize {
    ((gpu.budget_bytes / 16 / (dims as u64 * 4).max(1)) as usize).clamp(1, MAX_QUERIES)
}

/// Rows of a chunk that follow each other in their segment.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// Row of the chunk.
    at: u32,
    segment_ix: u32,
    first_ord: u32,
}

#[derive(Debug, Default)]
struct Chunk {
    num_rows: u32,
    num_accepted: u32,
    accept: Vec<u32>,
    spans: Vec<Span>,
}

/// A submission whose result is not taken in yet.
#[derive(Debug)]
struct InFlight {
    /// `None` once read.
    staging: Option<PoolBuffer>,
    mapping: Option<Mapping>,
    spans: Vec<Span>,
    products: f64,
    submitted_millis: f64,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        // Unread, so still mapped or about to be: of no use to the next taker.
        if let Some(staging) = self.staging.take() {
            staging.discard();
        }
    }
}

/// A batch of queries being scored.
#[derive(Debug)]
pub(super) struct FlatJob<'g> {
    gpu: &'g Gpu,
    num_queries: u32,
    dims: u32,
    metric: Metric,
    /// Survivors per query.
    select: u32,
    queries: PoolBuffer,
    query_norms: PoolBuffer,
    rows: PoolBuffer,
    accept: PoolBuffer,
    keys: PoolBuffer,
    score_params: PoolBuffer,
    select_params: PoolBuffer,
    /// Rows that the buffers hold.
    room_rows: u32,
    /// Multiply-adds per millisecond.
    rate: f64,
    last_done_millis: f64,
    chunk: Chunk,
    in_flight: VecDeque<InFlight>,
    survivors: Vec<Survivors>,
}

fn floor_power_of_two(value: u64) -> u64 {
    1 << value.max(1).ilog2()
}

impl<'g> FlatJob<'g> {
    /// A job for at most [`max_queries`] queries of one field, over at most `num_rows` rows in all.
    pub(super) async fn new(
        gpu: &'g Gpu,
        queries: &[VectorQuery],
        k: usize,
        num_rows: u64,
    ) -> Result<Self, GpuFailure> {
        let dims = queries[0].vector().len() as u32;
        let num_queries = queries.len() as u32;
        let row_bytes = u64::from(dims + 1) * 4;
        let share = floor_power_of_two((gpu.budget_bytes / 4).min(gpu.max_binding_bytes));
        let room = (share / row_bytes).min(share / 4 / u64::from(num_queries)).min(num_rows.max(1));
        if room == 0 {
            return Err(GpuFailure::Memory(format!("a row of {row_bytes} bytes passes its share {share}")));
        }
        let room_rows = room.min(u64::from(u32::MAX / 4)) as u32;
        let vectors: Vec<f32> = queries.iter().flat_map(|query| query.vector()).copied().collect();
        let norms: Vec<f32> = queries.iter().map(|query| query.squared_norm().sqrt()).collect();
        let room = u64::from(room_rows);
        let job = Self {
            gpu,
            num_queries,
            dims,
            metric: queries[0].metric(),
            select: num_survivors(k),
            queries: gpu.buffer("queries", vectors.len() as u64 * 4, STORAGE_IN).await?,
            query_norms: gpu.buffer("query norms", norms.len() as u64 * 4, STORAGE_IN).await?,
            rows: gpu.buffer("rows", room * row_bytes, STORAGE_IN).await?,
            accept: gpu.buffer("accept", room.div_ceil(32) * 4, STORAGE_IN).await?,
            keys: gpu.buffer("keys", room * u64::from(num_queries) * 4, wgpu::BufferUsages::STORAGE).await?,
            score_params: gpu.buffer("score_flat params", size_of::<ScoreParams>() as u64, UNIFORM).await?,
            select_params: gpu.buffer("select_top params", size_of::<SelectParams>() as u64, UNIFORM).await?,
            room_rows,
            rate: if gpu.name.is_software { FIRST_SOFTWARE_RATE } else { FIRST_RATE },
            last_done_millis: 0.0,
            chunk: Chunk::default(),
            in_flight: VecDeque::new(),
            survivors: vec![Survivors::default(); queries.len()],
        };
        gpu.queue.write_buffer(job.queries.get(), 0, bytemuck::cast_slice(&vectors));
        gpu.queue.write_buffer(job.query_norms.get(), 0, bytemuck::cast_slice(&norms));
        Ok(job)
    }

    /// Rows after which a chunk is submitted.
    fn chunk_rows(&self) -> u32 {
        let products_per_row = f64::from(self.num_queries) * f64::from(self.dims);
        let rows = (self.rate * TARGET_MILLIS / products_per_row) as u32;
        rows.max(Tile::for_queries(self.num_queries).rows()).min(self.room_rows)
    }

    /// Adds the rows of a window; `is_accepted` says which of its vectors may be returned.
    pub(super) async fn push(
        &mut self,
        segment_ix: u32,
        window: &RowWindow,
        bytes: &[u8],
        is_accepted: impl Fn(u32) -> bool,
    ) -> Result<(), GpuFailure> {
        let row_bytes = (self.dims as usize + 1) * 4;
        let mut first = window.ords.start;
        while first < window.ords.end {
            let limit = self.chunk_rows();
            if self.chunk.num_rows >= limit {
                self.submit().await?;
                continue;
            }
            let count = (window.ords.end - first).min(limit - self.chunk.num_rows);
            let at = self.chunk.num_rows;
            let start = (first - window.ords.start) as usize * row_bytes;
            let piece = &bytes[start..start + count as usize * row_bytes];
            self.gpu.queue.write_buffer(self.rows.get(), u64::from(at) * row_bytes as u64, piece);
            self.chunk.spans.push(Span { at, segment_ix, first_ord: first });
            self.chunk.num_rows += count;
            self.chunk.accept.resize((self.chunk.num_rows as usize).div_ceil(32), 0);
            for row in (at..at + count).filter(|row| is_accepted(first + row - at)) {
                self.chunk.accept[row as usize / 32] |= 1 << (row % 32);
                self.chunk.num_accepted += 1;
            }
            first += count;
        }
        Ok(())
    }

    /// Hands the chunk to the device and starts a new one.
    async fn submit(&mut self) -> Result<(), GpuFailure> {
        let chunk = std::mem::take(&mut self.chunk);
        if chunk.num_accepted == 0 {
            return Ok(());
        }
        while self.in_flight.len() >= MAX_IN_FLIGHT {
            self.take_in().await?;
        }
        let gpu = self.gpu;
        let list_bytes = u64::from(self.num_queries) * u64::from(self.select) * 4;
        let count_bytes = u64::from(self.num_queries) * 4;
        // Given back at the end of this function: the queue keeps the order of their uses.
        let outputs = [
            gpu.buffer("top keys", list_bytes, STORAGE_OUT).await?,
            gpu.buffer("top rows", list_bytes, STORAGE_OUT).await?,
            gpu.buffer("counts", count_bytes, STORAGE_OUT).await?,
        ];
        let staging = gpu.buffer("staging", 2 * list_bytes + count_bytes, STAGING).await?;
        let score = ScoreParams {
            num_queries: self.num_queries,
            num_rows: chunk.num_rows,
            dims: self.dims,
            row_words: self.dims + 1,
            key_stride: chunk.num_rows,
            metric: metric_code(self.metric),
            error_scale: error_scale(self.dims),
            pad: 0,
        };
        let (num_queries, num_rows, key_stride) = (score.num_queries, score.num_rows, score.key_stride);
        let select = SelectParams { num_queries, num_rows, key_stride, k: self.select };
        gpu.queue.write_buffer(self.accept.get(), 0, bytemuck::cast_slice(&chunk.accept));
        gpu.queue.write_buffer(self.score_params.get(), 0, bytemuck::bytes_of(&score));
        gpu.queue.write_buffer(self.select_params.get(), 0, bytemuck::bytes_of(&select));
        let mut encoder =
            gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("flat scan") });
        {
            let descriptor = wgpu::ComputePassDescriptor { label: Some("flat scan"), timestamp_writes: None };
            let mut pass = encoder.begin_compute_pass(&descriptor);
            let buffers = ScoreBuffers {
                queries: self.queries.get(),
                query_norms: self.query_norms.get(),
                rows: self.rows.get(),
                accept: self.accept.get(),
                keys: self.keys.get(),
            };
            gpu.kernels().score_flat(&gpu.device, &mut pass, self.score_params.get(), &score, buffers);
            let buffers = SelectBuffers {
                keys: self.keys.get(),
                top_keys: outputs[0].get(),
                top_rows: outputs[1].get(),
                counts: outputs[2].get(),
            };
            gpu.kernels().select_top(&gpu.device, &mut pass, self.select_params.get(), &select, buffers);
        }
        encoder.copy_buffer_to_buffer(outputs[0].get(), 0, staging.get(), 0, list_bytes);
        encoder.copy_buffer_to_buffer(outputs[1].get(), 0, staging.get(), list_bytes, list_bytes);
        encoder.copy_buffer_to_buffer(outputs[2].get(), 0, staging.get(), 2 * list_bytes, count_bytes);
        gpu.queue.submit([encoder.finish()]);
        let mapping = Some(gpu.start_read(staging.get(), 2 * list_bytes + count_bytes));
        self.in_flight.push_back(InFlight {
            staging: Some(staging),
            mapping,
            spans: chunk.spans,
            products: f64::from(self.num_queries) * f64::from(chunk.num_rows) * f64::from(self.dims),
            submitted_millis: platform::now_millis(),
        });
        Ok(())
    }

    /// Waits for the oldest submission and adds what it found to the survivors.
    async fn take_in(&mut self) -> Result<(), GpuFailure> {
        let Some(mut done) = self.in_flight.pop_front() else { return Ok(()) };
        let (staging, mapping) = (done.staging.as_ref(), done.mapping.take());
        let (Some(staging), Some(mapping)) = (staging, mapping) else { return Ok(()) };
        let (bytes, done_millis) = self.gpu.finish_read(staging.get(), mapping).await?;
        drop(done.staging.take());
        let elapsed = done_millis - done.submitted_millis.max(self.last_done_millis);
        self.last_done_millis = done_millis;
        // A clock that stood still, or a chunk too small to tell, proves only that more is possible.
        self.rate = (done.products / elapsed.max(0.1)).clamp(self.rate / MAX_GROWTH, self.rate * MAX_GROWTH);

        let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
        let select = self.select as usize;
        let (keys, rest) = words.split_at(self.num_queries as usize * select);
        let (rows, counts) = rest.split_at(keys.len());
        for (query_ix, survivors) in self.survivors.iter_mut().enumerate() {
            let count = counts[query_ix] as usize;
            if count > select {
                return Err(GpuFailure::Command(format!("select_top found {count} where {select} have room")));
            }
            let at = query_ix * select..query_ix * select + count;
            for (&key, &row) in keys[at.clone()].iter().zip(&rows[at.clone()]) {
                let span_ix = done.spans.partition_point(|span| span.at <= row) - 1;
                let Span { at, segment_ix, first_ord } = done.spans[span_ix];
                survivors.candidates.push(Candidate { key, segment_ix, ord: first_ord + (row - at) });
            }
            if count == select {
                survivors.drop_below(keys[at.end - 1]);
            }
            if survivors.candidates.len() > CUT_FACTOR * select {
                survivors.cut(select);
            }
        }
        Ok(())
    }

    /// Scores what is left and gives each query's survivors.
    pub(super) async fn finish(mut self) -> Result<Vec<Survivors>, GpuFailure> {
        self.submit().await?;
        while !self.in_flight.is_empty() {
            self.take_in().await?;
        }
        let select = self.select as usize;
        let mut survivors = std::mem::take(&mut self.survivors);
        survivors.iter_mut().for_each(|survivors| survivors.cut(select));
        Ok(survivors)
    }
}
