//! The synchronous access handles of this instance: one per file, few at a time, reopened on demand.
//!
//! Browsers give one exclusive handle per file (Chromium also several read-only ones), and Safari few of them in all.
//! Handles are therefore shared by path over the whole instance and the least recently used one is closed when
//! the bound is reached. Nothing here awaits while it holds the pool.
#![forbid(unsafe_code)]

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use js_sys::Object;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{FileSystemFileHandle, FileSystemSyncAccessHandle};

use crate::storage::glue;

/// Open handles at a time in one instance; Safari's own bound was seen at 252 for a whole origin.
pub(super) const MAX_OPEN_HANDLES: usize = 64;

/// Waits before further tries for a handle that something else holds, milliseconds: a page that has just been closed
/// lets go within a moment.
const READ_RETRY_MILLIS: [u32; 2] = [5, 20];
/// The same for writing, where there is no other way.
const WRITE_RETRY_MILLIS: [u32; 9] = [5, 10, 20, 50, 100, 200, 400, 600, 800];

#[derive(Default)]
struct Pool {
    open: HashMap<Rc<str>, Pooled>,
    /// Handles in the hands of writers; they count too.
    writers: usize,
    clock: u64,
    most_open: usize,
}

struct Pooled {
    handle: FileSystemSyncAccessHandle,
    last_used: u64,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
    /// One opening at a time: two for one file would refuse each other.
    static OPENING: glue::Gate = glue::Gate::new(1);
}

impl Pool {
    fn touch(&mut self, path: &str) -> Option<FileSystemSyncAccessHandle> {
        self.clock += 1;
        let pooled = self.open.get_mut(path)?;
        pooled.last_used = self.clock;
        Some(pooled.handle.clone())
    }

    /// Closes handles until another one may be opened.
    fn make_room(&mut self) {
        while self.open.len() + self.writers >= MAX_OPEN_HANDLES {
            let oldest = self.open.iter().min_by_key(|(_, pooled)| pooled.last_used).map(|(path, _)| path.clone());
            let Some(path) = oldest else { return };
            self.close(&path);
        }
    }

    fn close(&mut self, path: &str) {
        if let Some(pooled) = self.open.remove(path) {
            pooled.handle.close();
        }
    }

    fn count(&mut self) {
        self.most_open = self.most_open.max(self.open.len() + self.writers);
    }
}

/// Whether this context has synchronous handles at all: dedicated workers do.
pub(super) fn available(handle: &FileSystemFileHandle) -> bool {
    glue::method(handle, "createSyncAccessHandle").is_some()
}

/// A handle for reading the file at `path`; `None` if something else holds the file or it may not be had here.
/// It is valid until the next await: use it at once.
pub(super) async fn for_reading(path: &Rc<str>, file: &FileSystemFileHandle) -> Option<FileSystemSyncAccessHandle> {
    if let Some(handle) = POOL.with_borrow_mut(|pool| pool.touch(path)) {
        return Some(handle);
    }
    let _turn = OPENING.with(Clone::clone).enter().await;
    if let Some(handle) = POOL.with_borrow_mut(|pool| pool.touch(path)) {
        return Some(handle);
    }
    POOL.with_borrow_mut(Pool::make_room);
    // Read-only handles may be several, in Chromium; browsers without modes ignore the option.
    let handle = create(file, "read-only", &READ_RETRY_MILLIS).await.ok()?;
    POOL.with_borrow_mut(|pool| {
        pool.clock += 1;
        let last_used = pool.clock;
        pool.open.insert(path.clone(), Pooled { handle: handle.clone(), last_used });
        pool.count();
    });
    Some(handle)
}

/// Closes the pooled handle of a file, if any: nobody reads it any more, or it is about to be deleted.
pub(super) fn close(path: &str) {
    POOL.with_borrow_mut(|pool| pool.close(path));
}

/// Most handles that were open at the same time in this instance so far.
pub(super) fn most_open() -> usize {
    POOL.with_borrow(|pool| pool.most_open)
}

/// An exclusive handle; closed when dropped.
pub(super) struct WriteHandle(FileSystemSyncAccessHandle);

impl WriteHandle {
    /// Opens `file` for writing.
    ///
    /// # Errors
    /// What the browser throws; `NoModificationAllowedError` if something holds the file for longer than two seconds.
    pub(super) async fn open(file: &FileSystemFileHandle) -> Result<Self, JsValue> {
        let _turn = OPENING.with(Clone::clone).enter().await;
        POOL.with_borrow_mut(Pool::make_room);
        let handle = create(file, "readwrite", &WRITE_RETRY_MILLIS).await?;
        POOL.with_borrow_mut(|pool| {
            pool.writers += 1;
            pool.count();
        });
        Ok(Self(handle))
    }
}

impl std::ops::Deref for WriteHandle {
    type Target = FileSystemSyncAccessHandle;

    fn deref(&self) -> &FileSystemSyncAccessHandle {
        &self.0
    }
}

impl Drop for WriteHandle {
    fn drop(&mut self) {
        self.0.close();
        POOL.with_borrow_mut(|pool| pool.writers -= 1);
    }
}

async fn create(
    file: &FileSystemFileHandle,
    mode: &str,
    retries: &[u32],
) -> Result<FileSystemSyncAccessHandle, JsValue> {
    let Some(create) = glue::method(file, "createSyncAccessHandle") else {
        return Err(JsValue::from_str("synchronous access handles exist in dedicated workers only"));
    };
    let options = Object::new();
    glue::set(&options, "mode", mode);
    let args = [options.into()];
    let handle = glue::while_held(retries, || glue::call(&create, file, &args)).await?;
    Ok(handle.unchecked_into())
}
