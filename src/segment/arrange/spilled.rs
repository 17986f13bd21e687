//! Vectors that a second cell lists too, brought to it while its group is written.

use super::{
    Entry,
    cells::{cell_starts, components},
    store::Store,
};
use crate::{
    error::Result,
    graph::cells::{NO_CELL, Spilled},
    schema::VectorOptions,
    storage::Storage,
    vectors::ResidentRows,
};

/// A cell lists twice as many vectors of others as it has, and so many, at most: equal vectors have one second cell.
const MORE_THAN_TWICE: usize = 32;
/// Rows that are read together: they are scattered, and a storage may read across the gaps between them.
const PART_ROWS: usize = 16;
/// And not more than so many.
const MAX_SPILLED: usize = 256;

/// Cells and ordinals of the vectors that they list, ascending.
#[derive(Debug)]
pub(super) struct SpilledRows {
    list: Vec<(u32, u32)>,
    next: usize,
    rows: Vec<u8>,
    /// Those of the group that was asked for last.
    pub(super) group: Spilled,
}

impl SpilledRows {
    /// `seconds` are the second cells of `entries`, by where their rows are; empty: they have none.
    pub(super) fn new(entries: &[Entry], seconds: Vec<u32>) -> Self {
        let mut list = Vec::with_capacity(if seconds.is_empty() { 0 } else { entries.len() });
        let of_entry = |(entry, ord): (&Entry, u32)| Some((*seconds.get(entry.at as usize)?, ord));
        list.extend(entries.iter().zip(0..).filter_map(of_entry).filter(|&(cell, _)| cell != NO_CELL));
        list.sort_unstable();
        Self { list, next: 0, rows: Vec::new(), group: Spilled::default() }
    }

    /// Brings the vectors that the cells of `group` list. Groups come in order; `entries` are those of all.
    pub(super) async fn gather<S: Storage>(
        &mut self,
        options: &VectorOptions,
        entries: &[Entry],
        group: &[Entry],
        store: &Store<S>,
        resident: Option<&ResidentRows>,
    ) -> Result<()> {
        self.group.clear();
        if self.list.is_empty() {
            return Ok(());
        }
        let starts = cell_starts(group);
        let mut wanted = Vec::new();
        for range in starts.windows(2) {
            let (cell, len) = (group[range[0] as usize].cell, (range[1] - range[0]) as usize);
            self.group.starts.push(self.group.ords.len() as u32);
            // Cells that have no vectors of their own are not written.
            self.next += self.list[self.next..].partition_point(|&(of, _)| of < cell);
            let most = (2 * len + MORE_THAN_TWICE).min(MAX_SPILLED);
            let of_cell = self.list[self.next..].iter().take(most).take_while(|&&(of, _)| of == cell);
            for &(_, ord) in of_cell {
                let entry = entries[ord as usize];
                self.group.ords.push(ord);
                self.group.docs.push(entry.doc);
                wanted.push(entry);
                self.next += 1;
            }
        }
        self.group.starts.push(self.group.ords.len() as u32);
        self.group.values.reserve_exact(wanted.len() * options.dims as usize);
        for part in wanted.chunks(PART_ROWS) {
            self.rows.clear();
            store.gather(resident, part, &mut self.rows).await?;
            let values = &mut self.group.values;
            components(options, &self.rows, |vector| values.extend_from_slice(vector));
        }
        Ok(())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let group = self.group.values.capacity() * 4 + self.group.ords.capacity() * 8;
        self.list.capacity() * 8 + 2 * self.rows.capacity() + group
    }
}
