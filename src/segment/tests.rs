//! The container as a whole: what was written comes back, and damage is found.

use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

use bytes::Bytes;

use super::*;
use crate::{
    error::ErrorKind,
    ids::{FieldOrd, SegmentId},
    platform::block_on,
    storage::{Access, MemoryStorage, OpenOptions, Storage},
};

const FIELD: FieldOrd = FieldOrd(1);
const OPTIONS: OpenOptions = OpenOptions { access: Access::SEARCH, len: None };

/// A segment with 10,000 bytes of postings, as many of terms that were spilled, 3,000 of documents and 20 pinned.
async fn write_sample(storage: &MemoryStorage, id: SegmentId) -> Toc {
    let mut writer = SegmentFileWriter::create(storage, id).await.unwrap();
    let mut spill = Spill::new(storage, id, 0, 4000);
    writer.begin(SectionKind::Postings, FIELD);
    for step in 0..10u8 {
        writer.append(&mut vec![step; 1000]).await.unwrap();
        spill.append(&mut vec![100 + step; 1000]).await.unwrap();
    }
    writer.end();
    writer.begin(SectionKind::Terms, FIELD);
    spill.drain_into(&mut writer).await.unwrap();
    writer.end();
    writer.pin(SectionKind::TermIndex, FIELD, vec![7; 20]);
    writer.begin(SectionKind::Docs, FieldOrd(0));
    writer.append(&mut vec![9; 3000]).await.unwrap();
    writer.end();
    writer.finish(5).await.unwrap()
}

async fn open(storage: &MemoryStorage, toc: &Toc) -> SegmentReader<impl crate::storage::File> {
    let file = storage.open(&toc.id.file_name(), OPTIONS).await.unwrap();
    SegmentReader::open(file, toc.clone()).await.unwrap()
}

#[test]
fn sections_come_back_and_no_spill_stays() {
    block_on(async {
        let (storage, id) = (MemoryStorage::new(), SegmentId([5; 16]));
        let toc = write_sample(&storage, id).await;
        let reader = open(&storage, &toc).await;
        assert_eq!(reader.max_doc(), 5);
        assert_eq!(reader.pinned(SectionKind::TermIndex, FIELD).unwrap(), &Bytes::from(vec![7; 20]));
        let postings = reader.read_one(SectionKind::Postings, FIELD, 999..2001).await.unwrap();
        assert_eq!((postings[0], postings[1], postings[1001]), (0, 1, 2));
        let terms = reader.read_one(SectionKind::Terms, FIELD, 0..10_000).await.unwrap();
        assert_eq!((terms[0], terms[9999]), (100, 109));
        assert_eq!(reader.read_one(SectionKind::Docs, FieldOrd(0), 10..20).await.unwrap(), vec![9; 10]);
        assert!(reader.read_one(SectionKind::Postings, FIELD, 0..10_001).await.is_err());
        assert!(reader.read_one(SectionKind::Norms, FIELD, 0..0).await.is_err());
        let files = storage.list().await.unwrap();
        assert_eq!(files.len(), 1, "{files:?}");
        assert_eq!(files[0].len, toc.file_len);
    });
}

/// Not resident as a whole: every read goes through [`VerifiedFile`]. Records what is prefetched.
#[derive(Debug, Clone)]
struct Piecewise(Bytes, Arc<Mutex<Vec<Range<u64>>>>);

impl From<Bytes> for Piecewise {
    fn from(bytes: Bytes) -> Self {
        Self(bytes, Arc::default())
    }
}

impl crate::storage::File for Piecewise {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    async fn read_ranges(&self, ranges: &[Range<u64>]) -> crate::error::Result<Vec<Bytes>> {
        Ok(ranges.iter().map(|range| self.0.slice(range.start as usize..range.end as usize)).collect())
    }
    fn prefetch(&self, ranges: &[Range<u64>]) -> usize {
        self.1.lock().unwrap().extend_from_slice(ranges);
        ranges.len()
    }
    fn as_slice(&self) -> Option<&Bytes> {
        None
    }
}

#[test]
fn prefetches_reach_the_file_through_every_reader_of_a_segment() {
    block_on(async {
        let (storage, id) = (MemoryStorage::new(), SegmentId([5; 16]));
        let toc = write_sample(&storage, id).await;
        let file = Piecewise::from(storage.get(&id.file_name()).unwrap());
        let recorded = file.1.clone();
        let reader = SegmentReader::open(file, toc.clone()).await.unwrap();
        let place = |kind| toc.sections.iter().find(|section| section.kind == kind).unwrap().offset;
        let want = |kind, field, range| SectionRange { kind, field, range };
        let wants = [
            want(SectionKind::Postings, FIELD, 5000..5001),
            want(SectionKind::Postings, FIELD, 0..10_001),
            want(SectionKind::Norms, FIELD, 0..1),
            want(SectionKind::Docs, FieldOrd(0), 3..9),
        ];
        recorded.lock().unwrap().clear();
        assert_eq!(reader.prefetch(&wants), 2, "what is not there is left out");
        let recorded = std::mem::take(&mut *recorded.lock().unwrap());
        let (postings, docs) = (place(SectionKind::Postings) + 5000, place(SectionKind::Docs));
        // Postings are verified in whole chunks, so those are what will be read; documents verify themselves.
        let first = postings / CHUNK_LEN * CHUNK_LEN;
        assert_eq!(recorded[0].start, first);
        assert!(recorded[0].end > postings && recorded[0].end <= first + CHUNK_LEN, "{recorded:?}");
        assert_eq!(recorded[1..], [docs + 3..docs + 9]);
    });
}

#[test]
fn every_damaged_byte_of_a_chunked_or_pinned_section_is_found() {
    block_on(async {
        let (storage, id) = (MemoryStorage::new(), SegmentId([5; 16]));
        let toc = write_sample(&storage, id).await;
        let good = storage.get(&id.file_name()).unwrap();
        for section in &toc.sections {
            for at in section.range().step_by(97) {
                let mut bad = good.to_vec();
                bad[at as usize] ^= 0x40;
                let found = [
                    read_all(
                        SegmentReader::open(Piecewise::from(Bytes::from(bad.clone())), toc.clone()).await,
                        section,
                    )
                    .await,
                    read_all(
                        SegmentReader::open(crate::storage::memory::MemoryFile::from(Bytes::from(bad)), toc.clone())
                            .await,
                        section,
                    )
                    .await,
                ];
                for found in found {
                    let expected = (!section.kind.is_self_checked()).then_some(ErrorKind::Corrupt);
                    assert_eq!(found.err().map(|error| error.kind()), expected, "{} at {at}", section.kind);
                }
            }
        }
    });
}

async fn read_all<F: crate::storage::File>(
    reader: crate::error::Result<SegmentReader<F>>,
    section: &Section,
) -> crate::error::Result<()> {
    reader?.read_one(section.kind, section.field, 0..section.len).await.map(drop)
}

#[test]
fn another_segments_file_is_corrupt() {
    block_on(async {
        let storage = MemoryStorage::new();
        let mut writer = SegmentFileWriter::create(&storage, SegmentId([1; 16])).await.unwrap();
        writer.begin(SectionKind::Norms, FIELD);
        writer.append(&mut vec![1; 100]).await.unwrap();
        writer.end();
        let toc = writer.finish(100).await.unwrap();
        let other = write_sample(&storage, SegmentId([2; 16])).await;
        let swapped = Piecewise::from(storage.get(&other.id.file_name()).unwrap());
        assert_eq!(SegmentReader::open(swapped, toc).await.unwrap_err().kind(), ErrorKind::Corrupt);
    });
}
