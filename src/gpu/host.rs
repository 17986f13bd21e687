//! [`GpuHost`]: finds the device of one engine when it is first of use, keeps it, replaces it after a loss.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    error::{Error, ErrorKind, Result},
    platform::Cancel,
    storage::File,
    vectors::{VectorOrd, VectorQuery},
};

use super::{
    device::{Adapter, AdapterName, Gpu, GpuFailure},
    flat_job::{FlatJob, fits_device, max_queries},
    layout::MAX_K,
    rounds::Rounds,
    rules::{GpuOptions, Job, Mode},
    search::SegmentRows,
};

pub(super) use super::flat_job::Survivors;

/// Losses after which `auto` stops asking for a device.
const MAX_LOSSES: u32 = 2;

#[derive(Debug, Default)]
struct State {
    gpu: Option<Arc<Gpu>>,
    /// Adapter that `auto` declined.
    software: Option<AdapterName>,
    /// Why there is none.
    missing: Option<String>,
    losses: u32,
}

/// Finds and keeps the device of one engine. Clones share it. Nothing is looked for before a search could use it.
#[derive(Debug, Clone, Default)]
pub struct GpuHost {
    options: GpuOptions,
    state: Arc<Mutex<State>>,
}

/// An open device, on loan to one search.
#[derive(Debug)]
pub(super) struct Device {
    host: GpuHost,
    gpu: Arc<Gpu>,
}

/// Who computes.
#[derive(Debug)]
pub(super) enum Choice {
    /// The CPU, and why.
    Cpu(String),
    /// The device.
    Gpu(Device),
}

/// Why a search on the device ended early.
#[derive(Debug)]
pub(super) enum Interrupted {
    /// The device failed: the CPU answers.
    Device(String),
    /// The search itself failed or was cancelled.
    Search(Error),
}

impl From<Error> for Interrupted {
    fn from(error: Error) -> Self {
        Self::Search(error)
    }
}

impl GpuHost {
    /// A host that has looked for nothing yet.
    pub fn new(options: GpuOptions) -> Self {
        Self { options, state: Arc::default() }
    }

    /// Destroys the device as a driver reset would, for tests of what happens then. Says whether there was one.
    #[doc(hidden)]
    pub fn lose_device(&self) -> bool {
        let gpu = self.lock().gpu.clone();
        gpu.inspect(|gpu| gpu.device.destroy()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn choose(&self, mode: Mode, job: &Job) -> Result<Choice> {
        let cpu = |reason: String| Ok(Choice::Cpu(format!("cpu: {reason}")));
        match mode {
            Mode::Off => return Ok(Choice::Cpu("cpu".to_owned())),
            Mode::Auto => {
                if let Some(reason) = job.too_small_for_auto() {
                    return cpu(reason);
                }
            }
            Mode::Required => {}
        }
        let device = match self.device(mode).await {
            Ok(device) => device,
            Err(reason) if mode == Mode::Required => return Err(Error::new(ErrorKind::NoGpu, reason)),
            Err(reason) => return cpu(reason),
        };
        if job.k > MAX_K {
            return cpu(format!("k {} is above the {MAX_K} that a GPU selects", job.k));
        }
        Ok(Choice::Gpu(device))
    }

    /// The device, found now if need be; the error says in words why it is not to be used.
    async fn device(&self, mode: Mode) -> Result<Device, String> {
        let declined = |name: &AdapterName| format!("software adapter declined ({name})");
        {
            let mut state = self.lock();
            if let Some(gpu) = state.gpu.clone() {
                match gpu.check() {
                    Ok(()) if mode == Mode::Auto && gpu.name.is_software => return Err(declined(&gpu.name)),
                    Ok(()) => return Ok(Device { host: self.clone(), gpu }),
                    Err(_) => state.give_up(&gpu),
                }
            }
            if mode == Mode::Auto {
                let known = state.missing.clone().or_else(|| state.software.as_ref().map(declined));
                if let Some(reason) = known {
                    return Err(reason);
                }
            }
        }
        // Two searches at once may both come here; the second device found is dropped.
        let opened = match Adapter::find().await {
            Ok(adapter) if mode == Mode::Auto && adapter.name.is_software => {
                let reason = declined(&adapter.name);
                self.lock().software = Some(adapter.name);
                return Err(reason);
            }
            Ok(adapter) => adapter.open(self.options.budget_bytes).await,
            Err(reason) => Err(reason),
        };
        let mut state = self.lock();
        match opened {
            Ok(gpu) => {
                state.missing = None;
                let gpu = Arc::clone(state.gpu.get_or_insert_with(|| Arc::new(gpu)));
                Ok(Device { host: self.clone(), gpu })
            }
            Err(reason) => {
                state.missing = Some(reason.clone());
                Err(reason)
            }
        }
    }
}

impl State {
    /// Forgets a device that failed.
    fn give_up(&mut self, failed: &Arc<Gpu>) {
        if self.gpu.as_ref().is_some_and(|gpu| Arc::ptr_eq(gpu, failed)) {
            self.gpu = None;
            self.losses += 1;
            if self.losses >= MAX_LOSSES {
                self.missing = Some(format!("the device was lost {} times", self.losses));
            }
        }
    }
}

impl Device {
    /// Name of the adapter.
    pub(super) fn name(&self) -> String {
        self.gpu.name.to_string()
    }

    fn failed(&self, failure: GpuFailure) -> Interrupted {
        // Too little memory for this job is no reason to drop the device.
        if !matches!(failure, GpuFailure::Memory(_)) {
            self.host.lock().give_up(&self.gpu);
        }
        Interrupted::Device(failure.to_string())
    }

    /// Reads all rows and gives, per query, those that may be among the best `k` documents. `queries` are those of
    /// each segment, the same vectors.
    pub(super) async fn survivors<F: File>(
        &self,
        segments: &[SegmentRows<'_, F>],
        queries: &[VectorQuery],
        job: &Job,
        cancel: &Cancel,
    ) -> Result<Vec<Survivors>, Interrupted> {
        if !fits_device(queries) {
            return Err(Interrupted::Device("query components of extreme size".to_owned()));
        }
        let mut survivors = Vec::with_capacity(queries.len());
        for batch in queries.chunks(max_queries(&self.gpu, job.dims as usize)) {
            survivors.extend(self.batch(segments, batch, job, cancel).await?);
        }
        Ok(survivors)
    }

    async fn batch<F: File>(
        &self,
        segments: &[SegmentRows<'_, F>],
        queries: &[VectorQuery],
        job: &Job,
        cancel: &Cancel,
    ) -> Result<Vec<Survivors>, Interrupted> {
        let num_rows = segments.iter().map(|segment| u64::from(segment.reader.count())).sum();
        let mut flat =
            FlatJob::new(&self.gpu, queries, job.k, num_rows).await.map_err(|failure| self.failed(failure))?;
        for (segment_ix, segment) in segments.iter().enumerate() {
            let mut rounds = Rounds::plan(segment).await?;
            while let Some(windows) = rounds.read(segment).await? {
                for (window, bytes) in &windows {
                    cancel.check()?;
                    segment
                        .reader
                        .verify_window(window, bytes, segment.accept, rounds.verify)
                        .map_err(|error| segment.corrupt(error))?;
                    let is_accepted = |ord| {
                        let doc = segment.reader.doc_in(window, VectorOrd(ord));
                        segment.accept.is_none_or(|accept| accept.contains(doc.0))
                    };
                    let pushed = flat.push(segment_ix as u32, window, bytes, is_accepted).await;
                    pushed.map_err(|failure| self.failed(failure))?;
                }
            }
        }
        flat.finish().await.map_err(|failure| self.failed(failure))
    }
}
