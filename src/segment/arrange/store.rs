//! Rows between their reading and their writing: in the buffer they are in anyway, or set aside in runs, each in the
//! order of the file, so that what belongs together is read together.

use std::ops::Range;

use super::{Entry, plan::Plan};
use crate::{
    error::{Error, ErrorKind, Result},
    schema::VectorOptions,
    segment::spill::{Spill, Spills},
    storage::Storage,
    topk::order,
    vectors::{ResidentRows, row_bytes},
};

/// Bytes handed to the set-aside stream at a time.
const PIECE_BYTES: usize = 64 << 10;
/// Resident rows that are assigned at a time: they are not put in order.
const RESIDENT_BATCH: usize = 1024;

/// Where rows wait.
pub(super) struct Store<S: Storage> {
    stride: usize,
    batch_rows: usize,
    /// `None`: rows are in memory, by their number.
    spill: Option<Spill<S>>,
}

impl<S: Storage> Store<S> {
    pub(super) fn new(plan: &Plan, options: &VectorOptions, spills: &mut Spills<'_, S>, is_resident: bool) -> Self {
        let spill = (!is_resident).then(|| spills.spill(plan.row_memory));
        let batch_rows = if is_resident { RESIDENT_BATCH } else { plan.batch_rows };
        Self { stride: row_bytes(options), batch_rows, spill }
    }

    pub(super) fn batch_rows(&self) -> usize {
        self.batch_rows
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.spill.as_ref().map_or(0, Spill::memory_bytes)
    }

    /// Takes a batch whose entries count from 0 and makes them say where their rows are. Returns that per row of the
    /// batch, `first` being the number of rows before it.
    pub(super) async fn append(&mut self, batch: &mut [Entry], rows: &[u8], first: u32) -> Result<Vec<u32>> {
        let mut numbers: Vec<u32> = (first..first + batch.len() as u32).collect();
        if let Some(spill) = &mut self.spill {
            batch.sort_unstable();
            let mut piece = Vec::with_capacity(PIECE_BYTES + self.stride);
            for (entry, at) in batch.iter_mut().zip(first..) {
                let start = entry.at as usize * self.stride;
                piece.extend_from_slice(&rows[start..start + self.stride]);
                numbers[entry.at as usize] = at;
                entry.at = at;
                if piece.len() >= PIECE_BYTES {
                    spill.append(&mut piece).await?;
                }
            }
            spill.append(&mut piece).await?;
        } else {
            batch.iter_mut().for_each(|entry| entry.at += first);
        }
        Ok(numbers)
    }

    pub(super) async fn seal(&mut self) -> Result<()> {
        match &mut self.spill {
            Some(spill) => spill.seal().await,
            None => Ok(()),
        }
    }

    /// Appends the rows of `entries` to `rows`, in their order.
    pub(super) async fn gather(
        &self,
        resident: Option<&ResidentRows>,
        entries: &[Entry],
        rows: &mut Vec<u8>,
    ) -> Result<()> {
        let (Some(spill), None) = (&self.spill, resident) else {
            let missing = || Error::new(ErrorKind::Io, "rows of vectors are nowhere");
            let resident = resident.ok_or_else(missing)?;
            entries.iter().for_each(|entry| rows.extend_from_slice(resident.row(entry.at)));
            return Ok(());
        };
        let mut places: Vec<(u32, usize)> = entries.iter().map(|entry| entry.at).zip(0..).collect();
        order::by_key(&mut places, |place| place.0.into());
        let mut runs: Vec<Range<u64>> = Vec::new();
        for &(at, _) in &places {
            let at = u64::from(at);
            match runs.last_mut() {
                Some(run) if run.end == at => run.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
        let stride = self.stride;
        runs.iter_mut().for_each(|run| *run = run.start * stride as u64..run.end * stride as u64);
        let found = spill.read(&runs).await?;
        let start = rows.len();
        rows.resize(start + entries.len() * stride, 0);
        let parts = found.iter().flat_map(|bytes| bytes.chunks_exact(stride));
        for (row, &(_, ix)) in parts.zip(&places) {
            rows[start + ix * stride..][..stride].copy_from_slice(row);
        }
        Ok(())
    }

    pub(super) async fn discard(self) -> Result<()> {
        match self.spill {
            Some(spill) => spill.discard().await,
            None => Ok(()),
        }
    }
}
