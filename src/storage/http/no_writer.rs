//! The writer of storages that only read.

#![forbid(unsafe_code)]

use bytes::Bytes;

use crate::{error::Result, storage::Writer};

/// What an HTTP storage would write with; there is none.
pub enum NoWriter {}

impl Writer for NoWriter {
    async fn append(&mut self, _bytes: Bytes) -> Result<()> {
        match *self {}
    }

    async fn finish(self) -> Result<u64> {
        match self {}
    }
}
