//! Column metadata, blocks and dictionaries from hostile bytes: errors, never panics or huge allocations.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::{
    bitset::BitSet,
    columns::{ColumnMatcher, ColumnMeta, FacetCounter, FilterPlan, ValueRanges},
};

fuzz_target!(|input: (Vec<u8>, Vec<u8>, (u64, u64))| {
    let (meta, data, range) = input;
    let Ok(column) = ColumnMeta::parse(&meta) else { return };
    // A few documents of metadata may claim billions of empty ones; sets over them are the caller's memory.
    if column.num_docs() > 1 << 20 {
        return;
    }
    let cut = |range: std::ops::Range<u64>| {
        let end = range.end.min(data.len() as u64) as usize;
        &data[(range.start as usize).min(end)..end]
    };
    let docs = BitSet::full(column.num_docs());
    let mut counter = FacetCounter::new(&column);
    let mut matcher = ColumnMatcher::new(column.clone().into(), ValueRanges::new([range]));
    let mut plan = FilterPlan::new(&column, ValueRanges::new([range]));
    for block in 0..column.blocks().len() as u32 {
        let bytes = cut(column.block_range(block));
        let _ = column.decode(block, bytes);
        if let Ok(packed) = column.open_block(block, bytes.to_vec().into()) {
            plan.apply(&packed);
            counter.count(&packed, &docs);
        }
        let _ = matcher.feed(block, bytes.to_vec().into());
    }
    if let Some(points) = column.points() {
        for block in 0..points.num_blocks() {
            if let Ok(decoded) = points.decode(block, cut(points.block_range(block))) {
                plan.apply_points(&decoded);
                assert!(decoded.iter().all(|(_, doc)| doc < column.num_docs()));
            }
        }
    }
    let set = matcher.to_set();
    assert!((0..column.num_docs()).all(|doc| matcher.matches(doc).is_none_or(|found| found == set.contains(doc))));
    if let Some(dictionary) = column.dictionary() {
        for block in 0..dictionary.num_blocks() {
            let bytes = dictionary.inline_block(block).unwrap_or_else(|| cut(dictionary.block_range(block)));
            let _ = dictionary.decode(block, bytes);
        }
    }
});
