//! Storage in the browser's origin private file system (OPFS).
//!
//! In a dedicated worker files are read and written through synchronous access handles ([`handles`]); elsewhere, and
//! where another tab holds a file, reads go through `getFile().slice()`, which needs no lock, and writes through
//! `createWritable()`. Files are written under a hidden name and renamed when finished ([`writer`]); the one
//! writer of an index holds a Web Lock, which a killed tab loses by itself ([`lock`]). Start at [`directory`].

pub mod directory;
mod handles;
pub mod lock;
mod reader;
mod writer;

pub use directory::{OpfsOptions, OpfsStorage};
pub use lock::OpfsLock;
pub use reader::OpfsFile;
pub use writer::OpfsWriter;
