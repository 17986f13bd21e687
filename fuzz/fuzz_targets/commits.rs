//! Commit slots, tables of contents and overlays from hostile bytes, their checksums made right so that the parsers
//! behind them are reached: parsed, or refused; never a panic or a large allocation.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::{
    ids::SegmentId,
    index::Commit,
    segment::{Toc, parse_live},
    storage::CommitSlot,
};

fuzz_target!(|bytes: &[u8]| {
    let mut sealed = bytes.to_vec();
    sealed.extend_from_slice(&crc32c::crc32c(bytes).to_le_bytes());
    for bytes in [bytes, &sealed] {
        if let Ok(toc) = Toc::parse(bytes) {
            let mut again = Vec::new();
            toc.write(&mut again);
            assert_eq!(Toc::parse(&again).expect("what was parsed is written and parsed"), toc);
        }
        for slot in CommitSlot::ALL {
            if let Ok(commit) = Commit::parse(bytes, slot) {
                assert_eq!(Commit::parse(&commit.encode(), slot).expect("what was parsed is written and parsed"), commit);
            }
        }
        let _ = parse_live(bytes, SegmentId([0; 16]), 1, 64);
    }
});
