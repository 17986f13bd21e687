//! Each kernel against its twin, and the twins against plain Rust, on small odd shapes.

use crate::{
    distance::key_score,
    gpu::{
        device::Gpu,
        kernels::{ScoreBuffers, SelectBuffers},
        layout::{ScoreParams, SelectParams, Tile, UNSURE_KEY, error_scale, metric_code},
        twin,
    },
    platform::block_on,
    schema::{Metric, VectorOptions},
    vectors::{VectorQuery, row_bytes},
};

use super::{
    compare::{DeviceOut, TwinOut, assert_close, assert_same},
    shared,
};

/// A buffer with content, `len` words at least.
fn upload(gpu: &Gpu, label: &str, usage: wgpu::BufferUsages, content: &[u8], len: usize) -> wgpu::Buffer {
    let size = (content.len().max(len * 4).max(4)) as u64;
    let usage = usage | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size,
        usage,
        mapped_at_creation: false,
    });
    gpu.queue.write_buffer(&buffer, 0, content);
    buffer
}

fn download(gpu: &Gpu, buffers: &[(&wgpu::Buffer, usize)]) -> Vec<DeviceOut<u32>> {
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("download") });
    let staged: Vec<_> = buffers
        .iter()
        .map(|(buffer, len)| {
            let bytes = (len * 4) as u64;
            let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
            let descriptor =
                wgpu::BufferDescriptor { label: Some("staging"), size: bytes, usage, mapped_at_creation: false };
            let staging = gpu.device.create_buffer(&descriptor);
            encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, bytes);
            (staging, bytes)
        })
        .collect();
    gpu.queue.submit([encoder.finish()]);
    staged
        .iter()
        .map(|(staging, bytes)| {
            let mapping = gpu.start_read(staging, *bytes);
            let (bytes, _) = block_on(gpu.finish_read(staging, mapping)).unwrap();
            DeviceOut(bytemuck::pod_collect_to_vec(&bytes))
        })
        .collect()
}

fn launch(gpu: &Gpu, record: impl FnOnce(&mut wgpu::ComputePass<'_>)) {
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("test") });
    record(
        &mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("test"), timestamp_writes: None }),
    );
    gpu.queue.submit([encoder.finish()]);
}

/// Inputs of `score_flat`.
struct ScoreCase {
    params: ScoreParams,
    queries: Vec<f32>,
    query_norms: Vec<f32>,
    rows: Vec<u32>,
    accept: Vec<u32>,
}

impl ScoreCase {
    fn random(rng: &mut fastrand::Rng, metric: Metric, num_queries: u32, num_rows: u32, dims: u32) -> Self {
        let queries: Vec<f32> = (0..num_queries * dims).map(|_| rng.f32() * 2.0 - 1.0).collect();
        let query_norms =
            queries.chunks(dims as usize).map(|query| query.iter().map(|x| x * x).sum::<f32>().sqrt()).collect();
        let row_words = (row_bytes(&VectorOptions::new(dims, metric)) / 4) as u32;
        let mut rows: Vec<u32> = Vec::new();
        for row_ix in 0..num_rows {
            let scale = match row_ix % 29 {
                3 => 0.0,
                5 => 1e-20,
                7 => 1e20,
                _ => 1.0,
            };
            rows.extend((0..dims).map(|_| ((rng.f32() * 2.0 - 1.0) * scale).to_bits()));
            // The checksum, which as a float would be NaN.
            rows.push(u32::MAX);
        }
        let accept = (0..num_rows.div_ceil(32)).map(|_| rng.u32(..) | rng.u32(..)).collect();
        let params = ScoreParams {
            num_queries,
            num_rows,
            dims,
            row_words,
            key_stride: num_rows,
            metric: metric_code(metric),
            error_scale: error_scale(dims),
            pad: 0,
        };
        Self { params, queries, query_norms, rows, accept }
    }

    fn num_keys(&self) -> usize {
        (self.params.num_queries * self.params.num_rows) as usize
    }

    fn on_device(&self, gpu: &Gpu) -> DeviceOut<u32> {
        let storage = |label, content| upload(gpu, label, wgpu::BufferUsages::STORAGE, content, 1);
        let params = upload(gpu, "params", wgpu::BufferUsages::UNIFORM, bytemuck::bytes_of(&self.params), 1);
        let queries = storage("queries", bytemuck::cast_slice(&self.queries));
        let query_norms = storage("query norms", bytemuck::cast_slice(&self.query_norms));
        let rows = storage("rows", bytemuck::cast_slice(&self.rows));
        let accept = storage("accept", bytemuck::cast_slice(&self.accept));
        let keys = upload(gpu, "keys", wgpu::BufferUsages::STORAGE, &[], self.num_keys());
        let buffers =
            ScoreBuffers { queries: &queries, query_norms: &query_norms, rows: &rows, accept: &accept, keys: &keys };
        launch(gpu, |pass| gpu.kernels().score_flat(&gpu.device, pass, &params, &self.params, buffers));
        download(gpu, &[(&keys, self.num_keys())]).remove(0)
    }

    fn on_twin(&self) -> TwinOut<u32> {
        let mut keys = vec![7; self.num_keys()];
        let tile = Tile::for_queries(self.params.num_queries);
        let Self { params, queries, query_norms, rows, accept, .. } = self;
        twin::score_flat(tile, params, queries, query_norms, rows, accept, &mut keys);
        TwinOut(keys)
    }
}

/// Keys as scores; both marks as numbers no score reaches.
fn scores(keys: &[u32]) -> Vec<f32> {
    let score = |&key: &u32| match key {
        0 => -1e30,
        UNSURE_KEY => 1e30,
        key => key_score(key),
    };
    keys.iter().map(score).collect()
}

const SHAPES: [(u32, u32, u32); 8] =
    [(1, 1, 1), (1, 300, 7), (3, 65, 17), (16, 256, 8), (17, 64, 16), (20, 130, 33), (65, 100, 40), (5, 513, 100)];

#[test]
fn score_flat_agrees_with_its_twin() {
    let Some(gpu) = shared() else { return };
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        for (num_queries, num_rows, dims) in SHAPES {
            let case = ScoreCase::random(&mut rng, metric, num_queries, num_rows, dims);
            let (device, twin) = (case.on_device(gpu), case.on_twin());
            // Sums of at most 100 products of magnitude 1: they round in other places where they are fused.
            assert_close(&DeviceOut(scores(&device.0)), &TwinOut(scores(&twin.0)), 1e-5);
            let marks =
                |keys: &[u32]| keys.iter().map(|&key| u32::from(key == 0) + 2 * u32::from(key == UNSURE_KEY)).collect();
            assert_same(&DeviceOut(marks(&device.0)), &TwinOut(marks(&twin.0)));
        }
    }
}

#[test]
fn the_bound_of_the_twin_is_above_the_score_of_the_cpu_and_near_it() {
    let mut rng = fastrand::Rng::with_seed(17);
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        for (num_queries, num_rows, dims) in SHAPES {
            let case = ScoreCase::random(&mut rng, metric, num_queries, num_rows, dims);
            let keys = case.on_twin().0;
            let row_words = case.params.row_words as usize;
            for (query_ix, query) in case.queries.chunks(dims as usize).enumerate() {
                let query = VectorQuery::new(&VectorOptions::new(dims, metric), query.to_vec()).unwrap();
                for (row_ix, row) in case.rows.chunks(row_words).enumerate() {
                    let mut score = [0.0];
                    query.score_rows(&[bytemuck::cast_slice(&row[..dims as usize])], &mut score);
                    let key = keys[query_ix * num_rows as usize + row_ix];
                    let accepted = case.accept[row_ix / 32] >> (row_ix % 32) & 1 == 1;
                    assert_eq!(key == 0, !accepted);
                    if accepted && key != UNSURE_KEY {
                        let bound = key_score(key);
                        let slack = 3.0 * error_scale(dims) * (1.0 + query.squared_norm().sqrt() * 12.0);
                        assert!(bound >= score[0], "{metric:?}: bound {bound} below {}", score[0]);
                        assert!(bound - score[0] <= slack, "{metric:?}: bound {bound} far above {}", score[0]);
                    }
                }
            }
        }
    }
}

/// Keys for `select_top`: many ties, some marks.
fn random_keys(rng: &mut fastrand::Rng, count: usize, kind: u32) -> Vec<u32> {
    (0..count)
        .map(|_| match kind {
            0 => rng.u32(..),
            1 => rng.u32(0..4),
            2 => 0x8000_0000 | rng.u32(0..200) << 12,
            3 => 0,
            4 => 5,
            _ => [0, UNSURE_KEY, rng.u32(..)][rng.usize(0..3)],
        })
        .collect()
}

fn select_on_twin(params: &SelectParams, keys: &[u32]) -> [TwinOut<u32>; 3] {
    let len = (params.num_queries * params.k) as usize;
    let (mut top_keys, mut top_rows, mut counts) = (vec![9; len], vec![9; len], vec![9; params.num_queries as usize]);
    twin::select_top(params, keys, &mut top_keys, &mut top_rows, &mut counts);
    [TwinOut(top_keys), TwinOut(top_rows), TwinOut(counts)]
}

const SELECT_SHAPES: [(u32, u32, u32); 9] = [
    (1, 1, 1),
    (1, 5, 8),
    (2, 255, 3),
    (3, 256, 17),
    (2, 700, 64),
    (4, 1000, 1),
    (1, 1500, 1024),
    (2, 300, 1000),
    (5, 513, 100),
];

#[test]
fn select_top_agrees_with_its_twin() {
    let Some(gpu) = shared() else { return };
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for kind in 0..6 {
        for (num_queries, num_rows, k) in SELECT_SHAPES {
            let key_stride = num_rows + rng.u32(0..3);
            let params = SelectParams { num_queries, num_rows, key_stride, k };
            let keys = random_keys(&mut rng, (num_queries * key_stride) as usize, kind);
            let len = (num_queries * k) as usize;
            let params_buffer = upload(gpu, "params", wgpu::BufferUsages::UNIFORM, bytemuck::bytes_of(&params), 1);
            let storage = |label, content, len| upload(gpu, label, wgpu::BufferUsages::STORAGE, content, len);
            let key_buffer = storage("keys", bytemuck::cast_slice(&keys), 1);
            let (top_keys, top_rows) = (storage("top keys", &[], len), storage("top rows", &[], len));
            let counts = storage("counts", &[], num_queries as usize);
            let buffers =
                SelectBuffers { keys: &key_buffer, top_keys: &top_keys, top_rows: &top_rows, counts: &counts };
            launch(gpu, |pass| gpu.kernels().select_top(&gpu.device, pass, &params_buffer, &params, buffers));
            let device = download(gpu, &[(&top_keys, len), (&top_rows, len), (&counts, num_queries as usize)]);
            for (device, twin) in device.iter().zip(&select_on_twin(&params, &keys)) {
                assert_same(device, twin);
            }
        }
    }
}

#[test]
fn the_twin_of_select_top_agrees_with_sorting() {
    let mut rng = fastrand::Rng::with_seed(23);
    for kind in 0..6 {
        for (num_queries, num_rows, k) in SELECT_SHAPES {
            let params = SelectParams { num_queries, num_rows, key_stride: num_rows, k };
            let keys = random_keys(&mut rng, (num_queries * num_rows) as usize, kind);
            let [top_keys, top_rows, counts] = select_on_twin(&params, &keys);
            for (query_ix, keys) in keys.chunks(num_rows as usize).enumerate() {
                let mut expected: Vec<(u32, u32)> =
                    (0..).zip(keys).filter(|(_, key)| **key != 0).map(|(row, &key)| (key, row)).collect();
                expected.sort_by_key(|&(key, row)| (std::cmp::Reverse(key), row));
                expected.truncate(k as usize);
                assert_eq!(counts.0[query_ix] as usize, expected.len());
                expected.resize(k as usize, (0, 0));
                let at = query_ix * k as usize..(query_ix + 1) * k as usize;
                let found: Vec<_> =
                    top_keys.0[at.clone()].iter().copied().zip(top_rows.0[at].iter().copied()).collect();
                assert_eq!(found, expected);
            }
        }
    }
}
