//! A stream set aside while another one is being written to the segment file: in memory while small, in a
//! temporary file beyond that.

use std::ops::Range;

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
    /// The finished file, once sealed.
    sealed: Option<S::File>,
}

/// Makes the set-aside streams of one segment and remembers their names: what is left of them after an error is the
/// caller's to delete.
#[derive(Debug)]
pub struct Spills<'a, S: Storage> {
    /// Where.
    pub storage: &'a S,
    /// Whose.
    pub id: SegmentId,
    /// Names given out.
    pub names: &'a mut Vec<String>,
}

impl<S: Storage> Spills<'_, S> {
    /// An empty stream, held in memory up to `budget` bytes.
    pub fn spill(&mut self, budget: usize) -> Spill<S> {
        let spill = Spill::new(self.storage, self.id, self.names.len() as u32, budget);
        self.names.push(spill.name().to_owned());
        spill
    }
}

impl<S: Storage> Spill<S> {
    /// An empty stream, number `number` of the file of segment `id`, held in memory up to `budget` bytes.
    pub fn new(storage: &S, id: SegmentId, number: u32, budget: usize) -> Self {
        let name = spill_file_name(id, number);
        Self { storage: storage.clone(), name, memory: Vec::new(), budget, file: None, file_len: 0, sealed: None }
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

    /// Ends appending: from here on the stream can be read.
    ///
    /// # Errors
    /// Storage's own.
    pub async fn seal(&mut self) -> Result<()> {
        let Some(mut writer) = self.file.take() else { return Ok(()) };
        let tail = std::mem::take(&mut self.memory);
        if !tail.is_empty() {
            self.file_len += tail.len() as u64;
            writer.append(Bytes::from(tail)).await?;
        }
        let len = writer.finish().await?;
        let access = Access { pattern: Pattern::Once, purpose: Purpose::Merge, pin: false };
        self.sealed = Some(self.storage.open(&self.name, OpenOptions { access, len: Some(len) }).await?);
        Ok(())
    }

    /// Reads ranges of a sealed stream, in the order given.
    ///
    /// # Errors
    /// Storage's own.
    ///
    /// # Panics
    /// If a range reaches past the end.
    pub async fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match &self.sealed {
            Some(file) => file.read_ranges(ranges).await,
            None => {
                let part = |range: &Range<u64>| &self.memory[range.start as usize..range.end as usize];
                Ok(ranges.iter().map(|range| Bytes::copy_from_slice(part(range))).collect())
            }
        }
    }

    /// The whole stream if it never left memory; the spill is empty then.
    pub fn take_memory(&mut self) -> Option<Vec<u8>> {
        (self.file.is_none() && self.sealed.is_none()).then(|| std::mem::take(&mut self.memory))
    }

    /// Appends everything to the open section of `target` and removes the temporary file.
    ///
    /// # Errors
    /// Storage's own.
    pub async fn drain_into(mut self, target: &mut SegmentFileWriter<S::Writer>) -> Result<()> {
        if let Some(mut memory) = self.take_memory() {
            return target.append(&mut memory).await;
        }
        let result = self.copy_file(target).await;
        let deleted = self.storage.delete(&self.name).await;
        result.and(deleted)
    }

    async fn copy_file(&mut self, target: &mut SegmentFileWriter<S::Writer>) -> Result<()> {
        self.seal().await?;
        let len = self.file_len;
        let mut at = 0;
        while at < len {
            let end = len.min(at + APPEND_LEN as u64);
            // One range at a time: each is as large as the writer takes at once.
            let window = at..end;
            for bytes in self.read(std::slice::from_ref(&window)).await? {
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
        if self.take_memory().is_some() {
            return Ok(());
        }
        drop(self.file.take());
        drop(self.sealed.take());
        self.storage.delete(&self.name).await
    }
}
