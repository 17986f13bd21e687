//! The vectors of one field of one segment, opened: metadata in memory, rows wherever they are.

use std::ops::Range;

use crate::{
    bitset::{BitSet, Ranks},
    ids::DocOrd,
    schema::{Metric, VectorOptions},
};

use super::{
    error::VectorFormatError,
    meta::{Meta, Owners},
    owners::NumberList,
    plan::RowWindow,
    row::{self, SeenRows, VectorOrd, Verify, WindowRows, read_components, row_bytes},
    rows::{RowLookup, RowMap},
};

/// Metadata of a vector field of a segment, and which of its rows were seen intact. Share it in an `Arc`.
///
/// Holds an eighth of a byte per vector, and four more per vector where documents have none or several.
#[derive(Debug)]
pub struct VectorsReader {
    meta: Meta,
    /// In cell order: numbers of the documents that have a vector, unless all have.
    ranks: Option<Ranks>,
    /// Where equal vectors share a row.
    rows: Option<RowLookup>,
    num_rows: u32,
    /// By row.
    seen: SeenRows,
}

impl VectorsReader {
    /// Parses the `vectors_meta` stream; `rows_len` is the length of the `vectors` stream.
    ///
    /// # Errors
    /// If the metadata is damaged or does not fit that length.
    pub fn parse(meta: &[u8], rows_len: u64) -> Result<Self, VectorFormatError> {
        let mut meta = Meta::parse(meta)?;
        let num_rows = meta.rows.as_ref().map_or(meta.owners.count(), RowMap::num_rows);
        let expected = u64::from(num_rows) * row_bytes(&meta.options) as u64;
        if expected != rows_len {
            return Err(VectorFormatError::RowsLength { found: rows_len, expected });
        }
        let ranks = match &meta.owners {
            Owners::Cells(_, with_vector) => with_vector.clone().map(Ranks::new),
            _ => None,
        };
        let rows = meta.rows.take().map(RowMap::into_lookup);
        Ok(Self { meta, ranks, rows, num_rows, seen: SeenRows::new(num_rows) })
    }

    /// Dimension, metric and form of the rows; all else as by default.
    pub fn options(&self) -> &VectorOptions {
        &self.meta.options
    }

    /// Components of a vector.
    pub fn dims(&self) -> u32 {
        self.meta.options.dims
    }

    /// How vectors are compared.
    pub fn metric(&self) -> Metric {
        self.meta.options.metric
    }

    /// Vectors, those of deleted documents included.
    pub fn count(&self) -> u32 {
        self.meta.owners.count()
    }

    /// Rows: as many as vectors, unless equal ones share theirs.
    pub fn num_rows(&self) -> u32 {
        self.num_rows
    }

    /// Whether equal vectors may share a row.
    pub fn has_shared_rows(&self) -> bool {
        self.rows.is_some()
    }

    /// Row of a vector, which windows are made of.
    ///
    /// # Panics
    /// If there is no such vector and rows are shared.
    #[inline]
    pub fn row_of(&self, ord: u32) -> u32 {
        self.rows.as_ref().map_or(ord, |rows| rows.row_of(ord))
    }

    /// Documents of the segment, with a vector or without.
    pub fn max_doc(&self) -> u32 {
        self.meta.max_doc
    }

    /// Documents that have a vector, deleted ones included.
    pub fn num_docs(&self) -> u32 {
        self.meta.num_docs
    }

    /// Bytes from one row to the next.
    pub fn stride_bytes(&self) -> usize {
        row_bytes(&self.meta.options)
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        let rows = self.rows.as_ref().map_or(0, RowLookup::memory_bytes);
        self.meta.owners.memory_bytes() + self.seen.memory_bytes() + rows
    }

    /// Whether each document that has a vector has exactly one.
    pub fn is_single_valued(&self) -> bool {
        self.count() == self.num_docs()
    }

    /// Whether rows lie in the order of cells: [`Self::doc_of`] and [`Self::ords_of`] are not served then, owners
    /// are read from streams of their own.
    pub fn is_in_cells(&self) -> bool {
        matches!(self.meta.owners, Owners::Cells(..))
    }

    /// Documents that have a vector, deleted ones included.
    pub fn docs_with_vector(&self) -> BitSet {
        let mut set = BitSet::new(self.max_doc());
        match &self.meta.owners {
            Owners::Dense(count) => set.insert_range(0, *count),
            Owners::Ascending(docs) => docs.iter().for_each(|&doc| {
                set.insert(doc);
            }),
            Owners::Cells(_, None) => set.insert_range(0, self.max_doc()),
            Owners::Cells(_, Some(with_vector)) => set.or(with_vector),
        }
        set
    }

    /// Documents of `accept` that have a vector, and their vectors: of documents with several vectors in cell order
    /// an estimate.
    pub fn count_accepted(&self, accept: &BitSet) -> (u64, u64) {
        match &self.meta.owners {
            Owners::Cells(count, with_vector) => {
                let docs = match with_vector {
                    Some(set) => {
                        let mut both = BitSet::clone(set);
                        both.and(accept);
                        both.count()
                    }
                    None => accept.count_range(0, self.max_doc()),
                };
                let of_all = u64::from(docs) * u64::from(*count);
                (docs.into(), of_all.div_ceil(u64::from(self.num_docs()).max(1)))
            }
            _ => {
                let docs = accept.iter_range(0, self.max_doc()).map(|doc| self.ords_of(DocOrd(doc)).len());
                docs.filter(|&len| len > 0).fold((0, 0), |(docs, rows), len| (docs + 1, rows + len as u64))
            }
        }
    }

    /// In cell order: the document of each vector, in its stream.
    pub fn docs_list(&self) -> NumberList {
        NumberList { len: self.count(), offset: 0 }
    }

    /// In cell order: where the vectors of each document that has some start in [`Self::ords_list`], and their number
    /// at the end; `None` if each has one.
    pub fn starts_list(&self) -> Option<NumberList> {
        (!self.is_single_valued()).then(|| NumberList { len: self.num_docs() + 1, offset: 0 })
    }

    /// In cell order: vectors of the documents that have some, document after document.
    pub fn ords_list(&self) -> NumberList {
        NumberList { len: self.count(), offset: self.starts_list().map_or(0, |list| list.bytes().end) }
    }

    /// In cell order: number of `doc` among those that have a vector; `None` if it has none.
    pub fn rank_of(&self, doc: DocOrd) -> Option<u32> {
        match &self.ranks {
            Some(ranks) => ranks.set().contains(doc.0).then(|| ranks.rank(doc.0)),
            None => (doc.0 < self.max_doc()).then_some(doc.0),
        }
    }

    /// Document of a vector of `window`.
    ///
    /// # Panics
    /// If it is not in there, or rows lie in cell order and the window has no documents.
    #[inline]
    pub fn doc_in(&self, window: &RowWindow, ord: VectorOrd) -> DocOrd {
        match &window.docs {
            Some(docs) => DocOrd(docs[(ord.0 - window.ords.start) as usize]),
            None => self.doc_of(ord),
        }
    }

    /// Document of a vector.
    ///
    /// # Panics
    /// If there is no such vector, or rows lie in cell order.
    #[inline]
    pub fn doc_of(&self, ord: VectorOrd) -> DocOrd {
        match &self.meta.owners {
            Owners::Dense(count) => {
                assert!(ord.0 < *count, "vector {} of {count}", ord.0);
                DocOrd(ord.0)
            }
            Owners::Ascending(docs) => DocOrd(docs[ord.0 as usize]),
            Owners::Cells(..) => panic!("rows lie in cell order, owners are read"),
        }
    }

    /// Vectors of a document, empty if it has none.
    ///
    /// # Panics
    /// If rows lie in cell order.
    pub fn ords_of(&self, doc: DocOrd) -> Range<u32> {
        match &self.meta.owners {
            Owners::Dense(count) if doc.0 < *count => doc.0..doc.0 + 1,
            Owners::Dense(_) => 0..0,
            Owners::Ascending(docs) => {
                let start = docs.partition_point(|&owner| owner < doc.0);
                let len = docs[start..].iter().take_while(|&&owner| owner == doc.0).count();
                start as u32..(start + len) as u32
            }
            Owners::Cells(..) => panic!("rows lie in cell order, owners are read"),
        }
    }

    /// Window of a document's vectors, to read them all: what a query by document starts with. `None` if it has
    /// none.
    pub fn window_of(&self, doc: DocOrd) -> Option<RowWindow> {
        let ords = self.ords_of(doc);
        (!ords.is_empty()).then(|| self.window(ords))
    }

    /// Window of the rows `ords`: vectors, unless rows are shared.
    ///
    /// # Panics
    /// If it reaches past the rows there are.
    pub fn window(&self, ords: Range<u32>) -> RowWindow {
        assert!(ords.start <= ords.end && ords.end <= self.num_rows, "rows {ords:?} of {}", self.num_rows);
        RowWindow { bytes: row::byte_range(&ords, self.stride_bytes()), ords, docs: None }
    }

    /// Components of one vector as they are stored, out of the bytes of a window, verified.
    ///
    /// # Errors
    /// If the row does not match its checksum.
    ///
    /// # Panics
    /// If `bytes` are not those of `window`, or `ord` lies outside it.
    pub fn row<'a>(
        &self,
        window: &RowWindow,
        bytes: &'a [u8],
        ord: VectorOrd,
        verify: Verify,
    ) -> Result<&'a [u8], VectorFormatError> {
        assert!(window.ords.contains(&ord.0), "vector {} of the window {:?}", ord.0, window.ords);
        self.components(&WindowRows::new(window, bytes, self.stride_bytes()), ord.0, verify)
    }

    /// The same as numbers.
    ///
    /// # Errors
    /// If the row does not match its checksum.
    ///
    /// # Panics
    /// See [`Self::row`].
    pub fn vector(&self, window: &RowWindow, bytes: &[u8], ord: VectorOrd) -> Result<Vec<f32>, VectorFormatError> {
        let mut vector = Vec::with_capacity(self.dims() as usize);
        read_components(self.options(), self.row(window, bytes, ord, Verify::All)?, &mut vector);
        Ok(vector)
    }

    /// Checks every row of a window: what a full verification of an index does.
    ///
    /// # Errors
    /// The first row that does not match its checksum or is not finite.
    ///
    /// # Panics
    /// If `bytes` are not those of `window`.
    pub fn check_window(&self, window: &RowWindow, bytes: &[u8]) -> Result<(), VectorFormatError> {
        let rows = WindowRows::new(window, bytes, self.stride_bytes());
        let mut vector = Vec::new();
        for ord in window.ords.clone() {
            vector.clear();
            read_components(self.options(), self.components(&rows, ord, Verify::All)?, &mut vector);
            if !vector.iter().all(|component| component.is_finite()) {
                return Err(VectorFormatError::RowNotFinite { ord });
            }
        }
        Ok(())
    }

    /// Checks the rows of a window that [`super::FlatScan::feed`] would use, without scoring them.
    ///
    /// # Errors
    /// The first of them that does not match its checksum.
    ///
    /// # Panics
    /// If `bytes` are not those of `window`.
    pub fn verify_window(
        &self,
        window: &RowWindow,
        bytes: &[u8],
        accept: Option<&BitSet>,
        verify: Verify,
    ) -> Result<(), VectorFormatError> {
        let rows = WindowRows::new(window, bytes, self.stride_bytes());
        let is_used = |ord: &u32| accept.is_none_or(|accept| accept.contains(self.doc_in(window, VectorOrd(*ord)).0));
        window.ords.clone().filter(is_used).try_for_each(|ord| self.components(&rows, ord, verify).map(|_| ()))
    }

    #[inline]
    pub(super) fn components<'a>(
        &self,
        rows: &WindowRows<'a>,
        ord: u32,
        verify: Verify,
    ) -> Result<&'a [u8], VectorFormatError> {
        let row = rows.row(ord);
        if verify == Verify::Unseen && self.seen.contains(ord) {
            return Ok(&row[..row.len() - row::CHECKSUM_BYTES]);
        }
        let components = row::verified(row, ord)?;
        self.seen.insert(ord);
        Ok(components)
    }
}
