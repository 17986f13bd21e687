//! What an index tells about itself.

use serde::Serialize;
use serde_json::Value;

use crate::index::SegmentHome;

/// State of an index, as `rangefind info --json` and `index.info()` show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexInfo {
    /// Where it is.
    pub storage: String,
    /// Where its base is, if it overlays one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Commit that reads see; 0 before the first one.
    pub generation: u64,
    /// Live documents that reads see.
    pub num_docs: u64,
    /// Documents deleted and not yet merged away.
    pub num_deleted: u64,
    /// Documents added since the last commit.
    pub pending_docs: u64,
    /// Bytes of the documents buffered in memory.
    pub pending_bytes: u64,
    /// Bytes of all segment files.
    pub bytes: u64,
    /// Bytes of metadata held in memory while the index is open.
    pub pinned_bytes: u64,
    /// Whether writes are refused.
    pub read_only: bool,
    /// The schema in the JSON shape of [`crate::schema`]; null while unknown.
    pub schema: Value,
    /// The fields, the id field first.
    pub fields: Vec<FieldInfo>,
    /// The segments, oldest first.
    pub segments: Vec<SegmentInfo>,
    /// The block cache.
    pub cache: CacheInfo,
}

/// One field.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldInfo {
    /// Name.
    pub name: String,
    /// `id`, `text`, `keyword`, `number`, `integer`, `bool`, `date`, `vector`, `json`.
    pub kind: String,
    /// Bytes in all segments, metadata included.
    pub bytes: u64,
}

/// One segment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentInfo {
    /// 32 hexadecimal digits.
    pub id: String,
    /// Whose file it is.
    pub home: SegmentHome,
    /// Live documents.
    pub num_docs: u32,
    /// Deleted documents.
    pub num_deleted: u32,
    /// Length of the segment file.
    pub bytes: u64,
}

/// Use of the block cache since the index was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheInfo {
    /// Bytes resident.
    pub bytes: u64,
    /// Most bytes it may hold.
    pub budget_bytes: u64,
    /// Blocks found resident.
    pub hits: u64,
    /// Blocks that had to be loaded.
    pub misses: u64,
    /// Requests to storage.
    pub requests: u64,
    /// Bytes they brought.
    pub request_bytes: u64,
}
