//! The vectors of the sources of a merge, read front to back, more than once, with the documents they will belong to.

use std::{collections::VecDeque, sync::Arc};

use super::driver::Merge;
use crate::{
    error::{Error, Result},
    ids::FieldOrd,
    quant::pq::PqModel,
    segment::{RowSource, SectionKind},
    storage::{File, Storage},
    vectors::{ResidentRows, RowWindow, VectorOrd, VectorsReader, Verify, WindowOptions},
};

/// Rows of a sample that are read together.
const SAMPLE_RUN: u32 = 4;
/// Windows read at a time.
const MAX_WINDOWS: usize = 256;

/// Live rows of all sources, source after source.
pub(super) struct MergeRows<'m, 'a, S: Storage, F: File> {
    merge: &'m mut Merge<'a, S, F>,
    field: FieldOrd,
    readers: Vec<Option<Arc<VectorsReader>>>,
    count: u64,
    part: u32,
    source: usize,
    is_planned: bool,
    windows: VecDeque<RowWindow>,
}

impl<'m, 'a, S: Storage, F: File> MergeRows<'m, 'a, S, F> {
    pub(super) fn new(
        merge: &'m mut Merge<'a, S, F>,
        field: FieldOrd,
        readers: Vec<Option<Arc<VectorsReader>>>,
    ) -> Self {
        let live = merge.sources.iter().map(|source| source.live.as_deref());
        let counts = readers.iter().zip(live).map(|(reader, live)| match (reader, live) {
            (Some(reader), Some(live)) => reader.count_accepted(live).1,
            (Some(reader), None) => reader.count().into(),
            (None, _) => 0,
        });
        let count = counts.sum();
        Self { merge, field, readers, count, part: 1, source: 0, is_planned: false, windows: VecDeque::new() }
    }

    /// Moves on to the next source that has something to read; `None` at the end.
    async fn plan(&mut self) -> Result<Option<Arc<VectorsReader>>> {
        loop {
            let Some(reader) = self.readers.get(self.source).cloned() else { return Ok(None) };
            if let Some(reader) = reader {
                if !self.is_planned {
                    self.windows = self.windows_of(&reader).await?;
                    self.is_planned = true;
                }
                if !self.windows.is_empty() {
                    return Ok(Some(reader));
                }
            }
            self.source += 1;
            self.is_planned = false;
        }
    }

    async fn windows_of(&mut self, reader: &VectorsReader) -> Result<VecDeque<RowWindow>> {
        let docs = if reader.is_in_cells() { Some(self.docs_of(reader).await?) } else { None };
        let live = self.merge.sources[self.source].live.clone();
        let options = WindowOptions { window_bytes: self.merge.window_bytes, ..WindowOptions::default() };
        let run = SAMPLE_RUN.saturating_mul(self.part);
        if self.part > 1
            && let Some(docs) = docs.as_ref().filter(|_| reader.has_shared_rows())
        {
            let sampled = (0..).zip(docs.iter().copied()).filter(|(ord, _)| ord % run < SAMPLE_RUN);
            return Ok(reader.windows_of(&sampled.collect::<Vec<_>>(), &options).into());
        }
        if self.part > 1 {
            let starts = (0..reader.count()).step_by(run as usize);
            let windows = starts.map(|start| {
                let mut window = reader.window(start..reader.count().min(start.saturating_add(SAMPLE_RUN)));
                let (start, end) = (window.ords.start as usize, window.ords.end as usize);
                window.docs = docs.as_ref().map(|docs| docs[start..end].to_vec());
                window
            });
            return Ok(windows.collect());
        }
        let windows = match docs {
            Some(docs) => {
                let is_live = |doc: u32| live.as_ref().is_none_or(|live| live.contains(doc));
                let rows: Vec<(u32, u32)> = (0..).zip(docs).filter(|(_, doc)| is_live(*doc)).collect();
                reader.windows_of(&rows, &options)
            }
            None => reader.windows(live.as_deref(), &options),
        };
        Ok(windows.into())
    }

    /// Documents of all vectors of the current source, whose rows lie in cell order.
    async fn docs_of(&mut self, reader: &VectorsReader) -> Result<Vec<u32>> {
        let list = reader.docs_list();
        let bytes = self.merge.read(SectionKind::VectorDocs, self.field, &[(self.source, list.bytes())]).await?;
        let mut docs = Vec::with_capacity(reader.count() as usize);
        let corrupt = |what: String| Error::corrupt(format!("documents of vectors of field {}", self.field.0), what);
        for (blocks, bytes) in list.blocks_of(0..reader.count()).iter().zip(&bytes) {
            list.decode(blocks, bytes, &mut docs).map_err(|error| corrupt(error.to_string()))?;
        }
        match docs.iter().find(|doc| **doc >= reader.max_doc()) {
            Some(doc) => Err(corrupt(format!("document {doc} of {}", reader.max_doc()))),
            None if docs.len() != reader.count() as usize => Err(corrupt(format!("{} owners", docs.len()))),
            None => Ok(docs),
        }
    }
}

impl<S: Storage, F: File> RowSource for MergeRows<'_, '_, S, F> {
    fn count(&self) -> u64 {
        self.count
    }

    fn restart(&mut self, part: u32) {
        (self.part, self.source, self.is_planned) = (part.max(1), 0, false);
        self.windows.clear();
    }

    async fn next(&mut self, rows: &mut Vec<u8>, docs: &mut Vec<u32>) -> Result<bool> {
        let Some(reader) = self.plan().await? else { return Ok(false) };
        let (mut windows, mut bytes) = (Vec::new(), 0);
        while let Some(window) = self.windows.front() {
            bytes += window.bytes.end - window.bytes.start;
            if !windows.is_empty() && (bytes > self.merge.window_bytes || windows.len() == MAX_WINDOWS) {
                break;
            }
            windows.extend(self.windows.pop_front());
        }
        let wants: Vec<_> = windows.iter().map(|window| (self.source, window.bytes.clone())).collect();
        let found = self.merge.read(SectionKind::Vectors, self.field, &wants).await?;
        let stride = reader.stride_bytes();
        for (window, bytes) in windows.iter().zip(&found) {
            for (ord, row) in window.ords.clone().zip(bytes.chunks_exact(stride)) {
                let doc = reader.doc_in(window, VectorOrd(ord));
                let Some(doc) = (doc.0 < reader.max_doc()).then(|| self.merge.docs.get(self.source, doc)).flatten()
                else {
                    continue;
                };
                let name = |error| Error::corrupt(format!("vectors of field {}", self.field.0), error);
                reader.row(window, bytes, VectorOrd(ord), Verify::All).map_err(name)?;
                rows.extend_from_slice(row);
                docs.push(doc.0);
            }
        }
        Ok(true)
    }

    async fn turn(&mut self) -> Result<()> {
        self.merge.pace.turn().await
    }

    fn account(&mut self, bytes: usize) {
        self.merge.account(bytes);
    }

    /// That of the largest source.
    fn product_quantizer(&self) -> Option<&PqModel> {
        let cells = self.merge.sources.iter().filter_map(|source| source.segment.cells(self.field));
        cells.max_by_key(|cells| cells.count()).and_then(|cells| cells.product_quantizer())
    }

    fn resident(&self) -> Option<&ResidentRows> {
        None
    }
}
