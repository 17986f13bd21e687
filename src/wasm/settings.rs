//! Options as the face writes them. Absent ones take the engine's defaults.

use serde::Deserialize;
use serde_json::Value;

use super::storage::Backend;
use crate::{
    codec::PostingsCodec,
    engine::{BuildOptions, CustomAnalyzers, MergeOptions, OpenMode, OpenOptions, Schema},
    error::Result,
};

/// Options of an open.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OpenSettings {
    mode: Option<Mode>,
    schema: Option<Value>,
    codec: Option<PostingsCodec>,
    memory_bytes: Option<u64>,
    cache_bytes: Option<u64>,
    gpu_bytes: Option<u64>,
    writer_wait_millis: Option<u32>,
    release_after_commit: Option<bool>,
    auto_merge: Option<bool>,
    grace_millis: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Mode {
    Create,
    OpenOrCreate,
    Open,
    ReadOnly,
}

impl OpenSettings {
    pub(super) fn into_options(
        self,
        base: Option<Backend>,
        analyzers: CustomAnalyzers,
    ) -> Result<OpenOptions<Backend>> {
        let default = OpenOptions::<Backend>::default();
        let mode = self.mode.map_or(default.mode, |mode| match mode {
            Mode::Create => OpenMode::Create,
            Mode::OpenOrCreate => OpenMode::OpenOrCreate,
            Mode::Open => OpenMode::Open,
            Mode::ReadOnly => OpenMode::ReadOnly,
        });
        Ok(OpenOptions {
            mode,
            schema: self.schema.map(|schema| Schema::from_json(&schema)).transpose()?,
            codec: self.codec,
            memory_bytes: self.memory_bytes.unwrap_or(default.memory_bytes),
            cache_bytes: self.cache_bytes.unwrap_or(default.cache_bytes),
            writer_wait_millis: self.writer_wait_millis.unwrap_or(default.writer_wait_millis),
            release_after_commit: self.release_after_commit.unwrap_or(default.release_after_commit),
            auto_merge: self.auto_merge.unwrap_or(default.auto_merge),
            grace_millis: self.grace_millis.unwrap_or(default.grace_millis),
            gpu_bytes: self.gpu_bytes.unwrap_or(default.gpu_bytes),
            base,
            analyzers,
        })
    }
}

/// Options of a build or a merge. `maxSegments: null` leaves it to the tiered policy.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct JobSettings {
    #[serde(default)]
    schema: Option<Value>,
    #[serde(default)]
    codec: Option<PostingsCodec>,
    #[serde(default)]
    memory_bytes: Option<u64>,
    #[serde(default = "one_segment")]
    max_segments: Option<u32>,
    #[serde(default)]
    reorder: bool,
}

fn one_segment() -> Option<u32> {
    MergeOptions::default().max_segments
}

impl JobSettings {
    pub(super) fn merge(self) -> MergeOptions {
        let default = MergeOptions::default();
        MergeOptions {
            max_segments: self.max_segments,
            memory_bytes: self.memory_bytes.unwrap_or(default.memory_bytes),
            codec: self.codec,
            reorder: self.reorder,
        }
    }

    pub(super) fn build(self, analyzers: CustomAnalyzers) -> Result<BuildOptions> {
        let default = BuildOptions::default();
        Ok(BuildOptions {
            schema: self.schema.map(|schema| Schema::from_json(&schema)).transpose()?,
            codec: self.codec.unwrap_or(default.codec),
            memory_bytes: self.memory_bytes.unwrap_or(default.memory_bytes),
            max_segments: self.max_segments,
            analyzers,
        })
    }
}
