//! [`GpuHost`] of a build without the feature `webgpu`: there is no device. Same names as `host`.

use crate::{
    error::{Error, ErrorKind, Result},
    platform::Cancel,
    storage::File,
    vectors::VectorQuery,
};

use super::{
    rules::{GpuOptions, Job, Mode},
    search::SegmentRows,
};

/// Finds and keeps the device of one engine. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct GpuHost;

/// No value: there is no device.
#[derive(Debug)]
pub(super) enum Device {}

/// Who computes.
#[derive(Debug)]
pub(super) enum Choice {
    /// The CPU, and why.
    Cpu(String),
    /// The device.
    #[allow(dead_code, reason = "there is no device to put in")]
    Gpu(Device),
}

/// Why a search on the device ended early.
#[derive(Debug)]
#[allow(dead_code, reason = "no search is on a device")]
pub(super) enum Interrupted {
    /// The device failed: the CPU answers.
    Device(String),
    /// The search itself failed or was cancelled.
    Search(Error),
}

/// A row that may be among the best.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code, reason = "no search is on a device")]
pub(super) struct Candidate {
    /// Position of its segment in the search.
    pub(super) segment_ix: u32,
    /// Its vector.
    pub(super) ord: u32,
}

/// What one query has left.
#[derive(Debug)]
pub(super) struct Survivors {
    /// Rows to score exactly.
    pub(super) candidates: Vec<Candidate>,
    /// No row that was dropped scores above this; `None` if none was dropped.
    pub(super) bound: Option<f32>,
}

impl GpuHost {
    /// A host that has looked for nothing yet.
    pub fn new(_options: GpuOptions) -> Self {
        Self
    }

    pub(super) async fn choose(&self, mode: Mode, _job: &Job) -> Result<Choice> {
        match mode {
            Mode::Off => Ok(Choice::Cpu("cpu".to_owned())),
            Mode::Auto => Ok(Choice::Cpu("cpu: built without WebGPU".to_owned())),
            Mode::Required => Err(Error::new(ErrorKind::NoGpu, "this build has no WebGPU")),
        }
    }
}

impl Device {
    pub(super) fn name(&self) -> String {
        match *self {}
    }

    pub(super) async fn survivors<F: File>(
        &self,
        _segments: &[SegmentRows<'_, F>],
        _queries: &[VectorQuery],
        _job: &Job,
        _cancel: &Cancel,
    ) -> Result<Vec<Survivors>, Interrupted> {
        match *self {}
    }
}
