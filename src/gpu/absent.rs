//! [`GpuHost`] of a build without the feature `webgpu`: there is no device.

use crate::error::{Error, ErrorKind, Result};

use super::rules::{GpuOptions, Job, Mode};

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
