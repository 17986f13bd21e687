//! Every byte of a segment file against header, checksums and table of contents.

use std::ops::Range;

use bytes::Bytes;

use super::Walk;
use crate::{
    error::{Error, ErrorKind, Result},
    ids::FieldOrd,
    segment::{CHUNK_LEN, HEADER_LEN, Section, SectionKind, Toc, segment_header, toc_tail},
    storage::File,
};

/// Bytes read at a time, a multiple of the chunk.
const WINDOW_LEN: u64 = 1 << 20;

impl Walk<'_> {
    /// Walks one file front to back.
    ///
    /// # Errors
    /// `aborted` alone.
    pub(super) async fn file<F: File>(&mut self, file: &F, toc: &Toc) -> Result<()> {
        let name = toc.id.file_name();
        let Some(header) = self.part(file, toc, 0..HEADER_LEN).await? else { return Ok(()) };
        if header != segment_header(toc.id) {
            let error = Error::new(ErrorKind::Corrupt, format!("the header is not that of segment {}", toc.id));
            self.problem(&name, Some("header".to_owned()), Some(0), &error);
        }
        let pinned: Vec<Section> = toc.sections.iter().filter(|section| section.kind.is_pinned()).copied().collect();
        let mut sums = Bytes::new();
        for section in pinned {
            let Some(bytes) = self.part(file, toc, section.range()).await? else { continue };
            let crc = crc32c::crc32c(&bytes);
            if crc != section.crc {
                self.damaged.insert((section.kind, section.field));
                let what = format!("checksum {crc:08x}, expected {:08x}", section.crc);
                let section_name = self.section_name(section.kind, section.field);
                self.problem(&name, Some(section_name), Some(section.offset), &Error::new(ErrorKind::Corrupt, what));
            } else if section.kind == SectionKind::Checksums {
                sums = bytes;
            }
        }
        let mut at = 0;
        while at < toc.chunked_end {
            let end = toc.chunked_end.min(at + WINDOW_LEN);
            if let Some(bytes) = self.part(file, toc, at..end).await? {
                self.chunks(toc, &bytes, at, &sums);
            }
            at = end;
        }
        let mut tail = Vec::new();
        toc_tail(toc, &mut tail);
        let tail_at = toc.file_len - tail.len() as u64;
        if let Some(found) = self.part(file, toc, tail_at..toc.file_len).await?
            && found != tail
        {
            let error = Error::new(ErrorKind::Corrupt, "the copy of the table of contents differs from the commit's");
            self.problem(&name, Some("table of contents".to_owned()), Some(tail_at), &error);
        }
        Ok(())
    }

    /// Reads a part of the file; a failure becomes a problem.
    async fn part<F: File>(&mut self, file: &F, toc: &Toc, range: Range<u64>) -> Result<Option<Bytes>> {
        let len = range.end - range.start;
        let read = file.read_ranges(std::slice::from_ref(&range)).await;
        self.turn(len).await?;
        match read.map(|mut found| found.pop()) {
            Ok(Some(bytes)) if bytes.len() as u64 == len => Ok(Some(bytes)),
            Ok(_) => {
                let error = Error::new(ErrorKind::Io, "storage answered another length than it was asked for");
                self.problem(&toc.id.file_name(), None, Some(range.start), &error);
                Ok(None)
            }
            Err(error) => {
                self.problem(&toc.id.file_name(), None, Some(range.start), &error);
                Ok(None)
            }
        }
    }

    fn chunks(&mut self, toc: &Toc, bytes: &[u8], at: u64, sums: &[u8]) {
        let expected = sums.chunks_exact(4).skip((at / CHUNK_LEN) as usize);
        for ((ix, chunk), expected) in bytes.chunks(CHUNK_LEN as usize).enumerate().zip(expected) {
            let offset = at + ix as u64 * CHUNK_LEN;
            let (found, expected) = (crc32c::crc32c(chunk).to_le_bytes(), expected);
            if found == expected {
                continue;
            }
            let end = offset + chunk.len() as u64;
            let inside = |section: &&Section| section.offset < end && offset < section.offset + section.len;
            let hit: Vec<(SectionKind, FieldOrd)> =
                toc.sections.iter().filter(inside).map(|section| (section.kind, section.field)).collect();
            let names: Vec<String> = hit.iter().map(|(kind, field)| self.section_name(*kind, *field)).collect();
            self.damaged.extend(hit);
            let found = u32::from_le_bytes(found);
            let expected = expected.try_into().map_or(0, u32::from_le_bytes);
            let what = format!("chunk of {} bytes has checksum {found:08x}, expected {expected:08x}", chunk.len());
            let section = (!names.is_empty()).then(|| names.join(", "));
            self.problem(&toc.id.file_name(), section, Some(offset), &Error::new(ErrorKind::Corrupt, what));
        }
    }
}
