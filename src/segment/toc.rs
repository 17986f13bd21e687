//! Table of contents of a segment file: which section is where, how long, and how it is verified.
//!
//! It lives in the commit, so that opening needs no request for it, and as a copy at the end of the file,
//! where `check` compares it. Little-endian.
//!
//! ```text
//!   offset  size  field
//!        0    16  segment id
//!       16     4  format_version
//!       20     4  max_doc            documents, deleted ones included
//!       24     8  file_len           bytes, this copy and the trailer included
//!       32     8  chunked_end        bytes of the file covered by the checksum section, from 0
//!       40     4  num_sections
//!       44   32n  sections, ascending by offset:
//!                   kind u16 | field u16 | codec u16 | version u16 | crc32c u32 | zero u32 | offset u64 | len u64
//!       ..     4  crc32c of everything before
//! ```

use std::ops::Range;

use super::{
    kind::SectionKind,
    wire::{WireError, WireReader, in_file, seal},
};
use crate::{
    codec::PostingsCodec,
    error::{Error, ErrorKind, Result},
    ids::{FieldOrd, SegmentId},
};

/// Version of the segment file as a whole.
pub const FORMAT_VERSION: u32 = 1;
/// Bytes of the header: magic (8), format version (4), segment id (16), CRC32C of these (4).
pub const HEADER_LEN: u64 = 32;
/// First bytes of a segment file. The line ends show a transfer that mangled them.
pub const MAGIC: [u8; 8] = *b"RFSEG\r\n\x01";
/// Bytes after the copy of the table: its offset (8) and [`TRAILER_MAGIC`] (8).
pub const TRAILER_LEN: u64 = 16;
/// Last bytes of a segment file.
pub const TRAILER_MAGIC: [u8; 8] = *b"RFTOC\r\n\x01";
/// Sections start at multiples of this, so that rows of numbers are aligned in memory.
pub const ALIGNMENT: u64 = 8;
/// A chunk has one checksum. What a planner asks for is seldom smaller.
pub const CHUNK_LEN: u64 = 4096;

const FIXED_LEN: usize = 44;
const ENTRY_LEN: usize = 32;

/// One section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// What it holds.
    pub kind: SectionKind,
    /// Whose it is; field 0 for sections of the whole segment.
    pub field: FieldOrd,
    /// Codec of the bytes, counted per kind.
    pub codec: u16,
    /// Version of that codec.
    pub version: u16,
    /// CRC32C of the whole section if it is pinned, else 0.
    pub crc: u32,
    /// Bytes from the start of the file.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

impl Section {
    /// Where it is in the file.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.len
    }
}

/// A verified table of contents: sections ascend, do not overlap and lie inside the file; kinds, codecs and
/// versions are known. Readers do not check again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toc {
    /// The segment.
    pub id: SegmentId,
    /// Documents, deleted ones included.
    pub max_doc: u32,
    /// Length of the file.
    pub file_len: u64,
    /// The checksum section covers `0..chunked_end` of the file.
    pub chunked_end: u64,
    /// Ascending by offset.
    pub sections: Vec<Section>,
}

impl Toc {
    /// The section of `kind` and `field`.
    pub fn find(&self, kind: SectionKind, field: FieldOrd) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind && section.field == field)
    }

    /// How postings are encoded: all fields of a segment alike. The default where there are none.
    pub fn postings_codec(&self) -> PostingsCodec {
        let postings = self.sections.iter().find(|section| section.kind == SectionKind::Postings);
        postings.and_then(|section| PostingsCodec::from_number(section.codec)).unwrap_or_default()
    }

    /// The smallest range that has all pinned sections: they follow each other, so one request brings them.
    pub fn pinned_range(&self) -> Range<u64> {
        let pinned = self.sections.iter().filter(|section| section.kind.is_pinned());
        let (start, end) =
            pinned.fold((u64::MAX, 0), |(start, end), s| (start.min(s.offset), end.max(s.offset + s.len)));
        if start > end { 0..0 } else { start..end }
    }

    /// Number of checksummed chunks.
    pub fn num_chunks(&self) -> u64 {
        self.chunked_end.div_ceil(CHUNK_LEN)
    }

    /// Bytes of a table with `num_sections` sections.
    pub(super) fn encoded_len(num_sections: usize) -> u64 {
        (FIXED_LEN + ENTRY_LEN * num_sections + 4) as u64
    }

    /// Appends the table.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.id.0);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&self.max_doc.to_le_bytes());
        out.extend_from_slice(&self.file_len.to_le_bytes());
        out.extend_from_slice(&self.chunked_end.to_le_bytes());
        out.extend_from_slice(&(self.sections.len() as u32).to_le_bytes());
        for section in &self.sections {
            out.extend_from_slice(&(section.kind as u16).to_le_bytes());
            out.extend_from_slice(&section.field.0.to_le_bytes());
            out.extend_from_slice(&section.codec.to_le_bytes());
            out.extend_from_slice(&section.version.to_le_bytes());
            out.extend_from_slice(&section.crc.to_le_bytes());
            out.extend_from_slice(&0u32.to_le_bytes());
            out.extend_from_slice(&section.offset.to_le_bytes());
            out.extend_from_slice(&section.len.to_le_bytes());
        }
        seal(out, start);
    }

    /// Parses what [`Self::write`] wrote; `bytes` are exactly that.
    ///
    /// # Errors
    /// `corrupt`; `unsupported_format` for a section kind, codec or version that this build does not know.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let what = "table of contents of a segment";
        let mut reader = in_file(WireReader::sealed(bytes), what)?;
        let (id, version) = in_file((|| Ok((SegmentId(reader.id()?), reader.u32()?)))(), what)?;
        if version != FORMAT_VERSION {
            return Err(unsupported(format!("segment {id} has format version {version}")));
        }
        let (toc, kinds) = in_file(Self::parse_entries(id, &mut reader), &format!("{what} {id}"))?;
        match kinds.first() {
            Some(unknown) => Err(unsupported(format!("segment {id}: {unknown}"))),
            None => toc.verified().map_err(|error| Error::corrupt(format!("{what} {id}"), error)),
        }
    }

    /// The table, and descriptions of the sections this build cannot read.
    fn parse_entries(id: SegmentId, reader: &mut WireReader<'_>) -> Result<(Self, Vec<String>), WireError> {
        let (max_doc, file_len, chunked_end) = (reader.u32()?, reader.u64()?, reader.u64()?);
        let count = reader.count(ENTRY_LEN)?;
        let (mut sections, mut unknown) = (Vec::with_capacity(count), Vec::new());
        for _ in 0..count {
            let (number, field) = (reader.u16()?, FieldOrd(reader.u16()?));
            let (codec, version, crc) = (reader.u16()?, reader.u16()?, reader.u32()?);
            reader.u32()?;
            let (offset, len) = (reader.u64()?, reader.u64()?);
            match SectionKind::from_number(number) {
                Some(kind) if kind.reads(codec, version) => {
                    sections.push(Section { kind, field, codec, version, crc, offset, len });
                }
                Some(kind) => unknown.push(format!("{kind} with codec {codec} version {version}")),
                None => unknown.push(format!("section kind {number}")),
            }
        }
        if reader.left() != 0 {
            return Err(WireError::Value {
                what: "bytes after the last section",
                offset: reader.at(),
                found: reader.left() as u64,
            });
        }
        Ok((Self { id, max_doc, file_len, chunked_end, sections }, unknown))
    }

    fn verified(self) -> Result<Self, WireError> {
        let bad = |what, found| WireError::Value { what, offset: 0, found };
        let tail = Self::encoded_len(self.sections.len()) + TRAILER_LEN;
        let body_len = self.file_len.checked_sub(tail).ok_or(bad("file length", self.file_len))?;
        let mut end = HEADER_LEN;
        for (ix, section) in self.sections.iter().enumerate() {
            if section.offset < end || section.offset % ALIGNMENT != 0 {
                return Err(bad("section offset", section.offset));
            }
            end = section.offset.checked_add(section.len).ok_or(bad("section length", section.len))?;
            let chunked = !section.kind.is_pinned() && !section.kind.is_self_checked();
            if end > body_len || (chunked && end > self.chunked_end) {
                return Err(bad("section end", end));
            }
            let twin = |other: &Section| other.kind == section.kind && other.field == section.field;
            if self.sections[..ix].iter().any(twin) {
                return Err(bad("second section of kind", section.kind as u64));
            }
        }
        if self.chunked_end > body_len || self.chunked_end < HEADER_LEN {
            return Err(bad("end of chunks", self.chunked_end));
        }
        let checksums = self.find(SectionKind::Checksums, FieldOrd(0)).map_or(0, |section| section.len);
        if checksums != 4 * self.num_chunks() {
            return Err(bad("length of the checksum section", checksums));
        }
        Ok(self)
    }
}

fn unsupported(what: String) -> Error {
    Error::new(
        ErrorKind::UnsupportedFormat,
        format!("{what}, which this build does not know: open it with a newer version of rangefind"),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn sample() -> Toc {
        let section = |kind, field, offset, len| Section {
            kind,
            field: FieldOrd(field),
            codec: crate::segment::kind::CODEC,
            version: 1,
            crc: 7,
            offset,
            len,
        };
        let sections = vec![
            section(SectionKind::Postings, 1, 32, 5000),
            section(SectionKind::Terms, 1, 5032, 100),
            section(SectionKind::Docs, 0, 5136, 1000),
            section(SectionKind::TermIndex, 1, 6136, 10),
            section(SectionKind::Checksums, 0, 6152, 8),
        ];
        let file_len = 6160 + Toc::encoded_len(5) + TRAILER_LEN;
        Toc { id: SegmentId([3; 16]), max_doc: 9, file_len, chunked_end: 5132, sections }
    }

    fn bytes(toc: &Toc) -> Vec<u8> {
        let mut out = Vec::new();
        toc.write(&mut out);
        out
    }

    #[test]
    fn a_table_round_trips() {
        let toc = sample();
        assert_eq!(bytes(&toc).len() as u64, Toc::encoded_len(5));
        assert_eq!(Toc::parse(&bytes(&toc)).unwrap(), toc);
        assert_eq!(toc.pinned_range(), 6136..6160);
    }

    #[test]
    fn every_flipped_bit_is_corrupt() {
        let good = bytes(&sample());
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Toc::parse(&bad).unwrap_err().kind(), ErrorKind::Corrupt, "bit {bit}");
        }
    }

    #[test]
    fn impossible_ranges_are_corrupt() {
        type Spoil = fn(&mut Toc);
        let spoils: [Spoil; 8] = [
            |toc| toc.sections[0].offset = 0,
            |toc| toc.sections[1].offset = 5000,
            |toc| toc.sections[3].len = u64::MAX,
            |toc| toc.sections[4].len = 12,
            |toc| toc.sections[1].field = FieldOrd(1 << 9),
            |toc| toc.chunked_end = 40,
            |toc| toc.file_len = 10,
            |toc| toc.sections[1] = Section { offset: 5033, ..toc.sections[1] },
        ];
        for (ix, spoil) in spoils.iter().enumerate() {
            let mut toc = sample();
            spoil(&mut toc);
            // A field number is free; everything else must be refused.
            assert_eq!(Toc::parse(&bytes(&toc)).is_ok(), ix == 4, "spoil {ix}");
        }
    }

    #[test]
    fn unknown_codecs_say_what_to_do() {
        let mut toc = sample();
        toc.sections[0].version = 2;
        let error = Toc::parse(&bytes(&toc)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFormat);
        assert!(error.to_string().contains("newer version of rangefind"), "{error}");
    }

    #[test]
    fn resealed_rubbish_never_panics_and_what_parses_lies_in_the_file() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let good = bytes(&sample());
        for _ in 0..20_000 {
            let mut bad = good[..good.len() - 4].to_vec();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bad.len());
                bad[at] = random.u8(..);
            }
            seal(&mut bad, 0);
            if let Ok(toc) = Toc::parse(&bad) {
                assert!(toc.sections.iter().all(|section| section.range().end <= toc.file_len), "seed {seed}");
                assert!(toc.pinned_range().end <= toc.file_len && toc.num_chunks() <= toc.file_len, "seed {seed}");
            }
        }
    }
}
