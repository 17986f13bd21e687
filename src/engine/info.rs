//! What an index tells about itself.

use serde::Serialize;
use serde_json::Value;

use crate::{
    codec::PostingsCodec,
    ids::FieldOrd,
    index::{Opener, SegmentHome, StorageSnapshot},
    storage::{IoCounts, Storage},
};

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
    /// How new segments encode postings.
    pub codec: PostingsCodec,
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
    /// How its postings are encoded.
    pub codec: PostingsCodec,
}

/// Use of the block cache since the index was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheInfo {
    /// Bytes resident.
    pub bytes: u64,
    /// Most bytes it may hold.
    pub budget_bytes: u64,
    /// Blocks that searches found resident.
    pub hits: u64,
    /// Blocks that they had to load.
    pub misses: u64,
    /// Requests to storage that they made.
    pub requests: u64,
    /// Bytes those brought.
    pub request_bytes: u64,
}

/// Describes a snapshot.
pub(super) fn describe<S: Storage>(
    opener: &Opener<S>,
    snapshot: &StorageSnapshot<S>,
    read_only: bool,
    (pending_docs, pending_bytes): (u64, u64),
    io: IoCounts,
) -> IndexInfo {
    let schema = snapshot.schema();
    let is_known = schema.fields().count() > 1;
    let segments: Vec<SegmentInfo> = snapshot
        .segments()
        .iter()
        .map(|one| SegmentInfo {
            id: one.segment.id().to_string(),
            home: one.home,
            num_docs: one.num_docs,
            num_deleted: one.segment.max_doc() - one.num_docs,
            bytes: one.segment.reader().toc().file_len,
            codec: one.segment.reader().toc().postings_codec(),
        })
        .collect();
    let mut field_bytes = vec![0; schema.fields().count()];
    for section in snapshot.segments().iter().flat_map(|one| &one.segment.reader().toc().sections) {
        // Sections of the whole segment carry the id field's number; stored documents are not its.
        let FieldOrd(field) = section.field;
        if field != 0 || section.kind.is_per_field() {
            // A segment of before the latest field has none of it, never one more.
            if let Some(bytes) = field_bytes.get_mut(usize::from(field)) {
                *bytes += section.len;
            }
        }
    }
    let fields = schema.fields().map(|(ord, field)| FieldInfo {
        name: field.name.clone(),
        kind: field.kind.name().to_owned(),
        bytes: field_bytes[usize::from(ord.0)],
    });
    let stats = opener.cache.stats();
    IndexInfo {
        storage: opener.own.label(),
        base: opener.base.as_ref().map(Storage::label),
        generation: snapshot.generation(),
        num_docs: snapshot.num_docs(),
        num_deleted: segments.iter().map(|segment| u64::from(segment.num_deleted)).sum(),
        pending_docs,
        pending_bytes,
        bytes: segments.iter().map(|segment| segment.bytes).sum(),
        pinned_bytes: snapshot.segments().iter().map(|one| one.segment.reader().pinned_bytes()).sum(),
        read_only,
        codec: snapshot.commit().codec,
        schema: if is_known { schema.to_json() } else { Value::Null },
        fields: fields.collect(),
        segments,
        cache: CacheInfo {
            bytes: stats.resident_bytes,
            budget_bytes: stats.budget_bytes,
            hits: io.cache_hits,
            misses: io.cache_misses,
            requests: io.requests,
            request_bytes: io.bytes,
        },
    }
}
