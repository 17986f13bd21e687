//! Documents to one segment: every structure is filled in memory, then written front to back.

use std::collections::HashMap;

use super::{
    arrange::{BufferedRows, MIN_CELL_VECTORS, VectorField, flush_bytes, write_vectors},
    kind::SectionKind,
    spill::Spills,
    toc::Toc,
    writer::SegmentFileWriter,
};
use crate::{
    analysis::{Analyzer, AnalyzerSpec},
    bitset::BitSet,
    codec::PostingsCodec,
    columns::{ColumnBuilder, ColumnKind},
    docstore::DocStoreWriter,
    error::{Error, ErrorKind, Result},
    ids::{DocId, DocOrd, FieldOrd, SegmentId},
    postings::Inverter,
    schema::{Document, FieldKind, FieldValue, Schema, VectorOptions},
    storage::Storage,
    terms::FieldOptions,
    topk::order,
    vectors::VectorsWriter,
};

/// Finished blocks of stored documents lie in pieces of about this many bytes: nothing large is ever moved.
const PIECE_LEN: usize = 256 << 10;
/// Memory of one entry of the id map beside the term itself: key, ordinal, table overhead.
const ID_ENTRY_LEN: usize = 48;
/// Streams set aside while a segment is written from memory: the same bytes were in memory a moment ago.
const SPILL_MEMORY_LEN: usize = 4 << 20;

/// What one field collects.
#[derive(Debug)]
enum FieldBuilder {
    /// The id field is inverted at the end, when it is known which documents were replaced.
    Id,
    Text(Inverter, Analyzer),
    Keyword(Inverter, ColumnBuilder),
    Column(ColumnBuilder),
    Vectors(VectorOptions, VectorsWriter),
    Json,
}

/// A segment being filled. Ids are unique among its live documents: adding one again deletes the earlier document.
#[derive(Debug)]
pub struct SegmentBuilder {
    fields: Vec<FieldBuilder>,
    docs: DocStoreWriter,
    pieces: Vec<Vec<u8>>,
    /// Id terms of live documents.
    ids: HashMap<Box<[u8]>, DocOrd>,
    id_bytes: usize,
    max_doc: u32,
    codec: PostingsCodec,
}

/// A written segment.
#[derive(Debug)]
pub struct Built {
    /// Its table of contents.
    pub toc: Toc,
    /// Live documents, if some were replaced or deleted before they were written.
    pub live: Option<BitSet>,
}

impl SegmentBuilder {
    /// An empty segment whose postings `codec` will encode.
    ///
    /// # Errors
    /// `invalid_argument` if the schema names an analyzer that is not there.
    pub fn new(schema: &Schema, codec: PostingsCodec) -> Result<Self> {
        let fields = schema.fields().map(|(_, field)| {
            Ok(match &field.kind {
                FieldKind::Id => FieldBuilder::Id,
                FieldKind::Text(options) => {
                    let keeps = FieldOptions { freqs: true, positions: options.positions, codec };
                    FieldBuilder::Text(Inverter::new(keeps), find_analyzer(&field.name, &options.analyzer)?)
                }
                FieldKind::Keyword => {
                    let inverter = Inverter::new(FieldOptions::KEYWORD.with_codec(codec));
                    FieldBuilder::Keyword(inverter, ColumnBuilder::new(ColumnKind::Keyword))
                }
                FieldKind::Number => FieldBuilder::Column(ColumnBuilder::new(ColumnKind::Number)),
                FieldKind::Integer => FieldBuilder::Column(ColumnBuilder::new(ColumnKind::Integer)),
                FieldKind::Bool => FieldBuilder::Column(ColumnBuilder::new(ColumnKind::Bool)),
                FieldKind::Date => FieldBuilder::Column(ColumnBuilder::new(ColumnKind::Date)),
                FieldKind::Vector(options) => {
                    FieldBuilder::Vectors(options.clone(), VectorsWriter::new(options.clone()))
                }
                FieldKind::Json => FieldBuilder::Json,
            })
        });
        Ok(Self {
            fields: fields.collect::<Result<_>>()?,
            docs: DocStoreWriter::new(),
            pieces: Vec::new(),
            ids: HashMap::new(),
            id_bytes: 0,
            max_doc: 0,
            codec,
        })
    }

    /// Documents added, replaced and deleted ones included.
    pub fn max_doc(&self) -> u32 {
        self.max_doc
    }

    /// Live documents.
    pub fn num_docs(&self) -> u32 {
        self.ids.len() as u32
    }

    /// Id terms of live documents, in no order.
    pub fn id_terms(&self) -> impl Iterator<Item = &[u8]> {
        self.ids.keys().map(|term| &**term)
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        let fields = self.fields.iter().map(|field| match field {
            FieldBuilder::Text(inverter, _) => inverter.memory_bytes(),
            FieldBuilder::Keyword(inverter, column) => inverter.memory_bytes() + column.memory_bytes(),
            FieldBuilder::Column(column) => column.memory_bytes(),
            // What arranging them will take is reserved from the start.
            FieldBuilder::Vectors(options, vectors) => {
                vectors.memory_bytes() + flush_bytes(options, vectors.count().into()) as usize
            }
            FieldBuilder::Id | FieldBuilder::Json => 0,
        });
        let pieces = self.pieces.iter().map(Vec::capacity);
        fields.chain(pieces).sum::<usize>() + self.docs.memory_bytes() + self.id_bytes + self.ids.len() * ID_ENTRY_LEN
    }

    /// Adds a document that was checked against the schema.
    ///
    /// # Errors
    /// If a limit of the format is passed: the builder is of no further use then.
    pub fn add(&mut self, document: &Document) -> Result<()> {
        let doc = DocOrd(self.max_doc);
        for (field, value) in &document.fields {
            let Some(builder) = self.fields.get_mut(usize::from(field.0)) else { continue };
            match (builder, value) {
                (FieldBuilder::Text(inverter, analyzer), FieldValue::Text(texts)) => {
                    inverter.add_text(doc, analyzer, texts)?;
                }
                (FieldBuilder::Text(inverter, _), FieldValue::Tokens(values)) => inverter.add_tokens(doc, values)?,
                (FieldBuilder::Keyword(inverter, column), FieldValue::Keyword(words)) => {
                    for word in words {
                        inverter.add_term(doc, word.as_bytes())?;
                    }
                    column.push(doc, value);
                }
                (FieldBuilder::Column(column), value) => column.push(doc, value),
                (FieldBuilder::Vectors(_, vectors), FieldValue::Vector(rows)) => vectors
                    .add(doc, rows)
                    .map_err(|e| Error::with_source(ErrorKind::InvalidDocument, format!("field {}", field.0), e))?,
                _ => {}
            }
        }
        let term = document.id.to_term();
        if self.pieces.last().is_none_or(|piece| piece.len() >= PIECE_LEN) {
            self.pieces.push(Vec::with_capacity(PIECE_LEN + PIECE_LEN / 4));
        }
        let piece = self.pieces.last_mut().expect("one was pushed if there was none");
        self.docs.push(&term, &document.stored, piece);
        self.max_doc += 1;
        let term_len = term.len();
        if self.ids.insert(term.into_boxed_slice(), doc).is_none() {
            self.id_bytes += term_len;
        }
        Ok(())
    }

    /// Deletes a document; returns whether it was there.
    pub fn delete(&mut self, id: &DocId) -> bool {
        let term = id.to_term();
        let was_there = self.ids.remove(term.as_slice()).is_some();
        if was_there {
            self.id_bytes -= term.len();
        }
        was_there
    }

    /// Writes the segment file. On an error the file is incomplete and the caller deletes it.
    ///
    /// # Errors
    /// Storage's own.
    pub async fn write<S: Storage>(self, storage: &S, id: SegmentId) -> Result<Built> {
        let max_doc = self.max_doc;
        let mut docs: Vec<(DocOrd, Box<[u8]>)> = self.ids.into_iter().map(|(term, doc)| (doc, term)).collect();
        order::by_key(&mut docs, |(doc, _)| doc.0.into());
        let live = (docs.len() < max_doc as usize).then(|| {
            let mut live = BitSet::new(max_doc);
            for (doc, _) in &docs {
                live.insert(doc.0);
            }
            live
        });
        let mut inverted_ids = Inverter::new(FieldOptions::KEYWORD.with_codec(self.codec));
        for (doc, term) in docs {
            inverted_ids.add_term(doc, &term)?;
        }
        let file = SegmentFileWriter::create(storage, id).await?;
        let mut out = FieldsWriter { file, storage, id, max_doc, codec: self.codec, spills: Vec::new() };
        out.postings(FieldOrd(0), inverted_ids).await?;
        let mut vectors = Vec::new();
        for (ix, field) in self.fields.into_iter().enumerate() {
            let field_ord = FieldOrd(ix as u16);
            match field {
                FieldBuilder::Text(inverter, _) => out.postings(field_ord, inverter).await?,
                FieldBuilder::Keyword(inverter, column) => {
                    out.postings(field_ord, inverter).await?;
                    out.column(field_ord, column).await?;
                }
                FieldBuilder::Column(column) => out.column(field_ord, column).await?,
                FieldBuilder::Vectors(options, writer) => vectors.push((field_ord, options, writer)),
                FieldBuilder::Id | FieldBuilder::Json => {}
            }
        }
        out.docs(self.docs, self.pieces).await?;
        for (field, options, writer) in vectors {
            out.vectors(field, &options, writer).await?;
        }
        Ok(Built { toc: out.file.finish(max_doc).await?, live })
    }
}

/// The analyzer a schema names.
///
/// # Errors
/// `invalid_argument` if it is a name that is neither built in nor given when the index was opened.
pub fn find_analyzer(field: &str, spec: &AnalyzerSpec) -> Result<Analyzer> {
    spec.analyzer().map_err(|error| Error::invalid(format!("field {field:?}: {error}")))
}

struct FieldsWriter<'a, S: Storage> {
    file: SegmentFileWriter<S::Writer>,
    storage: &'a S,
    id: SegmentId,
    max_doc: u32,
    codec: PostingsCodec,
    spills: Vec<String>,
}

impl<S: Storage> FieldsWriter<'_, S> {
    async fn postings(&mut self, field: FieldOrd, inverter: Inverter) -> Result<()> {
        let mut spills = Spills { storage: self.storage, id: self.id, names: &mut self.spills };
        let mut spill = spills.spill(SPILL_MEMORY_LEN);
        let (mut terms, mut postings) = (Vec::new(), Vec::new());
        let mut inverted = inverter.finish(self.max_doc);
        self.file.begin_postings(field, self.codec);
        while inverted.step(&mut terms, &mut postings)? {
            self.file.append(&mut postings).await?;
            spill.append(&mut terms).await?;
        }
        let parts = inverted.finish(&mut terms);
        self.file.append(&mut postings).await?;
        spill.append(&mut terms).await?;
        self.file.end();
        self.file.begin(SectionKind::Terms, field);
        spill.drain_into(&mut self.file).await?;
        self.file.end();
        self.file.pin(SectionKind::TermIndex, field, parts.term_index);
        if let Some(mut norms) = parts.norms {
            self.file.begin(SectionKind::Norms, field);
            self.file.append(&mut norms).await?;
            self.file.end();
        }
        Ok(())
    }

    async fn column(&mut self, field: FieldOrd, column: ColumnBuilder) -> Result<()> {
        let mut data = Vec::new();
        let meta = column.finish(self.max_doc, &mut data)?;
        self.file.begin(SectionKind::Column, field);
        self.file.append(&mut data).await?;
        self.file.end();
        self.file.pin(SectionKind::ColumnMeta, field, meta);
        Ok(())
    }

    async fn docs(&mut self, docs: DocStoreWriter, pieces: Vec<Vec<u8>>) -> Result<()> {
        self.file.begin(SectionKind::Docs, FieldOrd(0));
        for mut piece in pieces {
            self.file.append(&mut piece).await?;
        }
        let mut last = Vec::new();
        let mut parts = docs.finish(&mut last);
        self.file.append(&mut last).await?;
        self.file.end();
        self.file.pin(SectionKind::DocsIndex, FieldOrd(0), parts.index);
        self.file.begin(SectionKind::DocIds, FieldOrd(0));
        self.file.append(&mut parts.ids).await?;
        self.file.end();
        self.file.pin(SectionKind::DocIdsIndex, FieldOrd(0), parts.ids_index);
        Ok(())
    }

    async fn vectors(&mut self, field: FieldOrd, options: &VectorOptions, writer: VectorsWriter) -> Result<()> {
        let count = u64::from(writer.count());
        if count >= MIN_CELL_VECTORS {
            let memory_bytes = flush_bytes(options, count);
            let spec = VectorField { field, options, max_doc: self.max_doc, memory_bytes };
            let mut spills = Spills { storage: self.storage, id: self.id, names: &mut self.spills };
            let mut rows = BufferedRows::new(writer.into_resident());
            return write_vectors(&mut self.file, &mut spills, spec, &mut rows).await;
        }
        let mut meta = Vec::new();
        let mut chunks = writer.finish(self.max_doc, &mut meta);
        self.file.begin(SectionKind::Vectors, field);
        let mut rows = Vec::new();
        while chunks.append_next(&mut rows) {
            self.file.append(&mut rows).await?;
        }
        self.file.end();
        self.file.pin(SectionKind::VectorsMeta, field, meta);
        Ok(())
    }
}
