//! Readers of integers and blocks: never past the end, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::codec::{Reader, Unpacker, bitpack, checksum, group_varint, pfor};

fuzz_target!(|data: &[u8]| {
    let Some((&kind, bytes)) = data.split_first() else { return };
    let mut reader = Reader::new(bytes);
    let mut block = [0; bitpack::BLOCK_LEN];
    match kind % 6 {
        0 => while reader.vint().is_ok() {},
        1 => while reader.vlong15().is_ok() {},
        2 => while !reader.is_empty() && reader.text().is_ok() {},
        3 => drop(group_varint::read(&mut reader, &mut block)),
        4 => {
            let mut skipped = reader.clone();
            // A block that can be read is passed over alike.
            if pfor::read(Unpacker::detect(), &mut reader, &mut block).is_ok() {
                pfor::skip(&mut skipped).expect("what can be read can be skipped");
                assert_eq!(reader.offset(), skipped.offset());
            }
        }
        _ => {
            let _ = Unpacker::detect().unpack(bytes, kind / 6, &mut block);
            let _ = checksum::open(bytes);
        }
    }
});
