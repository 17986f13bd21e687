//! Writes the vectors of a segment: in the order of cells of near vectors, with centers and codes beside them, or in
//! document order where there are few. A flush and a merge go the same way.
//!
//! ```text
//!   sample   one vector in so many; centers are trained on them, and some of them become calibration queries
//!   assign   all vectors, a batch at a time: cell of each, and the second one that lists it, true neighbours of the queries; rows in the order
//!            of their cells are set aside, unless they are in memory anyway
//!   write    group after group: rows gathered, centers moved to the means of their vectors, codes set aside
//!   owners   document of each vector and vectors of each document
//!   graph    where the field has one: neighbours of each vector
//!   measure  the queries probe the cells, and walk over the graph, which gives the tables of recalls
//! ```
//!
//! The same vectors in the same order under the same budget give the same bytes on every machine.

mod cells;
mod graph;
mod plan;
mod shared;
mod source;
mod spilled;
mod store;

pub use plan::{MIN_CELL_VECTORS, flush_bytes, merge_bytes};
pub(super) use source::BufferedRows;
pub use source::RowSource;

use self::{
    cells::CellParts,
    plan::{Plan, graph_bytes},
    shared::SharedRows,
    spilled::SpilledRows,
    store::Store,
};
use super::{kind::SectionKind, spill::Spills, writer::SegmentFileWriter};
use crate::{
    bitset::BitSet,
    error::{Error, ErrorKind, Result},
    graph::cells::NO_CELL,
    ids::FieldOrd,
    schema::VectorOptions,
    storage::Storage,
    vectors::{RowMapWriter, row_bytes, write_cells_meta, write_numbers, write_ordered_meta},
};

/// One vector: sorted, they are in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    cell: u32,
    doc: u32,
    /// Where its row is in the store.
    at: u32,
}

/// What is written, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct VectorField<'a> {
    /// The field.
    pub field: FieldOrd,
    /// Its vectors.
    pub options: &'a VectorOptions,
    /// Documents of the segment.
    pub max_doc: u32,
    /// Bytes that buffers may take.
    pub memory_bytes: u64,
}

/// Writes all sections of a vector field.
///
/// # Errors
/// What `source` and storage bring; `over_budget` for more vectors than a segment can have. Streams set aside may be
/// left: their names are in `spills`.
pub async fn write_vectors<S: Storage, R: RowSource>(
    out: &mut SegmentFileWriter<S::Writer>,
    spills: &mut Spills<'_, S>,
    field: VectorField<'_>,
    source: &mut R,
) -> Result<()> {
    let memory_bytes = field.memory_bytes.saturating_sub(graph_bytes(field.options, source.count()));
    let plan = Plan::new(field.options, source.count(), memory_bytes);
    let mut parts = CellParts::train(&plan, field, source).await?;
    let mut store = Store::new(&plan, field.options, spills, source.resident().is_some());
    let (mut entries, seconds) = assign(&mut store, parts.as_mut(), source).await?;
    store.seal().await?;
    entries.sort_unstable();
    let mut spilled = SpilledRows::new(&entries, seconds);

    let graph = field.options.graph.map(|degree| (degree, entries.len() as u64));
    let mut cells = parts.map(|parts| parts.into_writer(&plan, graph, spills));
    let mut shared = (field.options.dedup && cells.is_some()).then(|| SharedRows::new(row_bytes(field.options)));
    let mut rows = Vec::new();
    out.begin(SectionKind::Vectors, field.field);
    let mut rest = entries.as_slice();
    while !rest.is_empty() {
        let len =
            cells.as_ref().map_or(plan.group_rows, |cells| cells.group_len(rest, plan.group_rows)).min(rest.len());
        let (group, others) = rest.split_at(len);
        rest = others;
        store.gather(source.resident(), group, &mut rows).await?;
        let mut held =
            size_of_val(entries.as_slice()) + 2 * rows.capacity() + store.memory_bytes() + out.memory_bytes();
        if let Some(cells) = &mut cells {
            spilled.gather(field.options, &entries, group, &store, source.resident()).await?;
            cells.add_group(group, &rows, &spilled.group).await?;
            held += cells.memory_bytes() + spilled.memory_bytes();
        }
        if let Some(shared) = &mut shared {
            shared.keep_distinct(group, &mut rows);
            held += shared.memory_bytes();
        }
        source.account(held);
        out.append(&mut rows).await?;
        source.turn().await?;
    }
    out.end();
    store.discard().await?;

    let mut meta = Vec::new();
    match cells {
        Some(cells) => {
            write_owners(out, field, &entries, shared.map(|shared| shared.map), &mut meta).await?;
            cells.finish(out, field.field, &entries, source).await?;
        }
        None => write_ordered_meta(field.options, entries.iter().map(|entry| entry.doc), field.max_doc, &mut meta),
    }
    out.pin(SectionKind::VectorsMeta, field.field, meta);
    Ok(())
}

/// Reads all vectors, finds their cells and puts the rows into the store. Returns them, and the second cell of each by where
/// its row is, if they have some.
async fn assign<S: Storage, R: RowSource>(
    store: &mut Store<S>,
    mut parts: Option<&mut CellParts>,
    source: &mut R,
) -> Result<(Vec<Entry>, Vec<u32>)> {
    source.restart(1);
    let (mut rows, mut docs, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    let (mut seconds, mut of_batch) = (Vec::new(), Vec::new());
    let mut entries: Vec<Entry> = Vec::with_capacity(source.count() as usize);
    if parts.as_ref().is_some_and(|parts| parts.spills()) {
        seconds.reserve_exact(source.count() as usize);
    }
    let mut more = true;
    while more {
        more = source.next(&mut rows, &mut docs).await?;
        if docs.is_empty() || (more && docs.len() < store.batch_rows()) {
            continue;
        }
        cells.clear();
        of_batch.clear();
        if let Some(parts) = parts.as_deref_mut() {
            parts.assign(&rows, &mut cells, &mut of_batch, source).await?;
        } else {
            cells.resize(docs.len(), 0);
        }
        let first = entries.len();
        if u32::try_from(first + docs.len()).is_err() {
            let what = "the segment would have more than 2^32 - 1 vectors in one field";
            return Err(Error::new(ErrorKind::OverBudget, what));
        }
        let batch = cells.iter().zip(&docs).zip(0..).map(|((&cell, &doc), at)| Entry { cell, doc, at });
        let mut batch: Vec<Entry> = batch.collect();
        let numbers = store.append(&mut batch, &rows, first as u32).await?;
        if !of_batch.is_empty() {
            seconds.resize(first + batch.len(), NO_CELL);
            numbers.iter().zip(&of_batch).for_each(|(&at, &cell)| seconds[at as usize] = cell);
        }
        if let Some(parts) = parts.as_deref_mut() {
            parts.offer(&numbers);
        }
        entries.extend(batch);
        let buffers = rows.capacity() + docs.len() * 28 + parts.as_ref().map_or(0, |parts| parts.memory_bytes());
        let kept = entries.capacity() * size_of::<Entry>() + seconds.capacity() * 4;
        source.account(kept + buffers + store.memory_bytes());
        rows.clear();
        docs.clear();
        source.turn().await?;
    }
    Ok((entries, seconds))
}

/// Writes whose the rows are, by vector and by document.
async fn write_owners<W: crate::storage::Writer>(
    out: &mut SegmentFileWriter<W>,
    field: VectorField<'_>,
    entries: &[Entry],
    rows: Option<RowMapWriter>,
    meta: &mut Vec<u8>,
) -> Result<()> {
    let mut numbers = Vec::new();
    out.begin(SectionKind::VectorDocs, field.field);
    write_numbers(entries.iter().map(|entry| entry.doc), &mut numbers);
    out.append(&mut numbers).await?;
    out.end();
    let mut with_vector = BitSet::new(field.max_doc);
    entries.iter().for_each(|entry| {
        with_vector.insert(entry.doc);
    });
    let mut by_doc: Vec<(u32, u32)> = entries.iter().map(|entry| entry.doc).zip(0..).collect();
    by_doc.sort_unstable();
    out.begin(SectionKind::VectorOrds, field.field);
    if (with_vector.count() as usize) < entries.len() {
        let starts = (0..by_doc.len()).filter(|&ix| ix == 0 || by_doc[ix].0 != by_doc[ix - 1].0);
        write_numbers(starts.chain([by_doc.len()]).map(|start| start as u32), &mut numbers);
    }
    write_numbers(by_doc.iter().map(|&(_, ord)| ord), &mut numbers);
    out.append(&mut numbers).await?;
    out.end();
    write_cells_meta(field.options, entries.len() as u32, &with_vector, rows, meta);
    Ok(())
}
