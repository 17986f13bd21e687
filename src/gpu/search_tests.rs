//! The search over segments against a scan of everything by one [`FlatScan`], whatever the device.

use bytes::Bytes;

use super::*;
use crate::{
    bitset::BitSet,
    ids::{DocAddress, DocOrd, SegmentOrd},
    platform::{Cancel, block_on},
    schema::{Metric, VectorOptions},
    storage::memory::MemoryFile,
    topk::{Scored, TopK},
    vectors::{
        FlatScan, VectorOrd, VectorQuery, VectorsReader, VectorsWriter, Verify, WindowOptions, write_cells_meta,
        write_numbers,
    },
};

/// Bytes in front of the stream in its file.
pub(super) const OFFSET: u64 = 24;

/// A segment of random vectors in memory.
pub(super) struct TestSegment {
    pub(super) reader: VectorsReader,
    pub(super) file: MemoryFile,
    /// Set where rows lie in an order of their own.
    pub(super) owners: Option<OwnerStreams>,
    /// The same in document order, where they do.
    pub(super) plain: Option<Box<TestSegment>>,
    pub(super) accept: Option<BitSet>,
}

impl TestSegment {
    pub(super) fn random(
        rng: &mut fastrand::Rng,
        options: &VectorOptions,
        num_docs: u32,
        multi: bool,
        filter: bool,
    ) -> Self {
        let mut writer = VectorsWriter::new(options.clone());
        for doc in 0..num_docs {
            let count = if multi { rng.u32(0..4) } else { 1 };
            if count > 0 {
                writer.add(DocOrd(doc), &random_vectors(rng, options.dims * count)).unwrap();
            }
        }
        let (mut bytes, mut meta) = (vec![0xEE; OFFSET as usize], Vec::new());
        let mut chunks = writer.finish(num_docs, &mut meta);
        let mut rows = Vec::new();
        while chunks.append_next(&mut rows) {}
        bytes.extend_from_slice(&rows);
        let reader = VectorsReader::parse(&meta, rows.len() as u64).unwrap();
        let accept = filter.then(|| {
            let mut accept = BitSet::new(num_docs);
            (0..num_docs).filter(|_| rng.bool()).for_each(|doc| {
                accept.insert(doc);
            });
            accept
        });
        Self { reader, file: Bytes::from(bytes).into(), owners: None, plain: None, accept }
    }

    /// The same vectors in a random order, with owners behind them.
    pub(super) fn shuffled(self, rng: &mut fastrand::Rng) -> Self {
        let (stride, count) = (self.reader.stride_bytes(), self.reader.count());
        let file: &Bytes = crate::storage::File::as_slice(&self.file).unwrap();
        let mut order: Vec<u32> = (0..count).collect();
        rng.shuffle(&mut order);
        let mut bytes = file[..OFFSET as usize].to_vec();
        for &old in &order {
            let start = OFFSET as usize + old as usize * stride;
            bytes.extend_from_slice(&file[start..start + stride]);
        }
        let docs: Vec<u32> = order.iter().map(|&old| self.reader.doc_of(VectorOrd(old)).0).collect();
        let mut owners = OwnerStreams { docs: bytes.len() as u64, ords: 0 };
        write_numbers(docs.iter().copied(), &mut bytes);
        owners.ords = bytes.len() as u64;
        let mut by_doc: Vec<(u32, u32)> = docs.iter().copied().zip(0..).collect();
        by_doc.sort_unstable();
        if !self.reader.is_single_valued() {
            let starts = (0..count).filter(|&ix| ix == 0 || by_doc[ix as usize].0 != by_doc[ix as usize - 1].0);
            write_numbers(starts.chain([count]), &mut bytes);
        }
        write_numbers(by_doc.iter().map(|&(_, ord)| ord), &mut bytes);
        let mut meta = Vec::new();
        write_cells_meta(self.reader.options(), count, &self.reader.docs_with_vector(), None, &mut meta);
        let reader = VectorsReader::parse(&meta, u64::from(count) * stride as u64).unwrap();
        let accept = self.accept.clone();
        Self { reader, file: Bytes::from(bytes).into(), owners: Some(owners), plain: Some(Box::new(self)), accept }
    }

    pub(super) fn rows(&self, segment: u32) -> SegmentRows<'_, MemoryFile> {
        let (reader, file, accept) = (&self.reader, &self.file, self.accept.as_ref());
        SegmentRows {
            segment: SegmentOrd(segment),
            reader,
            file,
            offset: OFFSET,
            owners: self.owners,
            accept,
            trace: None,
        }
    }
}

pub(super) fn random_vectors(rng: &mut fastrand::Rng, components: u32) -> Vec<f32> {
    (0..components).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

/// The answer by one scan per segment and query, everything in one window.
pub(super) fn by_scanning(segments: &[TestSegment], queries: &[Vec<f32>], k: usize) -> Vec<Vec<Scored<DocAddress>>> {
    let everything = WindowOptions { window_bytes: u64::MAX, gap_bytes: u64::MAX };
    queries
        .iter()
        .map(|query| {
            let mut top = TopK::new(k);
            for (segment_ix, segment) in segments.iter().enumerate() {
                let segment = segment.plain.as_deref().unwrap_or(segment);
                let query = VectorQuery::new(segment.reader.options(), query.clone()).unwrap();
                let mut scan = FlatScan::new(&segment.reader, vec![query], k);
                for window in segment.reader.windows(segment.accept.as_ref(), &everything) {
                    let file: &Bytes = crate::storage::File::as_slice(&segment.file).unwrap();
                    let bytes = &file[(OFFSET + window.bytes.start) as usize..(OFFSET + window.bytes.end) as usize];
                    scan.feed(&window, bytes, segment.accept.as_ref(), Verify::Unseen).unwrap();
                }
                for hit in scan.finish().remove(0) {
                    top.push(hit.score, DocAddress { segment: SegmentOrd(segment_ix as u32), doc: hit.ord });
                }
            }
            top.into_sorted_vec()
        })
        .collect()
}

#[test]
fn the_cpu_search_agrees_with_a_plain_scan() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        let options = VectorOptions::new(rng.u32(1..300), metric);
        let segments: Vec<TestSegment> = (0..rng.usize(0..4))
            .map(|_| {
                let (num_docs, multi, filter) = (rng.u32(0..3000), rng.bool(), rng.bool());
                let mut segment = TestSegment::random(&mut rng, &options, num_docs, multi, filter);
                if let Some(accept) = segment.accept.as_mut().filter(|_| rng.bool()) {
                    (0..num_docs).filter(|doc| doc % 50 > 0).for_each(|doc| {
                        accept.remove(doc);
                    });
                }
                if rng.bool() { segment.shuffled(&mut rng) } else { segment }
            })
            .collect();
        let rows: Vec<_> = segments.iter().enumerate().map(|(ord, segment)| segment.rows(ord as u32)).collect();
        let queries: Vec<_> = (0..rng.usize(1..6)).map(|_| random_vectors(&mut rng, options.dims)).collect();
        let request = FlatRequest { queries, k: rng.usize(0..40), mode: Mode::Off };
        let gpu = GpuHost::new(GpuOptions::default());
        let answer = block_on(search_flat(&gpu, &rows, &request, &Cancel::new())).unwrap();
        assert_eq!(answer.hits, by_scanning(&segments, &request.queries, request.k));
        assert_eq!(answer.compute, "cpu");
        let docs = |segment: &TestSegment| {
            let accepted = |doc: &u32| segment.accept.as_ref().is_none_or(|accept| accept.contains(*doc));
            let with_vector = segment.reader.docs_with_vector();
            let has_vector = |doc: &u32| with_vector.contains(*doc);
            (0..segment.reader.max_doc()).filter(accepted).filter(has_vector).count() as u64
        };
        assert_eq!(answer.num_matched, segments.iter().map(docs).sum::<u64>());
    }
}

#[test]
fn a_cancelled_search_ends_with_its_own_error() {
    let mut rng = fastrand::Rng::with_seed(1);
    let segment = TestSegment::random(&mut rng, &VectorOptions::new(4, Metric::Dot), 100, false, false);
    let cancel = Cancel::new();
    cancel.cancel();
    let request = FlatRequest { queries: vec![vec![0.0; 4]], k: 3, mode: Mode::Off };
    let gpu = GpuHost::new(GpuOptions::default());
    let error = block_on(search_flat(&gpu, &[segment.rows(0)], &request, &cancel)).unwrap_err();
    assert_eq!(error.kind().code(), "aborted");
}

#[test]
fn a_query_that_does_not_fit_is_refused() {
    let mut rng = fastrand::Rng::with_seed(2);
    let segment = TestSegment::random(&mut rng, &VectorOptions::new(4, Metric::Dot), 10, false, false);
    let gpu = GpuHost::new(GpuOptions::default());
    for query in [vec![0.0; 3], vec![f32::NAN; 4], vec![]] {
        let request = FlatRequest { queries: vec![query], k: 3, mode: Mode::Off };
        let error = block_on(search_flat(&gpu, &[segment.rows(0)], &request, &Cancel::new())).unwrap_err();
        assert_eq!(error.kind().code(), "invalid_argument");
    }
}

#[test]
fn a_search_may_move_between_threads() {
    fn assert_send<T: Send>(future: T) -> T {
        future
    }
    let gpu = GpuHost::new(GpuOptions::default());
    let request = FlatRequest { queries: Vec::new(), k: 1, mode: Mode::Auto };
    let cancel = Cancel::new();
    let answer = block_on(assert_send(search_flat::<MemoryFile>(&gpu, &[], &request, &cancel))).unwrap();
    assert!(answer.hits.is_empty());
}

#[test]
fn rows_are_checked_when_they_are_fetched_and_not_again_while_they_stay_in_the_cache() {
    use crate::storage::{Access, BlockCache, CachedFile, IoTrace, Storage, memory::MemoryStorage};
    use std::sync::Arc;

    let mut rng = fastrand::Rng::with_seed(9);
    let options = VectorOptions::new(16, Metric::Dot);
    let good = TestSegment::random(&mut rng, &options, 2000, false, false);
    let bytes = crate::storage::File::as_slice(&good.file).unwrap().clone();
    let damaged = Replaced { good: bytes.clone(), damaged: flip(&bytes), is_damaged: Arc::default() };
    let cache = BlockCache::new(8 << 20);
    let file: CachedFile<Replaced> = cache.wrap(damaged.clone(), "x", Access::SEARCH, &MemoryStorage::new().profile());
    let search = |file: &CachedFile<Replaced>| {
        let trace = Arc::new(IoTrace::new());
        let file = file.traced(trace.clone());
        let rows = SegmentRows { file: &file, trace: Some(&trace), ..rows_of(&good, &file) };
        let request = FlatRequest { queries: vec![vec![1.0; 16]], k: 3, mode: Mode::Off };
        block_on(search_flat(&GpuHost::new(GpuOptions::default()), &[rows], &request, &Cancel::new()))
    };
    let first = search(&file).unwrap();
    damaged.is_damaged.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(search(&file).unwrap(), first, "all resident: nothing was fetched");
    let fresh: CachedFile<Replaced> =
        BlockCache::new(8 << 20).wrap(damaged, "x", Access::SEARCH, &MemoryStorage::new().profile());
    assert_eq!(search(&fresh).unwrap_err().kind().code(), "corrupt", "fetched again, although seen intact before");
}

fn rows_of<'a, F>(segment: &'a TestSegment, file: &'a F) -> SegmentRows<'a, F> {
    SegmentRows {
        segment: SegmentOrd(0),
        reader: &segment.reader,
        file,
        offset: OFFSET,
        owners: None,
        accept: None,
        trace: None,
    }
}

fn flip(bytes: &Bytes) -> Bytes {
    let mut damaged = bytes.to_vec();
    damaged[OFFSET as usize + 100] ^= 1;
    damaged.into()
}

/// A file whose content can be replaced by damaged bytes.
#[derive(Clone)]
struct Replaced {
    good: Bytes,
    damaged: Bytes,
    is_damaged: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl crate::storage::File for Replaced {
    fn len(&self) -> u64 {
        self.good.len() as u64
    }

    fn is_empty(&self) -> bool {
        self.good.is_empty()
    }

    async fn read_ranges(&self, ranges: &[std::ops::Range<u64>]) -> crate::error::Result<Vec<Bytes>> {
        let is_damaged = self.is_damaged.load(std::sync::atomic::Ordering::Relaxed);
        let bytes = if is_damaged { &self.damaged } else { &self.good };
        Ok(ranges.iter().map(|range| bytes.slice(range.start as usize..range.end as usize)).collect())
    }

    fn prefetch(&self, _ranges: &[std::ops::Range<u64>]) -> usize {
        0
    }

    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}
