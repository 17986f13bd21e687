//! Stored documents and ids from hostile bytes, with a right checksum in front so that the payload is reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::docstore::{DocIdsIndex, DocStoreIndex};

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (index, mut block) = input;
    let sum = crc32c::crc32c(&block).to_le_bytes();
    block.splice(0..0, sum);
    if let Ok(index) = DocStoreIndex::parse(&index) {
        for number in 0..index.num_blocks().min(4) {
            if let Ok(decoded) = index.decode_block(number, &block) {
                (0..decoded.num_records()).for_each(|ix| drop(decoded.record(ix)));
            }
        }
    }
    if let Ok(index) = DocIdsIndex::parse(&index) {
        for number in 0..index.num_blocks().min(4) {
            if let Ok(ids) = index.block(number, &block) {
                (0..=ids.num_ids()).for_each(|ix| drop(ids.id(ix)));
            }
        }
    }
});
