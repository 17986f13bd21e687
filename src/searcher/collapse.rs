//! One hit per value of a column.

#![forbid(unsafe_code)]

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use serde_json::Value;

use super::{
    batch::Batch,
    column_ask::CollapseAsk,
    columns::SegmentColumns,
    flow::{Ranked, Search},
    words::Words,
};
use crate::{
    columns::{ColumnKind, PackedBlock},
    error::Result,
    ids::DocAddress,
    storage::File,
};

/// What a group stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum GroupKey {
    /// A column's value.
    Number(u64),
    Word(Arc<str>),
    /// A document without a value.
    Lone(DocAddress),
}

/// Hits of one value.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub key: GroupKey,
    pub best: Ranked,
    /// Further ones, best first.
    pub inner: Vec<Ranked>,
}

impl Group {
    /// The value; none of a document without one.
    pub fn value(&self, kind: ColumnKind) -> Option<Value> {
        match &self.key {
            GroupKey::Number(value) => Some(kind.to_json(*value)),
            GroupKey::Word(word) => Some(Value::from(word.as_ref())),
            GroupKey::Lone(_) => None,
        }
    }
}

/// Groups under way: hits come in order, so that the first of a group is its best.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub groups: Vec<Group>,
    by_key: HashMap<GroupKey, usize>,
    /// Hits that were put into groups.
    pub num_hits: usize,
    words: Words,
}

impl<F: File> Search<'_, F> {
    /// Puts further hits of a ranking into groups.
    pub(super) async fn group(
        &self,
        collapse: CollapseAsk,
        hits: &[Ranked],
        groups: &mut Groups,
        columns: &mut [SegmentColumns],
    ) -> Result<()> {
        let column = |hit: &Ranked| self.segments[hit.address.segment.0 as usize].segment.column(collapse.field);
        let mut batch = Batch::default();
        for hit in hits {
            let segment = hit.address.segment.0 as usize;
            if let Some(column) = column(hit) {
                let block = column.block_of(hit.address.doc.0);
                columns[segment].want(&mut batch, segment, collapse.field, column, block);
            }
        }
        if !batch.is_empty() {
            self.read_columns(columns, &batch).await?;
        }
        let mut opened: HashMap<(usize, u32), PackedBlock> = HashMap::new();
        let mut values = Vec::with_capacity(hits.len());
        let mut batch = Batch::default();
        for hit in hits {
            let (segment, doc) = (hit.address.segment.0 as usize, hit.address.doc.0);
            let Some(column) = column(hit) else {
                values.push(None);
                continue;
            };
            let block = column.block_of(doc);
            let packed = match opened.entry((segment, block)) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(empty) => empty.insert(columns[segment].open(collapse.field, column, block)?),
            };
            let value = packed.first(doc);
            if let (Some(ord), ColumnKind::Keyword) = (value, collapse.kind) {
                groups.words.want(&mut batch, segment, collapse.field, column, ord as u32);
            }
            values.push(value);
        }
        if !batch.is_empty() {
            groups.words.take(&self.read(&batch).await?)?;
        }
        for (hit, value) in hits.iter().zip(values) {
            let key = match (value, column(hit)) {
                (Some(ord), Some(column)) if collapse.kind == ColumnKind::Keyword => {
                    let segment = hit.address.segment.0 as usize;
                    GroupKey::Word(groups.words.get(segment, collapse.field, column, ord as u32)?)
                }
                (Some(value), _) => GroupKey::Number(value),
                (None, _) => GroupKey::Lone(hit.address),
            };
            match groups.by_key.entry(key) {
                Entry::Occupied(at) => {
                    let inner = &mut groups.groups[*at.get()].inner;
                    if inner.len() < collapse.inner_hits {
                        inner.push(*hit);
                    }
                }
                Entry::Vacant(empty) => {
                    let key = empty.key().clone();
                    empty.insert(groups.groups.len());
                    groups.groups.push(Group { key, best: *hit, inner: Vec::new() });
                }
            }
        }
        groups.num_hits += hits.len();
        Ok(())
    }
}
