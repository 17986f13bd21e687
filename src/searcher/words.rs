//! Keywords by ordinal: which dictionary blocks to read, and the keywords in them.

#![forbid(unsafe_code)]

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use bytes::Bytes;

use super::batch::{Batch, Fetched, Slot};
use crate::{
    columns::{ColumnMeta, DictionaryBlock},
    error::{Error, ErrorKind, Result},
    ids::FieldOrd,
    segment::SectionKind,
};

/// A dictionary block: segment, field, number.
type Key = (usize, FieldOrd, u32);

/// Dictionary blocks of one search.
#[derive(Debug, Default)]
pub(super) struct Words {
    slots: HashMap<Key, Slot>,
    bytes: HashMap<Key, Bytes>,
    decoded: HashMap<Key, DictionaryBlock>,
}

impl Words {
    /// Asks for the block of a keyword's ordinal, unless it is in memory or was asked for.
    pub fn want(&mut self, batch: &mut Batch, segment: usize, field: FieldOrd, column: &ColumnMeta, ord: u32) {
        let Some(dictionary) = column.dictionary().filter(|dictionary| !dictionary.is_inline()) else { return };
        let block = dictionary.block_of_ord(ord);
        if self.bytes.contains_key(&(segment, field, block)) {
            return;
        }
        let slot = self.slots.entry((segment, field, block));
        slot.or_insert_with(|| batch.push(segment, SectionKind::Column, field, dictionary.block_range(block)));
    }

    /// Takes what was read.
    pub fn take(&mut self, fetched: &Fetched) -> Result<()> {
        for (key, slot) in self.slots.drain() {
            self.bytes.insert(key, fetched.get(slot)?.clone());
        }
        Ok(())
    }

    /// The keyword of an ordinal that was asked for and taken.
    pub fn get(&mut self, segment: usize, field: FieldOrd, column: &ColumnMeta, ord: u32) -> Result<Arc<str>> {
        let missing = || Error::new(ErrorKind::Corrupt, format!("field {}: keyword {ord} is not there", field.0));
        let dictionary = column.dictionary().ok_or_else(missing)?;
        let block = dictionary.block_of_ord(ord);
        let found = match self.decoded.entry((segment, field, block)) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(empty) => {
                let bytes = match (dictionary.inline_block(block), self.bytes.get(&(segment, field, block))) {
                    (Some(inline), _) => inline,
                    (None, Some(bytes)) => bytes.as_ref(),
                    (None, None) => return Err(missing()),
                };
                let found = dictionary.decode(block, bytes);
                empty.insert(found.map_err(|error| Error::from(error).at(format!("field {}", field.0)))?)
            }
        };
        found.term(ord).map(Arc::from).ok_or_else(missing)
    }
}
