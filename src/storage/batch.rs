//! One wave over several files.

#![forbid(unsafe_code)]

use std::ops::Range;

use bytes::Bytes;
use futures_util::future::try_join_all;

use super::File;
use crate::error::Result;

/// Reads ranges of several files at once, as a query over all segments does: one await for all of it. Returns one
/// list of buffers per batch, in order. Requests are joined within a file; a backend bounds what is in flight
/// over all its files.
///
/// # Errors
/// The first that any file gives.
pub async fn read_batches<F: File>(batches: &[(F, Vec<Range<u64>>)]) -> Result<Vec<Vec<Bytes>>> {
    match batches {
        [(file, ranges)] => Ok(vec![file.read_ranges(ranges).await?]),
        _ => try_join_all(batches.iter().map(|(file, ranges)| file.read_ranges(ranges))).await,
    }
}
