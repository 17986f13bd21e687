//! Exact vector search over the segments of a snapshot: plan windows, read them, score them.

use crate::{
    bitset::BitSet,
    error::{Error, Result},
    ids::{DocAddress, SegmentOrd},
    platform::{self, Cancel},
    storage::File,
    topk::{Scored, TopK},
    vectors::{FlatScan, RowWindow, VectorQuery, VectorsReader, Verify, WindowOptions},
};

use super::{
    GpuHost,
    rules::{Job, Mode},
};

/// The vectors of one segment, and which of its documents may be returned.
#[derive(Debug, Clone, Copy)]
pub struct SegmentRows<'a, F> {
    /// The segment's position in the snapshot, for the addresses of the answer.
    pub segment: SegmentOrd,
    /// Opened metadata.
    pub reader: &'a VectorsReader,
    /// File that holds the `vectors` stream.
    pub file: &'a F,
    /// Where the stream starts in it.
    pub offset: u64,
    /// Documents that may be returned: live and passing the filter. All without one.
    pub accept: Option<&'a BitSet>,
}

/// What to look for.
#[derive(Debug, Clone, Default)]
pub struct FlatRequest {
    /// Query vectors of the field's dimension.
    pub queries: Vec<Vec<f32>>,
    /// Documents to return per query.
    pub k: usize,
    /// Where to compute.
    pub mode: Mode,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlatAnswer {
    /// Best documents per query, best first, ties by ascending address. Scores as `schema::Metric` says.
    pub hits: Vec<Vec<Scored<DocAddress>>>,
    /// Accepted documents that have a vector.
    pub num_matched: u64,
    /// Vectors scored, each once however many queries there are.
    pub num_scored: u64,
    /// Where it was computed and why, for people: `cpu`, `cpu: software adapter declined`, `gpu: NVIDIA …`.
    pub compute: String,
}

/// Bytes read per await: a few windows that go out together.
const ROUND_BYTES: u64 = 4 << 20;

/// Milliseconds of scoring after which a search gives way, so that a cancellation is heard.
const SLICE_MILLIS: f64 = 8.0;

/// Scores every accepted vector of `segments` against every query.
///
/// Reads are windows of at most 1 MiB, a few per await, the next ones prefetched while the current ones are
/// scored; rows that no accepted document owns are not read where the gaps are long enough.
///
/// # Errors
/// `invalid_argument` for a query vector that does not fit the field; `no_gpu` if one is required and there is
/// none; `corrupt`, `aborted`, and whatever reading brings.
///
/// # Examples
/// ```
/// # use rangefind::{bitset::BitSet, gpu::*, ids::*, platform::{Cancel, block_on}, storage::File, vectors::*};
/// async fn nearest<F: File>(reader: &VectorsReader, file: &F, live: &BitSet, query: Vec<f32>) -> DocOrd {
///     let gpu = GpuHost::new(GpuOptions::default()); // one per engine
///     let segment = SegmentRows { segment: SegmentOrd(0), reader, file, offset: 32, accept: Some(live) };
///     let request = FlatRequest { queries: vec![query], k: 10, mode: Mode::Auto };
///     let answer = search_flat(&gpu, &[segment], &request, &Cancel::new()).await.unwrap();
///     answer.hits[0][0].ord.doc
/// }
/// ```
pub async fn search_flat<F: File>(
    gpu: &GpuHost,
    segments: &[SegmentRows<'_, F>],
    request: &FlatRequest,
    cancel: &Cancel,
) -> Result<FlatAnswer> {
    let mut queries = Vec::with_capacity(segments.len());
    for segment in segments {
        queries.push(prepare(segment.reader, &request.queries)?);
    }
    let job = Job {
        queries: request.queries.len() as u64,
        rows: segments.iter().map(|segment| num_rows(segment)).sum(),
        dims: request.queries.first().map_or(0, Vec::len) as u64,
        k: request.k,
    };
    let super::absent::Choice::Cpu(compute) = gpu.choose(request.mode, &job).await?;
    let mut answer = Answer::new(request);
    for (segment, queries) in segments.iter().zip(queries) {
        scan(segment, queries, request.k, cancel, &mut answer).await?;
    }
    Ok(answer.finish(compute))
}

fn prepare(reader: &VectorsReader, queries: &[Vec<f32>]) -> Result<Vec<VectorQuery>> {
    queries
        .iter()
        .map(|query| VectorQuery::new(reader.options(), query.clone()))
        .collect::<Result<_, _>>()
        .map_err(|error| Error::with_source(crate::ErrorKind::InvalidArgument, "query vector", error))
}

/// Rows that will be scored, about: exact where nothing is filtered or all documents have one vector.
fn num_rows<F>(segment: &SegmentRows<'_, F>) -> u64 {
    let (count, max_doc) = (u64::from(segment.reader.count()), u64::from(segment.reader.max_doc()).max(1));
    segment.accept.map_or(count, |accept| (count * u64::from(accept.count())).div_ceil(max_doc))
}

/// The answer so far.
struct Answer {
    tops: Vec<TopK<DocAddress>>,
    num_matched: u64,
    num_scored: u64,
}

impl Answer {
    fn new(request: &FlatRequest) -> Self {
        Self { tops: request.queries.iter().map(|_| TopK::new(request.k)).collect(), num_matched: 0, num_scored: 0 }
    }

    fn finish(self, compute: String) -> FlatAnswer {
        let hits = self.tops.into_iter().map(TopK::into_sorted_vec).collect();
        FlatAnswer { hits, num_matched: self.num_matched, num_scored: self.num_scored, compute }
    }
}

/// Scores one segment on the CPU.
async fn scan<F: File>(
    segment: &SegmentRows<'_, F>,
    queries: Vec<VectorQuery>,
    k: usize,
    cancel: &Cancel,
    answer: &mut Answer,
) -> Result<()> {
    let mut scan = FlatScan::new(segment.reader, queries, k);
    let mut rounds = Rounds::new(segment);
    let mut since_pause = platform::now_millis();
    while let Some(windows) = rounds.read(segment).await? {
        for (window, bytes) in &windows {
            cancel.check()?;
            scan.feed(window, bytes, segment.accept, rounds.verify)
                .map_err(|error| Error::corrupt(format!("vectors of segment {}", segment.segment.0), error))?;
            if platform::now_millis() - since_pause > SLICE_MILLIS {
                platform::yield_now().await;
                since_pause = platform::now_millis();
            }
        }
    }
    answer.num_matched += scan.num_matched();
    answer.num_scored += scan.num_scored();
    for (top, hits) in answer.tops.iter_mut().zip(scan.finish()) {
        for hit in hits {
            top.push(hit.score, DocAddress { segment: segment.segment, doc: hit.ord });
        }
    }
    Ok(())
}

/// The windows of a segment in rounds of [`ROUND_BYTES`], each prefetched while the one before is scored.
struct Rounds {
    windows: std::vec::IntoIter<RowWindow>,
    verify: Verify,
}

impl Rounds {
    fn new<F: File>(segment: &SegmentRows<'_, F>) -> Self {
        let windows = segment.reader.windows(segment.accept, &WindowOptions::default()).into_iter();
        let verify = if segment.file.as_slice().is_some() { Verify::Unseen } else { Verify::All };
        Self { windows, verify }
    }

    /// How many of the windows left make the next round.
    fn next_len(windows: &[RowWindow]) -> usize {
        let mut bytes = 0;
        windows
            .iter()
            .take_while(|window| {
                bytes += window.bytes.end - window.bytes.start;
                bytes <= ROUND_BYTES
            })
            .count()
            .max(1)
            .min(windows.len())
    }

    /// Reads the next round and starts loading the one after it; `None` at the end.
    async fn read<F: File>(&mut self, segment: &SegmentRows<'_, F>) -> Result<Option<Vec<(RowWindow, bytes::Bytes)>>> {
        let len = Self::next_len(self.windows.as_slice());
        if len == 0 {
            return Ok(None);
        }
        let windows: Vec<RowWindow> = self.windows.by_ref().take(len).collect();
        let in_file = |window: &RowWindow| segment.offset + window.bytes.start..segment.offset + window.bytes.end;
        let bytes = segment.file.read_ranges(&windows.iter().map(in_file).collect::<Vec<_>>()).await?;
        let rest = self.windows.as_slice();
        let ahead: Vec<_> = rest[..Self::next_len(rest)].iter().map(in_file).collect();
        if !ahead.is_empty() {
            segment.file.prefetch(&ahead);
        }
        Ok(Some(windows.into_iter().zip(bytes).collect()))
    }
}
