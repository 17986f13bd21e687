//! Writes one segment file, front to back: header, chunked sections, self-checked sections, pinned sections,
//! checksums, copy of the table of contents, trailer.
//!
//! Pinned sections are handed over as they become known and kept until the end, so that they follow each
//! other and one request brings them. What does not fit this order is written to a [`Spill`] first.

use bytes::Bytes;

use super::{
    kind::{CODEC, SectionKind},
    toc::{ALIGNMENT, CHUNK_LEN, FORMAT_VERSION, MAGIC, Section, TRAILER_LEN, TRAILER_MAGIC, Toc},
    wire::seal,
};
use crate::{
    codec::PostingsCodec,
    error::Result,
    ids::{FieldOrd, SegmentId},
    storage::{Storage, Writer},
};

/// Bytes gathered before the storage is given them: large enough that a worker call costs nothing beside it.
pub(crate) const APPEND_LEN: usize = 256 << 10;

/// Header of the file of segment `id`.
pub fn segment_header(id: SegmentId) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    out.extend_from_slice(&id.0);
    seal(&mut out, 0);
    out
}

/// Appends the end of a segment file: copy of the table of contents and trailer.
pub fn toc_tail(toc: &Toc, out: &mut Vec<u8>) {
    let table_offset = toc.file_len - TRAILER_LEN - Toc::encoded_len(toc.sections.len());
    toc.write(out);
    out.extend_from_slice(&table_offset.to_le_bytes());
    out.extend_from_slice(&TRAILER_MAGIC);
}

/// CRC32C of each [`CHUNK_LEN`] bytes of what passes.
#[derive(Debug, Default)]
pub(super) struct ChunkSums {
    sums: Vec<u8>,
    crc: u32,
    filled: u64,
}

impl ChunkSums {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = (CHUNK_LEN - self.filled).min(bytes.len() as u64) as usize;
            let (now, later) = bytes.split_at(room);
            self.crc = crc32c::crc32c_append(self.crc, now);
            self.filled += room as u64;
            if self.filled == CHUNK_LEN {
                self.close();
            }
            bytes = later;
        }
    }

    fn close(&mut self) {
        self.sums.extend_from_slice(&self.crc.to_le_bytes());
        (self.crc, self.filled) = (0, 0);
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.filled > 0 {
            self.close();
        }
        self.sums
    }
}

/// A segment file being written. Dropping it unfinished leaves nothing a reader would accept.
#[derive(Debug)]
pub struct SegmentFileWriter<W: Writer> {
    writer: W,
    id: SegmentId,
    buffer: Vec<u8>,
    offset: u64,
    sums: Option<ChunkSums>,
    chunk_sums: Vec<u8>,
    chunked_end: u64,
    open: bool,
    sections: Vec<Section>,
    pinned: Vec<(SectionKind, FieldOrd, Vec<u8>)>,
}

impl<W: Writer> SegmentFileWriter<W> {
    /// Starts the file of segment `id`.
    ///
    /// # Errors
    /// Storage's own.
    pub async fn create<S: Storage<Writer = W>>(storage: &S, id: SegmentId) -> Result<Self> {
        let mut this = Self {
            writer: storage.create(&id.file_name()).await?,
            id,
            buffer: Vec::with_capacity(APPEND_LEN),
            offset: 0,
            sums: Some(ChunkSums::default()),
            chunk_sums: Vec::new(),
            chunked_end: 0,
            open: false,
            sections: Vec::new(),
            pinned: Vec::new(),
        };
        this.put(&segment_header(id));
        Ok(this)
    }

    /// Bytes written so far.
    pub fn len(&self) -> u64 {
        self.offset
    }

    /// Whether nothing was written: never, the header comes first.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Bytes held in memory: the append buffer and pinned sections.
    pub fn memory_bytes(&self) -> usize {
        let pinned: usize = self.pinned.iter().map(|(_, _, bytes)| bytes.capacity()).sum();
        self.buffer.capacity() + self.chunk_sums.capacity() + pinned
    }

    fn put(&mut self, bytes: &[u8]) {
        if let Some(sums) = &mut self.sums {
            sums.update(bytes);
        }
        self.offset += bytes.len() as u64;
        self.buffer.extend_from_slice(bytes);
    }

    fn align(&mut self) {
        let zeros = [0; ALIGNMENT as usize];
        let padding = self.offset.next_multiple_of(ALIGNMENT) - self.offset;
        self.put(&zeros[..padding as usize]);
    }

    async fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(APPEND_LEN));
            self.writer.append(Bytes::from(full)).await?;
        }
        Ok(())
    }

    /// Starts a data section. Chunked ones come first, self-checked ones after them.
    ///
    /// # Panics
    /// If a section is open, pinned kinds are begun, or a chunked section comes after a self-checked one.
    pub fn begin(&mut self, kind: SectionKind, field: FieldOrd) {
        self.begin_coded(kind, field, CODEC);
    }

    /// Starts the postings of a field, which `codec` encodes.
    ///
    /// # Panics
    /// As [`Self::begin`].
    pub fn begin_postings(&mut self, field: FieldOrd, codec: PostingsCodec) {
        self.begin_coded(SectionKind::Postings, field, codec.number());
    }

    fn begin_coded(&mut self, kind: SectionKind, field: FieldOrd, codec: u16) {
        assert!(!self.open, "{kind} of field {} begins inside another section", field.0);
        assert!(!kind.is_pinned(), "{kind} is pinned");
        if kind.is_self_checked() {
            self.end_chunks();
        } else {
            assert!(self.sums.is_some(), "{kind} of field {} comes after a self-checked section", field.0);
        }
        self.align();
        self.sections.push(Section {
            kind,
            field,
            codec,
            version: kind.version(),
            crc: 0,
            offset: self.offset,
            len: 0,
        });
        self.open = true;
    }

    fn end_chunks(&mut self) {
        if let Some(sums) = self.sums.take() {
            self.chunked_end = self.offset;
            self.chunk_sums = sums.finish();
        }
    }

    /// Appends to the open section; `bytes` is drained and keeps its capacity.
    ///
    /// # Errors
    /// Storage's own. The writer is of no further use then.
    ///
    /// # Panics
    /// If no section is open.
    pub async fn append(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        self.append_slice(bytes).await?;
        bytes.clear();
        Ok(())
    }

    /// Appends to the open section.
    ///
    /// # Errors
    /// As [`Self::append`].
    ///
    /// # Panics
    /// If no section is open.
    pub async fn append_slice(&mut self, bytes: &[u8]) -> Result<()> {
        assert!(self.open, "no section is open");
        for part in bytes.chunks(APPEND_LEN) {
            self.put(part);
            if self.buffer.len() >= APPEND_LEN {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// Offset inside the open section where the next byte goes.
    pub fn section_len(&self) -> u64 {
        self.sections.last().map_or(0, |section| self.offset - section.offset)
    }

    /// Ends the open section.
    ///
    /// # Panics
    /// If no section is open.
    pub fn end(&mut self) {
        assert!(self.open, "no section is open");
        let section = self.sections.last_mut().expect("an open section is the last one");
        section.len = self.offset - section.offset;
        self.open = false;
    }

    /// Keeps a pinned section for the end of the file.
    ///
    /// # Panics
    /// If `kind` is not pinned.
    pub fn pin(&mut self, kind: SectionKind, field: FieldOrd, bytes: Vec<u8>) {
        assert!(kind.is_pinned(), "{kind} is not pinned");
        self.pinned.push((kind, field, bytes));
    }

    /// Writes pinned sections, checksums and the table of contents, and makes the file durable.
    ///
    /// # Errors
    /// Storage's own.
    ///
    /// # Panics
    /// If a section is open.
    pub async fn finish(mut self, max_doc: u32) -> Result<Toc> {
        assert!(!self.open, "a section is open");
        self.end_chunks();
        let sums = std::mem::take(&mut self.chunk_sums);
        self.pinned.push((SectionKind::Checksums, FieldOrd(0), sums));
        for (kind, field, bytes) in std::mem::take(&mut self.pinned) {
            self.align();
            let (crc, offset, len) = (crc32c::crc32c(&bytes), self.offset, bytes.len() as u64);
            self.sections.push(Section { kind, field, codec: CODEC, version: kind.version(), crc, offset, len });
            for part in bytes.chunks(APPEND_LEN) {
                self.put(part);
                if self.buffer.len() >= APPEND_LEN {
                    self.flush().await?;
                }
            }
        }
        self.align();
        let table_offset = self.offset;
        let file_len = table_offset + Toc::encoded_len(self.sections.len()) + TRAILER_LEN;
        let toc = Toc {
            id: self.id,
            max_doc,
            file_len,
            chunked_end: self.chunked_end,
            sections: std::mem::take(&mut self.sections),
        };
        let mut tail = Vec::new();
        toc_tail(&toc, &mut tail);
        self.put(&tail);
        self.flush().await?;
        let written = self.writer.finish().await?;
        assert_eq!(written, file_len, "storage wrote another number of bytes than it was given");
        Ok(toc)
    }
}
