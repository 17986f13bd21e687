//! Whole searches on a device: the CPU's answer bit for bit, whatever happens to the device meanwhile.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;

use crate::{
    error::Result,
    gpu::{
        FlatRequest, GpuHost, GpuOptions, Mode, SegmentRows, search_flat,
        search_tests::{OFFSET, TestSegment, by_scanning, random_vectors},
    },
    ids::SegmentOrd,
    platform::{Cancel, MaybeSend, block_on},
    schema::{Metric, VectorOptions},
    storage::{File, memory::MemoryFile},
};

use super::{open, shared};

/// A host with little device memory, so that a search takes several chunks.
fn small_host() -> Option<GpuHost> {
    shared()?;
    Some(GpuHost::new(GpuOptions { budget_bytes: 1 << 20 }))
}

#[test]
fn a_search_on_the_device_gives_the_answer_of_the_cpu() {
    let Some(host) = small_host() else { return };
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        for (num_queries, k) in [(1, 1), (3, 10), (20, 200), (2, 0)] {
            let options = VectorOptions::new(rng.u32(1..40), metric);
            let segments: Vec<TestSegment> = (0..3)
                .map(|_| {
                    let (num_docs, multi, filter) = (rng.u32(0..900), rng.bool(), rng.bool());
                    TestSegment::random(&mut rng, &options, num_docs, multi, filter)
                })
                .collect();
            let rows: Vec<_> = segments.iter().enumerate().map(|(ord, segment)| segment.rows(ord as u32)).collect();
            let queries = (0..num_queries).map(|_| random_vectors(&mut rng, options.dims)).collect();
            let request = FlatRequest { queries, k, mode: Mode::Required };
            let answer = block_on(search_flat(&host, &rows, &request, &Cancel::new())).unwrap();
            println!("{metric:?} {num_queries} {k}: {}", answer.compute);
            assert!(answer.compute.starts_with("gpu: "), "{}", answer.compute);
            assert_eq!(answer.hits, by_scanning(&segments, &request.queries, k));
            let off = FlatRequest { mode: Mode::Off, ..request };
            let cpu = block_on(search_flat(&host, &rows, &off, &Cancel::new())).unwrap();
            assert_eq!((answer.num_matched, answer.num_scored), (cpu.num_matched, cpu.num_scored));
        }
    }
}

#[test]
fn ties_at_rank_k_are_decided_by_the_cpu() {
    let Some(host) = small_host() else { return };
    let mut rng = fastrand::Rng::with_seed(5);
    let options = VectorOptions::new(3, Metric::Cosine);
    let mut segment = TestSegment::random(&mut rng, &options, 0, false, false);
    let mut writer = crate::vectors::VectorsWriter::new(options);
    for doc in 0..500 {
        writer.add(crate::ids::DocOrd(doc), &[1.0, 2.0, 3.0]).unwrap();
    }
    let (mut meta, mut rows) = (Vec::new(), vec![0; OFFSET as usize]);
    let mut chunks = writer.finish(500, &mut meta);
    while chunks.append_next(&mut rows) {}
    segment.reader = crate::vectors::VectorsReader::parse(&meta, rows.len() as u64 - OFFSET).unwrap();
    segment.file = Bytes::from(rows).into();
    let request = FlatRequest { queries: vec![vec![1.0, 0.0, 0.0]; 2], k: 10, mode: Mode::Required };
    let answer = block_on(search_flat(&host, &[segment.rows(0)], &request, &Cancel::new())).unwrap();
    assert!(answer.compute.ends_with("; cpu for 2 of 2 queries: ties at rank 10"), "{}", answer.compute);
    assert_eq!(answer.hits, by_scanning(&[segment], &request.queries, 10));
}

#[test]
fn vectors_of_extreme_length_get_the_answer_of_the_cpu() {
    let Some(host) = small_host() else { return };
    let options = VectorOptions::new(4, Metric::Cosine);
    let mut writer = crate::vectors::VectorsWriter::new(options.clone());
    for doc in 0..300u32 {
        let scale = [1.0, 1e-30, 1e30, 0.0, 3e38][doc as usize % 5];
        let vector = [1.0, 0.5, doc as f32 / 300.0, -0.25].map(|x: f32| x * scale);
        writer.add(crate::ids::DocOrd(doc), &vector).unwrap();
    }
    let (mut meta, mut rows) = (Vec::new(), vec![0; OFFSET as usize]);
    let mut chunks = writer.finish(300, &mut meta);
    while chunks.append_next(&mut rows) {}
    let reader = crate::vectors::VectorsReader::parse(&meta, rows.len() as u64 - OFFSET).unwrap();
    let segment = TestSegment { reader, file: Bytes::from(rows).into(), owners: None, plain: None, accept: None };
    for query in [vec![1.0; 4], vec![1e-20; 4], vec![1e30; 4], vec![0.0; 4]] {
        let request = FlatRequest { queries: vec![query], k: 7, mode: Mode::Required };
        let answer = block_on(search_flat(&host, &[segment.rows(0)], &request, &Cancel::new())).unwrap();
        println!("{}", answer.compute);
        assert_eq!(answer.hits, by_scanning(std::slice::from_ref(&segment), &request.queries, 7));
    }
}

/// A file that destroys the device at a chosen read.
#[derive(Clone)]
struct LosesDevice {
    inner: MemoryFile,
    host: GpuHost,
    reads: Arc<AtomicUsize>,
    at: usize,
}

impl File for LosesDevice {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> impl Future<Output = Result<Vec<Bytes>>> + MaybeSend {
        if self.reads.fetch_add(1, Ordering::Relaxed) == self.at {
            assert!(self.host.lose_device());
        }
        self.inner.read_ranges(ranges)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> usize {
        self.inner.prefetch(ranges)
    }

    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}

#[test]
fn a_device_lost_in_mid_search_gives_the_answer_of_the_cpu() {
    if shared().is_none() {
        return;
    }
    let mut rng = fastrand::Rng::with_seed(6);
    let options = VectorOptions::new(16, Metric::L2);
    let segments: Vec<_> = (0..4).map(|_| TestSegment::random(&mut rng, &options, 300, false, true)).collect();
    let queries: Vec<_> = (0..2).map(|_| random_vectors(&mut rng, 16)).collect();
    let expected = by_scanning(&segments, &queries, 5);
    for at in 0..5 {
        let host = GpuHost::new(GpuOptions { budget_bytes: 1 << 20 });
        let reads = Arc::new(AtomicUsize::new(0));
        let files: Vec<_> = segments
            .iter()
            .map(|segment| LosesDevice { inner: segment.file.clone(), host: host.clone(), reads: reads.clone(), at })
            .collect();
        let rows: Vec<_> = (0..)
            .zip(segments.iter().zip(&files))
            .map(|(ord, (segment, file))| {
                let (reader, accept) = (&segment.reader, segment.accept.as_ref());
                SegmentRows {
                    segment: SegmentOrd(ord),
                    reader,
                    file,
                    offset: OFFSET,
                    owners: None,
                    accept,
                    trace: None,
                }
            })
            .collect();
        let request = FlatRequest { queries: queries.clone(), k: 5, mode: Mode::Required };
        let answer = block_on(search_flat(&host, &rows, &request, &Cancel::new())).unwrap();
        println!("lost at read {at}: {}", answer.compute);
        assert_eq!(answer.hits, expected);
        // The last read is that of the survivors: the device had done its part.
        let expected_start = if at < 4 { "cpu: device lost" } else { "gpu: " };
        assert!(answer.compute.starts_with(expected_start), "{}", answer.compute);
        // The next search finds a new device.
        let answer = block_on(search_flat(&host, &rows, &request, &Cancel::new())).unwrap();
        assert!(answer.compute.starts_with("gpu: "), "{}", answer.compute);
        assert_eq!(answer.hits, expected);
    }
}

#[test]
fn auto_declines_small_jobs_and_software() {
    let Some(host) = small_host() else { return };
    let is_software = shared().is_some_and(|gpu| gpu.name.is_software);
    let mut rng = fastrand::Rng::with_seed(7);
    let segment = TestSegment::random(&mut rng, &VectorOptions::new(2, Metric::Dot), 50, false, false);
    let request = FlatRequest { queries: vec![vec![1.0, 2.0]], k: 5, mode: Mode::Auto };
    let answer = block_on(search_flat(&host, &[segment.rows(0)], &request, &Cancel::new())).unwrap();
    assert_eq!(answer.compute, "cpu: 1 query is faster there");
    let job = crate::gpu::Job { queries: 1000, rows: 1_000_000, dims: 384, k: 10 };
    for _ in 0..2 {
        match block_on(host.choose(Mode::Auto, &job)).unwrap() {
            crate::gpu::host::Choice::Cpu(reason) => {
                assert!(is_software && reason.starts_with("cpu: software adapter declined ("), "{reason}");
            }
            crate::gpu::host::Choice::Gpu(_) => assert!(!is_software),
        }
    }
    let request = FlatRequest { k: 513, mode: Mode::Required, ..request };
    let answer = block_on(search_flat(&host, &[segment.rows(0)], &request, &Cancel::new())).unwrap();
    assert_eq!(answer.compute, "cpu: k 513 is above the 512 that a GPU selects");
}

#[test]
fn buffers_are_reused_and_stay_within_the_budget() {
    let Some(gpu) = open(1 << 20) else { return };
    let pool = gpu.pool();
    let usage = wgpu::BufferUsages::STORAGE;
    let take = |bytes| block_on(pool.take(&gpu.device, "test", bytes, usage));
    let first = take(300 << 10).unwrap();
    assert_eq!(pool.held_bytes(), 512 << 10);
    drop(first);
    let again = take(200 << 10).unwrap();
    assert_eq!((again.get().size(), pool.held_bytes()), (512 << 10, 512 << 10), "the same buffer");
    let second = take(512 << 10).unwrap();
    assert!(take(1).is_err(), "the budget is spent");
    drop(second);
    let small = take(1).unwrap();
    assert_eq!(pool.held_bytes(), (512 << 10) + (4 << 10), "a free buffer was destroyed for it");
    small.discard();
    assert_eq!(pool.held_bytes(), 512 << 10);
    assert_eq!(pool.peak_bytes(), 1 << 20);
    drop(again);
}

#[test]
fn a_cancelled_search_leaves_the_device_usable() {
    let Some(host) = small_host() else { return };
    let mut rng = fastrand::Rng::with_seed(8);
    let segment = TestSegment::random(&mut rng, &VectorOptions::new(8, Metric::Dot), 400, false, false);
    let request = FlatRequest { queries: vec![random_vectors(&mut rng, 8)], k: 5, mode: Mode::Required };
    let cancel = Cancel::new();
    cancel.cancel();
    assert!(block_on(search_flat(&host, &[segment.rows(0)], &request, &cancel)).is_err());
    let answer = block_on(search_flat(&host, &[segment.rows(0)], &request, &Cancel::new())).unwrap();
    assert!(answer.compute.starts_with("gpu: "));
}
