//! Where an index is: a directory or a URL.

use rangefind::{
    engine::{Index, OpenMode, OpenOptions},
    error::Result,
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
