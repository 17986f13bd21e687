//! What a command that fails leaves at the place of its new index: nothing that was not there before.

#![forbid(unsafe_code)]

use std::{
    collections::HashSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use rangefind::{
    engine::{Index, OpenMode, OpenOptions},
    error::{ErrorKind, Result},
    storage::{
        AnyStorage, CommitSlot, Storage,
        local::{LocalOptions, LocalStorage},
    },
};

use super::output::{Output, plural};

/// What was at a place before a command wrote there.
pub struct Before {
    path: PathBuf,
    /// Names in the directory.
    names: HashSet<OsString>,
    /// Directories that were not there, the innermost first: the place itself and those above it.
    missing: Vec<PathBuf>,
}

impl Before {
    /// Looks at the place. What cannot be read is taken for something to leave alone.
    pub fn look(path: &Path) -> Self {
        let is_absent = |path: &&Path| !path.as_os_str().is_empty() && fs::symlink_metadata(path).is_err();
        let missing = path.ancestors().take_while(is_absent).map(Path::to_owned).collect();
        let names = fs::read_dir(path).into_iter().flatten().filter_map(Result::<_, io::Error>::ok);
        Self { path: path.to_owned(), names: names.map(|entry| entry.file_name()).collect(), missing }
    }

    /// Removes what a failed command left: an index without documents, files that belong to none, directories it made.
    /// An index with documents stays, which the last step of a build, its merge, may leave; so does everything where
    /// another writer is at work.
    pub async fn restore(self, output: Output) {
        // The failure itself is told by the caller: what cannot be removed adds nothing to it.
        let _ = self.remove(output).await;
    }

    async fn remove(&self, output: Output) -> Result<()> {
        let has_slot = CommitSlot::ALL.iter().any(|slot| self.names.contains(&OsString::from(slot.file_name())));
        if has_slot || !self.path.is_dir() {
            return Ok(());
        }
        let storage: AnyStorage = LocalStorage::new(&self.path, LocalOptions::default()).into();
        let lock = storage.lock_writer(0).await?;
        let open = OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() };
        match Index::open(storage.clone(), open).await {
            Ok(index) => {
                let info = index.info()?;
                if !info.segments.is_empty() {
                    let (docs, segments) = (plural(info.num_docs, "document"), info.segments.len() as u64);
                    let (path, segments) = (self.path.display(), plural(segments, "segment"));
                    output.remark(format_args!("{path} has all {docs} in {segments}; `rangefind merge` merges them"));
                    return Ok(());
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        for entry in storage.list().await? {
            let is_ours = [".rf", ".seg", ".live", ".spill"].iter().any(|ending| entry.name.ends_with(ending));
            if is_ours && !self.names.contains(&OsString::from(&entry.name)) {
                storage.delete(&entry.name).await?;
            }
        }
        let lock_file = OsString::from(LOCK_NAME);
        if !self.names.contains(&lock_file) {
            let _ = fs::remove_file(self.path.join(lock_file));
        }
        drop(lock);
        // Directories that are not empty stay.
        for directory in &self.missing {
            if fs::remove_dir(directory).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// The file of the writer's lock, which outlasts it.
const LOCK_NAME: &str = ".writer.lock";
