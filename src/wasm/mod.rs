//! The border to JavaScript: what `js/engine.ts` calls.
//!
//! Adapters only: names become camelCase, futures become promises, errors become `{ code, message }`, structured
//! values cross as JSON text and bulk data as typed arrays, copied once. No search logic. The classes are not
//! the public API; `js/` wraps them.
//!
//! An instance that panicked is dead: [`panics`] tells the face at once, which rejects every call in flight.

mod analyzers;
mod batch;
mod call;
mod index;
mod jobs;
mod panics;
mod settings;
mod storage;

pub use batch::WasmBatch;
pub use call::WasmCancel;
pub use index::WasmIndex;
pub use jobs::{WasmBuild, WasmMerge};
pub use storage::WasmStorage;
