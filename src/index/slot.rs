//! Contents of a commit slot: the whole state of an index in one small file.
//!
//! Two slots alternate: odd generations go to slot A, even ones to slot B, so that writing one never touches
//! the other. The highest valid one is the index. Little-endian; text and blobs have their length (u32) in front.
//!
//! ```text
//!   offset  size  field
//!        0     8  magic
//!        8     4  format_version
//!       12     8  len                bytes of the whole record, checksum included
//!       20     8  generation
//!       28    16  index id           the same in all commits of an index
//!       44     8  unix_millis        when it was made
//!       52     8  next_overlay       overlay numbers below this one are taken
//!       60     .  schema             JSON text, empty while unknown
//!        .     2  codec              of postings, as in tables of contents; since version 2, before it is 1
//!        .     1  has_base           1: base index id (16) and generation (8), number (8) and length (8) of the tombstone file
//!        .     4  num_segments       each: home u8 (0 own, 1 base), num_docs u32, overlay u64 (0 none), and
//!                                    own: table of contents (blob); base: segment id (16) and max_doc u32
//!        .     4  num_dropped        each: file name (text), unix_millis u64
//!        .     4  crc32c of everything before
//! ```
//!
//! Bytes after the record are ignored: a backend that replaces a longer slot may leave some.

use bytes::Bytes;
use serde::Serialize;

use crate::{
    codec::PostingsCodec,
    error::{Error, ErrorKind, Result},
    ids::SegmentId,
    segment::{
        Toc, live_file_name,
        wire::{WireError, WireReader, put_blob, seal},
    },
    storage::CommitSlot,
    topk::order,
};

const MAGIC: [u8; 8] = *b"RFCMT\r\n\x01";
const FORMAT_VERSION: u32 = 2;
/// The first version that records the codec of postings.
const CODEC_VERSION: u32 = 2;
/// Bytes of magic, version and length.
const FRAME_LEN: usize = 20;
/// No commit is longer: 64 MiB are about 100,000 segments.
const MAX_LEN: u64 = 64 << 20;

/// Which storage holds a segment's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SegmentHome {
    /// The index's own.
    Own,
    /// The read-only base.
    Base,
}

/// One segment of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentEntry {
    /// Its name.
    pub id: SegmentId,
    /// Where its file is.
    pub home: SegmentHome,
    /// Documents, deleted ones included.
    pub max_doc: u32,
    /// Live documents.
    pub num_docs: u32,
    /// Number of its overlay file, which is always the index's own; 0 for none.
    pub overlay: u64,
    /// Table of contents of an own segment; the base's commit has it for the others.
    pub toc: Option<Toc>,
}

impl SegmentEntry {
    /// Name of the overlay file, if there is one.
    pub fn overlay_name(&self) -> Option<String> {
        (self.overlay != 0).then(|| live_file_name(self.id, self.overlay))
    }
}

/// What a commit says about the index it overlays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseRef {
    /// The base's index id.
    pub index_id: [u8; 16],
    /// Generation of the base that the overlays were made for.
    pub generation: u64,
    /// Number of the file that lists ids hidden in the base; 0 for none.
    pub tombstones: u64,
    /// Its length.
    pub tombstones_len: u64,
}

/// A file that no newer commit references, kept for a while for readers of older ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedFile {
    /// Its name.
    pub name: String,
    /// When the commit that dropped it was made.
    pub unix_millis: u64,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Ascending; 0 is the state before the first one.
    pub generation: u64,
    /// Made at random when the index is created.
    pub index_id: [u8; 16],
    /// When it was made.
    pub unix_millis: u64,
    /// Overlay and tombstone numbers below this one are taken.
    pub next_overlay: u64,
    /// Schema as JSON text, empty while unknown.
    pub schema: String,
    /// How new segments, merged ones too, encode postings.
    pub codec: PostingsCodec,
    /// The index underneath.
    pub base: Option<BaseRef>,
    /// Oldest first.
    pub segments: Vec<SegmentEntry>,
    /// Files waiting for their grace to end.
    pub dropped: Vec<DroppedFile>,
}

/// Name of the file that lists ids hidden in the base.
pub fn tombstones_file_name(number: u64) -> String {
    format!("base-{number}.ids")
}

impl Commit {
    /// The state of an index before its first commit.
    ///
    /// # Errors
    /// `io` where the platform gives no randomness.
    pub fn empty() -> Result<Self> {
        Ok(Self::before_the_first(SegmentId::random()?.0))
    }

    /// What an index of that id holds before its first commit.
    pub(super) fn before_the_first(index_id: [u8; 16]) -> Self {
        Self {
            generation: 0,
            index_id,
            unix_millis: 0,
            next_overlay: 1,
            schema: String::new(),
            codec: PostingsCodec::default(),
            base: None,
            segments: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// The slot where this generation goes.
    pub fn slot(&self) -> CommitSlot {
        if self.generation % 2 == 1 { CommitSlot::A } else { CommitSlot::B }
    }

    /// Whether nobody has committed anything yet: only the first, empty commit was made, if that.
    pub fn is_pristine(&self) -> bool {
        self.generation <= 1 && self.segments.is_empty()
    }

    /// Live documents.
    pub fn num_docs(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.num_docs)).sum()
    }

    /// Names of the own files it needs.
    pub fn files(&self) -> impl Iterator<Item = String> + '_ {
        let segments = self.segments.iter().flat_map(|segment| {
            let own = (segment.home == SegmentHome::Own).then(|| segment.id.file_name());
            own.into_iter().chain(segment.overlay_name())
        });
        let tombstones = self.base.iter().filter(|base| base.tombstones != 0);
        segments.chain(tombstones.map(|base| tombstones_file_name(base.tombstones)))
    }

    /// The bytes of the slot.
    pub fn encode(&self) -> Bytes {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&0u64.to_le_bytes());
        out.extend_from_slice(&self.generation.to_le_bytes());
        out.extend_from_slice(&self.index_id);
        out.extend_from_slice(&self.unix_millis.to_le_bytes());
        out.extend_from_slice(&self.next_overlay.to_le_bytes());
        put_blob(&mut out, self.schema.as_bytes());
        out.extend_from_slice(&self.codec.number().to_le_bytes());
        out.push(u8::from(self.base.is_some()));
        if let Some(base) = &self.base {
            out.extend_from_slice(&base.index_id);
            out.extend_from_slice(&base.generation.to_le_bytes());
            out.extend_from_slice(&base.tombstones.to_le_bytes());
            out.extend_from_slice(&base.tombstones_len.to_le_bytes());
        }
        out.extend_from_slice(&(self.segments.len() as u32).to_le_bytes());
        for segment in &self.segments {
            out.push(u8::from(segment.home == SegmentHome::Base));
            out.extend_from_slice(&segment.num_docs.to_le_bytes());
            out.extend_from_slice(&segment.overlay.to_le_bytes());
            match &segment.toc {
                Some(toc) => {
                    let mut bytes = Vec::new();
                    toc.write(&mut bytes);
                    put_blob(&mut out, &bytes);
                }
                None => {
                    out.extend_from_slice(&segment.id.0);
                    out.extend_from_slice(&segment.max_doc.to_le_bytes());
                }
            }
        }
        out.extend_from_slice(&(self.dropped.len() as u32).to_le_bytes());
        for file in &self.dropped {
            put_blob(&mut out, file.name.as_bytes());
            out.extend_from_slice(&file.unix_millis.to_le_bytes());
        }
        let len = out.len() as u64 + 4;
        out[12..20].copy_from_slice(&len.to_le_bytes());
        seal(&mut out, 0);
        Bytes::from(out)
    }

    /// Parses the bytes of `slot`.
    ///
    /// # Errors
    /// `corrupt`; `unsupported_format` for a newer version, told apart only once the checksum is right.
    pub fn parse(bytes: &[u8], slot: CommitSlot) -> Result<Self> {
        let name = slot.file_name();
        let (len, version) = Self::frame(bytes).map_err(|error| Error::corrupt(name, error))?;
        let mut reader = WireReader::sealed(&bytes[..len]).map_err(|error| Error::corrupt(name, error))?;
        if version == 0 || version > FORMAT_VERSION {
            let what = format!("{name} has format version {version}: open it with a newer version of rangefind");
            return Err(Error::new(ErrorKind::UnsupportedFormat, what));
        }
        let (mut commit, codec, tocs) =
            Self::body(&mut reader, version).map_err(|error| Error::corrupt(name, error))?;
        commit.codec = PostingsCodec::from_number(codec).ok_or_else(|| {
            let what = format!("{name} has postings codec {codec}: open it with a newer version of rangefind");
            Error::new(ErrorKind::UnsupportedFormat, what)
        })?;
        for (ix, toc) in tocs {
            let toc = Toc::parse(toc).map_err(|error| error.at(name))?;
            let entry = &mut commit.segments[ix];
            (entry.id, entry.max_doc) = (toc.id, toc.max_doc);
            entry.toc = Some(toc);
        }
        let impossible = commit.segments.iter().find(|entry| entry.num_docs > entry.max_doc);
        if let Some(entry) = impossible {
            let (id, live, all) = (entry.id, entry.num_docs, entry.max_doc);
            let what = format!("{name}: segment {id} has {live} live documents of {all}");
            return Err(Error::new(ErrorKind::Corrupt, what));
        }
        if commit.slot() != slot {
            let what = format!("{name} holds generation {}, which belongs to the other slot", commit.generation);
            return Err(Error::new(ErrorKind::Corrupt, what));
        }
        Ok(commit)
    }

    fn frame(bytes: &[u8]) -> Result<(usize, u32), WireError> {
        let mut reader = WireReader::new(bytes);
        if reader.take(8)? != MAGIC {
            return Err(WireError::Magic);
        }
        let (version, len) = (reader.u32()?, reader.u64()?);
        let fits = len <= MAX_LEN.min(bytes.len() as u64) && len >= FRAME_LEN as u64;
        if fits {
            Ok((len as usize, version))
        } else {
            Err(WireError::Value { what: "length", offset: 12, found: len })
        }
    }

    /// The commit without tables of contents and codec, the codec's number, and the tables' bytes.
    #[allow(clippy::type_complexity)]
    fn body<'a>(reader: &mut WireReader<'a>, version: u32) -> Result<(Self, u16, Vec<(usize, &'a [u8])>), WireError> {
        reader.take(FRAME_LEN)?;
        let (generation, index_id, unix_millis, next_overlay) =
            (reader.u64()?, reader.id()?, reader.u64()?, reader.u64()?);
        let schema = reader.text()?.to_owned();
        let fast = PostingsCodec::Fast;
        let codec = if version >= CODEC_VERSION { reader.u16()? } else { fast.number() };
        let base = match reader.u8()? {
            0 => None,
            _ => Some(BaseRef {
                index_id: reader.id()?,
                generation: reader.u64()?,
                tombstones: reader.u64()?,
                tombstones_len: reader.u64()?,
            }),
        };
        let (mut segments, mut tocs) = (Vec::new(), Vec::new());
        for ix in 0..reader.count(17)? {
            let is_base = reader.u8()? != 0;
            let (num_docs, overlay) = (reader.u32()?, reader.u64()?);
            let home = if is_base { SegmentHome::Base } else { SegmentHome::Own };
            let (id, max_doc) = if is_base {
                (SegmentId(reader.id()?), reader.u32()?)
            } else {
                tocs.push((ix, reader.blob()?));
                (SegmentId([0; 16]), 0)
            };
            segments.push(SegmentEntry { id, home, max_doc, num_docs, overlay, toc: None });
        }
        let mut dropped = Vec::new();
        for _ in 0..reader.count(12)? {
            dropped.push(DroppedFile { name: reader.text()?.to_owned(), unix_millis: reader.u64()? });
        }
        if reader.left() != 0 {
            let (offset, found) = (reader.at(), reader.left() as u64);
            return Err(WireError::Value { what: "bytes after the last record", offset, found });
        }
        let commit =
            Self { generation, index_id, unix_millis, next_overlay, schema, codec: fast, base, segments, dropped };
        Ok((commit, codec, tocs))
    }
}

/// What the two slots hold.
#[derive(Debug)]
pub struct Slots {
    /// The index: the highest valid commit. `None` if neither slot was ever written.
    pub newest: Option<Commit>,
    /// The one before, if it is valid.
    pub previous: Option<Commit>,
    /// What is wrong with a slot that was written but is not valid: an interrupted commit.
    pub damaged: Option<Error>,
}

impl Slots {
    /// Chooses among the raw contents of both slots.
    ///
    /// # Errors
    /// `corrupt` if no slot is valid, unless it may be that the very first commit was interrupted: slot A
    /// damaged, slot B never written. `unsupported_format` whenever a slot is of a newer version: going on at
    /// an older commit would lose what the newer program wrote.
    pub fn choose(raw: [(CommitSlot, Option<Bytes>); 2]) -> Result<Self> {
        let (mut valid, mut damaged) = (Vec::new(), Vec::new());
        for (slot, bytes) in raw {
            // An empty slot is one whose first write never got anywhere.
            let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else { continue };
            match Commit::parse(&bytes, slot) {
                Ok(commit) => valid.push(commit),
                Err(error) if error.kind() == ErrorKind::UnsupportedFormat => return Err(error),
                Err(error) => damaged.push((slot, error)),
            }
        }
        order::by_key(&mut valid, |commit| commit.generation);
        let newest = valid.pop();
        let both = damaged.len() == 2;
        match (newest, damaged.pop()) {
            (None, Some((CommitSlot::B, error))) => Err(error),
            (None, Some((_, error))) if both => Err(error),
            (newest, damaged) => Ok(Self { newest, previous: valid.pop(), damaged: damaged.map(|(_, error)| error) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::sample_toc;

    fn sample(generation: u64) -> Commit {
        let own = SegmentEntry {
            id: sample_toc().id,
            home: SegmentHome::Own,
            max_doc: sample_toc().max_doc,
            num_docs: 5,
            overlay: 3,
            toc: Some(sample_toc()),
        };
        let based = SegmentEntry {
            id: SegmentId([8; 16]),
            home: SegmentHome::Base,
            max_doc: 10,
            num_docs: 10,
            overlay: 0,
            toc: None,
        };
        Commit {
            generation,
            index_id: [1; 16],
            unix_millis: 77,
            next_overlay: 4,
            schema: "{}".to_owned(),
            codec: PostingsCodec::Compact,
            base: Some(BaseRef { index_id: [2; 16], generation: 9, tombstones: 2, tombstones_len: 30 }),
            segments: vec![own, based],
            dropped: vec![DroppedFile { name: "x.seg".to_owned(), unix_millis: 5 }],
        }
    }

    #[test]
    fn a_commit_round_trips_with_rubbish_behind() {
        let commit = sample(7);
        let mut bytes = commit.encode().to_vec();
        bytes.extend_from_slice(b"older, longer slot");
        assert_eq!(Commit::parse(&bytes, CommitSlot::A).unwrap(), commit);
        let files: Vec<_> = commit.files().collect();
        let id = commit.segments[0].id;
        assert_eq!(files, [format!("{id}.seg"), format!("{id}-3.live"), "base-2.ids".to_owned()]);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_corrupt() {
        let good = sample(7).encode().to_vec();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Commit::parse(&bad, CommitSlot::A).unwrap_err().kind(), ErrorKind::Corrupt, "bit {bit}");
        }
        for len in 0..good.len() {
            assert_eq!(Commit::parse(&good[..len], CommitSlot::A).unwrap_err().kind(), ErrorKind::Corrupt, "len {len}");
        }
    }

    #[test]
    fn resealed_rubbish_never_panics() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let good = sample(7).encode().to_vec();
        for _ in 0..20_000 {
            let mut bad = good[..good.len() - 4].to_vec();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(20..bad.len());
                bad[at] = random.u8(..);
            }
            seal(&mut bad, 0);
            let _ = Commit::parse(&bad, CommitSlot::A);
        }
    }

    #[test]
    fn the_highest_valid_slot_wins() {
        let (odd, even) = (sample(7).encode(), sample(8).encode());
        let slots = |a: Option<&Bytes>, b: Option<&Bytes>| {
            Slots::choose([(CommitSlot::A, a.cloned()), (CommitSlot::B, b.cloned())])
        };
        let both = slots(Some(&odd), Some(&even)).unwrap();
        assert_eq!((both.newest.unwrap().generation, both.previous.unwrap().generation), (8, 7));
        let torn = slots(Some(&odd), Some(&even.slice(..40))).unwrap();
        assert_eq!(torn.newest.unwrap().generation, 7);
        assert!(torn.damaged.is_some());
        assert!(slots(None, None).unwrap().newest.is_none());
        assert!(slots(Some(&odd.slice(..30)), None).unwrap().newest.is_none());
        assert!(slots(Some(&odd.slice(..30)), Some(&even.slice(..30))).is_err());
        assert!(slots(None, Some(&even.slice(..30))).is_err());
        assert!(slots(Some(&even), None).unwrap().newest.is_none(), "a commit in the wrong slot is not valid");
    }

    #[test]
    fn a_newer_version_says_what_to_do() {
        let mut bytes = sample(8).encode().to_vec();
        bytes.truncate(bytes.len() - 4);
        bytes[8] = FORMAT_VERSION as u8 + 1;
        seal(&mut bytes, 0);
        let raw = [(CommitSlot::A, Some(sample(7).encode())), (CommitSlot::B, Some(Bytes::from(bytes)))];
        let error = Slots::choose(raw).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFormat);
        assert!(error.to_string().contains("newer version"), "{error}");
    }

    #[test]
    fn an_unknown_codec_is_a_newer_version() {
        let mut bytes = sample(8).encode().to_vec();
        bytes.truncate(bytes.len() - 4);
        // Behind the fixed part and the schema with its length.
        assert_eq!(bytes[66..68], [2, 0]);
        bytes[66] = 99;
        seal(&mut bytes, 0);
        let error = Commit::parse(&bytes, CommitSlot::B).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFormat);
        assert!(error.to_string().contains("codec 99"), "{error}");
    }

    #[test]
    fn version_1_had_the_fast_codec() {
        let commit = sample(8);
        let mut bytes = commit.encode().to_vec();
        bytes.truncate(bytes.len() - 4);
        bytes.drain(66..68);
        bytes[8] = 1;
        let len = bytes.len() as u64 + 4;
        bytes[12..20].copy_from_slice(&len.to_le_bytes());
        seal(&mut bytes, 0);
        let parsed = Commit::parse(&bytes, CommitSlot::B).unwrap();
        assert_eq!(parsed, Commit { codec: PostingsCodec::Fast, ..commit });
    }
}
