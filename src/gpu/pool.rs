//! Device buffers under one budget: taken by size class, given back on drop, destroyed when the budget is short.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::device::GpuFailure;

/// Smallest buffer: tiny sizes share one class. Classes are powers of two, as the shares of the budget are.
const MIN_BYTES: u64 = 4 << 10;

/// A free buffer serves a request that fills at least a quarter of it.
const MAX_WASTE: u64 = 4;

#[derive(Debug)]
struct Pooled {
    buffer: wgpu::Buffer,
    usage: wgpu::BufferUsages,
}

#[derive(Debug)]
struct State {
    free: Vec<Pooled>,
    held_bytes: u64,
    peak_bytes: u64,
}

#[derive(Debug)]
struct Shared {
    budget_bytes: u64,
    state: Mutex<State>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Some browsers free a buffer only when told to.
        self.lock().free.iter().for_each(|pooled| pooled.buffer.destroy());
    }
}

/// The buffers of one device. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct BufferPool(Arc<Shared>);

impl BufferPool {
    pub(super) fn new(budget_bytes: u64) -> Self {
        let state = State { free: Vec::new(), held_bytes: 0, peak_bytes: 0 };
        Self(Arc::new(Shared { budget_bytes, state: Mutex::new(state) }))
    }

    /// A buffer of at least `bytes`. Its content is whatever it was. Free buffers are destroyed, oldest first,
    /// to keep within the budget.
    pub(super) async fn take(
        &self,
        device: &wgpu::Device,
        label: &'static str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<PoolBuffer, GpuFailure> {
        let size = bytes.max(MIN_BYTES).next_power_of_two();
        if let Some(buffer) = self.reserve(size, usage)? {
            return Ok(PoolBuffer { pool: self.clone(), buffer: Some(buffer), usage });
        }
        // The failure of a creation arrives later, at the scope.
        let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let descriptor = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
        let buffer = PoolBuffer { pool: self.clone(), buffer: Some(device.create_buffer(&descriptor)), usage };
        match scope.pop().await {
            None => Ok(buffer),
            Some(error) => {
                buffer.discard();
                Err(GpuFailure::Memory(format!("{label} of {size} bytes: {error}")))
            }
        }
    }

    /// A free buffer that fits, or the right to create one.
    fn reserve(&self, size: u64, usage: wgpu::BufferUsages) -> Result<Option<wgpu::Buffer>, GpuFailure> {
        let mut state = self.0.lock();
        let fits = |pooled: &Pooled| {
            pooled.usage == usage && pooled.buffer.size() >= size && pooled.buffer.size() <= size * MAX_WASTE
        };
        if let Some(at) = state.free.iter().position(fits) {
            return Ok(Some(state.free.remove(at).buffer));
        }
        while state.held_bytes + size > self.0.budget_bytes && !state.free.is_empty() {
            let oldest = state.free.remove(0).buffer;
            state.held_bytes -= oldest.size();
            oldest.destroy();
        }
        if state.held_bytes + size > self.0.budget_bytes {
            let (held, budget) = (state.held_bytes, self.0.budget_bytes);
            return Err(GpuFailure::Memory(format!(
                "{size} bytes more than the {held} in use pass the budget {budget}"
            )));
        }
        state.held_bytes += size;
        state.peak_bytes = state.peak_bytes.max(state.held_bytes);
        Ok(None)
    }

    /// Bytes of all buffers, in use and free.
    #[cfg(all(test, not(target_arch = "wasm32")))]
    pub(super) fn held_bytes(&self) -> u64 {
        self.0.lock().held_bytes
    }

    /// The most they ever were.
    #[cfg(all(test, not(target_arch = "wasm32")))]
    pub(super) fn peak_bytes(&self) -> u64 {
        self.0.lock().peak_bytes
    }
}

/// A buffer on loan; goes back to its pool on drop.
#[derive(Debug)]
pub(super) struct PoolBuffer {
    pool: BufferPool,
    buffer: Option<wgpu::Buffer>,
    usage: wgpu::BufferUsages,
}

impl PoolBuffer {
    pub(super) fn get(&self) -> &wgpu::Buffer {
        self.buffer.as_ref().expect("taken only when dropped")
    }

    /// Destroys the buffer instead of giving it back: after an error its state is unknown.
    pub(super) fn discard(mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.pool.0.lock().held_bytes -= buffer.size();
            buffer.destroy();
        }
    }
}

impl Drop for PoolBuffer {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.pool.0.lock().free.push(Pooled { buffer, usage: self.usage });
        }
    }
}
