//! Exact vector search over the segments of a snapshot: plan windows, read them, score them.

use crate::{
    bitset::BitSet,
    error::{Error, ErrorKind, Result},
    ids::{DocAddress, SegmentOrd},
    platform::{self, Cancel},
    schema::VectorStorage,
    storage::{File, IoTrace},
    topk::{Scored, TopK},
    vectors::{FlatScan, VectorFormatError, VectorQuery, VectorsReader},
};

use super::{
    host::{Choice, Device, GpuHost, Interrupted},
    owners::OwnerStreams,
    rescore::rescore,
    rounds::Rounds,
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
    /// Where its owners are, if rows lie in cell order.
    pub owners: Option<OwnerStreams>,
    /// Documents that may be returned: live and passing the filter. All without one.
    pub accept: Option<&'a BitSet>,
    /// Counters that `file` adds to. Rows read while they stand still come from memory and are checked once;
    /// all others each time.
    pub trace: Option<&'a IoTrace>,
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

/// Milliseconds of scoring after which a search gives way, so that a cancellation is heard.
const SLICE_MILLIS: f64 = 8.0;

/// Scores every accepted vector of `segments` against every query.
///
/// Reads are windows of at most 128 KiB, some per await, the next ones prefetched while the current ones are
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
///     let segment =
///         SegmentRows { segment: SegmentOrd(0), reader, file, offset: 32, owners: None, accept: Some(live), trace: None };
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
    // One field has one dimension and metric in all segments.
    let queries = match segments.first() {
        Some(first) => prepare(first.reader, &request.queries)?,
        None => Vec::new(),
    };
    let job = Job {
        queries: request.queries.len() as u64,
        rows: segments.iter().map(|segment| segment.num_rows()).sum(),
        dims: segments.first().map_or(0, |segment| segment.reader.dims().into()),
        k: request.k,
    };
    // Kernels read rows as single-precision floats, one per vector.
    let is_plain = |reader: &VectorsReader| reader.options().storage == VectorStorage::F32 && !reader.has_shared_rows();
    let is_full = segments.iter().all(|segment| is_plain(segment.reader));
    let mode = match request.mode {
        Mode::Required if !is_full => {
            return Err(Error::new(
                ErrorKind::NoGpu,
                "vectors are not stored as f32, each in a row of its own, which the GPU scores",
            ));
        }
        mode if is_full => mode,
        _ => Mode::Off,
    };
    match gpu.choose(mode, &job).await? {
        Choice::Gpu(device) if !queries.is_empty() => on_device(&device, segments, queries, &job, cancel).await,
        choice => {
            let compute = match choice {
                Choice::Cpu(compute) => compute,
                Choice::Gpu(_) => "cpu: nothing to score".to_owned(),
            };
            let mut answer = scan(segments, queries, request.k, cancel).await?;
            answer.tops.resize_with(request.queries.len(), || TopK::new(request.k));
            Ok(answer.finish(compute))
        }
    }
}

/// Searches on the device, and on the CPU where the device fails or leaves doubt.
async fn on_device<F: File>(
    device: &Device,
    segments: &[SegmentRows<'_, F>],
    queries: Vec<VectorQuery>,
    job: &Job,
    cancel: &Cancel,
) -> Result<FlatAnswer> {
    let survivors = match device.survivors(segments, &queries, job, cancel).await {
        Ok(survivors) => survivors,
        Err(Interrupted::Search(error)) => return Err(error),
        Err(Interrupted::Device(reason)) => {
            let answer = scan(segments, queries, job.k, cancel).await?;
            return Ok(answer.finish(format!("cpu: {reason}")));
        }
    };
    let mut compute = format!("gpu: {}", device.name());
    let mut hits = rescore(segments, &queries, &survivors, job.k, cancel).await?;
    let open: Vec<usize> = (0..hits.len()).filter(|&query_ix| hits[query_ix].is_none()).collect();
    if !open.is_empty() {
        compute += &format!("; cpu for {} of {} queries: ties at rank {}", open.len(), queries.len(), job.k);
        let again = open.iter().map(|&query_ix| queries[query_ix].clone()).collect();
        let answer = scan(segments, again, job.k, cancel).await?;
        for (query_ix, top) in open.into_iter().zip(answer.tops) {
            hits[query_ix] = Some(top.into_sorted_vec());
        }
    }
    let hits = hits.into_iter().map(Option::unwrap_or_default).collect();
    let counts = segments.iter().map(SegmentRows::counts).collect::<Vec<_>>();
    let (num_matched, num_scored) = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    Ok(FlatAnswer { hits, num_matched, num_scored, compute })
}

fn prepare(reader: &VectorsReader, queries: &[Vec<f32>]) -> Result<Vec<VectorQuery>> {
    queries
        .iter()
        .map(|query| VectorQuery::new(reader.options(), query.clone()))
        .collect::<Result<_, _>>()
        .map_err(|error| Error::with_source(crate::ErrorKind::InvalidArgument, "query vector", error))
}

impl<F> SegmentRows<'_, F> {
    /// Rows that will be scored, about: exact where nothing is filtered or all documents have one vector.
    fn num_rows(&self) -> u64 {
        let (count, max_doc) = (u64::from(self.reader.count()), u64::from(self.reader.max_doc()).max(1));
        self.accept.map_or(count, |accept| (count * u64::from(accept.count())).div_ceil(max_doc))
    }

    /// Accepted documents that have a vector, and their vectors.
    fn counts(&self) -> (u64, u64) {
        let Some(accept) = self.accept else {
            return (self.reader.num_docs().into(), self.reader.count().into());
        };
        self.reader.count_accepted(accept)
    }

    pub(super) fn corrupt(&self, error: VectorFormatError) -> Error {
        Error::corrupt(format!("vectors of segment {}", self.segment.0), error)
    }
}

/// The answer so far.
struct Answer {
    tops: Vec<TopK<DocAddress>>,
    num_matched: u64,
    num_scored: u64,
}

impl Answer {
    fn new(num_queries: usize, k: usize) -> Self {
        Self { tops: (0..num_queries).map(|_| TopK::new(k)).collect(), num_matched: 0, num_scored: 0 }
    }

    fn finish(self, compute: String) -> FlatAnswer {
        let hits = self.tops.into_iter().map(TopK::into_sorted_vec).collect();
        FlatAnswer { hits, num_matched: self.num_matched, num_scored: self.num_scored, compute }
    }
}

/// Scores everything on the CPU.
async fn scan<F: File>(
    segments: &[SegmentRows<'_, F>],
    queries: Vec<VectorQuery>,
    k: usize,
    cancel: &Cancel,
) -> Result<Answer> {
    let mut answer = Answer::new(queries.len(), k);
    let mut since_pause = platform::now_millis();
    for segment in segments {
        let mut scan = FlatScan::new(segment.reader, queries.clone(), k);
        let mut rounds = Rounds::plan(segment).await?;
        while let Some(windows) = rounds.read(segment).await? {
            for (window, bytes) in &windows {
                cancel.check()?;
                let fed = scan.feed(window, bytes, segment.accept, rounds.verify);
                fed.map_err(|error| segment.corrupt(error))?;
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
    }
    Ok(answer)
}
