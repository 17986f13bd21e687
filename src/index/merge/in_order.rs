//! Structures of one segment, rewritten in another order of its documents.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use super::driver::{Merge, end_stored};
use crate::{
    bitset::DocOrder,
    columns::{ColumnKind, ColumnReorderer},
    docstore::DocStoreReorderer,
    error::{Error, ErrorKind, Result},
    ids::FieldOrd,
    segment::{SectionKind, SegmentFileWriter, Spill},
    storage::{File, Storage},
    vectors::{VectorsReader, VectorsReorderer},
};

/// The only source of a rewrite.
const SOURCE: usize = 0;

impl<S: Storage, F: File> Merge<'_, S, F> {
    async fn read_one(&mut self, kind: SectionKind, field: FieldOrd, range: Range<u64>) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        Ok(self.read(kind, field, &[(SOURCE, range)]).await?.remove(0))
    }

    pub(super) async fn column_in_order(
        &mut self,
        out: &mut SegmentFileWriter<S::Writer>,
        field: FieldOrd,
        kind: ColumnKind,
        order: Arc<DocOrder>,
    ) -> Result<()> {
        // A segment that is older than the field got an empty column when it was merged.
        let column = self.sources[SOURCE].segment.column(field).cloned();
        let Some(column) = column.filter(|column| column.kind() == kind) else {
            return Err(Error::new(ErrorKind::Corrupt, format!("field {}: no {kind:?} column to reorder", field.0)));
        };
        let mut reorderer = ColumnReorderer::new(column, order)?;
        let mut data = Vec::new();
        out.begin(SectionKind::Column, field);
        while !reorderer.is_done() {
            let bytes = self.read_one(SectionKind::Column, field, reorderer.wanted()).await?;
            reorderer.feed(&bytes, &mut data)?;
            self.account(reorderer.memory_bytes() + bytes.len() + data.capacity() + out.memory_bytes());
            out.append(&mut data).await?;
        }
        let meta = reorderer.finish()?;
        out.end();
        out.pin(SectionKind::ColumnMeta, field, meta);
        Ok(())
    }

    pub(super) async fn stored_in_order(
        &mut self,
        out: &mut SegmentFileWriter<S::Writer>,
        order: Arc<DocOrder>,
        mut spilled_ids: Spill<S>,
    ) -> Result<()> {
        let segment = &self.sources[SOURCE].segment;
        let missing = || Error::new(ErrorKind::Corrupt, format!("segment {} has no document index", segment.id()));
        let index = segment.docs().cloned().ok_or_else(missing)?;
        let budget = usize::try_from(self.spare_bytes).unwrap_or(usize::MAX);
        let mut reorderer = DocStoreReorderer::new(index, order, budget)?;
        let (mut data, mut ids) = (Vec::new(), Vec::new());
        out.begin(SectionKind::Docs, FieldOrd(0));
        while let Some(wanted) = reorderer.wanted() {
            let bytes = self.read_one(SectionKind::Docs, FieldOrd(0), wanted).await?;
            reorderer.feed(&bytes, &mut data)?;
            let set_aside = spilled_ids.memory_bytes() + ids.capacity();
            self.account(reorderer.memory_bytes() + bytes.len() + data.capacity() + set_aside + out.memory_bytes());
            out.append(&mut data).await?;
            reorderer.take_ids(&mut ids);
            spilled_ids.append(&mut ids).await?;
        }
        let parts = reorderer.finish(&mut data)?;
        out.append(&mut data).await?;
        out.end();
        end_stored(out, parts, spilled_ids).await
    }

    pub(super) async fn vectors_in_order(
        &mut self,
        out: &mut SegmentFileWriter<S::Writer>,
        field: FieldOrd,
        source: Arc<VectorsReader>,
        order: Arc<DocOrder>,
    ) -> Result<()> {
        let name = |error| Error::corrupt(format!("vectors of field {}", field.0), error);
        let mut reorderer = VectorsReorderer::new(source, order, self.spare_bytes, self.window_bytes);
        let mut rows = Vec::new();
        out.begin(SectionKind::Vectors, field);
        while let Some(wanted) = reorderer.wanted() {
            let bytes = self.read_one(SectionKind::Vectors, field, wanted).await?;
            reorderer.feed(&bytes, &mut rows).map_err(name)?;
            self.account(reorderer.memory_bytes() + bytes.len() + rows.capacity() + out.memory_bytes());
            out.append(&mut rows).await?;
        }
        out.end();
        let mut meta = Vec::new();
        reorderer.finish(&mut meta);
        out.pin(SectionKind::VectorsMeta, field, meta);
        Ok(())
    }
}
