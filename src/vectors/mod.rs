//! Full-precision vectors of one field of one segment: how they are stored, found, scanned and merged.
//!
//! Two streams: `vectors` holds the rows, each with its checksum beside it, so that a random row is verified as
//! it arrives without reading more; `vectors_meta` says how many there are and whose they are. A document may
//! have none, one or several vectors; the best one counts. Rows lie in the order of their documents, or in that of
//! cells of near vectors, in which case whose they are stands in two streams more ([`NumberList`]).
//!
//! Start at [`VectorsReader`] for reading and [`FlatScan`] for scoring; [`VectorsWriter`] and [`VectorsMerger`]
//! make the streams. Everything here is synchronous: bytes in, values or wanted ranges out.
//!
//! A flat search of one segment, the reads left out:
//! ```
//! # use rangefind::{ids::DocOrd, schema::{Metric, VectorOptions}, vectors::*};
//! let options = VectorOptions::new(2, Metric::Dot);
//! let mut writer = VectorsWriter::new(options.clone());
//! writer.add(DocOrd(0), &[1.0, 0.0]).unwrap();
//! writer.add(DocOrd(2), &[0.0, 1.0, 3.0, 4.0]).unwrap(); // two vectors, the better one counts
//! let (mut rows, mut meta) = (Vec::new(), Vec::new());
//! let mut chunks = writer.finish(3, &mut meta);
//! while chunks.append_next(&mut rows) {}
//!
//! let reader = VectorsReader::parse(&meta, rows.len() as u64).unwrap();
//! let query = VectorQuery::new(&options, vec![1.0, 1.0]).unwrap();
//! let mut scan = FlatScan::new(&reader, vec![query], 10);
//! for window in reader.windows(None, &WindowOptions::default()) {
//!     let bytes = &rows[window.bytes.start as usize..window.bytes.end as usize]; // an await, in earnest
//!     scan.feed(&window, bytes, None, Verify::Unseen).unwrap();
//! }
//! let best = scan.finish().remove(0);
//! assert_eq!((best[0].ord, best[0].score), (DocOrd(2), 4.0)); // (1 + 7) / 2
//! ```

#![forbid(unsafe_code)]

mod best;
mod error;
mod flat;
mod merge;
mod meta;
mod owners;
mod plan;
mod query;
mod reader;
mod reorder;
mod row;
mod rows;
#[cfg(test)]
mod storage_tests;
#[cfg(test)]
mod tests;
mod writer;

pub use error::{VectorFormatError, VectorInputError};
pub use flat::FlatScan;
pub use merge::{MergeRead, VectorsMerger};
pub use meta::{write_cells_meta, write_ordered_meta};
pub use owners::{NumberList, write_numbers};
pub use plan::{NO_DOC, RowWindow, WindowOptions};
pub use query::VectorQuery;
pub use reader::VectorsReader;
pub use reorder::VectorsReorderer;
pub use row::{VectorOrd, Verify, read_components, row_bytes};
pub use rows::RowMapWriter;
pub use writer::{ResidentRows, RowChunks, VectorsWriter};

/// Components a vector may have at most.
pub const MAX_DIMS: u32 = 4096;
