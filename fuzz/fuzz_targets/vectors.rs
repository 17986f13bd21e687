//! Vector metadata from hostile bytes: what opens has owners in order, and rows are checked before they are used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::{
    ids::DocOrd,
    vectors::{FlatScan, VectorOrd, VectorQuery, VectorsReader, Verify, WindowOptions},
};

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (meta, rows) = input;
    let Ok(reader) = VectorsReader::parse(&meta, rows.len() as u64) else { return };
    if reader.is_in_cells() {
        let lists = [Some(reader.docs_list()), reader.starts_list(), Some(reader.ords_list())];
        for list in lists.into_iter().flatten() {
            for blocks in list.blocks_of((0..list.len).step_by(900)).into_iter().take(50) {
                let bytes = list.block_bytes(&blocks);
                let part = rows.get(bytes.start as usize..bytes.end as usize).unwrap_or_default();
                let _ = list.decode(&blocks, part, &mut Vec::new());
            }
        }
        return;
    }
    let mut found = 0;
    for doc in (0..reader.max_doc()).take(1000) {
        for ord in reader.ords_of(DocOrd(doc)) {
            assert_eq!((ord, reader.doc_of(VectorOrd(ord))), (found, DocOrd(doc)));
            found += 1;
        }
    }
    let query = VectorQuery::new(reader.options(), vec![1.0; reader.dims() as usize]).expect("finite");
    let mut scan = FlatScan::new(&reader, vec![query], 3);
    for window in reader.windows(None, &WindowOptions::default()) {
        let bytes = &rows[window.bytes.start as usize..window.bytes.end as usize];
        if scan.feed(&window, bytes, None, Verify::All).is_err() {
            return;
        }
    }
    assert!(scan.finish()[0].len() <= 3);
});
