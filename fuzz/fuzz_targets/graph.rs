//! A graph over cells from hostile bytes: an error or candidates, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::graph::{
    GraphMeta, GraphStream, Walk, WalkOptions,
    cells::{CellStream, CellsMeta},
};

fuzz_target!(|input: (Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>)| {
    let (cells, centers, codes, graph, adjacency) = input;
    let Ok(graph) = GraphMeta::parse(&graph, adjacency.len() as u64) else { return };
    let Ok(cells) = CellsMeta::parse(&cells, centers.len() as u64, codes.len() as u64) else { return };
    if !graph.fits(&cells) {
        return;
    }
    let query = vec![0.5; cells.shape().dims as usize];
    let options = WalkOptions { breadth: 100, starts: 2, expansions: 3 };
    let mut walk = Walk::new(&graph, &cells, &query, None, options);
    while !walk.is_done() {
        let (stream, wanted) = walk.wanted();
        let bytes = match stream {
            GraphStream::Cells(CellStream::Centers) => &centers,
            GraphStream::Cells(CellStream::Codes) => &codes,
            GraphStream::Adjacency => &adjacency,
        };
        let blocks: Vec<&[u8]> =
            wanted.iter().map(|range| bytes.get(range.start as usize..range.end as usize).unwrap_or_default()).collect();
        // What was seen intact is not looked at twice; here nothing was, so a checksum is all there is to pass.
        if walk.feed(&blocks, false, |_| {}).is_err() {
            return;
        }
    }
});
