//! Collects the values of one column and writes it.

#![forbid(unsafe_code)]

use std::collections::HashMap;

use super::{
    BLOCK_DOCS, BlockMeta, ColumnError, ColumnKind,
    block::PendingBlock,
    dictionary::DictionaryWriter,
    meta::write_meta,
    points::{PointsWriter, has_points},
    value::{encode_integer, encode_number},
};
use crate::{ids::DocOrd, schema::FieldValue, topk::order};

/// Writes value blocks, documents in order. Used by builder and merger.
#[derive(Debug, Default)]
pub(super) struct BlockWriter {
    pending: PendingBlock,
    /// Finished blocks; the one under way is the next.
    blocks: Vec<BlockMeta>,
}

impl BlockWriter {
    /// Adds a document's values, ascending and distinct. Documents without values are left out.
    pub fn push(&mut self, doc: u32, values: &[u64], out: &mut Vec<u8>) {
        while self.blocks.len() < (doc / BLOCK_DOCS) as usize {
            self.blocks.push(self.pending.write(BLOCK_DOCS, out));
        }
        self.pending.push(doc % BLOCK_DOCS, values);
    }

    pub fn memory_bytes(&self) -> usize {
        self.pending.memory_bytes() + self.blocks.capacity() * size_of::<BlockMeta>()
    }

    /// Ends the column of `num_docs` documents.
    pub fn close(&mut self, num_docs: u32, out: &mut Vec<u8>) {
        let num_blocks = num_docs.div_ceil(BLOCK_DOCS);
        while (self.blocks.len() as u32) < num_blocks {
            let first = self.blocks.len() as u32 * BLOCK_DOCS;
            self.blocks.push(self.pending.write((num_docs - first).min(BLOCK_DOCS), out));
        }
    }

    /// What the metadata must know of the blocks, once all are there.
    pub fn blocks(&self) -> &[BlockMeta] {
        &self.blocks
    }
}

/// Values of one field, documents in ascending order.
#[derive(Debug)]
pub struct ColumnBuilder {
    kind: ColumnKind,
    /// Document and value, in order of documents.
    values: Vec<(u32, u64)>,
    keywords: HashMap<Box<str>, u32>,
    keyword_bytes: usize,
}

impl ColumnBuilder {
    /// An empty column.
    pub fn new(kind: ColumnKind) -> Self {
        Self { kind, values: Vec::new(), keywords: HashMap::new(), keyword_bytes: 0 }
    }

    /// What the column holds.
    pub fn kind(&self) -> ColumnKind {
        self.kind
    }

    /// Adds the values of `doc`; documents without the field are left out, documents come in ascending order.
    ///
    /// # Panics
    /// If `value` is of another kind than the column: the document was not checked against the schema.
    pub fn push(&mut self, doc: DocOrd, value: &FieldValue) {
        debug_assert!(self.values.last().is_none_or(|&(last, _)| last <= doc.0), "documents in order");
        let from = self.values.len();
        match (self.kind, value) {
            (ColumnKind::Keyword, FieldValue::Keyword(words)) => {
                for word in words {
                    let ord = self.intern(word);
                    self.values.push((doc.0, u64::from(ord)));
                }
            }
            (ColumnKind::Number, FieldValue::Number(numbers)) => {
                self.values.extend(numbers.iter().map(|&number| (doc.0, encode_number(number))));
            }
            (ColumnKind::Integer, FieldValue::Integer(integers)) | (ColumnKind::Date, FieldValue::Date(integers)) => {
                self.values.extend(integers.iter().map(|&integer| (doc.0, encode_integer(integer))));
            }
            (ColumnKind::Bool, FieldValue::Bool(value)) => self.values.push((doc.0, u64::from(*value))),
            (kind, value) => panic!("{value:?} in a column of kind {kind:?}"),
        }
        debug_assert!(self.values[from..].iter().all(|(of, _)| *of == doc.0));
    }

    fn intern(&mut self, word: &str) -> u32 {
        if let Some(&ord) = self.keywords.get(word) {
            return ord;
        }
        let ord = self.keywords.len() as u32;
        self.keyword_bytes += word.len();
        self.keywords.insert(word.into(), ord);
        ord
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        const ENTRY_BYTES: usize = size_of::<(Box<str>, u32)>() + 1;
        self.values.capacity() * size_of::<(u32, u64)>() + self.keywords.capacity() * ENTRY_BYTES + self.keyword_bytes
    }

    /// Appends the `column` stream of a segment with `num_docs` documents to `out` and returns its `column_meta`.
    ///
    /// # Errors
    /// With more distinct keywords than ordinals.
    pub fn finish(mut self, num_docs: u32, out: &mut Vec<u8>) -> Result<Vec<u8>, ColumnError> {
        let mut dictionary = Vec::new();
        if self.kind == ColumnKind::Keyword {
            let mut words: Vec<(Box<str>, u32)> = std::mem::take(&mut self.keywords).into_iter().collect();
            // Each word is there once.
            order::by(&mut words, |a, b| a.0.cmp(&b.0));
            let mut ords = vec![0u32; words.len()];
            let mut writer = DictionaryWriter::new();
            for (word, first_seen) in &words {
                ords[*first_seen as usize] = writer.push(word.as_bytes(), out)?;
            }
            dictionary = writer.finish(out);
            self.values.iter_mut().for_each(|(_, value)| *value = u64::from(ords[*value as usize]));
        }
        let mut writer = BlockWriter::default();
        let mut of_doc = Vec::new();
        for group in self.values.chunk_by(|a, b| a.0 == b.0) {
            of_doc.clear();
            of_doc.extend(group.iter().map(|&(_, value)| value));
            of_doc.sort_unstable();
            of_doc.dedup();
            writer.push(group[0].0, &of_doc, out);
        }
        writer.close(num_docs, out);
        let blocks = writer.blocks();
        let mut points = None;
        if has_points(self.kind, blocks) {
            // Where they are: nothing is held twice.
            self.values.sort_unstable_by_key(|&(doc, value)| (value, doc));
            self.values.dedup();
            let mut writer = PointsWriter::new(num_docs);
            self.values.iter().for_each(|&(doc, value)| writer.push((value, doc), out));
            points = Some(writer.finish(out));
        }
        Ok(write_meta(self.kind, num_docs, blocks, &dictionary, points.as_deref()))
    }
}
