//! One immutable segment file: sections, table of contents, writer, reader, live-documents overlays.
//!
//! A segment is written once, front to back, and never changes; deletions are overlay files beside it. Start
//! at [`Toc`] for the layout, [`SegmentFileWriter`] and [`SegmentReader`] for the two directions.
#![forbid(unsafe_code)]

mod arrange;
mod builder;
mod kind;
mod live;
mod open;
mod reader;
mod spill;
mod toc;
mod verified;
pub(crate) mod wire;
mod writer;

pub use arrange::{MIN_CELL_VECTORS, RowSource, VectorField, flush_bytes, merge_bytes, write_vectors};
pub use builder::{Built, SegmentBuilder, find_analyzer};
pub use kind::SectionKind;
pub use live::{live_file_len, live_file_name, parse_live, write_live};
pub use open::{OpenSegment, SearchFile};
pub use reader::{SectionRange, SegmentReader};
pub use spill::{Spill, Spills, spill_file_name};
#[cfg(test)]
pub(crate) use toc::tests::sample as sample_toc;
pub use toc::{ALIGNMENT, CHUNK_LEN, FORMAT_VERSION, HEADER_LEN, Section, Toc};
pub use verified::{ChunkTable, VerifiedFile};
pub use writer::{SegmentFileWriter, segment_header, toc_tail};

#[cfg(test)]
mod tests;
