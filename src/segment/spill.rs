//! A stream set aside while another one is being written to the segment file: in memory while small, in a
//! temporary file beyond that.

use bytes::Bytes;

use super::writer::{APPEND_LEN, SegmentFileWriter};
use crate::{
    error::Result,
    ids::SegmentId,
    storage::{Access, File, OpenOptions, Pattern, Purpose, Storage, Writer},
};

/// Name of the temporary file of stream `number` of segment `id`.
pub fn spill_file_name(id: SegmentId, number: u32) -> String {
    format!("{id}-{number}.spill")
}

/// One set-aside stream. [`Spill::drain_into`] or [`Spill::discard`] ends it; a leftover of a crash is
/// collected like every file that no commit references.
#[derive(Debug)]
pub struct Spill<S: Storage> {
    storage: S,
    name: String,
    memory: Vec<u8>,
    budget: usize,
    file: Option<S::Writer>,
    file_len: u64,
}

impl<S: Storage> Spill<S> {
    /// An empty stream, number `number` of the file of segment `id`, held in memory up to `budget` bytes.
    pub fn new(storage: &S, id: SegmentId, number: u32, budget: usize) -> Self {
        let name = spill_file_name(id, number);
        Self { storage: storage.clone(), name, memory: Vec::new(), budget, file: None, file_len: 0 }
    }

    /// Name of the temporary file, should there be one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes in all.
    pub fn len(&self) -> u64 {
        self.file_len + self.memory.len() as u64
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        self.memory.capacity()
    }

    /// Appends; `bytes` is drained and keeps its capacity.
    ///
    /// # Errors
    /// Storage's own.
    pub async fn append(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        self.memory.append(bytes);
        if self.memory.len() <= self.budget {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(self.storage.create(&self.name).await?);
        }
        let file = self.file.as_mut().expect("it was created just above");
        let full = std::mem::take(&mut self.memory);
        self.file_len += full.len() as u64;
        file.append(Bytes::from(full)).await
    }

    /// Appends everything to the open section of `target` and removes the temporary file.
    ///
    /// # Errors
    /// Storage's own.
    pub async fn drain_into(mut self, target: &mut SegmentFileWriter<S::Writer>) -> Result<()> {
        let Some(writer) = self.file.take() else { return target.append(&mut self.memory).await };
        let result = self.copy_file(writer, target).await;
        let deleted = self.storage.delete(&self.name).await;
        result.and(deleted)
    }

    async fn copy_file(&mut self, mut writer: S::Writer, target: &mut SegmentFileWriter<S::Writer>) -> Result<()> {
        let tail = std::mem::take(&mut self.memory);
        if !tail.is_empty() {
            writer.append(Bytes::from(tail)).await?;
        }
        let len = writer.finish().await?;
        let access = Access { pattern: Pattern::Once, purpose: Purpose::Merge, pin: false };
        let file = self.storage.open(&self.name, OpenOptions { access, len: Some(len) }).await?;
        let mut at = 0;
        while at < len {
            let end = len.min(at + APPEND_LEN as u64);
            // One range at a time: each is as large as the writer takes at once.
            let window = at..end;
            for bytes in file.read_ranges(std::slice::from_ref(&window)).await? {
                target.append_slice(&bytes).await?;
            }
            at = end;
        }
        Ok(())
    }

    /// Gives the stream up and removes its temporary file.
    ///
    /// # Errors
    /// Storage's own.
    pub async fn discard(mut self) -> Result<()> {
        match self.file.take() {
            Some(writer) => {
                drop(writer);
                self.storage.delete(&self.name).await
            }
            None => Ok(()),
        }
    }
}
