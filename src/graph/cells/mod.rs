//! Cells: vectors grouped by nearest center, centers by group, so that near vectors are near in the file.
//!
//! There are about n/32 cells and n/1024 groups of cells. [`CellTrainer`] finds them; the order of vectors it gives
//! is the order of ordinals, so a cell is one contiguous range of rows and of codes. All arithmetic is in
//! fixed point: the same seed gives the same cells on every machine.
//!
//! The arrangement is that of an inverted file with two levels (Sivic and Zisserman, 2003; Jégou et al., "Product
//! quantization for nearest neighbor search", 2011) with cells so small that a query reads a few
//! thousand codes out of its best hundred cells.

mod calibrate;
mod codebook;
mod format;
mod found;
mod lloyd;
mod measure;
mod order;
mod probe;
mod query;
mod runs;
mod shape;
mod spill;
mod train;
mod writer;

#[cfg(test)]
pub(super) mod probe_tests;
#[cfg(test)]
mod tests;

pub use calibrate::{Calibration, Margins, QueryMargins, Reach};
pub use codebook::{Codebook, FixedScale};
pub use format::CellsMeta;
pub use found::{Candidate, Found, Spread};
pub(in crate::graph) use lloyd::{Centers, Means, half_square};
pub use measure::{CALIBRATION_K, Recorder, Trial, Truth, queries_of, query_numbers};
pub use probe::{CellStream, Probe, ProbeOptions};
pub(in crate::graph) use probe::{GroupQuery, SeenCenter};
pub use shape::{CellPlace, CodeKind, CodeShape};
pub(in crate::graph) use shape::{PlacedCell, SeenCells};
pub use spill::NO_CELL;
pub use train::{CellOptions, CellTrainer, Cells};
pub(in crate::graph) use train::{Lists, nearest_groups};
pub use writer::{CellsWriter, Spilled};
