//! Where an index is: a directory or a URL.

use std::path::Path;

use rangefind::{
    engine::{Index, OpenMode, OpenOptions},
    error::{Error, Result},
    storage::{
        AnyStorage,
        http::{HttpOptions, HttpStorage},
        local::{LocalOptions, LocalStorage},
    },
};

/// Whether `place` is an address rather than a path.
pub fn is_url(place: &str) -> bool {
    place.starts_with("http://") || place.starts_with("https://")
}

/// The storage of a new index at `path`.
///
/// # Errors
/// `invalid_argument` for an address: nothing is written there, and a directory of that name helps nobody.
pub fn new_storage(path: &Path) -> Result<AnyStorage> {
    if path.to_str().is_some_and(|path| path.contains("://")) {
        let path = path.display();
        return Err(Error::invalid(format!("--out {path}: an index is written to a directory, not to an address")));
    }
    Ok(LocalStorage::new(path, LocalOptions::default()).into())
}

/// The storage at `place`.
///
/// # Errors
/// `invalid_argument` for an address that cannot be one.
pub fn storage(place: &str) -> Result<AnyStorage> {
    if is_url(place) {
        return Ok(HttpStorage::new(place, HttpOptions::default())?.into());
    }
    Ok(LocalStorage::new(place, LocalOptions::default()).into())
}

/// Opens the index at `place` for reading.
///
/// # Errors
/// As [`Index::open`].
pub async fn open(place: &str) -> Result<Index<AnyStorage>> {
    Index::open(storage(place)?, OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() }).await
}
