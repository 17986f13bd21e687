//! Cells of vectors and the owners of their rows against each other.

use super::Walk;
use crate::{
    bitset::BitSet,
    error::{Error, ErrorKind, Result},
    graph::{
        AdjacencyCheck, GraphMeta,
        cells::{CellPlace, CellsMeta},
    },
    ids::FieldOrd,
    segment::{OpenSegment, SectionKind, VerifiedFile},
    storage::File,
    vectors::{NumberList, VectorsReader},
};

fn corrupt(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}

impl Walk<'_> {
    /// Checks that owners agree in both directions, that cells hold every vector once, and that codes name the
    /// documents of their vectors.
    pub(super) async fn cells<F: File>(
        &mut self,
        segment: &OpenSegment<VerifiedFile<F>>,
        field: FieldOrd,
        vectors: &VectorsReader,
        cells: &CellsMeta,
    ) -> Result<()> {
        let docs = self.numbers(segment, SectionKind::VectorDocs, field, vectors.docs_list()).await?;
        let mut with_vector = BitSet::new(vectors.max_doc());
        for &doc in &docs {
            if doc >= vectors.max_doc() {
                return Err(corrupt(format!("a vector belongs to document {doc} of {}", vectors.max_doc())));
            }
            with_vector.insert(doc);
        }
        if with_vector != vectors.docs_with_vector() {
            return Err(corrupt("vectors belong to other documents than the metadata says"));
        }
        let ords = self.numbers(segment, SectionKind::VectorOrds, field, vectors.ords_list()).await?;
        let starts = match vectors.starts_list() {
            Some(list) => self.numbers(segment, SectionKind::VectorOrds, field, list).await?,
            None => (0..=vectors.count()).collect(),
        };
        if starts.first() != Some(&0) || starts.last() != Some(&vectors.count()) {
            return Err(corrupt("vectors of documents do not begin or end where they should"));
        }
        for (doc, range) in with_vector.iter().zip(starts.windows(2)) {
            let of_doc = ords.get(range[0] as usize..range[1] as usize).unwrap_or_default();
            let is_owner = |ord: &u32| docs.get(*ord as usize) == Some(&doc);
            // Ascending ordinals of one document are different ones, and all add up to the number of vectors.
            if of_doc.is_empty() || !of_doc.is_sorted_by(|a, b| a < b) || !of_doc.iter().all(is_owner) {
                return Err(corrupt(format!("vectors of document {doc} are others than those that name it")));
            }
        }
        let mut owners = docs.iter();
        let mut in_second = BitSet::new(cells.count());
        for group in 0..cells.num_groups() {
            let centers = self.centers(segment, field, cells, group).await?;
            let codes = segment.reader().read_one(SectionKind::CellCodes, field, cells.group_codes(group)).await?;
            self.turn(codes.len() as u64).await?;
            let mut agrees = true;
            let mut listed_well = true;
            let spilled = |cell: &CellPlace, ord: u32, doc: u32| {
                let is_own = (cell.first_ord..cell.first_ord + cell.len).contains(&ord);
                listed_well &= !is_own && docs.get(ord as usize) == Some(&doc) && in_second.insert(ord);
            };
            cells.check_codes(&codes, &centers, |doc| agrees &= owners.next() == Some(&doc), spilled)?;
            if !listed_well {
                let what =
                    format!("codes of group {group} list a vector twice, in its own cell, or for another document");
                return Err(corrupt(what));
            }
            if !agrees {
                return Err(corrupt(format!("codes of group {group} name other documents than their vectors have")));
            }
        }
        Ok(())
    }

    /// Checks that the graph has no vector for its own neighbour and none twice, and that every vector can be reached.
    pub(super) async fn graph<F: File>(
        &mut self,
        segment: &OpenSegment<VerifiedFile<F>>,
        field: FieldOrd,
        cells: &CellsMeta,
        graph: &GraphMeta,
    ) -> Result<()> {
        let (mut check, mut first_cell) = (AdjacencyCheck::new(graph), 0);
        for group in 0..cells.num_groups() {
            let places = self.centers(segment, field, cells, group).await?;
            let places: Vec<(u32, u32)> = places.iter().map(|place| (place.first_ord, place.len)).collect();
            let range = graph.group_range(first_cell, &places);
            let bytes = segment.reader().read_one(SectionKind::Adjacency, field, range).await?;
            self.turn(bytes.len() as u64).await?;
            check.group(&bytes, &places)?;
            first_cell += places.len() as u32;
        }
        check.finish()
    }

    /// The cells of a group, whose centers are checked.
    async fn centers<F: File>(
        &mut self,
        segment: &OpenSegment<VerifiedFile<F>>,
        field: FieldOrd,
        cells: &CellsMeta,
        group: usize,
    ) -> Result<Vec<CellPlace>> {
        match (cells.pinned_centers(group), cells.center_range(group)) {
            (None, Some(range)) => {
                let bytes = segment.reader().read_one(SectionKind::CellCenters, field, range).await?;
                self.turn(bytes.len() as u64).await?;
                cells.check_centers(group, &bytes)
            }
            (block, _) => cells.check_centers(group, block.unwrap_or_default()),
        }
    }

    async fn numbers<F: File>(
        &mut self,
        segment: &OpenSegment<VerifiedFile<F>>,
        kind: SectionKind,
        field: FieldOrd,
        list: NumberList,
    ) -> Result<Vec<u32>> {
        let bytes = segment.reader().read_one(kind, field, list.bytes()).await?;
        self.turn(bytes.len() as u64).await?;
        let mut numbers = Vec::with_capacity(list.len as usize);
        for blocks in list.blocks_of((0..list.len).step_by(1024)) {
            list.decode(&blocks, &bytes, &mut numbers).map_err(|error| Error::corrupt(kind.name(), error))?;
        }
        Ok(numbers)
    }
}
