//! Writing one file of a directory: hidden until all of it is on the disk.

#![forbid(unsafe_code)]

use std::{
    fs,
    io::{BufWriter, Write},
    sync::Arc,
};

use bytes::Bytes;

use super::{Directory, already_exists, io_error};
use crate::{
    error::{Error, ErrorKind, Result},
    storage::Writer,
};

/// Small appends are gathered to writes of this length.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes a new file. Dropped unfinished, it removes what it wrote.
pub struct LocalWriter {
    directory: Arc<Directory>,
    name: String,
    len: u64,
    /// `None` once finished or failed.
    file: Option<BufWriter<fs::File>>,
}

impl LocalWriter {
    pub(super) fn create(directory: &Arc<Directory>, name: &str) -> Result<Self> {
        let path = directory.temp_path(name);
        let file = fs::File::create(&path).map_err(|error| io_error(&path, error))?;
        let file = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        Ok(Self { directory: directory.clone(), name: name.to_owned(), len: 0, file })
    }

    fn publish(&self, file: BufWriter<fs::File>) -> Result<()> {
        let temp = self.directory.temp_path(&self.name);
        let file = file.into_inner().map_err(|error| io_error(&temp, error.into_error()))?;
        file.sync_all().map_err(|error| io_error(&temp, error))?;
        let path = self.directory.file_path(&self.name);
        if path.exists() {
            return Err(already_exists(&self.name));
        }
        fs::rename(&temp, &path).map_err(|error| io_error(&path, error))?;
        self.directory.sync()
    }
}

impl Writer for LocalWriter {
    async fn append(&mut self, bytes: Bytes) -> Result<()> {
        let Some(file) = &mut self.file else {
            return Err(Error::new(ErrorKind::Closed, format!("writer of {}: it failed before", self.name)));
        };
        if let Err(error) = file.write_all(&bytes) {
            self.file = None;
            return Err(io_error(&self.directory.temp_path(&self.name), error));
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    async fn finish(mut self) -> Result<u64> {
        let Some(file) = self.file.take() else {
            return Err(Error::new(ErrorKind::Closed, format!("writer of {}: it failed before", self.name)));
        };
        self.publish(file)?;
        Ok(self.len)
    }
}

impl Drop for LocalWriter {
    fn drop(&mut self) {
        // After a rename there is nothing under the hidden name. What cannot be removed now, the next writer removes.
        let _ = fs::remove_file(self.directory.temp_path(&self.name));
    }
}

/// Replaces a small file: a crash leaves the old or the new content.
pub(super) fn replace(directory: &Directory, name: &str, bytes: &[u8]) -> Result<()> {
    let temp = directory.temp_path(name);
    let write = || {
        let mut file = fs::File::create(&temp)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| io_error(&temp, error))?;
    let path = directory.file_path(name);
    fs::rename(&temp, &path).map_err(|error| io_error(&path, error))?;
    directory.sync()
}
