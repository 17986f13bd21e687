//! An open segment with its metadata parsed: what queries, merges and checks work on.

use std::sync::Arc;

use super::{
    kind::SectionKind,
    reader::{SegmentReader, describe},
    toc::Toc,
    verified::VerifiedFile,
};
use crate::{
    codec::PostingsCodec,
    columns::ColumnMeta,
    docstore::{DocIdsIndex, DocStoreIndex},
    error::{Error, Result},
    graph::{GraphMeta, cells::CellsMeta},
    ids::{FieldOrd, SegmentId},
    storage::{Access, BlockCache, CachedFile, File, IoTrace, ReadProfile},
    terms::TermIndex,
    vectors::VectorsReader,
};

/// Handle of a segment file that searches use: cached, and verified when a block is loaded.
pub type SearchFile<F> = CachedFile<VerifiedFile<F>>;

/// Parsed metadata of one segment, shared by everybody who reads it.
#[derive(Debug, Default)]
pub struct SegmentParts {
    /// By field ordinal.
    fields: Vec<FieldParts>,
    docs: Option<Arc<DocStoreIndex>>,
    doc_ids: Option<Arc<DocIdsIndex>>,
}

/// Parsed metadata of one field.
#[derive(Debug, Default)]
struct FieldParts {
    codec: PostingsCodec,
    terms: Option<Arc<TermIndex>>,
    column: Option<Arc<ColumnMeta>>,
    vectors: Option<Arc<VectorsReader>>,
    cells: Option<Arc<CellsMeta>>,
    graph: Option<Arc<GraphMeta>>,
}

impl FieldParts {
    /// Vectors in cell order come with cells that fit them and with their owners; others without.
    fn check_cells<F: File>(&self, reader: &SegmentReader<F>, field: FieldOrd) -> Result<()> {
        let fits = match (&self.vectors, &self.cells) {
            (None, None) => true,
            (Some(vectors), None) => !vectors.is_in_cells(),
            (Some(vectors), Some(cells)) => {
                let (shape, count) = (cells.shape(), cells.count());
                let owners = vectors.ords_list().bytes().end;
                vectors.is_in_cells()
                    && (shape.dims, shape.metric, count) == (vectors.dims(), vectors.metric(), vectors.count())
                    && reader.section_len(SectionKind::VectorDocs, field) == vectors.docs_list().bytes().end
                    && reader.section_len(SectionKind::VectorOrds, field) == owners
            }
            (None, Some(_)) => false,
        };
        let what = || Error::corrupt(describe(reader.id(), SectionKind::CellsMeta, field), "not of these vectors");
        let graph_fits = match (&self.graph, &self.cells) {
            (None, _) => reader.section_len(SectionKind::Adjacency, field) == 0,
            (Some(graph), Some(cells)) => graph.fits(cells),
            (Some(_), None) => false,
        };
        if fits && graph_fits { Ok(()) } else { Err(what()) }
    }
}

impl SegmentParts {
    fn parse<F: File>(reader: &SegmentReader<F>) -> Result<Self> {
        let mut parts = Self::default();
        // Postings stand in front of pinned sections in the file: their codecs are known when dictionaries come.
        for section in reader.toc().sections.iter().filter(|section| section.kind == SectionKind::Postings) {
            parts.field(section.field).codec = PostingsCodec::from_number(section.codec).unwrap_or_default();
        }
        for (section, bytes) in reader.pinned_sections() {
            let (kind, field) = (section.kind, section.field);
            let name = || describe(reader.id(), kind, field);
            match kind {
                SectionKind::DocsIndex => {
                    let index = DocStoreIndex::parse(bytes).map_err(|error| Error::from(error).at(name()))?;
                    parts.docs = Some(Arc::new(index));
                }
                SectionKind::DocIdsIndex => {
                    let index = DocIdsIndex::parse(bytes).map_err(|error| Error::from(error).at(name()))?;
                    parts.doc_ids = Some(Arc::new(index));
                }
                SectionKind::TermIndex => {
                    let index = TermIndex::parse(bytes).map_err(|error| error.at(name()))?;
                    let part = parts.field(field);
                    part.terms = Some(Arc::new(index.with_codec(part.codec)));
                }
                SectionKind::ColumnMeta => {
                    let meta = ColumnMeta::parse(bytes).map_err(|error| Error::from(error).at(name()))?;
                    parts.field(field).column = Some(Arc::new(meta));
                }
                SectionKind::VectorsMeta => {
                    let rows_len = reader.section_len(SectionKind::Vectors, field);
                    let vectors = VectorsReader::parse(bytes, rows_len).map_err(|e| Error::corrupt(name(), e))?;
                    parts.field(field).vectors = Some(Arc::new(vectors));
                }
                SectionKind::CellsMeta => {
                    let len = |kind| reader.section_len(kind, field);
                    let (centers, codes) = (len(SectionKind::CellCenters), len(SectionKind::CellCodes));
                    let cells = CellsMeta::parse(bytes, centers, codes).map_err(|error| error.at(name()))?;
                    parts.field(field).cells = Some(Arc::new(cells));
                }
                SectionKind::GraphMeta => {
                    let len = reader.section_len(SectionKind::Adjacency, field);
                    let graph = GraphMeta::parse(bytes, len).map_err(|error| error.at(name()))?;
                    parts.field(field).graph = Some(Arc::new(graph));
                }
                _ => {}
            }
        }
        for (ix, field) in parts.fields.iter().enumerate() {
            field.check_cells(reader, FieldOrd(ix as u16))?;
        }
        Ok(parts)
    }

    fn field(&mut self, field: FieldOrd) -> &mut FieldParts {
        let ix = usize::from(field.0);
        if self.fields.len() <= ix {
            self.fields.resize_with(ix + 1, FieldParts::default);
        }
        &mut self.fields[ix]
    }
}

/// An open segment. Clones share everything.
#[derive(Debug, Clone)]
pub struct OpenSegment<F: File> {
    reader: SegmentReader<F>,
    parts: Arc<SegmentParts>,
    profile: ReadProfile,
}

impl<F: File> OpenSegment<SearchFile<F>> {
    /// Opens a segment for searching: one read brings and verifies its metadata.
    ///
    /// # Errors
    /// `corrupt`, `unsupported_format`, storage's own.
    pub async fn open(file: F, toc: Toc, cache: &BlockCache, profile: &ReadProfile) -> Result<Self> {
        let reader = SegmentReader::open(file, toc).await?;
        let parts = Arc::new(SegmentParts::parse(&reader)?);
        // Codes and rows of vectors are scattered, and each unit of them has its own checksum: nothing around it is needed.
        let vectors = reader.toc().sections.iter().filter(|section| section.kind == SectionKind::Vectors);
        let (name, fine_from) =
            (reader.id().file_name(), vectors.map(|section| section.offset).min().unwrap_or(u64::MAX));
        let cached = cache.wrap_fine(reader.file().clone(), &name, Access::SEARCH, profile, fine_from);
        Ok(Self { reader: reader.with_file(cached), parts, profile: *profile })
    }

    /// The same segment with counters of one query.
    #[must_use]
    pub fn traced(&self, trace: &Arc<IoTrace>) -> Self {
        let file = self.reader.file().traced(Arc::clone(trace));
        Self { reader: self.reader.with_file(file), ..self.clone() }
    }
}

impl<F: File> OpenSegment<VerifiedFile<F>> {
    /// Opens a segment past the cache, for a verification.
    ///
    /// # Errors
    /// As for [`OpenSegment::open`].
    pub async fn open_raw(file: F, toc: Toc) -> Result<Self> {
        let reader = SegmentReader::open(file, toc).await?;
        let parts = Arc::new(SegmentParts::parse(&reader)?);
        Ok(Self { reader, parts, profile: ReadProfile::MEMORY })
    }
}

impl<F: File> OpenSegment<F> {
    /// The same segment through a raw handle, past the cache: for a merge or a verification.
    pub fn with_raw<G: File>(&self, file: G) -> OpenSegment<VerifiedFile<G>> {
        OpenSegment { reader: self.reader.with_raw(file), parts: Arc::clone(&self.parts), profile: self.profile }
    }

    /// Reads ranges of its sections.
    pub fn reader(&self) -> &SegmentReader<F> {
        &self.reader
    }

    /// What its storage likes to be asked for, where it was opened for searching.
    pub fn profile(&self) -> &ReadProfile {
        &self.profile
    }

    /// Name of the segment.
    pub fn id(&self) -> SegmentId {
        self.reader.id()
    }

    /// Documents, deleted ones included.
    pub fn max_doc(&self) -> u32 {
        self.reader.max_doc()
    }

    /// Where stored documents are; every segment has them.
    pub fn docs(&self) -> Option<&Arc<DocStoreIndex>> {
        self.parts.docs.as_ref()
    }

    /// Where their ids alone are; `None` if the segment was written before there was such a section.
    pub fn doc_ids(&self) -> Option<&Arc<DocIdsIndex>> {
        self.parts.doc_ids.as_ref()
    }

    /// Term dictionary of a text, keyword or id field; `None` if the segment is older than the field.
    pub fn terms(&self, field: FieldOrd) -> Option<&Arc<TermIndex>> {
        self.parts.fields.get(usize::from(field.0))?.terms.as_ref()
    }

    /// Column of a field; `None` if the segment is older than the field.
    pub fn column(&self, field: FieldOrd) -> Option<&Arc<ColumnMeta>> {
        self.parts.fields.get(usize::from(field.0))?.column.as_ref()
    }

    /// Vectors of a field; `None` if the segment is older than the field.
    pub fn vectors(&self, field: FieldOrd) -> Option<&Arc<VectorsReader>> {
        self.parts.fields.get(usize::from(field.0))?.vectors.as_ref()
    }

    /// Cells of a vector field; `None` if its rows lie in document order.
    pub fn cells(&self, field: FieldOrd) -> Option<&Arc<CellsMeta>> {
        self.parts.fields.get(usize::from(field.0))?.cells.as_ref()
    }

    /// The graph over those cells; `None` if the field had none when the segment was written.
    pub fn graph(&self, field: FieldOrd) -> Option<&Arc<GraphMeta>> {
        self.parts.fields.get(usize::from(field.0))?.graph.as_ref()
    }
}
