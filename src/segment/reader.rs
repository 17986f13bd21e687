//! Reads one segment: pinned sections at open, ranges of data sections on demand, each verified as it arrives.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use super::{
    kind::SectionKind,
    toc::{Section, Toc},
    verified::{ChunkTable, VerifiedFile},
};
use crate::{
    error::{Error, ErrorKind, Result},
    ids::{FieldOrd, SegmentId},
    storage::File,
};

/// A range of a section, bytes from the section's start.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SectionRange {
    /// What section.
    pub kind: SectionKind,
    /// Whose.
    pub field: FieldOrd,
    /// Bytes from its start.
    pub range: Range<u64>,
}

/// An open segment. Clones share everything but the handle, which [`Self::with_file`] replaces.
///
/// The handle is a [`VerifiedFile`] or reads through one; files that are whole in memory are verified here,
/// each chunk once.
#[derive(Debug, Clone)]
pub struct SegmentReader<F: File> {
    shared: Arc<Shared>,
    file: F,
}

#[derive(Debug)]
struct Shared {
    toc: Toc,
    /// Sections that were read at open, in file order.
    pinned: Vec<Bytes>,
    table: Arc<ChunkTable>,
}

impl<F: File> SegmentReader<VerifiedFile<F>> {
    /// Opens a segment: one read brings all pinned sections, which are verified.
    ///
    /// # Errors
    /// `corrupt` if a checksum differs, also where the file is another segment's; storage's own.
    pub async fn open(file: F, toc: Toc) -> Result<Self> {
        let id = toc.id;
        let whole = toc.pinned_range();
        let what = format!("metadata of segment {id}");
        let found = file.read_ranges(std::slice::from_ref(&whole)).await.map_err(|error| error.at(&what))?;
        let [bytes] = found.as_slice() else {
            return Err(Error::new(ErrorKind::Io, format!("{what}: storage answered {} ranges", found.len())));
        };
        let mut pinned = Vec::new();
        let mut sums = Bytes::new();
        for section in toc.sections.iter().filter(|section| section.kind.is_pinned()) {
            let (start, end) = (section.offset - whole.start, section.offset + section.len - whole.start);
            // A copy of its own: the read may be a slice of something larger that would stay with it.
            let bytes = Bytes::copy_from_slice(&bytes[start as usize..end as usize]);
            let crc = crc32c::crc32c(&bytes);
            if crc != section.crc {
                let what = describe(id, section.kind, section.field);
                let (offset, expected) = (section.offset, section.crc);
                let what = format!("{what} at offset {offset}: checksum {crc:08x}, expected {expected:08x}");
                return Err(Error::new(ErrorKind::Corrupt, what));
            }
            if section.kind == SectionKind::Checksums {
                sums = bytes.clone();
            }
            pinned.push(bytes);
        }
        let table = Arc::new(ChunkTable::new(&toc, sums, file.as_slice().is_some()));
        let file = VerifiedFile::new(file, Arc::clone(&table));
        Ok(Self { shared: Arc::new(Shared { toc, pinned, table }), file })
    }
}

impl<F: File> SegmentReader<F> {
    /// The same segment through another handle of the same file: with another access policy, or with counters.
    pub fn with_file<G: File>(&self, file: G) -> SegmentReader<G> {
        SegmentReader { shared: Arc::clone(&self.shared), file }
    }

    /// The same segment through a raw handle of its file, verified below.
    pub fn with_raw<G: File>(&self, file: G) -> SegmentReader<VerifiedFile<G>> {
        self.with_file(VerifiedFile::new(file, Arc::clone(&self.shared.table)))
    }

    /// The handle.
    pub fn file(&self) -> &F {
        &self.file
    }

    /// Name of the segment.
    pub fn id(&self) -> SegmentId {
        self.shared.toc.id
    }

    /// Documents, deleted ones included.
    pub fn max_doc(&self) -> u32 {
        self.shared.toc.max_doc
    }

    /// The table of contents.
    pub fn toc(&self) -> &Toc {
        &self.shared.toc
    }

    /// The section of `kind` and `field`, if the segment has it.
    pub fn section(&self, kind: SectionKind, field: FieldOrd) -> Option<&Section> {
        self.shared.toc.find(kind, field)
    }

    /// Length of a section, 0 if the segment does not have it.
    pub fn section_len(&self, kind: SectionKind, field: FieldOrd) -> u64 {
        self.section(kind, field).map_or(0, |section| section.len)
    }

    /// All pinned sections with their bytes, in file order.
    pub fn pinned_sections(&self) -> impl Iterator<Item = (&Section, &Bytes)> {
        let sections = self.shared.toc.sections.iter().filter(|section| section.kind.is_pinned());
        sections.zip(&self.shared.pinned)
    }

    /// A pinned section, if the segment has it. Its cost grows with the number of sections.
    pub fn pinned(&self, kind: SectionKind, field: FieldOrd) -> Option<&Bytes> {
        self.pinned_sections().find(|(s, _)| s.kind == kind && s.field == field).map(|(_, bytes)| bytes)
    }

    /// Bytes of metadata held in memory.
    pub fn pinned_bytes(&self) -> u64 {
        self.shared.pinned.iter().map(|bytes| bytes.len() as u64).sum()
    }

    /// Reads ranges of data sections in the order given, in one batch. What is checksummed by chunk is verified;
    /// the units of self-checked sections are the caller's to verify.
    ///
    /// # Errors
    /// `corrupt` if a checksum differs, or a range or section is not there; storage's own.
    pub async fn read(&self, wants: &[SectionRange]) -> Result<Vec<Bytes>> {
        let ranges = wants.iter().map(|want| self.locate(want)).collect::<Result<Vec<_>>>()?;
        if let Some(whole) = self.file.as_slice() {
            return wants.iter().zip(ranges).map(|(want, range)| self.cut_resident(whole, want, range)).collect();
        }
        self.file.read_ranges(&ranges).await.map_err(|error| error.at(self.name_of(wants)))
    }

    /// All of a section that checks itself, where the file is in memory; nothing of it was verified.
    pub fn resident(&self, kind: SectionKind, field: FieldOrd) -> Option<&[u8]> {
        let (whole, section) = (self.file.as_slice()?, self.section(kind, field)?);
        let range = usize::try_from(section.offset).ok()?..usize::try_from(section.offset + section.len).ok()?;
        whole.get(range).filter(|_| kind.is_self_checked())
    }

    /// Reads one range; see [`Self::read`].
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_one(&self, kind: SectionKind, field: FieldOrd, range: Range<u64>) -> Result<Bytes> {
        let found = self.read(&[SectionRange { kind, field, range }]).await?;
        found.into_iter().next().ok_or_else(|| Error::new(ErrorKind::Io, "storage answered no range"))
    }

    /// Starts loading ranges that will be read soon; returns how many loads that started. Ranges that are
    /// not there are ignored.
    pub fn prefetch(&self, wants: &[SectionRange]) -> usize {
        let ranges: Vec<_> = wants.iter().filter_map(|want| self.locate(want).ok()).collect();
        self.file.prefetch(&ranges)
    }

    /// Where in the file a range of a section is.
    fn locate(&self, want: &SectionRange) -> Result<Range<u64>> {
        let section = self.section(want.kind, want.field);
        match section.filter(|s| want.range.start <= want.range.end && want.range.end <= s.len) {
            Some(section) => Ok(section.offset + want.range.start..section.offset + want.range.end),
            None => {
                let what = describe(self.id(), want.kind, want.field);
                let (range, len) = (&want.range, section.map_or(0, |section| section.len));
                Err(Error::new(ErrorKind::Corrupt, format!("{what}: bytes {range:?} of {len}")))
            }
        }
    }

    fn cut_resident(&self, whole: &Bytes, want: &SectionRange, range: Range<u64>) -> Result<Bytes> {
        let name = || describe(self.id(), want.kind, want.field);
        if range.end > whole.len() as u64 {
            let what = format!("{}: the file ends at {}", name(), whole.len());
            return Err(Error::new(ErrorKind::Corrupt, what));
        }
        self.shared.table.verify_resident(whole, &range).map_err(|error| error.at(name()))?;
        Ok(whole.slice(range.start as usize..range.end as usize))
    }

    fn name_of(&self, wants: &[SectionRange]) -> String {
        match wants {
            [one] => describe(self.id(), one.kind, one.field),
            _ => format!("segment {}", self.id()),
        }
    }
}

/// `postings of field 3 in segment 00ff…`, for messages.
pub(crate) fn describe(id: SegmentId, kind: SectionKind, field: FieldOrd) -> String {
    format!("{kind} of field {} in segment {id}", field.0)
}
