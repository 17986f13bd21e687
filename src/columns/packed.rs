//! Values of one block where they lie: single documents are looked up, conditions are tested on packed numbers,
//! and nothing else is decoded.

#![forbid(unsafe_code)]

use std::ops::Range;

use bytes::Bytes;

use super::{
    BlockMeta, ColumnError, ValueRanges,
    block::{HAS_MISSING, HAS_SEVERAL, HEADER_BYTES},
    lanes::{GROUP, Lanes},
};
use crate::codec::pack::{packed_at, packed_len, unpack};

/// Documents of 64 up to which their values are read one by one.
const FEW: u32 = 8;

/// Where the parts of a block are. Everything but the values themselves was checked.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockLayout {
    pub width: u8,
    pub shift: u8,
    /// One bit per document; `None`: all have values.
    pub presence_at: Option<usize>,
    /// Documents with values before each group of 64, where some have none.
    ranks: Vec<u16>,
    /// Start of the values of each document that has some, then the end; `None`: one value each.
    pub starts: Option<Vec<u32>>,
    /// Packed values.
    pub values_at: usize,
}

impl BlockLayout {
    pub fn parse(block: u32, num_docs: u32, meta: &BlockMeta, bytes: &[u8]) -> Result<Self, ColumnError> {
        let bad = |what| ColumnError::BadBlock { block, what };
        if bytes.len() as u64 != meta.len {
            return Err(bad("another length than the metadata says"));
        }
        if meta.num_docs_with == 0 {
            return Ok(Self { starts: Some(vec![0]), ranks: Vec::new(), ..Self::default() });
        }
        let Some((&[flags, width, shift, count_width], mut rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(bad("shorter than its header"));
        };
        if flags & !(HAS_MISSING | HAS_SEVERAL) != 0 || width > 64 || shift > 63 || count_width > 32 {
            return Err(bad("header cannot be"));
        }
        let mut layout = Self { width, shift, ..Self::default() };
        let mut num_present = num_docs as usize;
        if flags & HAS_MISSING != 0 {
            let (bits, after) =
                rest.split_at_checked((num_docs as usize).div_ceil(8)).ok_or_else(|| bad("presence is cut short"))?;
            layout.presence_at = Some(bytes.len() - rest.len());
            num_present = 0;
            for at in 0..(num_docs as usize).div_ceil(GROUP) {
                layout.ranks.push(num_present as u16);
                num_present += presence_word(bits, at, num_docs).count_ones() as usize;
            }
            rest = after;
        }
        if num_present != meta.num_docs_with as usize {
            return Err(bad("presence differs from the metadata"));
        }
        // A width of 0 needs no bytes, so the count must not be trusted before it is known to add up.
        let mut num_values = num_present as u64;
        if flags & HAS_SEVERAL != 0 {
            let counts = unpack(rest, count_width, num_present).ok_or_else(|| bad("counts are cut short"))?;
            rest = &rest[packed_len(num_present, count_width)..];
            // Distinct values: no more than the width can tell apart. Bounds what is allocated for them.
            let most = if width < 32 { (1u64 << width) - 1 } else { u64::from(u32::MAX) };
            if counts.iter().any(|&count| count > most) {
                return Err(bad("more values than its width can tell apart"));
            }
            let mut starts = Vec::with_capacity(num_present + 1);
            num_values = 0;
            for count in counts {
                starts.push(num_values as u32);
                num_values += 1 + count;
            }
            starts.push(num_values as u32);
            layout.starts = Some(starts);
        }
        if num_values != meta.num_values || num_values > u64::from(u32::MAX) {
            return Err(bad("counts do not add up"));
        }
        if rest.len() as u64 != (meta.num_values as u128 * u128::from(width)).div_ceil(8) as u64 {
            return Err(bad("values of another length"));
        }
        layout.values_at = bytes.len() - rest.len();
        Ok(layout)
    }

    /// Which values a document, counted from the block's first, has; `None` if none.
    #[inline]
    pub fn places(&self, bytes: &[u8], position: u32) -> Option<Range<u32>> {
        let mut nth = position;
        if let Some(at) = self.presence_at {
            let bits = bytes.get(at..)?;
            let byte = bits.get(position as usize / 8)?;
            if byte >> (position % 8) & 1 == 0 {
                return None;
            }
            let group = position as usize / GROUP;
            let before = presence_word(bits, group, u32::MAX) & ((1u64 << (position % 64)) - 1);
            nth = u32::from(*self.ranks.get(group)?) + before.count_ones();
        }
        match &self.starts {
            None => Some(nth..nth + 1),
            Some(starts) => Some(*starts.get(nth as usize)?..*starts.get(nth as usize + 1)?),
        }
    }
}

/// Presence bits of 64 documents from `64 * group` on, those from `num_docs` on cleared.
fn presence_word(bits: &[u8], group: usize, num_docs: u32) -> u64 {
    let part = bits.get(group * 8..).unwrap_or_default();
    let mut word = [0; 8];
    let len = part.len().min(8);
    word[..len].copy_from_slice(&part[..len]);
    let left = (num_docs as usize).saturating_sub(group * GROUP);
    u64::from_le_bytes(word) & if left < GROUP { (1u64 << left) - 1 } else { u64::MAX }
}

/// A block whose values are read one by one.
///
/// Bytes that pass for a block may hold values beyond the bounds of its metadata: they are given as they are, and
/// whoever indexes with them checks. [`super::ColumnMeta::decode`] refuses such a block.
#[derive(Debug, Clone)]
pub struct PackedBlock {
    first_doc: u32,
    num_docs: u32,
    min: u64,
    layout: BlockLayout,
    bytes: Bytes,
}

impl PackedBlock {
    pub(super) fn parse(
        block: u32,
        first_doc: u32,
        num_docs: u32,
        meta: &BlockMeta,
        bytes: Bytes,
    ) -> Result<Self, ColumnError> {
        let layout = BlockLayout::parse(block, num_docs, meta, &bytes)?;
        Ok(Self { first_doc, num_docs, min: meta.min, layout, bytes })
    }

    /// First document.
    pub fn first_doc(&self) -> u32 {
        self.first_doc
    }

    /// Documents, with and without values.
    pub fn num_docs(&self) -> u32 {
        self.num_docs
    }

    #[inline]
    fn value(&self, place: u32) -> u64 {
        let packed = self.bytes.get(self.layout.values_at..).unwrap_or_default();
        (packed_at(packed, self.layout.width, place as usize) << self.layout.shift).wrapping_add(self.min)
    }

    #[inline]
    fn places(&self, doc: u32) -> Range<u32> {
        let position = doc.wrapping_sub(self.first_doc);
        if position >= self.num_docs {
            return 0..0;
        }
        self.layout.places(&self.bytes, position).unwrap_or(0..0)
    }

    /// Least value of a document; `None` if it has none or is not in the block.
    #[inline]
    pub fn first(&self, doc: u32) -> Option<u64> {
        let places = self.places(doc);
        (!places.is_empty()).then(|| self.value(places.start))
    }

    /// Greatest value of a document; `None` if it has none or is not in the block.
    #[inline]
    pub fn last(&self, doc: u32) -> Option<u64> {
        let places = self.places(doc);
        (!places.is_empty()).then(|| self.value(places.end - 1))
    }

    /// Values of a document, ascending and distinct.
    #[inline]
    pub fn values(&self, doc: u32) -> impl Iterator<Item = u64> + '_ {
        self.places(doc).map(|place| self.value(place))
    }

    /// Whether one of a document's values is in `ranges`.
    #[inline]
    pub fn matches(&self, doc: u32, ranges: &ValueRanges) -> bool {
        self.places(doc).any(|place| ranges.contains(self.value(place)))
    }

    /// Every 64 documents of which some have a value in `ranges`: the position of the first one in the segment,
    /// divided by 64, and a bit for each.
    pub fn matching(&self, ranges: &ValueRanges, mut visit: impl FnMut(usize, u64)) {
        let base = self.first_doc as usize / GROUP;
        let groups = (self.num_docs as usize).div_ceil(GROUP);
        let packed_range = ranges.as_one().and_then(|range| self.packed_range(range));
        if let (Some(Some((from, to))), Some(lanes)) = (packed_range, self.lanes()) {
            for group in 0..groups {
                let bits = lanes.in_range(self.packed_group(group), from as u32, (to - from) as u32);
                let bits = bits & self.group_mask(group);
                if bits != 0 {
                    visit(base + group, bits);
                }
            }
            return;
        }
        match (packed_range, &self.layout.starts) {
            // Nothing of the range can be in the block.
            (Some(None), _) => {}
            (Some(Some((from, to))), None) => {
                let mut values = [0; GROUP];
                for group in 0..groups {
                    let present = match self.layout.presence_at {
                        Some(at) => presence_word(&self.bytes[at..], group, self.num_docs),
                        None => self.group_mask(group),
                    };
                    let first = self.layout.ranks.get(group).map_or(group * GROUP, |&rank| usize::from(rank));
                    let count = present.count_ones() as usize;
                    self.unpack_group(first, count, &mut values);
                    let mut hits = 0;
                    for (ix, &value) in values.iter().enumerate() {
                        hits |= u64::from(value.wrapping_sub(from) <= to - from) << ix;
                    }
                    hits &= if count < GROUP { (1u64 << count) - 1 } else { u64::MAX };
                    let bits = if count == GROUP { hits } else { spread(hits, present) };
                    if bits != 0 {
                        visit(base + group, bits);
                    }
                }
            }
            _ => {
                for group in 0..groups {
                    let mut bits = 0;
                    for ix in 0..GROUP.min(self.num_docs as usize - group * GROUP) {
                        let doc = self.first_doc + (group * GROUP + ix) as u32;
                        bits |= u64::from(self.matches(doc, ranges)) << ix;
                    }
                    if bits != 0 {
                        visit(base + group, bits);
                    }
                }
            }
        }
    }

    /// How values are read 64 at a time, where each document has one and they are not too wide.
    fn lanes(&self) -> Option<Lanes> {
        let is_plain = self.layout.presence_at.is_none() && self.layout.starts.is_none();
        Lanes::new(self.layout.width).filter(|_| is_plain && self.num_docs > 0)
    }

    /// Packed numbers from those of a group of documents on, where each document has one.
    #[inline]
    fn packed_group(&self, group: usize) -> &[u8] {
        let at = self.layout.values_at + group * (GROUP / 8) * usize::from(self.layout.width);
        self.bytes.get(at..).unwrap_or_default()
    }

    /// The documents that a group has.
    #[inline]
    fn group_mask(&self, group: usize) -> u64 {
        u64::MAX >> (GROUP - (self.num_docs as usize - group * GROUP).min(GROUP))
    }

    /// Hands over the value of each document whose bit is set in `words`, those of the segment, with a number that
    /// changes from one to the next. False, and nothing done, where values are not single small numbers.
    pub(super) fn each_single(&self, words: &[u64], mut visit: impl FnMut(u64, usize)) -> bool {
        let Some(lanes) = self.lanes() else { return false };
        let base = self.first_doc as usize / GROUP;
        let value = |number: u32| (u64::from(number) << self.layout.shift).wrapping_add(self.min);
        let mut numbers = [0; GROUP];
        for group in 0..(self.num_docs as usize).div_ceil(GROUP) {
            let mask = self.group_mask(group);
            let mut word = words.get(base + group).copied().unwrap_or(0) & mask;
            if word == 0 {
                continue;
            }
            let packed = self.packed_group(group);
            if has_few(word) {
                while word != 0 {
                    let ix = word.trailing_zeros() as usize;
                    visit(value(lanes.number(packed, ix)), ix);
                    word &= word - 1;
                }
                continue;
            }
            lanes.unpack(packed, &mut numbers);
            if word == u64::MAX {
                numbers.iter().enumerate().for_each(|(ix, &number)| visit(value(number), ix));
                continue;
            }
            let mut turn = 0;
            while word != 0 {
                visit(value(numbers[word.trailing_zeros() as usize % GROUP]), turn);
                word &= word - 1;
                turn += 1;
            }
        }
        true
    }

    /// The same of listed documents; those of other blocks are left out.
    pub(super) fn each_listed(&self, docs: &[u32], mut visit: impl FnMut(u64, usize)) -> bool {
        let Some(lanes) = self.lanes() else { return false };
        let packed = self.packed_group(0);
        for (turn, &doc) in docs.iter().enumerate() {
            let place = doc.wrapping_sub(self.first_doc);
            if place < self.num_docs {
                let number = u64::from(lanes.number(packed, place as usize));
                visit((number << self.layout.shift).wrapping_add(self.min), turn);
            }
        }
        true
    }

    /// How many documents have a value in `ranges`.
    pub fn count(&self, ranges: &ValueRanges) -> u32 {
        let mut count = 0;
        self.matching(ranges, |_, bits| count += bits.count_ones());
        count
    }

    /// A range of values as one of packed numbers; `Some(None)` if it holds no number the block can have. `None` if
    /// values do not survive their way back, which only a damaged block has.
    fn packed_range(&self, (start, end): (u64, u64)) -> Option<Option<(u64, u64)>> {
        let (width, shift) = (self.layout.width, self.layout.shift);
        let most = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
        let greatest = self.min.checked_add(most.checked_mul(1u64.checked_shl(u32::from(shift))?)?)?;
        if end < self.min || start > greatest {
            return Some(None);
        }
        let from = start.saturating_sub(self.min).div_ceil(1 << shift);
        let to = (end.min(greatest) - self.min) >> shift;
        Some((from <= to).then_some((from, to)))
    }

    /// `count` packed numbers from number `first` on.
    fn unpack_group(&self, first: usize, count: usize, values: &mut [u64; GROUP]) {
        let width = usize::from(self.layout.width);
        let bit = first * width;
        let start = self.layout.values_at + bit / 8;
        // 64 numbers of 56 bits, what a number and the shift before it may take, and a word to load from anywhere.
        let mut buffer = [0u8; GROUP * 7 + 16];
        if width == 0 || width > 56 {
            for (ix, value) in values[..count].iter_mut().enumerate() {
                let packed = self.bytes.get(self.layout.values_at..).unwrap_or_default();
                *value = packed_at(packed, self.layout.width, first + ix);
            }
            return;
        }
        let len = (GROUP * width).div_ceil(8) + 1;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let len = len.min(rest.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        let mask = u64::MAX >> (64 - width);
        for (ix, value) in values[..count].iter_mut().enumerate() {
            let at = bit % 8 + ix * width;
            let word = buffer[at / 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
            *value = word >> (at % 8) & mask;
        }
    }

    /// Bytes of memory held, those of the block included.
    pub fn memory_bytes(&self) -> usize {
        let starts = self.layout.starts.as_ref().map_or(0, |starts| starts.capacity() * 4);
        self.bytes.len() + starts + self.layout.ranks.capacity() * 2
    }
}

/// Whether less than [`FEW`] bits are set. Counting them takes longer where there is no instruction for it.
#[inline]
fn has_few(mut word: u64) -> bool {
    for _ in 1..FEW {
        word &= word.wrapping_sub(1);
    }
    word == 0
}

/// The lowest bits of `bits`, one after another, at the set positions of `places`.
fn spread(mut bits: u64, mut places: u64) -> u64 {
    let mut spread = 0;
    while bits != 0 && places != 0 {
        let lowest = places & places.wrapping_neg();
        if bits & 1 == 1 {
            spread |= lowest;
        }
        bits >>= 1;
        places ^= lowest;
    }
    spread
}
