//! The lock of the only writer: a file lock of the operating system, which ends with its process.

#![forbid(unsafe_code)]

use std::{
    fs::{self, TryLockError},
    io::Write,
    path::Path,
};

use super::io_error;
use crate::{
    error::{Error, ErrorKind, Result},
    platform,
};

/// A leading dot: no file of the index has such a name.
const LOCK_NAME: &str = ".writer.lock";
/// Between two tries.
const POLL_MILLIS: u32 = 20;

/// Held by the only writer of a directory. The file names the process; it stays when the lock is given back.
pub struct LocalLock(fs::File);

impl LocalLock {
    pub(super) async fn acquire(directory: &Path, wait_millis: u32) -> Result<Self> {
        let path = directory.join(LOCK_NAME);
        let open = fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(|error| io_error(&path, error))?;
        let mut waited = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if waited < wait_millis => {
                    let nap = POLL_MILLIS.min(wait_millis - waited);
                    platform::sleep_millis(nap).await;
                    waited += nap;
                }
                Err(TryLockError::WouldBlock) => return Err(held_by_another(&path)),
                Err(TryLockError::Error(error)) => return Err(io_error(&path, error)),
            }
        }
        // For whoever waits and wants to know; the lock holds without it.
        let named = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        named.map_err(|error| io_error(&path, error))?;
        Ok(Self(file))
    }
}

fn held_by_another(path: &Path) -> Error {
    let holder = fs::read_to_string(path).unwrap_or_default();
    let holder = match holder.trim().parse::<u32>() {
        Ok(process) if process == std::process::id() => "another writer of this process".to_owned(),
        Ok(process) => format!("process {process}"),
        Err(_) => "another process".to_owned(),
    };
    Error::new(ErrorKind::Locked, format!("{}: {holder} holds it", path.display()))
}

impl Drop for LocalLock {
    fn drop(&mut self) {
        // Closing the file gives the lock back in any case.
        let _ = self.0.set_len(0);
        let _ = self.0.unlock();
    }
}
