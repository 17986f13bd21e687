//! One directory of the private file system as a [`Storage`].
#![forbid(unsafe_code)]

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use bytes::Bytes;
use js_sys::Object;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{FileSystemDirectoryHandle, FileSystemFileHandle};

use super::{
    OpfsFile, OpfsLock, OpfsWriter, handles, lock,
    reader::{SLICE_PROFILE, get_file, slice},
    writer::{Sink, rename, replace},
};
use crate::{
    error::{Error, ErrorKind, Result},
    platform::sleep_millis,
    storage::{
        CommitSlot, FileEntry, OpenOptions, ReadProfile, Storage, glue,
        memory::{already_exists, check_len},
        names::check_name,
    },
};

/// End of the names of unfinished files: a character that no finished file's name has.
const UNFINISHED: char = '~';

/// Waits before a file that something holds is tried again for deletion, milliseconds.
const DELETE_RETRY_MILLIS: [u32; 4] = [5, 20, 50, 100];
/// Waits before a slot that changed under its reader is read again, milliseconds.
const SLOT_RETRY_MILLIS: [u32; 5] = [2, 5, 10, 20, 50];

/// How to open a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpfsOptions {
    /// Make the directory if it is absent. Default true; without it an absent one is `not_found`.
    pub create: bool,
    /// Never take synchronous handles, as on the main thread. Default false.
    pub slices_only: bool,
}

impl Default for OpfsOptions {
    fn default() -> Self {
        Self { create: true, slices_only: false }
    }
}

/// A directory of the origin private file system. Clones are the same directory.
#[derive(Clone)]
pub struct OpfsStorage(Rc<Shared>);

struct Shared {
    directory: FileSystemDirectoryHandle,
    /// Without slashes at its ends; names handles and the writer lock.
    path: String,
    label: String,
    slices_only: bool,
    gate: glue::Gate,
}

thread_local! {
    /// Open files by path, over all storages of this instance: the last one closes the handle.
    static USERS: RefCell<HashMap<Rc<str>, usize>> = RefCell::default();
}

impl OpfsStorage {
    /// Opens the directory `path` (`notes`, `search/notes`) below the origin's root.
    ///
    /// # Errors
    /// `not_found`; `invalid_argument` for a bad path; `io` where there is no private file system: Node, private
    /// windows of some browsers, pages not served over https or from localhost.
    pub async fn open(path: &str, options: OpfsOptions) -> Result<Self> {
        let path = path.trim_matches('/');
        let label = format!("opfs:{path}");
        let failed = |thrown: &JsValue| glue::error_from(thrown, ErrorKind::Io, &label);
        let mut directory = root().await.map_err(|error| error.at(&label))?;
        for part in path.split('/') {
            check_name(part).map_err(|error| error.at(&label))?;
            directory = child(&directory, part, options.create).await.map_err(|thrown| failed(&thrown))?;
        }
        Ok(Self(Rc::new(Shared {
            directory,
            path: path.to_owned(),
            label,
            slices_only: options.slices_only,
            gate: glue::Gate::new(SLICE_PROFILE.in_flight),
        })))
    }

    /// Removes the directory `path` with everything in it; one that is absent is no error.
    ///
    /// # Errors
    /// `locked` while something reads or writes it; as [`Self::open`].
    pub async fn remove(path: &str) -> Result<()> {
        let path = path.trim_matches('/');
        let label = format!("opfs:{path}");
        let (parents, name) = path.rsplit_once('/').map_or(("", path), |(parents, name)| (parents, name));
        check_name(name).map_err(|error| error.at(&label))?;
        let mut directory = root().await?;
        for part in parents.split('/').filter(|part| !part.is_empty()) {
            directory = match child(&directory, part, false).await {
                Ok(found) => found,
                Err(thrown) if is_absent(&thrown) => return Ok(()),
                Err(thrown) => return Err(glue::error_from(&thrown, ErrorKind::Io, label)),
            };
        }
        remove_entry(&directory, name, true).await.map_err(|thrown| glue::error_from(&thrown, ErrorKind::Io, label))
    }

    /// Most synchronous handles this instance had open at the same time so far; at most 64.
    pub fn most_open_handles() -> usize {
        handles::most_open()
    }

    pub(super) fn slices_only(&self) -> bool {
        self.0.slices_only
    }

    pub(super) fn gate(&self) -> &glue::Gate {
        &self.0.gate
    }

    pub(super) fn label_str(&self) -> &str {
        &self.0.label
    }

    /// What reads like to be asked for here.
    pub(super) fn read_profile(&self) -> ReadProfile {
        let handles = glue::get(&glue::global("FileSystemFileHandle"), "prototype");
        let sync = glue::method(&handles, "createSyncAccessHandle").is_some();
        if sync && !self.0.slices_only { ReadProfile::OPFS } else { SLICE_PROFILE }
    }

    /// Forgets one open file; closes its handle if it was the last.
    pub(super) fn file_closed(&self, path: &Rc<str>) {
        let last = USERS.with_borrow_mut(|users| {
            let Some(count) = users.get_mut(path) else { return true };
            *count -= 1;
            let last = *count == 0;
            if last {
                users.remove(path);
            }
            last
        });
        if last {
            handles::close(path);
        }
    }

    /// Gives a finished file its name.
    pub(super) async fn publish(&self, file: &FileSystemFileHandle, name: &str) -> Result<()> {
        if self.find(name).await?.is_some() {
            return Err(already_exists(name).at(&self.0.label));
        }
        rename(file, name).await.map_err(|thrown| self.failed(&thrown, name))
    }

    /// Removes what is left of an unfinished file; nobody minds if that fails.
    pub(super) async fn remove_leftover(&self, name: &str) {
        let _ = remove_entry(&self.0.directory, &unfinished(name), false).await;
    }

    fn path_of(&self, name: &str) -> Rc<str> {
        format!("{}/{name}", self.0.path).into()
    }

    fn failed(&self, thrown: &JsValue, name: &str) -> Error {
        glue::error_from(thrown, ErrorKind::Io, format!("{}/{name}", self.0.label))
    }

    async fn find(&self, name: &str) -> Result<Option<FileSystemFileHandle>> {
        match file(&self.0.directory, name, false).await {
            Ok(found) => Ok(Some(found)),
            Err(thrown) if is_absent(&thrown) => Ok(None),
            Err(thrown) => Err(self.failed(&thrown, name)),
        }
    }

    /// Handles of the directory's files with their names, unfinished ones included.
    async fn files(&self) -> Result<Vec<(String, FileSystemFileHandle)>> {
        let failed = |thrown: JsValue| glue::error_from(&thrown, ErrorKind::Io, format!("{}: list", self.0.label));
        let values = self.0.directory.values();
        let items = glue::collect(values.as_ref()).await.map_err(failed)?.unwrap_or_default();
        let files = items.into_iter().filter(|item| glue::get(item, "kind").as_string().as_deref() == Some("file"));
        Ok(files.filter_map(|item| Some((glue::get(&item, "name").as_string()?, item.unchecked_into()))).collect())
    }
}

impl Storage for OpfsStorage {
    type File = OpfsFile;
    type Writer = OpfsWriter;
    type Lock = OpfsLock;

    async fn list(&self) -> Result<Vec<FileEntry>> {
        let mut entries = Vec::new();
        for (name, handle) in self.files().await? {
            if check_name(&name).is_err() {
                continue;
            }
            match get_file(&handle).await {
                Ok(blob) => entries.push(FileEntry { name, len: blob.size() as u64 }),
                Err(thrown) if is_absent(&thrown) => {}
                Err(thrown) => return Err(self.failed(&thrown, &name)),
            }
        }
        Ok(entries)
    }

    async fn open(&self, name: &str, options: OpenOptions) -> Result<OpfsFile> {
        check_name(name)?;
        let missing = || Error::new(ErrorKind::NotFound, format!("{}/{name}", self.0.label));
        let handle = self.find(name).await?.ok_or_else(missing)?;
        let blob = get_file(&handle).await.map_err(|thrown| self.failed(&thrown, name))?;
        check_len(name, blob.size() as u64, options.len).map_err(|error| error.at(&self.0.label))?;
        let path = self.path_of(name);
        USERS.with_borrow_mut(|users| *users.entry(path.clone()).or_default() += 1);
        Ok(OpfsFile::new(self.clone(), name, path, handle, blob))
    }

    async fn create(&self, name: &str) -> Result<OpfsWriter> {
        check_name(name)?;
        if self.find(name).await?.is_some() {
            return Err(already_exists(name).at(&self.0.label));
        }
        let failed = |thrown| self.failed(&thrown, name);
        let handle = file(&self.0.directory, &unfinished(name), true).await.map_err(failed)?;
        let sink = Sink::open(&handle, self.0.slices_only).await.map_err(failed)?;
        Ok(OpfsWriter::new(self.clone(), name, handle, sink))
    }

    async fn delete(&self, name: &str) -> Result<()> {
        check_name(name)?;
        handles::close(&self.path_of(name));
        remove_entry(&self.0.directory, name, false).await.map_err(|thrown| self.failed(&thrown, name))
    }

    async fn read_slot(&self, slot: CommitSlot) -> Result<Option<Bytes>> {
        let name = slot.file_name();
        let Some(handle) = self.find(name).await? else { return Ok(None) };
        let mut waits = SLOT_RETRY_MILLIS.iter();
        loop {
            let read = async {
                let blob = get_file(&handle).await?;
                slice(&blob, &(0..blob.size() as u64)).await
            };
            match read.await {
                Ok(bytes) => return Ok(Some(bytes.into())),
                Err(thrown) if is_absent(&thrown) => return Ok(None),
                // The snapshot went stale: a writer is at it. Half a slot is told by its checksum.
                Err(thrown) => match waits.next() {
                    Some(millis) => sleep_millis(*millis).await,
                    None => return Err(self.failed(&thrown, name)),
                },
            }
        }
    }

    async fn write_slot(&self, slot: CommitSlot, bytes: Bytes) -> Result<()> {
        let name = slot.file_name();
        let failed = |thrown| self.failed(&thrown, name);
        let handle = file(&self.0.directory, name, true).await.map_err(failed)?;
        replace(&handle, &bytes, self.0.slices_only).await.map_err(failed)
    }

    async fn lock_writer(&self, wait_millis: u32) -> Result<OpfsLock> {
        let name = format!("rangefind:opfs:{}:writer", self.0.path);
        let lock = lock::acquire(&name, &self.0.label, wait_millis).await?;
        // Whoever was writing before is gone; so are its unfinished files.
        for (name, _) in self.files().await? {
            if name.ends_with(UNFINISHED) {
                let _ = remove_entry(&self.0.directory, &name, false).await;
            }
        }
        Ok(lock)
    }

    fn profile(&self) -> ReadProfile {
        self.read_profile()
    }

    fn label(&self) -> String {
        self.0.label.clone()
    }
}

fn unfinished(name: &str) -> String {
    format!("{name}{UNFINISHED}")
}

async fn root() -> Result<FileSystemDirectoryHandle> {
    let storage = glue::get(&glue::global("navigator"), "storage");
    let none = || Error::new(ErrorKind::Io, "this context has no private file system (navigator.storage.getDirectory)");
    let get_directory = glue::method(&storage, "getDirectory").ok_or_else(none)?;
    let root = glue::call(&get_directory, &storage, &[]).await;
    let root = root.map_err(|thrown| glue::error_from(&thrown, ErrorKind::Io, "navigator.storage.getDirectory"))?;
    Ok(root.unchecked_into())
}

async fn child(
    parent: &FileSystemDirectoryHandle,
    name: &str,
    create: bool,
) -> Result<FileSystemDirectoryHandle, JsValue> {
    Ok(entry(parent, "getDirectoryHandle", name, create).await?.unchecked_into())
}

async fn file(parent: &FileSystemDirectoryHandle, name: &str, create: bool) -> Result<FileSystemFileHandle, JsValue> {
    Ok(entry(parent, "getFileHandle", name, create).await?.unchecked_into())
}

async fn entry(
    parent: &FileSystemDirectoryHandle,
    function: &str,
    name: &str,
    create: bool,
) -> Result<JsValue, JsValue> {
    let options = Object::new();
    glue::set(&options, "create", create);
    let function = glue::method(parent, function).ok_or_else(|| JsValue::from_str("no directory handle"))?;
    glue::call(&function, parent, &[name.into(), options.into()]).await
}

/// Removes a file or directory; an absent one is no error, one that is held is tried again for a moment.
async fn remove_entry(parent: &FileSystemDirectoryHandle, name: &str, recursive: bool) -> Result<(), JsValue> {
    let options = Object::new();
    glue::set(&options, "recursive", recursive);
    let remove = glue::method(parent, "removeEntry").ok_or_else(|| JsValue::from_str("no directory handle"))?;
    let args = [name.into(), options.into()];
    match glue::while_held(&DELETE_RETRY_MILLIS, || glue::call(&remove, parent, &args)).await {
        Err(thrown) if is_absent(&thrown) => Ok(()),
        settled => settled.map(drop),
    }
}

fn is_absent(thrown: &JsValue) -> bool {
    glue::get(thrown, "name").as_string().as_deref() == Some("NotFoundError")
}
