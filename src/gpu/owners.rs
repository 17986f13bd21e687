//! Owners of rows in cell order, read before the rows are.

use std::ops::Range;

use bytes::Bytes;

use crate::{
    error::{Error, ErrorKind, Result},
    ids::DocOrd,
    storage::File,
    vectors::{NumberList, RowWindow, VectorFormatError},
};

use super::search::SegmentRows;

/// Where the streams of owners start in their file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerStreams {
    /// Document of each vector.
    pub docs: u64,
    /// Vectors of each document.
    pub ords: u64,
}

/// From this part of the documents on, one in so many, all owners are read at once.
const DENSE_PART: u64 = 8;

/// Parts of a list that were read.
struct Numbers(Vec<(u32, Vec<u32>)>);

impl Numbers {
    fn get(&self, ix: u32) -> Option<u32> {
        let part = self.0.partition_point(|(first, _)| *first <= ix).checked_sub(1)?;
        let (first, numbers) = &self.0[part];
        numbers.get((ix - first) as usize).copied()
    }
}

impl<F: File> SegmentRows<'_, F> {
    fn owner_streams(&self) -> Result<OwnerStreams> {
        let missing =
            || Error::new(ErrorKind::Corrupt, format!("segment {}: owners of vectors are missing", self.segment.0));
        self.owners.ok_or_else(missing)
    }

    async fn numbers(&self, list: NumberList, stream: u64, ixs: impl Iterator<Item = u32>) -> Result<Numbers> {
        let runs = list.blocks_of(ixs);
        let in_file = |run: &Range<u32>| {
            let bytes = list.block_bytes(run);
            stream + bytes.start..stream + bytes.end
        };
        let found: Vec<Bytes> = self.file.read_ranges(&runs.iter().map(in_file).collect::<Vec<_>>()).await?;
        let mut parts = Vec::with_capacity(runs.len());
        for (run, bytes) in runs.iter().zip(&found) {
            let mut numbers = Vec::new();
            list.decode(run, bytes, &mut numbers).map_err(|error| self.corrupt(error))?;
            parts.push((NumberList::first_ix(run), numbers));
        }
        Ok(Numbers(parts))
    }

    /// Vectors of `docs`, ascending, with their documents; ascending by vector. One read, two where documents have
    /// several vectors.
    ///
    /// # Errors
    /// `corrupt`, and whatever reading brings.
    pub async fn rows_of_docs(&self, docs: impl IntoIterator<Item = u32>) -> Result<Vec<(u32, u32)>> {
        let reader = self.reader;
        let mut rows: Vec<(u32, u32)> = Vec::new();
        if !reader.is_in_cells() {
            docs.into_iter().for_each(|doc| rows.extend(reader.ords_of(DocOrd(doc)).map(|ord| (ord, doc))));
            return Ok(rows);
        }
        let streams = self.owner_streams()?;
        let ranked: Vec<(u32, u32)> =
            docs.into_iter().filter_map(|doc| Some((reader.rank_of(DocOrd(doc))?, doc))).collect();
        let damaged = |list: NumberList| self.corrupt(VectorFormatError::Owners { offset: list.offset });
        let mut places: Vec<(Range<u32>, u32)> = Vec::with_capacity(ranked.len());
        match reader.starts_list() {
            None => places.extend(ranked.iter().map(|&(rank, doc)| (rank..rank + 1, doc))),
            Some(list) => {
                let ends = ranked.iter().flat_map(|&(rank, _)| [rank, rank + 1]);
                let starts = self.numbers(list, streams.ords, ends).await?;
                for &(rank, doc) in &ranked {
                    match (starts.get(rank), starts.get(rank + 1)) {
                        (Some(start), Some(end)) if start < end && end <= reader.count() => {
                            places.push((start..end, doc))
                        }
                        _ => return Err(damaged(list)),
                    }
                }
                if !places.is_sorted_by(|a, b| a.0.end <= b.0.start) {
                    return Err(damaged(list));
                }
            }
        }
        let list = reader.ords_list();
        let ords = self.numbers(list, streams.ords, places.iter().flat_map(|(range, _)| range.clone())).await?;
        for (range, doc) in places {
            for ix in range {
                let ord = ords.get(ix).filter(|&ord| ord < reader.count()).ok_or_else(|| damaged(list))?;
                rows.push((ord, doc));
            }
        }
        rows.sort_unstable();
        if rows.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(damaged(list));
        }
        Ok(rows)
    }

    /// Documents of the vectors `ords`.
    ///
    /// # Errors
    /// `corrupt`, and whatever reading brings.
    pub async fn docs_of(&self, ords: Range<u32>) -> Result<Vec<u32>> {
        let list = self.reader.docs_list();
        let numbers = self.numbers(list, self.owner_streams()?.docs, ords.clone()).await?;
        let max_doc = self.reader.max_doc();
        let docs = ords.map(|ord| numbers.get(ord).filter(|&doc| doc < max_doc));
        docs.collect::<Option<_>>().ok_or_else(|| self.corrupt(VectorFormatError::Owners { offset: list.offset }))
    }

    /// Accepted vectors in cell order with their documents.
    pub(super) async fn accepted_rows(&self) -> Result<Vec<(u32, u32)>> {
        if let Some(accept) = self.accept
            && u64::from(accept.count()) * DENSE_PART < u64::from(self.reader.num_docs())
        {
            return self.rows_of_docs(accept.iter_range(0, self.reader.max_doc())).await;
        }
        let docs = self.docs_of(0..self.reader.count()).await?;
        let rows = (0..).zip(docs);
        Ok(rows.filter(|(_, doc)| self.accept.is_none_or(|accept| accept.contains(*doc))).collect())
    }

    /// Windows with their documents, which are read where rows lie in cell order.
    pub(super) async fn with_docs(&self, mut windows: Vec<RowWindow>) -> Result<Vec<RowWindow>> {
        if self.reader.is_in_cells() {
            let list = self.reader.docs_list();
            let ords = windows.iter().flat_map(|window| window.ords.clone());
            let numbers = self.numbers(list, self.owner_streams()?.docs, ords).await?;
            for window in &mut windows {
                let docs = window.ords.clone().map(|ord| numbers.get(ord)).collect::<Option<Vec<_>>>();
                let damaged = || self.corrupt(VectorFormatError::Owners { offset: list.offset });
                window.docs = Some(docs.ok_or_else(damaged)?);
            }
        }
        Ok(windows)
    }
}
