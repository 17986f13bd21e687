//! Reading one file of a directory.

#![forbid(unsafe_code)]

use std::{fs, io, ops::Range, sync::Arc, thread};

use bytes::Bytes;

use super::{Directory, io_error};
use crate::{
    error::{Error, ErrorKind, Result},
    storage::{
        File, ReadProfile,
        plan::{PlanLimits, ReadPlan, check_ranges},
    },
};

/// From so many requests on, threads share them: starting one costs about as much as ten reads that miss no cache,
/// and a cold disk answers many reads in the time of one.
const PARALLEL_REQUESTS: usize = 32;

/// A file of a directory. Its handle may be closed and opened again behind the scenes.
#[derive(Clone)]
pub struct LocalFile(Arc<Opened>);

struct Opened {
    directory: Arc<Directory>,
    name: String,
    len: u64,
    id: u64,
}

impl LocalFile {
    pub(super) fn open(directory: &Arc<Directory>, name: &str) -> Result<Self> {
        let path = directory.file_path(name);
        let file = fs::File::open(&path).map_err(|error| io_error(&path, error))?;
        let len = file.metadata().map_err(|error| io_error(&path, error))?.len();
        let id = directory.handles.register(file);
        Ok(Self(Arc::new(Opened { directory: directory.clone(), name: name.to_owned(), len, id })))
    }
}

impl Opened {
    fn handle(&self) -> Result<Arc<fs::File>> {
        if let Some(file) = self.directory.handles.get(self.id) {
            return Ok(file);
        }
        let path = self.directory.file_path(&self.name);
        let file = fs::File::open(&path).map_err(|error| io_error(&path, error))?;
        let len = file.metadata().map_err(|error| io_error(&path, error))?.len();
        if len != self.len {
            let context = format!("{}: had {} bytes, has {len}: reopen the index", path.display(), self.len);
            return Err(Error::new(ErrorKind::IndexChanged, context));
        }
        let file = Arc::new(file);
        self.directory.handles.put(self.id, file.clone());
        Ok(file)
    }

    fn read(&self, file: &fs::File, range: &Range<u64>) -> Result<Bytes> {
        let mut buffer = vec![0; (range.end - range.start) as usize];
        read_exact_at(file, &mut buffer, range.start)
            .map_err(|error| io_error(&self.directory.file_path(&self.name), error))?;
        Ok(buffer.into())
    }

    fn read_all(&self, requests: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let file = self.handle()?;
        if requests.len() < PARALLEL_REQUESTS {
            return requests.iter().map(|request| self.read(&file, request)).collect();
        }
        let share = requests.len().div_ceil(ReadProfile::LOCAL.in_flight);
        thread::scope(|scope| {
            let read_share = |share: &[Range<u64>]| share.iter().map(|request| self.read(&file, request)).collect();
            let readers: Vec<_> = requests
                .chunks(share)
                .map(|share| scope.spawn(move || -> Result<Vec<Bytes>> { read_share(share) }))
                .collect();
            let mut answers = Vec::with_capacity(requests.len());
            for reader in readers {
                answers.extend(reader.join().expect("a reading thread does not panic")?);
            }
            Ok(answers)
        })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.directory.handles.close(self.id);
    }
}

impl File for LocalFile {
    fn len(&self) -> u64 {
        self.0.len
    }

    fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        check_ranges(ranges, self.0.len)?;
        let plan = ReadPlan::new(ranges, PlanLimits::from(&ReadProfile::LOCAL));
        let answers = self.0.read_all(plan.requests())?;
        Ok(plan.assemble(&answers))
    }

    fn prefetch(&self, _ranges: &[Range<u64>]) -> usize {
        0
    }

    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}

#[cfg(unix)]
fn read_exact_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &fs::File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, buffer, offset)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer = &mut buffer[read..];
        offset += read as u64;
    }
    Ok(())
}
