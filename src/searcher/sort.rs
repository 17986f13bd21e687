//! Order by columns.
//!
//! Inside a segment a document's key is a list of numbers, keywords being ordinals; the best of each segment are
//! found with it. Between segments ordinals mean nothing, so keywords are looked up before the last step.

#![forbid(unsafe_code)]

use std::{cmp::Ordering, sync::Arc};

use super::{ask::ResolvedKey, columns::SegmentColumns, pace::Pace};
use crate::{
    columns::{BLOCK_DOCS, ColumnKind, ColumnMeta, DecodedBlock, value::encode_number},
    error::Result,
    ids::{DocAddress, DocOrd, SegmentOrd},
    topk::TopBy,
};

/// One key of a document: missing values last in either direction, then the value, complemented if descending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KeyPart {
    is_missing: bool,
    value: u64,
}

/// A document on its way to its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SortedDoc {
    pub address: DocAddress,
    parts: Vec<KeyPart>,
    /// Keywords of the keys that are keywords, filled in by [`resolve`].
    words: Vec<Option<Arc<str>>>,
}

impl SortedDoc {
    /// Ordinal of key `key` in its segment's dictionary, if it is a keyword and there is one.
    pub fn keyword_ord(&self, keys: &[ResolvedKey], key: usize) -> Option<u32> {
        let (resolved, part) = (keys.get(key)?, self.parts.get(key)?);
        let is_keyword = matches!(resolved.column, Some((_, ColumnKind::Keyword)));
        let ord = if resolved.descending { !part.value } else { part.value };
        (is_keyword && !part.is_missing).then_some(ord as u32)
    }

    /// Fills in the keyword of a key.
    pub fn set_word(&mut self, key: usize, word: Arc<str>) {
        if self.words.len() <= key {
            self.words.resize(key + 1, None);
        }
        self.words[key] = Some(word);
    }
}

/// The first `count` documents of one segment. `docs` ascend; `score` of a document counts for keys without a column.
pub(super) async fn best_of_segment(
    segment: usize,
    docs: impl Iterator<Item = (u32, f64)>,
    keys: &[ResolvedKey],
    metas: &[Option<Arc<ColumnMeta>>],
    columns: &SegmentColumns,
    count: usize,
    pace: &mut Pace<'_>,
) -> Result<Vec<SortedDoc>> {
    let mut top: TopBy<(Vec<KeyPart>, u32)> = TopBy::new(count);
    let mut blocks: Vec<Option<DecodedBlock>> = vec![None; keys.len()];
    let mut current = None;
    let mut parts = Vec::with_capacity(keys.len());
    for (doc, score) in docs {
        let block = doc / BLOCK_DOCS;
        if current != Some(block) {
            current = Some(block);
            for ((slot, key), meta) in blocks.iter_mut().zip(keys).zip(metas) {
                *slot = match (key.column, meta) {
                    (Some((field, _)), Some(meta)) => Some(columns.decode(field, meta, block)?),
                    _ => None,
                };
            }
            pace.step().await?;
        }
        parts.clear();
        parts.extend(keys.iter().zip(&blocks).map(|(key, block)| {
            let value = match (key.column, block) {
                (None, _) => Some(encode_number(score)),
                // Of several values the one that comes first counts.
                (Some(_), Some(block)) if key.descending => block.values_of(doc).last().copied(),
                (Some(_), Some(block)) => block.values_of(doc).first().copied(),
                (Some(_), None) => None,
            };
            let is_missing = value.is_none();
            let value = value.unwrap_or(0);
            KeyPart { is_missing, value: if key.descending { !value } else { value } }
        }));
        let is_behind = top.worst().is_some_and(|worst| (parts.as_slice(), doc) > (worst.0.as_slice(), worst.1));
        if !is_behind {
            top.push((parts.clone(), doc));
        }
    }
    let address = |doc| DocAddress { segment: SegmentOrd(segment as u32), doc: DocOrd(doc) };
    let sorted = top.into_sorted_vec().into_iter();
    Ok(sorted.map(|(parts, doc)| SortedDoc { address: address(doc), parts, words: Vec::new() }).collect())
}

/// Order of two documents of any segments, keywords filled in.
pub(super) fn compare(a: &SortedDoc, b: &SortedDoc, keys: &[ResolvedKey]) -> Ordering {
    let by_key = |ix: usize, key: &ResolvedKey| {
        let (x, y) = (a.parts[ix], b.parts[ix]);
        if !matches!(key.column, Some((_, ColumnKind::Keyword))) || x.is_missing || y.is_missing {
            return x.is_missing.cmp(&y.is_missing).then_with(|| {
                if x.is_missing || matches!(key.column, Some((_, ColumnKind::Keyword))) {
                    Ordering::Equal
                } else {
                    x.value.cmp(&y.value)
                }
            });
        }
        let order = match (a.words.get(ix), b.words.get(ix)) {
            (Some(Some(x)), Some(Some(y))) => x.cmp(y),
            // Of one segment: ordinals order as their keywords do. They are complemented already.
            _ => return x.value.cmp(&y.value),
        };
        if key.descending { order.reverse() } else { order }
    };
    let keys = keys.iter().enumerate().map(|(ix, key)| by_key(ix, key));
    keys.fold(Ordering::Equal, Ordering::then).then_with(|| a.address.cmp(&b.address))
}
