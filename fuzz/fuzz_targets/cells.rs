//! Cells from hostile bytes: an error or candidates, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::graph::cells::{CellStream, CellsMeta, Probe, ProbeOptions};

fuzz_target!(|input: (Vec<u8>, Vec<u8>, Vec<u8>)| {
    let (meta, centers, codes) = input;
    let Ok(meta) = CellsMeta::parse(&meta, centers.len() as u64, codes.len() as u64) else { return };
    let query = vec![0.5; meta.shape().dims as usize];
    let mut probe = Probe::new(&meta, &query, ProbeOptions { probes: 1000, center_factor: 2, ..ProbeOptions::default() });
    while !probe.is_done() {
        let (stream, wanted) = probe.wanted();
        let bytes = if stream == CellStream::Centers { &centers } else { &codes };
        let blocks: Vec<&[u8]> = wanted
            .iter()
            .map(|range| bytes.get(range.start as usize..range.end as usize).unwrap_or_default())
            .collect();
        if probe.feed(&blocks, true, |_| {}).is_err() {
            return;
        }
    }
});
