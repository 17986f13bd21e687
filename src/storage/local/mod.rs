//! Files of a directory, read with positioned reads.
//!
//! Writing is careful: a new file grows under a hidden name and gets its own when all of it is on the disk; a slot is
//! replaced the same way. `handles` keeps the number of open files within a budget, `lock` holds the writer's lock.

#![forbid(unsafe_code)]

mod file;
mod handles;
mod lock;
mod writer;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;

pub use file::LocalFile;
use handles::Handles;
pub use lock::LocalLock;
pub use writer::LocalWriter;

use super::{
    CommitSlot, FileEntry, OpenOptions, ReadProfile, Storage,
    memory::{already_exists, check_len},
    names::check_name,
};
use crate::error::{Error, ErrorKind, Result};

/// Knobs of a [`LocalStorage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalOptions {
    /// Files open for reading at a time; further ones are closed and opened again on demand. Default 64.
    pub max_open_files: usize,
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self { max_open_files: 64 }
    }
}

/// A directory as a namespace. Clones are the same; several in one process or in many may read at a time.
#[derive(Clone)]
pub struct LocalStorage(Arc<Directory>);

struct Directory {
    path: PathBuf,
    handles: Handles,
}

impl LocalStorage {
    /// The directory at `path`, which need not exist: it is made by the first write.
    pub fn new(path: impl Into<PathBuf>, options: LocalOptions) -> Self {
        Self(Arc::new(Directory { path: path.into(), handles: Handles::new(options.max_open_files) }))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Files that are open for reading now.
    pub fn open_files(&self) -> usize {
        self.0.handles.open()
    }
}

impl Directory {
    fn file_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Where a file is while it is written: a leading dot is no name, so nobody reads it.
    fn temp_path(&self, name: &str) -> PathBuf {
        self.path.join(format!(".{name}{TEMP_SUFFIX}"))
    }

    fn make(&self) -> Result<()> {
        fs::create_dir_all(&self.path).map_err(|error| io_error(&self.path, error))
    }

    /// Makes renames and removals durable.
    fn sync(&self) -> Result<()> {
        sync_directory(&self.path).map_err(|error| io_error(&self.path, error))
    }

    /// Removes what interrupted writers left. Only for the holder of the lock.
    fn remove_leftovers(&self) -> Result<()> {
        for entry in fs::read_dir(&self.path).map_err(|error| io_error(&self.path, error))? {
            let entry = entry.map_err(|error| io_error(&self.path, error))?;
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(TEMP_SUFFIX)) {
                remove_if_there(&entry.path())?;
            }
        }
        Ok(())
    }
}

const TEMP_SUFFIX: &str = ".tmp";

impl Storage for LocalStorage {
    type File = LocalFile;
    type Writer = LocalWriter;
    type Lock = LocalLock;

    async fn list(&self) -> Result<Vec<FileEntry>> {
        let path = &self.0.path;
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_error(path, error)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| io_error(path, error))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if check_name(&name).is_err() {
                continue;
            }
            match entry.metadata() {
                Ok(meta) if meta.is_file() => files.push(FileEntry { name, len: meta.len() }),
                Ok(_) => {}
                // Removed since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io_error(&entry.path(), error)),
            }
        }
        Ok(files)
    }

    async fn open(&self, name: &str, options: OpenOptions) -> Result<LocalFile> {
        check_name(name)?;
        let file = LocalFile::open(&self.0, name)?;
        check_len(name, super::File::len(&file), options.len)?;
        Ok(file)
    }

    async fn create(&self, name: &str) -> Result<LocalWriter> {
        check_name(name)?;
        self.0.make()?;
        if self.0.file_path(name).exists() {
            return Err(already_exists(name));
        }
        LocalWriter::create(&self.0, name)
    }

    async fn delete(&self, name: &str) -> Result<()> {
        check_name(name)?;
        remove_if_there(&self.0.file_path(name))
    }

    async fn read_slot(&self, slot: CommitSlot) -> Result<Option<Bytes>> {
        let path = self.0.file_path(slot.file_name());
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error(&path, error)),
        }
    }

    async fn write_slot(&self, slot: CommitSlot, bytes: Bytes) -> Result<()> {
        self.0.make()?;
        writer::replace(&self.0, slot.file_name(), &bytes)
    }

    async fn lock_writer(&self, wait_millis: u32) -> Result<LocalLock> {
        self.0.make()?;
        let lock = LocalLock::acquire(&self.0.path, wait_millis).await?;
        self.0.remove_leftovers()?;
        Ok(lock)
    }

    fn profile(&self) -> ReadProfile {
        ReadProfile::LOCAL
    }

    fn label(&self) -> String {
        self.0.path.display().to_string()
    }
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(path, error)),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

/// Elsewhere a directory cannot be opened to be flushed; the system orders its own changes.
#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// The error of the crate for an error of the operating system at `path`.
fn io_error(path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => ErrorKind::Quota,
        io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        _ => ErrorKind::Io,
    };
    Error::with_source(kind, path.display().to_string(), error)
}

#[cfg(test)]
mod tests;
