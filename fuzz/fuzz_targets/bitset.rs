//! Bit sets from hostile bytes round trip or are refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::bitset::BitSet;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(set) = BitSet::parse(bytes) {
        let mut again = Vec::new();
        set.write(&mut again);
        assert_eq!(again, bytes);
    }
});
