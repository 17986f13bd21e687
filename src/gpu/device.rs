//! One device: found without ever touching wgpu where there is none, watched for loss, with its pipelines.
//!
//! Nothing here panics on a failing device: each operation ends with a [`GpuFailure`], after which the caller
//! computes on the CPU.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use futures_channel::oneshot;
use thiserror::Error;

use crate::platform;

use super::{kernels::Kernels, pool::BufferPool};

/// Why the device did not finish.
#[derive(Debug, Clone, Error)]
pub(super) enum GpuFailure {
    /// The device is gone: driver reset, memory pressure, destroyed.
    #[error("device lost: {0}")]
    Lost(String),
    /// No room within the budget or on the device.
    #[error("device memory: {0}")]
    Memory(String),
    /// The device refused a command: an error of ours.
    #[error("device error: {0}")]
    Command(String),
}

/// What an adapter says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AdapterName {
    pub(super) name: String,
    /// Computes on the CPU: good for tests, slower than our own SIMD.
    pub(super) is_software: bool,
}

/// Parts of names of adapters that compute on the CPU, for hosts that do not say so themselves.
const SOFTWARE_NAMES: [&str; 6] = ["swiftshader", "llvmpipe", "lavapipe", "softpipe", "basic render", "software"];

impl AdapterName {
    fn of(info: &wgpu::AdapterInfo) -> Self {
        let name = [info.name.as_str(), info.driver_info.as_str()].join(" ").trim().to_owned();
        let lower = name.to_lowercase();
        let is_software =
            info.device_type == wgpu::DeviceType::Cpu || SOFTWARE_NAMES.iter().any(|part| lower.contains(part));
        let name = if info.name.is_empty() { "unnamed adapter".to_owned() } else { info.name.clone() };
        Self { name, is_software }
    }
}

impl fmt::Display for AdapterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// An adapter that was found, no device yet.
#[derive(Debug)]
pub(super) struct Adapter {
    inner: wgpu::Adapter,
    pub(super) name: AdapterName,
}

impl Adapter {
    /// The adapter of this machine; the error says in words why there is none.
    pub(super) async fn find() -> Result<Self, String> {
        let instance = super::instance::create()?;
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..wgpu::RequestAdapterOptions::default()
        };
        let inner = instance.request_adapter(&options).await.map_err(|_| "no WebGPU adapter".to_owned())?;
        let name = AdapterName::of(&inner.get_info());
        Ok(Self { inner, name })
    }

    /// Opens the device. Asks for larger buffers where the adapter has them, for nothing else beyond the defaults.
    pub(super) async fn open(self, budget_bytes: u64) -> Result<Gpu, String> {
        let offered = self.inner.limits();
        let required_limits = wgpu::Limits {
            max_storage_buffer_binding_size: offered.max_storage_buffer_binding_size,
            max_buffer_size: offered.max_buffer_size,
            ..wgpu::Limits::default()
        };
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("rangefind device"),
            required_limits,
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) =
            self.inner.request_device(&descriptor).await.map_err(|error| format!("no device: {error}"))?;
        let watch = Arc::new(Watch::default());
        let lost = Arc::clone(&watch);
        device.set_device_lost_callback(move |reason, message| {
            lost.report(GpuFailure::Lost(if message.is_empty() { format!("{reason:?}") } else { message }));
        });
        let failed = Arc::clone(&watch);
        // Without a handler the first error after a loss would end the process.
        device.on_uncaptured_error(Arc::new(move |error| failed.report(GpuFailure::Command(one_line(&error)))));
        // What was granted, not what was asked for.
        let max_binding_bytes = device.limits().max_storage_buffer_binding_size.min(device.limits().max_buffer_size);
        let (name, pool) = (self.name, BufferPool::new(budget_bytes));
        Ok(Gpu { device, queue, name, max_binding_bytes, budget_bytes, pool, watch, kernels: OnceLock::new() })
    }
}

/// Validation errors come as paragraphs; the reason shown to people is a line.
fn one_line(error: &wgpu::Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// First failure that the device reported by itself.
#[derive(Debug, Default)]
struct Watch(Mutex<Option<GpuFailure>>);

impl Watch {
    fn report(&self, failure: GpuFailure) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A loss explains the errors that follow from it.
        if !matches!(*slot, Some(GpuFailure::Lost(_))) {
            *slot = Some(failure);
        }
    }

    fn failure(&self) -> Option<GpuFailure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A read-back on its way.
#[derive(Debug)]
pub(super) struct Mapping {
    receiver: oneshot::Receiver<(Result<(), wgpu::BufferAsyncError>, f64)>,
    bytes: u64,
}

/// An open device.
#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) name: AdapterName,
    /// Bytes that one storage binding may have.
    pub(super) max_binding_bytes: u64,
    pub(super) budget_bytes: u64,
    pool: BufferPool,
    watch: Arc<Watch>,
    kernels: OnceLock<Kernels>,
}

impl Gpu {
    /// The pipelines, compiled at first use: software adapters take seconds for it.
    pub(super) fn kernels(&self) -> &Kernels {
        self.kernels.get_or_init(|| Kernels::new(&self.device))
    }

    /// A buffer out of the pool.
    pub(super) async fn buffer(
        &self,
        label: &'static str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<super::pool::PoolBuffer, GpuFailure> {
        self.check()?;
        self.pool.take(&self.device, label, bytes, usage).await
    }

    /// # Errors
    /// What the device reported, once it did; a device that failed stays failed.
    pub(super) fn check(&self) -> Result<(), GpuFailure> {
        // Natively a loss is only reported by the next poll; on the web this does nothing.
        let _ = self.device.poll(wgpu::PollType::Poll);
        self.watch.failure().map_or(Ok(()), Err)
    }

    /// Asks for the first `bytes` of a staging buffer that the last submission fills.
    pub(super) fn start_read(&self, staging: &wgpu::Buffer, bytes: u64) -> Mapping {
        let (sender, receiver) = oneshot::channel();
        staging.map_async(wgpu::MapMode::Read, 0..bytes, move |result| {
            let _ = sender.send((result, platform::now_millis()));
        });
        self.poll_in_background();
        Mapping { receiver, bytes }
    }

    /// Waits for the bytes and copies them out; also gives the moment they were there.
    pub(super) async fn finish_read(
        &self,
        staging: &wgpu::Buffer,
        mapping: Mapping,
    ) -> Result<(Vec<u8>, f64), GpuFailure> {
        let mapped = mapping.receiver.await;
        self.check()?;
        let millis = match mapped {
            Ok((Ok(()), millis)) => millis,
            Ok((Err(error), _)) => return Err(GpuFailure::Command(error.to_string())),
            Err(_) => return Err(GpuFailure::Lost("a read-back was dropped".to_owned())),
        };
        let copy = match staging.get_mapped_range(0..mapping.bytes) {
            Ok(view) => view.to_vec(),
            Err(error) => return Err(GpuFailure::Command(error.to_string())),
        };
        staging.unmap();
        Ok((copy, millis))
    }

    /// Drives callbacks. Browsers do it by themselves; natively a background thread waits for the device, so that
    /// no thread of the caller blocks.
    fn poll_in_background(&self) {
        if cfg!(not(target_arch = "wasm32")) {
            let device = self.device.clone();
            platform::spawn(async move {
                // A failure reaches the callbacks and the watch.
                let _ = device.poll(wgpu::PollType::wait_indefinitely());
            });
        }
    }

    /// The pool, for tests of the budget.
    #[cfg(all(test, not(target_arch = "wasm32")))]
    pub(super) fn pool(&self) -> &BufferPool {
        &self.pool
    }
}
