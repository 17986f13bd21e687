//! Vector search on the GPU of the browser: the CPU's answer bit for bit, in pages and in workers.
//!
//! A browser without an adapter skips and says so, unless the tests were built with `RANGEFIND_REQUIRE_GPU=1`.

use bytes::Bytes;
use rangefind::{
    bitset::BitSet,
    gpu::{FlatAnswer, FlatRequest, GpuHost, GpuOptions, Mode, SegmentRows, search_flat},
    ids::{DocOrd, SegmentOrd},
    platform::Cancel,
    schema::{Metric, VectorOptions},
    storage::memory::MemoryFile,
    vectors::{VectorsReader, VectorsWriter},
};
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

struct Segment {
    reader: VectorsReader,
    file: MemoryFile,
    live: BitSet,
}

impl Segment {
    /// Documents with up to three vectors each; every seventh is deleted.
    fn random(rng: &mut fastrand::Rng, options: &VectorOptions, num_docs: u32) -> Self {
        let mut writer = VectorsWriter::new(options.clone());
        for doc in 0..num_docs {
            let components = options.dims * rng.u32(0..4);
            if components > 0 {
                writer.add(DocOrd(doc), &random(rng, components)).expect("finite vectors");
            }
        }
        let (mut meta, mut rows) = (Vec::new(), Vec::new());
        let mut chunks = writer.finish(num_docs, &mut meta);
        while chunks.append_next(&mut rows) {}
        let reader = VectorsReader::parse(&meta, rows.len() as u64).expect("just written");
        let mut live = BitSet::full(num_docs);
        (0..num_docs).step_by(7).for_each(|doc| {
            live.remove(doc);
        });
        Self { reader, file: Bytes::from(rows).into(), live }
    }

    fn rows(&self, segment: u32) -> SegmentRows<'_, MemoryFile> {
        let (reader, file, accept) = (&self.reader, &self.file, Some(&self.live));
        SegmentRows { segment: SegmentOrd(segment), reader, file, offset: 0, owners: None, accept, trace: None }
    }
}

fn random(rng: &mut fastrand::Rng, components: u32) -> Vec<f32> {
    (0..components).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

/// `None` where there is no adapter and none was promised.
async fn search(gpu: &GpuHost, segments: &[Segment], queries: &[Vec<f32>], k: usize, mode: Mode) -> Option<FlatAnswer> {
    let rows: Vec<_> = (0..).zip(segments).map(|(ord, segment)| segment.rows(ord)).collect();
    let request = FlatRequest { queries: queries.to_vec(), k, mode };
    match search_flat(gpu, &rows, &request, &Cancel::new()).await {
        Ok(answer) => Some(answer),
        Err(error) => {
            assert_eq!(error.kind().code(), "no_gpu");
            assert!(option_env!("RANGEFIND_REQUIRE_GPU") != Some("1"), "a device is required: {error}");
            console_log!("skipped: {error}");
            None
        }
    }
}

#[wasm_bindgen_test]
async fn the_gpu_gives_the_answer_of_the_cpu() {
    let gpu = GpuHost::new(GpuOptions { budget_bytes: 1 << 20 });
    let mut rng = fastrand::Rng::with_seed(1);
    for (metric, num_queries, k) in [(Metric::Cosine, 3, 10), (Metric::Dot, 18, 40), (Metric::L2, 1, 1)] {
        let options = VectorOptions::new(21, metric);
        let segments: Vec<_> = [150, 0, 90].map(|num_docs| Segment::random(&mut rng, &options, num_docs)).into();
        let queries: Vec<_> = (0..num_queries).map(|_| random(&mut rng, 21)).collect();
        let Some(found) = search(&gpu, &segments, &queries, k, Mode::Required).await else { return };
        console_log!("{metric:?}: {}", found.compute);
        assert!(found.compute.starts_with("gpu: "), "{}", found.compute);
        let expected = search(&gpu, &segments, &queries, k, Mode::Off).await.expect("the CPU is there");
        assert_eq!(expected.compute, "cpu");
        assert!(expected.hits.iter().all(|hits| hits.len() == k));
        assert_eq!(found.hits, expected.hits);
        assert_eq!((found.num_matched, found.num_scored), (expected.num_matched, expected.num_scored));
    }
}

#[wasm_bindgen_test]
async fn a_lost_device_leaves_the_cpu_and_is_replaced() {
    let gpu = GpuHost::new(GpuOptions { budget_bytes: 1 << 20 });
    let mut rng = fastrand::Rng::with_seed(2);
    let segments = vec![Segment::random(&mut rng, &VectorOptions::new(5, Metric::Cosine), 100)];
    let queries = vec![random(&mut rng, 5)];
    let expected = search(&gpu, &segments, &queries, 5, Mode::Off).await.expect("the CPU is there");
    let Some(first) = search(&gpu, &segments, &queries, 5, Mode::Required).await else { return };
    assert_eq!(first.hits, expected.hits);
    assert!(gpu.lose_device());
    for _ in 0..2 {
        // Whether the loss is already known decides between the CPU and a new device.
        let after = search(&gpu, &segments, &queries, 5, Mode::Required).await.expect("it was there before");
        console_log!("after the loss: {}", after.compute);
        assert_eq!(after.hits, expected.hits);
    }
}

#[wasm_bindgen_test]
async fn auto_stays_on_the_cpu_for_one_query() {
    let gpu = GpuHost::new(GpuOptions::default());
    let mut rng = fastrand::Rng::with_seed(3);
    let segments = vec![Segment::random(&mut rng, &VectorOptions::new(5, Metric::Dot), 30)];
    let answer = search(&gpu, &segments, &[random(&mut rng, 5)], 5, Mode::Auto).await.expect("auto is no promise");
    assert_eq!(answer.compute, "cpu: 1 query is faster there");
}
