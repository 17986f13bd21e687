//! Reads one segment: pinned sections at open, ranges of data sections on demand, each verified as it arrives.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;

use super::{
    kind::SectionKind,
    toc::{CHUNK_LEN, Section, Toc},
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
    sums: Bytes,
    /// One bit per chunk that was verified; kept only for files that are whole in memory and so cannot
    /// change. Everything else is verified each time it comes from storage.
    verified: Vec<AtomicU64>,
}

impl<F: File> SegmentReader<F> {
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
            let bytes = bytes.slice(start as usize..end as usize);
            let crc = crc32c::crc32c(&bytes);
            if crc != section.crc {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    format!(
                        "{} at offset {}: checksum {crc:08x}, expected {:08x}",
                        describe(id, section.kind, section.field),
                        section.offset,
                        section.crc
                    ),
                ));
            }
            if section.kind == SectionKind::Checksums {
                sums = bytes.clone();
            }
            pinned.push(bytes);
        }
        let words = if file.as_slice().is_some() { toc.num_chunks().div_ceil(64) } else { 0 };
        let verified = (0..words).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { shared: Arc::new(Shared { toc, pinned, sums, verified }), file })
    }

    /// The same segment through another handle: with another access policy, or with counters.
    pub fn with_file<G: File>(&self, file: G) -> SegmentReader<G> {
        SegmentReader { shared: Arc::clone(&self.shared), file }
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

    /// A pinned section, if the segment has it.
    pub fn pinned(&self, kind: SectionKind, field: FieldOrd) -> Option<&Bytes> {
        let sections = self.shared.toc.sections.iter().filter(|section| section.kind.is_pinned());
        let (_, bytes) = sections.zip(&self.shared.pinned).find(|(s, _)| s.kind == kind && s.field == field)?;
        Some(bytes)
    }

    /// Bytes of metadata held in memory.
    pub fn pinned_bytes(&self) -> u64 {
        self.shared.pinned.iter().map(|bytes| bytes.len() as u64).sum()
    }

    /// Reads ranges of data sections in the order given, in one batch, and verifies what is checksummed by
    /// chunk. Self-checked sections are the caller's to verify.
    ///
    /// # Errors
    /// `corrupt` if a checksum differs, or a range or section is not there; storage's own.
    pub async fn read(&self, wants: &[SectionRange]) -> Result<Vec<Bytes>> {
        let plans = wants.iter().map(|want| self.plan(want)).collect::<Result<Vec<_>>>()?;
        if let Some(whole) = self.file.as_slice() {
            return wants.iter().zip(&plans).map(|(want, plan)| self.cut_resident(whole, want, plan)).collect();
        }
        let ranges: Vec<_> = plans.iter().map(|plan| plan.fetch.clone()).collect();
        let found = self.file.read_ranges(&ranges).await.map_err(|error| error.at(format!("segment {}", self.id())))?;
        found
            .into_iter()
            .zip(wants.iter().zip(&plans))
            .map(|(bytes, (want, plan))| {
                if plan.chunked {
                    self.verify(&bytes, plan.fetch.start, want)?;
                }
                let start = (plan.exact.start - plan.fetch.start) as usize;
                Ok(bytes.slice(start..start + (plan.exact.end - plan.exact.start) as usize))
            })
            .collect()
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
        let plans = wants.iter().filter_map(|want| self.plan(want).ok());
        let ranges: Vec<_> = plans.map(|plan| plan.fetch).collect();
        self.file.prefetch(&ranges)
    }

    fn plan(&self, want: &SectionRange) -> Result<Plan> {
        let missing = || {
            let what = describe(self.id(), want.kind, want.field);
            Error::new(ErrorKind::Corrupt, format!("{what}: bytes {:?} are not there", want.range))
        };
        let section = self.section(want.kind, want.field).ok_or_else(missing)?;
        if want.range.start > want.range.end || want.range.end > section.len {
            return Err(missing());
        }
        let exact = section.offset + want.range.start..section.offset + want.range.end;
        let chunked = !want.kind.is_self_checked() && !want.kind.is_pinned();
        let fetch = if chunked && !exact.is_empty() {
            let end = exact.end.next_multiple_of(CHUNK_LEN).min(self.shared.toc.chunked_end);
            exact.start / CHUNK_LEN * CHUNK_LEN..end
        } else {
            exact.clone()
        };
        Ok(Plan { exact, fetch, chunked })
    }

    fn cut_resident(&self, whole: &Bytes, want: &SectionRange, plan: &Plan) -> Result<Bytes> {
        let cut = |range: &Range<u64>| {
            if range.end > whole.len() as u64 {
                let what = describe(self.id(), want.kind, want.field);
                return Err(Error::new(ErrorKind::Corrupt, format!("{what}: file ends at {}", whole.len())));
            }
            Ok(whole.slice(range.start as usize..range.end as usize))
        };
        if plan.chunked && !plan.fetch.is_empty() {
            let chunks = plan.fetch.start / CHUNK_LEN..plan.fetch.end.div_ceil(CHUNK_LEN);
            let bit = |chunk: u64| (&self.shared.verified[(chunk / 64) as usize], 1u64 << (chunk % 64));
            let fresh = chunks.clone().any(|chunk| bit(chunk).0.load(Ordering::Relaxed) & bit(chunk).1 == 0);
            if fresh {
                self.verify(&cut(&plan.fetch)?, plan.fetch.start, want)?;
                for chunk in chunks {
                    bit(chunk).0.fetch_or(bit(chunk).1, Ordering::Relaxed);
                }
            }
        }
        cut(&plan.exact)
    }

    /// Compares whole chunks, the first of which starts at `offset` of the file, with their checksums.
    fn verify(&self, bytes: &[u8], offset: u64, want: &SectionRange) -> Result<()> {
        for (ix, chunk) in bytes.chunks(CHUNK_LEN as usize).enumerate() {
            let at = offset / CHUNK_LEN + ix as u64;
            let expected = self.expected_sum(at);
            let found = crc32c::crc32c(chunk);
            if expected != Some(found) {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    format!(
                        "{}: chunk at offset {} has checksum {found:08x}, expected {:08x}",
                        describe(self.id(), want.kind, want.field),
                        at * CHUNK_LEN,
                        expected.unwrap_or(0)
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Recorded checksum of one chunk of the file.
    pub(super) fn expected_sum(&self, chunk: u64) -> Option<u32> {
        let at = usize::try_from(chunk.checked_mul(4)?).ok()?;
        let sum = self.shared.sums.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(sum.try_into().ok()?))
    }
}

struct Plan {
    exact: Range<u64>,
    fetch: Range<u64>,
    chunked: bool,
}

/// `postings of field 3 in segment 00ff…`, for messages.
pub(crate) fn describe(id: SegmentId, kind: SectionKind, field: FieldOrd) -> String {
    format!("{kind} of field {} in segment {id}", field.0)
}
