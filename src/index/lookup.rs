//! Documents by id: which document of a segment carries an id.

use std::{ops::Range, sync::Arc};

use crate::{
    bitset::BitSet,
    error::{Error, ErrorKind, Result},
    ids::{DocOrd, FieldOrd},
    segment::{OpenSegment, SectionKind, SectionRange},
    storage::File,
    terms,
};

/// The reserved id field.
const ID_FIELD: FieldOrd = FieldOrd(0);
/// Dictionary bytes read at a time: a bulk replacement looks up every id of a large batch.
const WINDOW_BYTES: u64 = 1 << 20;

/// The documents of `segment`, live or not, whose id terms are in `sorted` (ascending): position in `sorted` and
/// document. One read per MiB of dictionary; none where all terms are certainly absent.
///
/// # Errors
/// `corrupt`, storage's own.
pub async fn find_docs<F: File, T: AsRef<[u8]>>(
    segment: &OpenSegment<F>,
    sorted: &[T],
) -> Result<Vec<(usize, DocOrd)>> {
    let Some(index) = segment.terms(ID_FIELD) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let located: Vec<(usize, Range<u64>)> =
        sorted.iter().enumerate().filter_map(|(ix, term)| Some((ix, index.locate(term.as_ref())?))).collect();
    // Collected, so that the future is `Send`: it holds no closure over the terms.
    let mut located = located.into_iter().peekable();
    while located.peek().is_some() {
        // Terms ascend, so blocks do: those of one window are gathered, each once.
        let (mut blocks, mut wanted): (Vec<Range<u64>>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        while let Some((ix, block)) = located.next_if(|_| bytes < WINDOW_BYTES) {
            if blocks.last() != Some(&block) {
                bytes += block.end - block.start;
                blocks.push(block);
            }
            wanted.push((ix, blocks.len() - 1));
        }
        let ranges: Vec<_> =
            blocks.into_iter().map(|range| SectionRange { kind: SectionKind::Terms, field: ID_FIELD, range }).collect();
        let read = segment.reader().read(&ranges).await?;
        for (ix, block) in wanted {
            let what = || format!("ids of segment {}", segment.id());
            let info = terms::find(index.options(), &read[block], sorted[ix].as_ref())
                .map_err(|error| Error::corrupt(what(), error))?;
            let Some(info) = info else { continue };
            // A segment has an id once: an earlier document with it is not indexed under it.
            match info.singleton.filter(|doc| *doc < segment.max_doc()) {
                Some(doc) => found.push((ix, DocOrd(doc))),
                None => {
                    let what = format!("{}: an id stands for {} documents", what(), info.doc_freq);
                    return Err(Error::new(ErrorKind::Corrupt, what));
                }
            }
        }
    }
    Ok(found)
}

/// Walks the ids of a segment's live documents in ascending order, a window at a time.
#[derive(Debug)]
pub struct IdWalk<'a, F: File> {
    segment: &'a OpenSegment<F>,
    live: Option<&'a BitSet>,
    next_block: usize,
}

impl<'a, F: File> IdWalk<'a, F> {
    /// In front of the first id.
    pub fn new(segment: &'a OpenSegment<F>, live: Option<&'a BitSet>) -> Self {
        Self { segment, live, next_block: 0 }
    }

    /// The next id terms, of about a MiB of dictionary; `None` at the end.
    ///
    /// # Errors
    /// `corrupt`, storage's own.
    pub async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>> {
        let Some(index) = self.segment.terms(ID_FIELD) else { return Ok(None) };
        let Some(mut range) = index.block_range(self.next_block) else { return Ok(None) };
        self.next_block += 1;
        while let Some(more) = index.block_range(self.next_block).filter(|more| more.end - range.start <= WINDOW_BYTES)
        {
            range.end = more.end;
            self.next_block += 1;
        }
        let bytes = self.segment.reader().read_one(SectionKind::Terms, ID_FIELD, range).await?;
        let damaged = |error| Error::corrupt(format!("ids of segment {}", self.segment.id()), error);
        let mut cursor = terms::TermCursor::new(index.options(), bytes);
        let mut ids = Vec::new();
        while cursor.advance().map_err(damaged)? {
            let is_live = |doc: u32| self.live.is_none_or(|live| live.contains(doc));
            if cursor.info().singleton.is_some_and(is_live) {
                ids.push(cursor.term().to_vec());
            }
        }
        Ok(Some(ids))
    }
}

/// Takes documents out of a set of live ones (`None`: all); returns how many were in it.
pub fn remove(
    live: &mut Option<Arc<BitSet>>,
    num_docs: &mut u32,
    max_doc: u32,
    docs: impl IntoIterator<Item = DocOrd>,
) -> u32 {
    let mut removed = 0;
    for doc in docs {
        if live.as_ref().is_some_and(|live| !live.contains(doc.0)) {
            continue;
        }
        // Copied once per change of a set that a snapshot still shows; later removals are in place.
        let set = Arc::make_mut(live.get_or_insert_with(|| Arc::new(BitSet::full(max_doc))));
        removed += u32::from(set.remove(doc.0));
    }
    *num_docs -= removed;
    removed
}
