//! Models and rows of quantizers from hostile bytes: an error, or what codes and scores.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rangefind::{
    codec::Reader,
    quant::{
        nvq::{NvqBits, read_row, row_len},
        pq::{PqEncoder, PqModel, PqTable},
    },
};

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (bytes, codes) = input;
    for bits in [NvqBits::Four, NvqBits::Eight] {
        let mut out = vec![0.0; codes.len()];
        let mut row = bytes.clone();
        row.resize(row_len(out.len(), bits), 7);
        assert!(read_row(&row, bits, &mut out).is_none() || out.iter().all(|value| value.is_finite()));
    }
    let Ok(model) = PqModel::read(&mut Reader::new(&bytes)) else { return };
    let mut written = Vec::new();
    model.write(&mut written);
    assert!(bytes.starts_with(&written));
    let codes = &codes[..codes.len() / model.subspaces() * model.subspaces()];
    let query = vec![0.5; model.dims()];
    PqTable::new(&model, &query).dots(codes, &mut vec![0.0; codes.len() / model.subspaces()]);
    let mut own = Vec::new();
    PqEncoder::default().encode(&model, &query, &mut own);
    let mut back = Vec::new();
    model.decode(&own, &mut back);
    assert!(back.len() == model.dims() && back.iter().all(|value| value.is_finite()));
});
