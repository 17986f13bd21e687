//! Exact search: every accepted vector is scored.

use crate::{
    bitset::BitSet,
    distance,
    ids::DocOrd,
    schema::Metric,
    topk::{Scored, TopK},
};

use super::{
    best::BestDocs,
    error::VectorFormatError,
    plan::{NO_DOC, RowWindow},
    query::{BATCH_ROWS, VectorQuery},
    reader::VectorsReader,
    row::{Decoded, VectorOrd, Verify, WindowRows},
};

/// Scores windows of rows as they come and keeps the best documents of each query.
///
/// Windows arrive in the order of [`VectorsReader::windows`], all of them. A document with several vectors
/// counts once, with its best one. Several queries share each read: a row is fetched, checked and loaded once.
#[derive(Debug)]
pub struct FlatScan<'r> {
    reader: &'r VectorsReader,
    queries: Vec<VectorQuery>,
    tops: Vec<TopK<DocOrd>>,
    /// Document whose vectors are being read, and its best score so far per query.
    open: Option<DocOrd>,
    best: Vec<f32>,
    /// Where vectors of a document do not follow each other: the best documents per query, instead of `tops`, and
    /// those seen.
    scattered: Vec<BestDocs>,
    seen: BitSet,
    num_matched: u64,
    num_scored: u64,
}

impl<'r> FlatScan<'r> {
    /// A scan that keeps the best `k` documents per query.
    ///
    /// # Panics
    /// If a query was made for another dimension or metric.
    pub fn new(reader: &'r VectorsReader, queries: Vec<VectorQuery>, k: usize) -> Self {
        for query in &queries {
            assert!(query.options().has_rows_of(reader.options()), "{:?} {:?}", query.options(), reader.options());
        }
        let tops = queries.iter().map(|_| TopK::new(k)).collect();
        let best = vec![f32::NEG_INFINITY; queries.len()];
        let is_scattered = reader.is_in_cells() && !reader.is_single_valued();
        let scattered = queries.iter().filter(|_| is_scattered).map(|_| BestDocs::new(k)).collect();
        let seen = BitSet::new(if is_scattered { reader.max_doc() } else { 0 });
        Self { reader, queries, tops, open: None, best, scattered, seen, num_matched: 0, num_scored: 0 }
    }

    /// Scores the vectors of `window` whose documents are in `accept` (all without one).
    ///
    /// # Errors
    /// If an accepted row does not match its checksum; the scan is of no further use then.
    ///
    /// # Panics
    /// If `bytes` are not those of `window`.
    pub fn feed(
        &mut self,
        window: &RowWindow,
        bytes: &[u8],
        accept: Option<&BitSet>,
        verify: Verify,
    ) -> Result<(), VectorFormatError> {
        let rows = WindowRows::new(window, bytes, self.reader.stride_bytes());
        let mut batch = Batch::default();
        for ord in window.ords.clone() {
            let doc = self.reader.doc_in(window, VectorOrd(ord));
            if doc.0 == NO_DOC || accept.is_some_and(|accept| !accept.contains(doc.0)) {
                continue;
            }
            batch.rows.push(self.reader.components(&rows, ord, verify)?);
            batch.docs.push(doc);
            if batch.rows.len() == BATCH_ROWS {
                self.score(&mut batch);
            }
        }
        self.score(&mut batch);
        Ok(())
    }

    /// Scores a batch for all queries, hands its documents to the heaps and empties it.
    fn score(&mut self, batch: &mut Batch<'_>) {
        let num_rows = batch.rows.len();
        if num_rows == 0 {
            return;
        }
        batch.scores.resize(self.queries.len() * num_rows, 0.0);
        self.num_scored += num_rows as u64;
        match self.queries.as_slice() {
            [query] => query.score_rows(&batch.rows, &mut batch.scores),
            queries => score_block(queries, batch),
        }
        if self.reader.is_single_valued() {
            self.num_matched += num_rows as u64;
            for (top, scores) in self.tops.iter_mut().zip(batch.scores.chunks_exact(num_rows)) {
                for (&score, &doc) in scores.iter().zip(&batch.docs) {
                    // Documents ascend, except in cells: one that only equals the worst kept score cannot
                    // displace it.
                    if score >= top.threshold() || !top.is_full() {
                        top.push(score, doc);
                    }
                }
            }
        } else if !self.scattered.is_empty() {
            for &doc in &batch.docs {
                self.num_matched += u64::from(self.seen.insert(doc.0));
            }
            for (best, scores) in self.scattered.iter_mut().zip(batch.scores.chunks_exact(num_rows)) {
                scores.iter().zip(&batch.docs).for_each(|(&score, &doc)| best.push(score, doc));
            }
        } else {
            for (row_ix, &doc) in batch.docs.iter().enumerate() {
                if self.open != Some(doc) {
                    self.close();
                    self.open = Some(doc);
                }
                for (query_ix, best) in self.best.iter_mut().enumerate() {
                    *best = best.max(batch.scores[query_ix * num_rows + row_ix]);
                }
            }
        }
        batch.rows.clear();
        batch.docs.clear();
    }

    /// Hands the document whose vectors were all read to the heaps.
    fn close(&mut self) {
        let Some(doc) = self.open.take() else { return };
        self.num_matched += 1;
        for (top, best) in self.tops.iter_mut().zip(&mut self.best) {
            top.push(std::mem::replace(best, f32::NEG_INFINITY), doc);
        }
    }

    /// Documents scored so far: those accepted that have a vector.
    pub fn num_matched(&self) -> u64 {
        self.num_matched + u64::from(self.open.is_some())
    }

    /// Vectors scored so far, each once however many queries there are.
    pub fn num_scored(&self) -> u64 {
        self.num_scored
    }

    /// The best documents of each query, best first, ties by ascending document.
    pub fn finish(mut self) -> Vec<Vec<Scored<DocOrd>>> {
        self.close();
        if !self.scattered.is_empty() {
            return self.scattered.into_iter().map(BestDocs::into_sorted_vec).collect();
        }
        self.tops.into_iter().map(TopK::into_sorted_vec).collect()
    }
}

/// Accepted rows on their way through the kernels.
#[derive(Default)]
struct Batch<'a> {
    rows: Vec<&'a [u8]>,
    docs: Vec<DocOrd>,
    /// `[queries x rows]`
    scores: Vec<f32>,
}

fn score_block(queries: &[VectorQuery], batch: &mut Batch<'_>) {
    let Some(first) = queries.first() else { return };
    let vectors: Vec<&[f32]> = queries.iter().map(VectorQuery::vector).collect();
    let mut norms = [0.0; BATCH_ROWS];
    let norms = &mut norms[..batch.rows.len()];
    let mut decoded = Decoded::default();
    let rows = decoded.rows(first.options(), &batch.rows);
    match first.metric() {
        Metric::L2 => distance::squared_l2s_block(&vectors, &rows, &mut batch.scores),
        Metric::Dot => distance::dots_block(&vectors, &rows, &mut batch.scores),
        Metric::Cosine => {
            distance::norms(first.vector().len(), &rows, norms);
            distance::dots_block(&vectors, &rows, &mut batch.scores);
        }
    }
    for (query, scores) in queries.iter().zip(batch.scores.chunks_exact_mut(batch.rows.len())) {
        query.finish(&rows, norms, scores);
    }
}
